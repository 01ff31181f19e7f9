package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// Attempt is one attempt of a run. A trigger on the table runs records it.
type Attempt struct {
	Attempt int     `json:"attempt"`
	Worker  *string `json:"worker"`
	// StartedAt is nil if no worker started the attempt.
	StartedAt  *time.Time `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at"`
	// Outcome is one of: running, succeeded, failed, skipped, lost, waited, "goes on later", "given back", superseded, "not begun".
	Outcome string `json:"outcome"`
	// Rows is the number of rows that the attempt added. It is nil while the attempt runs.
	Rows  *int64    `json:"rows"`
	Error *string   `json:"error"`
	Log   []LogLine `json:"log"`
}

// LogLine is a line that an attempt logged.
type LogLine struct {
	At    time.Time `json:"at"`
	Level string    `json:"level"`
	Text  string    `json:"text"`
}

// Attempts returns the attempts of a run, oldest first.
func (db RunStore) Attempts(ctx context.Context, run int64) ([]Attempt, error) {
	rows, err := db.reads.Query(ctx, `
		select attempt, worker, started_at, finished_at, outcome, rows_added as rows, error, log
		from run_attempts
		where run_id = @run
		order by attempt`, pgx.NamedArgs{"run": run})
	list, err := collect[Attempt](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the attempts of run %d: %w", run, err)
	}
	return list, nil
}

// KeepLog stores the log of an attempt so far, even if the attempt has lost its run. A longer log that is already stored stays, because two
// calls may arrive out of order.
func (db RunStore) KeepLog(ctx context.Context, f task.Fence, lines []LogLine) error {
	_, err := db.pool.Exec(ctx, `
		update run_attempts set log = @log
		where run_id = @run and attempt = @attempt and jsonb_array_length(log) <= jsonb_array_length(@log::jsonb)`,
		pgx.NamedArgs{"log": lines, "run": f.RunID, "attempt": f.Attempt})
	if err != nil {
		return fmt.Errorf("keep the log of run %d: %w", f.RunID, err)
	}
	return nil
}
