package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
)

// KeyStore keeps keys, balances, plans, usage and sessions.
//
// It reads billing_settings, dashboard_sessions, kept_answers, key_secrets, keys, ledger, paid_requests, plan_changes, usage. It writes
// dashboard_sessions, kept_answers, key_secrets, keys, ledger, paid_requests, plan_changes, usage.
type KeyStore struct{ *connections }

// ChannelKeys is notified when a key is revoked, rotated or gets another plan. The payload is Key.ID.
const ChannelKeys = "keys"

var (
	// ErrRequestDiffers means that the Idempotency-Key was used for another request.
	ErrRequestDiffers = errors.New("the Idempotency-Key was used for another request")
	// ErrEnded means that the key was revoked, or that it was rotated and its grace period is over.
	ErrEnded = errors.New("the key has ended")
)

// Key is a key as seen by the secret text that opened it. A key has several texts after a rotation.
type Key struct {
	ID       int64
	PublicID string
	Name     string
	// Prefix, Hash and EndsAt belong to the text. EndsAt is when the text stops opening the key; nil means no end.
	Prefix    string
	Hash      []byte
	EndsAt    *time.Time
	CreatedAt time.Time
	RevokedAt *time.Time
	// ProUntil is when the Pro plan ends or ended. It is nil if the key never had one.
	ProUntil *time.Time
	// TagSecret is the installation's secret behind the tags of responses to keys. It is the same for all keys, and comes with each so that no
	// further query is necessary.
	TagSecret []byte
}

const keyByHashSQL = `
	select k.id, k.public_id, k.name, s.prefix, s.hash, s.ends_at, k.created_at, k.revoked_at, k.pro_until,
		(select tag_secret from billing_settings)
	from key_secrets s join keys k on k.id = s.key_id
	where s.hash = @hash` // primary keys

// KeyByHash returns the key that a text with this hash opens, or opened before it ended. It returns ErrNotFound for an unknown hash.
func (db KeyStore) KeyByHash(ctx context.Context, hash accounts.KeyHash) (Key, error) {
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

// Once makes a request idempotent: the change happens once, however often a client sends the request.
type Once struct {
	// Scope is a digest of the caller, the path and the Idempotency-Key. Request is a digest of the body.
	Scope, Request [32]byte
	// Seal encrypts a response for the database. Open decrypts it.
	Seal, Open func(answer []byte) ([]byte, error)
}

// once runs do in a transaction and stores its response, or returns the response stored before. If o is nil, it stores nothing and runs do
// on every call.
func (db *connections) once(ctx context.Context, o *Once, do func(pgx.Tx) ([]byte, error)) (answer []byte, err error) {
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

// errNotAnswered rolls a transaction back that only looks for a response.
var errNotAnswered = errors.New("no response is stored")

// Answered reports whether a response is stored for o. If it is, o.Open reads it, and Answered returns the error of o.Open. Nothing changes.
func (db KeyStore) Answered(ctx context.Context, o *Once) (bool, error) {
	_, err := db.once(ctx, o, func(pgx.Tx) ([]byte, error) { return nil, errNotAnswered })
	if errors.Is(err, errNotAnswered) {
		return false, nil
	}
	return err == nil, err
}

// Registration describes a new key.
type Registration struct {
	PublicID, Name string
	Key            accounts.Key
}

// Registered holds the values that the database assigned to a new key.
type Registered struct {
	ID        int64
	Balance   accounts.Micros
	CreatedAt time.Time
}

// Register creates a key with its trial balance and returns the response that f builds from it. A repeated call with the same Once creates
// no key and returns the first response. It returns ErrRequestDiffers if the first call was for another request.
func (db KeyStore) Register(ctx context.Context, r Registration, o *Once, f func(Registered) ([]byte, error)) ([]byte, error) {
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

// Rotated holds the time of a rotation and the time when the old text ends.
type Rotated struct{ CreatedAt, OldEndsAt time.Time }

// Rotate issues a new text for the key that old opens, and returns the response that f builds. The old text ends after grace. A repeated
// call with the same Once changes nothing and returns the first response. It returns ErrEnded if old opens no key, or was already replaced.
func (db KeyStore) Rotate(ctx context.Context, old accounts.KeyHash, to accounts.Key, grace time.Duration, o *Once, f func(Rotated) ([]byte, error)) ([]byte, error) {
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

// Revoke ends a key permanently. It reports whether it did; false means that the key was revoked before.
func (db KeyStore) Revoke(ctx context.Context, key int64, by, reason string) (bool, error) {
	var done bool
	err := db.pool.QueryRow(ctx, `select revoke_key(@key, @by, @reason)`, pgx.NamedArgs{"key": key, "by": by, "reason": reason}).Scan(&done)
	if err != nil {
		return false, fmt.Errorf("revoke a key: %w", asUnavailable(err))
	}
	return done, nil
}

// RevokeOwn permanently ends the key that a text opens. It returns ErrEnded if the text opens no key, or was replaced and can only read.
func (db KeyStore) RevokeOwn(ctx context.Context, text accounts.KeyHash, reason string) error {
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

// Account is a key's balance with its usage in the current UTC day and month.
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
func (db KeyStore) Account(ctx context.Context, key int64) (Account, error) {
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

// Usage is a key's usage of an endpoint in a UTC day.
type Usage struct {
	Day      time.Time
	Endpoint string
	Requests int64
	Cost     accounts.Micros
}

// Usage lists a key's usage between two UTC days, both included, newest day first.
func (db KeyStore) Usage(ctx context.Context, key int64, from, to time.Time) ([]Usage, error) {
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
