package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// What an operator may do on the private pages.
const (
	ActionRun    = "run"
	ActionRetry  = "retry"
	ActionPause  = "pause"
	ActionResume = "resume"
	ActionAccept = "accept"
	ActionReject = "reject"
	ActionApply  = "apply"
)

// Action is something that an operator did on the private pages.
type Action struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	// EndedAt, Failed and Detail say what came of it. They are nil while it is under way, and for ever where its process ended meanwhile.
	EndedAt *time.Time `json:"ended_at"`
	Failed  *bool      `json:"failed"`
	Detail  *string    `json:"detail"`
}

// BeginAction writes down what an operator is about to do, and returns its number and time.
func (db *DB) BeginAction(ctx context.Context, a Action) (id int64, at time.Time, err error) {
	err = db.pool.QueryRow(ctx, `
		insert into operator_actions (action, subject, by, reason) values (@action, @subject, @by, @reason) returning id, at`,
		pgx.NamedArgs{"action": a.Action, "subject": a.Subject, "by": a.By, "reason": a.Reason}).Scan(&id, &at)
	if err != nil {
		return 0, at, fmt.Errorf("write down what %s does: %w", a.By, err)
	}
	return id, at.UTC(), nil
}

// EndAction writes down what came of an action, once, and returns when.
func (db *DB) EndAction(ctx context.Context, id int64, failed bool, detail string) (at time.Time, err error) {
	err = db.pool.QueryRow(ctx, `insert into operator_outcomes (action_id, failed, detail) values (@id, @failed, @detail) returning at`,
		pgx.NamedArgs{"id": id, "failed": failed, "detail": detail}).Scan(&at)
	if err != nil {
		return at, fmt.Errorf("write down what came of action %d: %w", id, err)
	}
	return at.UTC(), nil
}

// Actions lists what operators did on the private pages, newest first.
func (db *DB) Actions(ctx context.Context, limit int) ([]Action, error) {
	rows, err := db.reads.Query(ctx, `
		select a.id, a.at, a.action, a.subject, a.by, a.reason, o.at as ended_at, o.failed, o.detail
		from operator_actions a
		left join operator_outcomes o on o.action_id = a.id
		order by a.id desc
		limit @limit`, pgx.NamedArgs{"limit": limit})
	list, err := collect[Action](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read what operators did: %w", err)
	}
	return list, nil
}
