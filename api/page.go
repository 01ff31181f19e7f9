package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// page serves an HTML page. A signed-in visitor sees the data that the visitor's key may see, at the price of the same data in the API.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	if s.o.Pages == nil || isAPI(r.URL.Path) {
		return s.notFound(w, r)
	}
	if err := s.limitedPage(w, r); err != nil {
		return err
	}
	if names, ok := s.o.Pages.FileParameters(r.URL.Path); ok {
		p := s.parameters(r)
		for _, name := range names {
			p.text(name)
		}
		if err := p.err(); err != nil {
			return err
		}
	}
	key, sees := s.visitor(r)
	visitor := view.Visitor{Lang: preferred(r.Header["Accept-Language"]), Sees: sees}
	page, err := s.o.Pages.Page(r.Context(), r.URL, visitor)
	if err == nil && page != nil && len(page.Paid) > 0 {
		page, err = s.sellPage(w, r, *key, page, visitor)
	}
	if refusal := (*view.Refusal)(nil); errors.As(err, &refusal) {
		return &problemError{code: refusal.Code, detail: refusal.Detail, in: refusal.In, next: refusal.Next}
	}
	if moved := (*view.Moved)(nil); errors.As(err, &moved) { // the target does not depend on the language
		w.Header().Set("Cache-Control", view.CachePublic)
		w.Header().Set("Location", moved.To)
		w.WriteHeader(http.StatusPermanentRedirect)
		return nil
	}
	if err != nil {
		return err
	}
	if page == nil {
		if _, err := s.state(); err != nil {
			return err // it may exist once the signals are loaded
		}
		return s.notFound(w, r)
	}
	if page.Negotiated {
		w.Header().Add("Vary", "Accept-Language")
	}
	if !page.Differs {
		reply(w, r, page.Document)
		return nil
	}
	own := *page.Document
	if key != nil {
		own = *ownPage(r, *key, page, visitor)
	}
	for _, rep := range []*view.Representation{&own.Identity, &own.Gzip} {
		if rep.Body == nil {
			continue
		}
		rep.Header = rep.Header.Clone() // the page's own header is shared
		rep.Header.Add("Vary", "Cookie")
		if key != nil {
			rep.Header.Set("Cache-Control", cacheKeyed)
		}
	}
	reply(w, r, &own)
	return nil
}

// limitedPage counts one page against the page limit of an address and, if the page reads from the database, against its history limit.
// Static files are not counted, because browsers cache them.
func (s *Server) limitedPage(w http.ResponseWriter, r *http.Request) error {
	if s.billing == nil || strings.HasPrefix(r.URL.Path, "/static/") {
		return nil
	}
	if err := s.limitedByAddress(w, r, "pages", s.billing.PagesRate); err != nil {
		return err
	}
	if r.URL.RawQuery == "" {
		return nil
	}
	return s.limitHistory(w, r)
}

// visitor returns the key that a browser is signed in with, and the endpoints whose full data it may see. It returns nil if the visitor is
// not signed in or did not open the page: HEAD, a prefetch, or a request of another site's page. It also returns nil while the database is
// unavailable, so that pages still load.
func (s *Server) visitor(r *http.Request) (*postgres.Key, []string) {
	if s.billing == nil || r.Method != http.MethodGet || !opened(r.Header) {
		return nil, nil
	}
	x, ok, err := s.signedIn(r)
	if err != nil || !ok {
		return nil, nil
	}
	plan := accounts.PlanAt(s.billing.Tariff.Model, x.key.ProUntil, s.billing.Now())
	var sees []string
	for _, e := range s.billing.Tariff.Endpoints() {
		if level, ok := plan.LevelFor(e); ok && level == accounts.LevelFull {
			sees = append(sees, e.Path)
		}
	}
	return &x.key, sees
}

// opened reports whether a person opened the page, as far as the request shows. The cookie alone does not show that, because browsers also
// send it with background requests.
func opened(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		if strings.Contains(h.Get(name), "prefetch") || strings.Contains(h.Get(name), "preview") {
			return false
		}
	}
	return slices.Contains([]string{"", "same-origin", "none"}, h.Get("Sec-Fetch-Site")) &&
		slices.Contains([]string{"", "document"}, h.Get("Sec-Fetch-Dest"))
}

// sellPage charges for each part of a page, as the API does, and returns the page with the paid parts. The same key can load the same page
// again for ten minutes without a new charge, even in two tabs at once.
func (s *Server) sellPage(w http.ResponseWriter, r *http.Request, key postgres.Key, page *view.Page, visitor view.Visitor) (*view.Page, error) {
	if err := s.limited(w, r, "key", key.PublicID, s.billing.KeyRate); err != nil {
		return nil, err
	}
	r.Header["If-None-Match"] = namedTags(r.Header["If-None-Match"])
	if _, status := representation(r.Header["If-None-Match"], r.Header["Accept-Encoding"], ownPage(r, key, page, visitor)); status == http.StatusNotModified {
		return page, nil // the browser has it
	}
	var paid []string
	var refusal error
	for _, path := range page.Paid {
		e, ok := s.billing.Tariff.Endpoint(path)
		if !ok {
			return nil, errors.New("a page shows the endpoint " + path + ", which has no price")
		}
		if refusal = s.sellPart(w, r, key, e, page.Subject); refusal != nil {
			break
		}
		paid = append(paid, path)
	}
	if refusal == nil {
		return page, nil
	}
	visitor.Sees = paid
	less, err := s.o.Pages.Page(r.Context(), r.URL, visitor)
	if less == nil || err != nil {
		return nil, refusal // the page does not exist without the part
	}
	return less, nil
}

// ownPage returns the document of a page with tags for this key alone.
func ownPage(r *http.Request, key postgres.Key, page *view.Page, visitor view.Visitor) *view.Document {
	return ownDocument(r, key, Answer{Document: page.Document, Lang: visitor.Lang})
}

// sellPart charges for one part of a page, or counts it against the daily quota.
func (s *Server) sellPart(w http.ResponseWriter, r *http.Request, key postgres.Key, e accounts.Endpoint, subject string) error {
	h, once := w.Header(), digest("page", e.Path, subject)
	if s.billing.Tariff.Model == accounts.ModelPlan {
		out, err := s.billing.DB.CountOnce(r.Context(), postgres.Request{KeyID: key.ID, Endpoint: e.Path, Pro: true}, once[:])
		switch {
		case err != nil:
			return s.unavailable(r, err)
		case out.Outcome == postgres.Counted, out.Outcome == postgres.PaidBefore:
			return nil
		case out.Outcome == postgres.QuotaExhausted:
			return exhausted(accounts.PlanPro, out)
		}
		return errRevoked
	}
	out, err := s.billing.charger.Charge(r.Context(), postgres.Charge{
		KeyID: key.ID, Price: e.Price, Endpoint: e.Path, RequestID: h.Get("X-Request-Id"), Digest: once[:],
	})
	if err != nil {
		return s.unavailable(r, err)
	}
	var cost accounts.Micros
	switch out.Outcome {
	case postgres.Charged:
		cost = e.Price
		s.o.Metrics.Charged(e.Path, int64(cost))
	case postgres.PaidBefore:
	case postgres.ChargeRefused:
		return s.insufficient(r, e.Price, out.Balance)
	default:
		return errRevoked
	}
	if before, err := accounts.ParseMicros(h.Get("X-Request-Cost")); err == nil {
		cost += before
	}
	h.Set("X-Request-Cost", cost.String())
	h.Set("X-Balance-Remaining", out.Balance.String())
	return nil
}
