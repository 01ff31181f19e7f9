package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/internal/postgres"
)

// One network holds as many connections as it may, and gets no more until one of them ends. Another network and a trusted proxy are served
// meanwhile, until all of them together hold as many as the process may.
func TestANetworkHoldsABoundedNumberOfConnections(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	const proxy = "127.0.0.9"
	s.serve(api.Options{
		View: s.view, Connections: api.Connections{All: 8, PerNetwork: 3},
		Accounts: &api.Accounts{DB: s.open(postgres.RoleAPI), Tariff: tariff, Now: time.Now, TrustedProxies: []netip.Prefix{netip.MustParsePrefix(proxy + "/32")}},
	})
	address := strings.TrimPrefix(s.url, "http://")
	ask := func(from string) (net.Conn, int) {
		t.Helper()
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(maxHold)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return c, http.StatusTooManyRequests // it was closed already
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return c, http.StatusTooManyRequests
		}
		_ = answer.Body.Close()
		return c, answer.StatusCode
	}
	want := func(from string, status int) net.Conn {
		t.Helper()
		c, got := ask(from)
		if got != status {
			t.Fatalf("a connection from %s gets %d, want %d", from, got, status)
		}
		return c
	}
	first := want("127.0.0.2", http.StatusOK)
	want("127.0.0.2", http.StatusOK)
	want("127.0.0.2", http.StatusOK)
	want("127.0.0.2", http.StatusTooManyRequests)
	want("127.0.0.3", http.StatusOK)
	for range 4 {
		want(proxy, http.StatusOK)
	}
	want("127.0.0.4", http.StatusTooManyRequests) // eight are open

	// The server learns of the end of a connection a moment after the client has ended it.
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(maxHold); ; {
		if _, got := ask("127.0.0.2"); got == http.StatusOK {
			break
		}
		if time.Now().After(until) {
			t.Fatal("the place of a connection that ended stays taken")
		}
	}
}
