package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// The states of an editor's choice.
const (
	ChoiceWaiting   = "waiting"   // for the day's job
	ChoiceTaken     = "taken"     // it is the pick of the day
	ChoiceRefused   = "refused"   // Note says why
	ChoiceWithdrawn = "withdrawn" // by a person, before the day's job
)

// EditorChoice is a company that an editor chose for a day instead of the method's pick.
type EditorChoice struct {
	ID int64
	// Date is a trading day.
	Date   time.Time
	Ticker string
	// Price is the closing price that the editor expects. It is nil if the choice does not depend on it.
	Price *string
	// Reason is public. By is only for the operator.
	Reason, By string
	State      string
	Note       *string
	CreatedAt  time.Time
}

// AddEditorChoice records a choice for a day. It returns ErrUnderWay if the day already has a choice.
func (db PublicationStore) AddEditorChoice(ctx context.Context, c EditorChoice) (id int64, err error) {
	err = db.pool.QueryRow(ctx, `
		insert into editor_choices (date, ticker, price, reason, by) values (@date, @ticker, @price, @reason, @by)
		on conflict (date) where state in ('waiting', 'taken') do nothing
		returning id`,
		pgx.NamedArgs{"date": c.Date, "ticker": c.Ticker, "price": c.Price, "reason": c.Reason, "by": c.By}).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("a choice for %s: %w", c.Date.Format(time.DateOnly), ErrUnderWay)
	}
	if err != nil {
		return 0, fmt.Errorf("record the choice for %s: %w", c.Date.Format(time.DateOnly), err)
	}
	return id, nil
}

// EditorChoice returns the waiting or taken choice of a day. It returns ErrNotFound if the day has none.
func (db PublicationStore) EditorChoice(ctx context.Context, day time.Time) (EditorChoice, error) {
	rows, err := db.reads.Query(ctx, `
		select id, date, ticker, price, reason, by, state, note, created_at
		from editor_choices
		where date = @date and state in ('waiting', 'taken')`, pgx.NamedArgs{"date": day}) // index editor_choices_standing
	list, err := collect[EditorChoice](rows, err)
	if err != nil {
		return EditorChoice{}, fmt.Errorf("look for a choice for %s: %w", day.Format(time.DateOnly), err)
	}
	if len(list) == 0 {
		return EditorChoice{}, fmt.Errorf("a choice for %s: %w", day.Format(time.DateOnly), ErrNotFound)
	}
	return list[0], nil
}

// SettleEditorChoice records the outcome of a waiting choice, and why. It changes nothing if the choice is already settled. f is the zero
// fence if an operator withdraws the choice.
func (db PublicationStore) SettleEditorChoice(ctx context.Context, f task.Fence, id int64, state, note string) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := settleChoice(ctx, tx, id, state, note); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return fmt.Errorf("settle choice %d: %w", id, err)
	}
	return nil
}

func settleChoice(ctx context.Context, tx pgx.Tx, id int64, state, note string) error {
	_, err := tx.Exec(ctx, `update editor_choices set state = @state, note = nullif(@note, '') where id = @id and state = 'waiting'`,
		pgx.NamedArgs{"id": id, "state": state, "note": note}) // primary key
	return err
}
