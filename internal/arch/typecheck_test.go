package arch

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const postgres = module + "/internal/postgres"

// typed holds the packages of this module that the table of stores covers, and internal/postgres, with their types.
type typed struct {
	files *token.FileSet
	infos map[string]*types.Info
	// imports reads what packages import: the compiler's export data.
	imports types.Importer
	// db is *postgres.DB.
	db types.Type
	// bodies are the functions, constants and variables of internal/postgres, and docs the comments of its types.
	bodies map[types.Object]ast.Node
	docs   map[string]string
}

func typecheck(t *testing.T) typed {
	t.Helper()
	watch(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir = root
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaint.String())
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var rooms []listed
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		exports[p.ImportPath] = p.Export
		name, ours := room(p.ImportPath)
		if r, ok := rowOf(name); ours && ok && len(p.GoFiles) > 0 && r.may != anyRoom && r.may != noTests && r.may != noCmd {
			rooms = append(rooms, p)
		}
	}
	all := typed{files: token.NewFileSet(), infos: map[string]*types.Info{}, bodies: map[types.Object]ast.Node{}, docs: map[string]string{}}
	all.imports = importer.ForCompiler(all.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	db, err := all.imports.Import(postgres)
	if err != nil {
		t.Fatal(err)
	}
	all.db = types.NewPointer(db.Scope().Lookup("DB").Type())
	for _, p := range rooms {
		var files []*ast.File
		for _, name := range p.GoFiles {
			files = append(files, all.parse(t, filepath.Join(p.Dir, name), nil))
		}
		all.check(t, p.ImportPath, files)
	}
	return all
}

func (all typed) parse(t *testing.T, name string, source any) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(all.files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (all typed) check(t *testing.T, path string, files []*ast.File) {
	t.Helper()
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: all.imports}).Check(path, all.files, files, info); err != nil {
		t.Fatal(err)
	}
	all.infos[path] = info
	if path != postgres {
		return
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				all.bodies[info.Defs[d.Name]] = d
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							all.bodies[info.Defs[name]] = spec
						}
					case *ast.TypeSpec:
						all.docs[spec.Name.Name] = strings.Join(strings.Fields(d.Doc.Text()), " ")
					}
				}
			}
		}
	}
}
