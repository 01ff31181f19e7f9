package api

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api/endpoint"
	"tidemark/api/view"
)

// handlePaid serves requests for an endpoint, each with its own payment, at the level of the paid tier. The order of the steps protects
// both sides. The response is built before money moves and sent after it. The payment is reserved before the facilitator receives it. Each
// step is committed to the database before the next one starts.
func (s *Server) handlePaid(e endpoint.Endpoint, build Build) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := s.o.Payments
		if s.billing != nil {
			if err := s.limitedByAddress(w, r, "x402", s.billing.X402Rate); err != nil {
				return err
			}
		}
		w.Header().Set("Cache-Control", view.CacheNever)
		if hasBody(r) {
			return &problemError{code: view.CodeInvalidRequest, detail: "A request that is paid for has no body. Nothing was charged."}
		}
		if fault := p.fault(); fault != "" {
			return &problemError{code: view.CodeUnavailable, detail: fault + " Nothing was charged.", retryAfter: "60"}
		}
		version, header, err := paymentHeader(r)
		if err != nil {
			return err
		}
		answer, err := build(r, Caller{Level: accounts.LevelFull})
		if err != nil {
			return err // paid or not: a missing document is not for sale
		}
		if err := checkAccepted(r, answer.Document); err != nil {
			return err
		}
		rep, _ := representation(nil, r.Header["Accept-Encoding"], answer.Document) // each payment buys a whole response
		sale := &x402Payment{
			Payments: p, w: w, r: r, rep: rep, extra: answer.Header, content: answer.Document.Identity.Body, version: version,
			answerTimeout: s.o.Timeouts.Request,
			offer: x402.Offer{
				Seller: p.o.Seller, Price: e.Price, Resource: s.view.PublicURL() + resourceOf(r),
				Description: e.Sold, MIMEType: mediaType(rep), Versions: p.offered(), Input: inputOf(e, r),
			},
		}
		if header == "" || r.Method == http.MethodHead {
			return sale.requirePayment(x402.HeaderPaymentV1+" header is required", nil)
		}
		sale.payment, err = x402.Decode(version, header)
		switch {
		case errors.Is(err, x402.ErrTooLong):
			return &problemError{code: view.CodeInvalidRequest, detail: "The payment header is longer than 8192 bytes."}
		case err != nil:
			return sale.refuse(&x402.Refusal{Reason: x402.ReasonPayload, Detail: err.Error()})
		}
		if err := x402.Check(sale.payment, sale.offer, p.o.Now()); err != nil {
			return sale.refuse(err)
		}
		if p.o.Signed != nil {
			if sale.payment.Proven, err = p.o.Signed(p.o.Seller, sale.payment); err != nil {
				return sale.refuse(&x402.Refusal{Reason: x402.ReasonSignature, Detail: err.Error()})
			}
		}
		leave, err := underWay(p.sales, clientNetwork(s.client(r)), "payments under way", " Nothing was charged.", "2")
		if err != nil {
			return err
		}
		defer leave()
		return sale.run()
	}
}

// resourceOf returns the path of a request with its query in a fixed order.
func resourceOf(r *http.Request) string {
	if q := r.URL.Query().Encode(); q != "" {
		return r.URL.EscapedPath() + "?" + q
	}
	return r.URL.EscapedPath()
}

// mediaType returns the media type of a representation, without its parameters.
func mediaType(rep *view.Representation) string {
	name, _, _ := strings.Cut(rep.Header.Get("Content-Type"), ";")
	return name
}

// maxListedQuery is the longest query that an offer's header repeats as parameters. Proxies cut long headers.
const maxListedQuery = 512

// inputOf returns how an endpoint is asked for, with the values of a request.
func inputOf(e endpoint.Endpoint, r *http.Request) x402.Input {
	in := x402.Input{Takes: e.Params.Query()}
	if e.Params.Has(endpoint.Ticker) {
		in.Template = x402Path + strings.ReplaceAll(e.Path, "{ticker}", ":ticker")
		in.Path = map[string]string{"ticker": r.PathValue("ticker")}
	}
	if len(r.URL.RawQuery) <= maxListedQuery {
		in.Query = map[string]string{}
		for name, values := range r.URL.Query() {
			if slices.Contains(in.Takes, name) {
				in.Query[name] = values[0]
			}
		}
	}
	return in
}

// paymentHeader returns the payment header of a request and its version. It rejects a request with both headers, or with a header sent
// twice, because it cannot know which payment to use.
func paymentHeader(r *http.Request) (version int, header string, err error) {
	one, two := r.Header.Values(x402.HeaderPaymentV1), r.Header.Values(x402.HeaderPaymentV2)
	switch {
	case len(one)+len(two) > 1:
		return 0, "", &problemError{code: view.CodeInvalidRequest, detail: "The request carries more than one payment."}
	case len(one) == 1:
		return x402.V1, one[0], nil
	case len(two) == 1:
		return x402.V2, two[0], nil
	}
	return x402.V1, "", nil
}

// x402Info describes what is sold by request and how to pay. It is built once, because it does not change while the program runs.
func (s *Server) x402Info(endpoints []endpoint.Endpoint) (*view.Document, error) {
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
	for _, e := range endpoints {
		info.Resources = append(info.Resources, view.X402Resource{
			Method: http.MethodGet, Path: x402Path + e.Path, Price: e.Price.Shortest(), Description: e.Sold,
			OutputSchemaRef: s.view.PublicURL() + "/openapi.json#/components/schemas/" + e.Body.Schema,
		})
	}
	body, err := view.Encode(view.X402InfoBody{Data: info})
	if err != nil {
		return nil, err
	}
	return view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}), nil
}

// x402Path is the path prefix of all endpoints that are paid by request.
const x402Path = "/api/v1/x402"

// x402 registers a twin, paid by request, of every endpoint whose price is fixed by the interface.
func (s *Server) x402(mux *http.ServeMux) {
	var endpoints []endpoint.Endpoint
	for _, e := range endpoint.All() {
		if build := s.o.Data[e.Path]; build != nil && e.Sold != "" {
			s.handleGet(mux, x402Path+e.Path, s.handlePaid(e, build))
			endpoints = append(endpoints, e)
		}
	}
	s.handleGet(mux, x402Path+"/info", func(w http.ResponseWriter, r *http.Request) error {
		if err := s.parameters(r).err(); err != nil {
			return err
		}
		info, err := s.x402Info(endpoints)
		if err != nil {
			return err
		}
		return send(w, r, "application", "json", info)
	})
	if keys := s.o.Payments.o.Deliveries; keys != nil {
		doc := view.NewDocument(view.TypeJSON, view.CachePublic, keys.Document(), time.Time{})
		s.handleGet(mux, x402.DIDPath, func(w http.ResponseWriter, r *http.Request) error {
			maps.Copy(w.Header(), corsFields)
			return send(w, r, "application", "json", doc)
		})
	}
}
