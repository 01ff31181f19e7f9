package devchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
)

// maxBody limits the body of a request.
const maxBody = 5 << 20

// The JSON-RPC error codes for invalid requests.
const (
	codeParse     = -32700
	codeRequest   = -32600
	codeNoMethod  = -32601
	codeArguments = -32602
)

// ask is a JSON-RPC request.
type ask struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// answer is a JSON-RPC response. Result is null if there is no result.
type answer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *wrong          `json:"error,omitempty"`
}

type wrong struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// handler serves JSON-RPC over HTTP to programs on this machine, and to pages of the given origins.
func (c *Chain) handler(origins []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A foreign host name that resolves to this address must not open the chain to its pages (DNS rebinding).
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if host != "localhost" && net.ParseIP(host) == nil {
			http.Error(w, "invalid host specified", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			w.Header().Add("Vary", "Origin")
			if all := slices.Contains(origins, "*"); all || slices.Contains(origins, origin) {
				if all {
					origin = "*"
				}
				w.Header().Set("Access-Control-Allow-Origin", origin)
				w.Header().Set("Access-Control-Allow-Methods", http.MethodPost)
				w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
				w.Header().Set("Access-Control-Max-Age", "600")
			}
		}
		switch r.Method {
		case http.MethodOptions:
			w.WriteHeader(http.StatusNoContent)
			return
		case http.MethodPost:
		default:
			w.Header().Set("Allow", "POST, OPTIONS")
			http.Error(w, "ask with POST", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.answers(body)) // a disconnected client is not a fault
	})
}

// answers handles one request, or each request of a list.
func (c *Chain) answers(body []byte) any {
	body = bytes.TrimSpace(body)
	if !bytes.HasPrefix(body, []byte("[")) {
		return c.answer(body)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(body, &list); err != nil || len(list) == 0 {
		return answer{Version: "2.0", ID: json.RawMessage("null"), Error: &wrong{Code: codeRequest, Message: "no list of questions"}}
	}
	all := make([]answer, len(list))
	for i, q := range list {
		all[i] = c.answer(q)
	}
	return all
}

// locked runs a method. A panic in it leaves the chain unlocked, and net/http ends that request alone.
func (c *Chain) locked(m method, params []json.RawMessage) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return m(c, params)
}

func (c *Chain) answer(question []byte) answer {
	var q ask
	out := answer{Version: "2.0", ID: json.RawMessage("null")}
	if err := json.Unmarshal(question, &q); err != nil {
		out.Error = &wrong{Code: codeParse, Message: "parse error: " + err.Error()}
		return out
	}
	if q.ID != nil {
		out.ID = q.ID
	}
	method, ok := methods[q.Method]
	if !ok {
		out.Error = &wrong{Code: codeNoMethod, Message: fmt.Sprintf("the method %s does not exist/is not available", q.Method)}
		return out
	}
	result, err := c.locked(method, q.Params)
	if err == nil {
		if out.Result, err = json.Marshal(result); err == nil {
			return out
		}
	}
	out.Error = &wrong{Code: codeServer, Message: err.Error()}
	if f, ok := errors.AsType[*refusal](err); ok {
		out.Error.Code, out.Error.Message = f.code, f.message
		if f.data != "" {
			out.Error.Data = f.data
		}
	}
	return out
}
