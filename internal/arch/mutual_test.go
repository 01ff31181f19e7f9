package arch

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mutual are the pairs of folders that import each other still. A pair that is gone is deleted here; no pair is added.
var mutual = []string{"backfill <-> workers", "internal/postgres <-> workers"}

// folder is the top folder of a package; below internal, the folder there.
func folder(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if first != "internal" {
		return first
	}
	second, _, _ := strings.Cut(rest, "/")
	return "internal/" + second
}

// pairs lists the folders that import each other, "a <-> b" with a before b. The program and the suites stand on top of all.
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

func TestNoOtherFoldersImportEachOther(t *testing.T) {
	t.Parallel()
	watch(t)
	if diff := cmp.Diff(mutual, pairs(load(t))); diff != "" {
		t.Errorf("-expected +found:\n%s", diff)
	}
}

func TestAPairIsNamed(t *testing.T) {
	t.Parallel()
	all := []pkg{
		{path: "tidemark/api/view", imports: []string{"tidemark/picks", "time"}},
		{path: "tidemark/picks/writer", imports: []string{"tidemark/api"}},
		{path: "tidemark/series", imports: []string{"tidemark/picks"}},
		{path: "tidemark/test/up", imports: []string{"tidemark/series"}},
	}
	if got := pairs(all); !slices.Equal(got, []string{"api <-> picks"}) {
		t.Errorf("the pairs are %v", got)
	}
}
