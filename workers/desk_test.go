package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/world"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/workers"
)

// editorFixture runs the ingest job by hand, so that a test can stop between any two steps.
type editorFixture struct {
	t      *testing.T
	db     *postgres.DB
	url    string
	clock  *world.Stepped
	ingest workers.Ingest

	mu    sync.Mutex
	pages map[string]string // by path; a missing one is status 500
	asked []string
}

// pageSource has a page for each of two series: /a.csv is of test.a. A line that is a path leads to a further page.
func pageSource() ingest.Source {
	src := ingest.Source{
		ID: "pages", Name: "pages", Publisher: "test", License: "none",
		Request: func(w series.Window) ([]ingest.Request, error) {
			query := ""
			if !w.From.IsZero() || !w.To.IsZero() {
				query = "?from=" + w.From.Format(time.DateOnly) + "&to=" + w.To.Format(time.DateOnly)
			}
			return []ingest.Request{{URL: "https://upstream.example/a.csv" + query}, {URL: "https://upstream.example/b.csv" + query}}, nil
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			_, path, _ := strings.Cut(r.Request.URL, "upstream.example/")
			id := series.ID("test." + path[:1])
			var b ingest.Batch
			for line := range strings.Lines(string(r.Body)) {
				line = strings.TrimSpace(line)
				if strings.HasPrefix(line, "/") {
					b.Next = &ingest.Request{URL: "https://upstream.example" + line}
					continue
				}
				reading := ingest.Reading{Series: id}
				var err error
				if reading.ObservedAt, err = time.Parse(time.DateOnly, line[:10]); err != nil {
					return b, err
				}
				if _, err := fmt.Sscan(line[11:], &reading.Value); err != nil {
					return b, err
				}
				b.Readings = append(b.Readings, reading)
			}
			first, last := b.Readings[0].ObservedAt, b.Readings[len(b.Readings)-1].ObservedAt
			b.Covers = []ingest.Coverage{{Series: id, Window: series.Window{From: first, To: last}}}
			return b, nil
		},
	}
	for _, id := range []series.ID{"test.a", "test.b"} {
		src.Series = append(src.Series, series.Info{
			ID: id, Frequency: "daily", Unit: "units", Published: func(t time.Time) time.Time { return t.AddDate(0, 0, 2) },
		})
	}
	return src
}

func newClaimService(t *testing.T, src ingest.Source) *editorFixture {
	t.Helper()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store, err := archive.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	d := &editorFixture{t: t, url: url, db: db, clock: world.NewStepped(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)), pages: map[string]string{}}
	transport := world.Sandbox(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.asked = append(d.asked, r.URL.RequestURI())
		body, ok := d.pages[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = fmt.Fprint(w, body)
	}), world.SandboxOptions{})
	d.ingest = workers.Ingest{
		DB: db, Sources: map[string]ingest.Source{src.ID: src}, Dependents: map[string][]string{src.ID: {"sig"}},
		Engine: &ingest.Engine{
			Transport: transport, Now: d.clock.Now, Ledger: db, Archive: store, Offline: true, Attempts: 1, Log: slog.New(slog.DiscardHandler),
		},
	}
	return d
}

// publish sets a page's rows; none takes it away.
func (d *editorFixture) publish(path string, rows ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pages, path)
	if len(rows) > 0 {
		d.pages[path] = strings.Join(rows, "\n")
	}
}

// begin is the first attempt of a run a day later, claimed.
func (d *editorFixture) begin() task.Task {
	d.t.Helper()
	d.clock.AdvanceTo(d.clock.Now().Add(24 * time.Hour))
	id, err := d.db.AddRun(d.t.Context(), task.Ingest, "pages", d.clock.Now(), d.t.Name())
	if err != nil {
		d.t.Fatal(err)
	}
	return d.claim(task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: task.Ingest, Subject: "pages", Slot: d.clock.Now()})
}

func (d *editorFixture) claim(t task.Task) task.Task {
	d.t.Helper()
	if ok, err := d.db.Claim(d.t.Context(), t.Fence, "w"); err != nil || !ok {
		d.t.Fatalf("claim %v: %v %v", t.Fence, ok, err)
	}
	return t
}

// again takes a run from its worker, which gave no sign, and claims the next attempt.
func (d *editorFixture) again(t task.Task) task.Task {
	d.t.Helper()
	lost, err := d.db.Reclaim(d.t.Context(), -time.Second)
	if err != nil || len(lost) != 1 || lost[0].RunID != t.RunID {
		d.t.Fatalf("reclaimed %v (%v), want run %d", lost, err, t.RunID)
	}
	return d.claim(lost[0])
}

// run runs a whole attempt of a new run, and ends it.
func (d *editorFixture) run() (task.Task, error) {
	d.t.Helper()
	t := d.begin()
	err := d.ingest.Run(d.t.Context(), t)
	if err == nil {
		err = d.db.Succeed(d.t.Context(), t.Fence)
	} else if _, ferr := d.db.Fail(d.t.Context(), t.Fence, err.Error(), 0, true, false); ferr != nil {
		d.t.Fatal(ferr)
	}
	return t, err
}

// newest is the newest known value of a series, with the number of its vintages.
func (d *editorFixture) newest(id series.ID) string {
	d.t.Helper()
	list, err := d.db.Observations(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	if len(list) == 0 {
		return "nothing"
	}
	o := list[len(list)-1]
	return fmt.Sprintf("%d: %s %v", len(list), o.ObservedAt.UTC().Format("01-02"), o.Value)
}

func (d *editorFixture) quarantine() []postgres.Quarantined {
	d.t.Helper()
	list, err := d.db.Quarantined(d.t.Context(), postgres.QuarantineFilter{Limit: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

// isFinal reports whether err makes a run fail permanently.
func isFinal(err error) bool {
	return fmt.Sprintf("%T", err) == fmt.Sprintf("%T", workers.Permanent(err))
}

func TestTheOtherPartsOfARunAreStored(t *testing.T) {
	t.Parallel()
	d := newClaimService(t, pageSource())
	d.publish("/a.csv", prices(40, 70)...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); err != nil {
		t.Fatal(err)
	}
	d.publish("/a.csv", append(prices(40, 0.07), "2026-03-02,0.07")...)
	d.publish("/b.csv", append(prices(40, 2), "2026-03-02,2.01")...)

	// Killed after everything was written and before the run's end, and run again.
	first := d.begin()
	if err := d.ingest.Run(t.Context(), first); !isFinal(err) || !strings.Contains(err.Error(), "/a.csv") {
		t.Fatalf("%v, want a final error that names the page", err)
	}
	second := d.again(first)
	if err := d.ingest.Run(t.Context(), second); !isFinal(err) || !strings.Contains(err.Error(), "quarantine 1") {
		t.Fatalf("%v, want the same quarantine", err)
	}
	if a, b := d.newest("test.a"), d.newest("test.b"); a != "40: 02-27 68.6" || b != "41: 03-02 2.01" {
		t.Errorf("test.a has %s, test.b has %s", a, b)
	}
	list := d.quarantine()
	if len(list) != 1 || list[0].Fetches != 2 || *list[0].RunID != first.RunID {
		t.Errorf("the quarantine has %+v, want one row of two fetches", list)
	}
	if err := d.ingest.Run(t.Context(), first); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the first attempt comes back: %v", err)
	}
	runs, err := d.db.Runs(t.Context(), postgres.RunFilter{Subject: "sig", Limit: 10})
	if err != nil || len(runs) != 2 { // of the first load and of this one
		t.Errorf("%d runs of the signal (%v), want 2", len(runs), err)
	}
}

func TestTroubleThatPassesIsTriedAgainBesideWhatIsHeld(t *testing.T) {
	t.Parallel()
	d := newClaimService(t, pageSource())
	d.publish("/a.csv", prices(40, 70)...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); err != nil {
		t.Fatal(err)
	}
	d.publish("/a.csv", prices(40, 70_000)...)
	d.publish("/b.csv") // status 500
	first := d.begin()
	if err := d.ingest.Run(t.Context(), first); isFinal(err) || !strings.Contains(err.Error(), "status 500") || !strings.Contains(err.Error(), "quarantine 1") {
		t.Fatalf("%v, want both told and another attempt", err)
	}
	d.publish("/b.csv", append(prices(40, 2), "2026-03-02,2.01")...)
	if err := d.ingest.Run(t.Context(), d.again(first)); !isFinal(err) {
		t.Errorf("%v, want nothing left to try", err)
	}
	if b := d.newest("test.b"); b != "41: 03-02 2.01" {
		t.Errorf("test.b has %s", b)
	}
}

func TestAPageThatLacksWhatIsOldIsHeldToo(t *testing.T) {
	t.Parallel()
	d := newClaimService(t, pageSource())
	all := prices(1300, 70)
	d.publish("/a.csv", all...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); err != nil {
		t.Fatal(err)
	}
	// A hundred days of years ago, which is further back than the checks look.
	d.publish("/a.csv", append(append([]string{}, all[:50]...), all[150:]...)...)
	d.publish("/b.csv", append(prices(40, 2), "2026-03-02,2.01")...)
	run, err := d.run()
	if !isFinal(err) || !strings.Contains(err.Error(), "100 of 1300") {
		t.Fatalf("%v, want it held for what is missing", err)
	}
	if a, b := d.newest("test.a"), d.newest("test.b"); !strings.HasPrefix(a, "1300: ") || b != "41: 03-02 2.01" {
		t.Errorf("test.a has %s, test.b has %s", a, b)
	}
	findings, err := d.db.Findings(t.Context(), run.RunID)
	if diff := cmp.Diff([]string{"error row_count test.a"}, marks(findings)); diff != "" || err != nil {
		t.Errorf("findings of the run, %v (-want +got):\n%s", err, diff)
	}
	added, err := d.ingest.Accept(t.Context(), 1, postgres.Decision{At: d.clock.Now(), By: "me", Reason: "they took them back"})
	if err != nil || added != 100 {
		t.Errorf("accepting added %d withdrawals (%v), want 100", added, err)
	}
}

func TestAReleaseThatIsEstimatedAnewIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	src := pageSource()
	src.Reestimates = true
	src.Request = func(series.Window) ([]ingest.Request, error) {
		return []ingest.Request{{URL: "https://upstream.example/a.csv"}}, nil
	}
	src.Series = src.Series[:1]
	d := newClaimService(t, src)
	set := func(level, newest float64, rows int) {
		all := prices(rows, level)
		d.publish("/a.csv", append(append([]string{}, all[:len(all)/2]...), "/a2.csv")...)
		d.publish("/a2.csv", append(append([]string{}, all[len(all)/2:]...), fmt.Sprintf("2026-03-02,%v", newest))...)
	}
	set(90, 91, 60)
	if _, err := d.run(); err != nil {
		t.Fatal(err)
	}
	set(90*0.83, 75, 60)
	run, err := d.run()
	if err != nil {
		t.Fatalf("a history estimated anew: %v", err)
	}
	findings, err := d.db.Findings(t.Context(), run.RunID)
	if diff := cmp.Diff([]string{"warn unit test.a"}, marks(findings)); diff != "" || err != nil {
		t.Errorf("findings of the run, %v (-want +got):\n%s", err, diff)
	}
	if a := d.newest("test.a"); a != "122: 03-02 75" {
		t.Errorf("test.a has %s, want all 61 values twice", a)
	}
	set(90*0.83, 75, 20) // the last weeks alone
	if _, err := d.run(); !isFinal(err) || !strings.Contains(err.Error(), "row_count") {
		t.Errorf("%v, want a part of a history to be held", err)
	}
	if _, err := d.run(); !isFinal(err) || !strings.Contains(err.Error(), "quarantine 1") {
		t.Errorf("%v, want the same pages again to be the same quarantine", err)
	}
	if list := d.quarantine(); len(list) != 1 || list[0].Fetches != 4 {
		t.Errorf("the quarantine has %+v, want one row of two pages fetched twice", list)
	}
	pages, err := d.db.QuarantinedPages(t.Context(), 1)
	if err != nil || len(pages) != 2 || !strings.HasSuffix(pages[0].URL, "/a.csv") || !strings.HasSuffix(pages[1].URL, "/a2.csv") {
		t.Errorf("pages %+v (%v), want both in their order", pages, err)
	}
	if a := d.newest("test.a"); a != "122: 03-02 75" {
		t.Errorf("test.a has %s, want nothing of it stored", a)
	}
	if added, err := d.ingest.Accept(t.Context(), 1, postgres.Decision{At: d.clock.Now(), By: "me", Reason: "true"}); err != nil || added != 0 {
		t.Errorf("accepting added %d rows (%v), want 0: what it has is known", added, err)
	}
}

func TestAPageIsHeldAgainstThePagesBeforeIt(t *testing.T) {
	t.Parallel()
	d := newClaimService(t, pageSource())
	all := prices(80, 70)
	d.publish("/a.csv", append(append([]string{}, all[:40]...), "/a2.csv")...)
	d.publish("/a2.csv", prices(80, 70_000)[40:]...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); !isFinal(err) || !strings.Contains(err.Error(), "/a2.csv") || !strings.Contains(err.Error(), "check unit") {
		t.Fatalf("%v, want the second page of the first answer to be held", err)
	}
	if a := d.newest("test.a"); !strings.HasPrefix(a, "40: ") {
		t.Errorf("test.a has %s, want the first page", a)
	}
}

func TestWhatIsStoredIsNotHeldUpByNewBounds(t *testing.T) {
	t.Parallel()
	d := newClaimService(t, pageSource())
	d.publish("/a.csv", prices(40, 70)...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); err != nil {
		t.Fatal(err)
	}
	src := d.ingest.Sources["pages"]
	least := 1000.0
	for i := range src.Series {
		src.Series[i].Min = &least
	}
	if _, err := d.run(); err != nil {
		t.Errorf("what is stored was checked again: %v", err)
	}
	d.clock.AdvanceTo(d.clock.Now().AddDate(0, 1, 0))
	run, err := d.run()
	if err != nil {
		t.Fatal(err)
	}
	findings, err := d.db.Findings(t.Context(), run.RunID)
	if diff := cmp.Diff([]string{"warn freshness test.a", "warn freshness test.b"}, marks(findings)); diff != "" || err != nil {
		t.Errorf("findings a month later, %v (-want +got):\n%s", err, diff)
	}
}

func TestASeriesThatFellSilentIsMarked(t *testing.T) {
	t.Parallel()
	src := pageSource()
	d := newClaimService(t, src)
	d.publish("/a.csv", prices(40, 70)...)
	d.publish("/b.csv", prices(40, 2)...)
	if _, err := d.run(); err != nil {
		t.Fatal(err)
	}
	src.Request = func(series.Window) ([]ingest.Request, error) {
		return []ingest.Request{{URL: "https://upstream.example/a.csv"}}, nil
	}
	d.ingest.Sources = map[string]ingest.Source{src.ID: src}
	run, err := d.run()
	if err != nil {
		t.Fatal(err)
	}
	findings, err := d.db.Findings(t.Context(), run.RunID)
	if diff := cmp.Diff([]string{"warn row_count test.b"}, marks(findings)); diff != "" || err != nil {
		t.Errorf("findings of the run, %v (-want +got):\n%s", err, diff)
	}
}

func TestWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	src := pageSource()
	src.Window = func(slot, newest time.Time) series.Window {
		if slot.Day() == 6 {
			return series.Window{}
		}
		return series.Window{From: newest.AddDate(0, 0, -7)}
	}
	d := newClaimService(t, src)
	d.publish("/a.csv", prices(40, 70)...)
	d.publish("/b.csv", prices(40, 2)...)
	first := func(run func() error) string {
		t.Helper()
		d.asked = nil
		if err := run(); err != nil {
			t.Fatal(err)
		}
		return d.asked[0]
	}
	plain := func() error { _, err := d.run(); return err }
	if got := first(plain); got != "/a.csv" {
		t.Errorf("a source that was never loaded is asked for %s, want everything", got)
	}
	if got := first(plain); got != "/a.csv?from=2026-02-20&to=0001-01-01" {
		t.Errorf("then for %s, want what its window says", got)
	}
	bounded := func(ctx context.Context) error {
		t := d.begin()
		t.Params.Window = &task.Window{From: time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC)}
		return errors.Join(d.ingest.Run(ctx, t), d.db.Succeed(ctx, t.Fence))
	}
	if got := first(func() error { return bounded(t.Context()) }); got != "/a.csv?from=2019-01-01&to=2026-01-30" {
		t.Errorf("a run of a backfill asks for %s, want its window", got)
	}
	if got := first(plain); got != "/a.csv" {
		t.Errorf("on the day of the whole history %s is asked for", got)
	}

	// An old window that comes without the newest days does not count as an old copy.
	d.publish("/a.csv", prices(40, 70)[:20]...)
	d.publish("/b.csv", prices(40, 2)[:20]...)
	first(func() error { return bounded(t.Context()) })
	if list := d.quarantine(); len(list) != 0 {
		t.Errorf("the quarantine has %+v", list)
	}
	if _, err := d.run(); !isFinal(err) || !strings.Contains(err.Error(), "freshness") {
		t.Errorf("%v, want the same pages to be an old copy where everything was asked for", err)
	}
}
