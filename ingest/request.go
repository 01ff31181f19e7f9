package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Redacted replaces the value of a secret parameter in a stored URL.
const Redacted = "REDACTED"

// LoggedURL names a request in the form of the fetch log: the URL without its fragment, with the values of the secret query parameters
// replaced by Redacted. Everything else stays byte for byte. The URL alone does not identify a request other than a plain GET. Such a
// request carries its method in a fragment and, if it has a body, the digest of that body ("#POST-9f86d081884c7d65").
func LoggedURL(method, rawURL string, body []byte, secret []string) string {
	named := redactURL(rawURL, secret)
	if method == "" {
		method = http.MethodGet
	}
	if method == http.MethodGet && len(body) == 0 {
		return named
	}
	named += "#" + method
	if len(body) > 0 {
		digest := sha256.Sum256(body)
		named += "-" + hex.EncodeToString(digest[:8])
	}
	return named
}

// redactURL works on the text, so that it holds for a URL that does not parse too. The fragment goes.
func redactURL(rawURL string, secret []string) string {
	rawURL, _, _ = strings.Cut(rawURL, "#")
	base, query, found := strings.Cut(rawURL, "?")
	if !found || len(secret) == 0 {
		return rawURL
	}
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, _, hasValue := strings.Cut(pair, "=")
		if hasValue && isSecret(name, secret) {
			pairs[i] = name + "=" + Redacted
		}
	}
	return base + "?" + strings.Join(pairs, "&")
}

// minSecret is the min length of a secret's value for redacting it in free text. A shorter value is redacted only in its parameter;
// elsewhere redacting it would only make texts unreadable.
const minSecret = 4

// secretValues lists the values of the secret parameters in each spelling that a URL or an error may give them.
func secretValues(rawURL string, secret []string) []string {
	rawURL, _, _ = strings.Cut(rawURL, "#")
	_, query, _ := strings.Cut(rawURL, "?")
	var values []string
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if len(value) < minSecret || value == Redacted || !isSecret(name, secret) {
			continue
		}
		values = append(values, value)
		if plain, err := url.QueryUnescape(value); err == nil && len(plain) >= minSecret {
			values = append(values, plain, url.QueryEscape(plain), url.PathEscape(plain))
		}
	}
	// The longest first: one spelling may begin another.
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	return slices.Compact(values)
}

// redact replaces each of the values in a text.
func redact(text string, values []string) string {
	for _, v := range values {
		text = strings.ReplaceAll(text, v, Redacted)
	}
	return text
}

func isSecret(name string, secret []string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return slices.ContainsFunc(secret, func(s string) bool { return strings.EqualFold(s, name) })
}

// fetchRequest is one request of a source, checked and named.
type fetchRequest struct {
	source Source
	limits Limits
	run    int64

	method string
	url    *url.URL
	// host names the host for the rate limit.
	host   string
	header http.Header
	body   []byte
	secret []string
	absent []int
	other  *Request

	// name is the ledger's URL of the question.
	name string
	// hidden lists what no text about the question may hold.
	hidden []string
}

// newFetchRequest checks what a source wants to ask.
func newFetchRequest(src Source, limits Limits, run int64, r Request) (fetchRequest, error) {
	q := fetchRequest{
		source: src, limits: limits, run: run,
		method: r.Method, header: r.Header, body: r.Body, secret: r.Secret, absent: r.Absent, other: r.Else,
		name:   LoggedURL(r.Method, r.URL, r.Body, r.Secret),
		hidden: secretValues(r.URL, r.Secret),
	}
	if q.method == "" {
		q.method = http.MethodGet
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		// The text of a url.Error repeats the URL. Its cause does not.
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err
		}
		return q, q.fail(Refused, fmt.Errorf("the source built a URL that does not parse: %w", err))
	}
	u.Fragment, u.RawFragment = "", ""
	q.url, q.host = u, hostName(u)
	if err := askable(u); err != nil {
		return q, q.fail(Refused, err)
	}
	return q, nil
}

// askable returns an error for a URL that the engine would not request.
func askable(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("scheme %q, expected http or https", u.Scheme)
	case u.Hostname() == "":
		return errors.New("a URL without a host")
	case u.User != nil:
		return errors.New("credentials before the host of a URL: name a secret query parameter or set a header instead")
	}
	return nil
}

// fail makes an error about the question.
func (q fetchRequest) fail(kind Kind, err error) *Error {
	return &Error{Kind: kind, Source: q.source.ID, URL: q.name, Err: redactError(err, q.hidden)}
}

// lacks reports whether err is the publisher's statement that the request's address has no content.
func (q fetchRequest) lacks(err error) bool {
	failed, ok := errors.AsType[*Error](err)
	return ok && failed.Kind == Refused && slices.Contains(q.absent, failed.Status)
}

// asked is the question as the adapter's Request, with the URL that was asked in the end.
func (q fetchRequest) asked() Request {
	return Request{Method: q.method, URL: q.url.String(), Header: q.header, Body: q.body, Secret: q.secret}
}

// hostName names the host of a URL for the rate limit: lower case, with the port if it is not the scheme's own.
func hostName(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if p := u.Port(); p != "" && port(&url.URL{Scheme: u.Scheme}) != p {
		host += ":" + p
	}
	return host
}

// port returns the port of a URL, or the default one of its scheme.
func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
