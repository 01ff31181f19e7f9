package bls

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		return Source().Parse(c.Response)
	}, ingesttest.Describe)
}

// The recorded answer is one of the keyed version about a price: with annual means, a catalogue and calculated changes. Its months are
// read out a second time here, by hand.
func TestRecordedAnswer(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("../../../shared/upstream/bls/timeseries_v2_APU0000701111_2022.json")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded answer at ../shared/upstream/bls, beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseAnswer([]figure{{id: "APU0000701111"}}, body)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range b.Readings {
		got[r.ObservedAt.Format("2006-01")] = r.Value
	}
	var raw map[string]any
	if err := json.Unmarshal(body, &raw); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, row := range raw["Results"].(map[string]any)["series"].([]any)[0].(map[string]any)["data"].([]any) {
		d := row.(map[string]any)
		if d["period"] != "M13" {
			want[d["year"].(string)+"-"+d["period"].(string)[1:]], _ = strconv.ParseFloat(d["value"].(string), 64)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 12 {
		t.Errorf("%d months (-stated +read):\n%s", len(got), diff)
	}
}

func upstream(at time.Time) *ingesttest.Upstream {
	return ingesttest.NewUpstream(at, func(mux *http.ServeMux, now func() time.Time) { Sandbox(mux, synth.World{Seed: 1, Now: now}) })
}

// The first question is about the last three years; the answer leads to the ten before. A later run asks once, about two years.
func TestSandboxTellsThirteenYearsAndThenTwo(t *testing.T) {
	t.Parallel()
	u := upstream(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	pages := 0
	all := u.Collect(t, Source(), series.Window{}, func(ingest.Request, ingest.Batch) { pages++ })
	if pages != 2 {
		t.Errorf("%d questions, want 2", pages)
	}
	for _, f := range figures {
		list := all[f.series()]
		first := slices.MinFunc(list, func(x, y series.Reading) int { return x.ObservedAt.Compare(y.ObservedAt) })
		newest := slices.MaxFunc(list, func(x, y series.Reading) int { return x.ObservedAt.Compare(y.ObservedAt) })
		if first.ObservedAt.Year() != 2014 || len(list) < 150 || u.Now.Sub(newest.ObservedAt) > 100*24*time.Hour {
			t.Errorf("%s: %d months, from %s to %s", f.id, len(list), first.ObservedAt, newest.ObservedAt)
		}
		for _, r := range list {
			if r.Value < f.min || r.Value > f.max || math.IsNaN(r.Value) {
				t.Errorf("%+v is not within %v to %v", r, f.min, f.max)
			}
			if f.published(r.ObservedAt).AddDate(0, 0, -3).After(u.Now) {
				t.Errorf("%+v is told before its release", r)
			}
		}
	}
	pages = 0
	later := u.Collect(t, Source(), Source().Window(u.Now, u.Now), func(ingest.Request, ingest.Batch) { pages++ })
	if n := len(later[figures[0].series()]); pages != 1 || n < 20 || n > 24 {
		t.Errorf("%d questions, %d months", pages, n)
	}
}

// A window of many years is requested in pieces of at most ten years, the API's limit.
func TestNoQuestionIsAboutMoreThanTenYears(t *testing.T) {
	t.Parallel()
	requests, err := Source().Request(series.Window{From: firstDay(2005), To: firstDay(2026)})
	if err != nil {
		t.Fatal(err)
	}
	var got []fetchRequest
	for _, r := range requests {
		var q fetchRequest
		if err := json.Unmarshal(r.Body, &q); err != nil {
			t.Fatal(err)
		}
		q.Series = nil
		got = append(got, q)
	}
	want := []fetchRequest{{First: "2005", Last: "2014"}, {First: "2015", Last: "2024"}, {First: "2025", Last: "2026"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Dates of releases of 2026: no figure may be taken for known before it was.
func TestAssumedReleasesAreNotBeforeTheTrueOnes(t *testing.T) {
	t.Parallel()
	day := func(s string) time.Time {
		d, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		id, month string
		released  time.Time
	}{
		{"CES0500000003", "2026-03-01", ingesttest.NewYork(t, "2026-04-03 08:30:00")},
		{"CES0500000003", "2026-04-01", ingesttest.NewYork(t, "2026-05-08 08:30:00")},
		{"CUSR0000SA0L1E", "2026-04-01", ingesttest.NewYork(t, "2026-05-12 08:30:00")},
	} {
		at := Source().Published(series.ID("bls."+c.id), day(c.month))
		if at.Before(c.released) || at.Sub(c.released) > 9*24*time.Hour {
			t.Errorf("%s of %s: taken to be known at %s, came at %s", c.id, c.month, at, c.released)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, dir := range ingesttest.Dirs(f) {
		f.Add(ingesttest.Load(f, dir).Response.Body)
	}
	r := ingesttest.Load(f, "testdata/answer").Response
	f.Fuzz(func(t *testing.T, body []byte) {
		r := r
		r.Body = body
		batch, err := Source().Parse(r)
		if err != nil {
			return
		}
		if len(batch.Covers) != len(figures) || batch.Next == nil {
			t.Errorf("%d figures, next %+v", len(batch.Covers), batch.Next)
		}
		for _, v := range batch.Readings {
			if math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.ObservedAt.Day() != 1 {
				t.Errorf("%+v", v)
			}
		}
	})
}
