package api

import (
	"net/http"
	"strings"

	"tidemark/api/view"
)

// discover registers the documents that describe the service to programs.
func (s *Server) discover(mux *http.ServeMux) {
	s.discovered = map[string]bool{}
	for _, path := range s.o.Discovery.Paths() {
		s.discovered[path] = true
		s.handleGet(mux, path, func(w http.ResponseWriter, r *http.Request) error {
			doc := s.o.Discovery.Document(path)
			if doc == nil {
				return &problemError{code: view.CodeUnavailable, detail: "What this describes is being loaded.", retryAfter: "1"}
			}
			reply(w, r, doc)
			return nil
		})
	}
}

// serveOpenAPI serves the description of the Signals API at its own address.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) error {
	doc := s.o.Discovery.Document("/api/signals/openapi.json")
	if doc == nil {
		return s.notFound(w, r)
	}
	reply(w, r, doc)
	return nil
}

// machineReadable reports whether a path is for programs, so that any web page may read it.
func (s *Server) machineReadable(path string) bool {
	return isAPI(path) && !keyPaths[path] || s.discovered[path] || strings.HasPrefix(path, logPrefix) || strings.HasPrefix(path, datasetPrefix)
}
