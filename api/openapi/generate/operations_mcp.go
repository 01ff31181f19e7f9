package generate

import (
	"encoding/json"
	"net/http"

	"tidemark/api/view"
)

// JSONRPCRequest is a message of the Model Context Protocol to the server: a call, or a notification where `id` is left out.
type JSONRPCRequest struct {
	// JSONRPC is "2.0".
	JSONRPC string `json:"jsonrpc"`
	// ID is a text or a number of the client's own, which the answer repeats.
	ID any `json:"id,omitempty"`
	// Method is the method of the call, such as tools/list or tools/call.
	Method string `json:"method"`
	// Params are its arguments.
	Params json.RawMessage `json:"params,omitempty"`
}

// JSONRPCResponse is the answer to a call: a result, or an error.
type JSONRPCResponse struct {
	JSONRPC string `json:"jsonrpc"`
	// ID is the id of the call; null or absent if no call was understood.
	ID any `json:"id,omitempty"`
	// Result is the method's result in the form that the protocol defines.
	Result json.RawMessage `json:"result,omitempty"`
	Error  *JSONRPCError   `json:"error,omitzero"`
}

// JSONRPCError says what is wrong with a message.
type JSONRPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Data are optional details.
	Data any `json:"data,omitempty"`
}

// callLatestPicks is the message in the example.
var callLatestPicks = JSONRPCRequest{JSONRPC: "2.0", ID: 1, Method: "tools/call", Params: json.RawMessage(`{"name":"get_portfolio_summary","arguments":{}}`)}

// agentEndpoints returns the operation of the server for agents. The protocol itself lists the possible calls.
func agentEndpoints() []route {
	refused := func(status int, description string) answer {
		fields := []string{"X-Request-Id"}
		switch status {
		case http.StatusTooManyRequests:
			fields = append(fields, "Retry-After")
		case http.StatusMethodNotAllowed:
			fields = append(fields, "Allow")
		}
		return answer{status: status, description: description, body: []shape{body[JSONRPCResponse]("")}, headers: fields, example: "callAgentServer-400"}
	}
	return []route{{
		id: "callAgentServer", method: http.MethodPost, path: "/api/mcp", tag: "Agents",
		summary: "Call the MCP server",
		description: "The Model Context Protocol over Streamable HTTP, without sessions: a JSON-RPC message comes in, and one goes out. Use a client of the protocol: " +
			"`tools/list`, `resources/list` and `prompts/list` tell what there is. No key, read-only.",
		request: &content{body: body[JSONRPCRequest](""), description: "A message.", example: callLatestPicks},
		answers: []answer{
			{
				status: http.StatusOK, description: "The answer to a call, or the answers to a batch of revision 2025-03-26.", events: true,
				body:    []shape{body[JSONRPCResponse](""), body[[]JSONRPCResponse]("")},
				headers: []string{"RateLimit-Policy", "RateLimit", "X-Request-Id"},
			},
			{status: http.StatusAccepted, description: "A notification was accepted. The response has no body.", headers: []string{"X-Request-Id"}},
			refused(http.StatusBadRequest, "The message is not understood."),
			refused(http.StatusForbidden, "Web pages of this origin, or requests to this host, are not allowed."),
			refused(http.StatusNotFound, "The method is not served (from revision 2026-07-28 on)."),
			refused(http.StatusMethodNotAllowed, "This URL accepts only POST."),
			refused(http.StatusRequestEntityTooLarge, "The message has more than 256 KiB."),
			refused(http.StatusUnsupportedMediaType, "The message is not marked as JSON."),
			refused(http.StatusTooManyRequests, "There were more requests than the header RateLimit-Policy allows."),
		},
		codes: []string{view.CodeInternalError},
	}}
}
