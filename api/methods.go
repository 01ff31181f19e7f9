package api

import (
	"net/http"
	"time"

	"tidemark/api/view"
)

// methods lists every version of every method that ran on history.
func (s *Server) methods(w http.ResponseWriter, r *http.Request) error {
	if err := s.limitHistory(w, r); err != nil {
		return err
	}
	if err := s.parameters(r).err(); err != nil {
		return err
	}
	list, err := s.logs.store.Methods(r.Context())
	if err != nil {
		return err
	}
	var published *view.PublicationsState
	if s.o.Publications != nil {
		published = s.o.Publications.State()
	}
	body, err := view.Encode(s.view.NewMethodRegistry(list, published))
	if err != nil {
		return err
	}
	return send(w, r, "application", "json", view.NewDocument(view.TypeJSON, view.CachePublic, body, time.Time{}))
}
