package api

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tidemark/api/view"
)

// Agents is the handler for agents. Package mcp implements it.
type Agents interface {
	// Serve serves POST /api/mcp, from any origin. Streams that stay open are counted for client; with an empty one they are not limited.
	Serve(w http.ResponseWriter, r *http.Request, client string)
	// Run tells the open streams what changed, until ctx ends. Then it ends them and returns nil.
	Run(ctx context.Context) error
	// ServerJSON describes the server for the MCP registry. Card describes it for clients that look below /.well-known.
	ServerJSON() *view.Document
	Card() *view.Document
}

// AgentOptions configure who may use the handler for agents.
type AgentOptions struct {
	Handler Agents
	// Origins are the origins of the web pages that may use it; "*" means all. Clients that are not web pages send no Origin and are always
	// allowed. Empty means all origins, except when the public address is on this machine: then only its own.
	Origins []string
	// Rate limits the requests of an address. It requires Accounts, which holds the limiter.
	Rate Rate
	// RegistryKey proves to the MCP registry that the operator owns the host: "v=MCPv1; k=ed25519; p=...". If it is empty, no key is
	// published.
	RegistryKey string
}

const agentMethods = "POST, OPTIONS"

// agents registers the handler for agents and the documents that describe it.
func (s *Server) agents(mux *http.ServeMux) {
	o := s.o.Agents
	s.routes = append(s.routes, route{http.MethodPost, "/api/mcp"})
	mux.HandleFunc("/api/mcp", func(w http.ResponseWriter, r *http.Request) {
		defer s.recover(w, r)
		s.agent(w, r)
	})
	for path, doc := range map[string]*view.Document{"/server.json": o.Handler.ServerJSON(), "/.well-known/mcp.json": o.Handler.Card()} {
		s.handleGet(mux, path, func(w http.ResponseWriter, r *http.Request) error {
			maps.Copy(w.Header(), corsFields)
			return send(w, r, "application", "json", doc)
		})
	}
	if o.RegistryKey != "" {
		s.handleGet(mux, "/.well-known/mcp-registry-auth", func(w http.ResponseWriter, r *http.Request) error {
			write(w, r, http.StatusOK, "text/plain; charset=utf-8", []byte(o.RegistryKey+"\n"))
			return nil
		})
	}
}

// agent serves a request to the handler for agents. It reports a rejected request as a JSON-RPC error without an id, because no message was
// read.
func (s *Server) agent(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	refuse := func(status int, text string) {
		body, err := view.Encode(map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": -32000, "message": text}})
		if err != nil { // only strings and numbers
			panic(err)
		}
		h.Set("Cache-Control", view.CacheNever)
		write(w, r, status, view.TypeJSON, body)
	}
	if !s.allows(r) {
		maps.DeleteFunc(h, func(name string, _ []string) bool { return strings.HasPrefix(name, "Access-Control-") })
		refuse(http.StatusForbidden, "Requests of this origin, or to this host, are not allowed here: the operator sets MCP_ALLOWED_ORIGINS and PUBLIC_URL.")
		return
	}
	if !slices.Contains(s.origins, anyOrigin) {
		h.Del("Access-Control-Allow-Origin")
		h.Add("Vary", "Origin")
		if origin := r.Header.Get("Origin"); origin != "" {
			h.Set("Access-Control-Allow-Origin", origin)
		}
	}
	switch r.Method {
	case http.MethodPost:
	case http.MethodOptions:
		options(w, agentMethods)
		return
	default:
		h.Set("Allow", agentMethods)
		refuse(http.StatusMethodNotAllowed, "This URL accepts MCP messages by POST, without sessions.")
		return
	}
	client := ""
	if s.billing != nil {
		client = clientNetwork(s.client(r))
		if f := (*problemError)(nil); errors.As(s.limited(w, r, "mcp", client, s.o.Agents.Rate), &f) {
			h.Set("Retry-After", f.retryAfter)
			refuse(http.StatusTooManyRequests, f.detail+" Retry after "+f.retryAfter+" seconds.")
			return
		}
	}
	s.o.Agents.Handler.Serve(w, r, client)
}

// anyOrigin allows every web page, because no response depends on the caller.
const anyOrigin = "*"

// originsOf returns the origins that may use the handler, and whether the program serves this machine only. If it does, a page of another
// host must not reach it through the visitor's browser.
func originsOf(configured []string, publicURL string) (origins []string, local bool) {
	if len(configured) > 0 {
		return configured, false
	}
	u, err := url.Parse(publicURL)
	if err != nil || !isLoopback(u.Hostname()) {
		return []string{anyOrigin}, false
	}
	port := ""
	if u.Port() != "" {
		port = ":" + u.Port()
	}
	return []string{u.Scheme + "://localhost" + port, u.Scheme + "://127.0.0.1" + port, u.Scheme + "://[::1]" + port}, true
}

// allows reports whether a request may use the handler. It checks the Origin, if the request has one. If the program serves this machine
// only, it also checks the Host: this stops DNS rebinding, because a page cannot choose the Host that its browser sends.
func (s *Server) allows(r *http.Request) bool {
	if origins := r.Header["Origin"]; len(origins) > 0 && !slices.Contains(s.origins, anyOrigin) &&
		(len(origins) > 1 || !slices.ContainsFunc(s.origins, func(o string) bool { return strings.EqualFold(o, origins[0]) })) {
		return false
	}
	if !s.local {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return isLoopback(strings.Trim(host, "[]"))
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
