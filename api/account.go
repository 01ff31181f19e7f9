package api

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// The paths that create, rotate and revoke keys. A page of another site must not use them through its visitors.
const (
	registerPath = "/api/v1/auth/register"
	rotatePath   = "/api/v1/keys/rotate"
	revokePath   = "/api/v1/keys/current"
)

var keyPaths = map[string]bool{registerPath: true, rotatePath: true, revokePath: true}

// fromHere rejects requests that a browser sends for a page of another site.
func (s *Server) fromHere(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.sameOrigin.Check(r); err != nil {
			return &problemError{code: view.CodeOriginNotAllowed, detail: "This was sent from another site's page."}
		}
		return h(w, r)
	}
}

// register creates a key for anyone and shows it once. The caller has proven nothing. A repeated request therefore creates no second key
// and does not show the first one again.
func (s *Server) register(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Name *string `json:"name"`
	}
	body, err := readObject(w, r, &asked, false)
	if err != nil {
		return err
	}
	if asked.Name == nil {
		return invalidMember("name", "The name is missing.")
	}
	name, err := accounts.CleanName(*asked.Name)
	if err != nil {
		return invalidMember("name", "Invalid name: "+err.Error()+".")
	}
	client := s.client(r)
	once, err := onceFor(r, client.String(), body)
	if err != nil {
		return err
	}
	if once != nil {
		once.Seal = func([]byte) ([]byte, error) { return []byte("registered"), nil }
		once.Open = func([]byte) ([]byte, error) { return nil, errRegistered }
	}
	if err := s.limited(w, r, "register", clientNetwork(client), s.billing.RegisterRate); err != nil {
		return err
	}
	answer, err := s.makeKey(r.Context(), name, once, func(key accounts.Key, id string, made postgres.Registered) ([]byte, error) {
		plan, balance := accounts.PlanAt(s.billing.Tariff.Model, nil, made.CreatedAt), (*view.Money)(nil)
		if plan == accounts.PlanBalance {
			balance = new(view.USD(made.Balance))
		}
		return view.Encode(view.Registered{
			Data: view.RegisteredKey{
				APIKey: key.Reveal(), KeyID: id, Prefix: key.Prefix(), Name: name, Plan: plan, Balance: balance,
				CreatedAt: made.CreatedAt.UTC(), Usage: keyUsage, DocsURL: s.view.PublicURL() + "/docs",
			},
			Meta: view.RegisteredMeta{RequestID: w.Header().Get("X-Request-Id"), Warning: view.KeyWarning},
		})
	})
	if err != nil {
		return s.rejectBody(r, err)
	}
	writeOnce(w, r, http.StatusCreated, answer)
	return nil
}

// makeKey registers a key with a random text and id. show builds the response in the same transaction.
func (s *Server) makeKey(ctx context.Context, name string, once *postgres.Once, show func(accounts.Key, string, postgres.Registered) ([]byte, error)) ([]byte, error) {
	key, err := s.newKey()
	if err != nil {
		return nil, err
	}
	id := randomID("key_")
	return s.billing.DB.Register(ctx, postgres.Registration{PublicID: id, Name: name, Key: key}, once,
		func(made postgres.Registered) ([]byte, error) { return show(key, id, made) })
}

// errRegistered is the problem of a repeated registration.
var errRegistered = &problemError{
	code:   view.CodeAlreadyRegistered,
	detail: "A key was registered with this Idempotency-Key, and its text was sent once. Register another key with another Idempotency-Key.",
}

var keyUsage = view.KeyUsage{Header: "Authorization: Bearer <api_key>"}

// rotate replaces the text of a key. A client that lost the response repeats the request with the same Idempotency-Key and the old text, as
// long as the old text's grace period lasts. An old text alone must not get the new one, so that Idempotency-Key must be unguessable.
func (s *Server) rotate(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	var asked struct {
		GraceSeconds int64 `json:"grace_seconds"`
	}
	body, err := readExactly(w, r, &asked, true)
	if err != nil {
		return err
	}
	if most := int64(accounts.MaxGracePeriod / time.Second); asked.GraceSeconds < 0 || asked.GraceSeconds > most {
		return invalidMember("grace_seconds", fmt.Sprintf("grace_seconds is not a number from 0 to %d.", most))
	}
	once, err := onceFor(r, hex.EncodeToString(key.Hash), body)
	if err != nil {
		return err
	}
	switch secret := once != nil && unguessable(r.Header.Get("Idempotency-Key")); {
	case key.EndsAt != nil && !secret:
		return errReplaced
	case once != nil && !secret:
		return errGuessable
	}
	next, err := s.newKey()
	if err != nil {
		return err
	}
	grace := time.Duration(asked.GraceSeconds) * time.Second
	answer, err := s.billing.DB.Rotate(r.Context(), accounts.KeyHash(key.Hash), next, grace, once, func(made postgres.Rotated) ([]byte, error) {
		return view.Encode(view.Rotated{
			Data: view.RotatedKey{
				APIKey: next.Reveal(), KeyID: key.PublicID, Prefix: next.Prefix(), Name: key.Name, CreatedAt: made.CreatedAt.UTC(),
				OldPrefix: key.Prefix, OldExpiresAt: made.OldEndsAt.UTC(), Usage: keyUsage,
			},
			Meta: view.RegisteredMeta{RequestID: w.Header().Get("X-Request-Id"), Warning: view.KeyWarning},
		})
	})
	if errors.Is(err, postgres.ErrRequestDiffers) && key.EndsAt != nil {
		return errReplaced // the same as for an Idempotency-Key that was never used
	}
	if err != nil {
		return s.rejectBody(r, err)
	}
	s.billing.keys.forget(key.ID)
	writeOnce(w, r, http.StatusOK, answer)
	return nil
}

// errGuessable is the problem of a rotation whose Idempotency-Key could be guessed.
var errGuessable = &problemError{
	code: view.CodeInvalidRequest,
	detail: "The Idempotency-Key of a rotation must be a random text of at least 22 characters, such as 16 random bytes in hex or a UUID: " +
		"with it the old text gets the new one again.",
}

// unguessable reports whether a text has the look of 128 random bits: 22 characters (of 64 different ones), and no short pattern.
func unguessable(text string) bool {
	const length, different = 22, 8
	seen := map[rune]bool{}
	for _, c := range text {
		seen[c] = true
	}
	return len(text) >= length && len(seen) >= different
}

// revoke ends the key of the request, immediately and permanently.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticateOwner(w, r)
	if err != nil {
		return err
	}
	if err := s.billing.DB.RevokeOwn(r.Context(), accounts.KeyHash(key.Hash), "asked for with the key itself"); err != nil {
		return s.rejectBody(r, err)
	}
	s.billing.keys.forget(key.ID)
	w.Header().Set("Cache-Control", view.CacheNever)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// rejectBody maps the errors of requests that change a key to problems.
func (s *Server) rejectBody(r *http.Request, err error) error {
	switch {
	case errors.Is(err, postgres.ErrRequestDiffers):
		return &problemError{code: view.CodeIdempotencyReused, detail: "This Idempotency-Key was used for another request."}
	case errors.Is(err, postgres.ErrEnded):
		return errRevoked
	case errors.Is(err, errFormSent):
		return err
	}
	return s.unavailable(r, err)
}

// account returns the state of the key.
func (s *Server) account(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	a, err := s.billing.DB.Account(r.Context(), key.ID)
	if err != nil {
		return s.unavailable(r, err)
	}
	plan := accounts.PlanAt(s.billing.Tariff.Model, a.ProUntil, s.billing.Now())
	body := view.Account{Data: view.AccountData{
		KeyID: key.PublicID, Name: key.Name, Prefix: key.Prefix, Plan: plan, ProUntil: utc(a.ProUntil), CreatedAt: key.CreatedAt.UTC(),
		ExpiresAt: utc(key.EndsAt),
		Usage: view.AccountUsage{
			Today: view.UsageSum{Requests: a.RequestsToday, Cost: a.CostToday.String()},
			Month: view.UsageSum{Requests: a.RequestsMonth, Cost: a.CostMonth.String()},
		},
	}}
	if plan == accounts.PlanBalance {
		body.Data.Balance = new(view.USD(a.Balance))
	} else {
		quota := plan.Quota()
		body.Data.Quota = &view.AccountQuota{RequestsPerDay: quota, Remaining: max(int64(quota)-a.RequestsToday, 0)}
	}
	return s.sendKeyed(w, r, body)
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

const (
	// usageDays is the default number of days of usage. maxUsageDays is the maximum number in one response.
	usageDays    = 30
	maxUsageDays = 366
)

// usage lists the usage of a key by day and endpoint.
func (s *Server) usage(w http.ResponseWriter, r *http.Request) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	p := s.parameters(r)
	from, to := p.within()
	if to.IsZero() {
		to = s.billing.Now().UTC()
		if to.Before(from) {
			to = from
		}
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, 1-usageDays)
	}
	if from, to = from.Truncate(24*time.Hour), to.Truncate(24*time.Hour); to.Sub(from) >= maxUsageDays*24*time.Hour {
		p.fault("from", "from is more than %d days before to.", maxUsageDays-1)
	}
	if err := p.err(); err != nil {
		return err
	}
	list, err := s.billing.DB.Usage(r.Context(), key.ID, from, to)
	if err != nil {
		return s.unavailable(r, err)
	}
	body := view.AccountUsageRows{Data: []view.UsageRow{}, Meta: view.UsageMeta{From: from.Format(time.DateOnly), To: to.Format(time.DateOnly)}}
	for _, u := range list {
		body.Data = append(body.Data, view.UsageRow{
			Date: u.Day.Format(time.DateOnly), Endpoint: u.Endpoint, Requests: u.Requests, Cost: u.Cost.String(),
		})
	}
	return s.sendKeyed(w, r, body)
}

// sendKeyed sends a key a response that costs nothing.
func (s *Server) sendKeyed(w http.ResponseWriter, r *http.Request, body any) error {
	encoded, err := view.Encode(body)
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, cacheKeyed, encoded, time.Time{}))
}

// onceFor returns the record that makes a request with an Idempotency-Key happen only once per caller. It is nil if the request has no
// Idempotency-Key.
//
// The response may contain an API key. It is therefore stored sealed (AES-256-GCM) under a digest of the Idempotency-Key, which only the
// caller sends. A reader of the database has neither.
func onceFor(r *http.Request, caller string, body []byte) (*postgres.Once, error) {
	key, err := idempotencyKey(r)
	if err != nil || key == "" {
		return nil, err
	}
	sealing := digest("answer", caller, r.URL.EscapedPath(), key)
	block, err := aes.NewCipher(sealing[:])
	if err != nil {
		return nil, fmt.Errorf("seal an answer: %w", err)
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("seal an answer: %w", err)
	}
	return &postgres.Once{
		Scope:   digest("scope", caller, r.URL.EscapedPath(), key),
		Request: digest(string(body)),
		Seal:    func(answer []byte) ([]byte, error) { return box.Seal(nil, nil, answer, nil), nil },
		Open: func(sealed []byte) ([]byte, error) {
			answer, err := box.Open(nil, nil, sealed, nil)
			if err != nil {
				return nil, fmt.Errorf("open a sealed answer: %w", err)
			}
			return answer, nil
		},
	}, nil
}
