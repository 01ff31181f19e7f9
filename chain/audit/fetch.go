package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Limits of a server's time and data.
const (
	// readTimeout is the max time without data from the server, if the options do not set one.
	readTimeout = 30 * time.Second
	// minProgress is how many bytes count as a sign of life. A server that sends fewer in the time without data is given up, too.
	minProgress = 4 << 10
	// attempts is the max number of consecutive responses that break off without a new pick.
	attempts = 3
	// resumptions is the max number of responses that break off, each after a new pick.
	resumptions  = 100
	maxRedirects = 5
	maxProblem   = 64 << 10
)

// server is the API that is audited.
type server struct {
	base   *url.URL
	client *http.Client
	// timeout is how long it may say nothing.
	timeout time.Duration
}

func newServer(address string, transport http.RoundTripper, timeout time.Duration) (*server, error) {
	base, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%q is not an HTTP URL", address)
	}
	return &server{base: base, client: &http.Client{Transport: transport, CheckRedirect: checkRedirect}, timeout: cmp.Or(timeout, readTimeout)}, nil
}

// chainPath is where a server has its chain.
const chainPath = "/api/v1/verify/picks"

// statement reads what the server says of its record and its witnesses, with at most one pick.
func (s *server) statement(ctx context.Context) (*answer, error) {
	n := 0
	return s.get(ctx, url.Values{"limit": {"1"}}, func(pick) error {
		if n++; n > 1 {
			return errors.New("it was asked for one pick and sends more")
		}
		return nil
	})
}

// chain reads the whole chain, in order, and returns the response around it. If the connection breaks, it continues after the last
// received pick.
func (s *server) chain(ctx context.Context, each func(pick) error) (*answer, error) {
	var last int64
	for failed, asked := 0, 0; ; {
		query := url.Values{}
		if last > 0 {
			query.Set("from_seq", strconv.FormatInt(last+1, 10))
		}
		came := false
		a, err := s.get(ctx, query, func(p pick) error {
			if err := each(p); err != nil {
				return err
			}
			last, came = p.Seq, true
			return nil
		})
		if came {
			failed = 0
		}
		if failed, asked = failed+1, asked+1; err == nil || !truncated(err) || failed == attempts || asked == resumptions || ctx.Err() != nil {
			return a, err
		}
	}
}

// truncated reports whether a response broke off without an error in its content.
func truncated(err error) bool {
	_, transport := errors.AsType[*transportError](err)
	return transport || errors.Is(err, io.ErrUnexpectedEOF)
}

// transportError is the failure to reach a server, or to read what it sends.
type transportError struct{ cause error }

func (e *transportError) Error() string { return e.cause.Error() }
func (e *transportError) Unwrap() error { return e.cause }

func (s *server) get(ctx context.Context, query url.Values, each func(pick) error) (*answer, error) {
	address := *s.base
	address.Path += chainPath
	address.RawQuery = query.Encode()
	var a *answer
	err := s.ask(ctx, &address, "application/json", func(resp *http.Response, body io.Reader) error {
		if err := s.check(resp); err != nil {
			return fmt.Errorf("ask %s: %w", address.Redacted(), err)
		}
		var err error
		if a, err = readAnswer(body, each); err != nil {
			return fmt.Errorf("read the answer of %s: %w", address.Redacted(), err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// ask sends a request and hands the response to read, with a body that ends if the server says nothing for too long.
func (s *server) ask(ctx context.Context, address *url.URL, accept string, read func(resp *http.Response, body io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	spoke := new(atomic.Bool)
	quiet := time.AfterFunc(s.timeout, func() {
		if spoke.Load() {
			cancel(fmt.Errorf("the server sends less than %d bytes in %s", minProgress, s.timeout))
			return
		}
		cancel(fmt.Errorf("the server says nothing for %s", s.timeout))
	})
	defer quiet.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", accept)
	resp, err := s.client.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("ask %s: %w", address.Redacted(), &transportError{err})
	}
	defer func() { _ = resp.Body.Close() }()
	return read(resp, &timeoutReader{r: resp.Body, quiet: quiet, spoke: spoke, timeout: s.timeout, cause: func() error { return context.Cause(ctx) }})
}

// check refuses a response that does not match the request.
func (s *server) check(resp *http.Response) error {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = "no media type"
	}
	if resp.StatusCode != http.StatusOK {
		said := ""
		var problem struct{ Detail string }
		if strings.HasSuffix(kind, "json") && json.NewDecoder(io.LimitReader(resp.Body, maxProblem)).Decode(&problem) == nil && problem.Detail != "" {
			said = fmt.Sprintf(": %.500q", problem.Detail)
		}
		return fmt.Errorf("the server answers %d %s%s", resp.StatusCode, http.StatusText(resp.StatusCode), said)
	}
	if kind != "application/json" {
		return fmt.Errorf("the server answers with %.80s instead of application/json: is it a Tidemark?", kind)
	}
	return nil
}

// timeoutReader resets the timeout whenever the server has sent minProgress bytes more.
type timeoutReader struct {
	r     io.Reader
	quiet *time.Timer
	// since is the number of bytes that came since the timeout was reset. spoke reports whether any came.
	since int
	spoke *atomic.Bool
	// timeout is how long the server may say nothing.
	timeout time.Duration
	// cause is why the request was ended, nil while it was not.
	cause func() error
}

func (h *timeoutReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.since += n
	h.spoke.Store(h.since > 0)
	if h.since >= minProgress {
		h.since = 0
		h.quiet.Reset(h.timeout)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if cause := h.cause(); cause != nil {
			err = cause
		}
		err = &transportError{err}
	}
	return n, err
}
