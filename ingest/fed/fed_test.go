package fed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/fed"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		return fed.Source().Parse(c.Response)
	}, func(b ingest.Batch) string {
		text, _, _ := strings.Cut(ingesttest.Describe(b), "# or else") // the list of past statements is long
		return text
	})
}

// decisions follows a chain from a window's request to its end, and returns the readings by day and series.
func decisions(t *testing.T, seed uint64, now time.Time, w series.Window) (map[string]map[series.ID]float64, int) {
	t.Helper()
	mux := http.NewServeMux()
	fed.Sandbox(mux, synth.World{Seed: seed, Now: func() time.Time { return now }})
	src := fed.Source()
	requests, err := src.Request(w)
	if err != nil || len(requests) != 1 {
		t.Fatalf("%d requests: %v", len(requests), err)
	}
	all, asked := map[string]map[series.ID]float64{}, 0
	for r := &requests[0]; r != nil; asked++ {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, http.NoBody))
		if slices.Contains(r.Absent, answer.Code) {
			r = r.Else
			continue
		}
		batch, err := src.Parse(ingest.Response{Request: *r, Header: answer.Header(), Body: answer.Body.Bytes(), FetchedAt: now})
		if err != nil || answer.Code != http.StatusOK {
			t.Fatalf("%s: status %d: %v", r.URL, answer.Code, err)
		}
		for _, v := range batch.Readings {
			day := v.ObservedAt.Format(time.DateOnly)
			if all[day] == nil {
				all[day] = map[series.ID]float64{}
			}
			if _, twice := all[day][v.Series]; twice {
				t.Fatalf("%s of %s comes twice", v.Series, day)
			}
			all[day][v.Series] = v.Value
			if src.Published(v.Series, v.ObservedAt).After(now) {
				t.Errorf("%s of %s is told on %s", v.Series, day, now)
			}
		}
		r = batch.Next
	}
	return all, asked
}

func TestSandboxDecides(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	all, asked := decisions(t, 1, now, series.Window{})
	// The meetings of 2026 were to be on these days.
	for _, day := range []string{"2026-01-28", "2026-03-18", "2026-04-29", "2026-06-17", "2026-07-29", "2026-09-16", "2026-10-28"} {
		if len(all[day]) != 4 {
			t.Errorf("%s: %v", day, all[day])
		}
	}
	if len(all) < 40 || asked > 80 {
		t.Errorf("%d decisions in %d questions", len(all), asked)
	}
	days := make([]string, 0, len(all))
	for day := range all {
		days = append(days, day)
	}
	slices.Sort(days)
	moves, dissents := 0, 0
	for i, day := range days {
		d := all[day]
		if d["fed.FOMC.UPPER"]-d["fed.FOMC.LOWER"] != 0.25 || d["fed.FOMC.FOR"]+d["fed.FOMC.AGAINST"] != 12 {
			t.Errorf("%s: %v", day, d)
		}
		if d["fed.FOMC.AGAINST"] > 0 {
			dissents++
		}
		if i == 0 {
			continue
		}
		step := math.Abs(d["fed.FOMC.UPPER"] - all[days[i-1]]["fed.FOMC.UPPER"])
		if step > 0 {
			moves++
		}
	}
	if moves < 5 || moves > len(days)/2 || dissents < 5 || dissents > len(days)/2 {
		t.Errorf("%d moves and %d dissents in %d meetings", moves, dissents, len(days))
	}
	recent, asked := decisions(t, 1, now, fed.Source().Window(now, time.Date(2026, 9, 16, 0, 0, 0, 0, time.UTC)))
	if diff := cmp.Diff(map[string]map[series.ID]float64{"2026-09-16": all["2026-09-16"], "2026-10-28": all["2026-10-28"]}, recent); diff != "" || asked != 3 {
		t.Errorf("%d questions (-whole +window):\n%s", asked, diff)
	}
}

func recorded(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("../../../shared/upstream/macro-events/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded press releases at ../shared/upstream/macro-events, beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// The wording is recorded, the page around it is not. Another reader noted the votes and ranges.
func TestRecordedStatements(t *testing.T) {
	t.Parallel()
	var corpus struct {
		Meetings []struct {
			Date, Vote string
			Target     string  `json:"target_range"`
			Against    float64 `json:"dissent_count"`
			Statement  []string
		}
	}
	if err := json.Unmarshal(recorded(t, "fomc_meetings_2026.json"), &corpus); err != nil || len(corpus.Meetings) < 2 {
		t.Fatalf("%d meetings: %v", len(corpus.Meetings), err)
	}
	for _, m := range corpus.Meetings {
		address := "https://www.federalreserve.gov/newsevents/pressreleases/monetary" + strings.ReplaceAll(m.Date, "-", "") + "a.htm"
		page := "<html><body><p>" + strings.Join(m.Statement, "</p>\n<p>") + "</p></body></html>"
		batch, err := fed.Source().Parse(ingest.Response{Request: ingest.Request{URL: address}, Body: []byte(page)})
		if err != nil {
			t.Errorf("%s: %v", m.Date, err)
			continue
		}
		got := map[series.ID]float64{}
		for _, r := range batch.Readings {
			got[r.Series] = r.Value
		}
		var low, high, yes, no float64
		if _, err := fmt.Sscanf(strings.ReplaceAll(m.Target, "–", " "), "%g %g%%", &low, &high); err != nil {
			t.Fatalf("%s: %q: %v", m.Date, m.Target, err)
		}
		if _, err := fmt.Sscanf(strings.ReplaceAll(m.Vote, "–", " "), "%g %g", &yes, &no); err != nil || no != m.Against {
			t.Fatalf("%s: %q: %v", m.Date, m.Vote, err)
		}
		want := map[series.ID]float64{"fed.FOMC.LOWER": low, "fed.FOMC.UPPER": high, "fed.FOMC.FOR": yes, "fed.FOMC.AGAINST": no}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-noted +read):\n%s", m.Date, diff)
		}
	}
}

// The recorded feed was cut to two releases, neither a statement: it is read, and says so.
func TestRecordedFeed(t *testing.T) {
	t.Parallel()
	_, err := fed.Source().Parse(ingest.Response{
		Request: ingest.Request{URL: "https://www.federalreserve.gov/feeds/press_monetary.xml"}, Body: recorded(t, "fed_press_all_2items.xml"),
	})
	if err == nil || !strings.Contains(err.Error(), "no statement among its 2 items") {
		t.Errorf("error is %v", err)
	}
}

// FuzzParse gives one body to the feed and to a statement.
func FuzzParse(f *testing.F) {
	for _, dir := range ingesttest.Dirs(f) {
		f.Add(ingesttest.Load(f, dir).Response.Body)
	}
	statement, feed := ingesttest.Load(f, "testdata/last-of-the-feed").Response, ingesttest.Load(f, "testdata/feed-after-the-list").Response
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, r := range []ingest.Response{statement, feed} {
			r.Body = body
			batch, err := fed.Source().Parse(r)
			if err != nil {
				continue
			}
			if len(batch.Readings) == 0 && batch.Next == nil {
				t.Error("nothing is said, and nothing is wrong")
			}
			for _, v := range batch.Readings {
				if !(v.Value >= 0 && v.Value <= 100) {
					t.Errorf("%+v", v)
				}
			}
		}
	})
}

func TestAHistoryThatTheListKnowsAllOf(t *testing.T) {
	t.Parallel()
	all, _ := decisions(t, 1, time.Date(2026, time.July, 24, 1, 0, 0, 0, time.UTC), series.Window{})
	if len(all["2026-06-17"]) != 4 || len(all["2026-07-29"]) != 0 {
		t.Errorf("the decision of June is %v, that of July %v", all["2026-06-17"], all["2026-07-29"])
	}
}
