package ingest_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
)

// A repeated body is parsed again only if its parser might read something else. It is not parsed again with the same bytes, whether they
// are sent or confirmed; with the next epoch it is parsed once more.
func TestABodyThatComesAgainIsNotParsedAgain(t *testing.T) {
	t.Parallel()
	for _, confirms := range []bool{true, false} {
		value := 1.5
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if confirms && r.Header.Get("If-None-Match") == `"v1"` && value == 1.5 {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			if value == 1.5 {
				w.Header().Set("ETag", `"v1"`)
			}
			write(w, one("2026-03-02", value))
		})
		src := feed(s.URL)
		parse, parsed := src.Parse, 0
		src.Parse = func(r ingest.Response) (ingest.Batch, error) {
			parsed++
			return parse(r)
		}
		src.Epoch = func(at time.Time) string { return at.Format("2006-01") }
		r := newRig(s.Client().Transport)
		again := func(what string, wantParsed int) {
			t.Helper()
			got, err := r.collect(t, src)
			if err != nil {
				t.Fatal(err)
			}
			if parsed != wantParsed {
				t.Errorf("%s: parsed %d times, want %d", what, parsed, wantParsed)
			}
			if d := cmp.Diff(value, got[0].Batch.Readings[0].Value); d != "" {
				t.Errorf("%s: (-want +got) %s", what, d)
			}
			got[0].Batch.Readings[0].Value = -1 // a caller may change its batch
			r.clock.at = r.clock.at.Add(time.Hour)
		}
		again("for the first time", 1)
		again("again", 1)
		again("and again", 1)
		r.clock.at = r.clock.at.AddDate(0, 1, 0)
		again("in the next epoch", 2)
		value = 2.5
		again("with another body", 3)
		src.Epoch = nil
		again("of a source without an epoch", 4)
		again("of a source without an epoch again", 5)
	}
}
