package api

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tidemark/api/view"
)

// Agents is the door for agents. Package mcp has one.
type Agents interface {
	// ServeHTTP answers a POST to /api/mcp, from wherever it comes.
	http.Handler
	// ServerJSON describes the door to the MCP registry, Card to who looks below /.well-known.
	ServerJSON() *view.Document
	Card() *view.Document
}

// AgentOptions say who may use the door for agents.
type AgentOptions struct {
	Handler Agents
	// Origins are those of web pages that may use it; "*" stands for all. Clients that are no web page send none, and always may. Empty: all,
	// but where the public address is one of this machine, only its own.
	Origins []string
	// Rate is how many requests an address may make. It needs Accounts, which hold the limiter.
	Rate Rate
	// RegistryKey is what the MCP registry reads to know that the operator owns the host: "v=MCPv1; k=ed25519; p=...". Empty: nothing.
	RegistryKey string
}

const agentMethods = "POST, OPTIONS"

// agents registers the door for agents and what describes it.
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

// agent answers a request to the door for agents. What is refused here is told as JSON-RPC tells it, and without an id: no message was
// read.
func (s *Server) agent(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	refuse := func(status int, text string) {
		body, err := view.Encode(map[string]any{"jsonrpc": "2.0", "error": map[string]any{"code": -32000, "message": text}})
		if err != nil { // strings and numbers
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
		refuse(http.StatusMethodNotAllowed, "MCP is spoken here by POST, without sessions.")
		return
	}
	if s.billing != nil {
		name := clientNetwork(s.client(r))
		if f := (*problemError)(nil); errors.As(s.limited(w, r, "mcp", name, s.o.Agents.Rate), &f) {
			h.Set("Retry-After", f.retryAfter)
			refuse(http.StatusTooManyRequests, f.detail+" Go on after "+f.retryAfter+" seconds.")
			return
		}
	}
	s.o.Agents.Handler.ServeHTTP(w, r)
}

// anyOrigin lets every web page in: nothing here depends on who asks.
const anyOrigin = "*"

// originsOf are the origins that may use the door, and whether the program is one of this machine only. Then a page of another host must
// not reach it through the visitor's browser.
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

// allows tells whether a request may use the door: by its Origin where it has one and, where the program is one of this machine, by the
// host that it believes to talk to, which a page whose name was bound to this machine anew cannot choose.
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

// isLoopback tells whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
