package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/api"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// rawFixture is a system with publishers' bodies in its archive.
type rawFixture struct {
	*system

	archive map[string][]byte
	down    bool
}

// stored is an archived body.
func (f *rawFixture) stored(_ context.Context, digest string) ([]byte, error) {
	if f.down {
		return nil, errors.New("the bucket is away")
	}
	return f.archive[digest], nil
}

func bodyHash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// fetched archives a body of a source, and returns its fetch and its hash. With readings, observations are based on it.
func (f *rawFixture) fetched(source, url, body string, at time.Time, readings ...series.Reading) (int64, string) {
	f.t.Helper()
	digest := bodyHash(body)
	f.archive[digest] = []byte(body)
	id, err := f.worker.RecordFetch(f.t.Context(), series.Fetch{Source: source, URL: url, Status: 200, FetchedAt: at, SHA256: digest, Bytes: int64(len(body))}, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(readings) > 0 {
		_, err = f.worker.StoreLoads(f.t.Context(), task.Fence{}, []postgres.Load{{
			FetchID: id, FetchedAt: at, Readings: readings, Published: func(_ series.ID, observed time.Time) time.Time { return observed.AddDate(0, 0, 1) },
		}}, nil)
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return id, digest
}

func up(day int, value float64) series.Reading {
	return series.Reading{Series: "up.one", ObservedAt: time.Date(2026, time.February, day, 0, 0, 0, 0, time.UTC), Value: value}
}

func startRaw(t *testing.T) *rawFixture {
	t.Helper()
	f := &rawFixture{system: start(t, setup{stored: []postgres.Snapshot{full()}}), archive: map[string][]byte{}}
	f.serve(api.Options{View: f.view, Datasets: f.open(postgres.RoleAPI), Raw: &api.RawOptions{
		Store: f.open(postgres.RoleAPI),
		Get:   f.stored,
		Sources: map[string]api.RawSource{
			"open": {Publisher: "An office", License: "public domain", Shown: true}, "shut": {Publisher: "A trader", License: "no redistribution"},
		},
	}})
	f.eventually("the snapshot", func() bool { return f.view.State().Signal("crack-spread-321").Snapshot.AsOf != nil })
	return f
}

// before is earlier than the newest snapshot, later is after it.
var before, later = noon.Add(-3 * time.Hour), noon.Add(-time.Minute)

func TestABodyThatANumberRestsOnIsServedAsItCame(t *testing.T) {
	t.Parallel()
	f := startRaw(t)
	const body = "<script>alert(1)</script>\r\nday,value\r\n2026-02-20,20.5\r\n"
	_, digest := f.fetched("open", "https://upstream.example/a", body, before, up(20, 20.5))
	a := f.ask(http.MethodGet, "/raw/"+digest)
	if a.StatusCode != http.StatusOK || string(a.body) != body || bodyHash(string(a.body)) != digest {
		t.Fatalf("%s: %q", a.Status, a.body)
	}
	for name, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Disposition": `attachment; filename="` + digest + `.bin"`,
		"Content-Security-Policy": "default-src 'none'; sandbox", "Cache-Control": "public, max-age=31536000, immutable", "Etag": `"` + digest + `"`,
		"Accept-Ranges": "bytes",
	} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if h := f.ask(http.MethodHead, "/raw/"+digest); h.StatusCode != http.StatusOK || len(h.body) != 0 || h.ContentLength != int64(len(body)) {
		t.Errorf("HEAD: %s, %d bytes of %d", h.Status, len(h.body), h.ContentLength)
	}
	if p := f.ask(http.MethodGet, "/raw/"+digest, "Range", "bytes=3-8"); p.StatusCode != http.StatusPartialContent || string(p.body) != body[3:9] {
		t.Errorf("a range: %s %q", p.Status, p.body)
	}
	if p := f.ask(http.MethodGet, "/raw/"+digest, "Range", "bytes=9000-"); p.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range beyond the end: %s", p.Status)
	}
	// Overlapping ranges could turn a small body into a large response.
	if p := f.ask(http.MethodGet, "/raw/"+digest, "Range", "bytes="+strings.TrimSuffix(strings.Repeat("0-,", 500), ",")); len(p.body) > 2*len(body) {
		t.Errorf("ranges made %d bytes of %d", len(p.body), len(body))
	}
	if n := f.ask(http.MethodGet, "/raw/"+digest, "If-None-Match", `"`+digest+`"`); n.StatusCode != http.StatusNotModified {
		t.Errorf("known: %s", n.Status)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if m := f.ask(method, "/raw/"+digest); m.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %s", method, m.Status)
		}
	}
}

func TestABodyThatMayNotBePassedOnIsNamedAndNotShown(t *testing.T) {
	t.Parallel()
	f := startRaw(t)
	_, shut := f.fetched("shut", "https://trader.example/a", "secret prices of a trader", before, up(20, 1))
	_, keyed := f.fetched("open", "https://upstream.example/a?api_key=REDACTED", `{"request":{"api_key":"hunter2"}}`, before, up(21, 2))
	for digest, want := range map[string]string{shut: "terms", keyed: "own key"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			a := f.ask(method, "/raw/"+digest)
			if a.StatusCode != http.StatusUnavailableForLegalReasons || strings.Contains(string(a.body), "prices of") || strings.Contains(string(a.body), "hunter2") {
				t.Errorf("%s: %s: %s", method, a.Status, a.body)
			}
			if method == http.MethodHead {
				continue
			}
			body := f.object(a)
			facts, _ := body["raw"].(map[string]any)
			reason, _ := facts["reason"].(string)
			if body["code"] != "not_shown" || facts["sha256"] != digest || facts["bytes"] == 0.0 || facts["retrieved_at"] != "2026-03-04T09:00:00Z" || !strings.Contains(reason, want) {
				t.Errorf("%v", body)
			}
		}
	}
}

func TestWhatWasNotToldIsNotShownAndNotNamed(t *testing.T) {
	t.Parallel()
	f := startRaw(t)
	_, unused := f.fetched("open", "https://upstream.example/a", "nothing was read from it", before)
	_, ahead := f.fetched("open", "https://upstream.example/a", "it came after the newest snapshot", later, up(24, 3))
	_, other := f.fetched("open", "https://upstream.example/filing", "a company's filing", before, series.Reading{Series: "other.one", ObservedAt: noon.AddDate(0, 0, -9), Value: 3})
	_, stranger := f.fetched("nobody", "https://upstream.example/x", "a source without terms", before, up(23, 4))
	held, quarantined := f.fetched("open", "https://upstream.example/a", "a body in quarantine", before, up(22, 9000))
	if _, err := f.worker.Quarantine(f.t.Context(), task.Fence{}, postgres.Quarantined{Source: "open", Digest: quarantined, CreatedAt: before}, []int64{held}); err != nil {
		t.Fatal(err)
	}
	missing := bodyHash("never archived")
	var answers []string
	for what, digest := range map[string]string{
		"unused": unused, "ahead": ahead, "another series'": other, "a stranger's": stranger, "quarantined": quarantined, "missing": missing,
		"upper case": strings.ToUpper(missing), "short": missing[:63], "long": missing + "0", "a name": "..%2f..%2fetc%2fpasswd", "dots": "%2e%2e", "null": "%00" + missing[3:],
	} {
		a := f.ask(http.MethodGet, "/raw/"+digest)
		if a.StatusCode != http.StatusNotFound || a.Header.Get("Content-Disposition") != "" {
			t.Errorf("%s: %s: %s", what, a.Status, a.body)
		}
		if detail, ok := f.object(a)["detail"].(string); ok && len(digest) == 64 && digest != strings.ToUpper(digest) {
			answers = append(answers, detail)
		}
	}
	for _, a := range answers {
		if a != answers[0] {
			t.Errorf("what there is can be told from what there is not: %q and %q", a, answers[0])
		}
	}
}

func TestAnArchiveThatIsAwayIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	f := startRaw(t)
	_, digest := f.fetched("open", "https://upstream.example/a", "a body", before, up(20, 1))
	f.down = true
	if a := f.ask(http.MethodGet, "/raw/"+digest); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || strings.Contains(string(a.body), "bucket") {
		t.Errorf("away: %s: %s", a.Status, a.body)
	}
	f.down = false
	delete(f.archive, digest)
	if a := f.ask(http.MethodGet, "/raw/"+digest); a.StatusCode != http.StatusNotFound {
		t.Errorf("lost: %s", a.Status)
	}
}

func TestClientsThatReadNothingHoldNobodyElsesBody(t *testing.T) {
	t.Parallel()
	f := startRaw(t)
	_, large := f.fetched("open", "https://upstream.example/a", strings.Repeat("0123456789abcdef", 1<<20), before, up(20, 1)) // more than any socket buffers
	_, small := f.fetched("open", "https://upstream.example/b", "small", before, up(21, 1))
	for range 8 {
		conn, err := f.connect("GET /raw/" + large + " HTTP/1.1\r\nHost: x\r\n\r\n")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := io.ReadFull(conn, make([]byte, len("HTTP/1.1 "))); err != nil { // the response has started, and the client stops reading
			t.Fatal(err)
		}
	}
	a := f.ask(http.MethodGet, "/raw/"+small)
	if detail, _ := f.object(a)["detail"].(string); a.StatusCode != http.StatusTooManyRequests || detail != "An address may have 3 archived bodies under way." {
		t.Errorf("the address that reads nothing: %s: %s", a.Status, a.body)
	}
	from := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).DialContext}
	t.Cleanup(from.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/raw/"+small, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: from}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "small" {
		t.Errorf("another address: %s %q %v", resp.Status, body, err)
	}
}
