package api

import (
	"context"
	"net/http"
	"net/netip"

	"tidemark/api/fastpath"
)

// ClientAddress returns the address of the client.
func ClientAddress(r *http.Request, trusted []netip.Prefix) netip.Addr {
	return clientAddress(r, trusted)
}

// Watched reports whether a worker checks the chain for p.
func (p *Payments) Watched() bool { return p.watched() }

// Routes returns the routes at the public address: methods and patterns of net/http.
func (s *Server) Routes() [][2]string {
	list := make([][2]string, len(s.routes))
	for i, r := range s.routes {
		list[i] = [2]string{r.method, r.pattern}
	}
	return list
}

// Finished returns the fast path of s for the paths below base.
func (s *Server) Finished(base string) fastpath.Answer {
	return (&fastAnswers{s: s, base: base}).answer
}

// ClaimNotices returns the ids of the dashboard's notices about refused claims.
func ClaimNotices() (ids []string) {
	for reason := range refusals {
		ids = append(ids, "claim "+string(reason))
	}
	return ids
}

// SignalsHandler returns the handler of the Signals API alone, at the root.
func (s *Server) SignalsHandler() http.Handler { return s.signals }

// PushesLoaded reports whether the stream of changes knows where the outbox ends.
func (s *Server) PushesLoaded() bool {
	select {
	case <-s.pushes.loaded:
		return true
	default:
		return false
	}
}

// HoldFile takes a slot of a client in the queue for files with typed columns.
func (s *Server) HoldFile(ctx context.Context, client string) (leave func(), err error) {
	return s.files.Enter(ctx, client)
}

// FilesWaiting returns how many requests wait for a slot in the queue for files.
func (s *Server) FilesWaiting() int { return s.files.Waiting() }

// MaxFiles and MaxFilesWaiting are the limits of an address in the queue for files.
var MaxFiles, MaxFilesWaiting = fileLimits.SlotsOfClient, fileLimits.Waiting
