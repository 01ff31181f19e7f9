// Package openapi has the machine-readable descriptions of the service (OpenAPI 3.1), as they were made by its package generate and
// reviewed: the two JSON files beside this one. What differs from one installation to the next, the address and the prices that an
// operator sets, is put in when the program starts. Start at New.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/accounts"
	"tidemark/api/view"
)

// Host is the address that stands in the files for that of an installation.
const Host = "https://tidemark.example"

// TypeYAML is the media type of the description in YAML (RFC 9512).
const TypeYAML = "application/yaml"

//go:embed service.json
var service []byte

//go:embed signals.json
var signals []byte

// Documents are the descriptions of an installation, finished.
type Documents struct {
	// Service is that of everything, in JSON and in YAML. Signals is that of the Signals API.
	Service, ServiceYAML, Signals *view.Document
}

// New finishes the descriptions. publicURL is the installation's address, tariff what it costs.
func New(publicURL string, tariff accounts.Tariff) (Documents, error) {
	publicURL = strings.TrimRight(publicURL, "/")
	whole := at(service, publicURL)
	for _, e := range tariff.Endpoints() {
		if !e.Fixed {
			whole = priced(whole, e)
		}
	}
	text, err := inYAML(whole)
	if err != nil {
		return Documents{}, err
	}
	document := func(mediaType string, body []byte) *view.Document {
		return view.NewDocument(mediaType, view.CachePublic, body, time.Time{})
	}
	return Documents{
		Service: document(view.TypeJSON, compact(whole)), ServiceYAML: document(TypeYAML, text), Signals: document(view.TypeJSON, compact(at(signals, publicURL))),
	}, nil
}

// compact leaves the spaces out that make the files readable.
func compact(doc []byte) []byte {
	var out bytes.Buffer
	must(json.Compact(&out, doc))
	return out.Bytes()
}

// at puts an address in.
func at(doc []byte, publicURL string) []byte {
	quoted, err := json.Marshal(publicURL)
	if err != nil { // a string has no reason to fail
		panic(err)
	}
	return bytes.ReplaceAll(doc, []byte(Host), quoted[1:len(quoted)-1])
}

// priced puts the price of an endpoint in: the first member of its path that has the name.
func priced(doc []byte, e accounts.Endpoint) []byte {
	const name = `"x-price-usd": "`
	path := bytes.Index(doc, []byte(`"/api/v1`+e.Path+`": {`))
	if path < 0 {
		return doc
	}
	from := bytes.Index(doc[path:], []byte(name))
	if from < 0 {
		return doc
	}
	from += path + len(name)
	to := from + bytes.IndexByte(doc[from:], '"')
	return bytes.Join([][]byte{doc[:from], []byte(e.Price.Shortest()), doc[to:]}, nil)
}

// inYAML writes JSON as YAML, its members in their order.
func inYAML(doc []byte) ([]byte, error) {
	var node yaml.Node
	if err := yaml.Unmarshal(doc, &node); err != nil {
		return nil, fmt.Errorf("read the description: %w", err)
	}
	unfold(&node)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&node); err != nil {
		return nil, fmt.Errorf("write the description as YAML: %w", err)
	}
	return out.Bytes(), nil
}

// unfold takes away the marks of JSON: braces, and quotes where no reader of YAML takes a text for something else. An address of a
// contract, 0x and digits, is a number to some.
func unfold(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || plain(n.Value) {
		n.Style = 0
	}
	for _, c := range n.Content {
		unfold(c)
	}
}

// plain tells whether a text begins like a word or a path. The encoder quotes the words that mean something, such as yes.
func plain(text string) bool {
	if text == "" {
		return false
	}
	c := text[0]
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '/'
}

// Operation is what a description says of one address and method.
type Operation struct {
	Method, Path, Tag, Summary, Description string
	// PriceUSD is what an answer costs, as it stands in the file; empty where there is no price.
	PriceUSD string
}

// Operations lists everything that the description of the whole service tells of, in its order.
func Operations() []Operation {
	var doc struct {
		Paths json.RawMessage `json:"paths"`
	}
	must(json.Unmarshal(service, &doc))
	var all []Operation
	d := json.NewDecoder(bytes.NewReader(doc.Paths))
	members(d, func(path string) {
		members(d, func(method string) {
			var op struct {
				Tags                 []string
				Summary, Description string
				PriceUSD             string `json:"x-price-usd"`
			}
			must(d.Decode(&op))
			all = append(all, Operation{strings.ToUpper(method), path, op.Tags[0], op.Summary, op.Description, op.PriceUSD})
		})
	})
	return all
}

// members reads an object, whose member names are handed to f in their order; f reads the value.
func members(d *json.Decoder, f func(name string)) {
	_, err := d.Token()
	must(err)
	for d.More() {
		name, err := d.Token()
		must(err)
		f(fmt.Sprint(name))
	}
	_, err = d.Token()
	must(err)
}

// must is for the files, which are part of the program.
func must(err error) {
	if err != nil {
		panic(fmt.Errorf("read the description: %w", err))
	}
}
