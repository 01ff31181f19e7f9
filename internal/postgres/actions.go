package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The actions of an operator on the private pages.
const (
	ActionRun    = "run"
	ActionRetry  = "retry"
	ActionPause  = "pause"
	ActionResume = "resume"
	ActionAccept = "accept"
	ActionReject = "reject"
	ActionApply  = "apply"
)

// Action is an action that an operator took on the private pages.
type Action struct {
	ID      int64     `json:"id"`
	At      time.Time `json:"at"`
	Action  string    `json:"action"`
	Subject string    `json:"subject"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	// EndedAt, Failed and Detail are the outcome. They are nil while the action runs. They stay nil if its process ended before it could
	// record the outcome.
	EndedAt *time.Time `json:"ended_at"`
	Failed  *bool      `json:"failed"`
	Detail  *string    `json:"detail"`
}

// BeginAction records an action before the operator's request runs, and returns its number and time.
func (db OperatorStore) BeginAction(ctx context.Context, a Action) (id int64, at time.Time, err error) {
	err = db.pool.QueryRow(ctx, `
		insert into operator_actions (action, subject, by, reason) values (@action, @subject, @by, @reason) returning id, at`,
		pgx.NamedArgs{"action": a.Action, "subject": a.Subject, "by": a.By, "reason": a.Reason}).Scan(&id, &at)
	if err != nil {
		return 0, at, fmt.Errorf("write down what %s does: %w", a.By, err)
	}
	return id, at.UTC(), nil
}

// EndAction records the outcome of an action, once, and returns when.
func (db OperatorStore) EndAction(ctx context.Context, id int64, failed bool, detail string) (at time.Time, err error) {
	err = db.pool.QueryRow(ctx, `insert into operator_outcomes (action_id, failed, detail) values (@id, @failed, @detail) returning at`,
		pgx.NamedArgs{"id": id, "failed": failed, "detail": detail}).Scan(&at)
	if err != nil {
		return at, fmt.Errorf("write down what came of action %d: %w", id, err)
	}
	return at.UTC(), nil
}

// Actions lists the actions of operators on the private pages, newest first.
func (db OperatorStore) Actions(ctx context.Context, limit int) ([]Action, error) {
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
