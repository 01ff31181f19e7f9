package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
)

// short are timeouts that are short enough for a test.
var short = api.Timeouts{Header: 500 * time.Millisecond, Request: time.Second, Idle: time.Second}

// maxHold is much longer than short allows a connection to stay open, for a busy machine.
const maxHold = 20 * time.Second

// connect opens a connection to the server and sends text.
func (s *system) connect(text string) (*net.TCPConn, error) {
	conn, err := (&net.Dialer{}).DialContext(s.t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return nil, err
	}
	if err := conn.SetDeadline(time.Now().Add(maxHold)); err != nil {
		return nil, err
	}
	_, err = io.WriteString(conn, text)
	return conn.(*net.TCPConn), err
}

// released waits until the server closes a connection, and returns the response.
func released(conn net.Conn) (string, error) {
	got, err := io.ReadAll(conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return string(got), fmt.Errorf("the server holds the connection after %s", maxHold)
	}
	return string(got), nil // a reset also closes it
}

// A client without a key or payment announces a body and never sends it. The server must not wait for the body. Its timeouts are longer
// than maxHold, so the server closes each connection because it has answered.
func TestAPaidRequestDoesNotWaitForABody(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	patient := api.Timeouts{Header: 2 * maxHold, Request: 2 * maxHold, Idle: 2 * maxHold}
	s.serve(api.Options{View: s.view, Data: s.wares(), Payments: s.payments, Timeouts: patient})
	var all sync.WaitGroup
	for i := range 60 {
		paid := pay(1+i%2, s.authorization(1000), nil)
		for _, body := range []string{"Content-Length: 10\r\n\r\n", "Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n5\r\nab"} {
			all.Go(func() {
				conn, err := s.connect("GET " + sold + "/picks/latest HTTP/1.1\r\nHost: shop.example\r\n" + paid[0] + ": " + paid[1] + "\r\n" + body)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				answer, err := released(conn)
				if err != nil || !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "Nothing was charged") {
					t.Errorf("%q: %.300q, %v", body, answer, err)
				}
			})
		}
	}
	all.Wait()
	if n := s.verified.Load() + s.settled.Load(); n != 0 {
		t.Errorf("the facilitator was asked %d times", n)
	}
	s.wantStates()
}

// A sale holds its connection while the facilitator works. The number of connections is limited per address and in total.
func TestSalesUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]struct {
		all, byAddress, status int
		code                   string
	}{
		"of an address": {100, 3, http.StatusTooManyRequests, "rate_limited"},
		"of all":        {3, 100, http.StatusServiceUnavailable, "dependency_unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openFixture(t)
			release := make(chan struct{})
			s.facilitate(func(w http.ResponseWriter, r *http.Request) { <-release; valid(w, r) }, settled)
			o := s.paymentsOptions
			o.MaxSales, o.MaxSalesByAddress = limits.all, limits.byAddress
			s.serve(api.Options{View: s.view, Data: s.wares(), Payments: api.NewPayments(o)})
			var sales sync.WaitGroup
			for range 3 {
				sales.Go(func() {
					s.want("a sale under way", s.buy("/picks/latest", pay(1, s.authorization(1000), nil)), http.StatusOK)
				})
			}
			s.eventually("three sales to be under way", func() bool { return s.verified.Load() == 3 })
			more := s.buy("/picks/latest", pay(2, s.authorization(1000), nil))
			if code := s.want("one more", more, limits.status); code != limits.code || more.Header.Get("Retry-After") == "" {
				t.Errorf("code %q, Retry-After %q", code, more.Header.Get("Retry-After"))
			}
			s.want("the terms", s.buy("/picks/latest", nil), http.StatusPaymentRequired)
			close(release)
			sales.Wait()
			s.want("one more, later", s.buy("/picks/latest", pay(2, s.authorization(1000), nil)), http.StatusOK)
		})
	}
}

// Clients stop in the middle of a request, or before or after it, at every address of the server.
func TestNoClientHoldsAConnection(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	o := p.everything()
	o.Timeouts = short
	p.serve(o)
	sent := map[string]string{
		"nothing":                             "",
		"half a line":                         "GET /api/sig",
		"half a header":                       "GET /api/signals HTTP/1.1\r\nHost: x\r\nX-Slow: a",
		"HTTP/2 with prior knowledge":         "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00",
		"an upgrade to HTTP/2":                "GET /api/signals HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"the first bytes of TLS":              "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"a whole request, and then nothing":   "GET /api/signals HTTP/1.1\r\nHost: x\r\n\r\n",
		"a request to net/http, then nothing": "GET /api/signals HTTP/1.1\r\nHost: x\r\nX-Odd: 1\r\n\r\n",
	}
	for _, route := range p.server.Routes() {
		path := strings.NewReplacer("{$}", "", "{ticker}", "NVDA", "{id}", "crack-spread-321", "{claim_id}", "clm_1").Replace(route[1])
		head := route[0] + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		sent[route[0]+" "+path+", no body"] = head + "Content-Length: 10\r\n\r\n"
		sent[route[0]+" "+path+", half a chunk"] = head + "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"a\""
		sent[route[0]+" "+path+", waits to be told to go on"] = head + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n"
	}
	var all sync.WaitGroup
	for name, text := range sent {
		for _, half := range []bool{false, true} {
			all.Go(func() {
				conn, err := p.connect(text)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = conn.Close() }()
				if half {
					_ = conn.CloseWrite()
				}
				if answer, err := released(conn); err != nil {
					t.Errorf("%s (half-closed: %t): %v, answered %.100q", name, half, err, answer)
				}
			})
		}
	}
	// Meanwhile the server serves others. One that is slower than the server's timeouts is cut off, too, and tries again.
	p.eventually("the server to answer others", func() bool {
		resp, err := http.Get(p.url + "/healthz")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	all.Wait()
}

// A client sends requests continuously and reads nothing.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	o := p.everything()
	o.Timeouts = short
	p.serve(o)
	var all sync.WaitGroup
	for name, request := range map[string]string{
		"prepared answers": "GET /api/signals HTTP/1.1\r\nHost: x\r\n\r\n",
		"net/http":         "GET /api/v1/verify/picks HTTP/1.1\r\nHost: x\r\nX-Odd: 1\r\n\r\n",
	} {
		all.Go(func() {
			conn, err := p.connect("")
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			w := bufio.NewWriterSize(conn, 64<<10)
			for err == nil {
				_, err = w.WriteString(request)
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the server waits for a client that does not read", name)
			}
		})
	}
	all.Wait()
}
