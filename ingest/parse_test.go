package ingest_test

import (
	"errors"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/series"
)

func TestABatchThatBreaksItsPromisesIsRefused(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	good := ingest.Reading{Series: rates, ObservedAt: day, Value: 1}
	tests := []struct {
		fact  string
		batch ingest.Batch
		says  string // empty: accepted
	}{
		{"a good one", ingest.Batch{Readings: []ingest.Reading{good}, Covers: []ingest.Coverage{{Series: rates}}}, ""},
		{"a withheld value needs no number", ingest.Batch{Readings: []ingest.Reading{{Series: rates, ObservedAt: day, Value: math.NaN(), Marker: "W"}}}, ""},
		{"the same time in another zone is the same time", ingest.Batch{Readings: []ingest.Reading{
			good, {Series: rates, ObservedAt: day.In(time.FixedZone("", 3600)), Value: 2},
		}}, "two readings of test.rates at 2026-03-02T00:00:00Z"},
		{"an undeclared series", ingest.Batch{Readings: []ingest.Reading{{Series: "test.other", ObservedAt: day}}}, `"test.other", which the source does not declare`},
		{"a reading without a time", ingest.Batch{Readings: []ingest.Reading{{Series: rates}}}, "without a time"},
		{"not a number", ingest.Batch{Readings: []ingest.Reading{{Series: rates, ObservedAt: day, Value: math.NaN()}}}, "is NaN, expected a finite number"},
		{"infinity", ingest.Batch{Readings: []ingest.Reading{{Series: rates, ObservedAt: day, Value: math.Inf(-1)}}}, "is -Inf"},
		{"a claim about an undeclared series", ingest.Batch{Readings: []ingest.Reading{good}, Covers: []ingest.Coverage{{Series: "test.other"}}}, "a claim to cover"},
		{"a claim that ends before it begins", ingest.Batch{Readings: []ingest.Reading{good}, Covers: []ingest.Coverage{
			{Series: rates, Window: series.Window{From: day, To: day.Add(-1)}},
		}}, "to before that"},
		{"nothing", ingest.Batch{}, "no reading"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			src := feed()
			src.Limits.ContentTypes = nil
			src.Parse = func(ingest.Response) (ingest.Batch, error) { return tt.batch, nil }
			_, err := ingest.Parse(src, series.Fetch{URL: "https://upstream.example/", Status: 200}, nil)
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			failure(t, err, ingest.Layout)
			wantText(t, err, tt.says, "https://upstream.example/")
		})
	}
}

func TestAParserThatPanicsIsABodyThatCannotBeParsed(t *testing.T) {
	t.Parallel()
	src := feed()
	src.Limits.ContentTypes = nil
	src.Parse = func(r ingest.Response) (ingest.Batch, error) {
		_ = r.Body[10] // as libraries for binary formats do
		return ingest.Batch{}, nil
	}
	_, err := ingest.Parse(src, series.Fetch{URL: "https://upstream.example/", Status: 200, SHA256: "abc"}, []byte("short"))
	failure(t, err, ingest.Layout)
	wantText(t, err, "index out of range", "abc")
}

func TestContentTypes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact, sent string
		allowed    []string
		ok         bool
	}{
		{"any", "application/pdf", nil, true},
		{"one of several", "text/csv", []string{"application/csv", "text/csv"}, true},
		{"parameters do not matter", "Text/CSV; charset=windows-1252", []string{"text/csv"}, true},
		{"broken parameters neither", "text/csv; charset", []string{"text/csv"}, true},
		{"another", "text/html", []string{"text/csv"}, false},
		{"none", "", []string{"text/csv"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			src := feed()
			src.Limits.ContentTypes = tt.allowed
			f := series.Fetch{URL: "https://upstream.example/", Status: 200, Header: map[string]string{"Content-Type": tt.sent}}
			_, err := ingest.Parse(src, f, []byte(`{"rows":[{"day":"2026-03-02","value":1}]}`))
			if tt.ok && err != nil {
				t.Error(err)
			}
			if !tt.ok {
				failure(t, err, ingest.WrongType)
			}
		})
	}
}

func TestParsingTheArchiveAgainYieldsTheSameBatch(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		write(w, page{Rows: []cell{{"2026-03-02", 1}, {"2026-03-03", 2}}, Covers: true})
	})
	r := newRig(s.Client().Transport)
	src := feed(s.URL + "/?api_key=s3cr3t-k3y")
	got, err := r.collect(t, src)
	if err != nil {
		t.Fatal(err)
	}
	f := r.ledger.rows[0].Fetch
	batch, err := ingest.Parse(src, f, r.archive.held[f.SHA256])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got[0].Batch, batch); diff != "" {
		t.Errorf("batch (-when it came +from the archive):\n%s", diff)
	}
}

func TestAFailedFetchIsNotParsedAgain(t *testing.T) {
	t.Parallel()
	_, err := ingest.Parse(feed(), series.Fetch{URL: "https://upstream.example/", Status: 503}, []byte("busy"))
	failure(t, err, ingest.Refused)
	wantText(t, err, "status 503")
}

func TestAPageThatOnlyEndsAListIsKnownByItsError(t *testing.T) {
	t.Parallel()
	src := feed()
	src.Limits.ContentTypes = nil
	_, err := ingest.Parse(src, series.Fetch{URL: "https://upstream.example/", Status: 200}, []byte(`{"rows":[]}`))
	if !errors.Is(err, ingest.ErrNoReadings) {
		t.Errorf("got %v, want ErrNoReadings", err)
	}
}
