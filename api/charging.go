package api

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// Build builds the whole response of a data endpoint before it is charged, or returns an error and has no effect. It does not know keys,
// prices or quotas: the same function serves keys and payments. The caller can send its result, or drop it because the charge failed.
type Build func(r *http.Request, c Caller) (Answer, error)

// Caller is the part of the caller's identity that a build function may use.
type Caller struct {
	// Level is how much data the response may show.
	Level accounts.Level
}

// Answer is a finished document with the header fields of this request alone.
type Answer struct {
	Document *view.Document
	// Header contains Link, Content-Disposition and similar fields. It may be nil.
	Header http.Header
	// Lang is the selected language, empty if there is only one.
	Lang picks.Lang
}

// Accounts configures how the server authenticates keys and charges money.
type Accounts struct {
	// DB connects with the API's database role.
	DB *postgres.DB
	// Tariff is the model in force with its prices.
	Tariff accounts.Tariff
	// Now is the wall clock. Keys and money follow real time in every world.
	Now func() time.Time
	// Limiter counts requests. KeyRate limits a key. The other rates limit a client's address: RegisterRate new keys, SignalsRate requests
	// for signal history, X402Rate requests to paid endpoints, and PagesRate pages. A zero rate means no limit.
	Limiter                                                 *Limiter
	KeyRate, RegisterRate, SignalsRate, X402Rate, PagesRate Rate
	// TrustedProxies are the proxies whose X-Forwarded-For header is trusted.
	TrustedProxies []netip.Prefix
}

// billing holds the state behind Accounts.
type billing struct {
	Accounts

	keys    *keyCache
	charger *postgres.Charger
}

func newBilling(a Accounts, log *slog.Logger) *billing {
	return &billing{Accounts: a, keys: newKeyCache(a.DB, log), charger: postgres.NewCharger(a.DB.KeyStore)}
}

// cacheKeyed is the Cache-Control of responses for one key. Clients may store them but must revalidate, so that a 304 costs nothing.
const cacheKeyed = "private, no-cache"

// handleKeyed registers a data endpoint that requires a key. path is below /api/v1 and in the tariff.
func (s *Server) handleKeyed(mux *http.ServeMux, path string, build Build) {
	e, ok := s.billing.Tariff.Endpoint(path)
	if !ok {
		panic(fmt.Sprintf("the endpoint %s has no line in the table of prices", path))
	}
	s.handleGet(mux, "/api/v1"+path, func(w http.ResponseWriter, r *http.Request) error { return s.serveCharged(w, r, e, build) })
}

// serveCharged builds the response, charges for it, then sends it. Responses that are not sent, errors, and responses that give the client
// nothing new are free.
func (s *Server) serveCharged(w http.ResponseWriter, r *http.Request, e accounts.Endpoint, build Build) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	plan := accounts.PlanAt(s.billing.Tariff.Model, key.ProUntil, s.billing.Now())
	if _, ok := plan.LevelFor(e); !ok {
		// The key may have been upgraded a moment ago.
		if key, err = s.billing.keys.reload(r.Context(), key); err != nil {
			return s.unavailable(r, err)
		}
		plan = accounts.PlanAt(s.billing.Tariff.Model, key.ProUntil, s.billing.Now())
	}
	for {
		level, ok := plan.LevelFor(e)
		if !ok {
			return &problemError{code: view.CodePlanRequired, detail: "The Free plan does not include this. The Pro plan does."}
		}
		answer, err := build(r, Caller{Level: level})
		if err != nil {
			return err
		}
		if err := checkAccepted(r, answer.Document); err != nil {
			return err
		}
		rep, status := representation(namedTags(r.Header["If-None-Match"]), r.Header["Accept-Encoding"], ownDocument(r, key, answer))
		err = s.charge(w, r, key, plan, e, ware{status: status, mediaType: rep.Header.Get("Content-Type"), lang: answer.Lang})
		if errors.Is(err, errPlanEnded) {
			plan = accounts.PlanFree // The database's clock decides.
			continue
		}
		if err != nil {
			return err
		}
		h := w.Header()
		maps.Copy(h, rep.Header)
		for name, values := range answer.Header {
			if name == "Vary" { // keep the Vary of the compression, too
				values = append(h[name], values...)
			}
			h[name] = values
		}
		h.Set("Cache-Control", cacheKeyed)
		if r.Method == http.MethodHead {
			// HEAD is free. It must not reveal the length of a paid response or whether it changed.
			for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Last-Modified", "Link"} {
				h.Del(name)
			}
			w.WriteHeader(http.StatusOK)
			return nil
		}
		if status == http.StatusNotModified {
			// It is free: it tells nothing but the tag that the client named.
			for _, name := range []string{"Link", "Last-Modified", "Content-Disposition"} {
				h.Del(name)
			}
		}
		transmit(w, r, rep, status)
		return nil
	}
}

// ownDocument returns the answer's document with tags that only this installation can compute. A tag of the bytes alone would be the same for
// everybody: a client could compute it from a guess, and a free 304 would tell whether the guess is right. These tags are for one key, one URL, one language and one format. So a client that names one was charged for that response before.
func ownDocument(r *http.Request, key postgres.Key, a Answer) *view.Document {
	of := digest(strconv.FormatInt(key.ID, 10), r.URL.EscapedPath(), r.URL.RawQuery, a.Document.Identity.Header.Get("Content-Type"), string(a.Lang),
		a.Document.Identity.ETag)
	mac := hmac.New(sha256.New, key.TagSecret)
	_, _ = mac.Write(of[:])
	return a.Document.WithTag(hex.EncodeToString(mac.Sum(nil)[:16]))
}

var errPlanEnded = errors.New("the key's Pro plan has ended by now")

// ware is the response that will be sent: its status, and the format and language that the client's header fields selected.
type ware struct {
	status    int
	mediaType string
	lang      picks.Lang
}

// charge charges the price of a response that will be sent, or counts it against the daily quota. It reports the result in the header.
func (s *Server) charge(w http.ResponseWriter, r *http.Request, key postgres.Key, plan accounts.Plan, e accounts.Endpoint, sent ware) error {
	h := w.Header()
	counts := accounts.Billable(r.Method, sent.status)
	if s.billing.Tariff.Model == accounts.ModelPlan {
		if quota := plan.Quota(); quota > 0 {
			h.Add("RateLimit-Policy", fmt.Sprintf(`"day";q=%d;w=86400`, quota))
		}
		if !counts {
			return nil
		}
		return s.count(h, r, key, plan, e, sent)
	}
	if !counts {
		h.Set("X-Request-Cost", accounts.Micros(0).String())
		return nil
	}
	digest, err := requestDigest(r, sent)
	if err != nil {
		return err
	}
	cost := s.billing.Tariff.Cost(e, r.Method, sent.status)
	out, err := s.billing.charger.Charge(r.Context(), postgres.Charge{
		KeyID: key.ID, Price: cost, Endpoint: e.Path, RequestID: h.Get("X-Request-Id"), Digest: digest,
	})
	if err != nil {
		return s.unavailable(r, err)
	}
	switch out.Outcome {
	case postgres.Charged:
		s.o.Metrics.Charged(e.Path, int64(cost))
	case postgres.PaidBefore:
		cost = 0
	case postgres.ChargeRefused:
		return s.insufficient(r, cost, out.Balance)
	default:
		return errRevoked
	}
	h.Set("X-Request-Cost", cost.String())
	h.Set("X-Balance-Remaining", out.Balance.String())
	return nil
}

// count counts a response that will be sent against the daily quota, once for all repetitions with its Idempotency-Key.
func (s *Server) count(h http.Header, r *http.Request, key postgres.Key, plan accounts.Plan, e accounts.Endpoint, sent ware) error {
	digest, err := requestDigest(r, sent)
	if err != nil {
		return err
	}
	request := postgres.Request{KeyID: key.ID, Endpoint: e.Path, Pro: plan == accounts.PlanPro}
	var out postgres.RequestOutcome
	if digest == nil {
		out, err = s.billing.charger.Count(r.Context(), request)
	} else {
		out, err = s.billing.DB.CountOnce(r.Context(), request, digest)
	}
	if err != nil {
		return s.unavailable(r, err)
	}
	switch out.Outcome {
	case postgres.PlanChanged:
		return errPlanEnded
	case postgres.KeyRevoked, postgres.KeyUnknown:
		return errRevoked
	}
	h.Add("RateLimit", fmt.Sprintf(`"day";r=%d;t=%d`, max(int64(plan.Quota())-out.Used, 0), out.SecondsLeft))
	if out.Outcome == postgres.QuotaExhausted {
		return exhausted(plan, out)
	}
	return nil
}

// exhausted returns the problem of an exhausted daily quota.
func exhausted(plan accounts.Plan, out postgres.RequestOutcome) error {
	return &problemError{
		code:       view.CodeQuotaExhausted,
		detail:     fmt.Sprintf("The %d requests of this UTC day are used up.", plan.Quota()),
		retryAfter: strconv.Itoa(out.SecondsLeft),
	}
}

// insufficient returns the problem of a low balance: how much is missing, and how to pay.
func (s *Server) insufficient(r *http.Request, cost, balance accounts.Micros) error {
	base := s.view.PublicURL()
	return &problemError{
		code:   view.CodeInsufficientBalance,
		detail: fmt.Sprintf("This request costs %s USD; the balance is %s USD.", cost, balance),
		extend: func(p *view.Problem) {
			p.Balance, p.Cost = new(view.USD(balance)), new(view.USD(cost))
			p.TopUpURL = base + "/dashboard"
			if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v1"); ok {
				p.X402URL = base + "/api/v1/x402" + rest
			}
		},
	}
}

// unavailable returns the problem of an unavailable accounts database. Without it, the server cannot serve keys or anything with a price.
func (s *Server) unavailable(r *http.Request, err error) error {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client disconnected
	}
	if !errors.Is(err, postgres.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.warnUnavailable(r, err)
	return &problemError{code: view.CodeUnavailable, detail: "The database of keys and balances is unavailable.", retryAfter: "5"}
}

// warnUnavailable logs that the database is unavailable, at most once in unavailableInterval. A client that asks often must not fill the disk.
func (s *Server) warnUnavailable(r *http.Request, err error) {
	s.unavailableRequests.Add(1)
	s.unavailableWarnings.Do(func() {
		s.log.WarnContext(r.Context(), "the database was needed for answers and is unavailable", "requests_since_the_last_line", s.unavailableRequests.Swap(0), "err", err)
	})
}

const unavailableInterval = 10 * time.Second

// maxIdempotencyKey is the maximum length of an Idempotency-Key in bytes.
const maxIdempotencyKey = 255

// idempotencyKey returns the request's Idempotency-Key, or an empty string.
func idempotencyKey(r *http.Request) (string, error) {
	given := r.Header["Idempotency-Key"]
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 || given[0] == "" || len(given[0]) > maxIdempotencyKey {
		return "", &problemError{code: view.CodeInvalidRequest, detail: "The Idempotency-Key must be a single text of 1 to 255 bytes."}
	}
	return given[0], nil
}

// requestDigest identifies a request that must not be charged twice: its Idempotency-Key, path and query, and the format and language that
// its header fields selected. It is nil if the request has no Idempotency-Key.
func requestDigest(r *http.Request, sent ware) ([]byte, error) {
	key, err := idempotencyKey(r)
	if err != nil || key == "" {
		return nil, err
	}
	d := digest(key, r.URL.EscapedPath(), r.URL.RawQuery, sent.mediaType, string(sent.lang))
	return d[:], nil
}

// digest returns the SHA-256 of some texts. It hashes the length of each text before the text, so that different lists never have the same
// input.
func digest(texts ...string) [sha256.Size]byte {
	h := sha256.New()
	for _, t := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(t), t) // a hash never fails
	}
	return [sha256.Size]byte(h.Sum(nil))
}
