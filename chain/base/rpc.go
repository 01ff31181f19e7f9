package base

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
)

// maxAnswer bounds a node's answer.
const maxAnswer = 32 << 20

// rpcClient asks one node with JSON-RPC over HTTP, one question a request.
type rpcClient struct {
	url  string
	http *http.Client
	last atomic.Int64
}

func newRPC(url string) *rpcClient {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// A node must not send a question elsewhere.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &rpcClient{url: url, http: &http.Client{Transport: transport, CheckRedirect: stay}}
}

func (c *rpcClient) close() { c.http.CloseIdleConnections() }

// rpcError is an error that the node gave as its answer.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string { return e.Message }

// statusError is an answer that is not one of JSON-RPC.
type statusError struct {
	code   int
	status string
}

func (e *statusError) Error() string { return "it answered " + e.status }

// call sends a request and reads the result into a pointer; nil if the result is not needed.
func (c *rpcClient) call(ctx context.Context, result any, method string, args ...any) error {
	if args == nil {
		args = []any{}
	}
	id := c.last.Add(1)
	question, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": args})
	if err != nil {
		return fmt.Errorf("write the question: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(question))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		return &statusError{resp.StatusCode, resp.Status}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return err
	}
	if len(body) > maxAnswer {
		return fmt.Errorf("its answer is longer than %d bytes", maxAnswer)
	}
	var answer struct {
		ID     json.RawMessage `json:"id"`
		Error  *rpcError       `json:"error"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	// A node that could not read the question answers with an error whose id is null. Every other answer is to the question that it names.
	unread := answer.Error != nil && (len(answer.ID) == 0 || string(answer.ID) == "null")
	switch {
	case !unread && string(answer.ID) != strconv.FormatInt(id, 10):
		return fmt.Errorf("it answered another question (id %.40q, asked was %d)", answer.ID, id)
	case answer.Error != nil:
		return answer.Error
	case result == nil:
		return nil
	case len(answer.Result) == 0:
		return errors.New("its answer has no result")
	}
	return json.Unmarshal(answer.Result, result)
}
