package mcp

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"tidemark/picks"
)

// languageCodes are the valid values of a language argument.
func languageCodes() []string {
	var codes []string
	for _, l := range picks.Langs() {
		codes = append(codes, string(l))
	}
	return codes
}

// outputOf describes the JSON of a Go type, so that tool outputs are described by their types. It allows unknown members, because members
// may be added later.
func outputOf[T any]() (*jsonschema.Schema, error) {
	lang := &jsonschema.Schema{Type: "string"}
	for _, code := range languageCodes() {
		lang.Enum = append(lang.Enum, code)
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():  {Type: "string", Format: "date-time"},
		reflect.TypeFor[picks.Lang](): lang,
	}})
	if err != nil {
		return nil, fmt.Errorf("describe a %s: %w", reflect.TypeFor[T](), err)
	}
	relaxSchema(s)
	return s, nil
}

// relaxSchema removes constraints that the library assumes for all Go types but that are wrong here: objects allow more members, and lists
// are never null, but pairs may be. It writes a nullable value as two alternatives with one type each, because more clients understand that than a list of
// types.
func relaxSchema(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.AdditionalProperties = nil
	relaxSchema(s.Items)
	for _, p := range s.Properties {
		relaxSchema(p)
	}
	i := slices.Index(s.Types, "null")
	if i < 0 {
		return
	}
	value := *s
	value.Types, value.Type = nil, slices.Delete(slices.Clone(s.Types), i, i+1)[0]
	if value.Type == "array" && value.MinItems == nil { // a list; a pair that is unknown is null
		*s = value
		return
	}
	*s = jsonschema.Schema{AnyOf: []*jsonschema.Schema{&value, {Type: "null"}}}
}
