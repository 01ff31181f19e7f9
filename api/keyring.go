package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// keyCache caches recently used keys. It trusts the cache only while it receives notifications of changes. Before the first connection, and
// after a connection is lost, it looks up every key in the database. It is safe for concurrent use.
type keyCache struct {
	db  *postgres.DB
	log *slog.Logger

	mu sync.RWMutex
	// listening reports whether notifications arrive. epoch counts changes: a key that was read before a change is not cached after it.
	listening bool
	epoch     uint64
	byHash    map[accounts.KeyHash]postgres.Key
}

const (
	// maxKeys bounds the cache to about 40 MB.
	maxKeys = 100_000
	// lookupTimeout bounds one database lookup.
	lookupTimeout = 5 * time.Second
)

func newKeyCache(db *postgres.DB, log *slog.Logger) *keyCache {
	return &keyCache{db: db, log: log, byHash: map[accounts.KeyHash]postgres.Key{}}
}

// run receives notifications of changes until ctx ends.
func (k *keyCache) run(ctx context.Context) error {
	forget := func(listening bool) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.listening = listening
		k.epoch++
		clear(k.byHash)
	}
	return k.db.Listen(ctx, postgres.Listener{
		Channels:  []string{postgres.ChannelKeys},
		Connected: func(context.Context) error { forget(true); return nil },
		Notified: func(_ context.Context, _, payload string) error {
			id, err := strconv.ParseInt(payload, 10, 64)
			if err != nil {
				return fmt.Errorf("the notification of a key: %w", err)
			}
			k.forget(id)
			return nil
		},
		Lost: func(error) { forget(false) },
		Log:  k.log,
	})
}

// forget removes a key from the cache.
func (k *keyCache) forget(id int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.epoch++
	for hash, key := range k.byHash {
		if key.ID == id {
			delete(k.byHash, hash)
		}
	}
}

// known returns the cached key with a hash.
func (k *keyCache) known(hash accounts.KeyHash) (postgres.Key, bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	key, ok := k.byHash[hash]
	return key, ok && hash.Equal(key.Hash)
}

// find looks up a key in the database and caches it. The error is postgres.ErrNotFound if the key does not exist.
func (k *keyCache) find(ctx context.Context, hash accounts.KeyHash) (postgres.Key, error) {
	k.mu.RLock()
	epoch := k.epoch
	k.mu.RUnlock()
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	key, err := k.db.KeyByHash(ctx, hash)
	if err != nil {
		return key, err
	}
	if !hash.Equal(key.Hash) {
		return postgres.Key{}, fmt.Errorf("the key: %w", postgres.ErrNotFound)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.listening && k.epoch == epoch {
		if len(k.byHash) >= maxKeys {
			clear(k.byHash)
		}
		k.byHash[hash] = key
	}
	return key, nil
}

// reload looks up a key in the database, without the cache.
func (k *keyCache) reload(ctx context.Context, key postgres.Key) (postgres.Key, error) {
	return k.find(ctx, accounts.KeyHash(key.Hash))
}

// The problems of a request without a valid key.
var (
	errMissing = &problemError{
		code: view.CodeMissingKey, detail: "This needs an API key: the header Authorization: Bearer <API key>.", challenge: `Bearer realm="api"`,
	}
	errInvalid = &problemError{
		code: view.CodeInvalidKey, detail: "This API key does not exist.", challenge: `Bearer realm="api", error="invalid_token"`,
	}
	errRevoked = &problemError{
		code: view.CodeRevokedKey, detail: "This API key was revoked or replaced.", challenge: `Bearer realm="api", error="invalid_token"`,
	}
)

// sandbox reports whether this server accepts the keys of a sandbox.
func (s *Server) sandbox() bool { return s.view.World() == view.WorldSandbox }

// newKey returns a random key for this server's world.
func (s *Server) newKey() (accounts.Key, error) {
	if s.sandbox() {
		return accounts.NewTestKey(rand.Reader)
	}
	return accounts.NewKey(rand.Reader)
}

// errOtherWorld returns the problem of a sandbox key sent to the service, or of a service key sent to a sandbox. It needs no database
// lookup.
func errOtherWorld(key accounts.Key) error {
	f := *errInvalid
	f.detail = "This is a key of the service, and this is a sandbox. Its keys begin with tmk_test_."
	if key.Test() {
		f.detail = "This is a key of a sandbox. Register one here: it begins with tmk_live_."
	}
	return &f
}

// errReplaced is the problem of a rotated key in its grace period that is used for more than reading.
var errReplaced = &problemError{
	code: view.CodeRevokedKey, detail: "This API key was replaced by a rotation. Until it expires, it can only read.",
	challenge: `Bearer realm="api", error="invalid_token"`,
}

// authenticateOwner authenticates a request that changes something. It accepts only the newest text of the key.
func (s *Server) authenticateOwner(w http.ResponseWriter, r *http.Request) (postgres.Key, error) {
	key, err := s.authenticate(w, r)
	if err == nil && key.EndsAt != nil {
		err = errReplaced
	}
	return key, err
}

// authenticate returns the key of the request, if the key is valid now.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (postgres.Key, error) {
	key, err := s.present(w, r)
	if err == nil && !opens(key, s.billing.Now()) {
		err = errRevoked
	}
	return key, err
}

// present returns the key of the request, even if it has expired or was revoked, and counts the request against the key's rate.
func (s *Server) present(w http.ResponseWriter, r *http.Request) (postgres.Key, error) {
	text, err := bearer(r.Header)
	if err == nil && text.Test() != s.sandbox() {
		err = errOtherWorld(text)
	}
	if err != nil {
		return postgres.Key{}, err
	}
	hash := text.Hash()
	key, ok := s.billing.keys.known(hash)
	if !ok {
		// Limit guesses by address, because each guess is a database query.
		client := s.client(r)
		if err := s.limited(w, r, "unknown", clientNetwork(client), s.billing.KeyRate); err != nil {
			return key, err
		}
		if key, err = s.billing.keys.find(r.Context(), hash); errors.Is(err, postgres.ErrNotFound) {
			return key, errInvalid
		} else if err != nil {
			return key, s.unavailable(r, err)
		}
	}
	return key, s.limited(w, r, "key", key.PublicID, s.billing.KeyRate)
}

// opens reports whether a key is valid at an instant.
func opens(k postgres.Key, at time.Time) bool {
	return k.RevokedAt == nil && (k.EndsAt == nil || at.Before(*k.EndsAt))
}

// bearer parses the key from the only allowed header field (RFC 6750, section 2.1). A key in the query would appear in logs.
func bearer(h http.Header) (accounts.Key, error) {
	given := h["Authorization"]
	if len(given) == 0 {
		return accounts.Key{}, errMissing
	}
	scheme, text, _ := strings.Cut(given[0], " ")
	if len(given) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return accounts.Key{}, errMissing
	}
	key, err := accounts.ParseKey(strings.TrimSpace(text))
	if err != nil {
		return accounts.Key{}, errInvalid
	}
	return key, nil
}
