package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
	"tidemark/picks"
)

// handler serves a request, or returns an error without writing anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// problemError is an error with a public code. Its texts are public, too.
type problemError struct {
	code, detail string
	// in returns detail in a language. Nil means that it exists in English only.
	in func(lang picks.Lang) string
	// next is the page to which the page of the problem leads, or nil.
	next *view.NextPage
	// allow, retryAfter and challenge (WWW-Authenticate) are header fields of the response. Empty means none.
	allow, retryAfter, challenge string
	known                        []string
	errors                       []view.ParameterError
	// extend adds the members that only problems with this code have. It may be nil.
	extend func(*view.Problem)
}

func (f *problemError) Error() string { return f.code + ": " + f.detail }

// handleGet registers h for GET and HEAD at a pattern. It rejects all other methods except OPTIONS.
func (s *Server) handleGet(mux *http.ServeMux, pattern string, h handler) {
	s.handle(mux, http.MethodGet, pattern, h)
}

// methods are the handlers of a pattern.
type methods map[string]handler

// handle registers h for a method at a pattern. It rejects all other methods except OPTIONS, and HEAD if the method is GET.
func (s *Server) handle(mux *http.ServeMux, method, pattern string, h handler) {
	s.handleMethods(mux, pattern, methods{method: h})
}

// handleMethods is handle for several methods.
func (s *Server) handleMethods(mux *http.ServeMux, pattern string, by methods) {
	var served []string
	for _, method := range slices.Sorted(maps.Keys(by)) {
		s.routes = append(s.routes, route{method, pattern})
		if served = append(served, method); method == http.MethodGet {
			served = append(served, http.MethodHead)
		}
	}
	last := len(served) - 1
	words := served[last]
	if last > 0 {
		words = strings.Join(served[:last], ", ") + " and " + words
	}
	allow := strings.Join(served, ", ") + ", OPTIONS"
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		defer s.recover(w, r)
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet
		}
		h := by[method]
		var err error
		if (method == http.MethodGet || h == nil && by[http.MethodGet] != nil) && hasBody(r) {
			ignoreBody(w)
		}
		switch {
		case h != nil:
			err = h(w, r)
		case r.Method == http.MethodOptions:
			options(w, allow)
		default:
			err = &problemError{code: view.CodeMethodNotAllowed, detail: "Only " + words + " can be used here.", allow: allow}
		}
		if disconnected(r, err) {
			panic(http.ErrAbortHandler)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// disconnected reports whether an error is there because the client disconnected, which ends the reads of the database for it. Another error
// of such a request is a fault of ours, as without the client.
func disconnected(r *http.Request, err error) bool {
	return r.Context().Err() != nil &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, postgres.ErrUnavailable))
}

// hasBody reports whether a request announces a body.
func hasBody(r *http.Request) bool { return r.ContentLength != 0 || len(r.TransferEncoding) > 0 }

// ignoreBody lets the server respond without waiting for the request body, and closes the connection afterwards. Otherwise net/http would
// wait for the body until the read deadline.
func ignoreBody(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}

// middleware adds what every response has, on any route. cors reports which paths any web page may read.
func (s *Server) middleware(mux *http.ServeMux, cors func(path string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		maps.Copy(h, s.security)
		h["X-Request-Id"] = []string{requestID(r.Header)}
		if cors(r.URL.Path) {
			maps.Copy(h, corsFields)
		}
		if s.degraded() {
			h["X-Tidemark-Degraded"] = degradedFields
		}
		seen := recorderPool.Get().(*statusRecorder) //nolint:forcetypeassert // the pool holds nothing else
		*seen = statusRecorder{ResponseWriter: w, status: http.StatusOK}
		began := s.o.Metrics.BeginRequest()
		r, span := s.trace(r)
		r = r.WithContext(view.WithClient(r.Context(), clientNetwork(s.client(r))))
		defer func() {
			if !seen.wrote && r.Context().Err() != nil {
				seen.status = statusDisconnected
			}
			traced(span, r, seen.status, h.Get("X-Request-Id"))
			s.o.Metrics.EndRequest(r.Pattern, r.Method, seen.status, began)
			*seen = statusRecorder{}
			recorderPool.Put(seen)
		}()
		mux.ServeHTTP(seen, r)
		if !s.log.Enabled(r.Context(), slog.LevelDebug) {
			return
		}
		s.log.DebugContext(r.Context(), "answered", "request_id", h.Get("X-Request-Id"), "method", r.Method,
			"path", r.URL.EscapedPath(), "status", seen.status, "bytes", seen.bytes)
	})
}

// degraded reports whether the database is unavailable.
func (s *Server) degraded() bool {
	return s.view.Degraded() || s.o.Record != nil && s.o.Record.Degraded() ||
		s.o.Publications != nil && s.o.Publications.Degraded()
}

var degradedFields = []string{"postgres"}

// recorderPool holds unused recorders, so that a response from memory allocates none.
var recorderPool = sync.Pool{New: func() any { return new(statusRecorder) }}

// statusRecorder records the status and size of a response, for the metrics and the debug log.
type statusRecorder struct {
	http.ResponseWriter

	status, bytes int
	// wrote reports whether the response was begun.
	wrote bool
}

// statusDisconnected is the status in the metrics of a request whose client disconnected before the response, as nginx counts it.
const statusDisconnected = 499

func (rec *statusRecorder) WriteHeader(status int) {
	rec.status, rec.wrote = status, true
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *statusRecorder) Write(p []byte) (int, error) {
	rec.wrote = true
	n, err := rec.ResponseWriter.Write(p)
	rec.bytes += n
	return n, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (rec *statusRecorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// isAPI reports whether a path is for programs. Such paths have CORS, and their errors are never HTML.
func isAPI(path string) bool { return strings.HasPrefix(path, "/api/") || path == "/api" }

// Any web page may read the APIs, because they ignore cookies.
var corsFields = http.Header{
	"Access-Control-Allow-Origin": {"*"},
	"Access-Control-Expose-Headers": {"ETag, Link, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id, X-Request-Cost, " +
		"X-Balance-Remaining, PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, Deprecation, Sunset, X-Tidemark-Degraded"},
}

// corsRequestHeaders are the fields that a web page may send. Access-Control-Expose-Headers means nothing in a request, but the x402
// clients of browsers send it with a payment.
const corsRequestHeaders = "Authorization, Content-Type, Accept, Access-Control-Expose-Headers, If-Match, If-None-Match, If-Range, Range, Last-Event-ID, Idempotency-Key, X-Request-Id, X-PAYMENT, " +
	"PAYMENT-SIGNATURE, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, traceparent"

// options responds to OPTIONS, which is a preflight request if the path has CORS.
func options(w http.ResponseWriter, methods string) {
	h := w.Header()
	h.Set("Allow", methods)
	if h.Get("Access-Control-Allow-Origin") != "" {
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Allow-Headers", corsRequestHeaders)
		h.Set("Access-Control-Max-Age", "86400")
	}
	w.WriteHeader(http.StatusNoContent)
}

// requestID returns the id from the client's request, or a new one.
func requestID(h http.Header) string {
	if given := h["X-Request-Id"]; len(given) == 1 && wellFormed(given[0]) {
		return given[0]
	}
	return string(appendRequestID(make([]byte, 0, 30)))
}

// appendRequestID appends a new id: 130 bits of the runtime's random generator. It is unique, but not secret.
func appendRequestID(b []byte) []byte {
	const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	b = append(b, "req_"...)
	for range 2 {
		bits := rand.Uint64()
		for j := range 13 {
			b = append(b, alphabet[bits>>(5*j)&31])
		}
	}
	return b
}

// wellFormed reports whether an id has 1 to 100 characters, all of them safe in a log.
func wellFormed(id string) bool {
	for _, c := range []byte(id) {
		ok := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
		if !ok {
			return false
		}
	}
	return id != "" && len(id) <= 100
}

// send serves a document of one media type, if the client accepts it.
func send(w http.ResponseWriter, r *http.Request, major, minor string, d *view.Document) error {
	if !accepts(r.Header["Accept"], major, minor) {
		return &problemError{code: view.CodeNotAcceptable, detail: fmt.Sprintf("This is served as %s/%s only.", major, minor)}
	}
	reply(w, r, d)
	return nil
}

// reply serves a document, or 304 if the client has it. It ignores If-Modified-Since: Last-Modified is for people and shows when the data
// became known, but a status can change later.
func reply(w http.ResponseWriter, r *http.Request, d *view.Document) {
	rep, status := representation(r.Header["If-None-Match"], r.Header["Accept-Encoding"], d)
	h := w.Header()
	vary := append(slices.Clone(rep.Header["Vary"]), h["Vary"]...) // the handler's field and the document's
	maps.Copy(h, rep.Header)
	if len(vary) > 0 {
		h["Vary"] = vary
	}
	transmit(w, r, rep, status)
}

// representation selects the form of a document for a client, and the status. known is its If-None-Match, codings its Accept-Encoding. The
// status is 304 if the client has that form, otherwise 200.
func representation(known, codings []string, d *view.Document) (*view.Representation, int) {
	rep := &d.Identity
	match := len(known) > 0 && hasTag(known, rep.ETag)
	if d.Gzip.Body != nil && acceptsGzip(codings) {
		// A client that has the uncompressed body can keep it.
		if zip := len(known) > 0 && hasTag(known, d.Gzip.ETag); zip || !match {
			rep, match = &d.Gzip, zip
		}
	}
	if match {
		return rep, http.StatusNotModified
	}
	return rep, http.StatusOK
}

// checkAccepted fails if the client does not accept the media type of a document.
func checkAccepted(r *http.Request, d *view.Document) error {
	mediaType, _, _ := strings.Cut(d.Identity.Header.Get("Content-Type"), ";")
	major, minor, _ := strings.Cut(mediaType, "/")
	if !accepts(r.Header["Accept"], major, minor) {
		return &problemError{code: view.CodeNotAcceptable, detail: fmt.Sprintf("This is served as %s only.", mediaType)}
	}
	return nil
}

// transmit sends a representation whose header fields are already set.
func transmit(w http.ResponseWriter, r *http.Request, rep *view.Representation, status int) {
	if status == http.StatusNotModified {
		h := w.Header()
		dropContent(h)
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, err := w.Write(rep.Body) // a client that disconnects is not an error
		for i := 0; err == nil && i < len(rep.Tail); i++ {
			_, err = w.Write(rep.Tail[i])
		}
	}
}

// dropContent removes the header fields that a response without content must not have.
func dropContent(h http.Header) {
	delete(h, "Content-Type")
	delete(h, "Content-Length")
	delete(h, "Content-Encoding")
}

// write sends a body that is for this request only.
func write(w http.ResponseWriter, r *http.Request, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// recover turns a panic into an internal error.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	s.fail(w, r, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
}

// fail is the only place that turns an error into a response: it maps errors to codes, and codes to problem documents.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	id := w.Header().Get("X-Request-Id")
	f := &problemError{}
	switch {
	case errors.As(err, &f):
	case errors.Is(err, view.ErrQueueFull):
		f = &problemError{code: view.CodeRateLimited, detail: "Too many requests of this address wait for their turn: send fewer at once.", retryAfter: "2"}
	case errors.Is(err, view.ErrWaitedTooLong):
		s.warnUnavailable(r, err)
		f = &problemError{code: view.CodeUnavailable, detail: "Too many requests are being answered.", retryAfter: "5"}
	case errors.Is(err, postgres.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		s.warnUnavailable(r, err)
		f = &problemError{code: view.CodeUnavailable, detail: "The database of past values is unavailable.", retryAfter: "5"}
	case errors.Is(err, postgres.ErrNotFound):
		f = &problemError{code: view.CodeNotFound, detail: view.NothingServed}
	default:
		ctx := telemetry.With(r.Context(), slog.String("request_id", id))
		s.log.ErrorContext(ctx, "answer a request", "method", r.Method, "path", r.URL.EscapedPath(), "err", err)
		f = &problemError{code: view.CodeInternalError, detail: "Something broke on our side."}
	}
	kind, _ := view.ProblemKindOf(f.code)
	p := view.Problem{
		Type: s.view.PublicURL() + "/problems/" + f.code, Title: kind.Title, Status: kind.Status, Code: f.code, Detail: f.detail,
		Instance: r.URL.EscapedPath(), RequestID: id, KnownSignals: f.known,
		Errors: f.errors,
	}
	h := w.Header()
	h.Set("Cache-Control", view.CacheNever)
	if f.allow != "" {
		h.Set("Allow", f.allow)
	}
	if f.retryAfter != "" {
		h.Set("Retry-After", f.retryAfter)
	}
	if f.challenge != "" {
		h.Set("WWW-Authenticate", f.challenge)
	}
	if f.extend != nil {
		f.extend(&p)
	}
	if s.o.Pages != nil && h.Get("Access-Control-Allow-Origin") == "" && !isAPI(r.URL.Path) {
		h["Vary"] = []string{"Accept", "Accept-Language"}
		if prefersHTML(r.Header["Accept"]) {
			h.Set("Content-Security-Policy", view.PagePolicy)
			if strings.HasPrefix(r.URL.Path, view.FramePrefix) {
				h.Set("Content-Security-Policy", view.FramePolicy)
			}
			lang, named := picks.ParseLang(r.URL.Query().Get("lang"))
			if !named {
				lang = preferred(r.Header["Accept-Language"])
			}
			var detail string
			if f.in != nil {
				detail = f.in(lang)
			}
			write(w, r, p.Status, view.TypeHTML, s.o.Pages.Problem(p, lang, named, detail, f.next))
			return
		}
	}
	body, err := view.Encode(p)
	if err != nil { // a Problem contains nothing that cannot be encoded
		panic(err)
	}
	write(w, r, p.Status, view.TypeProblem, body)
}
