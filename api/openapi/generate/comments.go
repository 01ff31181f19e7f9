package generate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// comments are the doc comments of types and fields in the source. The description of a member is written once, at its field.
type comments struct {
	// types is keyed by "package.Type", fields by "package.Type.Field".
	types, fields map[string]string
	// constants holds the values of the constants that a comment may name.
	constants map[string]string
}

// readComments parses packages of the module. folders are relative to root.
func readComments(root string, folders ...string) (*comments, error) {
	c := &comments{types: map[string]string{}, fields: map[string]string{}, constants: map[string]string{}}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, fmt.Errorf("find the source of %s: %w", folder, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, fmt.Errorf("read the comments of %s: %w", folder, err)
			}
			for _, d := range file.Decls {
				if g, ok := d.(*ast.GenDecl); ok {
					c.read(file.Name.Name, g)
				}
			}
		}
	}
	return c, nil
}

func (c *comments) read(pkg string, g *ast.GenDecl) {
	for _, s := range g.Specs {
		switch s := s.(type) {
		case *ast.ValueSpec:
			for i, name := range s.Names {
				if i >= len(s.Values) {
					break
				}
				if lit, ok := s.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					c.constants[name.Name], _ = strconv.Unquote(lit.Value) // the parser has validated it
				}
			}
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil {
				doc = g.Doc
			}
			name := pkg + "." + s.Name.Name
			c.types[name] = oneLine(doc)
			if st, ok := s.Type.(*ast.StructType); ok {
				c.readFields(name, st)
			}
		}
	}
}

// readFields stores the comment of each field. A comment also applies to following fields without a comment, if it names them.
func (c *comments) readFields(name string, st *ast.StructType) {
	last := ""
	for _, f := range st.Fields.List {
		for _, id := range f.Names {
			text := oneLine(f.Doc)
			if text == "" && names(last, id.Name) {
				text = last
			}
			if text != "" {
				c.fields[name+"."+id.Name] = text
			}
			if f.Doc != nil {
				last = text
			}
		}
	}
}

func names(text, word string) bool {
	return regexp.MustCompile(`\b` + word + `\b`).MatchString(text)
}

func oneLine(doc *ast.CommentGroup) string {
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// ofType returns the comment of a type, with the type's name in the document.
func (c *comments) ofType(t reflect.Type, name string) string {
	plain, _, _ := strings.Cut(t.Name(), "[")
	text := c.types[t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]+"."+plain]
	if rest, ok := strings.CutPrefix(text, plain+" "); ok {
		text = name + " " + rest
	}
	return c.public(t, text)
}

// ofField returns the comment of a field of a struct.
func (c *comments) ofField(t reflect.Type, f reflect.StructField) string {
	owner := t
	for _, i := range f.Index[:len(f.Index)-1] { // an embedded struct has its own comments
		owner = owner.Field(i).Type
	}
	pkg := owner.PkgPath()[strings.LastIndexByte(owner.PkgPath(), '/')+1:]
	plain, _, _ := strings.Cut(owner.Name(), "[")
	return c.public(owner, c.fields[pkg+"."+plain+"."+f.Name])
}

// null matches Go's nil, which is null in JSON.
var null = regexp.MustCompile(`\bnil\b`)

var word = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]*\b`)

// public rewrites a comment for readers of the API: fields become JSON names, and constants become their values.
func (c *comments) public(t reflect.Type, text string) string {
	members := map[string]string{}
	if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				members[f.Name] = name
			}
		}
	}
	return word.ReplaceAllStringFunc(null.ReplaceAllString(text, "null"), func(w string) string {
		if member := members[w]; member != "" {
			return "`" + member + "`"
		}
		if value := c.constants[w]; value != "" && strings.HasPrefix(w, "Code") {
			return "`" + value + "`"
		}
		return w
	})
}
