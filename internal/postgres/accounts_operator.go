package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/task"
)

// KeyRow is a key as an operator sees it. It has no secret text: the database does not store the texts.
type KeyRow struct {
	ID        int64
	PublicID  string
	Name      string
	CreatedAt time.Time
	Balance   accounts.Micros
	ProUntil  *time.Time
	// Prefixes are the prefixes of all current and former texts of the key, newest first.
	Prefixes      []string
	LastUsedAt    *time.Time
	RevokedAt     *time.Time
	RevokedBy     *string
	RevokedReason *string
}

// KeyFilter selects keys. Empty fields select all.
type KeyFilter struct {
	PublicID string
	// Match is a part of the name, or the beginning of a key's text.
	Match string
	Limit int
}

const keyRowsSQL = `
	select k.id, k.public_id, k.name, k.created_at, k.balance, k.pro_until, k.revoked_at, k.revoked_by, k.revoked_reason,
		(select array_agg(s.prefix order by s.created_at desc) from key_secrets s where s.key_id = k.id) as prefixes,
		(select max(u.last_at) from usage u where u.key_id = k.id) as last_used_at
	from keys k
	where (@public_id = '' or k.public_id = @public_id)
		and (@match = '' or position(lower(@match) in lower(k.name)) > 0 or exists (
			select from key_secrets s where s.key_id = k.id and starts_with(s.prefix, @match)))
	order by k.id desc
	limit @limit`

// Keys lists keys, newest first.
func (db KeyStore) Keys(ctx context.Context, f KeyFilter) ([]KeyRow, error) {
	rows, err := db.reads.Query(ctx, keyRowsSQL, pgx.NamedArgs{"public_id": f.PublicID, "match": f.Match, "limit": f.Limit})
	list, err := collect[KeyRow](rows, err)
	if err != nil {
		return nil, fmt.Errorf("list the keys: %w", err)
	}
	return list, nil
}

// BalanceEntry is an entry of a key's balance, with the balance after it.
type BalanceEntry struct {
	At       time.Time
	Kind     string
	Amount   accounts.Micros
	Balance  accounts.Micros
	Endpoint *string
	Ref      *string
	By       *string
	Reason   *string
}

// BalanceEntries lists the newest balance entries of a key, newest first.
func (db KeyStore) BalanceEntries(ctx context.Context, key int64, limit int) ([]BalanceEntry, error) {
	rows, err := db.reads.Query(ctx, `
		select at, kind, amount, (sum(amount) over (order by id))::bigint as balance, endpoint, ref, by, reason
		from ledger where key_id = @key order by id desc limit @limit`, // primary key
		pgx.NamedArgs{"key": key, "limit": limit})
	list, err := collect[BalanceEntry](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the balance entries: %w", err)
	}
	return list, nil
}

// PlanChange is a change of a key's Pro period.
type PlanChange struct {
	At       time.Time
	Kind     string
	ProUntil time.Time
	Ref      *string
	By       *string
	Reason   *string
}

// PlanChanges lists the changes of a key's Pro period, newest first.
func (db KeyStore) PlanChanges(ctx context.Context, key int64) ([]PlanChange, error) {
	rows, err := db.reads.Query(ctx, `
		select at, kind, pro_until, ref, by, reason from plan_changes where key_id = @key order by id desc`, // primary key
		pgx.NamedArgs{"key": key})
	list, err := collect[PlanChange](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the plans of a key: %w", err)
	}
	return list, nil
}

// ErrNothingToMove means that the key has neither balance nor Pro time left.
var ErrNothingToMove = errors.New("there is nothing to move")

// Gift is a credit or Pro period that an operator gives to a key, with the operator's name and reason.
type Gift struct {
	// Ref identifies the gift. A repeated call with the same Ref gives nothing again, for example after a lost response.
	Ref, By, Reason string
}

// ErrGiven means that the Ref belongs to a different gift.
var ErrGiven = errors.New("something else was given under this name")

// Credit adds an operator's gift to the balance, and returns the new balance.
func (db KeyStore) Credit(ctx context.Context, key int64, amount accounts.Micros, g Gift) (balance accounts.Micros, err error) {
	err = db.give(ctx, key, g, pgx.NamedArgs{"amount": int64(amount)},
		`select key_id = @key and amount = @amount from ledger where kind = 'credit' and ref = @ref`, // index ledger_credits
		`insert into ledger (key_id, kind, amount, at, ref, by, reason) values (@key, 'credit', @amount, billing_now(), @ref, @by, @reason)`,
		`select balance from keys where id = @key`, &balance)
	if err != nil {
		return 0, fmt.Errorf("credit a key: %w", err)
	}
	return balance, nil
}

// Grant extends a key's Pro plan by period, and returns when the plan then ends.
func (db KeyStore) Grant(ctx context.Context, key int64, period time.Duration, g Gift) (until time.Time, err error) {
	err = db.give(ctx, key, g, pgx.NamedArgs{"period": period},
		`select key_id = @key and period = @period from plan_changes where kind = 'grant' and ref = @ref`, // index plan_changes_grants
		`insert into plan_changes (key_id, kind, period, ref, by, reason) values (@key, 'grant', @period, @ref, @by, @reason)`,
		`select pro_until from keys where id = @key`, &until)
	if err != nil {
		return time.Time{}, fmt.Errorf("grant a key the Pro plan: %w", err)
	}
	return until, nil
}

// give stores a gift once. The query before reports whether an earlier gift with this Ref is the same; insert stores the gift; after reads
// the result.
func (db KeyStore) give(ctx context.Context, key int64, g Gift, args pgx.NamedArgs, before, insert, after string, to any) error {
	args["key"], args["ref"], args["by"], args["reason"] = key, g.Ref, g.By, g.Reason
	return db.tx(ctx, func(tx pgx.Tx) error {
		if err := lockKeys(ctx, tx, key); err != nil {
			return err
		}
		var same bool
		err := tx.QueryRow(ctx, before, args).Scan(&same)
		if errors.Is(err, pgx.ErrNoRows) {
			_, err = tx.Exec(ctx, insert, args)
			same = true
		}
		switch {
		case code(err) == "23505" || err == nil && !same:
			return fmt.Errorf("%q: %w", g.Ref, ErrGiven)
		case err != nil:
			return err
		}
		return tx.QueryRow(ctx, after, args).Scan(to)
	})
}

const moveBalanceSQL = `
	insert into ledger (key_id, kind, amount, at, ref, by, reason)
	select m.key_id, 'move', m.amount, billing_now(), m.ref, @by, @reason
	from keys f join keys t on t.id = @to
	cross join lateral (values (f.id, -f.balance, t.public_id), (t.id, f.balance, f.public_id)) as m (key_id, amount, ref)
	where f.id = @from and f.balance > 0
	returning abs(amount)`

const movePlanSQL = `
	insert into plan_changes (key_id, kind, period, ref, by, reason)
	select m.key_id, 'move', m.period, m.ref, @by, @reason
	from keys f join keys t on t.id = @to
	cross join lateral (select f.pro_until - billing_now() as left) p
	cross join lateral (values (f.id, -p.left, t.public_id), (t.id, p.left, f.public_id)) as m (key_id, period, ref)
	where f.id = @from and p.left > interval '0'`

// Move transfers a key's balance and the rest of its Pro period to another key. Operators use it for a customer who lost a key. It returns
// the amount, and whether a Pro period moved. If the key spends balance at the same moment, Move changes nothing and returns an error that
// says so.
func (db KeyStore) Move(ctx context.Context, from, to int64, by, reason string) (amount accounts.Micros, pro bool, err error) {
	args := pgx.NamedArgs{"from": from, "to": to, "by": by, "reason": reason}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		amount, pro = 0, false
		if err := lockKeys(ctx, tx, from, to); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, moveBalanceSQL, args)
		if err != nil {
			return err
		}
		moved, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, movePlanSQL, args)
		if err != nil {
			return err
		}
		if pro = tag.RowsAffected() > 0; len(moved) == 0 && !pro {
			return ErrNothingToMove
		}
		if len(moved) > 0 {
			amount = accounts.Micros(moved[0])
		}
		return nil
	})
	if code(err) == "23514" {
		return 0, false, fmt.Errorf("move a balance: the key is spending it at this moment, try again: %w", err)
	}
	if err != nil {
		return 0, false, fmt.Errorf("move a balance: %w", err)
	}
	return amount, pro, nil
}

// Unbalanced is a key whose balance differs from the sum of its balance entries.
type Unbalanced struct {
	PublicID     string
	Balance, Sum accounts.Micros
}

// UnbalancedKeys compares every balance with its entries, in one snapshot. The database keeps them equal, so the list should be empty.
func (db KeyStore) UnbalancedKeys(ctx context.Context) ([]Unbalanced, error) {
	rows, err := db.reads.Query(ctx, `
		select k.public_id, k.balance, coalesce(l.sum, 0)::bigint as sum
		from keys k left join (select key_id, sum(amount) as sum from ledger group by key_id) l on l.key_id = k.id
		where k.balance <> coalesce(l.sum, 0)
		order by k.id`)
	list, err := collect[Unbalanced](rows, err)
	if err != nil {
		return nil, fmt.Errorf("compare the balances with their ledgers: %w", err)
	}
	return list, nil
}

// DeleteExpiredKeys deletes expired idempotency records, stored responses and dashboard sessions. It does so only while the attempt in f is
// current. It returns the number of deleted rows. Rows that are locked by a request stay until the next call.
func (db KeyStore) DeleteExpiredKeys(ctx context.Context, f task.Fence) (gone int64, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		gone = 0
		for _, sql := range []string{
			`delete from paid_requests p using (
				select key_id, digest from paid_requests where expires_at <= (select billing_now()) for update skip locked
			) gone where (p.key_id, p.digest) = (gone.key_id, gone.digest)`, // index paid_requests_expired
			`delete from kept_answers k using (
				select scope from kept_answers where expires_at <= (select billing_now()) for update skip locked
			) gone where k.scope = gone.scope`, // index kept_answers_expired
			`delete from dashboard_sessions d using (
				select hash from dashboard_sessions where expires_at <= (select billing_now()) for update skip locked
			) gone where d.hash = gone.hash`, // index dashboard_sessions_expired
		} {
			tag, err := tx.Exec(ctx, sql)
			if err != nil {
				return err
			}
			gone += tag.RowsAffected()
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return 0, fmt.Errorf("forget what was kept for repetitions: %w", err)
	}
	return gone, nil
}
