package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/accounts/stripe"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// Cards is the processor of card payments. *stripe.Client implements it. It is safe for concurrent use.
type Cards interface {
	// Checkout opens a checkout and returns the URL where the holder pays. It does not retry.
	Checkout(ctx context.Context, o stripe.Order) (string, error)
	// Event verifies the signature of a webhook event over its body and parses it. The error is stripe.ErrBadSignature if the signature is
	// not the processor's.
	Event(body []byte, signature string) (stripe.Event, error)
}

const dashboardPath = "/dashboard"

// dashboard registers the page that manages a key. Its forms work without a script. No other site can send them: browsers withhold the
// cookie from requests that start elsewhere, the server checks the origin, and each form carries a token of its session.
func (s *Server) dashboard(mux *http.ServeMux) {
	s.handleGet(mux, dashboardPath, s.showDashboard)
	s.handleGet(mux, dashboardPath+"/paid", s.showReceipt)
	s.handleForm(mux, "/sign-in", s.signInForm)
	s.handleForm(mux, "/create", s.createHere)
	for path, h := range map[string]func(http.ResponseWriter, *http.Request, session) error{
		"/sign-out": s.signOut, "/rotate": s.rotateHere, "/revoke": s.revokeHere, "/top-up": s.topUp, "/claim": s.claimHere, "/quote": s.quoteHere,
	} {
		s.handleForm(mux, path, s.signedInForm(h))
	}
}

// handleForm registers h for a form of the dashboard. The response to a form leaves its address in the browser, so who opens that address as
// a page is sent to the dashboard.
func (s *Server) handleForm(mux *http.ServeMux, path string, h handler) {
	s.handleMethods(mux, dashboardPath+path, methods{http.MethodPost: h, http.MethodGet: redirectBack})
}

// newSameOrigin returns the check that separates requests of our own pages from requests of other sites. It accepts clients that are not
// browsers.
func (s *Server) newSameOrigin() *http.CrossOriginProtection {
	c := http.NewCrossOriginProtection()
	if origin := originOf(s.view.PublicURL()); origin != "" {
		if err := c.AddTrustedOrigin(origin); err != nil { // behind a proxy the Host may be different
			s.log.Warn("forms of the dashboard are accepted from its own host only (PUBLIC_URL)", "err", err)
		}
	}
	return c
}

// originOf returns the scheme and host of a URL.
func originOf(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	if !ok || host == "" {
		return ""
	}
	return scheme + "://" + host
}

// signedInForm runs h with the session that sent a form. Without a session it asks the visitor to sign in.
func (s *Server) signedInForm(h func(http.ResponseWriter, *http.Request, session) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := s.limitedPage(w, r); err != nil { // a made-up cookie is looked up, too
			return err
		}
		if err := s.form(w, r); err != nil {
			return err
		}
		x, ok, err := s.signedIn(r)
		if err != nil {
			return err
		}
		switch {
		case !ok:
			return s.sendDashboard(w, r, http.StatusForbidden, view.Dashboard{Notice: said("signed out"), Bad: true})
		case !x.ours(r) && r.PostForm.Has("key") && r.PostForm.Get("key") != x.key.PublicID: // another tab signed in
			return s.show(w, r, http.StatusForbidden, x, view.Dashboard{Notice: said("other key", x.key.Prefix), Bad: true})
		case !x.ours(r) && r.URL.Path == dashboardPath+"/rotate": // a reload after a rotation, which began another session
			return s.show(w, r, http.StatusForbidden, x, view.Dashboard{Notice: said("rotated before"), Bad: true})
		case !x.ours(r):
			return s.show(w, r, http.StatusForbidden, x, view.Dashboard{Notice: said("old page"), Bad: true})
		}
		return h(w, r, x)
	}
}

func (s *Server) showDashboard(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitedPage(w, r); err != nil {
		return err
	}
	x, ok, err := s.signedIn(r)
	if err != nil {
		return err
	}
	if !ok {
		return s.sendDashboard(w, r, http.StatusOK, view.Dashboard{})
	}
	return s.show(w, r, http.StatusOK, x, view.Dashboard{})
}

// showReceipt is the page after the processor's checkout. A request from another site has no cookie, so this page shows the result and
// links to the dashboard.
func (s *Server) showReceipt(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitedPage(w, r); err != nil {
		return err
	}
	return s.sendDashboard(w, r, http.StatusOK, view.Dashboard{Returned: true, Notice: said("paid")})
}

// signInForm signs the visitor in.
func (s *Server) signInForm(w http.ResponseWriter, r *http.Request) error {
	if err := s.form(w, r); err != nil {
		return err
	}
	if err := s.limitedByAddress(w, r, "unknown", s.billing.KeyRate); err != nil {
		return err
	}
	refused := view.Dashboard{Notice: said("no key"), Bad: true}
	key, err := accounts.ParseKey(strings.TrimSpace(r.PostForm.Get("api_key")))
	if err != nil || key.Test() != s.sandbox() {
		return s.sendDashboard(w, r, http.StatusForbidden, refused)
	}
	_, err = s.signIn(w, r, key.Hash())
	if errors.Is(err, postgres.ErrEnded) {
		return s.sendDashboard(w, r, http.StatusForbidden, refused)
	}
	if err != nil {
		return s.unavailable(r, err)
	}
	return redirectBack(w, r)
}

// createHere creates a key for anyone, like POST /auth/register. It signs in with the key and shows its text once. A form creates one key,
// however often it is sent, and its repetition does not count against the limit of new keys.
func (s *Server) createHere(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitedPage(w, r); err != nil { // a repeated form is looked up
		return err
	}
	if err := s.form(w, r); err != nil {
		return err
	}
	lang, _ := langOf(r)
	name, err := accounts.CleanName(cmp.Or(strings.TrimSpace(r.PostForm.Get("name")), languages.Or(lang).Words["key.default name"]))
	if err != nil {
		return s.sendDashboard(w, r, http.StatusBadRequest, view.Dashboard{Notice: said("bad name"), Bad: true, Field: "name"})
	}
	once := s.formOnce(r, "")
	if once == nil {
		return s.sendDashboard(w, r, http.StatusBadRequest, view.Dashboard{Notice: said("old form"), Bad: true})
	}
	if _, err := s.billing.DB.Answered(r.Context(), once); err != nil {
		return s.rejectForm(w, r, err)
	}
	if err := s.limited(w, r, "register", clientNetwork(s.client(r)), s.billing.RegisterRate); err != nil {
		return err
	}
	var made accounts.Key
	if _, err := s.makeKey(r.Context(), name, once, func(key accounts.Key, id string, _ postgres.Registered) ([]byte, error) {
		made = key
		return []byte(id + " " + key.Prefix()), nil
	}); err != nil {
		return s.rejectForm(w, r, err)
	}
	x, err := s.signIn(w, r, made.Hash())
	if err != nil {
		return s.unavailable(r, err)
	}
	if x.key, err = s.billing.DB.Session(r.Context(), x.hash()); err != nil {
		return s.unavailable(r, err)
	}
	return s.show(w, r, http.StatusOK, x, view.Dashboard{NewKey: made.Reveal(), Notice: said("created")})
}

// formTTL is how long a form can create a key, an alert or a secret. It ends before the database forgets that the form was sent.
const formTTL = accounts.IdempotencyPost - 2*time.Hour

// formID returns the value that makes a form happen once: the time when the form was made, and a random text.
func (s *Server) formID() string {
	return strconv.FormatInt(s.billing.Now().Unix(), 36) + "." + rand.Text()
}

// errFormSent means that a form was sent before.
var errFormSent = errors.New("the form was sent before")

// formSentError is errFormSent with what the change of the first sending returned.
type formSentError struct{ made string }

func (*formSentError) Error() string { return errFormSent.Error() }

func (*formSentError) Unwrap() error { return errFormSent }

// formOnce returns the record that makes the form of a request act once for a key, "" before there is one. A repetition is a
// *formSentError. It returns nil if the form has no valid id, or is too old.
func (s *Server) formOnce(r *http.Request, key string) *postgres.Once {
	id := r.PostForm.Get("once")
	made, text, _ := strings.Cut(id, ".")
	at, err := strconv.ParseInt(made, 36, 64)
	if age := s.billing.Now().Sub(time.Unix(at, 0)); err != nil || text == "" || age > formTTL || age < -time.Hour {
		return nil
	}
	return &postgres.Once{
		Scope: digest("scope", r.URL.Path, key, id), Request: digest("form"),
		Seal: func(made []byte) ([]byte, error) { return append([]byte("created "), made...), nil },
		Open: func(kept []byte) ([]byte, error) {
			_, made, _ := strings.Cut(string(kept), " ")
			return nil, &formSentError{made}
		},
	}
}

// rejectForm maps the errors of the form that creates a key. The visitor of a repeated form learns that no other key was created, and whether
// the session is of the key that it did create.
func (s *Server) rejectForm(w http.ResponseWriter, r *http.Request, err error) error {
	sent := (*formSentError)(nil)
	if !errors.As(err, &sent) {
		return s.rejectBody(r, err)
	}
	x, ok, err := s.signedIn(r)
	if err != nil {
		return err
	}
	if !ok {
		return s.sendDashboard(w, r, http.StatusConflict, view.Dashboard{Notice: said("created, signed out"), Bad: true})
	}
	notice := said("created before")
	if id, prefix, known := strings.Cut(sent.made, " "); known && id != x.key.PublicID {
		notice = said("created, other key", prefix, x.key.Prefix)
	}
	return s.show(w, r, http.StatusConflict, x, view.Dashboard{Notice: notice, Bad: true})
}

// redirectBack redirects to the dashboard, so that reloading the page does not send the form again.
func redirectBack(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", view.CacheNever)
	address := dashboardPath
	if lang, named := langOf(r); named {
		address += "?lang=" + string(lang)
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// said returns a notice: the id of its text in the languages, below "key.said ", and what the text names.
func said(word string, args ...any) view.Notice { return view.Notice{Word: "said " + word, Args: args} }

// langOf returns the language of the dashboard. The address names it; otherwise it is the language that the browser prefers.
func langOf(r *http.Request) (lang picks.Lang, named bool) {
	if lang, ok := picks.ParseLang(r.URL.Query().Get("lang")); ok {
		return lang, true
	}
	return preferred(r.Header["Accept-Language"]), false
}

func (s *Server) signOut(w http.ResponseWriter, r *http.Request, x session) error {
	if err := s.billing.DB.CloseSession(r.Context(), x.hash()); err != nil {
		return s.unavailable(r, err)
	}
	s.setCookie(w, "", -1)
	return redirectBack(w, r)
}

// rotateHere replaces the text of the key and shows it once. The current session continues with the new text. All other sessions end with
// the old one.
func (s *Server) rotateHere(w http.ResponseWriter, r *http.Request, x session) error {
	seconds, err := strconv.ParseInt(r.PostForm.Get("grace"), 10, 64)
	if grace := time.Duration(seconds) * time.Second; err != nil || seconds < 0 || grace > accounts.MaxGracePeriod {
		return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{Notice: said("bad grace"), Bad: true})
	}
	next, err := s.newKey()
	if err != nil {
		return err
	}
	_, err = s.billing.DB.Rotate(r.Context(), accounts.KeyHash(x.key.Hash), next, time.Duration(seconds)*time.Second, nil,
		func(postgres.Rotated) ([]byte, error) { return nil, nil })
	if errors.Is(err, postgres.ErrEnded) { // the form was sent twice at a time, or the session is that of a replaced text
		return s.show(w, r, http.StatusForbidden, x, view.Dashboard{Notice: said("replaced"), Bad: true})
	}
	if err != nil {
		return s.rejectBody(r, err)
	}
	s.billing.keys.forget(x.key.ID)
	renewed, err := s.signIn(w, r, next.Hash())
	if err != nil {
		return s.unavailable(r, err)
	}
	_ = s.billing.DB.CloseSession(r.Context(), x.hash()) // it ends with the old text in any case
	if renewed.key, err = s.billing.DB.Session(r.Context(), renewed.hash()); err != nil {
		return s.unavailable(r, err)
	}
	return s.show(w, r, http.StatusOK, renewed, view.Dashboard{NewKey: next.Reveal(), Notice: said("rotated")})
}

func (s *Server) revokeHere(w http.ResponseWriter, r *http.Request, x session) error {
	if r.PostForm.Get("sure") != "yes" {
		return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{Notice: said("not sure"), Bad: true})
	}
	if err := s.billing.DB.RevokeOwn(r.Context(), accounts.KeyHash(x.key.Hash), "asked for on the dashboard"); err != nil {
		return s.rejectBody(r, err)
	}
	s.billing.keys.forget(x.key.ID)
	s.setCookie(w, "", -1)
	return s.sendDashboard(w, r, http.StatusOK, view.Dashboard{Notice: said("revoked")})
}

// topUp redirects the browser to the processor's checkout.
func (s *Server) topUp(w http.ResponseWriter, r *http.Request, x session) error {
	if s.o.Cards == nil {
		return errNoCards
	}
	number, ok := enteredNumber(r, "amount")
	if !ok {
		return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{Notice: said("bad number"), Bad: true, Field: "amount"})
	}
	amount, err := accounts.ParseMicros(number)
	if err != nil || amount < accounts.MinTopUp || amount > maxTopUp || amount%(accounts.PerDollar/100) != 0 {
		return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{
			Notice: said("bad amount", accounts.MinTopUp.Shortest(), maxTopUp.Shortest()), Bad: true, Field: "amount",
		})
	}
	base := s.view.PublicURL() + dashboardPath
	once := digest("order", x.text, r.PostForm.Get("once"), amount.String())
	address, err := s.o.Cards.Checkout(r.Context(), stripe.Order{
		Key: x.key.PublicID, Amount: amount, DoneURL: base + "/paid", CancelURL: base, Once: hex.EncodeToString(once[:]),
	})
	if err != nil {
		s.log.WarnContext(r.Context(), "a checkout could not be opened", "err", err)
		return s.show(w, r, http.StatusServiceUnavailable, x, view.Dashboard{
			Notice: said("no processor"), Bad: true,
		})
	}
	w.Header().Set("Cache-Control", view.CacheNever)
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// maxTopUp is the maximum top-up, to catch typing errors.
const maxTopUp = 10_000 * accounts.PerDollar

// quoteHere reserves an amount for the key. A transfer of that amount needs no other proof.
func (s *Server) quoteHere(w http.ResponseWriter, r *http.Request, x session) error {
	if s.claimService == nil {
		return errNoTransfers
	}
	if x.key.EndsAt != nil {
		return s.show(w, r, http.StatusForbidden, x, view.Dashboard{Notice: said("replaced"), Bad: true})
	}
	q, err := s.claimService.db.Quote(r.Context(), x.key.ID)
	switch {
	case errors.Is(err, postgres.ErrNoQuote):
		return s.show(w, r, http.StatusServiceUnavailable, x, view.Dashboard{Notice: said("no amount"), Bad: true})
	case err != nil:
		return s.unavailable(r, err)
	}
	t := s.claimService.transfers()
	t.Amount, t.Until = q.Amount.String(), q.Until.UTC()
	seller := s.claimService.Seller
	t.Wallet = fmt.Sprintf("ethereum:%s@%d/transfer?address=%s&uint256=%d", seller.Asset.Address, seller.Network.ChainID, seller.PayTo, int64(q.Amount))
	return s.show(w, r, http.StatusOK, x, view.Dashboard{Transfers: &t})
}

// claimHere claims a transfer, like POST /payments/verify. If the claim needs a proof, the page shows the text to sign.
func (s *Server) claimHere(w http.ResponseWriter, r *http.Request, x session) error {
	if s.claimService == nil {
		return errNoTransfers
	}
	answer := func(status int, notice view.Notice, bad bool, t *view.DashboardTransfers) error {
		return s.show(w, r, status, x, view.Dashboard{Notice: notice, Bad: bad, Transfers: t})
	}
	faulty := func(field string, notice view.Notice, t *view.DashboardTransfers) error {
		return s.show(w, r, http.StatusBadRequest, x, view.Dashboard{Notice: notice, Bad: true, Field: field, Transfers: t})
	}
	if x.key.EndsAt != nil {
		return answer(http.StatusForbidden, said("replaced"), true, nil)
	}
	tx, given := strings.ToLower(strings.TrimSpace(r.PostForm.Get("tx_hash"))), strings.TrimSpace(r.PostForm.Get("signature"))
	if !txHashForm.MatchString(tx) {
		return faulty("tx_hash", said("bad tx"), nil)
	}
	t := s.claimService.transfers()
	t.TxHash, t.Message = tx, accounts.ClaimMessage(tx, x.key.PublicID, s.claimService.Seller.Network.ChainID)
	var signature *string
	if given != "" {
		if len(given) > maxSignature || !signatureForm.MatchString(given) {
			return faulty("signature", said("bad signature"), &t)
		}
		signature = &given
	}
	claim, _, err := s.claimService.decide(r.Context(), x.key.ID, tx, signature)
	switch {
	case errors.Is(err, postgres.ErrTooManyClaims):
		return answer(http.StatusTooManyRequests, said("many claims"), true, nil)
	case errors.Is(err, postgres.ErrClaimsFull):
		return answer(http.StatusServiceUnavailable, said("claims full"), true, &t)
	case err != nil:
		return s.rejectBody(r, err)
	case claim.Granted():
		s.billing.keys.forget(x.key.ID)
		return answer(http.StatusOK, said("claimed"), false, nil)
	case claim.Reason != nil:
		return answer(http.StatusOK, view.Notice{Word: "claim " + string(*claim.Reason)}, true, &t)
	}
	return answer(http.StatusAccepted, said("claim kept"), false, &t)
}

// transfers describes how a key is topped up by transfer.
func (d *claimService) transfers() view.DashboardTransfers {
	return view.DashboardTransfers{PayTo: d.Seller.PayTo, Token: d.Seller.Asset.Symbol, Network: d.Seller.Network.Title()}
}

// show adds the state of the key and sends the page.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, x session, d view.Dashboard) error {
	a, err := s.billing.DB.Account(r.Context(), x.key.ID)
	if err != nil {
		return s.unavailable(r, err)
	}
	now := s.billing.Now().UTC()
	d.To = now.Truncate(24 * time.Hour)
	d.From = d.To.AddDate(0, 0, 1-usageDays)
	list, err := s.billing.DB.Usage(r.Context(), x.key.ID, d.From, d.To)
	if err != nil {
		return s.unavailable(r, err)
	}
	for _, u := range list {
		d.Usage = append(d.Usage, view.UsageRow{Date: u.Day.Format(time.DateOnly), Endpoint: u.Endpoint, Requests: u.Requests, Cost: u.Cost.String()})
	}
	d.KeyID, d.Name, d.Prefix, d.CreatedAt = x.key.PublicID, x.key.Name, x.key.Prefix, x.key.CreatedAt
	d.Plan = accounts.PlanAt(s.billing.Tariff.Model, a.ProUntil, now)
	d.Balance, d.Quota = a.Balance, d.Plan.Quota()
	if d.Plan == accounts.PlanPro {
		d.ProUntil = a.ProUntil
	}
	d.Today, d.Month = view.UsageSum{Requests: a.RequestsToday, Cost: a.CostToday.String()}, view.UsageSum{Requests: a.RequestsMonth, Cost: a.CostMonth.String()}
	d.Token, d.MinTopUp = x.token(), accounts.MinTopUp.Shortest()
	if err := s.addAlerts(r, x, &d); err != nil {
		return err
	}
	d.Cards = s.o.Cards != nil && s.billing.Tariff.Model == accounts.ModelBalance
	if s.claimService != nil && d.Transfers == nil {
		t := s.claimService.transfers()
		d.Transfers = &t
	}
	return s.sendDashboard(w, r, status, d)
}

// dashboardPolicy allows a form to lead to the processor's pages, where a redirect sends it, and to no other site.
const dashboardPolicy = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' https://checkout.stripe.com"

func (s *Server) sendDashboard(w http.ResponseWriter, r *http.Request, status int, d view.Dashboard) error {
	h := w.Header()
	h.Set("Cache-Control", view.CacheNever)
	h.Set("Content-Security-Policy", dashboardPolicy)
	h.Set("Referrer-Policy", "same-origin")
	d.Language, d.Named = langOf(r)
	d.Once = s.formID()
	if d.Bad {
		d.Entered = r.PostForm
	}
	write(w, r, status, view.TypeHTML, s.o.Pages.Dashboard(d))
	return nil
}
