package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link matches the address of a Markdown link, without a fragment.
var link = regexp.MustCompile(`\]\(([^)#\s]+)`)

// namedFile matches a Go file or a Markdown page that a text names in backquotes.
var namedFile = regexp.MustCompile("`([a-z0-9_]+(?:/[A-Za-z0-9_]+)+\\.(?:go|md))`")

func TestLinksBetweenDocumentsLeadToFiles(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "build"):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", strings.TrimPrefix(path, root+"/"), m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 20 {
		t.Errorf("%d links were found: the test looks at the wrong files", found)
	}
}

func TestTheNewcomersPageNamesFilesThatExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := namedFile.FindAllStringSubmatch(string(text), -1)
	for _, m := range all {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("CONTRIBUTING.md names %s, which is not there", m[1])
		}
	}
	if len(all) < 8 {
		t.Errorf("%d names were found: the test looks at the wrong page", len(all))
	}
}
