package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tidemark/accounts/x402"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

const (
	// reserveLease is how long a payment is reserved while it is verified.
	reserveLease = 45 * time.Second
	// settleSpare is how much longer the lease of a settlement is than the settlement timeout.
	settleSpare = 15 * time.Second
	// deliverLease is how long a request may take to write a response before another request may deliver it.
	deliverLease = 30 * time.Second
)

// x402Payment is one paid request.
type x402Payment struct {
	*Payments

	w http.ResponseWriter
	r *http.Request
	// rep is the response to send. extra are the header fields of this request alone. content is the body, uncompressed.
	rep     *view.Representation
	extra   http.Header
	content []byte
	offer   x402.Offer
	version int
	payment x402.Payment
	hold    postgres.X402Lease
	// answerTimeout is how long the client may take to receive the response.
	answerTimeout time.Duration
}

// timeout returns the longest time of a whole sale. A client that still waits after it should repeat its request.
func (s *x402Payment) timeout() time.Duration {
	return reserveLease + s.o.Facilitator.SettleTimeout() + settleSpare + s.o.WaitTimeout + deliverLease
}

// setDeadlines bounds how long the connection stays open. The request has no body, so it is fully read. The client receives nothing yet.
func (s *x402Payment) setDeadlines() {
	end := s.o.Now().Add(s.timeout())
	control := http.NewResponseController(s.w)
	_ = control.SetReadDeadline(end)
	_ = control.SetWriteDeadline(end.Add(s.answerTimeout))
}

// setAnswerDeadline bounds how long the client takes to receive the response that follows.
func (s *x402Payment) setAnswerDeadline() {
	_ = http.NewResponseController(s.w).SetWriteDeadline(s.o.Now().Add(s.answerTimeout))
}

// run reserves, verifies, settles and delivers.
func (s *x402Payment) run() error {
	// The server's own deadlines are for requests that are answered immediately.
	s.setDeadlines()
	err := s.steps()
	if err != nil {
		s.setAnswerDeadline()
	}
	return err
}

func (s *x402Payment) steps() error {
	// From here on, a client that disconnects does not change what is recorded.
	ctx := context.WithoutCancel(s.r.Context())

	place, err := soon(ctx, func(ctx context.Context) (postgres.X402Reservation, error) {
		return s.o.Store.ReserveX402(ctx, s.authorization(), reserveLease)
	})
	if err != nil {
		return s.unavailable(err)
	}
	s.hold = place.Hold
	switch place.Outcome {
	case postgres.X402Busy:
		s.count("busy")
		return &problemError{code: view.CodePaymentUnderWay, detail: "Another request with this payment is under way.", retryAfter: "2"}
	case postgres.X402Used:
		return s.refuse(&x402.Refusal{Reason: x402.ReasonUsed, Detail: "this payment was used before"})
	case postgres.X402Redeliver:
		s.count("delivered again")
		return s.deliver(ctx, place.TxHash)
	case postgres.X402Unclear:
		changed, done := s.waiters.wait(s.hold.ID)
		defer done()
		return s.await(ctx, changed)
	}

	if err := s.o.Facilitator.Verify(s.r.Context(), s.payment, s.offer); err != nil {
		return s.unverified(ctx, err)
	}
	held, err := soon(ctx, func(ctx context.Context) (bool, error) {
		return s.o.Store.SettlingX402(ctx, s.hold, s.o.Facilitator.SettleTimeout()+settleSpare)
	})
	if err != nil {
		return s.unavailable(err)
	}
	if !held {
		s.count("busy")
		return &problemError{code: view.CodePaymentUnderWay, detail: "Another request has taken over this payment.", retryAfter: "2"}
	}
	changed, done := s.waiters.wait(s.hold.ID)
	defer done()
	return s.finish(ctx, s.o.Facilitator.Settle(ctx, s.payment, s.offer), changed)
}

// soon bounds one database step, because the request's context has no deadline here.
func soon[T any](ctx context.Context, step func(context.Context) (T, error)) (T, error) {
	const longest = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return step(ctx)
}

// unverified ends a sale whose payment the facilitator rejected or did not verify. No settlement was requested, so the client can send the
// payment again.
func (s *x402Payment) unverified(ctx context.Context, cause error) error {
	_, err := soon(ctx, func(ctx context.Context) (bool, error) { return true, s.o.Store.ReleaseX402(ctx, s.hold) })
	if err != nil {
		// The reservation ends with its lease.
		s.o.Log.WarnContext(ctx, "a payment that was not settled is still reserved", "payment", s.hold.ID, "err", err)
	}
	if refusal := (*x402.Refusal)(nil); errors.As(cause, &refusal) {
		return s.refuse(refusal)
	}
	return s.unavailable(cause)
}

// finish records the outcome of the settlement, and responds.
func (s *x402Payment) finish(ctx context.Context, end x402.Settlement, changed <-chan struct{}) error {
	if end.Outcome == x402.Settled {
		deliver, err := s.settled(ctx, end.Transaction)
		if err == nil && deliver {
			s.count("settled")
			return s.deliver(ctx, end.Transaction)
		}
		if errors.Is(err, postgres.ErrExists) {
			s.o.Log.ErrorContext(ctx, "the facilitator names a transaction that it named for another payment (X402_FACILITATOR_URL)",
				"payment", s.hold.ID, "tx", end.Transaction)
			return s.finish(ctx, x402.Settlement{Outcome: x402.OutcomeUnknown, Reason: "the facilitator names the transaction of another payment"}, changed)
		}
		// The money has moved, but the database did not record it. A worker will check the chain.
		s.o.Log.ErrorContext(ctx, "a settlement was not recorded, the chain will be asked", "payment", s.hold.ID, "tx", end.Transaction, "err", err)
		return s.pending()
	}
	u := postgres.X402Unsettled{State: postgres.X402Unknown, TxHash: end.Transaction, Reason: end.Reason}
	switch end.Outcome {
	case x402.OutcomeNotSent:
		u.State = postgres.X402Failed
	case x402.Refused:
		// If no worker checks the chain, trust the facilitator.
		u.Denied = true
		if !s.watched() {
			u.State = postgres.X402Failed
		}
	}
	_, err := soon(ctx, func(ctx context.Context) (bool, error) { return s.o.Store.UnsettledX402(ctx, s.hold, u) })
	if err != nil {
		s.o.Log.ErrorContext(ctx, "a settlement without success was not recorded, the chain will be asked", "payment", s.hold.ID, "err", err)
		return s.pending()
	}
	switch {
	case end.Outcome == x402.OutcomeNotSent:
		return s.unavailable(x402.ErrUnavailable)
	case u.State == postgres.X402Failed:
		return s.failed(end.Reason)
	}
	return s.await(ctx, changed)
}

// settled records that the payer paid. It retries while the database is unavailable, because the money has already moved.
func (s *x402Payment) settled(ctx context.Context, transaction string) (deliver bool, err error) {
	const tries, pause = 10, 500 * time.Millisecond
	for range tries {
		deliver, err = soon(ctx, func(ctx context.Context) (bool, error) {
			return s.o.Store.SettledX402(ctx, s.hold, transaction, deliverLease)
		})
		if !errors.Is(err, postgres.ErrUnavailable) {
			break
		}
		select {
		case <-time.After(pause):
		case <-s.r.Context().Done():
			return false, err
		}
	}
	return deliver, err
}

// await waits up to WaitTimeout for a worker to resolve an unknown settlement on the chain.
func (s *x402Payment) await(ctx context.Context, changed <-chan struct{}) error {
	timeout := time.NewTimer(s.o.WaitTimeout)
	defer timeout.Stop()
	if !s.watched() {
		timeout.Reset(0)
	}
	// Poll the row, in case a notification is lost.
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for over := false; ; {
		state, err := soon(ctx, func(ctx context.Context) (postgres.X402State, error) {
			return s.o.Store.ClaimX402(ctx, s.hold, deliverLease)
		})
		switch {
		case err != nil || state.State == "":
			return s.pending()
		case state.State == postgres.X402Settled:
			s.count("settled")
			return s.deliver(ctx, state.TxHash)
		case state.State == postgres.X402Failed:
			return s.failed(state.Reason)
		case over || s.r.Context().Err() != nil:
			_ = s.release(ctx, false) // if this fails, the lease expires
			return s.pending()
		}
		select {
		case <-changed:
		case <-look.C:
		case <-s.r.Context().Done():
		case <-timeout.C:
			over = true
		}
	}
}

// deliver sends the paid response. If writing fails, a repeated request can receive it.
func (s *x402Payment) deliver(ctx context.Context, transaction string) error {
	written := s.write(transaction)
	if err := s.release(ctx, written); err != nil {
		s.o.Log.WarnContext(ctx, "it was not recorded whether an answer was delivered", "payment", s.hold.ID, "delivered", written, "err", err)
	}
	return nil
}

// release ends the lease of the payment.
func (s *x402Payment) release(ctx context.Context, delivered bool) error {
	_, err := soon(ctx, func(ctx context.Context) (bool, error) {
		return delivered, s.o.Store.EndX402Lease(ctx, s.hold, delivered)
	})
	return err
}

// write reports whether the whole response was written to a connection that is still open.
func (s *x402Payment) write(transaction string) bool {
	if s.r.Context().Err() != nil {
		return false
	}
	h := s.w.Header()
	maps.Copy(h, s.rep.Header)
	maps.Copy(h, s.extra)
	// The response belongs to this payer and must not be cached.
	h.Set("Cache-Control", view.CacheNever)
	h.Del("ETag")
	r := x402.Receipt{Success: true, Transaction: transaction}
	if keys := s.o.Deliveries; keys != nil {
		r.Extensions = keys.Sign(x402.Delivery{
			ContentSHA256: x402.ContentDigest(s.content), IssuedAt: s.o.Now().Unix(), Network: s.offer.Seller.Network.CAIP2(),
			Payer: s.payment.Authorization.From, ResourceURL: s.offer.Resource, Transaction: transaction,
		})
	}
	s.receipt(r)
	s.setAnswerDeadline()
	s.w.WriteHeader(http.StatusOK)
	if _, err := s.w.Write(s.rep.Body); err != nil {
		return false
	}
	return http.NewResponseController(s.w).Flush() == nil && s.r.Context().Err() == nil
}

// receipt adds the header fields that report the outcome of a settlement.
func (s *x402Payment) receipt(r x402.Receipt) {
	r.Network, r.Payer = s.offer.Seller.Network.Named(s.version), s.payment.Authorization.From
	text := r.Encode()
	s.w.Header().Set(x402.HeaderReceiptV1, text)
	s.w.Header().Set(x402.HeaderReceiptV2, text)
}

// requirePayment responds with 402 and the terms of every version.
func (s *x402Payment) requirePayment(reason string, failed *x402.Receipt) error {
	if terms := s.offer.Header(reason); terms != "" {
		s.w.Header().Set(x402.HeaderRequiredV2, terms)
	}
	if failed != nil {
		s.receipt(*failed)
	}
	s.setAnswerDeadline()
	write(s.w, s.r, http.StatusPaymentRequired, view.TypeJSON, s.offer.Body(reason))
	return nil
}

// refuse responds to a rejected payment. Nothing was charged.
func (s *x402Payment) refuse(why error) error {
	s.count("refused")
	return s.requirePayment(why.Error(), nil)
}

// failed responds to a failed settlement. Nothing was charged.
func (s *x402Payment) failed(reason string) error {
	s.count("failed")
	return s.requirePayment(reason, &x402.Receipt{ErrorReason: reason})
}

// pending responds to a settlement with an unknown outcome. It never sends 402, because clients respond to a 402 with another payment.
func (s *x402Payment) pending() error {
	s.count("pending")
	return &problemError{
		code: view.CodeSettlementPending, retryAfter: "5",
		detail: "The payment was sent and its settlement is not known yet. Do not pay again: repeat the same request with the same payment.",
	}
}

// unavailable responds when the facilitator or the database was unavailable before the settlement.
func (s *x402Payment) unavailable(cause error) error {
	s.count("away")
	f := &problemError{code: view.CodeUnavailable, detail: "Payments cannot be taken at the moment. Nothing was charged.", retryAfter: "5"}
	if a := (*x402.UnavailableError)(nil); errors.As(cause, &a) {
		f.retryAfter = strconv.Itoa(max(1, int((a.After+time.Second-1)/time.Second)))
	}
	s.o.Log.WarnContext(s.r.Context(), "a payment could not be taken", "err", cause)
	return f
}

// authorization returns the payment in its stored form.
func (s *x402Payment) authorization() postgres.X402Authorization {
	a, seller := s.payment.Authorization, s.offer.Seller
	before, _ := strconv.ParseInt(a.ValidBefore, 10, 64) // validated before
	return postgres.X402Authorization{
		ChainID: seller.Network.ChainID, Asset: seller.Asset.Key(), Payer: strings.ToLower(a.From),
		Nonce: strings.ToLower(a.Nonce), PayTo: strings.ToLower(seller.PayTo), Micro: int64(s.offer.Price), ValidBefore: time.Unix(before, 0).UTC(),
		Digest: s.payment.Digest(), Resource: resourceOf(s.r), Version: s.version, Answer: x402.ContentDigest(s.content),
	}
}
