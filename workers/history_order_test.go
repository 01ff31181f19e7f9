package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/ingest"
	"tidemark/ingest/sources"
	"tidemark/internal/config"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/test/program"
	"tidemark/workers"
)

// A signal is computed while the first answers of its source are stored. It has no value. A rebuilt archive must have none either, whichever
// of the two was saved first.
func TestASnapshotBesideALoadIsRebuiltFromWhatItSaw(t *testing.T) {
	t.Parallel()
	for name, beside := range map[string]func(s besideALoad){
		"read before, saved after": func(s besideALoad) {
			save := s.compute()
			s.load()
			save()
		},
		"all of it while the load commits": func(s besideALoad) {
			c := s.connect()
			s.exec(c, `
				create function await_test() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(4711); return null; end $$;
				create constraint trigger await_test after insert on loads deferrable initially deferred for each row execute function await_test();
				select pg_advisory_lock(4711)`)
			stored := make(chan struct{})
			go func() {
				defer close(stored)
				s.load()
			}()
			program.Until(s.t, time.Minute, "the load waits at its commit", func() (bool, string) {
				var n int
				err := c.QueryRow(s.t.Context(), `select count(*) from pg_locks where locktype = 'advisory' and objid = 4711 and not granted`).Scan(&n)
				return err == nil && n == 1, ""
			})
			s.compute()()
			s.exec(c, `select pg_advisory_unlock(4711)`)
			<-stored
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newBesideALoad(t)
			beside(s)
			want := s.sums()
			second, third := newInstallation(t), newInstallation(t)
			rebuilt(t, s.installation, second, s.sigs, s.src)
			if d := cmp.Diff(want, second.sums()); d != "" {
				t.Errorf("(-lived +rebuilt):\n%s", d)
			}
			rebuilt(t, second, third, s.sigs, s.src)
			if d := cmp.Diff(want, third.sums()); d != "" {
				t.Errorf("(-lived +rebuilt from what was rebuilt):\n%s", d)
			}
		})
	}
}

func rebuilt(t *testing.T, from, to installation, sigs workers.Signals, src ingest.Source) {
	t.Helper()
	if _, err := to.take(t.Context(), from.export()); err != nil {
		t.Fatal(err)
	}
	if _, err := to.history(sigs, src).Rebuild(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// besideALoad is an installation with one signal and the source that has its data.
type besideALoad struct {
	installation
	x    *equitiesFixture
	sigs workers.Signals
	job  workers.Ingest
	src  ingest.Source
}

func newBesideALoad(t *testing.T) besideALoad {
	t.Helper()
	s := besideALoad{installation: newInstallation(t)}
	s.x = exchangeOn(t, s.db, s.store, "top 6", "2025-01-08 20:00")
	defs := map[string]signals.Definition{}
	for _, d := range signals.All() {
		defs[d.ID] = d
	}
	s.sigs = workers.Signals{DB: s.db, Definitions: defs, CodeVersion: "test"}
	s.job = workers.Ingest{DB: s.db, Engine: s.x.job.Engine, Sources: map[string]ingest.Source{}, Dependents: map[string][]string{}}
	for _, src := range sources.All(config.Upstreams{}) {
		if s.job.Sources[src.ID] = src; src.ID == "eia-petroleum-weekly" {
			s.src = src
		}
	}
	return s
}

// compute computes the signal, which must have no value yet, and returns what saves it.
func (s besideALoad) compute() (save func()) {
	snap, track, err := s.sigs.Compute(s.t.Context(), s.sigs.Definitions["eia-weekly-petroleum"], s.x.clock.Now())
	if err != nil || snap.Value != nil {
		s.t.Error(snap.Value, err)
	}
	return func() {
		if err := s.db.SaveGrowing(s.t.Context(), task.Fence{}, snap, track); err != nil {
			s.t.Error(err)
		}
	}
}

func (s besideALoad) load() {
	tk := claimed(s.t, s.db, task.Ingest, s.src.ID, s.x.clock.Now())
	tk.Slot = s.x.clock.Now()
	if err := s.job.Run(s.t.Context(), tk); err != nil {
		s.t.Error(err)
	}
}

func (s besideALoad) connect() *pgx.Conn {
	c, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close(context.WithoutCancel(s.t.Context())) })
	return c
}

func (s besideALoad) exec(c *pgx.Conn, sql string) {
	if _, err := c.Exec(s.t.Context(), sql); err != nil {
		s.t.Fatal(err)
	}
}
