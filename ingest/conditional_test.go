package ingest_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

func TestAnUnchangedAnswerIsConfirmed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact       string
		name, sent string // the validator of the answer
		condition  string // the header that asks for it
	}{
		{"by its ETag", "ETag", `"v1"`, "If-None-Match"},
		{"by its date", "Last-Modified", "Mon, 02 Mar 2026 13:49:00 GMT", "If-Modified-Since"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get(tt.condition) == tt.sent {
					w.Header().Set("Content-Type", "text/plain") // which is not the body's type
					w.WriteHeader(http.StatusNotModified)        // without repeating the validator, as some servers do
					return
				}
				w.Header().Set(tt.name, tt.sent)
				write(w, one("2026-03-02", 1.5))
			})
			r := newRig(s.Client().Transport)
			var got [][]ingest.Fetched
			for range 3 {
				fetched, err := r.collect(t, feed(s.URL))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fetched)
				r.clock.at = r.clock.at.Add(time.Hour)
			}
			if diff := cmp.Diff([]int{200, 304, 304}, r.ledger.statuses()); diff != "" {
				t.Errorf("ledger (-want +got):\n%s", diff)
			}
			for i := 1; i < 3; i++ {
				if diff := cmp.Diff(got[0][0].Batch, got[i][0].Batch); diff != "" {
					t.Errorf("a confirmed answer says what it said (-want +got):\n%s", diff)
				}
				f, first := got[i][0].Fetch, got[0][0].Fetch
				if !f.NotModified || f.SHA256 != first.SHA256 || f.Bytes != first.Bytes || f.ID == first.ID {
					t.Errorf("fetch %+v, want one of its own that confirms %s", f, first.SHA256)
				}
				if !f.FetchedAt.After(first.FetchedAt) {
					t.Errorf("confirmed at %s, want the time of the confirmation", f.FetchedAt)
				}
			}
			if r.archive.puts != 1 {
				t.Errorf("the archive was given %d bodies, want 1", r.archive.puts)
			}
		})
	}
}

func TestNoConditionIsSentForABodyThatTheArchiveLost(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			t.Error("a condition was sent")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		write(w, one("2026-03-02", 1))
	})
	r := newRig(s.Client().Transport)
	for range 2 {
		if _, err := r.collect(t, feed(s.URL)); err != nil {
			t.Fatal(err)
		}
		clear(r.archive.held)
	}
}

// A page under maintenance that came with status 200 is newer than the page that it stood in for. Asked whether that changed
// since, the upstream would say no permanently.
func TestAConfirmedBodyThatCannotBeParsedIsAskedForAgain(t *testing.T) {
	t.Parallel()
	maintenance := true
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if maintenance {
			w.Header().Set("Last-Modified", "Wed, 04 Mar 2026 15:00:00 GMT")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`"We will be back soon"`))
			return
		}
		if r.Header.Get("If-Modified-Since") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Last-Modified", "Wed, 04 Mar 2026 10:30:00 GMT")
		write(w, one("2026-03-02", 1))
	})
	r := newRig(s.Client().Transport)
	_, err := r.collect(t, feed(s.URL))
	failure(t, err, ingest.Layout)
	maintenance = false
	got, err := r.collect(t, feed(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Fetch.Status != http.StatusOK {
		t.Errorf("got %v, want the true page", got)
	}
	if diff := cmp.Diff([]int{200, 304, 200}, r.ledger.statuses()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestAConfirmedBodyStaysSynthetic(t *testing.T) {
	t.Parallel()
	r := newRig(transport(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return w.Result(), nil
		}
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set(ingest.SyntheticHeader, "true")
		write(w, one("2026-03-02", 1))
		return w.Result(), nil
	}))
	for range 2 {
		got, err := r.collect(t, feed("https://upstream.example/"))
		if err != nil {
			t.Fatal(err)
		}
		if !got[0].Fetch.Synthetic {
			t.Errorf("fetch with status %d is not synthetic, want it to be", got[0].Fetch.Status)
		}
	}
}

func TestASourcesOwnConditionIsLeftAlone(t *testing.T) {
	t.Parallel()
	var sent []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Range")+r.Header.Get("If-None-Match"))
		w.Header().Set("ETag", `"v1"`)
		write(w, one("2026-03-02", 1))
	})
	src := feed()
	src.Request = func(series.Window) ([]ingest.Request, error) {
		return []ingest.Request{{URL: s.URL, Header: http.Header{"Range": {"bytes=0-"}}}}, nil
	}
	r := newRig(s.Client().Transport)
	for range 2 {
		if _, err := r.collect(t, src); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"bytes=0-", "bytes=0-"}, sent); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
