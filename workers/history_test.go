package workers_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/companies"
	"tidemark/ingest/edgar"
	shareprices "tidemark/ingest/prices"
	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/internal/config"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/workers"
)

// installation is a database with its archive.
type installation struct {
	t     *testing.T
	url   string
	db    *postgres.DB
	store *archive.Store
}

func newInstallation(t *testing.T) installation {
	t.Helper()
	i := installation{t: t, url: pgtest.New(t)}
	var err error
	if i.db, err = postgres.Open(t.Context(), i.url, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.db.Close)
	if i.store, err = archive.Open(t.Context(), filepath.Join(t.TempDir(), "archive")); err != nil {
		t.Fatal(err)
	}
	i.store.DisableSync()
	t.Cleanup(func() { _ = i.store.Close() })
	return i
}

// kept are the tables that an archive makes again, each with all that it holds but numbers of this database (id, fetch_id, run_id, loads_seen)
// and the times at which this installation worked: recorded_at of fetches, computed_at and served_at of snapshots. A rebuilt snapshot was
// not served here before: its served_at is the time of the rebuild.
var kept = map[string]string{
	"observations": `select o.series, o.observed_at, o.vintage_at, o.value, o.marker, o.assumed, f.source, f.url, f.fetched_at, f.sha256
		from observations o join fetches f on f.id = o.fetch_id`,
	"watermarks": `select w.series, w.first_loaded_at, w.confirmed_at, f.url, f.fetched_at, f.sha256 from watermarks w join fetches f on f.id = w.fetch_id`,
	"snapshots": `select signal, at, status, cause, covers_from, observed_at, known_at, first_ingested_at, value, lo, hi, baseline, scale, z_score, delta_pct, n,
		components, inputs, backtest, uncertainty, synthetic, code_version from snapshots`,
	"estimates": `select signal, observed_at, known_at, edition, gone, kept, value, lo, hi, baseline, scale, n, z_score, delta_pct, input_known_at from estimates`,
	"fetches":   `select source, url, status, header, fetched_at, sha256, bytes, not_modified, synthetic, constructed from fetches`,
	"companies": ofFetches("companies"), "filings": ofFetches("filings"), "facts": ofFetches("facts"), "bars": ofFetches("bars"),
	"actions": ofFetches("actions"), "news": ofFetches("news"), "risk_factors": ofFetches("risk_factors"), "second_closes": ofFetches("second_closes"),
	"listings": `select * from listings`, "equity_watermarks": `select * from equity_watermarks`,
}

func ofFetches(table string) string {
	return `select to_jsonb(x) - 'fetch_id' as row, f.url, f.fetched_at, f.sha256 from ` + table + ` x join fetches f on f.id = x.fetch_id`
}

// sums are the checksums of all that an archive makes again, with how many rows each has.
func (i installation) sums() map[string]string {
	i.t.Helper()
	all := map[string]string{}
	for name, sql := range kept {
		all[name] = i.sum(sql)
	}
	return all
}

// sum is how many rows a query has, with their checksum.
func (i installation) sum(sql string) string {
	i.t.Helper()
	c, err := pgx.Connect(i.t.Context(), i.url)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(i.t.Context())) }()
	var n int
	var sum string
	err = c.QueryRow(i.t.Context(), `
		select count(*), coalesce(md5(string_agg(md5(x::text), '' order by md5(x::text))), '') from (`+sql+`) x`).Scan(&n, &sum)
	if err != nil {
		i.t.Fatalf("%s: %v", sql, err)
	}
	return fmt.Sprint(n, " ", sum)
}

func (i installation) export() string {
	i.t.Helper()
	dir := filepath.Join(i.t.TempDir(), "export")
	if _, err := archive.Export(i.t.Context(), dir, i.store, i.db, archive.Origin{World: "sandbox"}); err != nil {
		i.t.Fatal(err)
	}
	return dir
}

// take imports a folder.
func (i installation) take(ctx context.Context, dir string) (archive.Imported, error) {
	i.t.Helper()
	folder, err := archive.OpenFolder(dir)
	if err != nil {
		i.t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	return archive.Import(ctx, folder, i.store, i.db, time.Time{}, nil)
}

// history returns the job that rebuilds an installation.
func (i installation) history(sigs workers.Signals, list ...ingest.Source) workers.History {
	sigs.DB = i.db
	h := workers.History{DB: i.db, Archive: i.store, Sources: map[string]ingest.Source{}, Signals: sigs}
	for _, s := range list {
		h.Sources[s.ID] = s
	}
	return h
}

// TestAnArchiveAloneMakesAYearAgain runs through a year of the sandbox with revisions, faults and companies, and makes all of it again
// from the export.
func TestAnArchiveAloneMakesAYearAgain(t *testing.T) {
	t.Parallel()
	first := newInstallation(t)
	x := exchangeOn(t, first.db, first.store, "top 6", "2025-01-08 20:00")
	defs := map[string]signals.Definition{}
	for _, d := range signals.All() {
		defs[d.ID] = d
	}
	sigs := workers.Signals{DB: first.db, Definitions: defs, CodeVersion: "test"}
	job := workers.Ingest{DB: first.db, Engine: x.job.Engine, Sources: map[string]ingest.Source{}, Dependents: map[string][]string{}}
	list := sources.All(config.Upstreams{})
	for _, s := range list {
		job.Sources[s.ID] = s
	}
	x.job.Second = workers.Prices{ID: "second", Ask: func(ctx context.Context, shares []companies.Share, w series.Window, runID int64) ([]ingest.Fetched, error) {
		var list []shareprices.Share
		for _, s := range shares {
			list = append(list, shareprices.Share{CIK: s.CIK, Ticker: s.Ticker})
		}
		return x.job.Engine.Collect(ctx, shareprices.Yahoo(list), w, runID)
	}}
	run := func(job, subject string, do func(context.Context, task.Task) error) {
		t.Helper()
		tk := claimed(t, first.db, job, subject, x.clock.Now())
		tk.Slot = x.clock.Now()
		err := do(t.Context(), tk)
		if err == nil {
			err = first.db.Succeed(t.Context(), tk.Fence)
		} else if _, ferr := first.db.Fail(t.Context(), tk.Fence, err.Error(), 0, true, false); ferr != nil {
			t.Fatal(ferr)
		}
		if err != nil && x.fault == nil {
			t.Logf("%s %s at %s: %v", job, subject, x.clock.Now().Format(time.RFC3339), err)
		}
	}
	compute := func() {
		for _, d := range signals.All() {
			run(task.Signal, d.ID, sigs.Run)
		}
	}
	begin := x.clock.Now()
	compute() // nothing is known yet
	for fortnight := range 27 {
		x.clock.AdvanceTo(begin.AddDate(0, 0, 14*fortnight))
		x.fault = nil
		if fortnight == 0 || fortnight == 10 { // a part of a source is unavailable, at the first load as well
			x.fault = func(url string) (world.Fault, bool) {
				return world.ErrorPage(503), strings.Contains(url, "EER_EPMRU") || strings.Contains(url, "ecb")
			}
		}
		for _, s := range list {
			run(task.Ingest, s.ID, job.Run)
		}
		if fortnight%8 == 0 {
			for _, subject := range []string{x.job.Companies.ID, x.job.Current.ID, x.job.Prices.ID, x.job.Second.ID} {
				run(task.Equities, subject, x.job.Run)
				x.clock.AdvanceTo(x.clock.Now().Add(time.Minute)) // it may have made others due for this instant
			}
		}
		if fortnight == 0 {
			x.fault = nil
			for _, s := range list {
				run(task.Ingest, s.ID, job.Run) // the next attempt, at the same instant
			}
		}
		if fortnight%2 == 0 {
			compute()
		}
	}
	want := first.sums()
	for _, table := range []string{"observations", "snapshots", "estimates", "companies", "listings", "filings", "facts", "bars", "second_closes"} {
		if strings.HasPrefix(want[table], "0 ") {
			t.Errorf("%s is empty: this shows nothing of it", table)
		}
	}
	dir := first.export()

	second := newInstallation(t)
	if done, err := second.take(t.Context(), dir); err != nil || len(done.There) != 0 || done.Steps == 0 {
		t.Fatalf("import: %+v (%v)", done, err)
	}
	all := append(slices.Clone(list), edgar.Companies(agent), edgar.Current(agent), edgar.Submissions(agent, nil), edgar.Facts(agent, nil),
		shareprices.Yahoo(nil))
	if done, err := second.history(sigs, all...).Rebuild(t.Context(), ""); err != nil || len(done.Unknown) != 0 {
		t.Fatalf("rebuild: %+v (%v)", done, err)
	}
	if d := cmp.Diff(want, second.sums()); d != "" {
		t.Errorf("(-lived +rebuilt):\n%s", d)
	}
	for _, s := range list { // nothing is left that a reparse would add
		done, err := backfill.Reparse(t.Context(), second.db, second.store, s, x.clock.Now())
		if err != nil || done.Added != 0 {
			t.Errorf("reparse of %s after it: %+v (%v)", s.ID, done, err)
		}
	}
	var ids []series.ID
	for _, d := range signals.All() {
		ids = append(ids, d.Inputs...)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		at := begin.AddDate(-1, 0, 0).Add(time.Duration(dice.Int64N(int64(2 * 366 * 24 * time.Hour))))
		id := ids[dice.IntN(len(ids))]
		a, err := first.db.ObservationsAsOf(t.Context(), []series.ID{id}, at)
		if err != nil {
			t.Fatal(err)
		}
		b, err := second.db.ObservationsAsOf(t.Context(), []series.ID{id}, at)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("%s as of %s (-lived +rebuilt):\n%s", id, at, d)
		}
	}
}

// lived is a small installation with revisions, a failed page, and two quarantined responses, one accepted and one rejected.
func lived(t *testing.T) (installation, ingest.Source) {
	t.Helper()
	src := pageSource()
	d := newClaimService(t, src)
	d.publish("/a.csv", prices(40, 70)...)
	_, _ = d.run() // b fails
	d.publish("/b.csv", prices(40, 2)...)
	_, _ = d.run()
	d.publish("/a.csv", append(prices(40, 70), "2026-03-02,70")...)
	_, _ = d.run()
	d.publish("/a.csv", append(prices(40, 70_000), "2026-03-02,70000")...)
	_, _ = d.run()
	d.publish("/b.csv", prices(40, 2_000)...)
	_, _ = d.run()
	held := d.quarantine()
	if len(held) != 2 {
		t.Fatalf("%d answers are in quarantine, want 2", len(held))
	}
	if err := d.db.RejectQuarantined(t.Context(), held[0].ID, postgres.Decision{At: d.clock.Now(), By: "t", Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ingest.Accept(t.Context(), held[1].ID, postgres.Decision{At: d.clock.Now().Add(time.Hour), By: "t", Reason: "r"}); err != nil {
		t.Fatal(err)
	}
	return installation{t: t, url: d.url, db: d.db, store: d.ingest.Engine.Archive.(*archive.Store)}, src
}

func TestWhatWasHeldAndAcceptedIsMadeAgain(t *testing.T) {
	t.Parallel()
	first, src := lived(t)
	second := newInstallation(t)
	dir := first.export()
	if _, err := second.take(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := second.history(workers.Signals{}, src).Rebuild(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first.sums(), second.sums()); d != "" {
		t.Errorf("(-lived +rebuilt):\n%s", d)
	}
	// Data rejected there are not stored here by reading the archive once more.
	if done, err := backfill.Reparse(t.Context(), second.db, second.store, src, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil || done.Added != 0 {
		t.Errorf("reparse after it: %+v (%v)", done, err)
	}
	// The same folder once more brings nothing, and names what it leaves out.
	again, err := second.take(t.Context(), dir)
	if err != nil || again.Exchanges != 0 || again.Steps != 0 || len(again.There) == 0 || again.There[0].URL == "" {
		t.Errorf("the same import again: %+v (%v)", again, err)
	}
	// Rebuilt data are exported in their original form.
	third := newInstallation(t)
	if _, err := third.take(t.Context(), second.export()); err != nil {
		t.Fatal(err)
	}
	if _, err := third.history(workers.Signals{}, src).Rebuild(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first.sums(), third.sums()); d != "" {
		t.Errorf("an archive of what was rebuilt (-lived +rebuilt twice):\n%s", d)
	}
}

func TestTwoExchangesOfOneInstantAreBothImported(t *testing.T) {
	t.Parallel()
	first := newInstallation(t)
	body := []byte("the same")
	digest, err := first.store.Put(t.Context(), body)
	if err != nil {
		t.Fatal(err)
	}
	f := series.Fetch{
		Source: "s", URL: "https://upstream.example/", Status: 200, FetchedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), SHA256: digest, Bytes: int64(len(body)),
	}
	for range 2 {
		if _, err := first.db.RecordFetch(t.Context(), f, 0); err != nil {
			t.Fatal(err)
		}
	}
	dir := first.export()
	second := newInstallation(t)
	if done, err := second.take(t.Context(), dir); err != nil || done.Exchanges != 2 || len(done.There) != 0 {
		t.Errorf("%+v (%v), want both", done, err)
	}
	if done, err := second.take(t.Context(), dir); err != nil || done.Exchanges != 0 || len(done.There) != 2 {
		t.Errorf("once more: %+v (%v), want none", done, err)
	}
}

// stopper ends its context when more fetches are to be recorded than are left.
type stopper struct {
	*postgres.DB
	left int
	stop func()
}

// RecordFetches records as many fetches as are left, as if the process died before the others came.
func (s *stopper) RecordFetches(ctx context.Context, list []series.Fetch) ([]int64, error) {
	if len(list) <= s.left {
		s.left -= len(list)
		return s.DB.RecordFetches(ctx, list)
	}
	if _, err := s.DB.RecordFetches(ctx, list[:s.left]); err != nil {
		return nil, err
	}
	s.stop()
	return nil, ctx.Err()
}

func TestAnImportAndARebuildThatWereKilledGoOn(t *testing.T) {
	t.Parallel()
	first, src := lived(t)
	want, dir := first.sums(), first.export()
	second := newInstallation(t)
	folder, err := archive.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	for killed := 1; ; killed++ {
		ctx, stop := context.WithCancel(t.Context())
		_, err := archive.Import(ctx, folder, second.store, &stopper{second.db, 3, stop}, time.Time{}, nil)
		stop()
		if err == nil {
			if killed < 3 {
				t.Fatalf("the import was killed %d times", killed-1)
			}
			break
		}
	}
	for killed := 1; ; killed++ {
		ctx, stop := context.WithCancel(t.Context())
		h := second.history(workers.Signals{}, src)
		h.Report = func(done, _ int64) {
			if done == 1 {
				stop()
			}
		}
		_, err := h.Rebuild(ctx, "")
		stop()
		if err == nil {
			if killed < 3 {
				t.Fatalf("the rebuild was killed %d times", killed-1)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(want, second.sums()); d != "" {
		t.Errorf("(-lived +rebuilt):\n%s", d)
	}
}

// firstRelease is the schema of the programs before 2026-11-22, which did not note what was stored together.
const firstRelease = 16

// aged is an installation as the program of the first release would have left it, after an upgrade.
func (i installation) aged() installation {
	i.t.Helper()
	before := i.sums()
	pgtest.MigrateTo(i.t, i.url, firstRelease)
	if err := postgres.Migrate(i.t.Context(), i.url, slog.New(slog.DiscardHandler)); err != nil {
		i.t.Fatal(err)
	}
	db, err := postgres.Open(i.t.Context(), i.url, postgres.RoleWorker) // connections from before know the tables as they were
	if err != nil {
		i.t.Fatal(err)
	}
	i.t.Cleanup(db.Close)
	i.db = db
	if d := cmp.Diff(before, i.sums()); d != "" {
		i.t.Errorf("an upgrade from the first release changes what is stored (-before +after):\n%s", d)
	}
	return i
}

func TestAnInstallationOfTheFirstReleaseIsMadeAgainFromItsArchive(t *testing.T) {
	t.Parallel()
	for name, live := range map[string]func(t *testing.T) (installation, []ingest.Source){
		"what was held, accepted and rejected": func(t *testing.T) (installation, []ingest.Source) {
			i, src := lived(t)
			return i, []ingest.Source{src}
		},
		"three months of the sandbox with an outage": func(t *testing.T) (installation, []ingest.Source) {
			i := newInstallation(t)
			x := exchangeOn(t, i.db, i.store, "top 6", "2019-01-08 20:00") // each month of TEMIS before would be a text of 16.8 MB
			list := sources.All(config.Upstreams{})
			job := workers.Ingest{DB: i.db, Engine: x.job.Engine, Sources: map[string]ingest.Source{}, Dependents: map[string][]string{}}
			for _, s := range list {
				job.Sources[s.ID] = s
			}
			begin := x.clock.Now()
			for month := range 4 {
				x.clock.AdvanceTo(begin.AddDate(0, month, 0))
				for _, away := range []bool{month == 0, false} { // at first a part is unavailable, and comes with the next attempt
					x.fault = func(url string) (world.Fault, bool) {
						return world.ErrorPage(503), away && (strings.Contains(url, "EER_EPMRU") || strings.Contains(url, "ecb"))
					}
					for _, s := range list {
						tk := claimed(t, i.db, task.Ingest, s.ID, x.clock.Now())
						if err := job.Run(t.Context(), tk); err == nil {
							err = i.db.Succeed(t.Context(), tk.Fence)
							if err != nil {
								t.Fatal(err)
							}
						} else if _, err := i.db.Fail(t.Context(), tk.Fence, err.Error(), 0, true, false); err != nil {
							t.Fatal(err)
						}
					}
					x.clock.AdvanceTo(x.clock.Now().Add(time.Hour))
				}
			}
			return i, list
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, list := live(t)
			first = first.aged()
			second := newInstallation(t)
			if done, err := second.take(t.Context(), first.export()); err != nil || done.Steps == 0 {
				t.Fatalf("import: %+v (%v)", done, err)
			}
			if done, err := second.history(workers.Signals{}, list...).Rebuild(t.Context(), ""); err != nil || len(done.Unknown) != 0 {
				t.Fatalf("rebuild: %+v (%v)", done, err)
			}
			want, got := first.sums(), second.sums()
			if strings.HasPrefix(want["observations"], "0 ") {
				t.Error("there are no observations: this shows nothing")
			}
			// What answers confirmed and did not change was not noted: only the instants of confirmation are lost.
			want["watermarks"], got["watermarks"] = "", ""
			want["first loads"], got["first loads"] = first.sum(firstLoads), second.sum(firstLoads)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-lived +rebuilt):\n%s", d)
			}
		})
	}
}

const firstLoads = `select series, first_loaded_at from watermarks`
