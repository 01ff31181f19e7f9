package ingest

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what became of a question to an upstream, as far as it matters for asking again. It is an error itself, so that
// errors.Is(err, ingest.Refused) finds it anywhere in a tree of errors, and so that a transport can state it.
type Kind string

// The kinds.
const (
	// Temporary is trouble that passes: no connection, a timeout, a body that broke off, status 408, 425, 429 or 5xx, a host
	// that may not be asked yet.
	Temporary Kind = "temporary upstream trouble"
	// Refused is a no that stands until somebody changes something: status 4xx, a redirect to another host, a private address,
	// a request that the source should not have built.
	Refused Kind = "refused"
	// TooLarge is a body beyond Limits.MaxBytes.
	TooLarge Kind = "answer too large"
	// WrongType is a media type that Limits.ContentTypes does not list: most often a maintenance page.
	WrongType Kind = "wrong content type"
	// Layout is a body that is not what the publisher promises, or a chain of pages that does not fit together.
	Layout Kind = "layout changed"
)

// Error makes a kind usable as the target of errors.Is.
func (k Kind) Error() string { return string(k) }

// ErrNotArchived tells that an archive does not hold a body, or no longer holds it whole.
var ErrNotArchived = errors.New("body is not in the archive")

// ErrNoReadings is what Parse wraps for a good answer without any reading. A caller who knows that the page only ended a list
// may accept it.
var ErrNoReadings = errors.New("no reading, expected at least one")

// Error is one question that got no usable answer. Its texts never hold the value of a secret parameter.
type Error struct {
	Kind   Kind
	Source string
	// URL is the ledger's URL of the question, secrets redacted. It is empty when the source could not name one.
	URL string
	// Status is the upstream's, 0 when there was no answer.
	Status int
	// RetryAfter is how long nobody should ask again, 0 when the upstream did not say.
	RetryAfter time.Duration
	// Err says what was seen and what was expected.
	Err error
}

// Error names the URL, what was expected and when to come again.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: ", e.Source)
	if e.URL != "" {
		fmt.Fprintf(&b, "%s: ", e.URL)
	}
	fmt.Fprintf(&b, "%s: %v", e.Kind, e.Err)
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, " (ask again in %s)", e.RetryAfter.Round(time.Second))
	}
	return b.String()
}

// Unwrap lets errors.Is find the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// Retryable tells whether a run that ended with err is worth another attempt, and the least time to wait before it (0: the caller's
// own back-off). It is worth one when any of the joined failures may pass: Temporary, WrongType and Layout (a page under
// maintenance or half published), and whatever did not come from an upstream, such as a database that is away.
func Retryable(err error) (bool, time.Duration) {
	if err == nil {
		return false, 0
	}
	if e, ok := err.(*Error); ok { //nolint:errorlint // the tree is walked by hand, node by node
		return e.Kind != Refused && e.Kind != TooLarge, e.RetryAfter
	}
	switch u := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() []error }:
		var again bool
		var after time.Duration
		for _, child := range u.Unwrap() {
			a, d := Retryable(child)
			again, after = again || a, max(after, d)
		}
		return again, after
	case interface{ Unwrap() error }:
		if u.Unwrap() != nil {
			return Retryable(u.Unwrap())
		}
	}
	return true, 0
}

// scrubbed is an error whose text lost its secrets. It answers errors.Is for its cause but hands the cause to nobody, because
// the cause still has them.
type scrubbed struct {
	text  string
	cause error
}

func (s *scrubbed) Error() string        { return s.text }
func (s *scrubbed) Is(target error) bool { return errors.Is(s.cause, target) }

// redactError returns err without the hidden values.
func redactError(err error, hidden []string) error {
	text := err.Error()
	if clean := redact(text, hidden); clean != text {
		return &scrubbed{text: clean, cause: err}
	}
	return err
}
