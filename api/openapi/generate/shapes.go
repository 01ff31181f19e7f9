package generate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"tidemark/api/openapi"
	"tidemark/api/view"
)

// shape returns the schema of a body. Several shapes mean one of them.
func (b *builder) shape(of ...shape) (*jsonschema.Schema, error) {
	var any []*jsonschema.Schema
	for _, s := range of {
		if s.name != "" {
			if had := b.schemas.names[s.of]; had != "" && had != s.name {
				return nil, fmt.Errorf("%s is called %s and %s", s.of, had, s.name)
			}
			b.schemas.names[s.of] = s.name
		}
		schema, err := b.schemas.of(s.of)
		if err != nil {
			return nil, err
		}
		any = append(any, schema)
	}
	if len(any) == 1 {
		return any[0], nil
	}
	return &jsonschema.Schema{AnyOf: any}, nil
}

func plainText() *jsonschema.Schema { return &jsonschema.Schema{Type: "string"} }

// problemExample returns a problem as a client receives it.
func problemExample(k view.ProblemKind) view.Problem {
	p := view.Problem{
		Type: openapi.Host + "/problems/" + k.Code, Title: k.Title, Status: k.Status, Code: k.Code, Detail: k.Meaning, Instance: "/api/v1/research/NVDA",
		RequestID: "req_7mzq0gk5v9w2x4t1c8n6b3h0jd",
	}
	switch k.Code {
	case view.CodeUnknownSignal:
		p.Instance, p.KnownSignals = "/api/signals/brent", []string{"crack-spread-321", "hormuz-transit"}
	case view.CodeInvalidParameter:
		p.Errors = []view.ParameterError{{Pointer: "/limit", Detail: "limit is not a whole number from 1 to 500."}}
	case view.CodeInvalidCursor:
		p.Errors = []view.ParameterError{{Pointer: "/cursor", Detail: "The cursor does not belong to this listing in this order."}}
	case view.CodeInvalidLang:
		p.Errors = []view.ParameterError{{Pointer: "/lang", Detail: view.LangFault()}}
	case view.CodeInsufficientBalance:
		p.Balance, p.Cost = &view.Money{Amount: "0.004", Currency: "USD"}, &view.Money{Amount: "0.01", Currency: "USD"}
		p.TopUpURL, p.X402URL = openapi.Host+"/dashboard", openapi.Host+"/api/v1/x402/research/NVDA"
	}
	return p
}

// camel returns the name of a component: from_date becomes FromDate.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// fileBytes is the schema of a file that is not text.
func fileBytes() *jsonschema.Schema {
	return &jsonschema.Schema{Description: "A file with typed columns and the rows of CSV."}
}
