package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// State is the state of a signal from an instant on, and why.
type State struct {
	Signal string
	At     time.Time
	// State is signals.StatusLive, StatusDecayed or StatusDeprecated.
	State, Cause string
	// By is the run or the operator that changed it.
	By string
}

const stateColumns = `signal, at, state, cause, by`

// StateAsOf returns the state of a signal at an instant, or ErrNotFound if it had none yet.
func (db SnapshotStore) StateAsOf(ctx context.Context, signal string, at time.Time) (State, error) {
	rows, err := db.reads.Query(ctx, `
		select `+stateColumns+` from signal_states where signal = @signal and at <= @at order by at desc, id desc limit 1`,
		pgx.NamedArgs{"signal": signal, "at": at}) // index signal_states_of
	if err != nil {
		return State{}, fmt.Errorf("read the state of %s: %w", signal, err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[State])
	if errors.Is(err, pgx.ErrNoRows) {
		return State{}, fmt.Errorf("the state of %s: %w", signal, ErrNotFound)
	}
	if err != nil {
		return State{}, fmt.Errorf("read the state of %s: %w", signal, err)
	}
	return s, nil
}

// States returns every change of state of a signal, or of all signals if signal is empty, in the order of time.
func (db SnapshotStore) States(ctx context.Context, signal string) ([]State, error) {
	rows, err := db.reads.Query(ctx, `
		select `+stateColumns+` from signal_states where @signal = '' or signal = @signal order by at, id`,
		pgx.NamedArgs{"signal": signal})
	list, err := collect[State](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the states: %w", err)
	}
	return list, nil
}

// AddState records a change of state that an operator requests.
func (db SnapshotStore) AddState(ctx context.Context, s State) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockSignal(ctx, tx, s.Signal); err != nil {
			return err
		}
		return insertState(ctx, tx, s)
	})
	if err != nil {
		return fmt.Errorf("record the state of %s: %w", s.Signal, err)
	}
	return nil
}

// operatorStates yields the states that operators gave to signals, as steps. Every other state follows from computed values. It reports
// whether the caller wants more.
func (db SnapshotStore) operatorStates(ctx context.Context, yield func(series.Step, error) bool) (bool, error) {
	rows, err := db.reads.Query(ctx, `
		select `+stateColumns+` from signal_states where by <> @computed and by !~ '^run [0-9]+$' order by at, id`,
		pgx.NamedArgs{"computed": byHand})
	list, err := collect[State](rows, err)
	if err != nil {
		return false, fmt.Errorf("read the states: %w", err)
	}
	for _, s := range list {
		if !yield(series.Step{Signal: s.Signal, At: s.At, State: s.State, Cause: s.Cause, By: s.By}, nil) {
			return false, nil
		}
	}
	return true, nil
}

// bringState records an operator's state of an imported archive, unless it is here already.
func bringState(ctx context.Context, tx pgx.Tx, s series.Step) error {
	if err := lockSignal(ctx, tx, s.Signal); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		insert into signal_states (signal, at, state, cause, by)
		select @signal::text, @at::timestamptz, @state::text, @cause::text, @by::text
		where not exists (
			select from signal_states where signal = @signal and at = @at and state = @state and cause = @cause and by = @by)`,
		pgx.NamedArgs{"signal": s.Signal, "at": s.At, "state": s.State, "cause": s.Cause, "by": s.By})
	if err != nil {
		return fmt.Errorf("add a state: %w", err)
	}
	return nil
}

// byHand is the author of a computed state that belongs to no run.
const byHand = "by hand"

const insertStateSQL = `insert into signal_states (signal, at, state, cause, by) values (@signal, @at, @state, @cause, @by)`

func (s State) args() pgx.NamedArgs {
	return pgx.NamedArgs{"signal": s.Signal, "at": s.At, "state": s.State, "cause": s.Cause, "by": s.By}
}

func insertState(ctx context.Context, tx pgx.Tx, s State) error {
	if _, err := tx.Exec(ctx, insertStateSQL, s.args()); err != nil {
		return fmt.Errorf("add a state: %w", err)
	}
	return nil
}

// Selects the state in force at an instant, and the next computed instant if no other change of state lies between the two.
const statesAroundSQL = `
	select coalesce(s.state, ''), coalesce(s.cause, ''), coalesce(s.by, ''), later.at
	from (select) one
	left join lateral (
		select state, cause, by from signal_states where signal = @signal and at <= @at order by at desc, id desc limit 1) s on true
	left join lateral (
		select min(n.at) as at from snapshots n where n.signal = @signal and n.at > @at) n on true
	left join lateral (
		select n.at where not exists (
			select from signal_states x where x.signal = @signal and x.at > @at and x.at <= n.at)) later on true`

// stateAround is the state in force at an instant, and the next computed instant if no other change of state lies between the two.
type stateAround struct {
	now   State
	later *time.Time
}

func (a *stateAround) scan(row pgx.Row) error {
	if err := row.Scan(&a.now.State, &a.now.Cause, &a.now.By, &a.later); err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	return nil
}

// changed returns the changes of state that a snapshot makes: its status, if it differs from the state in force. As in the history, all other
// instants keep their state.
func (a stateAround) changed(s Snapshot, f task.Fence) []State {
	if a.now.State == s.Status || a.now.State == signals.StatusDeprecated {
		return nil
	}
	list := []State{stateOf(s, f)}
	if a.later != nil && a.now.State != "" {
		list = append(list, State{Signal: s.Signal, At: *a.later, State: a.now.State, Cause: a.now.Cause, By: a.now.By})
	}
	return list
}

// stateOf is the state that a snapshot gives to its signal.
func stateOf(s Snapshot, f task.Fence) State {
	state := State{Signal: s.Signal, At: s.At, State: s.Status, Cause: s.Cause, By: byHand}
	if f.RunID != 0 {
		state.By = fmt.Sprintf("run %d", f.RunID)
	}
	if state.Cause == "" {
		state.Cause = "computed"
	}
	return state
}
