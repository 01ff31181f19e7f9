// Package contract validates responses against the published description of the service, for tests of handlers and of running servers. It
// is stricter than a client: a member that is not described is a fault, too. Start at Service.
package contract

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Description is an OpenAPI 3.1 document for validating responses. It is safe for concurrent use.
type Description struct {
	paths map[string]map[string]operation
	doc   map[string]any

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

type operation struct {
	Responses map[string]json.RawMessage `json:"responses"`
}

// ErrNotDescribed: the description does not contain this address.
var ErrNotDescribed = errors.New("the description has no such address")

// name is the URL of the document inside the schema compiler.
const name = "https://openapi.invalid/doc.json"

// Parse parses a description.
func Parse(text []byte) (*Description, error) {
	d := &Description{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	var doc struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	d.paths = doc.Paths
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	d.doc = whole.(map[string]any)
	if components, ok := d.doc["components"].(map[string]any); ok {
		closeObjects(components["schemas"])
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(name, whole); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	return d, nil
}

// Answer is a response of a server.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Check returns how a response differs from its description, or nil. The error is ErrNotDescribed if the address is not described. OPTIONS
// is never described, and a method that an address does not support must be a 405.
func (d *Description) Check(method, path string, a Answer) error {
	template, methods := d.find(path)
	if methods == nil {
		return ErrNotDescribed
	}
	if method == http.MethodOptions || a.Status == http.StatusRequestHeaderFieldsTooLarge { // net/http answers this itself, for any address
		return nil
	}
	fault := func(format string, args ...any) error {
		return fmt.Errorf("%s %s: %d: %w", method, template, a.Status, fmt.Errorf(format, args...))
	}
	op, ok := methods[strings.ToLower(method)]
	if method == http.MethodHead {
		op, ok = methods["get"]
	}
	if !ok {
		if a.Status != http.StatusMethodNotAllowed {
			return fault("the address has no such method, and it was not refused")
		}
		return nil
	}
	place := "/paths/" + escape(template) + "/" + strings.ToLower(method) + "/responses/" + strconv.Itoa(a.Status)
	if op.Responses[strconv.Itoa(a.Status)] == nil {
		return fault("this status is not described; the body is %.300s", a.Body)
	}
	if method == http.MethodHead {
		return nil
	}
	response, place := d.resolve(place)
	content, _ := response["content"].(map[string]any)
	if len(content) == 0 {
		if len(a.Body) > 0 {
			return fault("there is a body, and none is described: %.300s", a.Body)
		}
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil || content[mediaType] == nil {
		return fault("the media type %q is not described", a.Header.Get("Content-Type"))
	}
	if !strings.HasSuffix(mediaType, "json") || mediaType == "application/x-ndjson" {
		return nil // text
	}
	if err := d.validate(place+"/content/"+escape(mediaType)+"/schema", a); err != nil {
		return fault("%w", err)
	}
	return nil
}

// CheckMessage returns how a request to a webhook differs from its description, or nil. kind is the name of the webhook.
func (d *Description) CheckMessage(kind string, header http.Header, body []byte) error {
	place := "/webhooks/" + escape(kind) + "/post"
	op, _ := d.resolve(place)
	if op == nil {
		return ErrNotDescribed
	}
	fields, _ := op["parameters"].([]any)
	for _, f := range fields {
		field, _ := f.(map[string]any)
		if name, _ := field["name"].(string); header.Get(name) == "" {
			return fmt.Errorf("webhook %s: the header field %q is missing", kind, name)
		}
	}
	if err := d.validate(place+"/requestBody/content/application~1json/schema", Answer{Body: body}); err != nil {
		return fmt.Errorf("webhook %s: %w", kind, err)
	}
	return nil
}

func (d *Description) validate(place string, a Answer) error {
	body := a.Body
	if a.Header.Get("Content-Encoding") == "gzip" {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("decompress the body: %w", err)
		}
		if body, err = io.ReadAll(r); err != nil {
			return fmt.Errorf("decompress the body: %w", err)
		}
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	schema, err := d.schema(place)
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// schema compiles the schema at a JSON pointer of the document, once.
func (d *Description) schema(place string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.compiled[place]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(name + "#" + place)
	if err != nil {
		return nil, fmt.Errorf("compile the schema at %s: %w", place, err)
	}
	d.compiled[place] = s
	return s, nil
}

// resolve returns the object at a JSON pointer, and the pointer after following its references.
func (d *Description) resolve(place string) (map[string]any, string) {
	var at any = d.doc
	for part := range strings.SplitSeq(strings.TrimPrefix(place, "/"), "/") {
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	found, _ := at.(map[string]any)
	if ref, ok := found["$ref"].(string); ok {
		return d.resolve(strings.TrimPrefix(ref, "#"))
	}
	return found, place
}

// find returns the address of the description that matches a path. An address with fewer parameters wins.
func (d *Description) find(path string) (template string, methods map[string]operation) {
	parts := strings.Split(path, "/")
	fewest := len(parts) + 1
	for t, m := range d.paths {
		if n, ok := matches(strings.Split(t, "/"), parts); ok && n < fewest {
			template, methods, fewest = t, m, n
		}
	}
	return template, methods
}

// matches reports whether a path matches an address, and the number of the address's parameters.
func matches(template, path []string) (parameters int, ok bool) {
	if len(template) != len(path) {
		return 0, false
	}
	for i, t := range template {
		switch {
		case strings.HasPrefix(t, "{") && path[i] != "":
			parameters++
		case t != path[i]:
			return 0, false
		}
	}
	return parameters, true
}

// closeObjects disallows all members of an object that are not described.
func closeObjects(v any) {
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	if _, object := m["properties"].(map[string]any); object && m["additionalProperties"] == nil {
		m["additionalProperties"] = false
	}
	for _, inner := range m {
		closeObjects(inner)
	}
}

func escape(part string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(part) }
