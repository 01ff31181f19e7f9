package x402

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// extension is the name of the extension "Offer and Receipt", whose receipts this file signs and checks.
const extension = "offer-receipt"

// deliveryVersion is the version of the extension's receipts.
const deliveryVersion = 1

// Delivery is the statement that a seller signs about a paid response. It is the payload of the extension's receipt and, in addition, the
// SHA-256 of the content. Its members are in the order of their names in JSON, as RFC 8785 requires.
type Delivery struct {
	// ContentSHA256 is of the body without a content coding, as 64 hex digits.
	ContentSHA256 string `json:"contentSha256"`
	// IssuedAt is in seconds since 1970.
	IssuedAt int64 `json:"issuedAt"`
	// Network is the network's CAIP-2 name in every version of the payment.
	Network     string `json:"network"`
	Payer       string `json:"payer"`
	ResourceURL string `json:"resourceUrl"`
	Transaction string `json:"transaction"`
	Version     int    `json:"version"`
}

// ContentDigest is the digest of a content, as a Delivery has it.
func ContentDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// jwsHeader is the protected header of a receipt.
type jwsHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

const algorithm = "EdDSA"

// DeliveryKeys sign deliveries, and name the keys that may have signed earlier ones.
type DeliveryKeys struct {
	did     string
	private ed25519.PrivateKey
	public  []ed25519.PublicKey
}

// NewDeliveryKeys reads keys from PEM blocks of PKCS #8, as `openssl genpkey -algorithm ed25519` writes them. The first one signs for the
// service at a URL; the others signed before. An error does not show them.
func NewDeliveryKeys(text []byte, publicURL string) (*DeliveryKeys, error) {
	did, err := didOf(publicURL)
	if err != nil {
		return nil, err
	}
	k := &DeliveryKeys{did: did}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		private, ok := parsed.(ed25519.PrivateKey)
		if err != nil || !ok {
			return nil, errors.New("a PEM block is not an Ed25519 private key in PKCS #8 (openssl genpkey -algorithm ed25519 makes one)")
		}
		if k.private == nil {
			k.private = private
		}
		k.public = append(k.public, private.Public().(ed25519.PublicKey))
	}
	if k.private == nil {
		return nil, errors.New("no private key in PEM (openssl genpkey -algorithm ed25519 makes one)")
	}
	return k, nil
}

// NewDeliveryKey returns the PEM text of the key of a seed.
func NewDeliveryKey(seed []byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(seed))
	if err != nil {
		return nil, fmt.Errorf("write a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// didOf returns the decentralized identifier of the host of a URL (did:web).
func didOf(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", fmt.Errorf("%q is not the URL of a service", address)
	}
	return "did:web:" + strings.ReplaceAll(u.Host, ":", "%3A"), nil
}

// jwk is a public key (RFC 8037), with its members in the order of RFC 7638.
type jwk struct {
	Curve string `json:"crv"`
	Type  string `json:"kty"`
	X     string `json:"x"`
}

func newJWK(k ed25519.PublicKey) jwk {
	return jwk{Curve: "Ed25519", Type: "OKP", X: base64.RawURLEncoding.EncodeToString(k)}
}

// keyID is the DID URL of a key, whose fragment is its thumbprint (RFC 7638).
func keyID(did string, k ed25519.PublicKey) string {
	sum := sha256.Sum256(encode(newJWK(k)))
	return did + "#" + base64.RawURLEncoding.EncodeToString(sum[:])
}

type verificationMethod struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	Controller string `json:"controller"`
	Key        jwk    `json:"publicKeyJwk"`
}

type didDocument struct {
	Context    []string             `json:"@context"`
	ID         string               `json:"id"`
	Methods    []verificationMethod `json:"verificationMethod"`
	Assertions []string             `json:"assertionMethod"`
}

// DIDPath is where the DID document of a host is.
const DIDPath = "/.well-known/did.json"

// Document is the DID document with the public keys.
func (k *DeliveryKeys) Document() []byte {
	d := didDocument{Context: []string{"https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"}, ID: k.did}
	for _, public := range k.public {
		id := keyID(k.did, public)
		d.Methods = append(d.Methods, verificationMethod{id, "JsonWebKey2020", k.did, newJWK(public)})
		d.Assertions = append(d.Assertions, id)
	}
	return encode(d)
}

// Sign returns the member extensions of a settlement's response, with the signed delivery.
func (k *DeliveryKeys) Sign(d Delivery) json.RawMessage {
	d.Version = deliveryVersion
	signed := base64.RawURLEncoding.EncodeToString(encode(jwsHeader{algorithm, keyID(k.did, k.private.Public().(ed25519.PublicKey))})) + "." +
		base64.RawURLEncoding.EncodeToString(canonical(d))
	var e extensions
	e.Receipt.Info.Receipt.Format = "jws"
	e.Receipt.Info.Receipt.Signature = signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.private, []byte(signed)))
	e.Receipt.Schema = json.RawMessage(deliverySchema)
	return encode(e)
}

// canonical encodes as RFC 8785 wants it: without escapes that JSON does not need.
func canonical(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // only strings and numbers
		panic(fmt.Sprintf("encode a %T: %v", v, err))
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

type extensions struct {
	Receipt struct {
		Info struct {
			Receipt struct {
				Format    string `json:"format"`
				Signature string `json:"signature"`
			} `json:"receipt"`
		} `json:"info"`
		Schema json.RawMessage `json:"schema,omitempty"`
	} `json:"offer-receipt"`
}

const deliverySchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"receipt":{"type":"object",` +
	`"properties":{"format":{"type":"string","const":"jws"},"signature":{"type":"string"}},"required":["format","signature"]}},"required":["receipt"]}`

// SignedReceipt is a receipt as a payer keeps it.
type SignedReceipt struct {
	// Outer is the unsigned response around it; nil if there is only the signed text.
	Outer *Receipt
	// KeyID names the key that it says it is signed with.
	KeyID    string
	Delivery Delivery

	signed    string
	signature []byte
}

// maxReceipt is longer than any receipt.
const maxReceipt = 1 << 16

// ReadReceipt reads what a payer kept: the field PAYMENT-RESPONSE or X-PAYMENT-RESPONSE, the JSON in it, or the signed text alone. It checks
// no signature: Check does.
func ReadReceipt(text []byte) (*SignedReceipt, error) {
	text = bytes.TrimSpace(text)
	if len(text) > maxReceipt {
		return nil, errors.New("it is longer than a receipt")
	}
	if !bytes.HasPrefix(text, []byte("{")) && bytes.Count(text, []byte(".")) == 2 {
		return readJWS(string(text), nil)
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		raw, err := base64.StdEncoding.DecodeString(string(text))
		if err != nil || len(raw) == 0 {
			return nil, errors.New("it is neither the field PAYMENT-RESPONSE, nor the JSON in it, nor a signed receipt")
		}
		text = raw
	}
	var outer Receipt
	if err := json.Unmarshal(text, &outer); err != nil {
		return nil, fmt.Errorf("not a response to a payment: %w", err)
	}
	var e extensions
	if len(outer.Extensions) > 0 {
		if err := json.Unmarshal(outer.Extensions, &e); err != nil {
			return nil, fmt.Errorf("its extensions: %w", err)
		}
	}
	switch r := e.Receipt.Info.Receipt; {
	case r.Signature == "":
		return nil, errors.New("it has no signed receipt (" + extension + "): the server has no key for that, or the payment failed")
	case r.Format != "jws":
		return nil, fmt.Errorf("its receipt has the format %q, and only jws is read here", r.Format)
	default:
		return readJWS(r.Signature, &outer)
	}
}

func readJWS(text string, outer *Receipt) (*SignedReceipt, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, errors.New("its receipt has no three parts")
	}
	decoded := make([][]byte, len(parts))
	for i, part := range parts {
		var err error
		if decoded[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return nil, errors.New("its receipt is not valid base64url")
		}
	}
	r := &SignedReceipt{Outer: outer, signed: parts[0] + "." + parts[1], signature: decoded[2]}
	var h jwsHeader
	if err := json.Unmarshal(decoded[0], &h); err != nil {
		return nil, fmt.Errorf("the header of its receipt: %w", err)
	}
	if h.Algorithm != algorithm || h.KeyID == "" {
		return nil, fmt.Errorf("its receipt is signed with %q by %q: only %s with a key's id is read here", h.Algorithm, h.KeyID, algorithm)
	}
	r.KeyID = h.KeyID
	if err := json.Unmarshal(decoded[1], &r.Delivery); err != nil {
		return nil, fmt.Errorf("the payload of its receipt: %w", err)
	}
	if r.Delivery.Version != deliveryVersion {
		return nil, fmt.Errorf("its receipt has the version %d, and only %d is read here", r.Delivery.Version, deliveryVersion)
	}
	return r, nil
}

// ReadDIDKeys returns the Ed25519 keys that a DID document names for statements, by their ids.
func ReadDIDKeys(text []byte) (map[string]ed25519.PublicKey, error) {
	var d didDocument
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("not a DID document: %w", err)
	}
	keys := map[string]ed25519.PublicKey{}
	for _, m := range d.Methods {
		raw, err := base64.RawURLEncoding.DecodeString(m.Key.X)
		if m.Key.Curve != "Ed25519" || err != nil || len(raw) != ed25519.PublicKeySize {
			continue
		}
		for _, id := range d.Assertions {
			if id == m.ID {
				keys[id] = raw
			}
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it names no Ed25519 key for statements (assertionMethod)")
	}
	return keys, nil
}

// Expected holds the facts that a payer knows about a payment. Empty members are not compared.
type Expected struct {
	// Content is the answer's body, nil if the payer has not kept it.
	Content []byte
	// Transaction is the payer's own.
	Transaction string
}

// Finding is one thing that was compared.
type Finding struct {
	Name string `json:"name"`
	// Fault says what does not agree; empty if it agrees.
	Fault  string `json:"fault,omitempty"`
	Detail string `json:"detail"`
}

// Check compares a receipt with the keys of its seller and with the facts that the payer knows.
func (r *SignedReceipt) Check(keys map[string]ed25519.PublicKey, want Expected) []Finding {
	var list []Finding
	found := func(name, detail, fault string, ok bool) {
		if ok {
			fault = ""
		}
		list = append(list, Finding{name, fault, detail})
	}
	d, key := r.Delivery, keys[r.KeyID]
	found("signature", "by "+r.KeyID, "no key of the seller signed this", key != nil && ed25519.Verify(key, []byte(r.signed), r.signature))
	did, err := didOf(d.ResourceURL)
	found("seller", d.ResourceURL, "the key "+r.KeyID+" is not one of this host", err == nil && strings.HasPrefix(r.KeyID, did+"#"))
	if o := r.Outer; o != nil {
		found("response", "transaction and payer of the response around it",
			fmt.Sprintf("the receipt is of the transaction %s by %s, and the response of %s by %s", d.Transaction, d.Payer, o.Transaction, o.Payer),
			strings.EqualFold(o.Transaction, d.Transaction) && strings.EqualFold(o.Payer, d.Payer))
	}
	if want.Transaction != "" {
		found("transaction", d.Transaction, "the payment was "+want.Transaction, strings.EqualFold(want.Transaction, d.Transaction))
	}
	if want.Content != nil {
		sum := ContentDigest(want.Content)
		found("content", "sha256 "+d.ContentSHA256, "the content has the sha256 "+sum, sum == d.ContentSHA256)
	}
	return list
}
