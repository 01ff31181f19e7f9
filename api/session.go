package api

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

const (
	// sessionTTL is how long a browser stays signed in.
	sessionTTL = 12 * time.Hour
	// maxForm is the maximum size of a form, in bytes.
	maxForm = 24 << 10
)

// session is the session of a signed-in browser.
type session struct {
	// text is the secret in the browser's cookie.
	text string
	key  postgres.Key
}

func (x session) hash() postgres.SessionHash { return sha256.Sum256([]byte(x.text)) }

// token returns the token that proves that a form was made for this session.
func (x session) token() string {
	d := digest("form", x.text)
	return hex.EncodeToString(d[:])
}

// sessionCookie returns the name of the cookie. With the prefix, browsers never send it without TLS and accept it only from this exact
// host.
func (s *Server) sessionCookie() string {
	if s.secure() {
		return "__Host-tidemark"
	}
	return "tidemark-session"
}

func (s *Server) secure() bool { return strings.HasPrefix(s.view.PublicURL(), "https:") }

// signedIn returns the session of a request, and false if it has no session.
func (s *Server) signedIn(r *http.Request) (session, bool, error) {
	c, err := r.Cookie(s.sessionCookie())
	if err != nil || len(c.Value) > 100 {
		return session{}, false, nil
	}
	x := session{text: c.Value}
	x.key, err = s.billing.DB.Session(r.Context(), x.hash())
	if errors.Is(err, postgres.ErrNotFound) {
		return session{}, false, nil
	}
	if err != nil {
		return session{}, false, s.unavailable(r, err)
	}
	return x, true, nil
}

// signIn opens a session with the text of a key and sets the browser's cookie. The error is postgres.ErrEnded if the key is not valid.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request, text accounts.KeyHash) (session, error) {
	var raw [32]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return session{}, fmt.Errorf("draw a session: %w", err)
	}
	x := session{text: base64.RawURLEncoding.EncodeToString(raw[:])}
	if err := s.billing.DB.OpenSession(r.Context(), x.hash(), text, sessionTTL); err != nil {
		return session{}, err
	}
	s.setCookie(w, x.text, int(sessionTTL/time.Second))
	return x, nil
}

// setCookie sets the session cookie for maxAge seconds. A negative maxAge deletes it. Only the dashboard and the pages read it; every path
// below /api ignores cookies.
func (s *Server) setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.sessionCookie(), Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: s.secure(),
		SameSite: http.SameSiteStrictMode,
	})
}

// form parses a form. It rejects forms that another site sent.
func (s *Server) form(w http.ResponseWriter, r *http.Request) error {
	if err := s.sameOrigin.Check(r); err != nil {
		return &problemError{code: view.CodeOriginNotAllowed, detail: "This form was sent from another site."}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			return &problemError{code: view.CodeBodyTooLarge, detail: fmt.Sprintf("The form has more than %d bytes.", maxForm)}
		}
		return &problemError{code: view.CodeInvalidRequest, detail: "The form cannot be read."}
	}
	return nil
}

// ours reports whether a form carries the token of the session.
func (x session) ours(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(x.token())) == 1
}
