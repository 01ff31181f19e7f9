package arch

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ordered are the names of sync that a package may use without the race detector. Each lock and each use of a pool is reported by package
// sync itself. Once and OnceFunc are inlined into the caller, and what they order would look like a race.
var ordered = []string{"sync.Mutex", "sync.RWMutex", "sync.Pool"}

// ownOnce are exceptions: compress/flate fills a table of its own, made of slices alone.
var ownOnce = map[string]string{"compress/flate": "sync.Once"}

// TestWhatTheRaceDetectorPassesOverComputesInOneGoroutine follows the list UNWATCHED of the Makefile.
func TestWhatTheRaceDetectorPassesOverComputesInOneGoroutine(t *testing.T) {
	t.Parallel()
	watch(t)
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^UNWATCHED = (.*)$`).FindStringSubmatch(strings.ReplaceAll(string(makefile), "\\\n", " "))
	if list == nil {
		t.Fatal("the Makefile has no UNWATCHED")
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,CgoFiles"}, strings.Fields(list[1])...)...)
	cmd.Dir = root
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaint.String())
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir   string
			GoFiles, CgoFiles []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, "tidemark/") {
			t.Errorf("UNWATCHED names %s, which is ours", p.ImportPath)
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range file.Imports {
				if strings.Contains(i.Path.Value, "atomic") {
					t.Errorf("UNWATCHED names %s, which imports %s", p.ImportPath, i.Path.Value)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("UNWATCHED names %s, which starts a goroutine in %s", p.ImportPath, name)
				case *ast.SelectorExpr:
					of, is := n.X.(*ast.Ident)
					if !is || of.Name != "sync" {
						break
					}
					if used := "sync." + n.Sel.Name; !slices.Contains(ordered, used) && used != ownOnce[p.ImportPath] {
						t.Errorf("UNWATCHED names %s, which uses %s", p.ImportPath, used)
					}
				}
				return true
			})
		}
	}
}
