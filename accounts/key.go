package accounts

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A key consists of its mark, 30 random base62 characters and 6 characters with their CRC-32. GitHub tokens have the same structure.
// Scanners for leaked secrets recognise it, and a mistyped key is rejected without a lookup.
const (
	// liveMark begins the keys of the service, testMark the keys of a sandbox. Neither opens the other world. Both have the same length.
	liveMark   = "tmk_live_"
	testMark   = "tmk_test_"
	randomLen  = 30
	checkLen   = 6
	keyLen     = len(liveMark) + randomLen + checkLen
	displayLen = 4

	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// ErrKeyForm: the text is not a key, or a key with a typing error.
var ErrKeyForm = errors.New("this is not an API key, or it has a typing error")

// Key is the secret that a client holds. It never appears in a log or an error: only Reveal returns it.
type Key struct{ text string }

// NewKey returns a random key. random must be suitable for secrets, like crypto/rand.Reader. The key has 178 bits of entropy, so a fast
// hash is enough.
func NewKey(random io.Reader) (Key, error) { return draw(liveMark, random) }

// NewTestKey returns a random key for a sandbox. See NewKey.
func NewTestKey(random io.Reader) (Key, error) { return draw(testMark, random) }

func draw(mark string, random io.Reader) (Key, error) {
	var text [randomLen]byte
	var one [1]byte
	for i := 0; i < len(text); {
		if _, err := io.ReadFull(random, one[:]); err != nil {
			return Key{}, fmt.Errorf("draw a key: %w", err)
		}
		// 248 is the largest multiple of 62 that fits into a byte. Larger values would make some characters more likely than others.
		if one[0] < 248 {
			text[i] = base62[one[0]%62]
			i++
		}
	}
	return Key{mark + string(text[:]) + checksum(string(text[:]))}, nil
}

// ParseKey parses a key of the service or of a sandbox. The error is ErrKeyForm and does not contain the text.
func ParseKey(s string) (Key, error) {
	if len(s) != keyLen || !strings.HasPrefix(s, liveMark) && !strings.HasPrefix(s, testMark) {
		return Key{}, ErrKeyForm
	}
	random, check := s[len(liveMark):keyLen-checkLen], s[keyLen-checkLen:]
	for i := range random {
		if strings.IndexByte(base62, random[i]) < 0 {
			return Key{}, ErrKeyForm
		}
	}
	if subtle.ConstantTimeCompare([]byte(check), []byte(checksum(random))) != 1 {
		return Key{}, ErrKeyForm
	}
	return Key{s}, nil
}

// checksum returns the CRC-32 (IEEE) of the random characters as six base62 digits.
func checksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	var out [checkLen]byte
	for i := checkLen - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

// Reveal returns the whole key. Show it to its owner only, and only once.
func (k Key) Reveal() string { return k.text }

// Prefix returns the recognisable part of the key: "tmk_live_Ab3d".
func (k Key) Prefix() string {
	if k.text == "" {
		return ""
	}
	return k.text[:len(liveMark)+displayLen]
}

// Test reports whether the key is for a sandbox.
func (k Key) Test() bool { return strings.HasPrefix(k.text, testMark) }

// Hash returns the SHA-256 of the key. Only this hash is stored.
func (k Key) Hash() KeyHash { return sha256.Sum256([]byte(k.text)) }

// String returns the prefix, so that a key that is printed by mistake stays secret.
func (k Key) String() string { return k.Prefix() + "…" }

// GoString returns the same as String.
func (k Key) GoString() string { return k.String() }

// LogValue returns the same as String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// KeyHash is the SHA-256 of a key.
type KeyHash [sha256.Size]byte

// Equal compares two hashes in constant time.
func (h KeyHash) Equal(other []byte) bool { return subtle.ConstantTimeCompare(h[:], other) == 1 }

const maxName = 100

// CleanName returns a key's name without surrounding blanks. A name has 1 to 100 characters, and no characters that control a terminal, break
// a line or change its direction: a list of keys would show the text around such a name in another order. Otherwise the error explains the
// fault to the author of the name.
func CleanName(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errors.New("the name is not UTF-8")
	}
	s = strings.TrimSpace(s)
	switch n := utf8.RuneCountInString(s); {
	case n == 0:
		return "", errors.New("the name is empty")
	case n > maxName:
		return "", fmt.Errorf("the name has %d characters, more than %d", n, maxName)
	}
	for _, c := range s {
		if unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return "", fmt.Errorf("the name has the control character %U", c)
		}
	}
	return s, nil
}
