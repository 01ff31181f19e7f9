package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/postgres"
)

// The states of a worker.
const (
	WorkerIdle     = "idle"
	WorkerBusy     = "at work"
	WorkerStopping = "stopping"
	// WorkerSilent has runs but sends no heartbeat: it was killed or is frozen, and other workers take over its runs.
	WorkerSilent = "silent"
)

// Worker is a process that runs tasks.
type Worker struct {
	// Name is the name in the run log: host and process.
	Name string
	// Since is when it began, zero if it is silent. Places is the number of runs it can do at once.
	Since  time.Time
	Places int
	State  string
	Runs   []WorkerRun
}

// WorkerRun is a run that a worker is doing.
type WorkerRun struct {
	ID      int64     `json:"id"`
	Job     string    `json:"job"`
	Subject string    `json:"subject"`
	Slot    time.Time `json:"slot"`
	Attempt int       `json:"attempt"`
	// Since is when the attempt began.
	Since *time.Time `json:"since"`
}

// maxRunning limits the number of runs that are read. There are at most as many as all workers have places.
const maxRunning = 10_000

// Workers lists the workers by name: workers that send heartbeats to the queue, and workers that have running runs in the run log.
func (q *Queue) Workers(ctx context.Context, db *postgres.DB) ([]Worker, error) {
	servers, err := q.inspector.Servers()
	if err != nil {
		return nil, fmt.Errorf("ask the queue (REDIS_URL): %w", err)
	}
	running, err := db.Runs(ctx, postgres.RunFilter{Status: "running", Limit: maxRunning})
	if err != nil {
		return nil, err
	}
	byName := map[string]*Worker{}
	for _, s := range servers { // a worker is several of the library's servers
		name := fmt.Sprintf("%s/%d", s.Host, s.PID)
		w := byName[name]
		if w == nil {
			w = &Worker{Name: name, Since: s.Started.UTC(), State: WorkerIdle}
			byName[name] = w
		}
		w.Places += s.Concurrency
		if s.Started.Before(w.Since) {
			w.Since = s.Started.UTC()
		}
		if s.Status != "active" {
			w.State = WorkerStopping
		}
	}
	for _, r := range running {
		if r.Worker == nil {
			continue
		}
		w := byName[*r.Worker]
		if w == nil {
			w = &Worker{Name: *r.Worker, State: WorkerSilent}
			byName[*r.Worker] = w
		}
		if w.State == WorkerIdle {
			w.State = WorkerBusy
		}
		w.Runs = append(w.Runs, WorkerRun{ID: r.ID, Job: r.Job, Subject: r.Subject, Slot: r.Slot.UTC(), Attempt: r.Attempt, Since: r.StartedAt})
	}
	list := make([]Worker, 0, len(byName))
	for _, w := range byName {
		slices.SortFunc(w.Runs, func(a, b WorkerRun) int { return cmp.Compare(a.ID, b.ID) })
		list = append(list, *w)
	}
	slices.SortFunc(list, func(a, b Worker) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}
