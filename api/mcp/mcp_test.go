package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// The registry names a server by its host in reverse order, and requires semantic versions.
func TestDescriptionForTheRegistry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ url, version, name, wantVersion string }{
		{"https://tidemark.example.com", "1.4.0", `"com.example.tidemark/tidemark"`, `"1.4.0"`},
		{"https://example.com/", "v1.4.0", `"com.example/tidemark"`, `"1.4.0"`},
		{"http://127.0.0.1:8080", "dev", `"localhost/tidemark"`, `"0.0.0-dev"`},
		{"http://[::1]:8080", "dev", `"localhost/tidemark"`, `"0.0.0-dev"`},
	} {
		d, err := New(Options{PublicURL: tt.url, Version: tt.version})
		if err != nil {
			t.Fatal(err)
		}
		body := string(d.ServerJSON().Identity.Body)
		for _, want := range []string{`"name":` + tt.name, `"version":` + tt.wantVersion, `"url":"` + strings.TrimSuffix(tt.url, "/") + `/api/mcp"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %s in %s", tt.url, want, body)
			}
		}
	}
}

// Every argument and every result has a schema, so that a model knows the bounds of each call.
func TestEveryToolDescribesItself(t *testing.T) {
	t.Parallel()
	for _, tool := range tools {
		in := schemaOf(tool.arguments)
		if in.AdditionalProperties == nil {
			t.Errorf("%s takes what it does not know", tool.name)
		}
		for name, p := range in.Properties {
			bounded := p.Enum != nil || p.Pattern != "" || p.MaxLength != nil || p.Minimum != nil && p.Maximum != nil
			if p.Description == "" || len(p.Examples) == 0 || !bounded {
				t.Errorf("%s: the argument %s has no description, example or bound", tool.name, name)
			}
			// The example passes the validation.
			if _, err := read([]argument{argumentNamed(tool, name)}, []byte(`{"`+name+`":`+argumentNamed(tool, name).example+`}`)); err != nil {
				t.Errorf("%s: the example of %s is refused: %v", tool.name, name, err)
			}
		}
		out, err := tool.output()
		if err != nil {
			t.Fatal(err)
		}
		if out.Type != "object" || len(out.Required) == 0 || out.Properties["disclaimer"] == nil {
			t.Errorf("%s: its answer is described as %s with %v required, and a disclaimer %v", tool.name, out.Type, out.Required, out.Properties["disclaimer"])
		}
	}
}

func argumentNamed(t tool, name string) argument {
	for _, a := range t.arguments {
		if a.name == name {
			return a
		}
	}
	return argument{}
}

// A pair that is unknown, as the bounds of a backtest with few cases, is null. A list is empty instead.
func TestAnUnknownPairKeepsToTheSchema(t *testing.T) {
	t.Parallel()
	type answer struct {
		Bounds *[2]float64 `json:"bounds"`
		List   []string    `json:"list"`
	}
	s, err := outputOf[answer]()
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"bounds":null,"list":[]}`: true, `{"bounds":[0.1,0.2],"list":["a"]}`: true, `{"bounds":[0.1],"list":[]}`: false, `{"bounds":null,"list":null}`: false,
	} {
		var v map[string]any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); (err == nil) != want {
			t.Errorf("%s: %v, want it to be valid: %v", text, err, want)
		}
	}
}
