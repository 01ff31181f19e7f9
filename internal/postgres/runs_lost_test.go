package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// A task that kills its worker each time ends after 25 losses.
func TestARunThatKillsItsWorkersEnds(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	id, err := db.AddRun(t.Context(), task.Ingest, "a", instant(t, "2026-03-02T23:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 25; n++ {
		if ok, err := db.Claim(t.Context(), task.Fence{RunID: id, Attempt: n}, "worker"); err != nil || !ok {
			t.Fatalf("claim attempt %d: %v, %v", n, ok, err)
		}
		if _, err := db.Reclaim(t.Context(), -time.Hour); err != nil { // its heartbeats are older than an hour from now
			t.Fatal(err)
		}
	}
	list, err := db.Runs(t.Context(), postgres.RunFilter{ID: id, Limit: 1})
	if err != nil || len(list) != 1 || list[0].Status != "failed" || list[0].Attempt != 25 || list[0].Losses != 25 || list[0].Failures != 0 {
		t.Errorf("after 25 losses: %+v, %v", list, err)
	}
}

// Another session has locked one of two runs. Neither the scheduler nor the heartbeats of a worker wait for it, and the other run is served.
// With this lock_timeout a statement that waits fails.
func TestALockedRunHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		begin func(db *postgres.DB, tasks []task.Task) error
		call  func(db *postgres.DB, tasks []task.Task) error
		done  string
	}{
		"PutBack": {
			func(*postgres.DB, []task.Task) error { return nil },
			func(db *postgres.DB, tasks []task.Task) error { return db.PutBack(t.Context(), tasks) },
			`status = 'due'`,
		},
		"Heartbeat": {
			func(db *postgres.DB, tasks []task.Task) error {
				for _, one := range tasks {
					if _, err := db.Claim(t.Context(), one.Fence, "worker"); err != nil {
						return err
					}
				}
				return nil
			},
			func(db *postgres.DB, tasks []task.Task) error {
				gone, err := db.Heartbeat(t.Context(), []task.Fence{tasks[0].Fence, tasks[1].Fence})
				if err == nil && len(gone) > 0 {
					err = fmt.Errorf("%v are over", gone)
				}
				return err
			},
			`heartbeat_at > now()`, // now is the begin of the other session's transaction
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			db, _ := counted(t, url, postgres.WithConfig(func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["lock_timeout"] = "10" }))
			for _, subject := range []string{"locked", "free"} {
				if _, err := db.AddRun(t.Context(), task.Ingest, subject, instant(t, "2026-03-02T23:00:00Z"), "test"); err != nil {
					t.Fatal(err)
				}
			}
			tasks, err := db.HandOut(t.Context(), 2)
			if err != nil || len(tasks) != 2 {
				t.Fatalf("handed out %v: %v", tasks, err)
			}
			if err := c.begin(db, tasks); err != nil {
				t.Fatal(err)
			}
			other, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close(context.WithoutCancel(t.Context())) }()
			if _, err := other.Exec(t.Context(), `begin; select from runs where subject = 'locked' for no key update`); err != nil {
				t.Fatal(err)
			}
			if err := c.call(db, tasks); err != nil {
				t.Error(err)
			}
			var subjects []string
			if err := other.QueryRow(t.Context(), `select array(select subject from runs where `+c.done+`)`).Scan(&subjects); err != nil {
				t.Fatal(err)
			}
			if want := []string{"free"}; !slices.Equal(subjects, want) {
				t.Errorf("%v were served, want %v", subjects, want)
			}
		})
	}
}
