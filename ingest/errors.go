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
	// Refused is a permanent error until a person changes something: status 4xx, a redirect to another host, a private address, a request
	// that the source should not have built.
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

// ErrNotArchived reports that an archive does not hold a body, or no longer holds it intact.
var ErrNotArchived = errors.New("body is not in the archive")

// ErrNoReadings is wrapped by Parse for a good response without any reading. A caller may accept it if it knows that the page only ended
// a list.
var ErrNoReadings = errors.New("no reading, expected at least one")

// Error is one question that got no usable answer. Its texts never hold the value of a secret parameter.
type Error struct {
	Kind   Kind
	Source string
	// URL is the ledger's URL of the question, secrets redacted. It is empty when the source could not name one.
	URL string
	// Status is the upstream's, 0 when there was no answer.
	Status int
	// RetryAfter is the time without further requests; 0 if the publisher did not state one.
	RetryAfter time.Duration
	// Err states the observed and the expected content.
	Err error
}

// Error names the URL, the expected content and the time to retry.
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

// Retryable reports whether a run that ended with err is worth another attempt, and the min time to wait before it (0: the caller's own
// backoff). It is worth one if any of the joined failures can be transient. These are Temporary, WrongType and Layout (a page under
// maintenance or half published), and any error that did not come from a publisher, such as an unavailable database.
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

// scrubbed is an error whose text lost its secrets. It supports errors.Is for its cause but does not expose the cause, which still has
// them.
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
