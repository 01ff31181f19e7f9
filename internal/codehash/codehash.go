// Package codehash names versions of methods by the code that makes them, so a stored result says which code made it. Start at Of.
package codehash

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tidemark"
)

// Of returns the version of a method: the SHA-256, in lower-case hex, of all code of this module that the package of a folder is made of.
// It covers the package's files and the files of every package of the module that it imports, even through others. It leaves out lines of
// comments, and tests. It also covers the versions of the other modules that they import, and the version of Go. So any change of a rule, a
// weight or a constant is another version. A change of code that changes no number is another version, too. It panics for a folder whose
// code the program does not carry: see tidemark.Methods.
var Of = memo(func(folder string) string {
	version, err := hash(tidemark.Methods, tidemark.Module, folder)
	if err != nil {
		panic(err) // it is part of the program: a test asks for each method
	}
	return version
})

func memo(f func(string) string) func(string) string {
	var known sync.Map
	return func(key string) string {
		if v, ok := known.Load(key); ok {
			return v.(string) //nolint:forcetypeassert // stored below
		}
		v := f(key)
		known.Store(key, v)
		return v
	}
}

// hash hashes a folder of a module and what it imports. module is the module's go.mod.
func hash(files fs.FS, module, folder string) (string, error) {
	m := readModule(module)
	c := closure{files: files, module: m, code: map[string][]string{}, others: map[string]bool{"go " + m.version: true}}
	if err := c.add(folder); err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, other := range slices.Sorted(maps.Keys(c.others)) {
		_, _ = sum.Write([]byte(other + "\n"))
	}
	for _, file := range slices.Sorted(maps.Keys(c.code)) {
		_, _ = sum.Write([]byte(file + "\n" + strings.Join(c.code[file], "\n") + "\n"))
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// closure gathers the code that a package is made of.
type closure struct {
	files  fs.FS
	module module
	// code holds the lines of each file; others the modules that the code imports, with their versions.
	code   map[string][]string
	others map[string]bool
	seen   []string
}

func (c *closure) add(folder string) error {
	if slices.Contains(c.seen, folder) {
		return nil
	}
	c.seen = append(c.seen, folder)
	list, err := fs.ReadDir(c.files, folder)
	if err != nil {
		return fmt.Errorf("the program does not carry the code of %s, which a method imports: %w", folder, err)
	}
	for _, f := range list {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		file := path.Join(folder, f.Name())
		text, err := fs.ReadFile(c.files, file)
		if err != nil {
			return fmt.Errorf("read the code: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				c.code[file] = append(c.code[file], line)
			}
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("read the imports: %w", err)
		}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return fmt.Errorf("read the imports of %s: %w", file, err)
			}
			if err := c.follow(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow adds an import. The root of the module holds documents and the code itself, and makes no number.
func (c *closure) follow(name string) error {
	if folder, ours := strings.CutPrefix(name, c.module.name+"/"); ours {
		return c.add(folder)
	}
	if other := c.module.requires(name); other != "" {
		c.others[other] = true
	}
	return nil
}

// module is the content of a go.mod. needs are the modules that it requires, with their versions.
type module struct {
	name, version string
	needs         map[string]string
}

func readModule(text string) module {
	m := module{needs: map[string]string{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) >= 2 && words[0] == "module":
			m.name = words[1]
		case len(words) >= 2 && words[0] == "go":
			m.version = words[1]
		case len(words) >= 3 && words[0] == "require":
			m.needs[words[1]] = words[2]
		case len(words) >= 2 && strings.Contains(words[0], "/"):
			m.needs[words[0]] = words[1]
		}
	}
	return m
}

// requires returns the module of an import with its version, empty for the standard library.
func (m module) requires(name string) string {
	for at := name; at != "." && at != "/"; at = path.Dir(at) {
		if version, ok := m.needs[at]; ok {
			return at + " " + version
		}
	}
	return ""
}
