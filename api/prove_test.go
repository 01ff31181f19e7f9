package api_test

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/api"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

func TestTheBytesThatWereKnownAtAnInstantAreProven(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	day := time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC)
	stored := func(at time.Time, body string, values map[series.ID]float64) {
		t.Helper()
		id, err := s.worker.RecordFetch(t.Context(), series.Fetch{
			Source: "a-source", URL: "https://upstream.example/x", Status: http.StatusOK, FetchedAt: at,
			SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte(body))), Bytes: int64(len(body)),
		}, 0)
		if err != nil {
			t.Fatal(err)
		}
		load := postgres.Load{FetchID: id, FetchedAt: at, Published: func(_ series.ID, observedAt time.Time) time.Time { return observedAt.Add(time.Hour) }}
		for id, v := range values {
			load.Readings = append(load.Readings, series.Reading{Series: id, ObservedAt: day, Value: v})
		}
		if _, err := s.worker.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{load}, nil); err != nil {
			t.Fatal(err)
		}
	}
	first, second := day.Add(30*time.Hour), day.Add(60*time.Hour)
	stored(first, "first", map[series.ID]float64{"x.a": 1, "x.b": 2})
	stored(second, "second", map[series.ID]float64{"x.a": 1.5, "x.b": 2}) // it contains nothing new about b
	s.serve(api.Options{View: s.view, TransparencyLog: s.open(postgres.RoleAPI)})
	const path = "/api/vintages/prove?source=a-source&date=2026-02-20"
	body := func(query string) (hashes []string, urls []any) {
		t.Helper()
		for _, row := range s.get(path + query)["data"].([]any) {
			b := row.(map[string]any)
			hashes, urls = append(hashes, fmt.Sprintf("%.8s %v", b["sha256"], b["series"])), append(urls, b["proof_url"])
		}
		return hashes, urls
	}
	short := func(text, of string) string {
		return fmt.Sprintf("%.8s %s", fmt.Sprintf("%x", sha256.Sum256([]byte(text))), of)
	}
	for query, want := range map[string]string{
		"&as_of=" + first.Format(time.RFC3339):                    short("first", "[x.a x.b]"),
		"&as_of=" + second.Add(-time.Second).Format(time.RFC3339): short("first", "[x.a x.b]"),
		"&as_of=" + second.Format(time.RFC3339):                   short("second", "[x.a]") + "|" + short("first", "[x.b]"),
		"":                                                        short("second", "[x.a]") + "|" + short("first", "[x.b]"),
	} {
		got, urls := body(query)
		if strings.Join(got, "|") != want || urls[0] != nil {
			t.Errorf("%s: %q %v, want %q without a proof: no log has begun", query, got, urls, want)
		}
	}
	for query, status := range map[string]int{
		path + "&as_of=" + first.Add(-time.Second).Format(time.RFC3339): http.StatusNotFound, // its vintage is assumed to be older
		"/api/vintages/prove?source=other&date=2026-02-20":              http.StatusNotFound,
		"/api/vintages/prove?source=a-source&date=2026-02-21":           http.StatusNotFound,
		"/api/vintages/prove?date=2026-02-20":                           http.StatusBadRequest,
		"/api/vintages/prove?source=a-source":                           http.StatusBadRequest,
		"/api/vintages/prove?source=a-source&date=2026-02-30":           http.StatusBadRequest,
		path + "&as_of=2099-01-01":                                      http.StatusBadRequest,
		path + "&at=2026-02-20":                                         http.StatusBadRequest,
	} {
		if got := s.ask(http.MethodGet, query); got.StatusCode != status {
			t.Errorf("%s: %s, want %d", query, got.Status, status)
		}
	}

	keys, err := tlog.NewLogKey(rand.Reader, "test.example/log/sources")
	if err != nil {
		t.Fatal(err)
	}
	signer := &markedSigner{}
	if signer.Signer, err = tlog.NewSigner(keys.Private); err != nil {
		t.Fatal(err)
	}
	start := postgres.LogStart{Log: postgres.LogSources, Origin: signer.Origin(), VKey: signer.VKey(), Environment: "demo"}
	if err := s.worker.BeginLog(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if _, err := s.worker.NumberLeaves(t.Context(), postgres.LogSources); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.worker.IntegrateLeaves(t.Context(), postgres.LogSources, signer); err != nil {
		t.Fatal(err)
	}
	got, urls := body("")
	for i, url := range urls {
		text, ok := url.(string)
		if !ok {
			t.Fatalf("%s has no proof", got[i])
		}
		index, err := strconv.Atoi(strings.TrimSuffix(text[strings.LastIndexByte(text, '/')+1:], ".tlog-proof"))
		if err != nil {
			t.Fatal(err)
		}
		proof, err := tlog.ParseProof(s.ask(http.MethodGet, fmt.Sprintf("/log/sources/proof/%d.tlog-proof", index)).body)
		if err != nil {
			t.Fatal(err)
		}
		verifier, err := tlog.NewVerifier(keys.Public)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := tlog.Open(proof.Note, verifier)
		if err != nil {
			t.Fatal(err)
		}
		if err := proof.Check(opened.Checkpoint, tlog.LeafHash(proof.Extra)); err != nil {
			t.Error(err)
		}
		leaf, err := tlog.ParseLeaf(proof.Extra)
		if err != nil || !strings.HasPrefix(got[i], leaf.Get("sha256")[:8]) || leaf.Get("source") != "a-source" {
			t.Errorf("%s is proven by %q (%v)", got[i], proof.Extra, err)
		}
	}
	logged, err := s.worker.LoggedBodies(t.Context(), []string{
		fmt.Sprintf("%x", sha256.Sum256([]byte("first"))), fmt.Sprintf("%x", sha256.Sum256([]byte("second"))), strings.Repeat("ab", 32),
	})
	if err != nil || len(logged) != 2 {
		t.Fatalf("two of three bodies have leaves, and these are found: %v (%v)", logged, err)
	}
	for sum, index := range logged {
		leaf := s.ask(http.MethodGet, fmt.Sprintf("/log/sources/proof/%d.tlog-proof", index)).body
		if proof, err := tlog.ParseProof(leaf); err != nil || !strings.Contains(string(proof.Extra), sum) {
			t.Errorf("the leaf %d is not that of %s (%v)", index, sum, err)
		}
	}
}
