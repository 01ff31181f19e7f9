package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"tidemark/internal/series"
	"tidemark/internal/telemetry"
)

// firstPause is the backoff after the first failed attempt of a request. It doubles with each further attempt, and jitter spreads it over
// half to one and a half of that.
const firstPause = 2 * time.Second

// fetchResponse is one good answer: archived, recorded, not yet parsed.
type fetchResponse struct {
	question fetchRequest // as it was answered, after redirects
	fetch    series.Fetch
	body     []byte
}

// ask sends a request until it is answered, refused, or out of attempts or time. Each attempt waits for the host's next free slot, and
// each response, good or bad, is archived and recorded separately.
func (e *Engine) ask(ctx context.Context, q fetchRequest, conditional bool) (fetchResponse, error) {
	for attempt := 1; ; attempt++ {
		a, err := e.follow(ctx, q, conditional)
		if err == nil {
			return a, nil
		}
		failed, ok := errors.AsType[*Error](err)
		if !ok || failed.Kind != Temporary || attempt >= e.attempts() || ctx.Err() != nil {
			return fetchResponse{}, err
		}
		pause := max(jitter(firstPause<<(attempt-1)), failed.RetryAfter)
		if e.Log != nil {
			e.Log.DebugContext(ctx, "upstream is asked again", slog.String("source", q.source.ID), slog.String("url", q.name),
				slog.Int("attempt", attempt+1), slog.Duration("pause", pause), slog.Any("error", failed))
		}
		if pause > e.budget(ctx) || e.wait(ctx, pause) != nil {
			return fetchResponse{}, err
		}
	}
}

func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // spreads load, keeps no secret
}

// follow puts a question once and goes where the upstream sends it on, within the host.
func (e *Engine) follow(ctx context.Context, q fetchRequest, conditional bool) (fetchResponse, error) {
	for range maxRedirects + 1 {
		a, location, err := e.exchange(ctx, q, conditional)
		if err != nil || !isRedirect(a.fetch.Status) {
			return a, err
		}
		if q, err = q.redirected(a.fetch.Status, location); err != nil {
			return fetchResponse{}, err
		}
	}
	return fetchResponse{}, q.fail(Refused, fmt.Errorf("redirected more than %d times", maxRedirects))
}

// exchange is one request and its response: the host's slot, the bytes, the archive, the fetch log. A response that is neither good nor a
// redirect is an error; it is still archived and recorded. The returned string is the location of a redirect.
func (e *Engine) exchange(ctx context.Context, q fetchRequest, conditional bool) (fetchResponse, string, error) {
	var known *fetchResponse
	if conditional && q.conditional() {
		var err error
		if known, err = e.known(ctx, q); err != nil {
			return fetchResponse{}, "", err
		}
	}
	leave, err := e.waitForHost(ctx, q)
	if err != nil {
		return fetchResponse{}, "", err
	}
	defer leave()
	began := e.Metrics.Now()
	got, err := e.fetch(ctx, q, known)
	leave()
	e.Metrics.Asked(q.source.ID, got.status, began)
	if err != nil {
		return fetchResponse{}, "", err
	}

	a := fetchResponse{question: q, body: got.body, fetch: series.Fetch{
		Source:      q.source.ID,
		URL:         q.name,
		Status:      got.status,
		Header:      keep(got.header, q.hidden),
		FetchedAt:   e.Now().UTC().Truncate(time.Microsecond),
		Synthetic:   got.header.Get(SyntheticHeader) == "true",
		Constructed: got.header.Get(ConstructedHeader) == "true",
	}}
	if err := e.store(ctx, &a, known); err != nil {
		return fetchResponse{}, "", err
	}
	e.debug(ctx, a.fetch)
	if got.status == http.StatusOK || a.fetch.NotModified || isRedirect(got.status) {
		return a, got.header.Get("Location"), nil
	}
	return fetchResponse{}, "", e.recordFailure(ctx, a, got.header)
}

// known is the newest good answer to a question, if it has a validator to send and the archive still holds its body whole; nil
// otherwise.
func (e *Engine) known(ctx context.Context, q fetchRequest) (*fetchResponse, error) {
	last, ok, err := e.Ledger.LastFetch(ctx, q.source.ID, q.name)
	if err != nil {
		return nil, fmt.Errorf("look up the last fetch of %s: %w", q.name, err)
	}
	if !ok || (last.Header["ETag"] == "" && last.Header["Last-Modified"] == "") {
		return nil, nil
	}
	body, err := e.Archive.Get(ctx, last.SHA256)
	switch {
	case errors.Is(err, ErrNotArchived):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the archived answer of %s: %w", q.name, err)
	}
	return &fetchResponse{question: q, fetch: last, body: body}, nil
}

// received is a response from the network, whole and decoded.
type received struct {
	status int
	header http.Header
	body   []byte
}

// fetch is send as a part of the trace.
func (e *Engine) fetch(ctx context.Context, q fetchRequest, known *fetchResponse) (received, error) {
	ctx, span := telemetry.Call(ctx, "fetch", slog.String("source", q.source.ID), slog.String("url", q.name),
		slog.String("http.request.method", q.method))
	got, err := e.send(ctx, q, known)
	if got.status != 0 {
		span.Set(slog.Int("http.response.status_code", got.status), slog.Int("http.response.body.size", len(got.body)))
	}
	span.End(err)
	return got, err
}

// send carries one request and reads its answer whole, within the limits of the source.
func (e *Engine) send(ctx context.Context, q fetchRequest, known *fetchResponse) (received, error) {
	timed, cancel := context.WithTimeoutCause(ctx, q.limits.Timeout,
		fmt.Errorf("no whole answer within %s: %w", q.limits.Timeout, context.DeadlineExceeded))
	defer cancel()
	var last *series.Fetch
	if known != nil {
		last = &known.fetch
	}
	req, err := q.httpRequest(timed, e.userAgent(), last)
	if err != nil {
		return received{}, err
	}
	resp, err := e.Transport.RoundTrip(req)
	if err != nil {
		return received{}, q.broken(timed, "no answer", err)
	}
	defer func() { _ = resp.Body.Close() }()

	tooLarge := func() error {
		failed := q.fail(TooLarge, fmt.Errorf("a body of more than %d bytes", q.limits.MaxBytes))
		failed.Status = resp.StatusCode
		return failed
	}
	if resp.ContentLength > q.limits.MaxBytes {
		return received{}, tooLarge()
	}
	// The limit applies to the decompressed size.
	body, err := readBody(io.LimitReader(resp.Body, q.limits.MaxBytes+1))
	switch {
	case int64(len(body)) > q.limits.MaxBytes:
		return received{}, tooLarge()
	case err != nil:
		failed := q.broken(timed, fmt.Sprintf("the body broke off after %d bytes", len(body)), err)
		failed.Status = resp.StatusCode
		return received{}, failed
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") && len(body) > 0 {
		failed := q.fail(WrongType, fmt.Errorf("a body in the content coding %q, which was not asked for", coding))
		failed.Status = resp.StatusCode
		return received{}, failed
	}
	return received{status: resp.StatusCode, header: resp.Header, body: body}, nil
}

// conditional reports whether a 304 would answer the request: a plain GET without conditions of the source's own.
func (q fetchRequest) conditional() bool {
	if q.method != http.MethodGet || len(q.body) > 0 {
		return false
	}
	for name := range q.header {
		switch http.CanonicalHeaderKey(name) {
		case "If-None-Match", "If-Modified-Since", "Range":
			return false
		}
	}
	return true
}

// httpRequest builds the request, conditional on what is known of its answer (nil: unconditional).
func (q fetchRequest) httpRequest(ctx context.Context, userAgent string, known *series.Fetch) (*http.Request, error) {
	var body io.Reader
	if len(q.body) > 0 {
		body = bytes.NewReader(q.body)
	}
	req, err := http.NewRequestWithContext(context.WithValue(ctx, askedBy{}, q.source.ID), q.method, q.url.String(), body)
	if err != nil {
		return nil, q.fail(Refused, err)
	}
	for name, values := range q.header {
		for _, v := range values {
			req.Header.Add(name, v)
		}
	}
	// The transport negotiates the content coding and undoes it, so that the archive holds what the publisher means.
	req.Header.Del("Accept-Encoding")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent)
	}
	if known != nil {
		if v := known.Header["ETag"]; v != "" {
			req.Header.Set("If-None-Match", v)
		}
		if v := known.Header["Last-Modified"]; v != "" {
			req.Header.Set("If-Modified-Since", v)
		}
	}
	return req, nil
}

type askedBy struct{}

// AskedBy returns the source of a request, from the request's context; empty if none exists.
func AskedBy(ctx context.Context) string {
	id, _ := ctx.Value(askedBy{}).(string)
	return id
}

// readBody is io.ReadAll for larger bodies: its buffer doubles. The buffer of io.ReadAll grows by a quarter, and copies a long body
// several times.
func readBody(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	_, err := b.ReadFrom(r)
	return b.Bytes(), err
}

// broken is the error of an exchange that did not come to its end. A transport that refuses says so by the kind of its error.
func (q fetchRequest) broken(ctx context.Context, what string, err error) *Error {
	if errors.Is(err, Refused) {
		return q.fail(Refused, err)
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = cause // says more than "context deadline exceeded"
	}
	return q.fail(Temporary, fmt.Errorf("%s: %w", what, err))
}

// store archives the answer's body and records it. A 304 gets the body that it confirms.
func (e *Engine) store(ctx context.Context, a *fetchResponse, known *fetchResponse) (err error) {
	f := &a.fetch
	ctx, span := telemetry.Step(ctx, "archive", slog.String("url", f.URL), slog.Int("status", f.Status))
	defer func() {
		span.Set(slog.String("sha256", f.SHA256), slog.Bool("not_modified", f.NotModified))
		span.End(err)
	}()
	if f.Status == http.StatusNotModified {
		if known == nil {
			failed := a.question.fail(Temporary, errors.New("status 304 to a request without conditions, expected 200"))
			failed.Status = f.Status
			return failed
		}
		a.body = known.body
		f.NotModified = true
		f.SHA256 = known.fetch.SHA256
		f.Header = confirmed(known.fetch.Header, f.Header)
		f.Synthetic = f.Synthetic || known.fetch.Synthetic
		f.Constructed = f.Constructed || known.fetch.Constructed
	} else {
		if f.SHA256, err = e.Archive.Put(ctx, a.body); err != nil {
			return fmt.Errorf("archive the answer of %s: %w", f.URL, err)
		}
	}
	f.Bytes = int64(len(a.body))
	if f.ID, err = e.Ledger.RecordFetch(ctx, *f, a.question.run); err != nil {
		return fmt.Errorf("record the fetch of %s: %w", f.URL, err)
	}
	return nil
}

// recordFailure returns the error of a recorded response that is not a good one. If the response asks for a pause, it applies to all
// processes.
func (e *Engine) recordFailure(ctx context.Context, a fetchResponse, h http.Header) error {
	status := a.fetch.Status
	pause := retryAfter(h, a.fetch.FetchedAt)
	if status == http.StatusForbidden {
		pause = max(pause, a.question.limits.Forbidden)
	}
	kind := Refused
	if pause > 0 || IsTransient(status) {
		kind = Temporary
	}
	failed := a.question.fail(kind, fmt.Errorf("status %d, expected 200 (body archived as %s)", status, a.fetch.SHA256))
	failed.Status = status
	failed.RetryAfter = pause
	if pause > 0 && !e.Offline {
		host := a.question.host
		if err := e.Ledger.DelayHost(ctx, host, pause); err != nil {
			return errors.Join(failed, fmt.Errorf("delay the host %s: %w", host, err))
		}
	}
	return failed
}

// IsTransient reports whether a request with this status is worth retrying: the publisher is not ready, too busy or temporarily broken.
func IsTransient(status int) bool {
	switch status {
	case http.StatusAccepted, http.StatusNoContent,
		http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= http.StatusInternalServerError
}
