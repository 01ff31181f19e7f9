package inspection_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/inspection"
	"tidemark/internal/series"
)

var fetched = time.Date(2026, 3, 2, 16, 0, 0, 0, time.UTC)

// day returns the n-th day of 2026.
func day(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }

// page is a response with values of a series, from a day on; its bytes are its number.
func page(fetch int64, id series.ID, from int, values ...float64) ingest.Fetched {
	a := ingest.Fetched{Fetch: series.Fetch{ID: fetch, FetchedAt: fetched, SHA256: fmt.Sprint("sha", fetch), URL: fmt.Sprint("https://example.org/", fetch)}}
	for i, v := range values {
		a.Batch.Readings = append(a.Batch.Readings, series.Reading{Series: id, ObservedAt: day(from + i), Value: v})
	}
	return a
}

// steady returns n values around a level.
func steady(n int, level float64) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = level * (1 + 0.01*float64(i*7%5-2))
	}
	return list
}

// known is the history that a page brought.
func known(a ingest.Fetched) series.Known {
	return series.Known{Readings: slices.Clone(a.Batch.Readings), ConfirmedAt: fetched.AddDate(0, 0, -1), Complete: true}
}

func source() ingest.Source {
	return ingest.Source{ID: "s", Series: []series.Info{{ID: "a", Unit: "$"}, {ID: "b", Unit: "$"}}}
}

// marks are the findings in short, then the fetches that may be stored.
func marks(c *inspection.Inspection) []string {
	var list []string
	for _, f := range c.Findings() {
		list = append(list, fmt.Sprintf("%s %s %s", f.Severity, f.Check, f.Series))
	}
	free := "free"
	for _, a := range c.Free() {
		free += fmt.Sprint(" ", a.Fetch.ID)
	}
	return append(list, free)
}

func TestAUnitIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	a, b := page(1, "a", 0, steady(40, 70)...), page(2, "b", 0, steady(40, 5)...)
	thousandths := page(3, "a", 0, steady(41, 70_000)...)
	lead := page(4, "", 0)
	history := map[series.ID]series.Known{"a": known(a), "b": known(b)}
	for _, c := range []struct {
		fact        string
		reestimates bool
		answers     []ingest.Fetched
		want        []string
		units       int
	}{
		{"what agrees with the history", false, []ingest.Fetched{a, b}, []string{"free 1 2"}, 0},
		{"another unit of one page holds that page", false, []ingest.Fetched{lead, thousandths, b}, []string{"error unit a", "free 4 2"}, 1},
		{"of a source that estimates all again, it holds all pages", true, []ingest.Fetched{lead, thousandths, b}, []string{"error unit a", "free 4"}, 1},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			src := source()
			src.Reestimates = c.reestimates
			i := inspection.New(src, series.Window{}, true, c.answers)
			i.Repeated(nil)
			i.Check(map[series.ID]series.Known{"a": history["a"], "b": history["b"]})
			if d := cmp.Diff(c.want, marks(i)); d != "" {
				t.Errorf("findings and what may be stored (-want +got):\n%s", d)
			}
			if got := i.Unfree(); len(got) != c.units || c.units > 0 && (!got[0].New() || !strings.Contains(got[0].Problem(9).Error(), "quarantine 9: check unit of a")) {
				t.Errorf("the units held are %+v", got)
			}
		})
	}
}

func TestWhatWasDecidedIsNotCheckedAgain(t *testing.T) {
	t.Parallel()
	bad := page(1, "a", 0, steady(41, 70_000)...)
	history := map[series.ID]series.Known{"a": known(page(9, "a", 0, steady(40, 70)...))}
	find := series.Finding{Check: "unit", Severity: series.SeverityError, Series: "a"}
	for _, c := range []struct {
		fact    string
		same    map[int64]bool
		recall  *inspection.Recalled
		toCheck []series.ID
		want    []string
		held    bool
	}{
		{"a new one is checked", nil, nil, []series.ID{"a"}, []string{"error unit a", "free"}, true},
		{"the bytes that were stored last are not", map[int64]bool{1: true}, nil, nil, []string{"free 1"}, false},
		{
			"what waits in quarantine has its findings, without the effect of that day", nil,
			&inspection.Recalled{ID: 3, Findings: []series.Finding{find, {Check: inspection.Accept, Severity: series.SeverityWarn}}},
			nil,
			[]string{"error unit a", "free"},
			true,
		},
		{
			"what was rejected is only noted", nil, &inspection.Recalled{ID: 3, Findings: []series.Finding{find}, RejectedBy: "Ada", Reason: "cents"},
			nil,
			[]string{"warn rejected ", "free"},
			false,
		},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			i := inspection.New(source(), series.Window{}, false, []ingest.Fetched{bad})
			if c.recall != nil {
				i.Recall(map[string]inspection.Recalled{i.Digests()[0]: *c.recall})
			}
			if i.Compare() != (c.recall == nil) {
				t.Errorf("there is something to compare: %v", i.Compare())
			}
			i.Repeated(c.same)
			ids, _ := i.ToCheck()
			i.Check(map[series.ID]series.Known{"a": history["a"]})
			if d := cmp.Diff(c.toCheck, ids); d != "" {
				t.Errorf("series that are checked (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.want, marks(i)); d != "" {
				t.Errorf("findings and what may be stored (-want +got):\n%s", d)
			}
			for _, u := range i.Unfree() {
				if u.Held() != c.held || u.New() != (c.held && c.recall == nil) {
					t.Errorf("held %v and new %v, want held %v", u.Held(), u.New(), c.held)
				}
			}
		})
	}
}

func TestASeriesThatIsNotMentionedIsNoted(t *testing.T) {
	t.Parallel()
	a := page(1, "a", 0, 70, 71)
	for _, c := range []struct {
		fact     string
		complete bool
		asked    series.Window
		silent   []series.ID
	}{
		{"a request for the whole history", true, series.Window{}, []series.ID{"b"}},
		{"one that was not answered whole", false, series.Window{}, nil},
		{"one for a window", true, series.Window{From: day(0)}, nil},
		{"one that ends", true, series.Window{From: day(0), To: day(9)}, nil},
	} {
		t.Run(c.fact, func(t *testing.T) {
			t.Parallel()
			i := inspection.New(source(), c.asked, c.complete, []ingest.Fetched{a})
			if ids, _ := i.ToCheck(); cmp.Diff(c.silent, ids) != "" {
				t.Errorf("series whose history is read: %v, want %v", ids, c.silent)
			}
			i.Check(map[series.ID]series.Known{"b": known(page(2, "b", 3, 5))})
			want := []string{"free 1"}
			if c.silent != nil {
				want = []string{"warn row_count b", "free 1"}
			}
			if d := cmp.Diff(want, marks(i)); d != "" {
				t.Errorf("findings (-want +got):\n%s", d)
			}
		})
	}
}

func TestTheHistoryIsReadToTheNewestReadingOfAWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked series.Window
		until time.Time
	}{
		{series.Window{}, time.Time{}},
		{series.Window{From: day(0)}, time.Time{}},
		{series.Window{From: day(0), To: day(3)}, day(4)},
	} {
		i := inspection.New(source(), c.asked, false, []ingest.Fetched{page(1, "a", 0, 1, 2, 3, 4, 5)})
		i.Repeated(nil)
		if ids, until := i.ToCheck(); !until.Equal(c.until) || len(ids) != 1 {
			t.Errorf("of %v, %v is read until %v, want %v", c.asked, ids, until, c.until)
		}
	}
}

func TestAUnitThatTheDatabaseRefusesIsHeldOnce(t *testing.T) {
	t.Parallel()
	i := inspection.New(source(), series.Window{}, false, []ingest.Fetched{page(1, "a", 0, 70), page(2, "b", 0, 5)})
	if !i.Shrunk(1, "a", 50, 200) || i.Shrunk(1, "a", 50, 200) || i.Shrunk(7, "a", 50, 200) {
		t.Error("the unit of the fetch is held once, and no other")
	}
	if d := cmp.Diff([]string{"error row_count a", "free 2"}, marks(i)); d != "" {
		t.Errorf("findings and what may be stored (-want +got):\n%s", d)
	}
	if text := i.Findings()[0].Observed; text != "50 of 200 known observations are not there" {
		t.Error(text)
	}
}
