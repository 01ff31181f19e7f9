// Package generate builds the OpenAPI documents of the service. Its inputs are the Go types of the responses, their doc comments, the table
// of problems, and the recorded responses in the folder examples. Its test compares the result with the files of package openapi. No other
// package imports it. A new address needs a line in operations.go: until then the test of package api fails. Start at Build.
package generate

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"tidemark/accounts"
	"tidemark/api/endpoint"
	"tidemark/api/openapi"
	"tidemark/api/view"
)

//go:embed examples
var recorded embed.FS

// Documents are the two documents, as JSON with one member per line.
type Documents struct {
	// Service describes the whole service, Signals only the Signals API.
	Service, Signals []byte
}

// Build builds the documents. root is the folder of the module, whose source it reads.
func Build(root string) (Documents, error) {
	c, err := readComments(root, "api/view", "api/openapi/generate", "accounts/x402", "accounts", "internal/postgres", "internal/pushes")
	if err != nil {
		return Documents{}, err
	}
	whole, err := build(c, service, routes(), func(e route) string { return e.path })
	if err != nil {
		return Documents{}, err
	}
	signals, err := build(c, signalsOnly, routes(), func(e route) string { return e.alone })
	return Documents{whole, signals}, err
}

const disclaimer = "Everything here is editorial information, not personalized investment advice."

// The fixed parts of the two documents.
var (
	service = document{
		Info: info{
			Title: "Tidemark", Version: "1.0.0", Summary: "Market signals, one verifiable stock pick a day, and payment by request.",
			Description: "Market signals from free public sources, one stock pick a trading day, and a track record that anyone can verify.\n\n" +
				"- **Signals API** (`/api/signals`): no key.\n- **Picks API** (`/api/v1`): a free key in `Authorization: Bearer`.\n" +
				"- **Pay per request** (`/api/v1/x402`): a stablecoin payment in place of a key.\n- **MCP** (`POST /api/mcp`): the same for agents, no key.\n\n" +
				"Times are UTC (RFC 3339), dates `YYYY-MM-DD`; trading dates are those of New York. Members that end in `_pct` are percentages. " +
				"What is unknown is `null`. Amounts of money are decimal texts. Errors are problem documents (RFC 9457): look at `code`. " +
				"Clients must ignore members that they do not know: more may be added within v1.\n\n" + disclaimer,
		},
		Servers: []server{{openapi.Host, "This service."}},
	}
	signalsOnly = document{
		Info: info{
			Title: "Tidemark Signals API", Version: "1.0.0", Summary: "Alternative-data signals from free public sources.",
			Description: "Read-only: the catalog of live signals, the latest snapshot of each, and every value as it was known at any instant. No key.\n\n" +
				"Times are UTC (RFC 3339). Members that end in `_pct` are percentages. What is unknown is `null`. Every signal has a license of its own. " +
				"Errors are problem documents (RFC 9457). Clients must ignore members that they do not know.\n\n" + disclaimer,
		},
		Servers: []server{{openapi.Host + "/api/signals", "The Signals API."}},
	}
)

// builder builds one document. It collects everything that the operations refer to.
type builder struct {
	schemas                     schemas
	params, headers, ask, codes map[string]bool
	responses                   ordered[responseOrRef]
	examples                    ordered[example]
}

func build(c *comments, d document, list []route, at func(route) string) ([]byte, error) {
	b := builder{
		schemas: schemas{comments: c, names: map[reflect.Type]string{}, about: map[reflect.Type]string{}, known: map[reflect.Type]bool{}},
		params:  map[string]bool{}, headers: map[string]bool{}, ask: map[string]bool{}, codes: map[string]bool{},
	}
	d.OpenAPI = "3.1.0"
	d.Info.TermsOfService = openapi.Host + "/terms"
	d.Info.Contact = contact{"Tidemark", openapi.Host}
	d.Info.License = license{"Apache-2.0", "Apache-2.0"}
	d.ExternalDocs = &externalDocs{"Guides", openapi.Host + "/docs"}
	used := map[string]bool{}
	for _, e := range list {
		path := at(e)
		if path == "" {
			continue
		}
		op, err := b.operation(e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.id, err)
		}
		used[e.tag] = true
		i := slices.IndexFunc(d.Paths, func(m member[ordered[*operation]]) bool { return m.name == path })
		if i < 0 {
			d.Paths.put(path, nil)
			i = len(d.Paths) - 1
		}
		d.Paths[i].value.put(strings.ToLower(e.method), op)
	}
	for _, t := range tags {
		if used[t.Name] {
			d.Tags = append(d.Tags, t)
		}
	}
	if used["Alerts"] {
		var err error
		if d.Webhooks, err = b.webhooks(); err != nil {
			return nil, fmt.Errorf("webhooks: %w", err)
		}
	}
	d.Components = b.components()
	text, err := encode(d)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", " "); err != nil {
		return nil, fmt.Errorf("lay out a document: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// components returns everything that the operations refer to, by name.
func (b *builder) components() components {
	var c components
	for _, s := range securitySchemes {
		if b.ask[s.name] {
			c.SecuritySchemes = append(c.SecuritySchemes, s)
		}
	}
	all := parameters()
	for _, name := range sorted(b.params) {
		c.Parameters.put(camel(name), all[name])
	}
	fields := headers()
	for _, name := range sorted(b.headers) {
		c.Headers.put(name, fields[name])
	}
	c.Responses, c.Examples, c.Schemas = b.responses, b.examples, b.schemas.named
	slices.SortFunc(c.Responses, func(a, b member[responseOrRef]) int { return strings.Compare(a.name, b.name) })
	return c
}

func (b *builder) operation(e route) (*operation, error) {
	op := &operation{OperationID: e.id, Summary: e.summary, Description: e.description, Tags: []string{e.tag}, Security: []ordered[[]string]{}}
	switch e.access {
	case keyed:
		op.Security = b.security(schemeKey)
	case paid:
		op.Security = b.security(schemeX402, schemeX402V2)
	}
	if e.price != "" {
		tariff, err := endpoint.NewEarlyTariff(accounts.ModelBalance, "")
		if err != nil {
			return nil, err
		}
		priced, ok := tariff.Endpoint(e.price)
		if !ok {
			return nil, fmt.Errorf("%s is not in the table of prices", e.price)
		}
		op.PriceUSD = priced.Price.Shortest()
	}
	for _, name := range e.takes {
		if parameters()[name].Name == "" {
			return nil, fmt.Errorf("unknown parameter %s", name)
		}
		b.params[name] = true
		op.Parameters = append(op.Parameters, reference{"#/components/parameters/" + camel(name)})
	}
	if e.request != nil {
		schema, err := b.shape(e.request.body)
		if err != nil {
			return nil, err
		}
		op.RequestBody = &requestBody{Description: e.request.description, Required: !e.request.optional}
		op.RequestBody.Content.put(view.TypeJSON, mediaType{Schema: schema, Example: e.request.example})
	}
	return op, b.answers(op, e)
}

func (b *builder) security(schemes ...string) []ordered[[]string] {
	var any []ordered[[]string]
	for _, s := range schemes {
		b.ask[s] = true
		any = append(any, ordered[[]string]{{s, []string{}}})
	}
	return any
}

// answers adds all responses, by ascending status.
func (b *builder) answers(op *operation, e route) error {
	byStatus := map[int]responseOrRef{}
	for _, a := range e.answers {
		r, err := b.answer(e, a)
		if err != nil {
			return err
		}
		byStatus[a.status] = r
	}
	codes := map[int][]string{}
	for _, k := range view.ProblemKinds() {
		if slices.Contains(e.codes, k.Code) {
			codes[k.Status] = append(codes[k.Status], k.Code)
		}
	}
	for status, list := range codes {
		if r, taken := byStatus[status]; taken {
			return fmt.Errorf("status %d is an answer (%s) and a problem (%s)", status, r.Description, strings.Join(list, ", "))
		}
		ref, err := b.problem(status, list)
		if err != nil {
			return err
		}
		byStatus[status] = ref
	}
	for _, status := range sorted(byStatus) {
		op.Responses.put(strconv.Itoa(status), byStatus[status])
	}
	return nil
}

func (b *builder) answer(e route, a answer) (responseOrRef, error) {
	r := responseOrRef{Description: a.description, Headers: b.fields(a.headers)}
	name := e.example
	if name == "" {
		name = e.id
	}
	if a.status > http.StatusCreated {
		name += "-" + strconv.Itoa(a.status)
	}
	if a.example != "" {
		name = a.example
	}
	for _, s := range a.body {
		if strings.Contains(s.of.Name(), "[") {
			b.schemas.about[s.of] = a.description
		}
	}
	if len(a.body) > 0 {
		schema, err := b.shape(a.body...)
		if err != nil {
			return r, err
		}
		shown, err := b.recorded(name, ".json", e.summary)
		if err != nil {
			return r, err
		}
		r.Content.put(view.TypeJSON, mediaType{Schema: schema, Examples: shown})
	}
	if a.events {
		r.Content.put("text/event-stream", mediaType{Schema: plainText(), Example: "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"})
	}
	if a.mediaType != "" {
		r.Content.put(a.mediaType, mediaType{Schema: plainText(), Example: a.sample})
	}
	forms := ordered[string]{}
	if a.table {
		forms = ordered[string]{{view.TypeCSV, ".csv"}, {view.TypeNDJSON, ".ndjson"}}
		for _, file := range []string{view.TypeParquet, view.TypeArrow} {
			r.Content.put(file, mediaType{Schema: fileBytes()})
		}
	}
	if a.markdown {
		forms = ordered[string]{{"text/markdown", ".md"}}
	}
	for _, f := range forms {
		shown, err := b.recorded(name, f.value, e.summary)
		if err != nil {
			return r, err
		}
		r.Content.put(f.name, mediaType{Schema: plainText(), Examples: shown})
	}
	return r, nil
}

func (b *builder) fields(names []string) ordered[reference] {
	var out ordered[reference]
	for _, name := range names {
		b.headers[name] = true
		out.put(name, reference{"#/components/headers/" + name})
	}
	return out
}

// problem returns a reference to the response of all problems with the given codes, which share one status.
func (b *builder) problem(status int, codes []string) (responseOrRef, error) {
	name := ""
	for _, c := range codes {
		if name != "" {
			name += "Or"
		}
		name += camel(c)
	}
	ref := responseOrRef{Ref: "#/components/responses/" + name}
	if b.responses.has(name) {
		return ref, nil
	}
	schema, err := b.shape(body[view.Problem](""))
	if err != nil {
		return ref, err
	}
	fields := []string{"X-Request-Id"}
	switch status {
	case http.StatusUnauthorized:
		fields = append(fields, "WWW-Authenticate")
	case http.StatusMethodNotAllowed:
		fields = append(fields, "Allow")
	case http.StatusConflict, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		fields = append(fields, "Retry-After")
	}
	r := responseOrRef{Headers: b.fields(fields)}
	m := mediaType{Schema: schema}
	for _, c := range codes {
		kind, _ := view.ProblemKindOf(c)
		r.Description += "`" + c + "`: " + kind.Meaning + " " + kind.Remedy + "\n"
		m.Examples.put(c, example{Summary: kind.Title, Value: problemExample(kind)})
	}
	r.Description = strings.TrimSuffix(r.Description, "\n")
	r.Content.put(view.TypeProblem, m)
	b.responses.put(name, r)
	return ref, nil
}

// recorded returns a reference to a recorded response.
func (b *builder) recorded(name, ending, summary string) (ordered[example], error) {
	ref := name + strings.ReplaceAll(ending, ".", "-")
	out := ordered[example]{{"recorded", example{Ref: "#/components/examples/" + ref}}}
	if b.examples.has(ref) {
		return out, nil
	}
	text, err := fs.ReadFile(recorded, "examples/"+name+ending)
	if err != nil {
		return nil, fmt.Errorf("no answer is recorded; README.md of the folder examples says how to record it: %w", err)
	}
	var value any = string(text)
	if ending == ".json" {
		value = json.RawMessage(text)
	}
	b.examples.put(ref, example{Summary: "An answer of a sandbox: " + summary, Value: value})
	return out, nil
}
