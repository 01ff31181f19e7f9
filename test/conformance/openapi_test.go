package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tidemark/api/openapi/contract"
	"tidemark/internal/pushes"
)

const (
	redoclyScript    = "@redocly/cli/bin/cli.js"
	spectralScript   = "@stoplight/spectral-cli/dist/index.js"
	typescriptScript = "openapi-typescript/bin/cli.js"
	compilerScript   = "typescript/bin/tsc"
)

// descriptions are the OpenAPI documents of the server.
var descriptions = []string{"/openapi.json", "/openapi.yaml", "/api/signals/openapi.json"}

// openapiRedocly checks the documents by Redocly's strict rules, openapiSpectral by Stoplight's rules for OpenAPI. A warning is a failure.
func openapiRedocly(t *testing.T, s *server) {
	out, ok := s.node(t, redoclyScript, append([]string{"lint", "--extends=recommended-strict"}, s.download(t)...)...)
	if !ok {
		t.Errorf("redocly:\n%s", out)
	}
}

func openapiSpectral(t *testing.T, s *server) {
	rules := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(rules, []byte(`{"extends":["spectral:oas"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, ok := s.node(t, spectralScript, append([]string{"lint", "--ruleset", rules, "--fail-severity", "hint"}, s.download(t)...)...)
	if !ok {
		t.Errorf("spectral:\n%s", out)
	}
}

// download keeps the documents in files and returns their names.
func (s *server) download(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	var files []string
	for _, path := range descriptions {
		file := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "-"))
		if err := os.WriteFile(file, s.ask(t, http.MethodGet, path, "").Body, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

type reference struct {
	Ref string `json:"$ref"`
}

// openapiAnswers sends every request that the document describes, and wrong ones, and checks each response against the document.
func openapiAnswers(t *testing.T, s *server) {
	text := s.ask(t, http.MethodGet, "/openapi.json", "").Body
	described, err := contract.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Parameters []reference
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	key := s.key(t)
	var record struct{ Picks []struct{ Ticker string } }
	if err := s.get(t.Context(), "/api/v1/verify/picks", &record); err != nil || len(record.Picks) == 0 {
		t.Fatalf("no picks: %v", err)
	}
	seen := map[int]int{}
	check := func(key, method, path string) {
		t.Helper()
		a := s.ask(t, method, path, key)
		seen[a.Status]++
		address, _, _ := strings.Cut(path, "?")
		if err := described.Check(method, address, a); err != nil {
			t.Errorf("%v", err)
		}
	}
	fill := func(ticker, id string) *strings.Replacer { return strings.NewReplacer("{ticker}", ticker, "{id}", id) }
	for path, methods := range doc.Paths {
		if op, ok := methods["get"]; ok {
			whole := fill(record.Picks[0].Ticker, "crack-spread-321").Replace(path)
			if slices.Contains(op.Parameters, reference{"#/components/parameters/Seconds"}) { // a stream, which has no end otherwise
				check("", http.MethodGet, whole+"?seconds=1")
				check("", http.MethodGet, whole+"?seconds=0")
				check("", http.MethodHead, whole)
				continue
			}
			queries := []string{"", "?limit=0&lang=xx&from=yesterday&as_of=x&date=x&min_severity=9"}
			if slices.Contains(op.Parameters, reference{"#/components/parameters/Format"}) {
				queries = append(queries, "?format=csv", "?format=ndjson", "?limit=1", "?cursor=bm8")
			}
			for _, q := range queries {
				check(key, http.MethodGet, whole+q)
			}
			check("", http.MethodGet, whole)
			check("tmk_live_nobody", http.MethodGet, whole)
			check(key, http.MethodHead, whole)
			if path != whole {
				check(key, http.MethodGet, fill("NOSUCH", "brent").Replace(path))
			}
		}
		check(key, http.MethodPut, fill("NOSUCH", "brent").Replace(path))
		if _, ok := methods["post"]; ok {
			for _, wrong := range [][2]string{
				{"application/json", "["},
				{"application/json", `{"name":1,"grace_seconds":"x","tx_hash":"0x1"}`},
				{"application/json", "[]"},
				{"text/plain", "name=x"},
				{"application/json", `{"name":"` + strings.Repeat("x", 300<<10) + `"}`},
			} {
				a := s.send(t, http.MethodPost, path, key, wrong[0], wrong[1])
				seen[a.Status]++
				if err := described.Check(http.MethodPost, path, a); err != nil {
					t.Errorf("with %.60s: %v", wrong[1], err)
				}
			}
		}
	}
	for _, status := range []int{200, 400, 401, 402, 404, 405, 413, 415} {
		if seen[status] == 0 {
			t.Errorf("no answer had the status %d: %v", status, seen)
		}
	}
	t.Logf("answers by status: %v", seen)
}

// openapiWebhooks compares the message of every change that the sandbox has pushed with the webhook of its type.
func openapiWebhooks(t *testing.T, s *server) {
	described, err := contract.Parse(s.ask(t, http.MethodGet, "/openapi.json", "").Body)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	for _, name := range []string{pushes.HeaderID, pushes.HeaderTimestamp, pushes.HeaderSignature, pushes.HeaderAttempt} {
		header.Set(name, "1")
	}
	seen := map[string]int{}
	for line := range bytes.Lines(s.ask(t, http.MethodGet, "/api/stream?after=0&seconds=5", "").Body) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		var change pushes.Change
		if !ok || json.Unmarshal(data, &change) != nil || change.Topic == "" {
			continue
		}
		body, err := pushes.NewNotice("alert_1", change)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(change.Topic, ":")
		if seen[kind+" "+change.Kind]++; seen[kind+" "+change.Kind] > 200 {
			continue
		}
		if err := described.CheckMessage(kind, header, body); err != nil {
			t.Errorf("%v: %s", err, body)
		}
	}
	for _, kind := range []string{"signal new_print", "pick announced", "event happened", "forecast issued", "forecast graded"} {
		if seen[kind] == 0 {
			t.Errorf("the sandbox pushed no %s: %v", kind, seen)
		}
	}
	t.Logf("messages as described: %v", seen)
}

// openapiClient generates a TypeScript client from the document, compiles the example with it under strict rules, and runs that.
func openapiClient(t *testing.T, s *server) {
	dir, err := os.MkdirTemp(*npmFlag, "client") // below it, the compiler finds the packages
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const example = "../../examples/typescript"
	for _, name := range []string{"tour.ts", "tsconfig.json", "package.json"} {
		b, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range [][]string{
		{typescriptScript, s.url + "/openapi.json", "-o", filepath.Join(dir, "schema.ts")},
		{compilerScript, "-p", dir},
	} {
		if out, ok := s.node(t, step[0], step[1:]...); !ok {
			t.Fatalf("%s:\n%s", step[0], out)
		}
	}
	toured(t, s, exec.CommandContext(t.Context(), *nodeFlag, filepath.Join(dir, "build", "tour.js")))
}

// key registers a key.
func (s *server) key(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/api/v1/auth/register", strings.NewReader(`{"name":"conformance"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var registered struct {
		Data struct {
			Key string `json:"api_key"`
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&registered); err != nil || registered.Data.Key == "" {
		t.Fatalf("register a key: %s, %v", resp.Status, err)
	}
	return registered.Data.Key
}

// ask sends a request, with a key unless that is empty.
func (s *server) ask(t *testing.T, method, path, key string) contract.Answer {
	t.Helper()
	return s.send(t, method, path, key, "", "")
}

// send is ask with a body of a media type, unless that is empty.
func (s *server) send(t *testing.T, method, path, key, mediaType, content string) contract.Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if mediaType != "" {
		req.Header.Set("Content-Type", mediaType)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return contract.Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
}
