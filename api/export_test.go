package api

import (
	"net/http"
	"net/netip"

	"tidemark/api/fastpath"
)

// ClientAddress is where a request comes from.
func ClientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	return clientAddress(r, trusted)
}

// Watched tells whether p knows of a worker that asks the chain.
func (p *Payments) Watched() bool { return p.watched() }

// Routes lists what is served at the public address: methods and patterns of net/http.
func (s *Server) Routes() [][2]string {
	list := make([][2]string, len(s.routes))
	for i, r := range s.routes {
		list[i] = [2]string{r.method, r.pattern}
	}
	return list
}

// Finished is what a lane of s answers below base.
func (s *Server) Finished(base string) fastpath.Answer {
	return (&fastAnswers{s: s, base: base}).answer
}
