// Package timestamp has texts stamped by a time-stamp authority, and checks the answers (RFC 3161 and 5816, in the CMS of RFC 5652). A token
// shows by the word of a third party that a text existed at a time. What the package reads was written by strangers: it takes DER only.
// Start at Check.
package timestamp

import (
	"bytes"
	"crypto"
	"crypto/sha1" //nolint:gosec // names the certificate in ESSCertID of RFC 2634: the signature itself is never over it
	"crypto/sha256"
	_ "crypto/sha512" // a digest that authorities sign
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// MaxReply limits the size of an answer, in bytes.
const MaxReply = 64 << 10

// ErrOther says that a token is good and belongs to another text.
var ErrOther = errors.New("the time stamp is of another text")

// Stamp is the statement of an authority that a text existed.
type Stamp struct {
	// At is the time that the authority states, by its own clock.
	At time.Time
	// Authority is the name in its certificate. The certificate leads to a root that the reader believes.
	Authority string

	nonce *big.Int
}

var (
	oidSignedData   = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidTSTInfo      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 1, 4}
	oidContentType  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidDigest       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidSigningCert  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 12}
	oidSigningCert2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}
	oidExtKeyUsage  = asn1.ObjectIdentifier{2, 5, 29, 37}
	oidSHA256       = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidSHA384       = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 2}
	oidSHA512       = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 3}
	oidRSA          = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
	oidEC           = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}
)

// signatures are the algorithms whose name includes the digest.
var signatures = []struct {
	oid asn1.ObjectIdentifier
	alg x509.SignatureAlgorithm
}{
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11}, x509.SHA256WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 12}, x509.SHA384WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 13}, x509.SHA512WithRSA},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 2}, x509.ECDSAWithSHA256},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 3}, x509.ECDSAWithSHA384},
	{asn1.ObjectIdentifier{1, 2, 840, 10045, 4, 3, 4}, x509.ECDSAWithSHA512},
	{asn1.ObjectIdentifier{1, 3, 101, 112}, x509.PureEd25519},
}

type imprint struct {
	Algorithm pkix.AlgorithmIdentifier
	Hash      []byte
}

type reply struct {
	Status statusInfo
	Token  asn1.RawValue `asn1:"optional"`
}

type statusInfo struct {
	Status  int
	Text    []string       `asn1:"optional"`
	Failure asn1.BitString `asn1:"optional"`
}

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content asn1.RawValue `asn1:"explicit,tag:0"`
}

type signedData struct {
	Version int
	Digests asn1.RawValue
	Content struct {
		Type asn1.ObjectIdentifier
		Text []byte `asn1:"explicit,tag:0"`
	}
	Certificates asn1.RawValue `asn1:"optional,tag:0"`
	Revoked      asn1.RawValue `asn1:"optional,tag:1"`
	Signers      []signer      `asn1:"set"`
}

type signer struct {
	Version int
	ID      struct {
		Issuer asn1.RawValue
		Serial *big.Int
	}
	Digest    pkix.AlgorithmIdentifier
	Signed    asn1.RawValue `asn1:"tag:0"`
	Algorithm pkix.AlgorithmIdentifier
	Signature []byte
	Unsigned  asn1.RawValue `asn1:"optional,tag:1"`
}

type attribute struct {
	Type   asn1.ObjectIdentifier
	Values asn1.RawValue
}

type info struct {
	Version  int
	Policy   asn1.ObjectIdentifier
	Imprint  imprint
	Serial   *big.Int
	At       time.Time     `asn1:"generalized"`
	Accuracy accuracy      `asn1:"optional"`
	Ordering bool          `asn1:"optional"`
	Nonce    *big.Int      `asn1:"optional"`
	TSA      asn1.RawValue `asn1:"optional,tag:0"`
}

type accuracy struct {
	Seconds int `asn1:"optional"`
	Millis  int `asn1:"optional,tag:0"`
	Micros  int `asn1:"optional,tag:1"`
}

// whole decodes a value that has no bytes after it.
func whole(der []byte, into any, params string) error {
	rest, err := asn1.UnmarshalWithParams(der, into, params)
	if err == nil && len(rest) > 0 {
		err = errors.New("bytes follow the value")
	}
	return err
}

// Check checks an authority's answer about a text. The answer must be granted, and its token must have the SHA-256 of this text. A certificate
// for time stamps must have signed it, which was valid at that time and leads to one of the roots. If roots is nil, the system's are used.
func Check(answer, text []byte, roots *x509.CertPool) (Stamp, error) {
	if len(answer) > MaxReply {
		return Stamp{}, fmt.Errorf("the time stamp has more than %d bytes", MaxReply)
	}
	var r reply
	if err := whole(answer, &r, ""); err != nil {
		return Stamp{}, fmt.Errorf("the time stamp is not whole: %w", err)
	}
	if r.Status.Status != 0 {
		return Stamp{}, fmt.Errorf("the authority granted no time stamp: status %d %q", r.Status.Status, r.Status.Text)
	}
	var c contentInfo
	if err := whole(r.Token.FullBytes, &c, ""); err != nil {
		return Stamp{}, fmt.Errorf("the time stamp is not whole: %w", err)
	}
	var d signedData
	if !c.Type.Equal(oidSignedData) {
		return Stamp{}, errors.New("the time stamp is not signed")
	}
	if err := whole(c.Content.Bytes, &d, ""); err != nil {
		return Stamp{}, fmt.Errorf("the time stamp is not whole: %w", err)
	}
	if len(d.Signers) != 1 || !d.Content.Type.Equal(oidTSTInfo) {
		return Stamp{}, errors.New("the time stamp is not a token with one signature")
	}
	cert, all, err := d.certificate()
	if err != nil {
		return Stamp{}, err
	}
	if err := d.Signers[0].check(cert, d.Content.Text); err != nil {
		return Stamp{}, err
	}
	var i info
	if err := whole(d.Content.Text, &i, ""); err != nil {
		return Stamp{}, fmt.Errorf("the statement of the time stamp is not whole: %w", err)
	}
	if err := trusted(cert, all, i.At, roots); err != nil {
		return Stamp{}, err
	}
	sum := sha256.Sum256(text)
	if i.Version != 1 || !i.Imprint.Algorithm.Algorithm.Equal(oidSHA256) || !bytes.Equal(i.Imprint.Hash, sum[:]) {
		return Stamp{}, fmt.Errorf("%w: it has the hash %x, and the text has %x", ErrOther, i.Imprint.Hash, sum)
	}
	return Stamp{At: i.At.UTC(), Authority: cert.Subject.String(), nonce: i.Nonce}, nil
}

// certificate returns the signer's certificate, and all that came along.
func (d signedData) certificate() (*x509.Certificate, []*x509.Certificate, error) {
	all, err := x509.ParseCertificates(d.Certificates.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("the certificates of the time stamp: %w", err)
	}
	id := d.Signers[0].ID
	for _, c := range all {
		if bytes.Equal(c.RawIssuer, id.Issuer.FullBytes) && c.SerialNumber.Cmp(id.Serial) == 0 {
			return c, all, nil
		}
	}
	return nil, nil, errors.New("the time stamp does not have its signer's certificate")
}

// check checks that a certificate signed a content as a time stamp.
func (s signer) check(cert *x509.Certificate, content []byte) error {
	set := slices.Clone(s.Signed.FullBytes)
	set[0] = 0x31 // what is signed has the tag of a set
	var list []attribute
	if err := whole(set, &list, "set"); err != nil {
		return fmt.Errorf("the signed attributes of the time stamp: %w", err)
	}
	hash, err := hashOf(s.Digest.Algorithm)
	if err != nil {
		return err
	}
	h := hash.New()
	h.Write(content)
	var kind asn1.ObjectIdentifier
	var digest []byte
	if err := errors.Join(value(list, oidContentType, &kind), value(list, oidDigest, &digest)); err != nil {
		return err
	}
	if !kind.Equal(oidTSTInfo) || !bytes.Equal(digest, h.Sum(nil)) {
		return errors.New("the signature is not of this time stamp")
	}
	alg, err := s.algorithm(hash)
	if err != nil {
		return err
	}
	if err := cert.CheckSignature(alg, set, s.Signature); err != nil {
		return fmt.Errorf("the signature of the time stamp: %w", err)
	}
	return names(list, cert)
}

func hashOf(oid asn1.ObjectIdentifier) (crypto.Hash, error) {
	switch {
	case oid.Equal(oidSHA256):
		return crypto.SHA256, nil
	case oid.Equal(oidSHA384):
		return crypto.SHA384, nil
	case oid.Equal(oidSHA512):
		return crypto.SHA512, nil
	}
	return 0, fmt.Errorf("the time stamp has the digest %s: SHA-256, SHA-384 or SHA-512 is wanted", oid)
}

// algorithm returns the algorithm of a signature. If its name is only a kind of key, the digest is in the next field.
func (s signer) algorithm(hash crypto.Hash) (x509.SignatureAlgorithm, error) {
	oid := s.Algorithm.Algorithm
	for _, known := range signatures {
		if known.oid.Equal(oid) {
			return known.alg, nil
		}
	}
	i := slices.Index([]crypto.Hash{crypto.SHA256, crypto.SHA384, crypto.SHA512}, hash)
	switch {
	case oid.Equal(oidRSA):
		return []x509.SignatureAlgorithm{x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA}[i], nil
	case oid.Equal(oidEC):
		return []x509.SignatureAlgorithm{x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512}[i], nil
	}
	return 0, fmt.Errorf("the time stamp is signed by the unknown algorithm %s", oid)
}

// value decodes the one value of an attribute that stands once.
func value(list []attribute, oid asn1.ObjectIdentifier, into any) error {
	var found [][]byte
	for _, a := range list {
		if a.Type.Equal(oid) {
			found = append(found, a.Values.Bytes)
		}
	}
	if len(found) != 1 {
		return fmt.Errorf("the time stamp has the signed attribute %s %d times", oid, len(found))
	}
	if err := whole(found[0], into, ""); err != nil {
		return fmt.Errorf("the signed attribute %s: %w", oid, err)
	}
	return nil
}

// names checks that the signature names its certificate (RFC 3161, 2.4.2, and RFC 5816): another certificate of the same key does not count.
func names(list []attribute, cert *x509.Certificate) error {
	var want, got []byte
	if slices.ContainsFunc(list, func(a attribute) bool { return a.Type.Equal(oidSigningCert2) }) {
		var v struct {
			Certs []struct {
				Algorithm pkix.AlgorithmIdentifier `asn1:"optional"`
				Hash      []byte
			}
		}
		if err := value(list, oidSigningCert2, &v); err != nil {
			return err
		}
		if len(v.Certs) == 0 {
			return errors.New("the time stamp does not name its certificate")
		}
		hash := crypto.SHA256
		if oid := v.Certs[0].Algorithm.Algorithm; oid != nil {
			var err error
			if hash, err = hashOf(oid); err != nil {
				return err
			}
		}
		h := hash.New()
		h.Write(cert.Raw)
		want, got = h.Sum(nil), v.Certs[0].Hash
	} else {
		var v struct{ Certs []struct{ Hash []byte } }
		if err := value(list, oidSigningCert, &v); err != nil {
			return err
		}
		if len(v.Certs) == 0 {
			return errors.New("the time stamp does not name its certificate")
		}
		sum := sha1.Sum(cert.Raw) //nolint:gosec // as said above
		want, got = sum[:], v.Certs[0].Hash
	}
	if !bytes.Equal(want, got) {
		return errors.New("the time stamp names another certificate than its signer's")
	}
	return nil
}

// trusted checks that a certificate is for time stamps and for nothing else, and leads to a root, at the time that it states.
func trusted(cert *x509.Certificate, all []*x509.Certificate, at time.Time, roots *x509.CertPool) error {
	only := len(cert.ExtKeyUsage) == 1 && cert.ExtKeyUsage[0] == x509.ExtKeyUsageTimeStamping && len(cert.UnknownExtKeyUsage) == 0
	if !only || !slices.ContainsFunc(cert.Extensions, func(e pkix.Extension) bool { return e.Id.Equal(oidExtKeyUsage) && e.Critical }) {
		return fmt.Errorf("the certificate of %s is not one for time stamps alone", cert.Subject)
	}
	between := x509.NewCertPool()
	for _, c := range all {
		between.AddCert(c)
	}
	_, err := cert.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageTimeStamping},
	})
	if err != nil {
		return fmt.Errorf("the certificate of %s: %w", cert.Subject, err)
	}
	return nil
}
