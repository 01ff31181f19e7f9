package world

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/internal/series"
)

// maxQuestion bounds the body of a request to a replay.
const maxQuestion = 1 << 20

// LastFetch returns the time of an archive folder: the time of its newest fetch, in UTC.
func LastFetch(dir string) (time.Time, error) { return archive.LastFetch(dir) }

// Replay answers from the archive folder dir as its publishers did at the time that now returns: each request gets the newest recorded
// response to it that is not later. A response that confirmed a body counts as that body. Transient errors (a status of 5xx, 429 and the
// like) are replayed only if no better response was recorded. Requests are compared in the form of the fetch log, with secrets redacted,
// ignoring the order and escaping of their parameters. A request that was not recorded gets status 404 with a text that says so, marked
// synthetic since no publisher sent it.
//
// The manifest is read once, here; a bad line is an error. Bodies are read, and verified, on request.
func Replay(dir string, now func() time.Time) (http.RoundTripper, error) {
	folder, err := archive.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	r := &replay{folder: folder, now: now, recorded: make(map[string][]series.Fetch), secrets: make(map[string][]string)}
	for f, err := range folder.Fetches() {
		if err != nil {
			return nil, err
		}
		if err := r.add(f); err != nil {
			return nil, err
		}
	}
	for _, fetches := range r.recorded {
		slices.SortStableFunc(fetches, func(a, b series.Fetch) int { return a.FetchedAt.Compare(b.FetchedAt) })
	}
	return r, nil
}

type replay struct {
	folder *archive.Folder
	now    func() time.Time
	// recorded holds the answers to each request, oldest first.
	recorded map[string][]series.Fetch
	// secrets names the parameters whose values were redacted, by scheme, host and path.
	secrets map[string][]string
}

func (t *replay) add(f series.Fetch) error {
	u, err := url.Parse(f.URL)
	if err != nil {
		return fmt.Errorf("replay %s: %w", f.URL, err)
	}
	key := sameForm(u)
	t.recorded[key] = append(t.recorded[key], f)
	place := placeOf(u)
	for name, values := range u.Query() {
		if slices.Contains(values, ingest.Redacted) && !slices.Contains(t.secrets[place], name) {
			t.secrets[place] = append(t.secrets[place], name)
		}
	}
	return nil
}

// RoundTrip answers one request.
func (t *replay) RoundTrip(r *http.Request) (*http.Response, error) {
	defer closeBody(r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var question []byte
	if r.Body != nil {
		var err error
		if question, err = io.ReadAll(io.LimitReader(r.Body, maxQuestion)); err != nil {
			return nil, fmt.Errorf("replay: read the request: %w", err)
		}
	}
	name := ingest.LoggedURL(r.Method, r.URL.String(), question, t.secrets[placeOf(r.URL)])
	u, err := url.Parse(name)
	if err != nil {
		return nil, fmt.Errorf("%w: replay: the request's URL does not parse", ingest.Refused)
	}
	fetches := t.recorded[sameForm(u)]
	now := t.now()
	f, ok := newest(fetches, now)
	switch {
	case ok:
		return t.answer(r, f)
	case len(fetches) > 0:
		return absent(r, fmt.Sprintf("The archive recorded %s for the first time at %s, which is after %s, the time of this replay.\n",
			name, fetches[0].FetchedAt.Format(time.RFC3339), now.UTC().Format(time.RFC3339))), nil
	}
	return absent(r, fmt.Sprintf("The archive holds no answer to %s.\n", name)), nil
}

// newest picks the answer that stood at an instant from those recorded, oldest first.
func newest(fetches []series.Fetch, at time.Time) (series.Fetch, bool) {
	var found series.Fetch
	var ok bool
	for _, f := range slices.Backward(fetches) {
		if f.FetchedAt.After(at) {
			continue
		}
		if !ingest.IsTransient(f.Status) {
			return f, true
		}
		if !ok {
			found, ok = f, true
		}
	}
	return found, ok
}

// answer gives a recorded answer again.
func (t *replay) answer(r *http.Request, f series.Fetch) (*http.Response, error) {
	header := make(http.Header, len(f.Header)+2)
	for name, v := range f.Header {
		header.Set(name, v)
	}
	header.Del("Content-Length")
	header.Del("Content-Encoding") // bodies are archived decoded
	mark(header, ingest.SyntheticHeader, f.Synthetic)
	mark(header, ingest.ConstructedHeader, f.Constructed)
	status := f.Status
	if f.NotModified {
		status = http.StatusOK
	}
	if status == http.StatusOK && notModified(r, header) {
		return unchanged(r, header), nil
	}
	body, err := t.folder.Body(r.Context(), f)
	if err != nil {
		return nil, fmt.Errorf("%w: replay: %w", ingest.Refused, err)
	}
	return respond(r, status, header, body), nil
}

func mark(h http.Header, name string, set bool) {
	h.Del(name)
	if set {
		h.Set(name, "true")
	}
}

// absent answers what was not recorded.
func absent(r *http.Request, text string) *http.Response {
	header := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	mark(header, ingest.SyntheticHeader, true)
	return respond(r, http.StatusNotFound, header, []byte(text))
}

// placeOf is where a URL points, its question aside.
func placeOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if p := u.Port(); p != "" && (u.Scheme != "https" || p != "443") && (u.Scheme != "http" || p != "80") {
		host += ":" + p
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return strings.ToLower(u.Scheme) + "://" + host + path
}

// sameForm writes a ledger's URL so that two spellings of one request are equal. Parameters of one name keep their order.
func sameForm(u *url.URL) string {
	form := placeOf(u)
	if u.RawQuery != "" {
		query, err := url.ParseQuery(u.RawQuery)
		if err == nil {
			form += "?" + query.Encode()
		} else {
			form += "?" + u.RawQuery
		}
	}
	if u.Fragment != "" { // the method and the body's digest
		form += "#" + u.Fragment
	}
	return form
}
