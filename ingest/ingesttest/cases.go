// Package ingesttest is shared by the tests of several adapters: case folders, and a sandbox with a clock that the test sets (Upstream).
// A case is a folder below testdata. It has the body as a publisher sent it, a meta.json with the request, and the expected result of the
// parser: expected.csv, or expected.err with the error's text. `go test ./ingest/<source> -update` writes the expectations again. Only
// tests import it. Start at Check.
package ingesttest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

var update = flag.Bool("update", false, "rewrite the expectations of the case folders")

// Case is one case folder.
type Case struct {
	Dir string
	// Source names the source, where an adapter has several.
	Source string
	// Response is the engine's input for the parser.
	Response ingest.Response
}

// meta is a case's meta.json. Date is the answer's header of that name, Fetched the time of the fetch.
type meta struct {
	Source      string    `json:"source"`
	URL         string    `json:"url"`
	ContentType string    `json:"content_type"`
	Date        string    `json:"date"`
	Fetched     time.Time `json:"fetched"`
}

// Dirs lists the case folders of the package under test.
func Dirs(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/*/meta.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no case folders: %v", err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

// Load reads a case folder. Its body is the file body.*; a folder that keeps it in another form has none.
func Load(t testing.TB, dir string) Case {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	c := Case{Dir: dir, Source: m.Source, Response: ingest.Response{
		Request: ingest.Request{URL: m.URL}, Header: http.Header{"Content-Type": {m.ContentType}}, FetchedAt: m.Fetched,
	}}
	if m.Date != "" {
		c.Response.Header.Set("Date", m.Date)
	}
	bodies, err := filepath.Glob(filepath.Join(dir, "body.*"))
	if err != nil || len(bodies) > 1 {
		t.Fatalf("%s: %d bodies, want 1 (%v)", dir, len(bodies), err)
	}
	for _, name := range bodies {
		if c.Response.Body, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Check runs every case folder in parallel. The result of parse, written by describe, must equal the folder's expectation. An error comes
// without a batch, and the same bytes give the same batch again.
func Check(t *testing.T, parse func(t *testing.T, c Case) (ingest.Batch, error), describe func(ingest.Batch) string) {
	t.Helper()
	for _, dir := range Dirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			c := Load(t, dir)
			batch, err := parse(t, c)
			name, got := "expected.csv", describe(batch)
			if err != nil {
				name, got = "expected.err", err.Error()+"\n"
				if len(batch.Readings) != 0 || len(batch.Covers) != 0 || batch.Next != nil {
					t.Errorf("an error comes with a batch: %+v", batch)
				}
			}
			if *update {
				rewrite(t, dir, name, got)
				return
			}
			want, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatalf("the parser's answer is of another kind than the case expects: %v\n%s", err, got)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := parse(t, c)
			if diff := cmp.Diff(batch, again); diff != "" || (err == nil) != (name == "expected.csv") {
				t.Errorf("the same bytes give another batch (-first +second):\n%s", diff)
			}
		})
	}
}

func rewrite(t *testing.T, dir, name, text string) {
	t.Helper()
	for _, old := range []string{"expected.csv", "expected.err"} {
		if err := os.Remove(filepath.Join(dir, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Describe writes a batch as an expected.csv: readings in the order of time, what is covered, and what is asked next.
func Describe(b ingest.Batch) string {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	lines := [][]string{{"series", "observed_at", "value", "marker"}}
	list := slices.Clone(b.Readings)
	slices.SortStableFunc(list, func(x, y series.Reading) int { return x.ObservedAt.Compare(y.ObservedAt) })
	for _, r := range list {
		value := strconv.FormatFloat(r.Value, 'f', -1, 64)
		if r.Marker != "" {
			value = ""
		}
		lines = append(lines, []string{string(r.Series), r.ObservedAt.Format(time.RFC3339), value, r.Marker})
	}
	if err := w.WriteAll(lines); err != nil {
		panic(err) // a buffer takes everything
	}
	for _, c := range b.Covers {
		from := "its beginning"
		if !c.Window.From.IsZero() {
			from = c.Window.From.Format(time.DateOnly)
		}
		fmt.Fprintf(&text, "# covers %s from %s to %s\n", c.Series, from, c.Window.To.Format(time.DateOnly))
	}
	word := "next"
	for r := b.Next; r != nil; r = r.Else {
		must := ""
		if word == "or else" && r.Absent == nil {
			must = ", which must be there"
		}
		fmt.Fprintf(&text, "# %s %s%s\n", word, r.URL, must)
		word = "or else"
	}
	return text.String()
}

// Parse reads a case as the engine reads an answer from the archive: with the checks of content type and batch.
func Parse(src ingest.Source, c Case) (ingest.Batch, error) {
	return ingest.Parse(src, series.Fetch{
		URL: c.Response.Request.URL, Status: http.StatusOK, Header: map[string]string{"Content-Type": c.Response.Header.Get("Content-Type")},
		FetchedAt: c.Response.FetchedAt, SHA256: "(its digest)",
	}, c.Response.Body)
}
