package generate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"tidemark/api/openapi/generate"
	"tidemark/internal/postgres"
)

var update = flag.Bool("update", false, "write the documents that the program has anew, for review")

// made builds the documents once.
var made = sync.OnceValues(func() (generate.Documents, error) { return generate.Build("../../..") })

func TestTheDocumentsOfTheProgramAreThoseOfItsTypes(t *testing.T) {
	t.Parallel()
	docs, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]byte{"../service.json": docs.Service, "../signals.json": docs.Signals} {
		if *update {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s is not what the types say; look at the difference, and write it with go test ./api/openapi/generate -update\n%s",
				path, cmp.Diff(string(have), string(want)))
		}
	}
}

// A served number has at most ServedDigits significant digits: the further ones are of the arithmetic.
func TestNoExampleHasNoise(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("examples/*")
	if err != nil {
		t.Fatal(err)
	}
	noisy := regexp.MustCompile(`^-?[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?$`)
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		number := func(text string) {
			if !noisy.MatchString(text) {
				return
			}
			seen++
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || postgres.Rounded(v) != v {
				t.Errorf("%s has %s, %v", file, text, err)
			}
		}
		switch filepath.Ext(file) {
		case ".json", ".ndjson":
			d := json.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			for {
				token, err := d.Token()
				if err != nil {
					break
				}
				if n, ok := token.(json.Number); ok {
					number(n.String())
				}
			}
		case ".csv":
			for _, cell := range strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(",\r\n", r) }) {
				number(cell)
			}
		}
	}
	if seen < 500 {
		t.Errorf("%d numbers, want those of all examples", seen)
	}
}

// The library validates each whole document against OpenAPI 3.1, and every example against its schema.
func TestTheDocumentsAreValid(t *testing.T) {
	t.Parallel()
	docs, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"service": docs.Service, "signals": docs.Signals} {
		loader := openapi3.NewLoader()
		doc, err := loader.LoadFromData(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := doc.Validate(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Generators of clients make a type of each component and a constant of each value of an enum, called by the component and the value
// together. OrderDesc was both, so no generated Go client compiled.
func TestNoConstantOfAClientIsCalledLikeAType(t *testing.T) {
	t.Parallel()
	docs, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"service": docs.Service, "signals": docs.Signals} {
		var doc struct {
			Components struct {
				Parameters map[string]struct{ Schema struct{ Enum []any } }
				Schemas    map[string]struct {
					Enum       []any
					Properties map[string]struct{ Enum []any }
				}
			}
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		types, constants := map[string]bool{}, map[string]bool{}
		have := func(name string, enum []any) {
			types[name] = true
			for _, value := range enum {
				constants[name+pascal(fmt.Sprint(value))] = true
			}
		}
		for name, p := range doc.Components.Parameters {
			have(name, p.Schema.Enum)
		}
		for name, s := range doc.Components.Schemas {
			have(name, s.Enum)
			for member, p := range s.Properties {
				if p.Enum != nil {
					have(name+pascal(member), p.Enum)
				}
			}
		}
		if len(constants) < 10 {
			t.Errorf("%s: %d constants", name, len(constants))
		}
		for c := range constants {
			if types[c] {
				t.Errorf("%s: %s is a component and a value of an enum", name, c)
			}
		}
	}
}

// pascal returns a part of a name in a client: open_now becomes OpenNow.
func pascal(s string) string {
	out := ""
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == '_' || r == '-' || r == ' ' }) {
		out += strings.ToUpper(part[:1]) + part[1:]
	}
	return out
}

// A number without a format is one of 32 bits in clients of typed languages.
func TestEveryNumberSaysThatItHas64Bits(t *testing.T) {
	t.Parallel()
	docs, err := made()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"service": docs.Service, "signals": docs.Signals} {
		doc, err := openapi3.NewLoader().LoadFromData(text)
		if err != nil {
			t.Fatal(err)
		}
		for schema, s := range doc.Components.Schemas {
			for member, p := range s.Value.Properties {
				if p.Value.Type.Includes("number") && p.Value.Format != "double" {
					t.Errorf("%s: %s.%s has the format %q", name, schema, member, p.Value.Format)
				}
			}
		}
	}
}
