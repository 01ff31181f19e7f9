package extend

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inBackquotes matches the name of a file or a pattern of names.
var inBackquotes = regexp.MustCompile("`([^`]+)`")

// row is a task of the table in CONTRIBUTING.md. For some tasks, not all files of applies are touched.
type row struct{ added, changed, applies []string }

// tasks reads the table of CONTRIBUTING.md.
func tasks(page string) map[string]row {
	files := func(cell string) (names []string) {
		for _, m := range inBackquotes.FindAllStringSubmatch(cell, -1) {
			names = append(names, m[1])
		}
		return names
	}
	out := map[string]row{}
	_, table, _ := strings.Cut(page, "| task | new | changed | where it applies |\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 {
			break
		}
		if task := strings.TrimSpace(cells[1]); task != "---" {
			out[task] = row{files(cells[2]), files(cells[3]), files(cells[4])}
		}
	}
	return out
}

// The table of CONTRIBUTING.md has each task with the files that it touches, and each task has its paragraph. That the files are enough,
// TestWhatANewcomerAddsIsKnownEverywhere shows.
func TestTheTableOfTasksNamesTheFilesThatTheyTouch(t *testing.T) {
	t.Parallel()
	page := text(t, filepath.Join(root, "CONTRIBUTING.md"))
	table := tasks(page)
	all := additions(t)
	if len(table) != len(all) {
		t.Errorf("the table has %d tasks, and %d are done here", len(table), len(all))
	}
	for _, a := range all {
		r, ok := table[a.task]
		if !ok || !strings.Contains(page, "**"+a.task+".**") {
			t.Errorf("%s: the page has no row or no paragraph of it", a.task)
		}
		for _, file := range slices.Sorted(maps.Keys(a.added)) {
			if !slices.ContainsFunc(r.added, func(pattern string) bool { ok, _ := path.Match(pattern, file); return ok }) {
				t.Errorf("%s adds %s, which the table does not have", a.task, file)
			}
		}
		for _, pattern := range r.added {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(a.added)), func(file string) bool { ok, _ := path.Match(pattern, file); return ok }) {
				t.Errorf("%s adds nothing like %s", a.task, pattern)
			}
		}
		named := slices.Clone(r.changed)
		for _, file := range r.applies {
			if slices.Contains(a.touched(), file) || a.task != newScore().task {
				named = append(named, file)
			}
		}
		slices.Sort(named)
		if diff := cmp.Diff(named, a.touched()); diff != "" {
			t.Errorf("%s changes other files than the table says (-table +changed):\n%s", a.task, diff)
		}
	}
}
