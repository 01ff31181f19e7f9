package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
)

// ChannelKeys tells of keys that changed: revoked, rotated, on another plan. Payload: Key.ID.
const ChannelKeys = "keys"

var (
	// ErrRequestDiffers: the Idempotency-Key was used for another request.
	ErrRequestDiffers = errors.New("the Idempotency-Key was used for another request")
	// ErrEnded: the key was revoked, or rotated and its grace is over.
	ErrEnded = errors.New("the key has ended")
)

// Key is a key as the text that opened it sees it.
type Key struct {
	ID       int64
	PublicID string
	Name     string
	// Prefix, Hash and EndsAt are of the text: EndsAt is when it opens nothing any more, nil where it has no end.
	Prefix    string
	Hash      []byte
	EndsAt    *time.Time
	CreatedAt time.Time
	RevokedAt *time.Time
	// ProUntil is when the Pro plan ends, or ended; nil where there was none.
	ProUntil *time.Time
}

const keyByHashSQL = `
	select k.id, k.public_id, k.name, s.prefix, s.hash, s.ends_at, k.created_at, k.revoked_at, k.pro_until
	from key_secrets s join keys k on k.id = s.key_id
	where s.hash = @hash` // primary keys

// KeyByHash returns the key that a text with this hash opens, or opened before it ended; ErrNotFound where there is none.
func (db *DB) KeyByHash(ctx context.Context, hash accounts.KeyHash) (Key, error) {
	rows, err := db.reads.Query(ctx, keyByHashSQL, pgx.NamedArgs{"hash": hash[:]})
	if err != nil {
		return Key{}, fmt.Errorf("look up a key: %w", asUnavailable(err))
	}
	k, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Key])
	if errors.Is(err, pgx.ErrNoRows) {
		return Key{}, fmt.Errorf("the key: %w", ErrNotFound)
	}
	if err != nil {
		return Key{}, fmt.Errorf("look up a key: %w", asUnavailable(err))
	}
	return k, nil
}

// Once makes a request that changes something happen once, however often it is asked for.
type Once struct {
	// Scope is a digest of the caller, the address and the Idempotency-Key, Request one of the body.
	Scope, Request [32]byte
	// Seal encrypts an answer for the database, Open is its reverse.
	Seal, Open func(answer []byte) ([]byte, error)
}

// once does something in a transaction and keeps its answer, or returns the one that is kept. A nil o is a request that may happen as
// often as it is asked for.
func (db *DB) once(ctx context.Context, o *Once, do func(pgx.Tx) ([]byte, error)) (answer []byte, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if o == nil {
			answer, err = do(tx)
			return err
		}
		var same bool
		var kept []byte
		err := tx.QueryRow(ctx, `select same, answer from begin_answer(@scope, @request, @keep)`,
			pgx.NamedArgs{"scope": o.Scope[:], "request": o.Request[:], "keep": accounts.IdempotencyPost}).Scan(&same, &kept)
		if err != nil {
			return err
		}
		if !same {
			return ErrRequestDiffers
		}
		if kept != nil {
			answer, err = o.Open(kept)
			return err
		}
		if answer, err = do(tx); err != nil {
			return err
		}
		sealed, err := o.Seal(answer)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `select keep_answer(@scope, @answer)`, pgx.NamedArgs{"scope": o.Scope[:], "answer": sealed})
		return err
	})
	if err != nil {
		return nil, asUnavailable(err)
	}
	return answer, nil
}

// Registration is a new key.
type Registration struct {
	PublicID, Name string
	Key            accounts.Key
}

// Registered is what the database made of it.
type Registered struct {
	ID        int64
	Balance   accounts.Micros
	CreatedAt time.Time
}

// Register makes a key with its trial balance and returns the answer that f makes of it. Asked again under the same Once it makes none
// and returns the answer that it gave then; ErrRequestDiffers where that was to another request.
func (db *DB) Register(ctx context.Context, r Registration, o *Once, f func(Registered) ([]byte, error)) ([]byte, error) {
	answer, err := db.once(ctx, o, func(tx pgx.Tx) ([]byte, error) {
		var made Registered
		hash := r.Key.Hash()
		err := tx.QueryRow(ctx, `select id, balance, created_at from register_key(@public_id, @name, @hash, @prefix)`,
			pgx.NamedArgs{"public_id": r.PublicID, "name": r.Name, "hash": hash[:], "prefix": r.Key.Prefix()}).
			Scan(&made.ID, &made.Balance, &made.CreatedAt)
		if err != nil {
			return nil, err
		}
		return f(made)
	})
	if err != nil {
		return nil, fmt.Errorf("register a key: %w", err)
	}
	return answer, nil
}

// Rotated says when a key was given another text, and when the one before ends.
type Rotated struct{ CreatedAt, OldEndsAt time.Time }

// Rotate gives the key that old opens the text of another one, and returns the answer that f makes of it. The old text ends after
// grace. Asked again under the same Once it changes nothing and returns the answer that it gave
// then. ErrEnded where old opens nothing, or was replaced itself.
func (db *DB) Rotate(ctx context.Context, old accounts.KeyHash, to accounts.Key, grace time.Duration, o *Once, f func(Rotated) ([]byte, error)) ([]byte, error) {
	answer, err := db.once(ctx, o, func(tx pgx.Tx) ([]byte, error) {
		var made Rotated
		hash := to.Hash()
		err := tx.QueryRow(ctx, `select created_at, old_ends_at from rotate_key(@old, @hash, @prefix, @grace)`,
			pgx.NamedArgs{"old": old[:], "hash": hash[:], "prefix": to.Prefix(), "grace": grace}).Scan(&made.CreatedAt, &made.OldEndsAt)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, ErrEnded
		}
		if err != nil {
			return nil, err
		}
		return f(made)
	})
	if err != nil {
		return nil, fmt.Errorf("rotate a key: %w", err)
	}
	return answer, nil
}

// Revoke ends a key for ever. It tells whether it did: false where it was revoked before.
func (db *DB) Revoke(ctx context.Context, key int64, by, reason string) (bool, error) {
	var done bool
	err := db.pool.QueryRow(ctx, `select revoke_key(@key, @by, @reason)`, pgx.NamedArgs{"key": key, "by": by, "reason": reason}).Scan(&done)
	if err != nil {
		return false, fmt.Errorf("revoke a key: %w", asUnavailable(err))
	}
	return done, nil
}

// RevokeOwn ends the key that a text opens, for ever. ErrEnded where the text opens nothing, or was replaced and only reads.
func (db *DB) RevokeOwn(ctx context.Context, text accounts.KeyHash, reason string) error {
	var done bool
	err := db.pool.QueryRow(ctx, `select revoke_own_key(@secret, @reason)`, pgx.NamedArgs{"secret": text[:], "reason": reason}).Scan(&done)
	if err == nil && !done {
		err = ErrEnded
	}
	if err != nil {
		return fmt.Errorf("revoke a key: %w", asUnavailable(err))
	}
	return nil
}

// Account is a key's balance and what it used of the running UTC day and month.
type Account struct {
	Balance                      accounts.Micros
	ProUntil                     *time.Time
	RequestsToday, RequestsMonth int64
	CostToday, CostMonth         accounts.Micros
}

const accountSQL = `
	with now as (select (billing_now() at time zone 'UTC')::date as day)
	select k.balance, k.pro_until,
		coalesce(sum(u.requests) filter (where u.day = n.day), 0)::bigint as requests_today,
		coalesce(sum(u.requests), 0)::bigint as requests_month,
		coalesce(sum(u.cost) filter (where u.day = n.day), 0)::bigint as cost_today,
		coalesce(sum(u.cost), 0)::bigint as cost_month
	from keys k cross join now n
	left join usage u on u.key_id = k.id and u.day between date_trunc('month', n.day::timestamp)::date and n.day
	where k.id = @key
	group by k.id` // primary keys

// Account returns the account of a key.
func (db *DB) Account(ctx context.Context, key int64) (Account, error) {
	rows, err := db.reads.Query(ctx, accountSQL, pgx.NamedArgs{"key": key})
	if err != nil {
		return Account{}, fmt.Errorf("read an account: %w", asUnavailable(err))
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Account])
	if err != nil {
		return Account{}, fmt.Errorf("read an account: %w", asUnavailable(err))
	}
	return s, nil
}

// Usage is what a key used of an endpoint in a UTC day.
type Usage struct {
	Day      time.Time
	Endpoint string
	Requests int64
	Cost     accounts.Micros
}

// Usage lists what a key used from one UTC day to another, both included, newest day first.
func (db *DB) Usage(ctx context.Context, key int64, from, to time.Time) ([]Usage, error) {
	rows, err := db.reads.Query(ctx, `
		select day, endpoint, requests, cost from usage
		where key_id = @key and day between @from::date and @to::date
		order by day desc, endpoint`, // primary key
		pgx.NamedArgs{"key": key, "from": from, "to": to})
	list, err := collect[Usage](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the usage of an account: %w", asUnavailable(err))
	}
	return list, nil
}
