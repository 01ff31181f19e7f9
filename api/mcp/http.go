package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxBatch is the maximum number of messages in one request. Only the revision 2025-03-26 has batches, and no call here needs one. A large
// batch would bypass the rate limit.
const maxBatch = 10

// sessionless is the first revision without a handshake. From this revision on, the HTTP status code also reports errors.
const sessionless = "2026-07-28"

// message contains the parts of a JSON-RPC message that are needed before the SDK reads it.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// Serve serves a POST of a client. It reports every fault of the request as a JSON-RPC error.
func (d *Server) Serve(w http.ResponseWriter, r *http.Request, client string) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, nil, jsonrpc.CodeInvalidRequest, "Send a JSON-RPC message with the header Content-Type: application/json.")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("The request has more than %d KiB.", MaxBody>>10))
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, nil, jsonrpc.CodeParseError, "The request was cut off.")
		return
	}
	one, refusal := peek(body)
	if refusal != "" {
		code := int64(jsonrpc.CodeInvalidRequest)
		if !json.Valid(body) {
			code = jsonrpc.CodeParseError
		}
		refuse(w, http.StatusBadRequest, one.ID, code, refusal)
		return
	}
	if one.Method != "" && !methods[one.Method] && !notifications[one.Method] {
		if one.ID == nil {
			w.WriteHeader(http.StatusAccepted) // an unknown notification
			return
		}
		status := http.StatusOK
		if r.Header.Get("Mcp-Protocol-Version") >= sessionless {
			status = http.StatusNotFound
		}
		refuse(w, status, one.ID, jsonrpc.CodeMethodNotFound, fmt.Sprintf("The method %s is not served here.", quoted(one.Method)))
		return
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	// The SDK requires clients to accept both media types, as the protocol does. All responses are JSON, so a client that accepts JSON is
	// enough.
	if accept := strings.Join(r.Header["Accept"], ","); accept == "" || strings.Contains(accept, "application/json") || strings.Contains(accept, "application/*") {
		r.Header["Accept"] = []string{"application/json, text/event-stream"}
	}
	if one.Method == methodListen {
		d.listen(w, r, one.ID, client)
		return
	}
	d.handler.ServeHTTP(&responseRecorder{ResponseWriter: w, id: one.ID}, r)
}

// notifications are the notifications that the SDK knows.
var notifications = map[string]bool{
	"notifications/initialized": true, "notifications/cancelled": true, "notifications/progress": true, "notifications/roots/list_changed": true,
}

// peek reads the needed parts of a body. For a batch the message is empty. refusal is empty if the SDK may read the body. With a refusal the
// message has its id, where it is known.
func peek(body []byte) (one message, refusal string) {
	body = bytes.TrimSpace(body)
	switch {
	case !json.Valid(body):
		return one, "The request is no JSON."
	case body[0] == '[':
		var batch []json.RawMessage
		if err := json.Unmarshal(body, &batch); err != nil || len(batch) == 0 || len(batch) > maxBatch {
			return one, fmt.Sprintf("A batch holds 1 to %d messages.", maxBatch)
		}
		for _, raw := range batch {
			var m message
			if json.Unmarshal(raw, &m) == nil && !faithful(m.ID) { // the SDK reports other faults
				return one, unfaithful
			}
		}
		return one, ""
	case body[0] != '{' || json.Unmarshal(body, &one) != nil:
		return one, "The request is no JSON-RPC message."
	case !faithful(one.ID):
		return one, unfaithful
	}
	return one, ""
}

const (
	// maxID is the largest whole number that is the only one of its float64.
	maxID      = 1<<53 - 1
	unfaithful = "An id is a text, or a whole number from -9007199254740991 to 9007199254740991: the response to another number would not have the same id. Send it as a text."
)

// faithful reports whether the SDK's response has the same id. The SDK reads a number as a float64, and returns it as an int64.
func faithful(id json.RawMessage) bool {
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return true
	}
	f, err := strconv.ParseFloat(string(id), 64)
	return err == nil && f == math.Trunc(f) && math.Abs(f) <= maxID
}

// refuse sends a JSON-RPC error. id is the id of the message, or nil if it is unknown: then the response has none.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int64, text string) {
	type fault struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	}
	body, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   fault           `json:"error"`
	}{"2.0", id, fault{code, text}})
	if err != nil {
		panic(err) // the id was received as JSON
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// responseRecorder converts the SDK's plain-text errors about bad requests to JSON-RPC errors.
type responseRecorder struct {
	http.ResponseWriter

	id json.RawMessage
	// status is the status of a plain text that has not been written yet, or 0.
	status int
}

func (s *responseRecorder) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(s.Header().Get("Content-Type"), "text/plain") {
		s.status = status
		return
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *responseRecorder) Write(p []byte) (int, error) {
	if s.status == 0 {
		return s.ResponseWriter.Write(p)
	}
	status := s.status
	s.status = 0
	refuse(s.ResponseWriter, status, s.id, jsonrpc.CodeInvalidRequest, strings.TrimSpace(string(p)))
	return len(p), nil
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (s *responseRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
