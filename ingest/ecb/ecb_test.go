package ecb_test

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ecb"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		return ecb.Source().Parse(c.Response)
	}, ingesttest.Describe)
}

// The deposit facility rate took effect on these days; the decisions are from the ECB's own list.
func TestPastDecisionsFollowFromTheRatesInForce(t *testing.T) {
	t.Parallel()
	inForce := []struct {
		since string
		rate  string
	}{
		{"2022-01-01", "-0.5"},
		{"2022-07-27", "0"},
		{"2022-09-14", "0.75"},
		{"2022-11-02", "1.5"},
		{"2022-12-21", "2"},
		{"2023-02-08", "2.5"},
		{"2023-03-22", "3"},
		{"2023-05-10", "3.25"},
		{"2023-06-21", "3.5"},
		{"2023-08-02", "3.75"},
		{"2023-09-20", "4"},
		{"2024-06-12", "3.75"},
	}
	var table strings.Builder
	table.WriteString("KEY,TIME_PERIOD,OBS_VALUE\n")
	for day := time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2025 && day.Before(time.Date(2024, 6, 20, 0, 0, 0, 0, time.UTC)); day = day.AddDate(0, 0, 1) {
		date := day.Format(time.DateOnly)
		i := slices.IndexFunc(inForce, func(r struct{ since, rate string }) bool { return r.since > date })
		if i < 0 {
			i = len(inForce)
		}
		table.WriteString("FM.D.U2.EUR.4F.KR.DFR.LEV," + date + "," + inForce[i-1].rate + "\n")
	}
	requests, err := ecb.Source().Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	batch, err := ecb.Source().Parse(ingest.Response{Request: requests[0], Body: []byte(table.String())})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, r := range batch.Readings {
		if r.Series == "ecb.DECISION" {
			got[r.ObservedAt.Format(time.DateOnly)] = r.Value
		}
	}
	want := map[string]float64{
		"2022-02-03": -0.5, "2022-03-10": -0.5, "2022-04-14": -0.5, "2022-06-09": -0.5, "2022-07-21": 0, "2022-09-08": 0.75, "2022-10-27": 1.5,
		"2022-12-15": 2, "2023-02-02": 2.5, "2023-03-16": 3, "2023-05-04": 3.25, "2023-06-15": 3.5, "2023-07-27": 3.75, "2023-09-14": 4,
		"2023-10-26": 4, "2023-12-14": 4, "2024-01-25": 4, "2024-03-07": 4, "2024-04-11": 4, "2024-06-06": 3.75,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-decided +read):\n%s", diff)
	}
	if batch.Next == nil || batch.Next.URL != "https://www.ecb.europa.eu/rss/press.html?after=20240606" {
		t.Errorf("goes on with %+v", batch.Next)
	}
}

func sandbox(t *testing.T, at string) *ingesttest.Upstream {
	t.Helper()
	now, err := time.Parse(time.RFC3339, at)
	if err != nil {
		t.Fatal(err)
	}
	return ingesttest.NewUpstream(now, func(mux *http.ServeMux, now func() time.Time) {
		ecb.Sandbox(mux, synth.World{Seed: 1, Now: now})
	})
}

func TestSandboxDecides(t *testing.T) {
	t.Parallel()
	u := sandbox(t, "2026-12-11T14:00:00Z")
	all := u.Collect(t, ecb.Source(), series.Window{})
	rates, decisions := all["ecb.DFR"], all["ecb.DECISION"]
	// The list ends on October 29; the next meeting of the sandbox, six weeks later, is told by the press release alone.
	if last := decisions[len(decisions)-1].ObservedAt; !last.Equal(time.Date(2026, 12, 10, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the newest decision is of %s", last)
	}
	if last := rates[len(rates)-1].ObservedAt; !last.Equal(time.Date(2026, 12, 11, 0, 0, 0, 0, time.UTC)) || len(rates) < 2500 {
		t.Errorf("%d rates, the newest of %s", len(rates), last)
	}
	moves := 0
	for i, d := range decisions[1:] {
		step := math.Abs(d.Value - decisions[i].Value)
		if step != 0 && step != 0.25 {
			t.Errorf("%s: a step of %v", d.ObservedAt, step)
		}
		if step > 0 {
			moves++
		}
	}
	if len(decisions) != 56 || moves < 5 || moves > len(decisions)/2 {
		t.Errorf("%d moves in %d decisions", moves, len(decisions))
	}
	later := u.Collect(t, ecb.Source(), ecb.Source().Window(u.Now, u.Now))
	if diff := cmp.Diff(decisions[len(decisions)-2:], later["ecb.DECISION"]); diff != "" {
		t.Errorf("two months (-whole +window):\n%s", diff)
	}
}

// On the afternoon of a decision the rate in force is still the old one, and the release tells the new one.
func TestADecisionIsKnownOnItsDay(t *testing.T) {
	t.Parallel()
	before := sandbox(t, "2026-09-10T12:10:00Z").Collect(t, ecb.Source(), series.Window{From: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)})
	after := sandbox(t, "2026-09-10T12:20:00Z").Collect(t, ecb.Source(), series.Window{From: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)})
	if len(before["ecb.DECISION"]) != 0 || len(after["ecb.DECISION"]) != 1 {
		t.Errorf("before %v, after %v", before["ecb.DECISION"], after["ecb.DECISION"])
	}
	src := ecb.Source()
	if at := src.Published("ecb.DECISION", time.Date(2026, 9, 10, 0, 0, 0, 0, time.UTC)); !at.Equal(time.Date(2026, 9, 10, 12, 15, 0, 0, time.UTC)) {
		t.Errorf("taken to be known at %s", at)
	}
}

// FuzzParse gives one body to the portal's table, the feed and a release.
func FuzzParse(f *testing.F) {
	for _, dir := range ingesttest.Dirs(f) {
		f.Add(ingesttest.Load(f, dir).Response.Body)
	}
	questions := []ingest.Response{
		ingesttest.Load(f, "testdata/portal").Response, ingesttest.Load(f, "testdata/feed-one-decision").Response,
		ingesttest.Load(f, "testdata/release-leads-to-the-next").Response,
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, r := range questions {
			r.Body = body
			batch, err := ecb.Source().Parse(r)
			if err != nil {
				continue
			}
			last := map[series.ID]time.Time{}
			for _, v := range batch.Readings {
				if !(v.Value > -100 && v.Value < 100) || !v.ObservedAt.After(last[v.Series]) {
					t.Errorf("%+v after %s", v, last[v.Series])
				}
				last[v.Series] = v.ObservedAt
			}
			if n := batch.Next; n != nil && !strings.HasPrefix(n.URL, "https://www.ecb.europa.eu/") {
				t.Errorf("leads to %s", n.URL)
			}
		}
	})
}
