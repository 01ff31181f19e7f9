package api

import (
	"net/http"
	"net/netip"
	"strings"
)

// client returns the address that a request comes from.
func (s *Server) client(r *http.Request) netip.Addr {
	return clientAddress(r, s.trustedProxies())
}

func (s *Server) trustedProxies() []netip.Prefix {
	if s.billing == nil {
		return nil
	}
	return s.billing.TrustedProxies
}

// clientAddress returns the address of the client: the remote end of the connection, or the address that trusted proxies report. Each proxy
// appends the address that it sees to X-Forwarded-For. The client is therefore the last entry that is not a trusted proxy. Anyone can forge
// the entries before it.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	client, ok := peer(r.RemoteAddr)
	if !ok {
		return netip.Addr{}
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && within(client, trusted); i-- {
		hop, ok := readHop(hops[i])
		if !ok {
			break // this proxy wrote no valid address: use the proxy's own
		}
		client = hop
	}
	return client
}

// peer returns the address of the remote end of a connection, which net writes with its port.
func peer(remote string) (netip.Addr, bool) {
	end, err := netip.ParseAddrPort(remote)
	return end.Addr().Unmap().WithZone(""), err == nil
}

// readHop parses one address of X-Forwarded-For. Some proxies append the port, and put an IPv6 address in brackets.
func readHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		a = withPort.Addr()
	}
	return a.Unmap().WithZone(""), true
}

func within(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// clientNetwork returns the smallest network that one customer of a provider has: an IPv4 address, or the 64-bit prefix of an IPv6 address.
func clientNetwork(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
