package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"tidemark/internal/config"
)

const (
	programPath = "tidemark/cmd/tidemark"
	configPath  = "tidemark/internal/config"
	sourcesPath = "tidemark/ingest/sources"
)

// reader knows which settings each function of the program reads. It is built from the source, so it includes code that no test runs.
type reader struct {
	calls map[types.Object]map[types.Object]bool
	reads map[types.Object]map[string]bool
}

// newReader checks the types of the program, of its settings and of what takes a group of them. All other packages come from the build cache.
func newReader(t *testing.T) (*reader, *types.Package) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", programPath)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	export := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		export[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	compiled := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(export[path]) })
	r := &reader{calls: map[types.Object]map[types.Object]bool{}, reads: map[types.Object]map[string]bool{}}
	settings := r.check(t, fset, configPath, "../../internal/config", compiled)
	own := overlaid{compiled, map[string]*types.Package{configPath: settings}}
	own.packages[sourcesPath] = r.check(t, fset, sourcesPath, "../../ingest/sources", own)
	program := r.check(t, fset, programPath, ".", own)
	return r, program
}

// overlaid imports packages as they were checked here, so that the fields of the settings are the same objects.
type overlaid struct {
	types.Importer
	packages map[string]*types.Package
}

func (o overlaid) Import(path string) (*types.Package, error) {
	if pkg := o.packages[path]; pkg != nil {
		return pkg, nil
	}
	return o.Importer.Import(path)
}

// check records which functions each function of a package calls, and which settings it reads.
func (r *reader) check(t *testing.T, fset *token.FileSet, path, dir string, imports types.Importer) *types.Package {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_other.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	pkg, err := (&types.Config{Importer: imports}).Check(path, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	settings := settingFields(pkg, imports)
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			of := info.Defs[fn.Name]
			r.calls[of], r.reads[of] = map[types.Object]bool{}, map[string]bool{}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				switch used := info.Uses[id].(type) {
				case *types.Func:
					r.calls[of][used.Origin()] = true
				case *types.Var:
					for _, name := range settings[used] {
						r.reads[of][name] = true
					}
				}
				return true
			})
		}
	}
	return pkg
}

// settingFields maps the fields of the settings to their names. A group that is passed on as a whole has those of all its fields.
func settingFields(pkg *types.Package, imports types.Importer) map[types.Object][]string {
	if pkg.Path() != configPath {
		pkg, _ = imports.Import(configPath)
	}
	out := map[types.Object][]string{}
	names := func(s *types.Struct) (all []string) {
		for i := range s.NumFields() {
			if env := reflect.StructTag(s.Tag(i)).Get("env"); env != "" {
				all = append(all, env)
			}
		}
		return all
	}
	for _, name := range pkg.Scope().Names() {
		s, ok := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct)
		if !ok {
			continue
		}
		for i := range s.NumFields() {
			field := s.Field(i)
			if env := reflect.StructTag(s.Tag(i)).Get("env"); env != "" {
				out[field] = []string{env}
			} else if group, ok := field.Type().Underlying().(*types.Struct); ok && field.Anonymous() {
				out[field] = names(group)
			}
		}
	}
	return out
}

// from returns the settings that a function reads, directly or through functions that it calls.
func (r *reader) from(of types.Object) map[string]bool {
	out, seen := map[string]bool{}, map[types.Object]bool{}
	var walk func(types.Object)
	walk = func(o types.Object) {
		if seen[o] {
			return
		}
		seen[o] = true
		for name := range r.reads[o] {
			out[name] = true
		}
		for called := range r.calls[o] {
			if called.Name() != "simulated" { // it uses its own settings
				walk(called)
			}
		}
	}
	walk(of)
	return out
}

// whole lists the commands that read every setting in every way, because they show settings and do not use them.
var whole = []string{"help", "complete-words"}

func TestACommandListsTheSettingsThatItReadsAndNoOthers(t *testing.T) {
	t.Parallel()
	r, pkg := newReader(t)
	before := r.from(pkg.Scope().Lookup("command")) // the settings that are read before a command runs
	parser, err := kong.New(&commands{}, commandVars(), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, leaf := range parser.Model.Leaves(false) {
		name := strings.TrimPrefix(leaf.FullPath(), parser.Model.Name+" ")
		if slices.Contains(whole, name) {
			continue
		}
		n++
		object := pkg.Scope().Lookup(leaf.Target.Type().Name())
		method, _, _ := types.LookupFieldOrMethod(object.Type(), true, pkg, "Run")
		reads := r.from(method)
		help := helpOf(t, strings.Fields(name)...)
		_, help, _ = strings.Cut(help, "\nSettings it reads:")
		listed := map[string]bool{}
		if strings.Contains(help, "`tidemark help settings "+name+"`") { // only the first to know are listed
			help += outputOf(t, "help", "settings", name)
		}
		for _, m := range regexp.MustCompile(`(?m)^(?:  )?([A-Z][A-Z0-9_]+)(?: |$)`).FindAllStringSubmatch(help, -1) {
			listed[m[1]] = true
			if !reads[m[1]] && !before[m[1]] {
				t.Errorf("%s --help lists %s, which it does not read", name, m[1])
			}
		}
		for _, read := range slices.Sorted(maps.Keys(reads)) {
			if !listed[read] {
				t.Errorf("%s reads %s, which its help does not list", name, read)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d commands were looked at", n)
	}
}

// helpOf returns the help of a command.
func helpOf(t *testing.T, words ...string) string {
	t.Helper()
	return outputOf(t, append(words, "--help")...)
}

// outputOf returns the output of a command, which must succeed.
func outputOf(t *testing.T, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	if code := run(t.Context(), words, &out, &out); code != 0 {
		t.Fatalf("%v: exit %d: %s", words, code, out.String())
	}
	return out.String()
}

func TestHelpFitsAScreen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string
		most  int
	}{
		{nil, 40},
		{[]string{"verify"}, 56},
		{[]string{"runs"}, 32},
		{[]string{"health"}, 20},
		{[]string{"schedule"}, 31},
		{[]string{"backfill", "plan"}, 50},
		{[]string{"doctor"}, 62},
		{[]string{"version"}, 15},
		{[]string{"up"}, 50},
		{[]string{"scheduler"}, 50},
		{[]string{"worker"}, 50},
		{[]string{"api"}, 50},
	} {
		help := helpOf(t, c.words...)
		if n := strings.Count(help, "\n"); n > c.most {
			t.Errorf("%v --help has %d lines, want %d at most:\n%s", c.words, n, c.most, help)
		}
		for line := range strings.Lines(help) {
			if len([]rune(line)) > helpWidth+1 && len(strings.Fields(line)) > 1 { // a single word cannot be wrapped
				t.Errorf("%v --help has a line wider than %d characters: %s", c.words, helpWidth, line)
			}
		}
	}
	parser, err := kong.New(&commands{}, kong.ExplicitGroups(purposes), commandVars(), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	help := helpOf(t)
	for _, c := range parser.Model.Children {
		if !c.Hidden && !strings.Contains(help, " "+c.Name+" ") {
			t.Errorf("the help does not list %s", c.Name)
		}
	}
}

func TestHelpOfSettingsHasAll(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := run(t.Context(), []string{"help", "settings"}, &out, &out); code != 0 {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	var all config.Settings
	for _, s := range all.List() {
		_, entry, found := strings.Cut(out.String(), "\n"+s.Name+"\n")
		entry, _, _ = strings.Cut(entry, "\n\n")
		if !found || strings.Contains(entry, "Read by: .") {
			t.Errorf("%s is not explained, or nobody reads it: %s", s.Name, entry)
		}
	}
	for name, by := range map[string]string{"WORLD": "most commands", "LOG_LEVEL": "every command", "CONCURRENCY": "up, worker", "BASE_CHAIN_ID": "up, worker, chain, payments"} {
		_, entry, _ := strings.Cut(out.String(), "\n"+name+"\n")
		entry, _, _ = strings.Cut(entry, "\n\n")
		if !strings.Contains(entry, "Read by: "+by+".") {
			t.Errorf("%s: %s, want it read by %s", name, entry, by)
		}
	}
}

func TestFlagsMayStandBeforeTheCommandThatReadsThem(t *testing.T) {
	t.Parallel()
	url := "--database-url=postgres://127.0.0.1:1/none"
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{url, "--log-level", "error", "runs"}, "127.0.0.1"},
		{[]string{"--log-level=error", "--database-url", "postgres://127.0.0.1:1/none", "runs", "7"}, "127.0.0.1"},
		{[]string{"runs", url}, "127.0.0.1"},
		{[]string{"--concurrency=2", "runs"}, "unknown flag --concurrency"},
		{[]string{"--wrld=live", "runs"}, "unknown flag --wrld"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), c.args, &out, &out); code == 0 || !strings.Contains(out.String(), c.says) {
			t.Errorf("%v: exit %d: %s, want %q in it", c.args, code, out.String(), c.says)
		}
	}
}

func TestTheSettingsOfACommandAreExplained(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := run(t.Context(), []string{"help", "settings", "scheduler"}, &out, &out); code != 0 {
		t.Fatalf("exit %d: %s", code, out.String())
	}
	if s := out.String(); !strings.Contains(s, "\nREDIS_URL\n") || strings.Contains(s, "\nMCP_RATE_LIMIT\n") {
		t.Errorf("the settings of the scheduler:\n%s", s)
	}
	out.Reset()
	if code := run(t.Context(), []string{"help", "settings", "shceduler"}, &out, &out); code != 2 || !strings.Contains(out.String(), "unknown command") {
		t.Errorf("exit %d: %s", code, out.String())
	}
}
