package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

const (
	// reserveLease is how long a payment is held while it is verified.
	reserveLease = 45 * time.Second
	// settleSpare is what the lease of a settlement has beyond its longest time.
	settleSpare = 15 * time.Second
	// deliverLease is how long writing an answer may take before another request may have it.
	deliverLease = 30 * time.Second
)

// sell answers requests for an endpoint that are paid one by one, at the level of the paid tier. The order is what keeps both sides
// whole: the answer is built before money moves, and sent after it; the payment is reserved before the facilitator hears of it, and
// each step is in the database before the next one is taken.
func (s *Server) sell(e accounts.Endpoint, build Build) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := s.o.Payments
		w.Header().Set("Cache-Control", view.CacheNever)
		if fault := p.fault(); fault != "" {
			return &failure{code: view.CodeUnavailable, detail: fault + " Nothing was charged.", retryAfter: "60"}
		}
		version, header, err := paymentHeader(r)
		if err != nil {
			return err
		}
		answer, err := build(r, Caller{Level: accounts.LevelFull})
		if err != nil {
			return err // whether it is paid for or not: what is not there is not sold
		}
		rep, _, err := choose(r, answer.Document)
		if err != nil {
			return err
		}
		sale := &sale{
			Payments: p, w: w, r: r, rep: rep, extra: answer.Header, content: answer.Document.Identity.Body, version: version,
			offer: x402.Offer{
				Seller: p.o.Seller, Price: e.Price, Resource: s.view.PublicURL() + r.URL.EscapedPath(),
				Description: view.X402Descriptions[e.Path], MIMEType: view.TypeJSON, Versions: p.offered(),
			},
		}
		if header == "" || r.Method == http.MethodHead {
			return sale.demand(x402.HeaderPaymentV1+" header is required", nil)
		}
		sale.payment, err = x402.Decode(version, header)
		switch {
		case errors.Is(err, x402.ErrTooLong):
			return &failure{code: view.CodeInvalidRequest, detail: "The payment header is longer than 8192 bytes."}
		case err != nil:
			return sale.refuse(&x402.Refusal{Reason: x402.ReasonPayload, Detail: err.Error()})
		}
		if err := x402.Check(sale.payment, sale.offer, p.o.Now()); err != nil {
			return sale.refuse(err)
		}
		return sale.run()
	}
}

// paymentHeader returns the payment that came with a request and the version of its header. Both headers, or one of them twice, are
// not understood: it would not be known which payment to take.
func paymentHeader(r *http.Request) (version int, header string, err error) {
	one, two := r.Header.Values(x402.HeaderPaymentV1), r.Header.Values(x402.HeaderPaymentV2)
	switch {
	case len(one)+len(two) > 1:
		return 0, "", &failure{code: view.CodeInvalidRequest, detail: "The request carries more than one payment."}
	case len(one) == 1:
		return x402.V1, one[0], nil
	case len(two) == 1:
		return x402.V2, two[0], nil
	}
	return x402.V1, "", nil
}

// sale is one request that is paid for.
type sale struct {
	*Payments

	w http.ResponseWriter
	r *http.Request
	// rep is the answer as it will be sent, with the fields of this request alone in extra; content is its body, uncompressed.
	rep     *view.Representation
	extra   http.Header
	content []byte
	offer   x402.Offer
	version int
	payment x402.Payment
	hold    postgres.X402Hold
}

// run reserves, verifies, settles and delivers.
func (s *sale) run() error {
	// The server's deadlines are for requests that answer at once. The steps below have limits of their own.
	control := http.NewResponseController(s.w)
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	// From here on a client that hangs up changes nothing about what is recorded.
	ctx := context.WithoutCancel(s.r.Context())

	place, err := s.o.Store.ReserveX402(ctx, s.authorization(), reserveLease)
	if err != nil {
		return s.away(err)
	}
	s.hold = place.Hold
	switch place.Outcome {
	case postgres.X402Busy:
		s.count("busy")
		return &failure{code: view.CodePaymentUnderWay, detail: "Another request with this payment is under way.", retryAfter: "2"}
	case postgres.X402Used:
		return s.refuse(&x402.Refusal{Reason: x402.ReasonUsed, Detail: "this payment was used before"})
	case postgres.X402Redeliver:
		s.count("delivered again")
		return s.deliver(ctx, place.TxHash)
	case postgres.X402Unclear:
		changed, done := s.wait(s.hold.ID)
		defer done()
		return s.await(ctx, changed)
	}

	if err := s.o.Facilitator.Verify(s.r.Context(), s.payment, s.offer); err != nil {
		return s.unverified(ctx, err)
	}
	held, err := s.o.Store.SettlingX402(ctx, s.hold, s.o.Facilitator.SettleTimeout()+settleSpare)
	if err != nil {
		return s.away(err)
	}
	if !held {
		s.count("busy")
		return &failure{code: view.CodePaymentUnderWay, detail: "Another request has taken this payment over.", retryAfter: "2"}
	}
	changed, done := s.wait(s.hold.ID)
	defer done()
	return s.conclude(ctx, s.o.Facilitator.Settle(ctx, s.payment, s.offer), changed)
}

// unverified ends a sale whose payment the facilitator does not take, or did not judge. Nobody was asked to settle it, so it can be
// presented again.
func (s *sale) unverified(ctx context.Context, cause error) error {
	if err := s.o.Store.ReleaseX402(ctx, s.hold); err != nil {
		// It is given back by itself when its lease ends.
		s.o.Log.WarnContext(ctx, "a payment that was not settled is still reserved", "payment", s.hold.ID, "err", err)
	}
	if refusal := (*x402.Refusal)(nil); errors.As(cause, &refusal) {
		return s.refuse(refusal)
	}
	return s.away(cause)
}

// conclude records how the settlement ended, and answers.
func (s *sale) conclude(ctx context.Context, end x402.Settlement, changed <-chan struct{}) error {
	if end.Fate == x402.Settled {
		deliver, err := s.settled(ctx, end.Transaction)
		if err == nil && deliver {
			s.count("settled")
			return s.deliver(ctx, end.Transaction)
		}
		// The money has moved and that could not be written down: the chain will be asked.
		s.o.Log.ErrorContext(ctx, "a settlement was not recorded, the chain will be asked", "payment", s.hold.ID, "tx", end.Transaction, "err", err)
		return s.pending()
	}
	u := postgres.X402Unsettled{State: postgres.X402Unknown, TxHash: end.Transaction, Reason: end.Reason}
	switch end.Fate {
	case x402.Unsent:
		u.State = postgres.X402Failed
	case x402.Refused:
		// Where nobody asks the chain, the facilitator's word must do.
		u.Denied = true
		if !s.watched() {
			u.State = postgres.X402Failed
		}
	}
	if _, err := s.o.Store.UnsettledX402(ctx, s.hold, u); err != nil {
		s.o.Log.ErrorContext(ctx, "a settlement without success was not recorded, the chain will be asked", "payment", s.hold.ID, "err", err)
		return s.pending()
	}
	switch {
	case end.Fate == x402.Unsent:
		return s.away(x402.ErrUnavailable)
	case u.State == postgres.X402Failed:
		return s.failed(end.Reason)
	}
	return s.await(ctx, changed)
}

// settled records that the payer paid. A database that is away for a moment is asked again: the money has moved.
func (s *sale) settled(ctx context.Context, transaction string) (deliver bool, err error) {
	const tries, pause = 10, 500 * time.Millisecond
	for range tries {
		deliver, err = s.o.Store.SettledX402(ctx, s.hold, transaction, deliverLease)
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

// await waits for what a worker finds on the chain about an unclear settlement, for a while.
func (s *sale) await(ctx context.Context, changed <-chan struct{}) error {
	patience := time.NewTimer(s.o.Patience)
	defer patience.Stop()
	if !s.watched() {
		patience.Reset(0)
	}
	// Should the notifications be lost, the row is looked at all the same.
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for over := false; ; {
		state, err := s.o.Store.TakeX402(ctx, s.hold, deliverLease)
		switch {
		case err != nil || state.State == "":
			return s.pending()
		case state.State == postgres.X402Settled:
			s.count("settled")
			return s.deliver(ctx, state.TxHash)
		case state.State == postgres.X402Failed:
			return s.failed(state.Reason)
		case over || s.r.Context().Err() != nil:
			_ = s.o.Store.LeaveX402(ctx, s.hold, false) // or the lease ends
			return s.pending()
		}
		select {
		case <-changed:
		case <-look.C:
		case <-s.r.Context().Done():
		case <-patience.C:
			over = true
		}
	}
}

// deliver sends the answer that was paid for. When it cannot be written, one who asks again may have it.
func (s *sale) deliver(ctx context.Context, transaction string) error {
	written := s.write(transaction)
	if err := s.o.Store.LeaveX402(ctx, s.hold, written); err != nil {
		s.o.Log.WarnContext(ctx, "it was not recorded whether an answer was delivered", "payment", s.hold.ID, "delivered", written, "err", err)
	}
	return nil
}

// write tells whether the whole answer was handed to a connection that was still there.
func (s *sale) write(transaction string) bool {
	if s.r.Context().Err() != nil {
		return false
	}
	h := s.w.Header()
	maps.Copy(h, s.rep.Header)
	maps.Copy(h, s.extra)
	// The answer is this payer's; it is not to be had again from a cache.
	h.Set("Cache-Control", view.CacheNever)
	h.Del("ETag")
	s.receipt(x402.Receipt{Success: true, Transaction: transaction})
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(s.o.Now().Add(requestTimeout))
	s.w.WriteHeader(http.StatusOK)
	if _, err := s.w.Write(s.rep.Body); err != nil {
		return false
	}
	return control.Flush() == nil && s.r.Context().Err() == nil
}

// receipt adds the header fields that tell how a settlement ended.
func (s *sale) receipt(r x402.Receipt) {
	r.Network, r.Payer = s.offer.Seller.Network.Named(s.version), s.payment.Authorization.From
	text := r.Encode()
	s.w.Header().Set(x402.HeaderReceiptV1, text)
	s.w.Header().Set(x402.HeaderReceiptV2, text)
}

// demand answers 402 with the terms of every version.
func (s *sale) demand(reason string, failed *x402.Receipt) error {
	if terms := s.offer.Header(reason); terms != "" {
		s.w.Header().Set(x402.HeaderRequiredV2, terms)
	}
	if failed != nil {
		s.receipt(*failed)
	}
	write(s.w, s.r, http.StatusPaymentRequired, view.TypeJSON, s.offer.Body(reason))
	return nil
}

// refuse answers a payment that is not taken: nothing was charged.
func (s *sale) refuse(why error) error {
	s.count("refused")
	return s.demand(why.Error(), nil)
}

// failed answers a settlement that did not succeed: nothing was charged.
func (s *sale) failed(reason string) error {
	s.count("failed")
	return s.demand(reason, &x402.Receipt{ErrorReason: reason})
}

// pending answers a settlement of which it is not known whether it succeeded. It is never a 402: to that a client pays once more.
func (s *sale) pending() error {
	s.count("pending")
	return &failure{
		code: view.CodeSettlementPending, retryAfter: "5",
		detail: "The payment was sent and its settlement is not known yet. Do not pay again: repeat the same request with the same payment.",
	}
}

// away answers when the facilitator or the database was needed and did not answer, before anything was settled.
func (s *sale) away(cause error) error {
	s.count("away")
	f := &failure{code: view.CodeUnavailable, detail: "Payments cannot be taken at the moment. Nothing was charged.", retryAfter: "5"}
	if a := (*x402.Away)(nil); errors.As(cause, &a) {
		f.retryAfter = strconv.Itoa(max(1, int((a.After+time.Second-1)/time.Second)))
	}
	s.o.Log.WarnContext(s.r.Context(), "a payment could not be taken", "err", cause)
	return f
}

// authorization is the payment as it is kept.
func (s *sale) authorization() postgres.X402Authorization {
	a, seller := s.payment.Authorization, s.offer.Seller
	before, _ := strconv.ParseInt(a.ValidBefore, 10, 64) // checked
	sum := sha256.Sum256(s.content)
	resource := s.r.URL.EscapedPath()
	if q := s.r.URL.Query().Encode(); q != "" {
		resource += "?" + q
	}
	return postgres.X402Authorization{
		ChainID: seller.Network.ChainID, Asset: seller.Asset.Key(), Payer: strings.ToLower(a.From),
		Nonce: strings.ToLower(a.Nonce), PayTo: strings.ToLower(seller.PayTo), Micro: int64(s.offer.Price), ValidBefore: time.Unix(before, 0).UTC(),
		Digest: s.payment.Digest(), Resource: resource, Version: s.version, Answer: hex.EncodeToString(sum[:]),
	}
}

// x402Info tells what is sold by request, and how it is paid. It is made once: nothing of it changes while the program runs.
func (s *Server) x402Info(wares []accounts.Endpoint) (*view.Document, error) {
	seller := s.o.Payments.o.Seller
	info := view.X402Info{
		Versions: []int{x402.V1, x402.V2}, Headers: []string{x402.HeaderPaymentV1, x402.HeaderPaymentV2},
		Network: seller.Network.Name, CAIP2: seller.Network.CAIP2(),
		Asset: view.X402Asset{Symbol: seller.Asset.Symbol, Address: seller.Asset.Address, Decimals: x402.Decimals},
		PayTo: seller.PayTo, Facilitator: s.o.Payments.o.Facilitator.URL(), Resources: []view.X402Resource{},
	}
	if seller.Network.Name == "" {
		info.Versions, info.Headers, info.Network = []int{x402.V2}, []string{x402.HeaderPaymentV2}, info.CAIP2
	}
	for _, e := range wares {
		info.Resources = append(info.Resources, view.X402Resource{
			Method: http.MethodGet, Path: x402Path + e.Path, Price: e.Price.Shortest(), Description: view.X402Descriptions[e.Path],
			OutputSchemaRef: s.view.PublicURL() + "/openapi.json#/components/schemas/" + view.X402Schemas[e.Path],
		})
	}
	body, err := view.Encode(view.X402InfoBody{Data: info})
	if err != nil {
		return nil, err
	}
	return view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}), nil
}

// x402Path is where everything stands that is paid by request.
const x402Path = "/api/v1/x402"

// x402 registers every endpoint that has a price fixed by the interface, as its twin that is paid by request.
func (s *Server) x402(mux *http.ServeMux) {
	var wares []accounts.Endpoint
	for _, e := range s.o.Payments.o.Tariff.Endpoints() {
		if build := s.o.Data[e.Path]; build != nil && e.Listed {
			s.get(mux, x402Path+e.Path, s.sell(e, build))
			wares = append(wares, e)
		}
	}
	s.get(mux, x402Path+"/info", func(w http.ResponseWriter, r *http.Request) error {
		info, err := s.x402Info(wares)
		if err != nil {
			return err
		}
		return send(w, r, "application", "json", info)
	})
}
