package api_test

import (
	"bytes"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/signals"
)

func TestFaultsOfParametersAreNamed(t *testing.T) {
	t.Parallel()
	s := told(t)
	cursor := s.get(crack + "/history?limit=1")["pagination"].(map[string]any)["next_cursor"].(string)
	for _, c := range []struct {
		address, code string
		pointers      []string
	}{
		{"/history?limit=0", "invalid_parameter", []string{"/limit"}},
		{"/history?limit=501", "invalid_parameter", []string{"/limit"}},
		{"/history?limit=many", "invalid_parameter", []string{"/limit"}},
		{"/history?limit=", "invalid_parameter", []string{"/limit"}},
		{"/history?limit=1&limit=2", "invalid_parameter", []string{"/limit"}},
		{"/history?format=xml", "invalid_parameter", []string{"/format"}},
		{"/history?order=up", "invalid_parameter", []string{"/order"}},
		{"/history?vintages=some", "invalid_parameter", []string{"/vintages"}},
		{"/history?frequency=weekly", "invalid_parameter", []string{"/frequency"}},
		{"/history?from=yesterday&to=2026-02-30", "invalid_parameter", []string{"/from", "/to"}},
		{"/history?from=2026-02-03&to=2026-02-02", "invalid_parameter", []string{"/to"}},
		{"/history?as_of=2026-03-04", "invalid_parameter", []string{"/as_of"}}, // today is not over yet
		{"/history?as_of=2026-03-04T12:00:01Z", "invalid_parameter", []string{"/as_of"}},
		{"/history?as_of=2026-03-03T11:00:00", "invalid_parameter", []string{"/as_of"}},
		{"/history?as_of=x&limit=-1&format=y", "invalid_parameter", []string{"/format", "/as_of", "/limit"}},
		{"/history?limit=1;order=asc", "invalid_parameter", []string{"/"}},
		{"/history?cursor=x", "invalid_cursor", []string{"/cursor"}},
		{"/history?order=desc&cursor=" + cursor, "invalid_cursor", []string{"/cursor"}},
		{"/history?vintages=all&cursor=" + cursor, "invalid_cursor", []string{"/cursor"}},
		{"/vintages?cursor=" + cursor, "invalid_cursor", []string{"/cursor"}},
		{"/vintages?limit=0&order=x", "invalid_parameter", []string{"/order", "/limit"}},
		{"?as_of=tomorrow", "invalid_parameter", []string{"/as_of"}},
		{"?as_of=2027-01-01", "invalid_parameter", []string{"/as_of"}},
	} {
		a := s.ask(http.MethodGet, crack+c.address)
		if a.StatusCode != http.StatusBadRequest || a.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s as %s, want a problem of 400", c.address, a.Status, a.Header.Get("Content-Type"))
			continue
		}
		p := s.object(a)
		var pointers []string
		for _, e := range p["errors"].([]any) {
			e := e.(map[string]any)
			pointers = append(pointers, e["pointer"].(string))
			if e["detail"] == "" {
				t.Errorf("%s: %s has no detail", c.address, e["pointer"])
			}
		}
		if d := cmp.Diff(c.pointers, pointers); d != "" || p["code"] != c.code {
			t.Errorf("%s: code %v, want %s; pointers (-want +got):\n%s", c.address, p["code"], c.code, d)
		}
		if page := s.ask(http.MethodGet, p["type"].(string)); page.StatusCode != http.StatusOK {
			t.Errorf("%s: its type answers %s", c.address, page.Status)
		}
	}
	if a := s.ask(http.MethodGet, "/api/signals/brent/history"); a.StatusCode != http.StatusNotFound || s.object(a)["code"] != "unknown_signal" {
		t.Errorf("of an unknown signal: %s", a.Status)
	}
	if a := s.ask(http.MethodPost, crack+"/history"); a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", a.Status)
	}
}

func TestAcceptPicksTheFormat(t *testing.T) {
	t.Parallel()
	s := told(t)
	for accept, want := range map[string]string{
		"": "application/json", "*/*": "application/json", "text/csv": "text/csv", "application/x-ndjson": "application/x-ndjson",
		"text/csv;q=0.5, application/x-ndjson": "application/x-ndjson", "text/html, */*;q=0.1": "application/json",
		"image/png": "application/problem+json",
	} {
		var header []string
		if accept != "" {
			header = []string{"Accept", accept}
		}
		a := s.ask(http.MethodGet, crack+"/history", header...)
		if got := a.Header.Get("Content-Type"); got != want {
			t.Errorf("Accept %q gets %s, want %s", accept, got, want)
		}
		if a.StatusCode == http.StatusOK && !slices.Contains(a.Header.Values("Vary"), "Accept") {
			t.Errorf("Accept %q: Vary is %v", accept, a.Header.Values("Vary"))
		}
		if got := s.ask(http.MethodGet, crack+"/history?format=csv", header...).Header.Get("Content-Type"); got != "text/csv" {
			t.Errorf("with a format Accept %q gets %s", accept, got)
		}
	}
}

// long is a system with a history of many chunks.
func long(t testing.TB, points int) *system {
	t.Helper()
	s := start(t, setup{})
	track := make([]signals.Estimate, points)
	for i := range track {
		track[i] = estimate(i-points+5, 20+math.Sin(float64(i)))
	}
	s.say(noon.Add(-time.Hour), track...)
	s.eventually("the history to be served", func() bool { return s.view.State().Signal("crack-spread-321").History.Len() == points })
	return s
}

func TestLongAndShortAnswersCanBeCached(t *testing.T) {
	t.Parallel()
	s := long(t, 3000)
	for _, path := range []string{
		crack + "/history", crack + "/history?format=csv", crack + "/history?format=ndjson&order=desc", crack + "/history?limit=5",
		crack + "/history?limit=1&format=csv", crack + "/history?from=2027-01-01", crack + "/history?as_of=2026-03-04T12:00:00Z",
		crack + "/history?as_of=2026-03-04T12:00:00Z&format=csv", crack + "/history?vintages=all&format=csv", crack + "/vintages",
		crack + "?as_of=2026-03-04T12:00:00Z",
	} {
		whole := s.ask(http.MethodGet, path, "X-Request-Id", "same")
		zipped := s.ask(http.MethodGet, path, "X-Request-Id", "same", "Accept-Encoding", "gzip")
		if whole.StatusCode != http.StatusOK || len(whole.body) == 0 {
			t.Fatalf("%s: %s, %d bytes", path, whole.Status, len(whole.body))
		}
		body, id := zipped.body, whole.Header.Get("ETag")
		if pays := len(whole.body) >= 1024; pays != (zipped.Header.Get("Content-Encoding") == "gzip") {
			t.Errorf("%s: %d bytes, Content-Encoding %q", path, len(whole.body), zipped.Header.Get("Content-Encoding"))
		} else if pays {
			body = []byte(unzip(t, body))
			if zipped.Header.Get("ETag") != strings.TrimSuffix(id, `"`)+`-gzip"` {
				t.Errorf("%s: ETags %s and %s", path, id, zipped.Header.Get("ETag"))
			}
		}
		if !bytes.Equal(body, whole.body) {
			t.Errorf("%s differs when compressed", path)
		}
		for _, encoding := range []string{"identity", "gzip"} {
			get := s.ask(http.MethodGet, path, "X-Request-Id", "same", "Accept-Encoding", encoding)
			head := s.ask(http.MethodHead, path, "X-Request-Id", "same", "Accept-Encoding", encoding)
			get.Header.Del("Date")
			head.Header.Del("Date")
			if d := cmp.Diff(get.Header, head.Header); d != "" || len(head.body) != 0 {
				t.Errorf("%s, %s: HEAD has %d bytes and other fields (-get +head):\n%s", path, encoding, len(head.body), d)
			}
			again := s.ask(http.MethodGet, path, "If-None-Match", get.Header.Get("ETag"), "Accept-Encoding", encoding)
			if again.StatusCode != http.StatusNotModified || len(again.body) != 0 || again.Header.Get("ETag") != get.Header.Get("ETag") {
				t.Errorf("%s, %s: with its own ETag %s", path, encoding, again.Status)
			}
		}
		other := s.ask(http.MethodGet, path, "If-None-Match", `"x"`)
		if other.StatusCode != http.StatusOK {
			t.Errorf("%s: with another ETag %s", path, other.Status)
		}
	}
	tags := map[string]string{}
	for _, query := range []string{"", "?order=desc", "?from=2026-01-01", "?to=2026-01-01", "?limit=3", "?limit=4", "?format=csv", "?vintages=all", "?as_of=2026-03-04T12:00:00Z", "?as_of=2026-03-03"} {
		tag := s.ask(http.MethodGet, crack+"/history"+query).Header.Get("ETag")
		if before, taken := tags[tag]; taken {
			t.Errorf("%q and %q have one ETag", before, query)
		}
		tags[tag] = query
	}
}

func TestETagsFollowTheHistory(t *testing.T) {
	t.Parallel()
	s := told(t)
	const now, then = crack + "/history", crack + "/history?as_of=2026-03-03"
	nowTag, thenTag := s.ask(http.MethodGet, now).Header.Get("ETag"), s.ask(http.MethodGet, then).Header.Get("ETag")
	s.say(noon, estimate(0, 20.5), estimate(4, 17.5))
	s.eventually("the new history", func() bool {
		return s.ask(http.MethodGet, now, "If-None-Match", nowTag).StatusCode == http.StatusOK
	})
	if a := s.ask(http.MethodGet, then, "If-None-Match", thenTag); a.StatusCode != http.StatusNotModified {
		t.Errorf("what was known yesterday after a new day: %s, want 304", a.Status)
	}
	// A backfill inserts a day, so the snapshot as of yesterday evening changes.
	s.say(noon.Add(-20*time.Hour), estimate(0, 20.5), estimate(1, 21.25), estimate(3, 19.5))
	a := s.ask(http.MethodGet, then, "If-None-Match", thenTag)
	if a.StatusCode != http.StatusOK || values(t, s.object(a)) != "20=20.5 21=21.25 23=19.5" {
		t.Errorf("after a backfill: %s %s", a.Status, a.body)
	}
	if got, want := values(t, s.get(crack+"/history?as_of=2026-03-04T11:00:00Z")), "20=20.5 22=22 23=19 24=18"; got != want {
		t.Errorf("what was computed later has changed: %q, want %q", got, want)
	}
}

func TestHistoryWhilePostgresIsAway(t *testing.T) {
	t.Parallel()
	s := told(t)
	db := s.database()
	s.admin(`alter database ` + pgx.Identifier{db}.Sanitize() + ` allow_connections false`)
	s.admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'tidemark-api'`, db)
	s.eventually("the loss to be noticed", func() bool {
		return s.ask(http.MethodGet, "/api/signals").Header.Get("X-Tidemark-Degraded") == "postgres"
	})
	for _, query := range []string{"", "?format=csv", "?limit=2&order=desc", "?format=ndjson&from=2026-02-22"} {
		if a := s.ask(http.MethodGet, crack+"/history"+query); a.StatusCode != http.StatusOK || a.Header.Get("X-Tidemark-Degraded") != "postgres" {
			t.Errorf("the latest history%s: %s", query, a.Status)
		}
	}
	for _, query := range []string{
		"?as_of=2026-03-03", "/history?as_of=2026-03-03", "/history?as_of=2026-03-03&format=csv", "/history?as_of=2026-03-03&limit=1",
		"/history?as_of=2026-03-03&format=ndjson", "/history?vintages=all", "/vintages",
	} {
		a := s.ask(http.MethodGet, crack+query)
		if a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" ||
			a.Header.Get("Content-Type") != "application/problem+json" || s.object(a)["code"] != "dependency_unavailable" {
			t.Errorf("%s: %s, Retry-After %q, %s", query, a.Status, a.Header.Get("Retry-After"), a.body)
		}
	}
	s.admin(`alter database ` + pgx.Identifier{db}.Sanitize() + ` allow_connections true`)
	s.eventually("the past to be answered again", func() bool {
		return s.ask(http.MethodGet, crack+"/history?as_of=2026-03-03").StatusCode == http.StatusOK
	})
}

func TestPagesLinkTheDownloads(t *testing.T) {
	t.Parallel()
	s := told(t)
	body := string(s.ask(http.MethodGet, "/signals/crack-spread-321").body)
	for _, want := range []string{
		`href="/api/signals/crack-spread-321/history?format=csv"`, `href="/api/signals/crack-spread-321/history"`,
		`href="/api/signals/crack-spread-321/history?format=ndjson"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
