package backfill_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// linesSource is a source whose pages have a line for each value, such as "a 3 1.5": the series, the day of January and the value. The
// parser multiplies values by factor.
func linesSource(factor float64) ingest.Source {
	published := func(observed time.Time) time.Time { return observed.Add(time.Hour) }
	return ingest.Source{
		ID: "lines", Series: []series.Info{{ID: "lines.a", Published: published}, {ID: "lines.b", Published: published}},
		Parse: func(r ingest.Response) (b ingest.Batch, err error) {
			for line := range strings.Lines(string(r.Body)) {
				f := strings.Fields(line)
				day, derr := strconv.Atoi(f[1])
				v, verr := strconv.ParseFloat(f[2], 64)
				if derr != nil || verr != nil {
					return b, verr
				}
				b.Readings = append(b.Readings, series.Reading{
					Series: series.ID("lines." + f[0]), ObservedAt: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC), Value: v * factor,
				})
			}
			return b, nil
		},
	}
}

// fetch archives and records a page of a run, and returns its load.
func (r record) fetch(t *testing.T, src ingest.Source, run int64, page, fetched, body string) postgres.Load {
	t.Helper()
	digest, err := r.store.Put(t.Context(), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	f := series.Fetch{
		Source: src.ID, URL: "https://upstream.example/" + page, Status: 200, FetchedAt: at(t, fetched), SHA256: digest, Bytes: int64(len(body)),
	}
	if f.ID, err = r.db.RecordFetch(t.Context(), f, run); err != nil {
		t.Fatal(err)
	}
	b, err := ingest.Parse(src, f, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return backfill.Load(src, ingest.Fetched{Fetch: f, Batch: b})
}

func (r record) keep(t *testing.T, loads ...postgres.Load) {
	t.Helper()
	if _, err := r.db.StoreLoads(t.Context(), task.Fence{}, loads, nil); err != nil {
		t.Fatal(err)
	}
}

func (r record) reparse(t *testing.T, src ingest.Source, now string) int64 {
	t.Helper()
	done, err := backfill.Reparse(t.Context(), r.db, r.store, src, at(t, now))
	if err != nil {
		t.Fatal(err)
	}
	return done.Added
}

// confirmed prints when each series was last confirmed.
func (r record) confirmed(t *testing.T) (list []string) {
	t.Helper()
	states, err := r.db.SeriesStates(t.Context(), []series.ID{"lines.a", "lines.b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		list = append(list, s.ConfirmedAt.UTC().Format(time.RFC3339))
	}
	return list
}

// newest prints the newest value of each observation of a series.
func (r record) newest(t *testing.T, id series.ID) (list []float64) {
	t.Helper()
	set, err := r.db.ObservationsAsOf(t.Context(), []series.ID{id}, at(t, "2027-01-01"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set[id] {
		list = append(list, p.Value)
	}
	return list
}

func TestAReparseConfirmsNothing(t *testing.T) {
	t.Parallel()
	r, src := newRecord(t), linesSource(1)
	r.keep(t, r.fetch(t, src, 1, "a", "2026-02-01T10:00:00Z", "a 1 1\na 2 2"), r.fetch(t, src, 1, "b", "2026-02-01T10:00:05Z", "b 1 5"))
	want := []string{"2026-02-01T10:00:00Z", "2026-02-01T10:00:05Z"}
	for _, c := range []struct {
		now    string
		factor float64
		added  int64
	}{{"2026-06-01", 1, 0}, {"2026-06-02", 10, 3}, {"2026-06-03", 10, 0}} {
		if n := r.reparse(t, linesSource(c.factor), c.now); n != c.added {
			t.Errorf("the parser times %v added %d vintages, want %d", c.factor, n, c.added)
		}
		if d := cmp.Diff(want, r.confirmed(t)); d != "" {
			t.Errorf("the parser times %v moved what the publisher last confirmed (-want +got):\n%s", c.factor, d)
		}
	}
	if d := cmp.Diff([]float64{10, 20}, r.newest(t, "lines.a")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAReparseDoesNotRevertWhatIsStoredMeanwhile(t *testing.T) {
	t.Parallel()
	r, src := newRecord(t), linesSource(1)
	r.keep(t, r.fetch(t, src, 1, "a", "2026-02-01T10:00:00Z", "a 1 1"), r.fetch(t, src, 1, "b", "2026-02-01T10:00:05Z", "b 1 5"))
	mended, stored := linesSource(10), false
	parse := mended.Parse
	mended.Parse = func(resp ingest.Response) (ingest.Batch, error) {
		if !stored {
			stored = true
			r.keep(t, r.fetch(t, linesSource(10), 2, "a", "2026-02-03T10:00:00Z", "a 1 7"))
		}
		return parse(resp)
	}
	r.reparse(t, mended, "2026-06-01")
	if a, b := r.newest(t, "lines.a"), r.newest(t, "lines.b"); len(a) != 1 || a[0] != 70 || len(b) != 1 || b[0] != 50 {
		t.Errorf("a is %v, b is %v, want the newer response's 70 and the mended 50", a, b)
	}
	if d := cmp.Diff([]string{"2026-02-03T10:00:00Z", "2026-02-01T10:00:05Z"}, r.confirmed(t)); d != "" {
		t.Errorf("confirmed (-want +got):\n%s", d)
	}
}
