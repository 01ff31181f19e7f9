package world

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tidemark/ingest"
)

// SandboxOptions adjust a sandbox. The zero value answers at once and without faults.
type SandboxOptions struct {
	// Now is the world's clock, for the Date of answers. Nil: no Date but the handler's own.
	Now func() time.Time
	// Latency passes before each answer, or less when the request's context ends.
	Latency time.Duration
	// Fault decides what goes wrong with a request; nil or false: nothing. The request's body may not be read. nth counts the
	// requests with this method and URL, this one included, so that "the second time it fails" can be said. It is called by
	// many goroutines at once.
	Fault func(r *http.Request, nth int) (Fault, bool)
}

// Fault is one way for an exchange to go wrong. Zero fields leave the handler's answer as it is.
type Fault struct {
	// Err fails the exchange without an answer.
	Err error
	// Hang lets the request wait until its context ends.
	Hang bool
	// Status, Header and Body replace the response's own; Header replaces only the headers that it names.
	Status int
	Header http.Header
	Body   []byte
	// Keep is the share of the body, in (0, 1), that is sent before the response breaks off, although its whole length was announced. 0:
	// all.
	Keep float64
}

// ErrorPage is the fault of an upstream that shows a page for humans instead, be the status 503 or, as some do, 200.
func ErrorPage(status int) Fault {
	return Fault{
		Status: status,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body:   []byte("<!DOCTYPE html><html><head><title>Site maintenance</title></head><body><h1>We will be back soon</h1></body></html>\n"),
	}
}

// Sandbox answers every request by calling handler in the caller's goroutine: no socket is opened. It marks each answer as
// synthetic, gives a good one an ETag of its body where the handler set none, and answers 304 to a request that knows it. The
// handler is called by many goroutines at once. It sees the URL as the client wrote it, host included.
func Sandbox(handler http.Handler, o SandboxOptions) http.RoundTripper {
	return &sandbox{handler: handler, options: o, counts: make(map[string]int)}
}

type sandbox struct {
	handler http.Handler
	options SandboxOptions
	mu      sync.Mutex
	counts  map[string]int
}

// RoundTrip answers one request.
func (s *sandbox) RoundTrip(r *http.Request) (*http.Response, error) {
	defer closeBody(r)
	fault := s.fault(r)
	if err := pause(r.Context(), s.options.Latency); err != nil {
		return nil, err
	}
	switch {
	case fault.Hang:
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	case fault.Err != nil:
		return nil, fault.Err
	}
	status, header, body, err := s.call(r)
	if err != nil {
		return nil, err
	}
	if header.Get("ETag") == "" && status == http.StatusOK {
		digest := sha256.Sum256(body)
		header.Set("ETag", `"`+hex.EncodeToString(digest[:16])+`"`)
	}
	status, body = fault.apply(status, header, body)
	if s.options.Now != nil && header.Get("Date") == "" {
		header.Set("Date", s.options.Now().UTC().Format(http.TimeFormat))
	}
	mark(header, ingest.SyntheticHeader, true)
	mark(header, ingest.ConstructedHeader, false)
	if status == http.StatusOK && notModified(r, header) {
		return unchanged(r, header), nil
	}
	return respond(r, status, header, body), nil
}

// fault counts the request and looks up what goes wrong with it.
func (s *sandbox) fault(r *http.Request) Fault {
	if s.options.Fault == nil {
		return Fault{}
	}
	key := r.Method + " " + r.URL.String()
	s.mu.Lock()
	s.counts[key]++
	nth := s.counts[key]
	s.mu.Unlock()
	if f, ok := s.options.Fault(r, nth); ok {
		return f
	}
	return Fault{}
}

// call runs the handler.
func (s *sandbox) call(r *http.Request) (status int, header http.Header, body []byte, err error) {
	served := r.Clone(r.Context())
	served.RequestURI = r.URL.RequestURI()
	served.RemoteAddr = "127.0.0.1:0"
	if served.Host == "" {
		served.Host = r.URL.Host
	}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	w := &recorder{header: make(http.Header)}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if e, ok := p.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
			panic(p)
		}
		err = fmt.Errorf("the connection broke: %w", io.ErrUnexpectedEOF)
	}()
	s.handler.ServeHTTP(w, served)
	w.WriteHeader(http.StatusOK) // unless it wrote one
	return w.status, w.sent, w.body.Bytes(), nil
}

// apply spoils an answer.
func (f Fault) apply(status int, header http.Header, body []byte) (int, []byte) {
	if f.Status != 0 {
		status = f.Status
	}
	if f.Body != nil || f.Status != 0 { // the validators belong to the original response
		header.Del("ETag")
		header.Del("Last-Modified")
	}
	if f.Body != nil {
		body = f.Body
		header.Del("Content-Length")
	}
	for name, values := range f.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	if f.Keep > 0 && f.Keep < 1 {
		header.Set("Content-Length", strconv.Itoa(len(body)))
		body = body[:int(f.Keep*float64(len(body)))]
	}
	return status, body
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// recorder is the http.ResponseWriter of a handler that is called in process.
type recorder struct {
	header http.Header
	sent   http.Header // as it was when the status was written
	status int
	body   bytes.Buffer
}

// Header returns the header to be sent.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader fixes status and header. As on a connection, only the first call counts, and 1xx are passed over.
func (w *recorder) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	w.sent = w.header.Clone()
}

// Write adds to the body.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 && w.header.Get("Content-Type") == "" {
		w.header.Set("Content-Type", http.DetectContentType(p))
	}
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}
