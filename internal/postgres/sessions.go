package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
)

// SessionHash is the SHA-256 of the token in a signed-in browser.
type SessionHash [sha256.Size]byte

// OpenSession signs a browser in with the text of a key, for the time keep. It returns ErrEnded if the text does not open a key.
func (db KeyStore) OpenSession(ctx context.Context, session SessionHash, text accounts.KeyHash, keep time.Duration) error {
	var ok bool
	err := db.pool.QueryRow(ctx, `select open_session(@hash, @secret, @keep)`,
		pgx.NamedArgs{"hash": session[:], "secret": text[:], "keep": keep}).Scan(&ok)
	if err != nil {
		return fmt.Errorf("sign in: %w", asUnavailable(err))
	}
	if !ok {
		return ErrEnded
	}
	return nil
}

// CloseSession signs a browser out.
func (db KeyStore) CloseSession(ctx context.Context, session SessionHash) error {
	if _, err := db.pool.Exec(ctx, `select close_session(@hash)`, pgx.NamedArgs{"hash": session[:]}); err != nil {
		return fmt.Errorf("sign out: %w", asUnavailable(err))
	}
	return nil
}

const sessionSQL = `
	select k.id, k.public_id, k.name, s.prefix, s.hash, s.ends_at, k.created_at, k.revoked_at, k.pro_until,
		(select tag_secret from billing_settings)
	from dashboard_sessions d
	join key_secrets s on s.hash = d.secret
	join keys k on k.id = s.key_id
	where d.hash = @hash and d.expires_at > billing_now() and k.revoked_at is null and coalesce(s.ends_at > billing_now(), true)` // primary keys

// Session returns the key of a signed-in browser, as seen by the text that it signed in with. It returns ErrNotFound if the browser is not
// signed in, or if that text no longer opens the key.
func (db KeyStore) Session(ctx context.Context, session SessionHash) (Key, error) {
	rows, err := db.reads.Query(ctx, sessionSQL, pgx.NamedArgs{"hash": session[:]})
	if err != nil {
		return Key{}, fmt.Errorf("look who is signed in: %w", asUnavailable(err))
	}
	k, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Key])
	if errors.Is(err, pgx.ErrNoRows) {
		return Key{}, fmt.Errorf("the session: %w", ErrNotFound)
	}
	if err != nil {
		return Key{}, fmt.Errorf("look who is signed in: %w", asUnavailable(err))
	}
	return k, nil
}
