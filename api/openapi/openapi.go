// Package openapi contains the machine-readable descriptions of the service (OpenAPI 3.1): the two JSON files in this folder, built by its
// package generate and then reviewed. New inserts what differs between installations: the address and the prices
// that an operator sets. Start at New.
package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"tidemark/accounts"
	"tidemark/api/view"
)

// Host is the placeholder in the files for the address of an installation.
const Host = "https://tidemark.example"

// TypeYAML is the media type of the description in YAML (RFC 9512).
const TypeYAML = "application/yaml"

//go:embed service.json
var service []byte

//go:embed signals.json
var signals []byte

// Documents are the finished descriptions of an installation. Each is built when it is first asked for, because a program that starts
// has no time for it.
type Documents struct {
	// Service describes everything, in JSON, and ServiceYAML the same in YAML. Signals describes the Signals API.
	Service, ServiceYAML, Signals func() *view.Document
}

// New returns the descriptions. publicURL is the address of the installation, tariff contains its prices.
func New(publicURL string, tariff accounts.Tariff) Documents {
	publicURL = strings.TrimRight(publicURL, "/")
	whole := sync.OnceValue(func() []byte {
		doc := at(service, publicURL)
		for _, e := range tariff.Endpoints() {
			if !e.Fixed {
				doc = priced(doc, e)
			}
		}
		return doc
	})
	document := func(mediaType string, body func() []byte) func() *view.Document {
		return sync.OnceValue(func() *view.Document {
			return view.NewDocument(mediaType, view.CachePublic, body(), time.Time{})
		})
	}
	return Documents{
		Service:     document(view.TypeJSON, func() []byte { return compact(whole()) }),
		ServiceYAML: document(TypeYAML, func() []byte { return inYAML(whole()) }),
		Signals:     document(view.TypeJSON, func() []byte { return compact(at(signals, publicURL)) }),
	}
}

// compact removes the whitespace that makes the files readable.
func compact(doc []byte) []byte {
	var out bytes.Buffer
	must(json.Compact(&out, doc))
	return out.Bytes()
}

// at inserts an address.
func at(doc []byte, publicURL string) []byte {
	quoted, err := json.Marshal(publicURL)
	if err != nil { // encoding a string cannot fail
		panic(err)
	}
	return bytes.ReplaceAll(doc, []byte(Host), quoted[1:len(quoted)-1])
}

// priced inserts the price of an endpoint, into the first price member after the endpoint's path.
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

// inYAML returns JSON as YAML, with the members in the same order.
func inYAML(doc []byte) []byte {
	var node yaml.Node
	must(yaml.Unmarshal(doc, &node))
	unfold(&node)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	must(e.Encode(&node))
	return out.Bytes()
}

// unfold removes JSON syntax: braces, and quotes around texts that every YAML parser reads as texts. It keeps the quotes of a contract's
// address, because some parsers read 0x and digits as a number.
func unfold(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || plain(n.Value) {
		n.Style = 0
	}
	for _, c := range n.Content {
		unfold(c)
	}
}

// plain reports whether a text begins like a word or a path. The encoder itself quotes words with a meaning, such as yes.
func plain(text string) bool {
	if text == "" {
		return false
	}
	c := text[0]
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '/'
}

// Operation is the description of one address and method.
type Operation struct {
	Method, Path, Tag, Summary, Description string
	// PriceUSD is the price of a response as written in the file. It is empty if the operation has no price.
	PriceUSD string
}

// Operations returns all operations in the description of the whole service, in order.
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

// members reads an object. It calls f with each member name, in order, and f reads the value.
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

// must panics on an error. The embedded files are always valid.
func must(err error) {
	if err != nil {
		panic(fmt.Errorf("read the description: %w", err))
	}
}
