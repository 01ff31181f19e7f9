package fastpath

import (
	"bytes"
	"strings"
)

// Request is a GET request. Its slices are valid until the response is complete. A field that was not sent is nil.
type Request struct {
	// Path is the whole request target, without a query.
	Path                                []byte
	Accept, AcceptEncoding, IfNoneMatch []byte
	// Date is the line of the response's field Date.
	Date []byte
}

var (
	get     = []byte("GET ")
	version = []byte(" HTTP/1.1\r\n")
	lineEnd = []byte("\r\n")
	colon   = []byte(": ")
)

// parse parses the request at the start of b and returns its size. It returns false unless the fast path can certainly serve the request.
// Reasons are an incomplete request, another method or version, a field that is unknown or sent twice, a character that is not plain, or a
// connection that must close.
func parse(b []byte, r *Request) (size int, ok bool) {
	rest, ok := bytes.CutPrefix(b, get)
	if !ok {
		return 0, false
	}
	end := bytes.Index(rest, version)
	if end < 1 || rest[0] != '/' || !all(rest[:end], "/-._") {
		return 0, false
	}
	r.Path, rest = rest[:end], rest[end+len(version):]
	seen := field(0)
	for {
		line, after, ok := bytes.Cut(rest, lineEnd)
		if !ok {
			return 0, false
		}
		rest = after
		if len(line) == 0 {
			return len(b) - len(rest), seen&host != 0
		}
		name, value, ok := bytes.Cut(line, colon)
		if !ok || len(value) == 0 || value[0] == ' ' || value[len(value)-1] == ' ' || !plain(value) {
			return 0, false
		}
		f := known(name)
		if f == 0 || seen&f != 0 {
			return 0, false
		}
		seen |= f
		switch f {
		case host:
			if !all(value, ".-:[]") {
				return 0, false
			}
		case connection:
			if !bytes.EqualFold(value, []byte("keep-alive")) {
				return 0, false
			}
		case accept:
			r.Accept = value
		case acceptEncoding:
			r.AcceptEncoding = value
		case ifNoneMatch:
			r.IfNoneMatch = value
		}
	}
}

// field is a set of fields of a request.
type field uint16

const (
	host field = 1 << iota
	connection
	accept
	acceptEncoding
	ifNoneMatch
	// The response does not depend on the following fields.
	acceptLanguage
	userAgent
	origin
	referer
	cacheControl
	pragma
)

// known returns the field with a name, or 0. The known fields exclude all that affect the framing, the sender's identity or other
// expectations.
func known(name []byte) field {
	for i := range fields {
		if f := &fields[i]; len(f.name) == len(name) && bytes.EqualFold(f.name, name) {
			return f.field
		}
	}
	return 0
}

var fields = []struct {
	name  []byte
	field field
}{
	{[]byte("Host"), host},
	{[]byte("User-Agent"), userAgent},
	{[]byte("Accept"), accept},
	{[]byte("Accept-Encoding"), acceptEncoding},
	{[]byte("Connection"), connection},
	{[]byte("If-None-Match"), ifNoneMatch},
	{[]byte("Accept-Language"), acceptLanguage},
	{[]byte("Origin"), origin},
	{[]byte("Referer"), referer},
	{[]byte("Cache-Control"), cacheControl},
	{[]byte("Pragma"), pragma},
}

// plain reports whether b contains only visible ASCII characters and spaces.
func plain(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// all reports whether b contains only ASCII letters, digits and the characters of others.
func all(b []byte, others string) bool {
	for _, c := range b {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}
