package tlog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
)

// The types of signatures: a log's, and a witness's cosignature/v1.
const (
	algEd25519  = 1
	algCosigner = 4
)

// keyID is the id of a key: the first four bytes of SHA-256(name LF type key).
func keyID(name string, alg byte, public []byte) uint32 {
	h := sha256.New()
	h.Write([]byte(name + "\n"))
	h.Write([]byte{alg})
	h.Write(public)
	return binary.BigEndian.Uint32(h.Sum(nil))
}

func vkey(name string, alg byte, public []byte) string {
	return fmt.Sprintf("%s+%08x+%s", name, keyID(name, alg, public), base64.StdEncoding.EncodeToString(append([]byte{alg}, public...)))
}

// SignerKeys are the text of a private key and of its public one. A log signs with them, or a witness.
type SignerKeys struct {
	Private, Public string
}

// NewLogKey makes a key for a log whose origin is its name.
func NewLogKey(random io.Reader, origin string) (SignerKeys, error) {
	return newKey(random, origin, algEd25519)
}

// NewWitnessKey makes a key for a witness.
func NewWitnessKey(random io.Reader, name string) (SignerKeys, error) {
	return newKey(random, name, algCosigner)
}

func newKey(random io.Reader, name string, alg byte) (SignerKeys, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return SignerKeys{}, fmt.Errorf("make a key: %w", err)
	}
	return keysOf(name, alg, seed)
}

func keysOf(name string, alg byte, seed []byte) (SignerKeys, error) {
	if !isKeyName(name) {
		return SignerKeys{}, fmt.Errorf("%q cannot be the name of a key: it has a space or a plus, or is empty", name)
	}
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey) //nolint:forcetypeassert // its one type
	return SignerKeys{
		Private: fmt.Sprintf("PRIVATE+KEY+%s+%08x+%s", name, keyID(name, alg, public), base64.StdEncoding.EncodeToString(append([]byte{alg}, seed...))),
		Public:  vkey(name, alg, public),
	}, nil
}

// isKeyName reports whether a signed note takes the name.
func isKeyName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '+' })
}

// parsePrivate reads a private key of a type.
func parsePrivate(skey string, alg byte) (name string, key ed25519.PrivateKey, err error) {
	bad := errors.New("it is not a private key of the right type")
	rest, ok := strings.CutPrefix(strings.TrimSpace(skey), "PRIVATE+KEY+")
	name, rest, ok2 := strings.Cut(rest, "+")
	_, text, ok3 := strings.Cut(rest, "+")
	raw, err := decode64(text)
	if !ok || !ok2 || !ok3 || err != nil || len(raw) != 1+ed25519.SeedSize || raw[0] != alg {
		return "", nil, bad
	}
	keys, err := keysOf(name, alg, raw[1:])
	if err != nil || keys.Private != strings.TrimSpace(skey) {
		return "", nil, bad
	}
	return name, ed25519.NewKeyFromSeed(raw[1:]), nil
}

// parsePublic reads a public key of a type, whose id must be its hash.
func parsePublic(text string, alg byte) (name string, key ed25519.PublicKey, err error) {
	name, rest, ok := strings.Cut(text, "+")
	_, encoded, ok2 := strings.Cut(rest, "+")
	raw, err := decode64(encoded)
	if !ok || !ok2 || err != nil || len(raw) != 1+ed25519.PublicKeySize || raw[0] != alg || !isKeyName(name) || vkey(name, alg, raw[1:]) != text {
		return "", nil, fmt.Errorf("%q is not a public key of the right type", text)
	}
	return name, raw[1:], nil
}

// Signer signs a log's checkpoints.
type Signer struct {
	signer note.Signer
	vkey   string
}

// NewSigner reads the private key of a log: the text of a note's signer, with Ed25519.
func NewSigner(skey string) (*Signer, error) {
	name, key, err := parsePrivate(skey, algEd25519)
	if err != nil {
		return nil, fmt.Errorf("the key of a log: %w", err)
	}
	s, err := note.NewSigner(strings.TrimSpace(skey))
	if err != nil {
		return nil, errors.New("the key of a log: it is not a private key")
	}
	public := key.Public().(ed25519.PublicKey) //nolint:forcetypeassert // its one type
	return &Signer{signer: s, vkey: vkey(name, algEd25519, public)}, nil
}

// Origin is the log that the key is for.
func (s *Signer) Origin() string { return s.signer.Name() }

// VKey is the public key that readers check with.
func (s *Signer) VKey() string { return s.vkey }

// Sign returns a signed checkpoint of a size and root. The same one has the same bytes.
func (s *Signer) Sign(size int64, root Hash) ([]byte, error) {
	signed, err := note.Sign(&note.Note{Text: Checkpoint{Origin: s.Origin(), Size: size, Root: root}.Body()}, s.signer)
	if err != nil {
		return nil, fmt.Errorf("sign the checkpoint of size %d: %w", size, err)
	}
	return signed, nil
}

// NewVerifier reads the public key of a log.
func NewVerifier(text string) (note.Verifier, error) {
	if _, _, err := parsePublic(text, algEd25519); err != nil {
		return nil, fmt.Errorf("the key of a log: %w", err)
	}
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, fmt.Errorf("the key of a log: %w", err)
	}
	return v, nil
}

// Cosigner is the key of a witness: it checks cosignatures, and makes them where its private half is known.
type Cosigner struct {
	name    string
	id      uint32
	public  ed25519.PublicKey
	private ed25519.PrivateKey
}

// NewCosigner reads the private key of a witness.
func NewCosigner(skey string) (*Cosigner, error) {
	name, key, err := parsePrivate(skey, algCosigner)
	if err != nil {
		return nil, fmt.Errorf("the key of a witness: %w", err)
	}
	public := key.Public().(ed25519.PublicKey) //nolint:forcetypeassert // its one type
	return &Cosigner{name: name, id: keyID(name, algCosigner, public), public: public, private: key}, nil
}

// ParseCosigner reads the public key of a witness.
func ParseCosigner(text string) (*Cosigner, error) {
	name, key, err := parsePublic(text, algCosigner)
	if err != nil {
		return nil, fmt.Errorf("the key of a witness: %w", err)
	}
	return &Cosigner{name: name, id: keyID(name, algCosigner, key), public: key}, nil
}

// Name is the witness's name.
func (c *Cosigner) Name() string { return c.name }

// KeyHash is the id of the key.
func (c *Cosigner) KeyHash() uint32 { return c.id }

// VKey is the text of the public key.
func (c *Cosigner) VKey() string { return vkey(c.name, algCosigner, c.public) }

// cosignature is the length of a witness's signature: a time and a signature of Ed25519.
const cosignature = 8 + ed25519.SignatureSize

// message is the text that a witness signs.
func message(at uint64, body string) []byte {
	return []byte("cosignature/v1\ntime " + strconv.FormatUint(at, 10) + "\n" + body)
}

// Verify checks a cosignature of a checkpoint's text: a time in 8 bytes, then a signature.
func (c *Cosigner) Verify(body, sig []byte) bool {
	if len(sig) != cosignature {
		return false
	}
	at := binary.BigEndian.Uint64(sig)
	if at == 0 || at > 1<<40 { // some 35,000 years: a witness has no higher time
		return false
	}
	return ed25519.Verify(c.public, message(at, string(body)), sig[8:])
}

// Cosign returns the line with which the witness cosigns a checkpoint's text at a time.
func (c *Cosigner) Cosign(body string, at time.Time) (line string, err error) {
	if c.private == nil || at.Unix() < 1 {
		return "", errors.New("cosign: without a private key or a time nothing is signed")
	}
	t := uint64(at.Unix()) //nolint:gosec // at least 1
	sig := binary.BigEndian.AppendUint32(nil, c.id)
	sig = binary.BigEndian.AppendUint64(sig, t)
	sig = append(sig, ed25519.Sign(c.private, message(t, body))...)
	return "— " + c.name + " " + base64.StdEncoding.EncodeToString(sig) + "\n", nil
}

// CheckLine checks one line of a witness over a checkpoint's text and returns its time.
func (c *Cosigner) CheckLine(body, line string) (time.Time, error) {
	bad := fmt.Errorf("it is not a good signature of %s", c.name)
	name, text, ok := strings.Cut(strings.TrimPrefix(line, "— "), " ")
	sig, err := decode64(strings.TrimSuffix(text, "\n"))
	if !ok || err != nil || name != c.name || !strings.HasPrefix(line, "— ") || len(sig) != 4+cosignature || binary.BigEndian.Uint32(sig) != c.id {
		return time.Time{}, bad
	}
	if !c.Verify([]byte(body), sig[4:]) {
		return time.Time{}, bad
	}
	return cosignedAt(sig[4:]), nil
}

func cosignedAt(sig []byte) time.Time {
	return time.Unix(int64(binary.BigEndian.Uint64(sig)), 0).UTC() //nolint:gosec // Verify bounds it
}
