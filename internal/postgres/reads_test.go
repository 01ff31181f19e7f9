package postgres

import (
	"errors"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
)

func over(p *pgxpool.Pool) *DB {
	one := &pool{Pool: p, may: undone}
	return newDB(&connections{pool: one, reads: one.reading()})
}

// volatileReads are the volatile functions that statements of the pool for reads may call, with what they do instead of a change.
var volatileReads = map[string]string{
	"world_now": "tells the time", "billing_now": "tells the time", "clock_timestamp": "tells the time",
	"pg_is_in_recovery": "describes the server", "pg_last_wal_replay_lsn": "describes the server",
	"pg_current_wal_insert_lsn": "describes the server", "pg_database_size": "describes the server",
}

// readsHandedOn are the functions that hand on the pool for reads. Their statements are sent by readSenders.
var readsHandedOn = []string{"Open", "Backfill", "LogTile", "LogTileStore"}

var readSenders = []string{"backfillOf", "Tiles"}

var (
	changing = regexp.MustCompile(`(?i)\b(insert|update|delete|merge|truncate|share|copy|lock|call|notify)\b`)
	calling  = regexp.MustCompile(`(\w+)"?\s*\(`)
	quoted   = regexp.MustCompile(`'[^']*'`)
)

// Statements of the pool for reads may run twice, so none of them may change anything.
func TestWhatIsReadChangesNothing(t *testing.T) {
	t.Parallel()
	s := parseSource(t)
	for _, f := range s.functions {
		sent := map[ast.Expr]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 1 {
				to, ok := call.Fun.(*ast.SelectorExpr)
				if ok && (to.Sel.Name == "Query" || to.Sel.Name == "QueryRow") && (isReads(to.X) || slices.Contains(readSenders, f.Name.Name)) {
					sent[to.X] = true
					s.statement(call.Args[1], f)
				}
			}
			if e, ok := n.(ast.Expr); ok && isReads(e) && !sent[e] && !slices.Contains(readsHandedOn, f.Name.Name) {
				t.Errorf("%s: what happens to the pool for reads is not known", s.files.Position(e.Pos()))
			}
			return true
		})
	}
	for _, at := range s.unknown {
		t.Errorf("%s: the text of a statement of the pool for reads is not known", at)
	}
	if len(s.texts) < 150 {
		t.Errorf("%d texts were found", len(s.texts))
	}
	rows, err := pgtest.Pool(t).Query(t.Context(), `
		select viewname, definition from pg_views where schemaname = 'public'
		union all
		select proname, null from pg_proc where provolatile = 'v'`)
	if err != nil {
		t.Fatal(err)
	}
	mayWrite := map[string]bool{}
	var name string
	var view *string
	if _, err := pgx.ForEachRow(rows, []any{&name, &view}, func() error {
		if view == nil {
			mayWrite[name] = true
		} else {
			s.texts[*view] = "the view " + name // views may be read
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for text, at := range s.texts {
		text = quoted.ReplaceAllString(text, "''")
		if word := changing.FindString(text); word != "" {
			t.Errorf("%s: %q changes something:\n%s", at, word, text)
		}
		for _, m := range calling.FindAllStringSubmatch(text, -1) {
			if name := strings.ToLower(m[1]); mayWrite[name] {
				names[name] = at
			}
		}
	}
	for name, at := range names {
		if volatileReads[name] == "" {
			t.Errorf("%s: the volatile function %s is called", at, name)
		}
	}
	for name := range volatileReads {
		if names[name] == "" {
			t.Errorf("nothing calls %s", name)
		}
	}
}

func isReads(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "reads"
}

// source is the code of this package, with the texts of its statements and their places, and the places of unknown texts.
type source struct {
	types.Info

	files     *token.FileSet
	functions map[types.Object]*ast.FuncDecl
	texts     map[string]string
	unknown   []string
	seen      map[any]bool
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

func parseSource(t *testing.T) *source {
	t.Helper()
	s := &source{
		Info:  types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}},
		files: token.NewFileSet(), functions: map[types.Object]*ast.FuncDecl{}, texts: map[string]string{}, seen: map[any]bool{},
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	// Other packages are not read, so there are errors where they are used.
	_, _ = (&types.Config{Importer: noImports{}, Error: func(error) {}}).Check("postgres", s.files, all, &s.Info)
	for _, f := range all {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				s.functions[s.Defs[f.Name]] = f
			}
		}
	}
	return s
}

// constant notes the text of a constant.
func (s *source) constant(e ast.Expr) bool {
	v := s.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return false
	}
	s.texts[constant.StringVal(v)] = s.files.Position(e.Pos()).String()
	return true
}

// statement notes the texts that an expression of a function is made of. It follows variables, parameters and calls. Of a function that is
// called, all constants are noted.
func (s *source) statement(e ast.Expr, in *ast.FuncDecl) {
	if s.constant(e) {
		return
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		s.statement(e.X, in)
		return
	case *ast.BinaryExpr:
		s.statement(e.X, in)
		s.statement(e.Y, in)
		return
	case *ast.Ident:
		if v, ok := s.Uses[e].(*types.Var); ok && v.Parent() != v.Pkg().Scope() {
			s.variable(v, in)
			return
		}
	case *ast.CallExpr:
		if f := s.called(e); f != nil {
			s.all(f)
			for _, arg := range e.Args {
				s.constant(arg)
			}
			return
		}
		switch types.ExprString(e.Fun) {
		case "bind", "strconv.Itoa": // a placeholder, a number
			return
		case "fmt.Sprintf":
			for _, arg := range e.Args {
				s.statement(arg, in)
			}
			return
		}
	}
	s.unknown = append(s.unknown, s.files.Position(e.Pos()).String())
}

// variable notes what is assigned to a variable, or passed for a parameter.
func (s *source) variable(v *types.Var, in *ast.FuncDecl) {
	if s.seen[v] {
		return
	}
	s.seen[v] = true
	place, known := 0, false
	for _, p := range in.Type.Params.List {
		for _, name := range p.Names {
			if s.Defs[name] == v {
				s.passed(in, place)
				known = true
			}
			place++
		}
	}
	ast.Inspect(in, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for i, to := range a.Lhs {
				if name, ok := to.(*ast.Ident); ok && (s.Defs[name] == v || s.Uses[name] == v) {
					s.statement(a.Rhs[min(i, len(a.Rhs)-1)], in)
					known = true
				}
			}
		}
		return true
	})
	if !known {
		s.unknown = append(s.unknown, s.files.Position(v.Pos()).String())
	}
}

// passed notes what the callers of a function pass at a place.
func (s *source) passed(to *ast.FuncDecl, place int) {
	for _, f := range s.functions {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && s.called(call) == to {
				s.statement(call.Args[place], f)
			}
			return true
		})
	}
}

// called returns the function of this package that a call calls, or nil.
func (s *source) called(call *ast.CallExpr) *ast.FuncDecl {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return s.functions[s.Uses[f]]
	case *ast.SelectorExpr:
		return s.functions[s.Uses[f.Sel]]
	}
	return nil
}

// all notes the constants of a function, and of the functions of this package that it calls.
func (s *source) all(f *ast.FuncDecl) {
	if s.seen[f] {
		return
	}
	s.seen[f] = true
	ast.Inspect(f, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if call, ok := e.(*ast.CallExpr); ok {
			if f := s.called(call); f != nil {
				s.all(f)
			}
		}
		return !s.constant(e)
	})
}
