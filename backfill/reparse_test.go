package backfill_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/config"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// record is a database with its archive.
type record struct {
	url   string
	db    *postgres.DB
	store *archive.Store
}

func newRecord(t *testing.T) record {
	t.Helper()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store, err := archive.Open(t.Context(), filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return record{url, db, store}
}

// live ingests a source from the sandbox, month by month, as the worker does.
func (r record) live(t *testing.T, src ingest.Source, months int) {
	t.Helper()
	clock := world.NewStepped(time.Date(2025, 10, 1, 15, 0, 0, 0, time.UTC))
	e := &ingest.Engine{
		Transport: world.Sandbox(sources.Sandbox(synth.World{Seed: 7, Now: clock.Now}, calendar.IsTradingDay), world.SandboxOptions{Now: clock.Now}),
		Now:       clock.Now, Ledger: r.db, Archive: r.store, Offline: true,
	}
	for range months {
		fetched, err := e.Collect(t.Context(), src, series.Window{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		var loads []postgres.Load
		for _, f := range fetched {
			loads = append(loads, backfill.Load(src, f))
		}
		if _, err := r.db.StoreLoads(t.Context(), task.Fence{}, loads, nil); err != nil {
			t.Fatal(err)
		}
		clock.AdvanceTo(clock.Now().AddDate(0, 1, 0))
	}
}

// observations is the whole table, but for the ids of fetches.
func (r record) observations(t *testing.T) []string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), r.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	rows, err := c.Query(t.Context(), `select series, observed_at, vintage_at, value, marker, assumed from observations order by 1, 2, 3`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		v, err := row.Values()
		return strings.TrimSpace(fmt.Sprintln(v...)), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func source(t *testing.T, id string) ingest.Source {
	t.Helper()
	for _, s := range sources.All(config.Upstreams{}) {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("there is no source %s", id)
	return ingest.Source{}
}

func TestAnArchiveAloneRebuildsTheObservations(t *testing.T) {
	t.Parallel()
	src := source(t, "eia-petroleum-spot")
	first := newRecord(t)
	first.live(t, src, 6)
	want := first.observations(t)
	revised := 0
	for _, l := range want {
		if strings.HasSuffix(l, "false") {
			revised++
		}
	}
	if len(want) < 10_000 || revised < 100 {
		t.Fatalf("%d rows, %d of them seen arriving: the sandbox says too little to show anything", len(want), revised)
	}

	dir := filepath.Join(t.TempDir(), "export")
	n, err := archive.Export(t.Context(), dir, first.store, first.db, archive.Origin{})
	if err != nil || n != 18 {
		t.Fatalf("exported %d exchanges (%v), want 18", n, err)
	}
	// This also works with a folder that does not record the use of the responses, as if written by hand.
	if err := os.Remove(filepath.Join(dir, archive.HistoryName)); err != nil {
		t.Fatal(err)
	}
	second := newRecord(t)
	for round, wantAdded := range []int{18, 0} {
		folder, err := archive.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		added, err := archive.Import(t.Context(), folder, second.store, second.db, time.Time{}, nil)
		_ = folder.Close()
		if err != nil || added.Exchanges != wantAdded {
			t.Fatalf("import %d added %d exchanges (%v), want %d", round+1, added.Exchanges, err, wantAdded)
		}
	}
	for round := range 2 {
		done, err := backfill.Reparse(t.Context(), second.db, second.store, src, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 && done.Added != int64(len(want)) || round == 1 && done.Added != 0 {
			t.Errorf("reparse %d added %d vintages", round+1, done.Added)
		}
	}
	if d := cmp.Diff(want, second.observations(t)); d != "" {
		t.Errorf("the rebuilt table differs (-live +rebuilt):\n%s", d)
	}
}

func TestTheLastOfSeveralAnswersMayHoldNothing(t *testing.T) {
	t.Parallel()
	src := source(t, "ecb-rates") // a table, and then a feed that has nothing new between two meetings
	first := newRecord(t)
	first.live(t, src, 3)
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	if done, err := backfill.Reparse(t.Context(), first.db, first.store, src, now); err != nil || done.Added != 0 {
		t.Errorf("what is known, once more: %d vintages, %v", done.Added, err)
	}
	dir := filepath.Join(t.TempDir(), "export")
	if _, err := archive.Export(t.Context(), dir, first.store, first.db, archive.Origin{}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, archive.HistoryName)); err != nil {
		t.Fatal(err)
	}
	folder, err := archive.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	second := newRecord(t)
	if _, err := archive.Import(t.Context(), folder, second.store, second.db, time.Time{}, nil); err != nil {
		t.Fatal(err)
	}
	blind := src
	blind.Parse = func(ingest.Response) (ingest.Batch, error) { return ingest.Batch{}, nil }
	if _, err := backfill.Reparse(t.Context(), second.db, second.store, blind, now); !errors.Is(err, ingest.ErrNoReadings) {
		t.Errorf("a parser that finds nothing in anything: %v", err)
	}
	if _, err := backfill.Reparse(t.Context(), second.db, second.store, src, now); err != nil {
		t.Fatal(err)
	}
	want := first.observations(t)
	if d := cmp.Diff(want, second.observations(t)); len(want) == 0 || d != "" {
		t.Errorf("the rebuilt table of %d rows differs (-live +rebuilt):\n%s", len(want), d)
	}
}

func TestAMendedParserAddsVintagesOfNow(t *testing.T) {
	t.Parallel()
	src := source(t, "eia-petroleum-weekly")
	r := newRecord(t)
	good := src.Parse
	src.Parse = func(resp ingest.Response) (ingest.Batch, error) { // reads the newest value of each page wrongly
		b, err := good(resp)
		for i := range b.Readings {
			if b.Readings[i].ObservedAt.Equal(newest(b.Readings)) {
				b.Readings[i].Value += 1000
			}
		}
		return b, err
	}
	r.live(t, src, 2)
	src.Parse = good
	before := len(r.observations(t))
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	done, err := backfill.Reparse(t.Context(), r.db, r.store, src, now)
	if err != nil {
		t.Fatal(err)
	}
	if done.Added != 4 {
		t.Errorf("%d vintages added, want one for each of the four series", done.Added)
	}
	after := r.observations(t)
	if len(after) != before+4 {
		t.Errorf("%d rows, want the %d from before and 4", len(after), before)
	}
	mended := 0
	for _, l := range after {
		if strings.Contains(l, now.Format("2006-01-02 15:04:05")) {
			mended++
		}
	}
	if mended != 4 {
		t.Errorf("%d rows became known at the time of the repair, want 4", mended)
	}
	if done, err := backfill.Reparse(t.Context(), r.db, r.store, src, now.Add(time.Hour)); err != nil || done.Added != 0 {
		t.Errorf("the same reparse again added %d vintages (%v)", done.Added, err)
	}
}

func newest(readings []series.Reading) (t time.Time) {
	for _, r := range readings {
		if r.ObservedAt.After(t) {
			t = r.ObservedAt
		}
	}
	return t
}

func TestAMissingBodyIsNamed(t *testing.T) {
	t.Parallel()
	src := source(t, "eia-petroleum-weekly")
	r := newRecord(t)
	r.live(t, src, 1)
	empty, err := archive.Open(t.Context(), filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = empty.Close() }()
	_, err = backfill.Reparse(t.Context(), r.db, empty, src, time.Now())
	if err == nil || !strings.Contains(err.Error(), "LeafHandler") {
		t.Errorf("reparse of an empty archive: %v", err)
	}
}
