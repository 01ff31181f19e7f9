// Package scram makes what Postgres stores in place of a password.
package scram

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Rounds is how often Postgres hashes a password.
const Rounds = 4096

// Verifier returns what Postgres stores for a password that is hashed so often, with a new salt (RFC 5802, 7677). Each connection hashes the
// password as often.
func Verifier(password string, rounds int) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // it never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("hash the password: %w", err)
	}
	key := func(name string) []byte {
		mac := hmac.New(sha256.New, salted)
		_, _ = mac.Write([]byte(name))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(key("Client Key"))
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", rounds, text(salt), text(stored[:]), text(key("Server Key"))), nil
}
