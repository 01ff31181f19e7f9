package x402

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"tidemark/accounts"
)

// The header fields of the protocol.
const (
	HeaderPaymentV1  = "X-PAYMENT"
	HeaderPaymentV2  = "PAYMENT-SIGNATURE"
	HeaderRequiredV2 = "PAYMENT-REQUIRED"
	HeaderReceiptV1  = "X-PAYMENT-RESPONSE"
	HeaderReceiptV2  = "PAYMENT-RESPONSE"
)

// Offer is what one resource costs.
type Offer struct {
	Seller Seller
	// Price is in micro-dollars, which are the asset's atomic units.
	Price accounts.Micros
	// Resource is the absolute URL of what is sold.
	Resource string
	// Description says in a few words what is sold; MIMEType is its media type.
	Description, MIMEType string
	// Versions are those that the facilitator settles, of V1 and V2; nil means both.
	Versions []int
}

// Serves tells whether the offer can be paid in a version of the protocol.
func (o Offer) Serves(version int) bool {
	if o.Seller.Network.Named(version) == "" {
		return false
	}
	return o.Versions == nil || slices.Contains(o.Versions, version)
}

// domain is the member extra of an entry: what the payer's signature is for.
type domain struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// requirementV1 is an entry of a version 1 offer. A stock client refuses the whole list when one member is missing or null.
type requirementV1 struct {
	Scheme            string          `json:"scheme"`
	Network           string          `json:"network"`
	MaxAmountRequired string          `json:"maxAmountRequired"`
	Resource          string          `json:"resource"`
	Description       string          `json:"description"`
	MIMEType          string          `json:"mimeType"`
	OutputSchema      json.RawMessage `json:"outputSchema"`
	PayTo             string          `json:"payTo"`
	MaxTimeoutSeconds int             `json:"maxTimeoutSeconds"`
	Asset             string          `json:"asset"`
	Extra             domain          `json:"extra"`
}

// requirementV2 is an entry of a version 2 offer.
type requirementV2 struct {
	Scheme            string `json:"scheme"`
	Network           string `json:"network"`
	Amount            string `json:"amount"`
	Asset             string `json:"asset"`
	PayTo             string `json:"payTo"`
	MaxTimeoutSeconds int    `json:"maxTimeoutSeconds"`
	Extra             domain `json:"extra"`
}

type resourceV2 struct {
	URL         string `json:"url"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

// How the resource is called, for those who list what can be bought: in version 1 as part of an entry, in version 2 as the extension
// "bazaar" with the schema that its info follows.
const (
	discoveryV1 = `{"input":{"type":"http","method":"GET","discoverable":true}}`
	discoveryV2 = `{"bazaar":{"info":{"input":{"type":"http","method":"GET"}},"schema":{` +
		`"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"input":{"type":"object",` +
		`"properties":{"type":{"type":"string","const":"http"},"method":{"type":"string","enum":["GET"]}},` +
		`"required":["type","method"]}},"required":["input"]}}}`
)

// atomic is the price as the protocol writes it: a whole number of the asset's atomic units.
func (o Offer) atomic() string { return strconv.FormatInt(int64(o.Price), 10) }

func (o Offer) v1() requirementV1 {
	return requirementV1{
		Scheme: scheme, Network: o.Seller.Network.Name, MaxAmountRequired: o.atomic(), Resource: o.Resource,
		Description: o.Description, MIMEType: o.MIMEType, OutputSchema: json.RawMessage(discoveryV1), PayTo: o.Seller.PayTo,
		MaxTimeoutSeconds: int(maxTimeout.Seconds()), Asset: o.Seller.Asset.Address, Extra: o.domain(),
	}
}

func (o Offer) v2() requirementV2 {
	return requirementV2{
		Scheme: scheme, Network: o.Seller.Network.CAIP2(), Amount: o.atomic(), Asset: o.Seller.Asset.Address,
		PayTo: o.Seller.PayTo, MaxTimeoutSeconds: int(maxTimeout.Seconds()), Extra: o.domain(),
	}
}

func (o Offer) domain() domain {
	return domain{Name: o.Seller.Asset.Name, Version: o.Seller.Asset.Version}
}

// Requirements is the entry of the offer that a facilitator is given with a payment of that version.
func (o Offer) Requirements(version int) json.RawMessage {
	if version == V1 {
		return encode(o.v1())
	}
	return encode(o.v2())
}

// Body is the body of a 402 answer: the terms of version 1. Those of version 2 have no place in it, because a client of version 1
// refuses a list with an entry that it does not know. reason says why payment is asked for, or what was wrong with the one sent.
func (o Offer) Body(reason string) []byte {
	accepts := []requirementV1{}
	if o.Serves(V1) {
		accepts = append(accepts, o.v1())
	}
	return encode(PaymentRequired{V1, reason, accepts})
}

// PaymentRequired is the body of a 402 answer in version 1 of the protocol.
type PaymentRequired struct {
	Version int `json:"x402Version"`
	// Error says why payment is asked for, or what was wrong with the one that was sent.
	Error string `json:"error"`
	// Accepts are the ways to pay; empty where only version 2 is served, whose terms are in the header PAYMENT-REQUIRED.
	Accepts []requirementV1 `json:"accepts"`
}

// Header is the field HeaderRequiredV2 of a 402 answer: the terms of version 2. It is empty where that version is not served.
func (o Offer) Header(reason string) string {
	if !o.Serves(V2) {
		return ""
	}
	return base64.StdEncoding.EncodeToString(encode(struct {
		Version    int             `json:"x402Version"`
		Error      string          `json:"error"`
		Resource   resourceV2      `json:"resource"`
		Accepts    []requirementV2 `json:"accepts"`
		Extensions json.RawMessage `json:"extensions"`
	}{V2, reason, resourceV2{o.Resource, o.Description, o.MIMEType}, []requirementV2{o.v2()}, json.RawMessage(discoveryV2)}))
}

// Receipt is what a settlement ended with, as the client is told.
type Receipt struct {
	Success bool `json:"success"`
	// ErrorReason is why not; it is left out where Success.
	ErrorReason string `json:"errorReason,omitempty"`
	// Transaction is the hash of the transaction, empty for none.
	Transaction string `json:"transaction"`
	// Network is named as the version of the payment names it.
	Network string `json:"network"`
	Payer   string `json:"payer"`
}

// Encode writes the receipt as HeaderReceiptV1 and HeaderReceiptV2 carry it.
func (r Receipt) Encode() string { return base64.StdEncoding.EncodeToString(encode(r)) }

// encode cannot fail: what it is given has strings and numbers only.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a %T: %v", v, err))
	}
	return b
}
