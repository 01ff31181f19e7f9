package ingest_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// urls lists where the answers came from.
func urls(fetched []ingest.Fetched) []string {
	var list []string
	for _, f := range fetched {
		list = append(list, f.Fetch.URL)
	}
	return list
}

// months serves /1, /2 and so on. Each page leads to the next number; other pages are answered with the status. The source allows for a gap
// of one.
func months(t *testing.T, status int, there ...string) (base string, src ingest.Source, r *fixture) {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, path := range there {
			if r.URL.Path == path {
				write(w, one("2026-03-0"+path[1:], 1))
				return
			}
		}
		w.WriteHeader(status)
	})
	src = feed(s.URL + "/1")
	parse := src.Parse
	src.Parse = func(r ingest.Response) (ingest.Batch, error) {
		b, err := parse(r)
		if n := r.Request.URL[len(r.Request.URL)-1]; err == nil && n < '9' {
			gone := []int{http.StatusForbidden, http.StatusNotFound}
			after := &ingest.Request{URL: s.URL + "/" + string(n+2), Absent: gone}
			b.Next = &ingest.Request{URL: s.URL + "/" + string(n+1), Absent: gone, Else: after}
		}
		return b, err
	}
	return s.URL, src, newRig(s.Client().Transport)
}

func TestAChainGoesRoundWhatIsAbsentAndEndsThere(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		base, src, r := months(t, status, "/1", "/2", "/4", "/5", "/8")
		got, err := r.collect(t, src)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{base + "/1", base + "/2", base + "/4", base + "/5"}, urls(got)); diff != "" {
			t.Errorf("status %d: answers (-want +got):\n%s", status, diff)
		}
		if diff := cmp.Diff([]int{200, 200, status, 200, 200, status, status}, r.ledger.statuses()); diff != "" {
			t.Errorf("status %d: what is absent is asked once each and recorded (-want +got):\n%s", status, diff)
		}
	}
}

func TestOtherStatusesStillBreakAChain(t *testing.T) {
	t.Parallel()
	_, src, r := months(t, http.StatusGone, "/1", "/2")
	got, err := r.collect(t, src)
	failure(t, err, ingest.Refused)
	if len(got) != 0 {
		t.Errorf("a broken chain yields %v", urls(got))
	}
}

func TestAChainOfNothingIsBelievedForABoundedWindowOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	src := feed()
	src.Request = func(series.Window) ([]ingest.Request, error) {
		return []ingest.Request{{URL: s.URL + "/none", Absent: []int{http.StatusBadRequest}}}, nil
	}
	r := newRig(s.Client().Transport)
	_, err := r.collect(t, src)
	failure(t, err, ingest.Layout)
	wantText(t, err, ingest.ErrNoReadings.Error())

	got, err := r.Collect(t.Context(), src, series.Window{To: r.clock.Now()}, 7)
	if err != nil || len(got) != 0 {
		t.Errorf("bounded window: %v, %v, want nothing and no error", urls(got), err)
	}
}
