package fastpath_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener in memory. Its connections follow the time of a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.close(); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _ = ours.Close() })
	p.conns <- theirs
	return ours, bufio.NewReader(ours)
}

// The limits of an API process, and a pause between them.
const (
	header, idle, write = 5 * time.Second, time.Minute, 15 * time.Second
	pause               = 40500 * time.Millisecond
)

// slow is a request that the fast path passes to net/http.
var slow = strings.Replace(fast, "fast", "slow", 1)

func TestARequestAfterALongPauseIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		newFixtureOn(t, p, header, idle, write, "body")
		c, r := p.dial(t)
		ask := func(requests string, servers ...string) {
			t.Helper()
			go func() { _, _ = io.WriteString(c, requests) }() // a pipe holds no bytes: the responses must be read meanwhile
			for _, want := range servers {
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				if got := resp.Header.Get("X-By"); got != want {
					t.Errorf("%s answers, want %s", got, want)
				}
				date, err := http.ParseTime(resp.Header.Get("Date"))
				if age := time.Since(date); err != nil || age < 0 || age > 2*time.Second {
					t.Errorf("%s dates its response %s ago: %v", want, age, err)
				}
			}
		}
		ask(fast, "lane")
		<-time.After(pause)
		ask(fast, "lane")
		<-time.After(pause)
		ask(fast+fast+slow, "lane", "lane", "net/http")
		<-time.After(pause)
		ask(slow, "net/http")
	})
}

func TestEachResponseHasItsTimeToBeReceived(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		newFixtureOn(t, p, header, idle, write, "body")
		c, r := p.dial(t)
		say(t, c, fast+fast+fast)
		for range 3 {
			<-time.After(write - 2*time.Second)
			read(t, r)
		}
		say(t, c, fast)
		<-time.After(write + 2*time.Second)
		if _, err := r.ReadByte(); err == nil {
			t.Error("a response that is not received is still sent")
		}
	})
}

func TestAResponseInProgressIsTheLastOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		s := newFixtureOn(t, p, header, idle, write, "body")
		c, _ := p.dial(t)
		say(t, c, fast)
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil { // the response is in progress
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(idle / 2)); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(rest), "body") {
			t.Errorf("the rest of the response is %q, %v: want its end, and that of the connection", rest, err)
		}
		s.Wait(t.Context())
	})
}

func TestConnectionsThatEndedOrWereHandedOverAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		s := newFixtureOn(t, p, header, idle, write, "body")
		tracked := func(want int, after string) {
			t.Helper()
			synctest.Wait()
			if n := s.Tracked(); n != want {
				t.Errorf("%d connections are tracked after %s, want %d", n, after, want)
			}
		}
		hungUp, _ := p.dial(t)
		_, _ = p.dial(t) // is silent
		unread, _ := p.dial(t)
		handed, r := p.dial(t)
		tracked(4, "their beginning")
		_ = hungUp.Close()
		tracked(3, "one was closed by its client")
		say(t, handed, slow)
		read(t, r)
		tracked(2, "one was handed over")
		say(t, unread, fast)
		<-time.After(header + 2*time.Second)
		tracked(1, "one was silent")
		<-time.After(write)
		tracked(0, "one did not receive its response")

		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		say(t, handed, slow)
		if by, _ := read(t, r); by != "net/http" {
			t.Errorf("%s answers a connection that was handed over before the listener closed", by)
		}
	})
}
