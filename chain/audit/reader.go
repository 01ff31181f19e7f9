package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Limits of a Reader.
const (
	// maxAsked bounds the requests of a Reader, and maxWaited the pauses that a server can ask for, all together.
	maxAsked  = 10_000
	maxWaited = 10 * time.Minute
	// maxTries bounds the tries of one request whose server asks for a pause, and maxPause the pause.
	maxTries = 6
	maxPause = time.Minute
	// maxValues bounds the members and elements of a JSON text. A short text of many empty objects needs a lot of memory.
	maxValues = 200_000
)

// Reader reads whole answers of an untrusted server. It follows redirects within the server's own host only, and gives up a server
// that falls silent. All its answers together have a bounded number of bytes, so its user can keep them in memory.
type Reader struct {
	server *server
	left   int64
	asked  int
	waited time.Duration
}

// NewReader returns a reader of a server at an http or https address. All answers together may have total bytes, uncompressed.
func NewReader(address string, total int64) (*Reader, error) {
	s, err := newServer(address, nil, 0)
	if err != nil {
		return nil, err
	}
	return &Reader{server: s, left: total}, nil
}

// Base returns the address of the server.
func (r *Reader) Base() string { return r.server.base.Redacted() }

// JSON reads an answer of at most limit bytes into a value. path begins with a slash, is escaped, and may have a query.
func (r *Reader) JSON(ctx context.Context, path string, limit int64, into any) error {
	status, body, err := r.read(ctx, path, "application/json", limit)
	switch {
	case err != nil:
		return err
	case status != http.StatusOK:
		return fmt.Errorf("%s answers %d %s", path, status, http.StatusText(status))
	}
	return Decode(body, into)
}

// Decode parses a JSON text of a stranger into a value. It refuses a text with more members and elements than an honest server sends.
func Decode(body []byte, into any) error {
	if n := values(body); n > maxValues {
		return fmt.Errorf("the answer has more than %d members", maxValues)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("the answer is not the JSON that was expected: %w", err)
	}
	return nil
}

// values returns an upper bound for the members and elements of a JSON text.
func values(body []byte) (n int) {
	inside := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// Raw reads an answer of at most limit bytes, with any status. It waits when the server asks to.
func (r *Reader) Raw(ctx context.Context, path string, limit int64) (status int, body []byte, err error) {
	return r.read(ctx, path, "*/*", limit)
}

// read asks until the server does not ask to wait.
func (r *Reader) read(ctx context.Context, path, accept string, limit int64) (status int, body []byte, err error) {
	address, err := r.address(path)
	if err != nil {
		return 0, nil, err
	}
	for try := 1; ; try++ {
		if r.asked++; r.asked > maxAsked {
			return 0, nil, fmt.Errorf("it takes more than %d requests", maxAsked)
		}
		pause := time.Duration(0)
		err := r.server.ask(ctx, address, accept, func(resp *http.Response, from io.Reader) error {
			most := min(limit, r.left)
			if body, err = io.ReadAll(io.LimitReader(from, most+1)); err != nil {
				return fmt.Errorf("read the answer of %s: %w", path, err)
			}
			if int64(len(body)) > most {
				return fmt.Errorf("%s answers with more than %d bytes", path, most)
			}
			r.left -= int64(len(body))
			if status = resp.StatusCode; status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
				seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
				pause = min(max(time.Duration(min(seconds, int(maxPause/time.Second)))*time.Second, time.Second), maxPause)
			}
			return nil
		})
		if err != nil {
			return 0, nil, err
		}
		if pause == 0 || try == maxTries || r.waited+pause > maxWaited {
			return status, body, nil
		}
		r.waited += pause
		select {
		case <-ctx.Done():
			return 0, nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// address returns the address of a path at the server. A path that a server says must not name another host: "@other.example" would.
func (r *Reader) address(path string) (*url.URL, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, errors.New("the path of an address does not begin with a slash")
	}
	u, err := url.Parse(r.server.base.String() + path)
	if err != nil {
		return nil, err
	}
	if u.Host != r.server.base.Host || u.Scheme != r.server.base.Scheme {
		return nil, errors.New("the path of an address names another host")
	}
	return u, nil
}
