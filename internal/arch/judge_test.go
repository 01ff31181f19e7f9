package arch

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// module is the path of this module.
const module = "tidemark"

// pkg describes a package of this module, or another package that it reaches.
type pkg struct {
	path, doc string
	imports   []string
	standard  bool
}

// room returns the package's path within the module, and whether it is in the module.
func room(importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// judge returns a sentence for each fault of a package of this module, in the order of packages. all holds these packages and every other
// package that they reach.
func judge(all []pkg) []string {
	graph := map[string]pkg{}
	for _, p := range all {
		graph[p.path] = p
	}
	var faults []string
	for _, p := range all {
		name, ours := room(p.path)
		if !ours {
			continue
		}
		if p.doc == "" {
			faults = append(faults, name+" has no package comment")
		}
		r, ok := rowOf(name)
		if !ok {
			faults = append(faults, name+" has no row in the table of internal/arch: decide what it may import")
			continue
		}
		for _, imported := range p.imports {
			if other, ours := room(imported); ours && !allowed(r.may, other) {
				faults = append(faults, fmt.Sprintf("%s imports %s: its row allows %s", name, other, orNothing(r.may)))
			}
			if rooms, ok := roomsFor(imported); ok && r.may != anyRoom && !names(rooms, name) {
				faults = append(faults, fmt.Sprintf("%s imports %s: only %s may", name, imported, rooms))
			}
		}
		for _, word := range list(r.never) {
			if way := wayTo(graph, p.path, func(to pkg) bool { return forbidden(word, name, to) }); way != nil {
				faults = append(faults, fmt.Sprintf("%s reaches %s (%s): its row says never, even through others",
					name, word, strings.Join(way, " -> ")))
			}
		}
	}
	return faults
}

// rowOf returns the row of a package: the row that names it, else the row whose pattern covers it.
func rowOf(name string) (row, bool) {
	for _, r := range table {
		if slices.Contains(list(r.rooms), name) {
			return r, true
		}
	}
	for _, r := range table {
		if names(r.rooms, name) {
			return r, true
		}
	}
	return row{}, false
}

// names reports whether a list of packages and patterns covers a package.
func names(rooms, name string) bool {
	return slices.ContainsFunc(list(rooms), func(pattern string) bool {
		if under, ok := strings.CutSuffix(pattern, "/..."); ok {
			return within(name, under)
		}
		if parent, ok := strings.CutSuffix(pattern, "/*"); ok {
			return path.Dir(name) == parent && !named(name)
		}
		return pattern == name
	})
}

// named reports whether a row names a package explicitly.
func named(name string) bool {
	return slices.ContainsFunc(table, func(r row) bool { return slices.Contains(list(r.rooms), name) })
}

func allowed(may, name string) bool {
	switch may {
	case anyRoom:
		return true
	case noTests:
		return !names(testRooms, name)
	case noCmd:
		return !within(name, "cmd")
	default:
		return names(may, name)
	}
}

// forbidden reports whether the word of a row's never column covers the package to. name is the package of the row.
func forbidden(word, name string, to pkg) bool {
	other, ours := room(to.path)
	switch word {
	case "other modules":
		return !ours && !to.standard
	case theirOwn:
		return ours && other != name && names("ingest/*", other)
	case "workers":
		// Both sides use the names and payloads of tasks.
		return ours && within(other, "workers") && other != "internal/task"
	}
	if paths, ok := words[word]; ok {
		return slices.ContainsFunc(paths, func(p string) bool { return within(to.path, p) })
	}
	return ours && within(other, word)
}

// roomsFor returns the packages that may import a library, and whether the library is restricted.
func roomsFor(importPath string) (string, bool) {
	for _, m := range modules {
		if within(importPath, m.path) {
			return m.rooms, true
		}
	}
	return "", false
}

// wayTo returns the shortest chain of imports from a package to a wanted package, without the first, or nil.
func wayTo(graph map[string]pkg, from string, wanted func(pkg) bool) []string {
	before := map[string]string{from: ""}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		for _, to := range graph[next[0]].imports {
			if _, seen := before[to]; seen {
				continue
			}
			before[to] = next[0]
			next = append(next, to)
			if !wanted(pkg{path: to, standard: graph[to].standard}) {
				continue
			}
			var way []string
			for at := to; at != from; at = before[at] {
				way = append(way, strings.TrimPrefix(at, module+"/"))
			}
			slices.Reverse(way)
			return way
		}
	}
	return nil
}

// within reports whether a path is root or below it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// list splits a cell of the table.
func list(cell string) []string {
	if cell == "" {
		return nil
	}
	return strings.Split(cell, ", ")
}

func orNothing(may string) string {
	if may == nothing {
		return "nothing of this module"
	}
	return may
}
