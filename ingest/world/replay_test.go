package world_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/world"
	"tidemark/internal/series"
)

// at is an instant of the recorded month.
func at(day int) time.Time { return time.Date(2026, 3, day, 15, 30, 0, 0, time.UTC) }

// exchange is one recorded exchange.
type exchange struct {
	url    string
	day    int
	status int // 0: 200
	header map[string]string
	body   string

	synthetic, constructed bool
}

// record writes an archive folder.
func record(t *testing.T, exchanges ...exchange) string {
	t.Helper()
	dir := t.TempDir()
	w, err := archive.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range exchanges {
		f := series.Fetch{
			Source: "feed", URL: x.url, Status: x.status, Header: x.header, FetchedAt: at(x.day),
			Synthetic: x.synthetic, Constructed: x.constructed, NotModified: x.status == http.StatusNotModified,
		}
		if f.Status == 0 {
			f.Status = http.StatusOK
		}
		if err := w.Add(t.Context(), f, []byte(x.body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func replay(t *testing.T, dir string, now time.Time) http.RoundTripper {
	t.Helper()
	r, err := world.Replay(dir, world.Fixed(now).Now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReplayAnswersAsOfItsTime(t *testing.T) {
	t.Parallel()
	const u = "https://upstream.example/a"
	dir := record(t, // not in the order of time
		exchange{url: u, day: 9, body: "second"},
		exchange{url: u, day: 2, body: "first"},
		exchange{url: u, day: 16, body: "second", status: 304},
		exchange{url: u, day: 23, body: "busy", status: 503},
		exchange{url: u, day: 30, body: "gone", status: 410},
		exchange{url: "https://upstream.example/down", day: 2, body: "busy", status: 503},
	)
	tests := []struct {
		fact, url string
		now       time.Time
		status    int
		body      string
	}{
		{"at the very instant", u, at(2), 200, "first"},
		{"between two answers", u, at(5), 200, "first"},
		{"after a newer one", u, at(9), 200, "second"},
		{"a confirmation counts as what it confirmed", u, at(17), 200, "second"},
		{"a moment's trouble is passed over", u, at(24), 200, "second"},
		{"a lasting no is not", u, at(31), 410, "gone"},
		{"trouble is all that was recorded", "https://upstream.example/down", at(3), 503, "busy"},
		{"before the first", u, at(1), 404, "The archive recorded https://upstream.example/a for the first time at 2026-03-02T15:30:00Z, which is after 2026-03-01T15:30:00Z, the time of this replay.\n"},
		{"never recorded", "https://upstream.example/b", at(31), 404, "The archive holds no answer to https://upstream.example/b.\n"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			resp, body, err := get(t, replay(t, dir, tt.now), tt.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || body != tt.body {
				t.Errorf("got %d %q, want %d %q", resp.StatusCode, body, tt.status, tt.body)
			}
			if made := resp.Header.Get(ingest.SyntheticHeader) == "true"; made != (tt.status == 404) {
				t.Errorf("synthetic %t, want only what no publisher sent", made)
			}
			if resp.ContentLength != int64(len(tt.body)) {
				t.Errorf("length %d, want %d", resp.ContentLength, len(tt.body))
			}
		})
	}
	if last, err := world.LastFetch(dir); err != nil || !last.Equal(at(30)) {
		t.Errorf("LastFetch = %s, %v, want %s", last, err, at(30))
	}
}

func TestReplayComparesRequestsAsTheLedgerNamesThem(t *testing.T) {
	t.Parallel()
	dir := record(t,
		exchange{url: "https://api.example/v2?api_key=REDACTED&series=RWTC&facet%5B%5D=a&facet%5B%5D=b", day: 2, body: "keyed"},
		exchange{url: "https://api.example/v2?series=RWTC", day: 2, body: "keyless"},
		exchange{url: "https://other.example/?api_key=public", day: 2, body: "not secret here"},
		exchange{url: ingest.LoggedURL(http.MethodPost, "https://api.example/post", []byte("question"), nil), day: 2, body: "posted"},
		exchange{url: "https://upstream.example", day: 2, body: "root"},
		exchange{url: "https://api.example/moved?api_key=REDACTED", day: 2, status: 301, header: map[string]string{"Location": "/v2?series=RWTC"}},
	)
	tests := []struct {
		fact, method, url, ask string
		want                   string // empty: 404
	}{
		{"whatever the key is", "GET", "https://api.example/v2?api_key=s3cr3t&series=RWTC&facet%5B%5D=a&facet%5B%5D=b", "", "keyed"},
		{"in another order and escaping", "GET", "https://API.example:443/v2?facet[]=a&facet[]=b&series=%52WTC&api_key=other", "", "keyed"},
		{"values of one name keep their order", "GET", "https://api.example/v2?api_key=k&series=RWTC&facet%5B%5D=b&facet%5B%5D=a", "", ""},
		{"without the key it is another request", "GET", "https://api.example/v2?series=RWTC", "", "keyless"},
		{"a parameter is secret where it was redacted", "GET", "https://other.example/?api_key=private", "", ""},
		{"and plain elsewhere", "GET", "https://other.example/?api_key=public", "", "not secret here"},
		{"a posted question by its body", "POST", "https://api.example/post", "question", "posted"},
		{"another question", "POST", "https://api.example/post", "question?", ""},
		{"another method", "GET", "https://api.example/post", "", ""},
		{"an empty path is the root", "GET", "https://upstream.example/", "", "root"},
		{"another scheme", "GET", "http://upstream.example/", "", ""},
	}
	rt := replay(t, dir, at(3))
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			var body io.Reader
			if tt.ask != "" {
				body = strings.NewReader(tt.ask)
			}
			r, err := http.NewRequestWithContext(t.Context(), tt.method, tt.url, body)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				if resp.StatusCode != http.StatusNotFound || strings.Contains(string(got), "s3cr3t") {
					t.Errorf("got %d %q, want 404", resp.StatusCode, got)
				}
				return
			}
			if resp.StatusCode != http.StatusOK || string(got) != tt.want {
				t.Errorf("got %d %q, want 200 %q", resp.StatusCode, got, tt.want)
			}
		})
	}
	resp, _, err := get(t, rt, "https://api.example/moved?api_key=k", nil)
	if err != nil || resp.StatusCode != http.StatusMovedPermanently || resp.Header.Get("Location") != "/v2?series=RWTC" {
		t.Errorf("got %v and error %v, want the recorded redirect", resp, err)
	}
}

func TestReplayConfirmsWhatIsKnown(t *testing.T) {
	t.Parallel()
	dir := record(t,
		exchange{url: "https://upstream.example/tag", day: 2, body: "x", header: map[string]string{"ETag": `W/"v1"`, "Content-Type": "text/csv"}},
		exchange{url: "https://upstream.example/date", day: 2, body: "x", header: map[string]string{"Last-Modified": "Mon, 02 Mar 2026 13:49:00 GMT"}},
	)
	tests := []struct {
		fact, url, name, value string
		status                 int
	}{
		{"its tag, weak or not", "tag", "If-None-Match", `"v1"`, 304},
		{"one tag of several", "tag", "If-None-Match", `"v0", W/"v1"`, 304},
		{"any", "tag", "If-None-Match", "*", 304},
		{"another tag", "tag", "If-None-Match", `"v2"`, 200},
		{"its date", "date", "If-Modified-Since", "Mon, 02 Mar 2026 13:49:00 GMT", 304},
		{"a later date", "date", "If-Modified-Since", "Tue, 03 Mar 2026 00:00:00 GMT", 304},
		{"an earlier date", "date", "If-Modified-Since", "Mon, 02 Mar 2026 13:48:59 GMT", 200},
		{"a date that it does not know", "tag", "If-Modified-Since", "Tue, 03 Mar 2026 00:00:00 GMT", 200},
		{"a date that is none", "date", "If-Modified-Since", "yesterday", 200},
	}
	rt := replay(t, dir, at(3))
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			resp, body, err := get(t, rt, "https://upstream.example/"+tt.url, http.Header{tt.name: {tt.value}})
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || (body == "") != (tt.status == http.StatusNotModified) {
				t.Errorf("got %d with body %q, want %d", resp.StatusCode, body, tt.status)
			}
			if tt.status == 304 && tt.url == "tag" && resp.Header.Get("ETag") != `W/"v1"` {
				t.Error("the tag is not in the confirmation")
			}
		})
	}
}

func TestReplayTellsWhereABodyComesFrom(t *testing.T) {
	t.Parallel()
	lie := map[string]string{ingest.SyntheticHeader: "true", ingest.ConstructedHeader: "true"}
	dir := record(t,
		exchange{url: "https://upstream.example/real", day: 2, body: "x", header: lie},
		exchange{url: "https://upstream.example/synthetic", day: 2, body: "x", synthetic: true},
		exchange{url: "https://upstream.example/constructed", day: 2, body: "x", constructed: true},
	)
	rt := replay(t, dir, at(3))
	for name, want := range map[string][2]string{"real": {}, "synthetic": {"true", ""}, "constructed": {"", "true"}} {
		resp, _, err := get(t, rt, "https://upstream.example/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{resp.Header.Get(ingest.SyntheticHeader), resp.Header.Get(ingest.ConstructedHeader)}; got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestReplayNamesABodyThatIsBroken(t *testing.T) {
	t.Parallel()
	dir := record(t, exchange{url: "https://upstream.example/a", day: 2, body: "x"})
	if err := os.RemoveAll(filepath.Join(dir, "blobs")); err != nil {
		t.Fatal(err)
	}
	_, _, err := get(t, replay(t, dir, at(3)), "https://upstream.example/a", nil)
	if !errors.Is(err, ingest.ErrNotArchived) || !errors.Is(err, ingest.Refused) || !strings.Contains(err.Error(), "https://upstream.example/a") {
		t.Errorf("got %v, want a refusal that names the lost body", err)
	}
}

func TestReplayRefusesABrokenManifest(t *testing.T) {
	t.Parallel()
	dir := record(t, exchange{url: "https://upstream.example/a", day: 2, body: "x"})
	name := filepath.Join(dir, archive.ManifestName)
	manifest, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.TrimSuffix(manifest, []byte("}\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := world.Replay(dir, world.Fixed(at(3)).Now); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got %v, want an error about line 2", err)
	}
}
