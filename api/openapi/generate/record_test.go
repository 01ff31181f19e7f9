package generate

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/api/endpoint"
	"tidemark/api/openapi"
	"tidemark/api/view"
)

var from = flag.String("record", "", "the address of a server whose answers become the examples")

// Recorded responses contain the placeholder address of the documents. The addresses of other programs around a sandbox differ from run to
// run.
var around = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// kept is the number of list rows in an example.
const kept = 2

// TestRecord records the examples again. It is not a test: it runs only if -record names a server.
func TestRecord(t *testing.T) {
	t.Parallel()
	if *from == "" {
		t.Skip("-record names no server")
	}
	r := statusRecorder{T: t}
	r.register()
	r.ticker = find(r.json(http.MethodGet, "/api/v1/picks/latest", ""), "data", "ticker")
	r.period = r.gradedPeriod()
	for _, e := range routes() {
		if declared, _ := endpoint.Of(e.price); declared.Early {
			continue // a pick waits for half an hour of a day; its example is written by hand
		}
		if e.access == paid {
			r.demand(e)
			continue
		}
		// A claim needs a transaction, and a sandbox has one only after a payment there. A sandbox has no alerts.
		byHand := slices.Concat(paymentEndpoints(), alertEndpoints())
		if e.method == http.MethodGet && !slices.ContainsFunc(byHand, func(p route) bool { return p.id == e.id }) {
			r.read(e)
		}
	}
	call, err := encode(callLatestPicks)
	if err != nil {
		t.Fatal(err)
	}
	r.save("callAgentServer.json", r.json(http.MethodPost, "/api/mcp", string(call)))
	r.save("callAgentServer-400.json", r.json(http.MethodPost, "/api/mcp", `[`))
	rotated := r.json(http.MethodPost, "/api/v1/keys/rotate", `{"grace_seconds":60}`)
	r.save("rotateKey.json", rotated)
}

// statusRecorder sends requests to a server.
type statusRecorder struct {
	*testing.T

	key, ticker, period string
}

// gradedPeriod returns the newest period of the crack spread with a graded forecast.
func (r *statusRecorder) gradedPeriod() string {
	var list view.Forecasts
	if err := json.Unmarshal(r.ask(http.MethodGet, "/api/signals/crack-spread-321/forecasts", ""), &list); err != nil {
		r.Fatal(err)
	}
	for _, f := range list.Data {
		if f.Grade != nil {
			return f.Target.Period
		}
	}
	r.Fatal("no forecast has its grade yet: let the sandbox live longer")
	return ""
}

// sourceAndDay returns the query for the bytes of the crack spread's newest value.
func (r *statusRecorder) sourceAndDay() string {
	var s view.SignalSnapshot
	if err := json.Unmarshal(r.ask(http.MethodGet, "/api/signals/crack-spread-321", ""), &s); err != nil {
		r.Fatal(err)
	}
	if s.ObservedAt == nil || len(s.Provenance.Inputs) == 0 {
		r.Fatal("the crack spread has no value yet")
	}
	return "?source=" + s.Provenance.Inputs[0].Source + "&date=" + s.ObservedAt.Format(time.DateOnly)
}

func (r *statusRecorder) register() {
	answer := r.json(http.MethodPost, "/api/v1/auth/register", `{"name":"my-agent"}`)
	r.key = find(answer, "data", "api_key")
	r.save("registerKey.json", answer)
}

func (r *statusRecorder) read(e route) {
	path := strings.NewReplacer("{id}", "crack-spread-321", "{ticker}", r.ticker, "{period}", r.period).Replace(e.path)
	for _, a := range e.answers {
		if a.status != http.StatusOK {
			continue
		}
		if len(a.body) > 0 {
			query := "?order=desc&limit=2"
			if !slices.Contains(e.takes, "order") {
				query = ""
			}
			if slices.Contains(e.takes, "source") {
				query = r.sourceAndDay()
			} else if query == "" {
				query = exampleQuery(e)
			}
			r.save(e.id+".json", r.json(http.MethodGet, path+query, ""))
		}
		if a.table {
			csv := strings.SplitAfter(string(r.ask(http.MethodGet, path+"?format=csv", "")), "\n")
			r.write(e.id+".csv", []byte(strings.Join(csv[:min(len(csv), 1+kept)], "")))
			lines := strings.SplitAfter(string(r.ask(http.MethodGet, path+"?format=ndjson", "")), "\n")
			r.write(e.id+".ndjson", []byte(strings.Join(lines[:min(len(lines), kept)], "")))
		}
		if a.markdown {
			r.write(e.id+".md", r.ask(http.MethodGet, path, ""))
		}
	}
	if e.id == "getReadiness" {
		r.save("getReadiness-503.json", object{{"ok", false}, {"missing", []any{"snapshots", "record"}}, {"degraded", []any{}}})
	}
}

// exampleQuery returns the required parameters of a query, with the values that the documents show for them.
func exampleQuery(e route) string {
	values := url.Values{}
	for _, name := range e.takes {
		if p := parameters()[name]; p.Required && p.In == "query" {
			values.Set(p.Name, fmt.Sprint(p.Example))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return "?" + values.Encode()
}

// demand records the 402 response of a paid endpoint.
func (r *statusRecorder) demand(e route) {
	r.save(e.example+"-402.json", r.json(http.MethodGet, strings.ReplaceAll(e.path, "{ticker}", r.ticker), ""))
}

func (r *statusRecorder) ask(method, path, content string) []byte {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, *from+path, strings.NewReader(content))
	if err != nil {
		r.Fatal(err)
	}
	if content != "" {
		req.Header.Set("Content-Type", view.TypeJSON)
	}
	if r.key != "" {
		req.Header.Set("Authorization", "Bearer "+r.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatal(err)
	}
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusPaymentRequired && path != "/api/mcp" {
		r.Fatalf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer
}

func (r *statusRecorder) json(method, path, content string) object {
	r.Helper()
	v, err := decode(json.NewDecoder(bytes.NewReader(r.ask(method, path, content))))
	if err != nil {
		r.Fatal(err)
	}
	return v.(object)
}

// save writes a response, with its lists of objects shortened to kept rows.
func (r *statusRecorder) save(name string, v object) {
	r.Helper()
	text, err := encode(cut("", v))
	if err != nil {
		r.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", " "); err != nil {
		r.Fatal(err)
	}
	r.write(name, append(out.Bytes(), '\n'))
}

var secret = regexp.MustCompile(`tmk_live_[0-9A-Za-z]{36}`)

func (r *statusRecorder) write(name string, text []byte) {
	r.Helper()
	text = bytes.ReplaceAll(text, []byte(*from), []byte(openapi.Host))
	text = around.ReplaceAll(text, []byte("https://node.example"))
	text = secret.ReplaceAll(text, []byte("tmk_live_"+strings.Repeat("EXAMPLE0", 4)+"0000"))
	if err := os.WriteFile(filepath.Join("examples", name), text, 0o644); err != nil {
		r.Fatal(err)
	}
}

// object is a JSON object with ordered members.
type object = ordered[any]

// find returns a text in an object.
func find(o object, path ...string) string {
	var v any = o
	for _, name := range path {
		o, _ := v.(object)
		i := slices.IndexFunc(o, func(m member[any]) bool { return m.name == name })
		if i < 0 {
			panic("there is no member " + name)
		}
		v = o[i].value
	}
	return v.(string)
}

func cut(name string, v any) any {
	switch v := v.(type) {
	case object:
		for i := range v {
			v[i].value = cut(v[i].name, v[i].value)
		}
	case []any:
		if len(v) > kept && name != "sources" {
			if _, ok := v[0].(object); ok {
				v = v[:kept]
			}
		}
		for i := range v {
			v[i] = cut("", v[i])
		}
		return v
	}
	return v
}

// decode reads a value. Objects keep the order of their members.
func decode(d *json.Decoder) (any, error) {
	d.UseNumber()
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch tok {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := decode(d)
			if err != nil {
				return nil, err
			}
			o.put(fmt.Sprint(name), v)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := decode(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return tok, nil
}
