package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mentioned are commands as the documents write them: in a line of code, or between backticks.
var mentioned = regexp.MustCompile("(?m)(?:^    |`)tidemark ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)")

func TestCommandsOfTheDocumentsExist(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range append(files, "../../README.md", "../../CONTRIBUTING.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mentioned.FindAllStringSubmatch(string(b), -1) {
			if seen[m[1]] {
				continue
			}
			seen[m[1]] = true
			// The last words may be arguments, the first is a command.
			words := strings.Fields(m[1])
			found := false
			for n := len(words); n > 0 && !found; n-- {
				found = run(t.Context(), append(words[:n:n], "--help"), io.Discard, io.Discard) == 0
			}
			if !found {
				t.Errorf("%s speaks of `tidemark %s`, which is no command", f, m[1])
			}
		}
	}
	if len(seen) < 20 {
		t.Errorf("only %d commands were found: %v", len(seen), seen)
	}
}
