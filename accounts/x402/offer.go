package x402

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
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

// Offer is the price and the description of one resource.
type Offer struct {
	Seller Seller
	// Price is in micro-dollars, which are the asset's atomic units.
	Price accounts.Micros
	// Resource is the absolute URL of the resource, with the query of the request.
	Resource string
	// Description says in a few words what is for sale. MIMEType is the media type of the response.
	Description, MIMEType string
	// Input says how the resource is asked for.
	Input Input
	// Versions are the versions that the facilitator settles, V1 or V2 or both. Nil means both.
	Versions []int
}

// Serves reports whether the offer can be paid with a version of the protocol.
func (o Offer) Serves(version int) bool {
	if o.Seller.Network.Named(version) == "" {
		return false
	}
	return o.Versions == nil || slices.Contains(o.Versions, version)
}

// domain is the member extra of an entry: the domain of the payer's signature.
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

// Input says how a resource is asked for, for catalogs of paid resources.
type Input struct {
	// Takes are the names of its query parameters. Query are the parameters of this request.
	Takes []string
	Query map[string]string
	// Template is the path with its parameters (/research/:ticker), and Path their values in this request. Both are empty for a fixed path.
	Template string
	Path     map[string]string
}

// discoveryV1 returns the input as version 1 has it, inside an entry.
func (i Input) discoveryV1() json.RawMessage {
	input := map[string]any{"type": "http", "method": "GET", "discoverable": true}
	if len(i.Takes) > 0 {
		input["queryParams"] = typed(i.Takes, "string")
	}
	return encode(map[string]any{"input": input})
}

// discoveryV2 returns the input as version 2 has it: the extension "bazaar", with the JSON schema of its info.
func (i Input) discoveryV2() json.RawMessage {
	input := map[string]any{"type": "http", "method": "GET"}
	members := map[string]any{"type": map[string]any{"type": "string", "const": "http"}, "method": map[string]any{"type": "string", "enum": []string{"GET"}}}
	text := map[string]any{"type": "string"}
	if len(i.Takes) > 0 {
		members["queryParams"] = map[string]any{"type": "object", "properties": typed(i.Takes, text), "additionalProperties": false}
	}
	if len(i.Query) > 0 {
		input["queryParams"] = i.Query
	}
	extension := map[string]any{"info": map[string]any{"input": input}, "schema": map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": []string{"input"},
		"properties": map[string]any{"input": map[string]any{"type": "object", "properties": members, "required": []string{"type", "method"}}},
	}}
	if i.Template != "" {
		input["pathParams"], extension["routeTemplate"] = i.Path, i.Template
		members["pathParams"] = map[string]any{"type": "object", "properties": typed(slices.Sorted(maps.Keys(i.Path)), text)}
	}
	return encode(map[string]any{"bazaar": extension})
}

// typed gives each name the same type.
func typed(names []string, of any) map[string]any {
	out := make(map[string]any, len(names))
	for _, name := range names {
		out[name] = of
	}
	return out
}

// atomic returns the price in the protocol's notation: a whole number of the asset's atomic units.
func (o Offer) atomic() string { return strconv.FormatInt(int64(o.Price), 10) }

func (o Offer) v1() requirementV1 {
	return requirementV1{
		Scheme: scheme, Network: o.Seller.Network.Name, MaxAmountRequired: o.atomic(), Resource: o.Resource,
		Description: o.Description, MIMEType: o.MIMEType, OutputSchema: o.Input.discoveryV1(), PayTo: o.Seller.PayTo,
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

// Requirements returns the entry of the offer that the facilitator receives with a payment of that version.
func (o Offer) Requirements(version int) json.RawMessage {
	if version == V1 {
		return encode(o.v1())
	}
	return encode(o.v2())
}

// Body returns the body of a 402 response: the terms of version 1. It omits the terms of version 2: version 1 clients reject a list with an
// unknown entry. reason says why payment is required, or why the sent payment was rejected.
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
	// Error says why payment is required, or what was wrong with the payment sent.
	Error string `json:"error"`
	// Accepts are the ways to pay; empty where only version 2 is served, whose terms are in the header PAYMENT-REQUIRED.
	Accepts []requirementV1 `json:"accepts"`
}

// Header returns the field HeaderRequiredV2 of a 402 response: the terms of version 2. It is empty if that version is not served.
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
	}{V2, reason, resourceV2{o.Resource, o.Description, o.MIMEType}, []requirementV2{o.v2()}, o.Input.discoveryV2()}))
}

// Receipt tells the client how a settlement ended.
type Receipt struct {
	Success bool `json:"success"`
	// ErrorReason is the reason of a failure. It is omitted on success.
	ErrorReason string `json:"errorReason,omitempty"`
	// Transaction is the hash of the transaction, or empty.
	Transaction string `json:"transaction"`
	// Network is the network's name in the version of the payment.
	Network string `json:"network"`
	Payer   string `json:"payer"`
	// Extensions has the signed delivery of a success. It is omitted if the seller has no key for it.
	Extensions json.RawMessage `json:"extensions,omitempty"`
}

// Encode returns the value of the headers HeaderReceiptV1 and HeaderReceiptV2.
func (r Receipt) Encode() string { return base64.StdEncoding.EncodeToString(encode(r)) }

// encode cannot fail: its arguments contain only strings and numbers.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode a %T: %v", v, err))
	}
	return b
}
