package ingest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects bounds how often one question is sent on.
const maxRedirects = 5

// isRedirect reports whether a status redirects the request to its Location.
func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirected is the question that an answer of the given status and Location header sends us on to. It stays on the host: what
// another host says is not what this source declared, and secrets travel in the URL.
func (q fetchRequest) redirected(status int, location string) (fetchRequest, error) {
	fail := func(err error) (fetchRequest, error) {
		e := q.fail(Refused, err)
		e.Status = status
		return q, e
	}
	if location == "" {
		return fail(fmt.Errorf("status %d without a Location", status))
	}
	ref, err := url.Parse(location)
	if err != nil {
		return fail(fmt.Errorf("status %d with a Location that does not parse", status))
	}
	next := q.url.ResolveReference(ref)
	next.Fragment, next.RawFragment = "", ""
	if err := askable(next); err != nil {
		return fail(fmt.Errorf("redirected: %w", err))
	}
	if !strings.EqualFold(next.Hostname(), q.url.Hostname()) {
		return fail(fmt.Errorf("redirected to the host %q, expected an answer from %q", next.Hostname(), q.url.Hostname()))
	}
	if q.url.Scheme == "https" && next.Scheme != "https" {
		return fail(errors.New("redirected from https to http"))
	}
	if upgraded := next.Scheme != q.url.Scheme; port(next) != port(q.url) && (!upgraded || port(next) != "443") {
		return fail(fmt.Errorf("redirected to port %s, expected an answer from port %s", port(next), port(q.url)))
	}

	method, body := q.method, q.body
	if status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect && method != http.MethodHead {
		method, body = http.MethodGet, nil
	}
	to, err := newFetchRequest(q.source, q.limits, q.run, Request{
		Method: method, URL: next.String(), Header: q.header, Body: body, Secret: q.secret,
	})
	// The secrets of the first URL stay secret, also where the second repeats them under another name.
	to.hidden = append(to.hidden, q.hidden...)
	to.name = redact(to.name, to.hidden)
	return to, err
}
