package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

// RawOptions configure which archived bodies are served.
type RawOptions struct {
	Store RawStore
	// Get reads an archived body by its SHA-256. It returns nil without an error if the archive does not contain the body.
	Get func(ctx context.Context, sha256 string) ([]byte, error)
	// Sources are the publishers' jobs by their ids. Bodies of other sources are never served.
	Sources map[string]RawSource
	// Locate finds where the body of a source states a value. It may be nil.
	Locate func(b postgres.RawBody, body []byte, id series.ID, observedAt time.Time) (view.RawPlace, bool)
	// Synthetic reports that all bodies are generated, so no licence applies to them.
	Synthetic bool
}

// RawStore looks up bodies. *postgres.DB implements it.
type RawStore interface {
	RawBody(ctx context.Context, sha256 string, ids []series.ID, until time.Time) (postgres.RawBody, error)
}

// RawSource is the terms of a publisher.
type RawSource struct {
	Publisher, License string
	// Shown reports whether the terms allow us to publish its bodies.
	Shown bool
}

const (
	// maxRaw is the maximum size of a served body in bytes. rawMemory bounds the memory of all requests. A body stays in memory until its
	// client received it. rawByAddress is the maximum number of concurrent bodies per address, less than the total.
	maxRaw       = 64 << 20
	rawMemory    = 4 * maxRaw
	rawByAddress = 3
	maxRawReads  = 256
	// rawWait is how long a request waits for memory.
	rawWait = 5 * time.Second
)

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// rawServer serves archived bodies.
type rawServer struct {
	RawOptions

	memory *semaphore.Weighted
	// bodies limits the bodies that clients are receiving. Each stays in memory until its client has it.
	bodies *view.ConcurrencyLimiter
}

func newRawServer(o RawOptions) *rawServer {
	return &rawServer{
		RawOptions: o, memory: semaphore.NewWeighted(rawMemory),
		bodies: view.NewConcurrencyLimiter(maxRawReads, rawByAddress),
	}
}

// serveRaw serves the bytes that a publisher sent. It serves only bodies behind observations of a published signal. For a body that is not
// released yet or is in quarantine, it does not even reveal whether the archive contains it.
func (s *Server) serveRaw(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	b, body, done, err := s.rawBytes(r)
	if err != nil {
		return err
	}
	defer done()
	digest := r.PathValue("sha256")
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+digest+`.bin"`)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", cacheForever)
	h.Set("ETag", `"`+digest+`"`)
	if b.LogIndex != nil {
		h.Set("Link", "<"+logPrefix+sourcesPrefix+"proof/"+strconv.FormatInt(*b.LogIndex, 10)+`.tlog-proof>; rel="describedby"`)
	}
	return serveBytes(w, r, bytes.NewReader(body), len(body))
}

// serveRawPlace says where a body states the value of a series about a day, so that a browser can mark it in the bytes.
func (s *Server) serveRawPlace(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	p := s.parameters(r)
	id, about := p.text("series"), p.instant("observed_at", false)
	if id == "" {
		p.fault("series", "series is missing.")
	}
	if about.IsZero() {
		p.fault("observed_at", "observed_at is missing.")
	}
	if err := p.err(); err != nil {
		return err
	}
	b, body, done, err := s.rawBytes(r)
	if err != nil {
		return err
	}
	defer done()
	var place view.RawPlace
	found := false
	if s.raws.Locate != nil {
		place, found = s.raws.Locate(b, body, series.ID(id), about)
	}
	if !found {
		return &problemError{code: view.CodeNotFound, detail: "The body does not state this value, or it is not known where."}
	}
	place.SHA256, place.Series, place.ObservedAt = r.PathValue("sha256"), id, about
	text, err := view.Encode(place)
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, view.CachePublic, text, time.Time{}))
}

// rawBytes returns the body that a request names. The caller calls done when it no longer uses the bytes.
func (s *Server) rawBytes(r *http.Request) (b postgres.RawBody, body []byte, done func(), err error) {
	fail := func(err error) (postgres.RawBody, []byte, func(), error) { return postgres.RawBody{}, nil, nil, err }
	digest := r.PathValue("sha256")
	if !sha256Form.MatchString(digest) {
		return fail(errNoRaw)
	}
	st, err := s.state()
	if err != nil {
		return fail(err)
	}
	leave, err := underWay(s.raws.bodies, clientNetwork(s.client(r)), "archived bodies under way", "", "2")
	if err != nil {
		return fail(err)
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	ctx, cancel := context.WithTimeout(r.Context(), rawWait)
	defer cancel()
	ids, until := served(st)
	b, err = s.raws.Store.RawBody(ctx, digest, ids, until)
	if errors.Is(err, postgres.ErrNotFound) {
		return fail(errNoRaw)
	}
	if err != nil {
		return fail(err)
	}
	source, known := s.raws.Sources[b.Source]
	if !known {
		return fail(errNoRaw)
	}
	if reason := s.raws.reason(source, b); reason != "" {
		return fail(s.notShown(digest, source, b, reason))
	}
	weight := max(b.Bytes, 1)
	if err := s.raws.memory.Acquire(ctx, weight); err != nil {
		return fail(&problemError{code: view.CodeUnavailable, detail: "Other bodies are being read at the moment.", retryAfter: "5"})
	}
	done = func() {
		s.raws.memory.Release(weight)
		leave()
	}
	body, err = s.raws.Get(ctx, digest)
	switch {
	case err != nil:
		s.log.ErrorContext(r.Context(), "read an archived body", "sha256", digest, "err", err)
		err = &problemError{code: view.CodeUnavailable, detail: "The archive cannot be read at the moment.", retryAfter: "30"}
	case body == nil:
		err = &problemError{code: view.CodeNotFound, detail: "The archive of this server does not hold the body."}
	default:
		return b, body, done, nil
	}
	s.raws.memory.Release(weight)
	return fail(err)
}

// notShown is the problem of a body that may not be passed on, with its known facts.
func (s *Server) notShown(digest string, source RawSource, b postgres.RawBody, reason string) error {
	facts := view.RawFacts{
		SHA256: digest, Bytes: b.Bytes, Source: b.Source, Publisher: source.Publisher, License: source.License, RetrievedAt: b.FetchedAt, Reason: reason,
	}
	if b.LogIndex != nil {
		facts.ProofURL = new(s.view.PublicURL() + logPrefix + sourcesPrefix + "proof/" + strconv.FormatInt(*b.LogIndex, 10) + ".tlog-proof")
	}
	return &problemError{code: view.CodeNotShown, detail: reason, extend: func(p *view.Problem) { p.Raw = &facts }}
}

var errNoRaw = &problemError{code: view.CodeNotFound, detail: "No published number rests on a body with this SHA-256."}

// reason returns why a body is not served, or an empty string if it is.
func (o RawOptions) reason(s RawSource, b postgres.RawBody) string {
	switch {
	case strings.Contains(b.URL, "REDACTED"):
		return "It was asked for with the operator's own key, and an answer may repeat the question."
	case b.Bytes > maxRaw:
		return "It is too large to be sent."
	case o.Get == nil:
		return "This server does not have the archive."
	case o.Synthetic && b.Synthetic, s.Shown:
		return ""
	}
	return "The publisher's terms do not let us pass its bytes on."
}

// served returns the inputs of the signals that have a snapshot, and the instant of the newest snapshot. Data that arrived later is not
// released yet.
func served(st *view.State) (ids []series.ID, until time.Time) {
	for _, sig := range st.Signals {
		at := sig.Snapshot.AsOf
		if at == nil {
			continue
		}
		ids = append(ids, sig.Definition.Inputs...)
		if at.After(until) {
			until = *at
		}
	}
	return ids, until
}
