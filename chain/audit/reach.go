package audit

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"tidemark/chain/gitledger"
	"tidemark/internal/publicnet"
)

// A server must not choose the verifier's connections: the verifier is in its own network, with addresses that answer only from there.
// Addresses from the operator are used as they are. Addresses from the server are used only if they are public.

// namedLedger returns the ledger that the server names, in readable form. If it must not be read, why gives the reason.
func (s *server) namedLedger(ctx context.Context, location string) (src gitledger.Source, why string) {
	src.Location = location
	if folder, ok := gitledger.LocalPath(location); ok {
		if !isLoopback(s.base.Hostname()) || !filepath.IsAbs(folder) {
			return src, "the server names a folder of its own machine; name a repository with --ledger"
		}
		return src, ""
	}
	u, err := url.Parse(location)
	sameHost := err == nil && u.Scheme == s.base.Scheme && strings.EqualFold(u.Host, s.base.Host)
	if err != nil || u.Scheme != "https" && !sameHost || u.Hostname() == "" {
		return src, fmt.Sprintf("the server names the ledger %.200q, which is not at an https address; name it with --ledger if you trust it", location)
	}
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return src, fmt.Sprintf("the server names the ledger %.200q, whose host is not found; name it with --ledger if you trust it", location)
	}
	for _, a := range list {
		if a = a.Unmap().WithZone(""); !sameHost && !publicnet.IsPublic(a) {
			return src, fmt.Sprintf("the server names the ledger %.200q, which is in a private network (%s); name it with --ledger if you trust it", location, a)
		}
		src.Addresses = append(src.Addresses, a)
	}
	return src, ""
}

// checkRedirect lets a server redirect within its own host only.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("the server redirects more than %d times", maxRedirects)
	}
	from, to := via[len(via)-1].URL, r.URL
	if from.Scheme == "https" && to.Scheme != "https" {
		return fmt.Errorf("the server redirects to %s, which is not encrypted", to.Redacted())
	}
	usual := from.Port() == "" && to.Port() == ""
	if !strings.EqualFold(from.Hostname(), to.Hostname()) || from.Port() != to.Port() || from.Scheme != to.Scheme && !usual {
		return fmt.Errorf("the server redirects to %s: name that address with --url if you trust it", to.Redacted())
	}
	return nil
}
