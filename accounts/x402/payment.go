package x402

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxHeader is the maximum size of a payment header in bytes. Signatures of smart wallets are several times as long as signatures of keys.
const MaxHeader = 8 << 10

// Payment is a parsed payment of a client, not yet validated. The texts are unchanged.
type Payment struct {
	// Version is the version of the header that contained the payment. Claimed is the version that the payment states.
	Version, Claimed int
	// Raw is the payment as JSON, for the facilitator.
	Raw json.RawMessage
	// Scheme and Network come from the payment itself (V1) or from the entry that it accepts (V2).
	Scheme, Network string
	// Accepted is the entry that the client chose. In version 1 clients do not send it, and it is the zero value.
	Accepted Accepted
	// Method is the transfer method if it is not EIP-3009: "permit2", or the method that the entry names. Empty means EIP-3009.
	Method        string
	Authorization Authorization
	Signature     string
	// Proven reports whether the payer's signature was verified. If it was not, the payment itself may be what makes a facilitator fail.
	Proven bool
}

// Accepted is the entry that a version 2 client chose and repeats.
type Accepted struct{ Amount, Asset, PayTo string }

// Authorization is the message that a payer signs (EIP-3009).
type Authorization struct {
	From, To string
	// Value is in atomic units. ValidAfter and ValidBefore are Unix times in seconds. All are decimal numbers.
	Value, ValidAfter, ValidBefore string
	Nonce                          string
}

// ErrTooLong: the header has more than MaxHeader bytes. It is the only error of Decode that is about the header and not the payment.
var ErrTooLong = errors.New("the payment header is longer than 8192 bytes")

// Decode parses a payment header of a version. It accepts the standard and the URL alphabet of base64, with or without padding. Any error
// other than ErrTooLong means that the header is not a valid payment. Its text may be shown to the client.
//
// The facilitator parses the same bytes, in any language. Decode therefore rejects everything that two parsers could read differently:
// duplicate members (ignoring case), numbers instead of strings, and invalid UTF-8.
func Decode(version int, header string) (Payment, error) {
	if len(header) > MaxHeader {
		return Payment{}, ErrTooLong
	}
	raw, err := decodeBase64(header)
	if err != nil {
		return Payment{}, errors.New("the payment is not base64")
	}
	if !utf8.Valid(raw) {
		return Payment{}, errors.New("the payment is not UTF-8")
	}
	if err := unambiguous(raw); err != nil {
		return Payment{}, err
	}
	var fault error
	p := Payment{Version: version, Raw: raw}
	top := reader{object: raw, name: "the payment", fault: &fault}
	p.Claimed = top.number("x402Version")
	about := top
	if p.Claimed == V2 {
		about = top.child("accepted")
		p.Accepted = Accepted{Amount: about.text("amount"), Asset: about.text("asset"), PayTo: about.text("payTo")}
		if about.has("extra") {
			if extra := about.child("extra"); extra.has("assetTransferMethod") {
				if m := extra.text("assetTransferMethod"); !strings.EqualFold(m, "eip3009") {
					p.Method = m
				}
			}
		}
	}
	p.Scheme, p.Network = about.text("scheme"), about.text("network")
	payload := top.child("payload")
	if payload.has("permit2Authorization") {
		p.Method = "permit2"
	}
	if p.Method == "" {
		p.Signature = payload.text("signature")
		a := payload.child("authorization")
		p.Authorization = Authorization{
			From: a.text("from"), To: a.text("to"), Value: a.text("value"), ValidAfter: a.text("validAfter"),
			ValidBefore: a.text("validBefore"), Nonce: a.text("nonce"),
		}
	}
	if fault != nil {
		return Payment{}, fault
	}
	return p, nil
}

// Digest returns a name for the signed contents with their signature. It does not depend on the version or the letter case: the same
// payment always has the same digest.
func (p Payment) Digest() string {
	a := p.Authorization
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join(
		[]string{a.From, a.To, a.Value, a.ValidAfter, a.ValidBefore, a.Nonce, p.Signature}, "|"))))
	return hex.EncodeToString(sum[:])
}

// decodeBase64 decodes either alphabet, with or without padding.
func decodeBase64(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

// maxDepth bounds the nesting of objects.
const maxDepth = 16

// unambiguous checks that raw is one JSON value in which no object has two members with the same name, ignoring case.
func unambiguous(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := oneValue(d, 0); err != nil {
		return err
	}
	if d.More() {
		return errors.New("the payment is more than one JSON value")
	}
	if _, err := d.Token(); err == nil {
		return errors.New("the payment is more than one JSON value")
	}
	return nil
}

func oneValue(d *json.Decoder, depth int) error {
	if depth > maxDepth {
		return errors.New("the payment is nested too deep")
	}
	t, err := d.Token()
	if err != nil {
		return errors.New("the payment is not JSON")
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return errors.New("the payment is not JSON")
			}
			folded := strings.ToLower(name.(string))
			if seen[folded] {
				return fmt.Errorf("the payment has a member %q twice", name)
			}
			seen[folded] = true
		}
		if err := oneValue(d, depth+1); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errors.New("the payment is not JSON")
	}
	return nil
}

// reader reads members of a JSON object by their exact names. All readers of one payment share its first error and return nothing after it.
type reader struct {
	object json.RawMessage
	// name describes the object in error messages.
	name    string
	members map[string]json.RawMessage
	fault   *error
}

func (r *reader) fail(format string, args ...any) {
	if *r.fault == nil {
		*r.fault = fmt.Errorf(format, args...)
	}
}

func (r *reader) has(name string) bool {
	if *r.fault == nil && r.members == nil && (json.Unmarshal(r.object, &r.members) != nil || r.members == nil) {
		r.fail("%s is not a JSON object", r.name)
	}
	_, ok := r.members[name]
	return ok && *r.fault == nil
}

// read returns a required member, which must not be null.
func read[T any](r *reader, name, kind string) (v T) {
	if !r.has(name) {
		r.fail("%s has no member %s", r.name, name)
		return v
	}
	p := new(T)
	if err := json.Unmarshal(r.members[name], &p); err != nil || p == nil {
		r.fail("%s has a member %s that is not %s", r.name, name, kind)
		return v
	}
	return *p
}

func (r *reader) text(name string) string { return read[string](r, name, "a string") }

func (r *reader) number(name string) int { return read[int](r, name, "a whole number") }

func (r *reader) child(name string) reader {
	return reader{object: read[json.RawMessage](r, name, "an object"), name: name, fault: r.fault}
}
