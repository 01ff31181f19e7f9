package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The lists of make computing and make processes are held to the code. A name that no test has any more would leave a check out of make test.
// A goroutine would go unwatched, so make race runs the tests that start one, too.
func TestWhatRunsWithoutTheRaceDetectorIsThereAndStartsNoGoroutine(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(makefile), "\\\n", " ")
	value := func(pattern string) []string {
		m := regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("the Makefile has no %s", pattern)
		}
		return strings.Fields(strings.ReplaceAll(m[1], "|", " "))
	}
	names := value(`^COMPUTING_TESTS = (.*)$`)
	beside := value(`^AT_ONCE_PACKAGES = (.*)$`)
	atOnce := regexp.MustCompile(strings.ReplaceAll(strings.Join(value(`^AT_ONCE = (.*)$`), "|"), "$$", "$"))
	var whole []string
	for _, folder := range value(`^COMPUTING_PACKAGES = (.*)$`) {
		if folder == "$(AT_ONCE_PACKAGES)" {
			whole = append(whole, beside...)
			continue
		}
		whole = append(whole, folder)
	}
	for _, name := range names {
		var found []string
		for _, folder := range value(`^\tgo test -vet=off -timeout 20m -run '\$\(COMPUTING\)' (.*)$`) {
			files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				code, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(code), "\nfunc "+name+"(t *testing.T)") {
					found = append(found, folder)
				}
			}
		}
		if len(found) != 1 {
			t.Errorf("COMPUTING_TESTS names %s: %d of the packages of make computing have it: %v", name, len(found), found)
		}
	}
	for _, folder := range value(`^PROCESS_PACKAGES = (.*)$`) {
		files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(path string) bool {
			code, err := os.ReadFile(path)
			return err == nil && strings.Contains(string(code), "program.Build()")
		}) {
			t.Errorf("PROCESS_PACKAGES names %s, which builds no program", folder)
		}
	}
	watched := map[string]bool{}
	for _, folder := range whole {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("COMPUTING_PACKAGES names %s, which has no Go files: %v", folder, err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				name := ""
				if f, ok := d.(*ast.FuncDecl); ok {
					name = f.Name.Name
				}
				if !startsGoroutine(d) {
					continue
				}
				if !strings.HasSuffix(path, "_test.go") || !atOnce.MatchString(name) || !slices.Contains(beside, folder) {
					t.Errorf("%s: %s starts a goroutine, and is tested without the race detector", path, name)
				}
				watched[folder] = true
			}
		}
	}
	for _, folder := range beside {
		if !watched[folder] {
			t.Errorf("AT_ONCE_PACKAGES names %s, where no test of AT_ONCE starts a goroutine", folder)
		}
	}
}

// startsGoroutine reports whether a declaration has a go statement or calls a method Go, as sync.WaitGroup has.
func startsGoroutine(d ast.Decl) (starts bool) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" {
				starts = true
			}
		}
		return true
	})
	return starts
}
