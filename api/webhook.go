package api

import (
	"errors"
	"io"
	"net/http"

	"tidemark/accounts/stripe"
	"tidemark/api/view"
)

// maxEvent is the maximum size of a webhook event, in bytes.
const maxEvent = 512 << 10

// errNoCards is the problem of a service that does not accept cards.
var errNoCards = &problemError{
	code:   view.CodeNotConfigured,
	detail: "This service takes no cards: its operator has not set STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET, or sells plans (BILLING_MODEL).",
}

// webhook stores an event of the payment processor, once, and responds. It trusts only the payment id in the event: a worker queries the
// processor for the rest.
func (s *Server) webhook(w http.ResponseWriter, r *http.Request) error {
	if s.o.Cards == nil {
		return errNoCards
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return &problemError{code: view.CodeBodyTooLarge, detail: "The report is too long."}
	}
	if err != nil {
		return &problemError{code: view.CodeInvalidRequest, detail: "The body did not arrive whole."}
	}
	event, err := s.o.Cards.Event(body, r.Header.Get("Stripe-Signature"))
	if err != nil {
		s.log.WarnContext(r.Context(), "a report was refused that is not the payment processor's (STRIPE_WEBHOOK_SECRET)", "err", err)
		return &problemError{code: view.CodeInvalidRequest, detail: "The signature is not the payment processor's, or too old."}
	}
	if event.Payment != "" {
		if _, err := s.billing.DB.StoreProcessorEvent(r.Context(), stripe.Name, event.ID, event.Type, body); err != nil {
			return s.unavailable(r, err)
		}
	}
	w.Header().Set("Cache-Control", view.CacheNever)
	w.WriteHeader(http.StatusNoContent)
	return nil
}
