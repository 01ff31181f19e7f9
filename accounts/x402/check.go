package x402

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Refusal is why a payment is rejected. It is an error whose text may be shown to the client.
type Refusal struct {
	// Reason is a reason code of the protocol, such as "invalid_network".
	Reason string
	// Detail explains the fault to people.
	Detail string
}

func (r *Refusal) Error() string { return r.Reason + ": " + r.Detail }

// The reasons that this package gives. A facilitator also has its own.
const (
	ReasonPayload     = "invalid_payload"
	ReasonVersion     = "invalid_x402_version"
	ReasonScheme      = "unsupported_scheme"
	ReasonNetwork     = "invalid_network"
	ReasonTerms       = "invalid_payment_requirements"
	ReasonValue       = "invalid_exact_evm_payload_authorization_value"
	ReasonRecipient   = "invalid_exact_evm_payload_recipient_mismatch"
	ReasonValidAfter  = "invalid_exact_evm_payload_authorization_valid_after"
	ReasonValidBefore = "invalid_exact_evm_payload_authorization_valid_before"
	ReasonSignature   = "invalid_exact_evm_payload_signature"
	ReasonUsed        = "payment_already_used"
)

const (
	// safetyMargin is how long an authorization must still be valid, so that it does not expire during the settlement.
	safetyMargin = 6 * time.Second
	// skew is how far the client's clock may be ahead of ours.
	skew = 60 * time.Second
)

// Numbers have exactly one notation. A facilitator that reads "0x3e8" or " 1000" as 1000 could otherwise see another amount than we do.
var (
	amountForm  = regexp.MustCompile(`^[1-9][0-9]{0,38}$`)
	secondsForm = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})$`)
	nonceForm   = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)
	// A signature has at least 64 bytes (EIP-2098). Signatures of smart wallets have no maximum length.
	signatureForm = regexp.MustCompile(`^0x(?:[0-9a-fA-F]{2}){64,}$`)
)

// Check validates the contents of a payment for an offer, at an instant of the wall clock, before any network call. The error is a
// *Refusal. Only the facilitator checks whether the signature is valid and whether the payer has the money.
func Check(p Payment, o Offer, now time.Time) error {
	refuse := func(reason, format string, args ...any) error {
		return &Refusal{Reason: reason, Detail: fmt.Sprintf(format, args...)}
	}
	network := o.Seller.Network.Named(p.Version)
	price := o.atomic()
	switch {
	case p.Claimed != p.Version:
		return refuse(ReasonVersion, "x402Version is %d, and the header is that of version %d", p.Claimed, p.Version)
	case !o.Serves(p.Version):
		return refuse(ReasonVersion, "version %d cannot be paid with here", p.Version)
	case p.Scheme != scheme:
		return refuse(ReasonScheme, "the scheme is %q, want %q", p.Scheme, scheme)
	case p.Network != network:
		return refuse(ReasonNetwork, "the network is %q, want %q", p.Network, network)
	case p.Method != "":
		return refuse(ReasonScheme, "the token is to be moved by %q, want EIP-3009", p.Method)
	}
	if p.Version == V2 {
		switch c := p.Accepted; {
		case c.Amount != price:
			return refuse(ReasonTerms, "the accepted amount is %q, want %q", c.Amount, price)
		case !strings.EqualFold(c.Asset, o.Seller.Asset.Address):
			return refuse(ReasonTerms, "the accepted asset is %q, want %q", c.Asset, o.Seller.Asset.Address)
		case !strings.EqualFold(c.PayTo, o.Seller.PayTo):
			return refuse(ReasonTerms, "the accepted payTo is %q, want %q", c.PayTo, o.Seller.PayTo)
		}
	}
	a := p.Authorization
	switch {
	case !addressForm.MatchString(a.From):
		return refuse(ReasonPayload, "from is %q, which is no address", a.From)
	case !nonceForm.MatchString(a.Nonce):
		return refuse(ReasonPayload, "the nonce is not 0x and 64 hex digits")
	case !signatureForm.MatchString(p.Signature):
		return refuse(ReasonSignature, "the signature is not 0x and at least 128 hex digits")
	case !strings.EqualFold(a.To, o.Seller.PayTo):
		return refuse(ReasonRecipient, "to is %q, want %q", a.To, o.Seller.PayTo)
	case !amountForm.MatchString(a.Value) || a.Value != price:
		return refuse(ReasonValue, "the value is %q, want %q", a.Value, price)
	}
	after, okAfter := seconds(a.ValidAfter)
	before, okBefore := seconds(a.ValidBefore)
	switch {
	case !okAfter:
		return refuse(ReasonPayload, "validAfter is %q, which is no decimal number of seconds", a.ValidAfter)
	case !okBefore:
		return refuse(ReasonPayload, "validBefore is %q, which is no decimal number of seconds", a.ValidBefore)
	case after.After(now):
		return refuse(ReasonValidAfter, "it is good from %s on, and it is %s", text(after), text(now))
	case before.Before(now.Add(safetyMargin)):
		return refuse(ReasonValidBefore, "it is good until %s, and it is %s: want %s more", text(before), text(now), safetyMargin)
	case before.After(now.Add(maxTimeout + skew)):
		return refuse(ReasonValidBefore, "it is good until %s, and it is %s: want %s at most", text(before), text(now), maxTimeout+skew)
	}
	return nil
}

func seconds(s string) (time.Time, bool) {
	if !secondsForm.MatchString(s) {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	// Years after 9999 are clamped: they are all too far in the future.
	return time.Unix(min(n, 253402300799), 0), err == nil
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }
