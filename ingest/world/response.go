package world

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// respond builds the response to r as a client would read it from a connection. A body shorter than its Content-Length breaks off when it
// is read.
func respond(r *http.Request, status int, header http.Header, body []byte) *http.Response {
	var reader io.Reader = bytes.NewReader(body)
	length := int64(len(body))
	if announced, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil {
		switch {
		case announced > length && r.Method != http.MethodHead:
			reader = io.MultiReader(reader, truncatedBody{})
		case announced < length:
			reader = bytes.NewReader(body[:max(announced, 0)])
		}
		length = announced
	}
	if r.Method == http.MethodHead || status == http.StatusNotModified || status == http.StatusNoContent {
		reader, length = http.NoBody, 0
		header.Del("Content-Length")
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", status, http.StatusText(status)),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        header,
		Body:          io.NopCloser(reader),
		ContentLength: length,
		Request:       r,
	}
}

// truncatedBody is a connection that ended too early.
type truncatedBody struct{}

func (truncatedBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// notModified reports whether the conditions of r are met by the current body's header: If-None-Match by weak comparison, or without it
// If-Modified-Since (RFC 9110, section 13.2.2).
func notModified(r *http.Request, header http.Header) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	if asked := r.Header.Values("If-None-Match"); len(asked) > 0 {
		tag := strings.TrimPrefix(header.Get("ETag"), "W/")
		for one := range strings.SplitSeq(strings.Join(asked, ","), ",") {
			one = strings.TrimSpace(one)
			if one == "*" || (tag != "" && strings.TrimPrefix(one, "W/") == tag) {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(r.Header.Get("If-Modified-Since"))
	if err != nil {
		return false
	}
	modified, err := http.ParseTime(header.Get("Last-Modified"))
	return err == nil && !modified.Truncate(time.Second).After(since)
}

// unchanged builds the answer 304: the headers that RFC 9110, section 15.4.5, wants in it.
func unchanged(r *http.Request, header http.Header) *http.Response {
	for _, name := range []string{"Content-Length", "Content-Type", "Content-Encoding"} {
		header.Del(name)
	}
	return respond(r, http.StatusNotModified, header, nil)
}
