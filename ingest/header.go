package ingest

import (
	"maps"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// With these headers a transport tells the engine the origin of a body. A live transport removes them from a publisher's response.
const (
	// SyntheticHeader is "true" on an answer that no publisher gave.
	SyntheticHeader = "X-Tidemark-Synthetic"
	// ConstructedHeader is "true" on a recorded answer whose body was built around recorded numbers.
	ConstructedHeader = "X-Tidemark-Constructed"
)

// keptHeaders are the headers of a response that the fetch log keeps. They tell the type of the body, the validators for a conditional
// request, the time of sending, a redirect's address, and the time of a retry.
var keptHeaders = []string{"Content-Type", "Date", "ETag", "Last-Modified", "Location", "Retry-After"}

// maxHeaderValue is the max length of one kept value. A longer one is not a validator that we would send back.
const maxHeaderValue = 1024

// keep picks the headers that the ledger keeps, the hidden values replaced. A value that is not plain text is left out.
func keep(h http.Header, hidden []string) map[string]string {
	kept := make(map[string]string, len(keptHeaders))
	for _, name := range keptHeaders {
		v := h.Get(name)
		if v == "" || len(v) > maxHeaderValue || !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			continue
		}
		kept[name] = redact(v, hidden)
	}
	return kept
}

// confirmed is the header of a 304 response: its own headers, and for the rest the known headers of the body it confirms (RFC 9111,
// section 3.2). Its own Content-Type, if it sends one, is not the body's.
func confirmed(known, fresh map[string]string) map[string]string {
	merged := maps.Clone(known)
	if merged == nil {
		merged = make(map[string]string, len(fresh))
	}
	contentType := merged["Content-Type"]
	maps.Copy(merged, fresh)
	if contentType != "" {
		merged["Content-Type"] = contentType
	}
	return merged
}

// httpHeader is the kept header as a parser sees it: the same whether the answer has just come or is read from the archive.
func httpHeader(kept map[string]string) http.Header {
	h := make(http.Header, len(kept))
	for name, v := range kept {
		h.Set(name, v)
	}
	return h
}
