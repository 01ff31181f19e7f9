package generate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// The parts of an OpenAPI 3.1 document that these documents use, named as in the specification (https://spec.openapis.org/oas/v3.1.1).

type document struct {
	OpenAPI      string                       `json:"openapi"`
	Info         info                         `json:"info"`
	ExternalDocs *externalDocs                `json:"externalDocs,omitempty"`
	Servers      []server                     `json:"servers"`
	Tags         []tag                        `json:"tags"`
	Paths        ordered[ordered[*operation]] `json:"paths"`
	Webhooks     ordered[ordered[*operation]] `json:"webhooks,omitempty"`
	Components   components                   `json:"components"`
}

type info struct {
	Title          string  `json:"title"`
	Version        string  `json:"version"`
	Summary        string  `json:"summary"`
	Description    string  `json:"description"`
	TermsOfService string  `json:"termsOfService"`
	Contact        contact `json:"contact"`
	License        license `json:"license"`
}

type contact struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type license struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

type externalDocs struct {
	Description string `json:"description"`
	URL         string `json:"url"`
}

type server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type operation struct {
	OperationID string                 `json:"operationId"`
	Summary     string                 `json:"summary"`
	Description string                 `json:"description"`
	Tags        []string               `json:"tags"`
	Security    []ordered[[]string]    `json:"security"`
	PriceUSD    string                 `json:"x-price-usd,omitempty"`
	Parameters  []any                  `json:"parameters,omitempty"`
	RequestBody *requestBody           `json:"requestBody,omitempty"`
	Responses   ordered[responseOrRef] `json:"responses"`
}

type reference struct {
	Ref string `json:"$ref"`
}

type parameter struct {
	Name        string             `json:"name"`
	In          string             `json:"in"`
	Description string             `json:"description"`
	Required    bool               `json:"required"`
	Schema      *jsonschema.Schema `json:"schema"`
	Example     any                `json:"example,omitempty"`
}

type requestBody struct {
	Description string             `json:"description"`
	Required    bool               `json:"required"`
	Content     ordered[mediaType] `json:"content"`
}

type mediaType struct {
	Schema   *jsonschema.Schema `json:"schema"`
	Example  any                `json:"example,omitempty"`
	Examples ordered[example]   `json:"examples,omitempty"`
}

// example is a value, or a reference to one if Ref is set.
type example struct {
	Ref     string `json:"$ref,omitempty"`
	Summary string `json:"summary,omitempty"`
	Value   any    `json:"value,omitempty"`
}

// responseOrRef is a response, or a reference to one if Ref is set.
type responseOrRef struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Headers     ordered[reference] `json:"headers,omitempty"`
	Content     ordered[mediaType] `json:"content,omitempty"`
}

type header struct {
	Description string             `json:"description"`
	Schema      *jsonschema.Schema `json:"schema"`
	Example     any                `json:"example,omitempty"`
}

type securityScheme struct {
	Type        string `json:"type"`
	Description string `json:"description"`
	Scheme      string `json:"scheme,omitempty"`
	In          string `json:"in,omitempty"`
	Name        string `json:"name,omitempty"`
}

type components struct {
	SecuritySchemes ordered[securityScheme]     `json:"securitySchemes,omitempty"`
	Parameters      ordered[parameter]          `json:"parameters,omitempty"`
	Headers         ordered[header]             `json:"headers,omitempty"`
	Responses       ordered[responseOrRef]      `json:"responses,omitempty"`
	Examples        ordered[example]            `json:"examples,omitempty"`
	Schemas         ordered[*jsonschema.Schema] `json:"schemas,omitempty"`
}

// ordered is a JSON object that keeps the insertion order of its members.
type ordered[T any] []member[T]

type member[T any] struct {
	name  string
	value T
}

// put adds a member.
func (o *ordered[T]) put(name string, value T) { *o = append(*o, member[T]{name, value}) }

// has reports whether the object has a member with a name.
func (o ordered[T]) has(name string) bool {
	for _, m := range o {
		if m.name == name {
			return true
		}
	}
	return false
}

// MarshalJSON writes the members in insertion order.
func (o ordered[T]) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := encode(m.name)
		if err != nil {
			return nil, err
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// encode returns JSON without escaping "<" and "&".
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a %T: %w", v, err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}
