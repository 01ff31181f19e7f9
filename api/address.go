package api

import (
	"net/http"
	"net/netip"
	"strings"
)

// client is the address that a request comes from.
func (s *Server) client(r *http.Request) netip.Addr {
	if s.billing == nil {
		return clientAddress(r, nil)
	}
	return clientAddress(r, s.billing.TrustedProxies)
}

// clientAddress is where a request comes from: the other end of the connection, or what the trusted proxies say of it. Each proxy adds
// the address that it sees at the end of X-Forwarded-For, so the first one from the end that is no trusted proxy is the client; what
// stands before it anybody may have written.
func clientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	end, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	client := end.Addr().Unmap().WithZone("")
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && within(client, trusted); i-- {
		hop, ok := readHop(hops[i])
		if !ok {
			break // what this proxy wrote is no address: it answers for its client
		}
		client = hop
	}
	return client
}

// readHop reads one address of X-Forwarded-For. Some proxies write the port, too, and an IPv6 address in brackets.
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

// clientNetwork is what one customer of a network has at least: an IPv4 address, or the 64 bits of an IPv6 network.
func clientNetwork(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}
