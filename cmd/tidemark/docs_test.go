package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mentioned matches commands in the documents: in a line of code, or between backticks.
var mentioned = regexp.MustCompile("(?m)(?:^    |`)tidemark ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)")

// The first line of a code block must be indented like the others. Otherwise it is a paragraph, and the block begins in the middle of a
// sentence.
func TestBlocksOfCodeAreIndentedFromTheirFirstLine(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines, fenced := strings.Split(string(b), "\n"), false
		for i, line := range lines[:len(lines)-1] {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if !fenced && i > 0 && lines[i-1] == "" && line != "" && !strings.ContainsAny(line[:1], " -*|") && strings.HasPrefix(lines[i+1], "    ") {
				t.Errorf("%s:%d is not indented as the line after it: %s", f, i+1, line)
			}
		}
	}
}

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
