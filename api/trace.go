package api

import (
	"fmt"
	"log/slog"
	"net/http"

	"tidemark/internal/telemetry"
)

// trace starts the trace of a request that net/http serves. Requests on the fast path have no trace. Without a tracer it returns the
// request unchanged.
func (s *Server) trace(r *http.Request) (*http.Request, *telemetry.Span) {
	if s.o.Tracer == nil {
		return r, nil
	}
	client := ""
	if given := r.Header["Traceparent"]; len(given) == 1 {
		client = given[0]
	}
	ctx, span := s.o.Tracer.Serve(r.Context(), client, r.Method,
		slog.String("http.request.method", r.Method), slog.String("url.path", r.URL.EscapedPath()))
	return r.WithContext(ctx), span
}

// traced ends the trace. The span has the name of the route and not of the path, because there are only a few routes.
func traced(span *telemetry.Span, r *http.Request, status int, requestID string) {
	if span == nil {
		return
	}
	if r.Pattern != "" {
		span.Name(r.Method + " " + r.Pattern)
	}
	span.Set(slog.String("http.route", r.Pattern), slog.Int("http.response.status_code", status), slog.String("request_id", requestID))
	var fault error
	if status >= http.StatusInternalServerError {
		fault = fmt.Errorf("status %d", status)
	}
	span.End(fault)
}
