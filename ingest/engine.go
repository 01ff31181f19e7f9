package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"tidemark/internal/series"
	"tidemark/internal/telemetry"
)

// FetchLog is the part of the database that the engine uses. All of it is safe for concurrent use. Its errors are the program's own, not
// the publisher's: the engine returns them unchanged and does not try again.
type FetchLog interface {
	// LastFetch returns the newest good fetch of a URL by a source: status 200, or 304 with NotModified set.
	LastFetch(ctx context.Context, source, url string) (series.Fetch, bool, error)
	// RecordFetch adds one row, which is durable when it returns, and returns its id. The body is archived before.
	RecordFetch(ctx context.Context, f series.Fetch, runID int64) (int64, error)
	// ReserveHost books the next free instant for one request to the host, over all processes, and returns how long it is until
	// then. The instant after it is free interval later. A booking that is not used is only lost time.
	ReserveHost(ctx context.Context, host string, interval time.Duration) (wait time.Duration, err error)
	// DelayHost prevents requests to the host for d from now: the next instant that ReserveHost books is not before. It never shortens a
	// delay.
	DelayHost(ctx context.Context, host string, d time.Duration) error
}

// Archive keeps bodies by the lower-case hex SHA-256 of their bytes. It is safe for concurrent use.
type Archive interface {
	// Put keeps a body and returns its digest. The body is durable when it returns; to put it again changes nothing.
	Put(ctx context.Context, body []byte) (sha256 string, err error)
	// Get returns the body with that digest, verified. errors.Is(err, ErrNotArchived) reports whether the body is missing or broken.
	Get(ctx context.Context, sha256 string) ([]byte, error)
}

// The limits of a source that leaves them open, and the habits of an engine that does.
const (
	DefaultInterval = time.Second
	DefaultTimeout  = time.Minute
	DefaultMaxBytes = 32 << 20
	DefaultPages    = 100

	defaultAttempts = 3
	defaultTimeout  = 2 * time.Minute
)

// Engine runs sources. It sends their requests within each host's rate, archives the bytes of each answer, records the fetch, and only then
// lets the source parse it. Transport, Now, Ledger and Archive must be set; the zero values of the rest work. An Engine is safe for
// concurrent use and must not be copied after the first.
type Engine struct {
	// Transport carries the requests: live, replay or sandbox. The engine does not know which of them it is.
	Transport http.RoundTripper
	// Now is the world's clock.
	Now     func() time.Time
	Ledger  FetchLog
	Archive Archive
	// UserAgent names the program and where to complain. See UserAgent, the function, for the default.
	UserAgent string
	// Offline reports whether the transport sends nothing over a network: requests need not queue for a host.
	Offline bool
	// Attempts is how often a request is sent within one Collect while its error is Temporary. Zero: 3.
	Attempts int
	// MaxHostWait is the longest single wait, for a host's turn or before another attempt. A longer one is left to the caller, who
	// can do something else in the meantime. Zero: 2 minutes.
	MaxHostWait time.Duration
	// Wait sleeps, and returns early with an error when ctx ends. Nil: the process's own timer.
	Wait func(ctx context.Context, d time.Duration) error
	// Serial makes Stream hand each page to its sink before the next is fetched, in the caller's goroutine: slower, and in the same
	// order every time.
	Serial bool
	// Log gets one line per exchange, at debug level. Nil: none.
	Log *slog.Logger
	// Metrics counts the requests. It may be nil.
	Metrics *telemetry.Metrics

	slots  hostSlots
	parsed memory
}

// Fetched is a good answer: the record of its fetch, and what it held.
type Fetched struct {
	Fetch series.Fetch
	Batch Batch
}

// UserAgent is how the program introduces itself to upstreams. The contact is a URL or a mail address of the operator.
func UserAgent(contact string) string {
	if contact == "" {
		return "Tidemark/1.0 (automated reader of public statistics; the operator of this installation left no contact)"
	}
	return "Tidemark/1.0 (automated reader of public statistics; complaints: " + contact + ")"
}

// Collect sends the requests that src declares for the window w and returns the good responses, in the order of the source's requests and
// their pages. Each response is archived and recorded under runID before it is parsed.
//
// A failed request does not stop the others. The error then joins one *Error per failed request, and the returned responses are complete:
// the caller stores them and runs again (see Retryable). If any page of a chain fails, the chain returns none of its pages. Collecting
// twice stores nothing twice: an unchanged response is confirmed or archived under the same name.
func (e *Engine) Collect(ctx context.Context, src Source, w series.Window, runID int64) ([]Fetched, error) {
	var all collector
	err := e.walk(ctx, src, w, runID, &all)
	return all.good, err
}

// walk asks what src declares for the window w, and hands the good answers to a sink as they come.
func (e *Engine) walk(ctx context.Context, src Source, w series.Window, runID int64, sink Sink) error {
	limits := src.Limits.withDefaults()
	requests, err := src.Request(w)
	if err != nil {
		return &Error{Kind: Refused, Source: src.ID, Err: fmt.Errorf("build the requests: %w", err)}
	}
	if len(requests) == 0 {
		return &Error{Kind: Refused, Source: src.ID, Err: errors.New("the source asks nothing for the window, expected a request")}
	}

	var failures []error
	shut := make(map[string]time.Duration) // hosts that asked for a longer pause than this run can make
	for _, r := range requests {
		q, err := newFetchRequest(src, limits, runID, r)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if pause, ok := shut[q.host]; ok {
			skipped := q.fail(Temporary, fmt.Errorf("not asked: the host %s is shut", q.host))
			skipped.RetryAfter = pause
			failures = append(failures, skipped)
			continue
		}
		err = e.pages(ctx, q, !w.To.IsZero(), sink)
		sink.EndChain(ctx, err == nil)
		if err != nil {
			failures = append(failures, err)
			if failed, ok := errors.AsType[*Error](err); ok && failed.RetryAfter > e.budget(ctx) {
				shut[q.host] = failed.RetryAfter
			}
			if ctx.Err() != nil {
				break
			}
		}
	}
	return errors.Join(failures...)
}

// pages sends a first request and follows its pages to the end. It skips pages that the publisher does not have if a request allows that.
// An empty chain is accepted only for a window with an end, and for a source without series: the history of a series is never empty.
func (e *Engine) pages(ctx context.Context, q fetchRequest, bounded bool, sink Sink) error {
	asked := make(map[string]bool)
	earlier := make(pageDedupe)
	empty := true
	for {
		key := q.url.String() + " " + q.name // the name alone has lost its secrets, the URL alone lacks the body
		if asked[key] {
			return q.fail(Layout, errors.New("the pages lead in a circle: this one was read already"))
		}
		asked[key] = true

		page, err := e.page(ctx, q, earlier)
		next := page.Batch.Next
		switch {
		case err == nil:
			sink.Page(ctx, page)
			empty = empty && page.Batch.Empty()
		case q.lacks(err):
			next = q.other
		default:
			return err
		}
		if next == nil {
			break
		}
		if len(asked) > q.limits.Pages {
			return q.fail(Layout, fmt.Errorf("further pages after %d, expected the end", len(asked)))
		}
		if q, err = newFetchRequest(q.source, q.limits, q.run, *next); err != nil {
			return err
		}
	}
	if empty && !bounded && len(q.source.Series) > 0 {
		return q.fail(Layout, ErrNoReadings)
	}
	return nil
}

// page sends one request and parses the response. If a body was only confirmed by a 304 but cannot be parsed, it is requested again without
// conditions. It may have been a maintenance page with a newer date than the true page.
func (e *Engine) page(ctx context.Context, q fetchRequest, earlier pageDedupe) (Fetched, error) {
	a, err := e.ask(ctx, q, true)
	if err != nil {
		return Fetched{}, err
	}
	batch, err := a.parse(ctx, earlier, &e.parsed)
	if err != nil && a.fetch.NotModified {
		if a, err = e.ask(ctx, q, false); err != nil {
			return Fetched{}, err
		}
		batch, err = a.parse(ctx, earlier, &e.parsed)
	}
	if err != nil {
		return Fetched{}, err
	}
	return Fetched{Fetch: a.fetch, Batch: batch}, nil
}

// withDefaults fills in the limits that a source leaves open.
func (l Limits) withDefaults() Limits {
	if l.Interval <= 0 {
		l.Interval = DefaultInterval
	}
	if l.Timeout <= 0 {
		l.Timeout = DefaultTimeout
	}
	if l.MaxBytes <= 0 {
		l.MaxBytes = DefaultMaxBytes
	}
	if l.Pages <= 0 {
		l.Pages = DefaultPages
	}
	return l
}

func (e *Engine) attempts() int {
	if e.Attempts <= 0 {
		return defaultAttempts
	}
	return e.Attempts
}

func (e *Engine) timeout() time.Duration {
	if e.MaxHostWait <= 0 {
		return defaultTimeout
	}
	return e.MaxHostWait
}

func (e *Engine) userAgent() string {
	if e.UserAgent == "" {
		return UserAgent("")
	}
	return e.UserAgent
}

// debug logs one exchange.
func (e *Engine) debug(ctx context.Context, f series.Fetch) {
	if e.Log == nil {
		return
	}
	e.Log.DebugContext(ctx, "upstream answered", slog.String("source", f.Source), slog.String("url", f.URL),
		slog.Int("status", f.Status), slog.Int64("bytes", f.Bytes), slog.String("sha256", f.SHA256))
}
