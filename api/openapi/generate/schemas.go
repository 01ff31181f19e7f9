package generate

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"tidemark/accounts"
	"tidemark/picks"
)

// schemas builds the schemas of Go types. Every struct has its own named schema, and its users refer to it.
type schemas struct {
	comments *comments
	// named are the schemas of structs, in the order of their first use.
	named ordered[*jsonschema.Schema]
	// names are the names in the document. A type that is missing has its Go name.
	names map[reflect.Type]string
	// about describes the types that exist for one response only and have no comment.
	about map[reflect.Type]string
	known map[reflect.Type]bool
}

// refTo is the prefix of a reference to a schema.
const refTo = "#/components/schemas/"

// of returns the schema of a type. For a struct it returns a reference.
func (s *schemas) of(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() != reflect.Struct {
		return s.infer(t)
	}
	if err := s.define(t); err != nil {
		return nil, err
	}
	return &jsonschema.Schema{Ref: refTo + s.nameOf(t)}, nil
}

func (s *schemas) nameOf(t reflect.Type) string {
	if name := s.names[t]; name != "" {
		return name
	}
	if name := renamed[path.Base(t.PkgPath())+"."+t.Name()]; name != "" {
		return name
	}
	return t.Name()
}

// define builds the schema of a struct and of all structs that it contains.
func (s *schemas) define(t reflect.Type) error {
	if s.known[t] {
		return nil
	}
	s.known[t] = true
	name := s.nameOf(t)
	if s.named.has(name) {
		return fmt.Errorf("two types are called %s, one is %s", name, t)
	}
	s.named.put(name, nil)
	at := len(s.named) - 1
	schema, err := s.infer(t)
	if err != nil {
		return err
	}
	schema.AdditionalProperties = nil // clients must ignore unknown members, because more may be added
	if schema.Description = s.about[t]; schema.Description == "" {
		schema.Description = s.comments.ofType(t, name)
	}
	for _, f := range reflect.VisibleFields(t) {
		member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := schema.Properties[member]
		if f.Anonymous || p == nil {
			continue
		}
		p.Description = s.comments.ofField(t, f)
		constrain(p, name, member)
	}
	s.named[at].value = schema
	return nil
}

// infer returns the library's schema of a type, with references instead of the structs that it contains. Only pointers can be null.
func (s *schemas) infer(t reflect.Type) (*jsonschema.Schema, error) {
	inner, err := s.structsOf(t)
	if err != nil {
		return nil, err
	}
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[picks.Lang]():      {Type: "string", Enum: list(picks.Langs())},
		reflect.TypeFor[accounts.Model]():  {Type: "string", Enum: []any{accounts.ModelBalance, accounts.ModelPlan}},
		reflect.TypeFor[accounts.Plan]():   {Type: "string", Enum: []any{accounts.PlanBalance, accounts.PlanFree, accounts.PlanPro}},
	}
	for _, u := range inner {
		known[u] = &jsonschema.Schema{Ref: refTo + s.nameOf(u)}
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", t, err)
	}
	settle(schema)
	return schema, nil
}

// structsOf defines the structs that a type contains, and returns them.
func (s *schemas) structsOf(t reflect.Type) ([]reflect.Type, error) {
	var found []reflect.Type
	var walk func(u reflect.Type) error
	walk = func(u reflect.Type) error {
		switch u.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			return walk(u.Elem())
		case reflect.Struct:
			if u == reflect.TypeFor[time.Time]() {
				return nil
			}
			found = append(found, u)
			return s.define(u)
		}
		return nil
	}
	if t.Kind() != reflect.Struct {
		return found, walk(t)
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		if err := walk(f.Type); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// settle gives numbers their format and writes nulls in the form of these documents: after the type, or next to a reference. A list is never null, because it is empty
// instead.
func settle(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Type == "number" || slices.Contains(s.Types, "number") { // numbers of Go have 64 bits; without a format, generators read 32
		s.Format = "double"
	}
	null := slices.Contains(s.Types, "null")
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	switch isList := s.Items != nil && s.MaxItems == nil; {
	case !null:
	case s.Ref != "":
		s.AnyOf = []*jsonschema.Schema{{Ref: s.Ref}, {Type: "null"}}
		s.Ref, s.Types = "", nil
	case isList:
		s.Type, s.Types = "array", nil
	default:
		s.Types = append(s.Types, "null")
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
	settle(s.Items)
	settle(s.AdditionalProperties)
	for _, p := range s.Properties {
		settle(p)
	}
}

func list[T any](of []T) []any {
	out := make([]any, len(of))
	for i, v := range of {
		out[i] = v
	}
	return out
}
