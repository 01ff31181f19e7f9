package ingest_test

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

func TestAnAnswerIsArchivedRecordedAndParsed(t *testing.T) {
	t.Parallel()
	body := `{"rows":[{"day":"2026-03-02","value":4.25},{"day":"2026-03-03","value":-36.98}]}`
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got, want := r.Header.Get("User-Agent"), ingest.UserAgent("https://tidemark.example/contact"); got != want {
			t.Errorf("User-Agent %q, want %q", got, want)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", "Wed, 04 Mar 2026 15:30:00 GMT")
		w.Header().Set("Set-Cookie", "tracker=1")
		_, _ = w.Write([]byte(body))
	})
	r := newRig(s.Client().Transport)
	got, err := r.collect(t, feed(s.URL+"/rates?from=2026"))
	if err != nil {
		t.Fatal(err)
	}

	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	want := []ingest.Fetched{{
		Fetch: series.Fetch{
			ID: 1, Source: "feed", URL: s.URL + "/rates?from=2026", Status: 200,
			Header:    map[string]string{"Content-Type": "application/json", "Date": "Wed, 04 Mar 2026 15:30:00 GMT"},
			FetchedAt: time.Date(2026, 3, 4, 15, 30, 0, 123456000, time.UTC), // to the microsecond, as the database keeps it
			SHA256:    digest([]byte(body)), Bytes: int64(len(body)),
		},
		Batch: ingest.Batch{Readings: []ingest.Reading{
			{Series: rates, ObservedAt: day(2), Value: 4.25}, {Series: rates, ObservedAt: day(3), Value: -36.98},
		}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("collected (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]row{{want[0].Fetch, 7}}, r.ledger.rows); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if string(r.archive.held[digest([]byte(body))]) != body {
		t.Error("the archive does not hold the bytes of the answer")
	}
}

func TestOneFailedRequestDoesNotStopTheOthers(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/broken":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`<html>`))
		default:
			write(w, one("2026-03-02", 1))
		}
	})
	r := newRig(s.Client().Transport)
	got, err := r.collect(t, feed(s.URL+"/a", s.URL+"/gone", s.URL+"/broken", s.URL+"/b"))
	if len(got) != 2 || got[0].Fetch.URL != s.URL+"/a" || got[1].Fetch.URL != s.URL+"/b" {
		t.Errorf("got %v, want the answers of /a and /b in this order", got)
	}
	if !errors.Is(err, ingest.Refused) || !errors.Is(err, ingest.Layout) {
		t.Errorf("error %v, want both a refusal and a changed layout", err)
	}
	wantText(t, err, s.URL+"/gone", "status 404, expected 200", s.URL+"/broken", "expected a JSON object")
	if diff := cmp.Diff([]int{200, 404, 200, 200}, r.ledger.statuses()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
}

func TestPagesAreFollowedToTheEnd(t *testing.T) {
	t.Parallel()
	var base string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("page"))
		p := one(fmt.Sprintf("2026-03-%02d", n+1), float64(n))
		if n < 4 {
			p.Next = fmt.Sprintf("%s/?page=%d", base, n+1)
		}
		write(w, p)
	})
	base = s.URL
	r := newRig(s.Client().Transport)
	got, err := r.collect(t, feed(s.URL+"/?page=0"))
	if err != nil {
		t.Fatal(err)
	}
	var values []float64
	for _, f := range got {
		values = append(values, f.Batch.Readings[0].Value)
	}
	if diff := cmp.Diff([]float64{0, 1, 2, 3, 4}, values); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	// Each page is a separate request to the host, a second after the previous one.
	if diff := cmp.Diff([]time.Duration{time.Second, time.Second, time.Second, time.Second}, r.clock.waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestABrokenChainYieldsNoneOfItsPages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact  string
		third http.HandlerFunc
		kind  ingest.Kind
		says  string
	}{
		{"a page that is refused", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, ingest.Refused, "403"},
		{"a page that stays away", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, ingest.Temporary, "502"},
		{"a page for humans", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte("<html>maintenance</html>"))
		}, ingest.WrongType, "content type text/html, expected application/json"},
		{"a page that comes twice", func(w http.ResponseWriter, _ *http.Request) { write(w, one("2026-03-01", 1)) }, ingest.Layout, "an earlier page"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			var base string
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/1":
					write(w, page{Rows: []cell{{"2026-03-01", 1}}, Next: base + "/2"})
				case "/2":
					write(w, page{Rows: []cell{{"2026-03-02", 2}}, Next: base + "/3"})
				case "/3":
					tt.third(w, r)
				default:
					write(w, one("2026-02-01", 9))
				}
			})
			base = s.URL
			got, err := newRig(s.Client().Transport).collect(t, feed(s.URL+"/1", s.URL+"/other"))
			if len(got) != 1 || got[0].Fetch.URL != s.URL+"/other" {
				t.Errorf("got %v, want only the other request's answer", got)
			}
			failure(t, err, tt.kind)
			wantText(t, err, s.URL+"/3", tt.says)
		})
	}
}

func TestPagesWithoutEndAreBounded(t *testing.T) {
	t.Parallel()
	t.Run("a circle is noticed at once", func(t *testing.T) {
		t.Parallel()
		var base string
		asked := 0
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked++
			write(w, page{Rows: []cell{{fmt.Sprintf("2026-03-%02d", asked), 1}}, Next: base + map[string]string{"/a": "/b", "/b": "/a"}[r.URL.Path]})
		})
		base = s.URL
		got, err := newRig(s.Client().Transport).collect(t, feed(s.URL+"/a"))
		failure(t, err, ingest.Layout)
		wantText(t, err, "in a circle", s.URL+"/a")
		if len(got) != 0 || asked != 2 {
			t.Errorf("got %d answers after %d requests, want none after 2", len(got), asked)
		}
	})
	t.Run("ever new pages end at the limit", func(t *testing.T) {
		t.Parallel()
		var base string
		asked := 0
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			asked++
			write(w, page{Rows: []cell{{fmt.Sprintf("2026-03-%02d", asked), 1}}, Next: fmt.Sprintf("%s/%d", base, asked)})
		})
		base = s.URL
		src := feed(s.URL + "/")
		src.Limits.Pages = 4
		got, err := newRig(s.Client().Transport).collect(t, src)
		failure(t, err, ingest.Layout)
		wantText(t, err, "further pages after 5")
		if len(got) != 0 || asked != 5 {
			t.Errorf("got %d answers after %d requests, want none after the first page and 4 more", len(got), asked)
		}
	})
}

func TestAnEmptyAnswer(t *testing.T) {
	t.Parallel()
	var base string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/landing": // names the page to read, as a publisher's front page does
			write(w, page{Next: base + "/full"})
		case "/full": // full to the last row, so that the end shows only on the next page
			write(w, page{Rows: []cell{{"2026-03-02", 1}}, Next: base + "/end"})
		case "/withdraws":
			write(w, page{Covers: true})
		default:
			write(w, page{})
		}
	})
	base = s.URL
	to := time.Date(1950, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		fact   string
		path   string
		window series.Window
		pages  int
		kind   ingest.Kind
	}{
		{"alone is an error", "/end", series.Window{}, 0, ingest.Layout},
		{"may lead to a page with readings, and end a list", "/landing", series.Window{}, 3, ""},
		{"is believed for a window with an end", "/end", series.Window{To: to}, 1, ""},
		{"never withdraws a whole series", "/withdraws", series.Window{To: to}, 0, ingest.Layout},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			got, err := newRig(s.Client().Transport).Collect(t.Context(), feed(s.URL+tt.path), tt.window, 1)
			if tt.kind == "" && err != nil {
				t.Fatal(err)
			}
			if tt.kind != "" {
				failure(t, err, tt.kind)
			}
			if len(got) != tt.pages {
				t.Errorf("got %d pages, want %d", len(got), tt.pages)
			}
		})
	}
}

func TestASourceThatCannotAskIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact string
		url  string
		says string
	}{
		{"a local file", "file:///etc/passwd", `scheme "file"`},
		{"no host", "https:///path", "without a host"},
		{"credentials in the URL", "https://user:hunter2@upstream.example/", "credentials"},
		{"no URL", "https://upstream.example/%zz?api_key=hunter2hunter2", "does not parse"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			r := newRig(nil)
			_, err := r.collect(t, feed(tt.url))
			failure(t, err, ingest.Refused)
			wantText(t, err, tt.says)
			if strings.Contains(err.Error(), "hunter2hunter2") {
				t.Errorf("error %q shows the key", err)
			}
		})
	}
	t.Run("a source without requests", func(t *testing.T) {
		t.Parallel()
		_, err := newRig(nil).collect(t, feed())
		failure(t, err, ingest.Refused)
		wantText(t, err, "feed", "asks nothing")
	})
	t.Run("a source whose requests fail", func(t *testing.T) {
		t.Parallel()
		src := feed()
		src.Request = func(series.Window) ([]ingest.Request, error) { return nil, errors.New("the window is too long") }
		_, err := newRig(nil).collect(t, src)
		failure(t, err, ingest.Refused)
		wantText(t, err, "the window is too long")
	})
}

func TestALedgerThatFailsIsNotTheUpstreamsFault(t *testing.T) {
	t.Parallel()
	asked := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked++; write(w, one("2026-03-02", 1)) })
	r := newRig(s.Client().Transport)
	r.ledger.fail = errors.New("connection to the database lost")
	got, err := r.collect(t, feed(s.URL))
	if len(got) != 0 || asked != 1 {
		t.Errorf("got %d answers after %d requests, want none after one: what is not recorded is not used", len(got), asked)
	}
	if e, ok := errors.AsType[*ingest.Error](err); ok {
		t.Errorf("got %v, want no upstream's error", e)
	}
	if again, _ := ingest.Retryable(err); !again {
		t.Errorf("%v is not worth another attempt, want it to be", err)
	}
	if r.archive.puts != 1 {
		t.Errorf("the archive was given %d bodies, want the one: it comes before the ledger", r.archive.puts)
	}
}
