package generate_test

import (
	"bytes"
	"flag"
	"os"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"tidemark/api/openapi/generate"
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
