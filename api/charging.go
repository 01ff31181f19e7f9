package api

import (
	"context"
	"crypto/sha256"
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

// Build makes the whole answer of a data endpoint, before anybody pays for it, or returns an error having promised nothing. It knows
// nothing of keys, prices and quotas: the same function answers to a key and to a payment. Whatever it returns may be sent, or dropped
// because the price could not be taken.
type Build func(r *http.Request, c Caller) (Answer, error)

// Caller is what a build function may know of who asks.
type Caller struct {
	// Level is how much the answer may show.
	Level accounts.Level
}

// Answer is a finished document with the fields that this request alone has.
type Answer struct {
	Document *view.Document
	// Header holds Link, Content-Disposition and the like; nil: none.
	Header http.Header
	// Lang is the language that was chosen, empty where there is one only.
	Lang picks.Lang
}

// Accounts is what the server needs to know keys and to take money.
type Accounts struct {
	// DB works as the API's role.
	DB *postgres.DB
	// Tariff is the model in force and its prices.
	Tariff accounts.Tariff
	// Now is the wall clock: keys and money concern people who wait.
	Now func() time.Time
	// Limiter counts requests: KeyRate those of a key, RegisterRate new keys of a client's address, SignalsRate its questions about the
	// past of signals, X402Rate those for what is paid by request, PagesRate those for pages. A zero rate is no limit.
	Limiter                                                 *Limiter
	KeyRate, RegisterRate, SignalsRate, X402Rate, PagesRate Rate
	// TrustedProxies are believed when they say in X-Forwarded-For for whom they ask.
	TrustedProxies []netip.Prefix
}

// billing is the inside of Accounts.
type billing struct {
	Accounts

	keys    *keyCache
	charger *postgres.Charger
}

func newBilling(a Accounts, log *slog.Logger) *billing {
	return &billing{Accounts: a, keys: newKeyCache(a.DB, log), charger: postgres.NewCharger(a.DB)}
}

// cacheKeyed is for answers to one key: they may be kept, and must be asked about, so that a 304 costs nothing.
const cacheKeyed = "private, no-cache"

// handleKeyed registers a data endpoint for which a key is needed. path is below /api/v1 and one of the tariff's.
func (s *Server) handleKeyed(mux *http.ServeMux, path string, build Build) {
	e, ok := s.billing.Tariff.Endpoint(path)
	if !ok {
		panic(fmt.Sprintf("the endpoint %s has no line in the table of prices", path))
	}
	s.handleGet(mux, "/api/v1"+path, func(w http.ResponseWriter, r *http.Request) error { return s.serveCharged(w, r, e, build) })
}

// serveCharged makes the whole answer, then takes what it costs, then sends it. What is not sent, is an error, or gives the client nothing
// new costs nothing.
func (s *Server) serveCharged(w http.ResponseWriter, r *http.Request, e accounts.Endpoint, build Build) error {
	key, err := s.authenticate(w, r)
	if err != nil {
		return err
	}
	plan := accounts.PlanAt(s.billing.Tariff.Model, key.ProUntil, s.billing.Now())
	if _, ok := plan.LevelFor(e); !ok {
		// It may have been upgraded at this very moment.
		if key, err = s.billing.keys.reload(r.Context(), key); err != nil {
			return s.unavailable(r, err)
		}
		plan = accounts.PlanAt(s.billing.Tariff.Model, key.ProUntil, s.billing.Now())
	}
	for {
		level, ok := plan.LevelFor(e)
		if !ok {
			return &problemError{code: view.CodePlanRequired, detail: "The Free plan has no view of this. The Pro plan has."}
		}
		answer, err := build(r, Caller{Level: level})
		if err != nil {
			return err
		}
		rep, status, err := choose(r, answer.Document)
		if err != nil {
			return err
		}
		err = s.charge(w, r, key, plan, e, ware{status: status, mediaType: rep.Header.Get("Content-Type"), lang: answer.Lang})
		if errors.Is(err, errPlanEnded) {
			plan = accounts.PlanFree // by the database's clock, which is the one that counts
			continue
		}
		if err != nil {
			return err
		}
		h := w.Header()
		maps.Copy(h, rep.Header)
		for name, values := range answer.Header {
			if name == "Vary" { // beside that of the compression
				values = append(h[name], values...)
			}
			h[name] = values
		}
		h.Set("Cache-Control", cacheKeyed)
		if r.Method == http.MethodHead {
			// HEAD costs nothing, and must not tell of an answer that costs something how long it is, or that it changed.
			for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Last-Modified", "Link"} {
				h.Del(name)
			}
			w.WriteHeader(http.StatusOK)
			return nil
		}
		transmit(w, r, rep, status)
		return nil
	}
}

var errPlanEnded = errors.New("the key's Pro plan has ended by now")

// ware is what is about to be sent: with which status and, as the client's fields chose it, in which format and language.
type ware struct {
	status    int
	mediaType string
	lang      picks.Lang
}

// charge takes the price of an answer that is about to be sent, or counts it against the day, and says so in the header.
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
		return s.count(h, r, key, plan, e)
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

func (s *Server) count(h http.Header, r *http.Request, key postgres.Key, plan accounts.Plan, e accounts.Endpoint) error {
	out, err := s.billing.charger.Count(r.Context(), postgres.Request{KeyID: key.ID, Endpoint: e.Path, Pro: plan == accounts.PlanPro})
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

// exhausted is the problem of a day without requests left.
func exhausted(plan accounts.Plan, out postgres.RequestOutcome) error {
	return &problemError{
		code:       view.CodeQuotaExhausted,
		detail:     fmt.Sprintf("The %d requests of this UTC day are used up.", plan.Quota()),
		retryAfter: strconv.Itoa(out.SecondsLeft),
	}
}

// insufficient says what is missing, and how to pay.
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

// unavailable is the problem of accounts that cannot be asked. Without them nothing that has a price, or a key, is served.
func (s *Server) unavailable(r *http.Request, err error) error {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // nobody waits for an answer
	}
	if !errors.Is(err, postgres.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.log.WarnContext(r.Context(), "keys cannot be served, the database is away", "err", err)
	return &problemError{code: view.CodeUnavailable, detail: "Keys and balances are kept in a database that is away.", retryAfter: "5"}
}

// maxIdempotencyKey is the longest Idempotency-Key, in bytes.
const maxIdempotencyKey = 255

// idempotencyKey is the request's, empty where it has none.
func idempotencyKey(r *http.Request) (string, error) {
	given := r.Header["Idempotency-Key"]
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 || given[0] == "" || len(given[0]) > maxIdempotencyKey {
		return "", &problemError{code: view.CodeInvalidRequest, detail: "The Idempotency-Key must be one text of 1 to 255 bytes."}
	}
	return given[0], nil
}

// requestDigest stands for a request that is not to be paid twice: its Idempotency-Key, path and query, and the format and the language
// that its other fields chose. Nil where it has no key.
func requestDigest(r *http.Request, sent ware) ([]byte, error) {
	key, err := idempotencyKey(r)
	if err != nil || key == "" {
		return nil, err
	}
	d := digest(key, r.URL.EscapedPath(), r.URL.RawQuery, sent.mediaType, string(sent.lang))
	return d[:], nil
}

// digest is the SHA-256 of some texts, with the length of each before it, so that no two lists of texts are taken for each other.
func digest(texts ...string) [sha256.Size]byte {
	h := sha256.New()
	for _, t := range texts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(t), t) // a hash never fails
	}
	return [sha256.Size]byte(h.Sum(nil))
}
