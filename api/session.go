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
	// maxForm is the most that a form brings, in bytes.
	maxForm = 24 << 10
)

// session is a browser that is signed in.
type session struct {
	// text is what it holds.
	text string
	key  postgres.Key
}

func (x session) hash() postgres.SessionHash { return sha256.Sum256([]byte(x.text)) }

// token proves that a form was made for this session.
func (x session) token() string {
	d := digest("form", x.text)
	return hex.EncodeToString(d[:])
}

// sessionCookie is the name of the cookie. The prefix makes browsers keep it from addresses without TLS, and take it from this very host
// only.
func (s *Server) sessionCookie() string {
	if s.secure() {
		return "__Host-tidemark"
	}
	return "tidemark-session"
}

func (s *Server) secure() bool { return strings.HasPrefix(s.view.PublicURL(), "https:") }

// signedIn returns the session of a request; false where it has none.
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

// signIn opens a session with the text of a key and gives the browser its cookie. postgres.ErrEnded where the text opens nothing.
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

// setCookie keeps something in the browser for so many seconds; negative forgets it. Only the dashboard and the pages look at it: at no
// address below /api does a cookie mean anything.
func (s *Server) setCookie(w http.ResponseWriter, value string, maxAge int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.sessionCookie(), Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: s.secure(),
		SameSite: http.SameSiteStrictMode,
	})
}

// form reads a form that one of our pages has sent, from a browser that is signed in where its token says so.
func (s *Server) form(w http.ResponseWriter, r *http.Request) error {
	if err := s.sameOrigin.Check(r); err != nil {
		return &problemError{code: view.CodeOriginNotAllowed, detail: "Another site has sent this form."}
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

// ours tells whether a form carries the token of the session.
func (x session) ours(r *http.Request) bool {
	return subtle.ConstantTimeCompare([]byte(r.PostForm.Get("token")), []byte(x.token())) == 1
}
