package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/ingest/archive"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/workers"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ledger is a database and an archive with one fetch of a year of prices, and the crack spread computed from them.
type ledger struct {
	t       *testing.T
	url     string
	folder  string
	db      *postgres.DB
	digest  string
	clockAt time.Time
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{t: t, url: pgtest.New(t), folder: t.TempDir(), clockAt: time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)}
	ctx := t.Context()
	var err error
	if l.db, err = postgres.Open(ctx, l.url, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.db.Close)
	if _, err := l.db.EnsureWorld(ctx, "sandbox", &l.clockAt); err != nil {
		t.Fatal(err)
	}
	store, err := archive.Open(ctx, l.folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	body := []byte(strings.Repeat("a page of prices\n", 100))
	if l.digest, err = store.Put(ctx, body); err != nil {
		t.Fatal(err)
	}
	fetched := l.clockAt.Add(-24 * time.Hour)
	id, err := l.db.RecordFetch(ctx, series.Fetch{
		Source: "eia-petroleum-spot", URL: "https://upstream.example/prices", Status: 200, FetchedAt: fetched, SHA256: l.digest, Bytes: int64(len(body)),
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	load := postgres.Load{FetchID: id, FetchedAt: fetched, Published: func(_ series.ID, at time.Time) time.Time { return at.AddDate(0, 0, 2) }}
	for i := range 365 {
		at := fetched.Truncate(24*time.Hour).AddDate(0, 0, i-365)
		for id, v := range map[series.ID]float64{"eia.RWTC": 84.54, "eia.EER_EPMRU_PF4_Y35NY_DPG": 2.57, "eia.EER_EPD2DXL0_PF4_Y35NY_DPG": 2.79} {
			load.Readings = append(load.Readings, series.Reading{Series: id, ObservedAt: at, Value: v})
		}
	}
	if _, err := l.db.StoreLoads(ctx, task.Fence{}, []postgres.Load{load}, nil); err != nil {
		t.Fatal(err)
	}
	l.compute(l.clockAt.Add(-time.Hour))
	return l
}

// compute does a worker's computation for a slot.
func (l *ledger) compute(slot time.Time) {
	l.t.Helper()
	def, ok := signals.ByID("crack-spread-321")
	if !ok {
		l.t.Fatal("the catalog has no crack spread")
	}
	job := workers.Signals{DB: l.db, Definitions: map[string]signals.Definition{def.ID: def}, CodeVersion: codeVersion()}
	if err := job.Run(l.t.Context(), task.Task{Job: task.Signal, Subject: def.ID, Slot: slot}); err != nil {
		l.t.Fatal(err)
	}
}

// tell stores the newest snapshot with something else in it.
func (l *ledger) tell(lie func(*postgres.Snapshot)) {
	l.t.Helper()
	snap, err := l.db.SnapshotAsOf(l.t.Context(), "crack-spread-321", l.clockAt)
	if err != nil {
		l.t.Fatal(err)
	}
	lie(&snap)
	def, _ := signals.ByID("crack-spread-321")
	_, track, err := workers.Signals{DB: l.db}.Compute(l.t.Context(), def, snap.At)
	if err != nil {
		l.t.Fatal(err)
	}
	if err := l.db.SaveGrowing(l.t.Context(), task.Fence{}, snap, track); err != nil {
		l.t.Fatal(err)
	}
}

// run runs a command on the ledger.
func (l *ledger) run(args ...string) (code int, stdout, stderr string) {
	l.t.Helper()
	var out, complaint bytes.Buffer
	if slices.Contains([]string{"explain", "archive", "reparse", "doctor"}, args[0]) || slices.Contains(args, "accept") { // these read the archive
		args = append(args, "--archive-url="+l.folder)
	}
	args = append(args, "--world=sandbox", "--database-url="+l.url)
	code = run(l.t.Context(), args, &out, &complaint)
	return code, out.String(), complaint.String()
}

func TestExplainLeadsFromANumberToTheBytes(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	var shown struct {
		Signal, Code string
		Value        float64
		Complete     bool
		Differs      []string
		Fetches      []struct{ SHA256 string }
		Newest       []struct{ Series string }
	}
	if code, out, complaint := l.run("explain", "crack-spread-321", "--json"); code != 0 || json.Unmarshal([]byte(out), &shown) != nil || shown.Signal != "crack-spread-321" ||
		shown.Value == 0 || !shown.Complete || len(shown.Differs) != 0 || len(shown.Fetches) != 1 || len(shown.Newest) == 0 {
		t.Errorf("explain --json: exit %d, %+v: %s%s", code, shown, out, complaint)
	}
	code, out, complaint := l.run("explain", "crack-spread-321")
	if code != 0 {
		t.Fatalf("exit %d: %s\n%s", code, complaint, out)
	}
	// The spread of these prices is the example of the brief: 26.48 USD per barrel.
	for _, want := range []string{
		"as of        2026-03-04T11:00:00Z", "value        26.48 USD/bbl", "https://upstream.example/prices", "SHA-256 " + l.digest, "1700 bytes, SHA-256 verified",
		"eia.RWTC                        1      365           364", "snapshot and 365 points  equal, bit for bit",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it lacks %q:\n%s", want, out)
		}
	}
	if code, _, complaint := l.run("explain", "crack-spread-321", "--as-of=2026-03-04T10:59:59Z"); code != 1 || !strings.Contains(complaint, "nothing was known") {
		t.Errorf("before the first computation: exit %d, %s", code, complaint)
	}
	if code, _, complaint := l.run("explain", "brent"); code != 2 || !strings.Contains(complaint, "crack-spread-321") {
		t.Errorf("an unknown signal: exit %d, %s", code, complaint)
	}
}

func TestExplainFindsWhatDoesNotHold(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	// A user with all privileges writes another value in a way that the record cannot refuse.
	snap, err := l.db.SnapshotAsOf(t.Context(), "crack-spread-321", l.clockAt)
	if err != nil {
		t.Fatal(err)
	}
	snap.Value = new(27.0)
	track := signals.Track{{ObservedAt: series.InstantOf(*snap.ObservedAt), KnownAt: series.InstantOf(*snap.KnownAt), Value: 27}}
	if err := l.db.SaveSnapshot(t.Context(), task.Fence{}, snap, track); err != nil {
		t.Fatal(err)
	}
	code, out, _ := l.run("explain", "crack-spread-321")
	if code != 1 || !strings.Contains(out, "value was 27, is 26.48") || !strings.Contains(out, "the history had 1 points, has 365") {
		t.Errorf("with another value: exit %d\n%s", code, out)
	}
	l.compute(l.clockAt.Add(-time.Hour))
	for _, lie := range []struct {
		want string
		tell func(*postgres.Snapshot)
	}{
		{"backtest: /hit_rate_pct is 99", func(s *postgres.Snapshot) { s.Backtest.HitRatePct = new(99.0) }},
		{"backtest: /wins is signal", func(s *postgres.Snapshot) { s.Backtest.Wins = new(signals.WinsSignal) }},
		{"record of the interval: /record/hits is ", func(s *postgres.Snapshot) { s.Uncertainty.Record.Hits-- }},
		{"synthetic was true, is false", func(s *postgres.Snapshot) { s.Synthetic = true }},
		{"the first point was 1990-01-01T00:00:00Z", func(s *postgres.Snapshot) { s.CoversFrom = new(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)) }},
		{"component wti_cushing", func(s *postgres.Snapshot) { s.Components[0].Unit = "EUR/bbl" }},
	} {
		l.tell(lie.tell)
		if code, out, _ := l.run("explain", "crack-spread-321"); code != 1 || !strings.Contains(out, lie.want) {
			t.Errorf("it lacks %q: exit %d\n%s", lie.want, code, out[strings.Index(out, "COMPUTED AGAIN"):])
		}
		l.compute(l.clockAt.Add(-time.Hour)) // repairs it
	}

	files, err := filepath.Glob(filepath.Join(l.folder, "blobs", "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the archive has the files %v (%v)", files, err)
	}
	if err := os.WriteFile(files[0], []byte("other bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, complaint := l.run("explain", "crack-spread-321")
	if code != 1 || !strings.Contains(out, "BROKEN") || !strings.Contains(complaint, "archive") || !strings.Contains(out, "equal, bit for bit") {
		t.Errorf("with other bytes in the archive: exit %d, %s\n%s", code, complaint, out)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := l.run("explain", "crack-spread-321"); code != 1 || !strings.Contains(out, "BROKEN") {
		t.Errorf("without the bytes: exit %d\n%s", code, out)
	}
}

func TestSignalsAreDeprecatedAndRestored(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	list := func() string {
		t.Helper()
		code, out, complaint := l.run("signals")
		if code != 0 {
			t.Fatal(complaint)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "crack-spread-321 ") {
				return strings.Join(strings.Fields(line), " ")
			}
		}
		return out
	}
	status := func() string {
		t.Helper()
		runs, err := l.db.Runs(t.Context(), postgres.RunFilter{Job: task.Signal, Subject: "crack-spread-321", Limit: 1})
		if err != nil || len(runs) != 1 || runs[0].Status != "due" {
			t.Fatalf("the signal is not due: %v (%v)", runs, err)
		}
		l.compute(runs[0].Slot)
		snap, err := l.db.SnapshotAsOf(t.Context(), "crack-spread-321", l.clockAt)
		if err != nil {
			t.Fatal(err)
		}
		return snap.Status
	}
	if got, want := list(), "crack-spread-321 live 2026-03-04T11:00:00Z by hand fresh: the newest observation is of 2026-03-02"; got != want {
		t.Errorf("at first: %q, want %q", got, want)
	}
	if code, _, complaint := l.run("signals", "restore", "crack-spread-321", "--reason=why not"); code != 1 || !strings.Contains(complaint, "not deprecated") {
		t.Errorf("restored what is live: exit %d, %s", code, complaint)
	}
	if code, _, _ := l.run("signals", "deprecate", "crack-spread-321"); code != 2 {
		t.Errorf("deprecated without a reason: exit %d", code)
	}
	if code, _, complaint := l.run("signals", "deprecate", "crack-spread-321", "--reason=the source is gone"); code != 0 {
		t.Fatal(complaint)
	}
	if got := list(); !strings.HasPrefix(got, "crack-spread-321 deprecated 2026-03-04T12:00:00Z ") || !strings.HasSuffix(got, " the source is gone") {
		t.Errorf("deprecated: %q", got)
	}
	if got := status(); got != "deprecated" {
		t.Errorf("its snapshot is %s", got)
	}
	if code, _, _ := l.run("signals", "deprecate", "crack-spread-321", "--reason=again"); code != 1 {
		t.Errorf("deprecated twice: exit %d", code)
	}
	if code, _, complaint := l.run("signals", "restore", "crack-spread-321", "--reason=it is back"); code != 0 {
		t.Fatal(complaint)
	}
	if got := list(); !strings.HasPrefix(got, "crack-spread-321 live ") || !strings.HasSuffix(got, " restored: it is back") {
		t.Errorf("restored: %q", got)
	}
	code, out, _ := l.run("signals", "list", "crack-spread-321")
	if n := strings.Count(out, "\n"); code != 0 || n != 4 {
		t.Errorf("its changes take %d lines, want a header and three:\n%s", n, out)
	}
}
