package fastpath_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/api/fastpath"
)

// timeout bounds operations that should be immediate.
const timeout = 10 * time.Second

// fixture is a fast path that serves /fast, with an HTTP server behind it that returns the request.
type fixture struct {
	*fastpath.Listener

	inner net.Listener
	// fast counts the responses of the fast path.
	fast atomic.Int64
	// panics counts the panics that the fast path recovered.
	panics atomic.Int64
}

func newFixture(t *testing.T, first, idle time.Duration, body string) *fixture {
	t.Helper()
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return newFixtureOn(t, inner, first, idle, time.Minute, body)
}

func newFixtureOn(t *testing.T, inner net.Listener, first, idle, write time.Duration, body string) *fixture {
	t.Helper()
	s := &fixture{inner: inner}
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-By: lane\r\n", len(body))
	s.Listener = fastpath.New(inner, fastpath.Options{HeaderTimeout: first, IdleTimeout: idle, WriteTimeout: write, Now: time.Now, Answer: func(r *fastpath.Request, b []byte) ([]byte, bool) {
		if string(r.Path) == "/panic" {
			panic("a fault of the program")
		}
		if string(r.Path) != "/fast" {
			return b, false
		}
		s.fast.Add(1)
		b = append(append(b, head...), r.Date...)
		return append(append(b, "\r\n"...), body...), true
	}, Panicked: func(any) { s.panics.Add(1) }})
	srv := &http.Server{ReadHeaderTimeout: timeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-By", "net/http")
		body, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %v", r.Method, r.RequestURI, body, err)
	})}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(s) }()
	t.Cleanup(func() {
		_ = srv.Close()
		ctx, stop := context.WithCancel(context.Background())
		stop()
		s.Wait(ctx)
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return s
}

func (s *fixture) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// read reads a response and returns which server sent it, and its body.
func read(t *testing.T, r *bufio.Reader) (by, body string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := http.ParseTime(resp.Header.Get("Date")); err != nil {
		t.Errorf("the date is %q", resp.Header.Get("Date"))
	}
	return resp.Header.Get("X-By"), string(b)
}

func say(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

const fast = "GET /fast HTTP/1.1\r\nHost: h\r\n\r\n"

func TestAConnectionIsAnsweredUntilItAsksForSomethingElse(t *testing.T) {
	t.Parallel()
	s := newFixture(t, timeout, timeout, "body")
	c, r := s.dial(t)
	for range 3 {
		say(t, c, fast)
		if by, body := read(t, r); by != "lane" || body != "body" {
			t.Fatalf("%s answers %q", by, body)
		}
	}
	say(t, c, "POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello")
	if by, body := read(t, r); by != "net/http" || body != "POST /slow hello <nil>" {
		t.Fatalf("%s answers %q", by, body)
	}
	say(t, c, fast)
	if by, body := read(t, r); by != "net/http" || body != "GET /fast  <nil>" {
		t.Fatalf("%s answers %q: a connection that was handed over does not come back", by, body)
	}
}

func TestRequestsThatCameTogetherAreAnsweredInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newFixture(t, timeout, timeout, "body")
	c, r := s.dial(t)
	say(t, c, fast+fast+"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n"+fast)
	for _, want := range []string{"lane", "lane", "net/http", "net/http"} {
		if by, body := read(t, r); by != want {
			t.Fatalf("%s answers %q, want %s", by, body, want)
		}
	}
}

func TestARequestInPiecesIsReadWhole(t *testing.T) {
	t.Parallel()
	s := newFixture(t, timeout, timeout, "body")
	for i := 1; i < len(fast); i++ {
		c, r := s.dial(t)
		say(t, c, fast[:i])
		say(t, c, fast[i:])
		if by, body := read(t, r); by == "net/http" && body != "GET /fast  <nil>" || by == "lane" && body != "body" {
			t.Fatalf("cut after %d bytes: %s answers %q", i, by, body)
		}
	}
}

func TestALongRequestIsNotCutShort(t *testing.T) {
	t.Parallel()
	s := newFixture(t, timeout, timeout, "body")
	c, r := s.dial(t)
	say(t, c, "GET /slow HTTP/1.1\r\nHost: h\r\nUser-Agent: "+strings.Repeat("a", 9000)+"\r\n\r\n")
	if by, body := read(t, r); by != "net/http" || body != "GET /slow  <nil>" {
		t.Fatalf("%s answers %q", by, body)
	}
}

func TestWhoDoesNotAskIsClosed(t *testing.T) {
	t.Parallel()
	for name, firstRequest := range map[string]bool{"at first": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wait := []time.Duration{50 * time.Millisecond, time.Hour}
			if firstRequest {
				wait = []time.Duration{time.Hour, 50 * time.Millisecond}
			}
			s := newFixture(t, wait[0], wait[1], "body")
			c, r := s.dial(t)
			if firstRequest {
				say(t, c, fast)
				read(t, r)
			}
			if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("the connection gives %v, want its end", err)
			}
		})
	}
}

func TestClosingEndsThoseWhoWait(t *testing.T) {
	t.Parallel()
	s := newFixture(t, time.Hour, time.Hour, "body")
	c, r := s.dial(t)
	say(t, c, fast)
	read(t, r)
	_, silent := s.dial(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []*bufio.Reader{r, silent} {
		// A connection that was not accepted yet is reset.
		if _, err := r.ReadByte(); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the connection gives %v, want its end", err)
		}
	}
	s.Wait(t.Context())
	if err := s.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed again: %v", err)
	}
	if _, err := s.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted after it was closed: %v", err)
	}
}

func TestWaitingCutsOffWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	s := newFixture(t, time.Hour, time.Hour, strings.Repeat("a", 32<<20))
	c, r := s.dial(t)
	say(t, c, fast)
	if _, err := r.ReadByte(); err != nil { // the response is in progress
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s.Wait(ctx)
	if n, err := io.Copy(io.Discard, r); n >= 32<<20 {
		t.Errorf("%d bytes, %v: want the answer cut off", n, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(t, timeout, timeout, "body")
	var wg sync.WaitGroup
	for i := range 32 {
		c, r := s.dial(t)
		wg.Go(func() {
			for j := range 50 {
				text, want := fast, "body"
				if i%4 == 0 && j >= 25 {
					text, want = strings.Replace(fast, "fast", "slow", 1), "GET /slow  <nil>"
				}
				if _, err := io.WriteString(c, text); err != nil {
					t.Error(err)
					return
				}
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || string(body) != want {
					t.Errorf("%q: %v", body, err)
					return
				}
			}
		})
	}
	wg.Wait()
	if n := s.fast.Load(); n != 24*50+8*25 {
		t.Errorf("the lane answered %d requests", n)
	}
}

func TestAPanicIsNobodysEnd(t *testing.T) {
	t.Parallel()
	s := newFixture(t, timeout, timeout, "body")
	c, r := s.dial(t)
	say(t, c, strings.Replace(fast, "/fast", "/panic", 1))
	if by, body := read(t, r); by != "net/http" || body != "GET /panic  <nil>" {
		t.Errorf("%s answers %q", by, body)
	}
	if n := s.panics.Load(); n != 1 {
		t.Errorf("%d panics were told of, want 1", n)
	}
	c, r = s.dial(t)
	say(t, c, fast)
	if by, body := read(t, r); by != "lane" || body != "body" {
		t.Errorf("%s answers %q", by, body)
	}
}
