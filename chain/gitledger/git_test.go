package gitledger

import (
	"os"
	"strings"
	"testing"
)

func TestOfAGitThatWritesTooMuchOnlyTheBeginningIsKept(t *testing.T) {
	t.Parallel()
	g, err := newGit(t.Context(), "", os.Environ(), Remote{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := g.run(t.Context(), nil, "version")
	if err != nil {
		t.Fatal(err)
	}
	if g.output = len(whole); g.output == 0 {
		t.Fatal("git says no version")
	}
	if _, err := g.run(t.Context(), nil, "version"); err != nil {
		t.Errorf("as many bytes as are taken: %v", err)
	}
	g.output = 3
	out, err := g.run(t.Context(), nil, "version")
	if string(out) != "git" || err == nil || !strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("more bytes than are taken: %q, %v", out, err)
	}
}
