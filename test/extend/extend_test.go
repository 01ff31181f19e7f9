// Package extend makes a newcomer's additions to a copy of the module, each in its one place: a seventh signal, a fifth language, a
// publisher and a tenth paid endpoint. It starts the program that is built from the copy and asks every surface whether it knows them. It
// names each surface that does not.
package extend

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/signals"
	"tidemark/test/program"
)

const (
	signal = "ulsd-margin"
	sold   = "/watchlist"
	// lang is French, with English words and numbers: the test checks that they are found, not that they are right.
	lang = "fr"
	// source is the newcomer's, whose publisher is the European Central Bank under another name.
	source = "newcomer-rates"
)

// left are the folders of the module that no program is built of.
var left = regexp.MustCompile(`^(\.git|\.cache|\.tidemark|build|node_modules)$`)

// module copies the module and adds to it.
func module(t *testing.T) string {
	t.Helper()
	dir := program.Folder(t)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, strings.TrimPrefix(path, "../.."))
		switch {
		case path == "../..":
			return nil
		case left.MatchString(d.Name()) && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	put := func(from, to string) {
		b, err := os.ReadFile(filepath.Join("testdata", from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	insert := func(file, before, text string) {
		file = filepath.Join(dir, file)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(b), before) != 1 {
			t.Fatalf("%s has not one place %q", file, before)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(b), before, text+before, 1)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("ulsd_margin.go.txt", "signals/ulsd_margin.go")
	insert("signals/catalog.go", "\t\thormuzTransit(),\n", "\t\tulsdMargin(),\n")
	put("watchlist.go.txt", "api/view/watchlist.go")
	entry, err := os.ReadFile("testdata/endpoint.txt")
	if err != nil {
		t.Fatal(err)
	}
	insert("api/endpoint/list.go", "\t\t{\n\t\t\tEndpoint: open(\"/events\")", string(entry))
	// Its recorded answers, which a newcomer takes from a sandbox.
	for _, kind := range []string{".json", ".csv", ".ndjson", "-402.json"} {
		b, err := os.ReadFile(filepath.Join(dir, "api/openapi/generate/examples/listSectors"+kind))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "api/openapi/generate/examples/listWatched"+kind), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := func(from, to string, words ...string) {
		files, err := filepath.Glob(filepath.Join(dir, from, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(from, " has no files: ", err)
		}
		if err := os.MkdirAll(filepath.Join(dir, to), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			b, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, to, filepath.Base(file)), []byte(strings.NewReplacer(words...).Replace(string(b))), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var named strings.Builder
	for _, d := range append(signals.All(), signals.Definition{ID: signal}) {
		_, _ = fmt.Fprintf(&named, "%q: %q, ", d.ID, "the newcomer's name of "+d.ID)
	}
	folder("internal/locale/en", "internal/locale/fr", "package en", "package fr", `Code: "en"`, `Code: "fr"`, `Name: "English"`,
		`Name: "Français"`, `EnglishName: "English"`, `EnglishName: "French"`, "Terms: terms,", "Signals: map[string]string{"+named.String()+"}, Terms: terms,")
	insert("internal/locale/languages/languages.go", "\t\"tidemark/internal/locale/hi\"\n", "\t\"tidemark/internal/locale/fr\"\n")
	insert("internal/locale/languages/languages.go", "}\n\n// All returns", "\t&fr.Language,\n")
	folder("ingest/ecb", "ingest/newcomer", "package ecb", "package newcomer", "ecb-rates", source, "ecb.", "newcomer.", "European Central Bank", "Newcomers' Bank",
		"ecb.europa.eu", "newcomer.example")
	insert("ingest/sources/sources.go", "\t\"tidemark/ingest/portwatch\"\n", "\t\"tidemark/ingest/newcomer\"\n")
	insert("ingest/sources/sources.go", "\t{only(bls.Source), bls.Sandbox},\n", "\t{only(newcomer.Source), newcomer.Sandbox},\n")
	run(t, dir, "go", "test", "./api/openapi/generate", "-run", "TestTheDocumentsOfTheProgram", "-update")
	run(t, dir, "go", "vet", "./signals", "./ingest/sources", "./picks", "./api/...")
	run(t, dir, "go", "test", "./picks", "./api/pages", "-run", "Language|Word|Phrase")
	return dir
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// surface is a place that should know what was added.
type surface struct {
	// name is how a newcomer would call it. path is asked for with the method GET where body is empty.
	name, path, body string
	status           int
	// want must be part of the response.
	want string
}

func surfaces() []surface {
	of := "/api/signals/" + signal
	list := []surface{
		{"catalog of the API", "/api/signals", "", 200, signal},
		{"signal of the API", of, "", 200, `"value"`},
		{"history", of + "/history?limit=3", "", 200, `"observed_at"`},
		{"vintages", of + "/vintages?limit=3", "", 200, signal},
		{"brief", of + "/brief", "", 200, "Margin of a newcomer"},
		{"description of the signals", "/api/signals/openapi.json", "", 200, signal},
		{"description of the service", "/openapi.json", "", 200, signal},
		{"llms.txt", "/llms.txt", "", 200, signal},
		{"sitemap", "/sitemap.xml", "", 200, "/signals/" + signal},
		{"first page", "/", "", 200, "/signals/" + signal},
		{"page", "/signals/" + signal, "", 200, "Newcomer"},
		{"picture", "/signals/" + signal + "/card.png", "", 200, "PNG"},
		{"state", "/status", "", 200, "Margin of a newcomer"},
		{"stream", "/api/stream?topics=signal:" + signal + "&after=0&seconds=1", "", 200, "retry:"},
		{"feed of the stream", "/api/stream/atom?topics=signal:" + signal, "", 200, "<feed"},
		{"tools for agents", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_signals","arguments":{}}}`, 200, signal},
		{"resources for agents", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{}}`, 200, "/api/signals/" + signal},

		{"endpoint with a key", "/api/v1" + sold, "", 200, `"pagination"`},
		{"endpoint as a file", "/api/v1" + sold + "?format=csv", "", 200, "weight_pct"},
		{"endpoint paid by request", "/api/v1/x402" + sold, "", 402, `"maxAmountRequired":"4000"`},
		{"list of what is sold", "/api/v1/x402/info", "", 200, "/api/v1/x402" + sold},
		{"prices", "/api/v1/info", "", 200, `"` + sold + `":"0.004"`},
		{"description of the endpoint", "/openapi.json", "", 200, `"/api/v1` + sold + `"`},
		{"description of its twin", "/openapi.json", "", 200, `"/api/v1/x402` + sold + `"`},
		{"llms.txt of the endpoint", "/llms.txt", "", 200, "/api/v1" + sold},
		{"catalog of paid resources", "/.well-known/x402", "", 200, "/api/v1/x402" + sold},
		{"page of the documentation", "/docs", "", 200, "<code>" + sold + "</code>"},
		{"usage", "/api/v1/account/usage", "", 200, sold},

		{"languages", "/api/v1/info", "", 200, `"hi","` + lang + `"`},
		{"language of the description", "/openapi.json", "", 200, `"hi","` + lang + `"`},
		{"language in llms.txt", "/llms.txt", "", 200, "hi and " + lang},
		{"language of the documentation", "/docs", "", 200, "Hindi and French"},
		{"language of the tools", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, 200, `"hi","` + lang + `"`},
		{"language of the prompts", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"explain_signal","arguments":{"signal":"` + signal + `","language":"` + lang + `"}}}`, 200, "Answer in French."},
		{"what can be said in the prompts", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{}}`, 200, "hi or " + lang},
		{"language of a page", "/picks?lang=" + lang, "", 200, `<html lang="` + lang + `"`},
		{"language beside a page", "/picks", "", 200, "Français"},
		{"error of a language", "/api/v1/digest/latest?lang=xx", "", 400, "hi, " + lang},
		{"events", "/api/v1/economic-events?limit=1&lang=" + lang, "", 200, `"lang":"` + lang + `"`},
	}
	for _, lang := range []string{"en", "es", "pt", "hi", lang} {
		list = append(list, surface{"digest in " + lang, "/api/v1/digest/latest?lang=" + lang, "", 200, `"lang":"` + lang + `"`})
	}
	return list
}

func TestWhatANewcomerAddsIsKnownEverywhere(t *testing.T) {
	t.Parallel()
	dir := module(t)
	remove := program.BuildIn(dir)
	t.Cleanup(remove)
	state := program.Folder(t)
	o := program.Options{Dir: state, Env: []string{"OPS_ADDR=127.0.0.1:0", "WORLD=sandbox", "SANDBOX_DAYS=12", "LOG_FORMAT=json"}}
	_, base := program.Up(t, o)

	var key registered
	program.Until(t, program.Timeout, "a digest is there", func() (bool, string) {
		if key.Data.APIKey == "" {
			if err := register(t.Context(), base, &key); err != nil {
				return false, err.Error()
			}
		}
		status, _, err := ask(t.Context(), base, key.Data.APIKey, surface{path: "/api/v1/digest/latest"})
		return status == http.StatusOK, fmt.Sprint(status, err)
	})
	program.Until(t, program.Timeout, "the new signal has a value", func() (bool, string) {
		_, text, err := ask(t.Context(), base, "", surface{path: "/api/signals/" + signal})
		return err == nil && strings.Contains(text, `"observed_at":"`), text
	})
	for _, s := range surfaces() {
		if fault := s.fault(t.Context(), base, key.Data.APIKey); fault != "" {
			t.Error(fault)
		}
	}
	for _, c := range commands() {
		fault := c.fault(t, o, state)
		for range 10 { // the sandbox still lives through its days, so new data may come while a command reads
			if !strings.Contains(fault, "while they were read") {
				break
			}
			fault = c.fault(t, o, state)
		}
		if fault != "" {
			t.Error(fault)
		}
	}
}

// command is a command of the program that should know what was added.
type command struct {
	name, want string
	args       []string
}

func commands() []command {
	return []command{
		{"schedule", signal, []string{"schedule", "list"}},
		{"backfill", signal, []string{"backfill", "plan", "--signal=" + signal, "--from=2026-11-02", "--to=2026-11-06"}},
		{"doctor", "7 signals", []string{"doctor"}},
		{"schedule of the publisher", source, []string{"schedule", "list"}},
		{"run log of the publisher", source, []string{"runs", "list", "--subject=" + source}},
		{"archive of the publisher", source, []string{"reparse", "--source=" + source}},
		{"digest on the command line", "The week of", []string{"portfolio", "digest", "--lang=" + lang}},
	}
}

// fault says what is wrong with the command's output, with the command's name. It is empty if nothing is.
func (c command) fault(t *testing.T, o program.Options, state string) string {
	t.Helper()
	status, out := program.Run(t, o, append(c.args, "--state-dir="+filepath.Join(state, "state"))...)
	if status == 0 && strings.Contains(out, c.want) {
		return ""
	}
	return fmt.Sprintf("%s: tidemark %s ends with %d without %q:\n%.500s", c.name, strings.Join(c.args, " "), status, c.want, out)
}

// fault says what is wrong with the surface's response, with the surface's name. It is empty if nothing is.
func (s surface) fault(ctx context.Context, base, key string) string {
	status, text, err := ask(ctx, base, key, s)
	for range 60 { // waiting for the first digest may have used up the requests of a minute
		if err != nil || status != http.StatusTooManyRequests {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		status, text, err = ask(ctx, base, key, s)
	}
	if err == nil && status == s.status && strings.Contains(strings.ReplaceAll(text, `": "`, `":"`), s.want) {
		return ""
	}
	return fmt.Sprintf("%s: %s answers %d %v without %q:\n%.300s", s.name, s.path, status, err, s.want, text)
}

// The program as it is has none of the additions. A surface that finds them there would never miss them. It ends before the parallel test
// builds another program in its place.
func TestEachSurfaceMissesWhatWasNotAdded(t *testing.T) { //nolint:paralleltest // see above
	t.Cleanup(program.Build())
	state := program.Folder(t)
	o := program.Options{Dir: state, Env: []string{"OPS_ADDR=127.0.0.1:0", "WORLD=sandbox", "SANDBOX_DAYS=2", "LOG_FORMAT=json"}}
	_, base := program.Up(t, o)
	var key registered
	program.Until(t, program.Timeout, "a key is registered", func() (bool, string) {
		err := register(t.Context(), base, &key)
		return err == nil, fmt.Sprint(err)
	})
	for _, s := range surfaces() {
		if strings.HasPrefix(s.name, "digest in ") && s.name != "digest in "+lang {
			continue // it asks for a language that the program has
		}
		if fault := s.fault(t.Context(), base, key.Data.APIKey); !strings.HasPrefix(fault, s.name+": ") {
			t.Errorf("%s: %s knows what was not added (%q)", s.name, s.path, fault)
		}
	}
	for _, c := range commands() {
		if fault := c.fault(t, o, state); !strings.HasPrefix(fault, c.name+": ") {
			t.Errorf("%s: %s knows what was not added (%q)", c.name, c.args, fault)
		}
	}
}

// registered is the response to a registration.
type registered struct {
	Data struct {
		APIKey string `json:"api_key"`
	}
}

func register(ctx context.Context, base string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/auth/register", strings.NewReader(`{"name":"extend"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return program.Do(req, http.StatusCreated, into)
}

func ask(ctx context.Context, base, key string, s surface) (int, string, error) {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if s.body != "" {
		method, body = http.MethodPost, strings.NewReader(s.body)
	}
	req, err := http.NewRequestWithContext(ctx, method, base+s.path, body)
	if err != nil {
		return 0, "", err
	}
	if s.body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	if strings.HasPrefix(s.path, "/api/v1/") && key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
