package arch

import (
	"slices"
	"strings"
	"testing"
)

// folder returns the top folder of a package; below internal, the folder there.
func folder(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if first != "internal" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return "internal/" + second
}

// pairs returns the folders that import each other, "a <-> b" with a before b. It ignores the program and the test suites, which may import
// everything.
func pairs(all []pkg) []string {
	imports := map[[2]string]bool{}
	for _, p := range all {
		name, ours := room(p.path)
		if !ours || strings.HasPrefix(name, "test/") || strings.HasPrefix(name, "cmd/") {
			continue
		}
		for _, imported := range p.imports {
			if other, ours := room(imported); ours {
				imports[[2]string{folder(name), folder(other)}] = true
			}
		}
	}
	var found []string
	for p := range imports {
		if p[0] < p[1] && imports[[2]string{p[1], p[0]}] {
			found = append(found, p[0]+" <-> "+p[1])
		}
	}
	slices.Sort(found)
	return found
}

func TestNoTwoFoldersImportEachOther(t *testing.T) {
	t.Parallel()
	watch(t)
	for _, pair := range pairs(load(t)) {
		t.Errorf("%s: two folders import each other", pair)
	}
}

func TestAPairIsNamed(t *testing.T) {
	t.Parallel()
	all := []pkg{
		{path: "tidemark/api/view", imports: []string{"tidemark/picks", "time"}},
		{path: "tidemark/picks/writer", imports: []string{"tidemark/api"}},
		{path: "tidemark/internal/series", imports: []string{"tidemark/picks"}},
		{path: "tidemark/test/up", imports: []string{"tidemark/internal/series"}},
	}
	if got := pairs(all); !slices.Equal(got, []string{"api <-> picks"}) {
		t.Errorf("the pairs are %v", got)
	}
}
