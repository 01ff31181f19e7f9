package base

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

// callTimeout bounds one question to one node.
const callTimeout = 15 * time.Second

// Client asks the nodes of one chain. A question goes to the node that answered last; when that fails, to the next. It is safe for
// concurrent use.
type Client struct {
	id    uint64
	nodes []*node

	mu sync.Mutex
	// first is the node that is asked first.
	first int
}

// node is one JSON-RPC endpoint.
type node struct {
	// name is the public part of the address: providers put their keys into the path.
	name string
	rpc  *rpcClient

	// id is the chain's id once the node has said it.
	id atomic.Uint64
}

// Dial makes a client of the nodes at the given http or https addresses, in the order in which they are tried. It does not connect;
// Check does.
func Dial(chainID uint64, urls ...string) (*Client, error) {
	if chainID == 0 {
		return nil, errors.New("reach the chain: its id is not set")
	}
	if len(urls) == 0 {
		return nil, errors.New("reach the chain: no node is named")
	}
	c := &Client{id: chainID}
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, errors.New("reach the chain: a node's address must be an http or https URL")
		}
		c.nodes = append(c.nodes, &node{name: u.Scheme + "://" + u.Host, rpc: newRPC(raw)})
	}
	return c, nil
}

// Close gives the connections up.
func (c *Client) Close() {
	for _, n := range c.nodes {
		n.rpc.close()
	}
}

// ChainID is the configured id of the chain.
func (c *Client) ChainID() uint64 { return c.id }

// Check asks every node for its chain. A node of another chain is ErrWrongChain, even when others are right. ErrUnavailable means
// that none answered.
func (c *Client) Check(ctx context.Context) error {
	var failures, wrong []error
	for _, n := range c.nodes {
		err := n.check(ctx, c.id)
		switch {
		case errors.Is(err, ErrWrongChain):
			wrong = append(wrong, err)
		case err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", n.name, err))
		}
	}
	switch {
	case len(wrong) > 0:
		return errors.Join(wrong...)
	case len(failures) == len(c.nodes):
		return unavailable(failures)
	}
	return nil
}

// check asks the node for its chain, until it has said it. Calls at the same time each ask, so that none waits for the timeout of another.
func (n *node) check(ctx context.Context, want uint64) error {
	if n.id.Load() == 0 {
		var id hexutil.Uint64
		if err := n.ask(ctx, &id, "eth_chainId"); err != nil {
			return err
		}
		n.id.Store(uint64(id))
	}
	if id := n.id.Load(); id != want {
		return fmt.Errorf("%w: %s serves chain %d, want %d", ErrWrongChain, n.name, id, want)
	}
	return nil
}

// on runs f on one node, so that everything f reads is of one view of the chain. When the node fails, f is run again from its
// beginning on the next one: it must not do anything twice that may be done once only. The error of f is returned as it is when a
// node gave it as its answer; when no node answered it is ErrUnavailable.
func (c *Client) on(ctx context.Context, f func(context.Context, *node) error) error {
	c.mu.Lock()
	first := c.first
	c.mu.Unlock()
	var failures []error
	for i := range c.nodes {
		k := (first + i) % len(c.nodes)
		n := c.nodes[k]
		err := n.check(ctx, c.id)
		if err == nil {
			err = f(ctx, n)
		}
		if err == nil || !shouldFailOver(err) || ctx.Err() != nil {
			c.mu.Lock()
			c.first = k
			c.mu.Unlock()
			if ctx.Err() != nil && err != nil {
				return fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
			}
			return err
		}
		failures = append(failures, fmt.Errorf("%s: %w", n.name, err))
	}
	return unavailable(failures)
}

func unavailable(failures []error) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(failures...))
}

// nodeError is the failure of one node to answer. Another one may.
type nodeError struct {
	cause error
	// spoke reports whether the node answered with a refusal.
	spoke bool
}

func (e *nodeError) Error() string { return e.cause.Error() }
func (e *nodeError) Unwrap() error { return e.cause }

// shouldFailOver reports whether another node should be asked.
func shouldFailOver(err error) bool {
	_, failed := errors.AsType[*nodeError](err)
	return failed || errors.Is(err, ErrWrongChain)
}

// ask asks the node one question. The error is a *nodeError when it gave no answer, and an *answerError when the answer is an error.
func (n *node) ask(ctx context.Context, result any, method string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := n.rpc.call(ctx, result, method, args...)
	if err == nil {
		return nil
	}
	if answer, ok := answered(err); ok {
		return fmt.Errorf("%s: %w", method, answer)
	}
	_, spoke := errors.AsType[*rpcError](err)
	if h, ok := errors.AsType[*statusError](err); ok {
		spoke = h.code < 500
	}
	return fmt.Errorf("%s: %w", method, &nodeError{cause: bare(err), spoke: spoke})
}

// answered separates a valid answer from a failure. JSON-RPC has no codes for that beyond the reverted call: the same number means "the
// nonce is too low" and "I do not have that block yet". Failures that other nodes may not have are therefore recognised by their words.
func answered(err error) (*answerError, bool) {
	e, ok := errors.AsType[*rpcError](err)
	if !ok {
		return nil, false
	}
	answer := &answerError{code: e.Code, message: e.Message}
	var data string
	if json.Unmarshal(e.Data, &data) == nil {
		answer.data, _ = hexutil.Decode(data)
	}
	if answer.code == codeReverted {
		return answer, true
	}
	if answer.code != codeServer && answer.code != codeInvalidParams {
		return nil, false
	}
	said := strings.ToLower(answer.message)
	for _, passing := range []string{
		"header not found", "block not found", "missing trie node", "indexing is in progress", "rate limit", "too many requests",
		"timeout", "timed out", "capacity", "unavailable", "internal error", "no healthy", "upstream",
	} {
		if strings.Contains(said, passing) {
			return nil, false
		}
	}
	return answer, true
}

// The codes of JSON-RPC errors that are answers.
const (
	codeReverted      = 3
	codeServer        = -32000
	codeInvalidParams = -32602
)

func (e *answerError) reverted() bool {
	return e.code == codeReverted || strings.Contains(e.message, "execution reverted")
}

// says reports whether the answer contains one of the phrases that nodes use for a state of the transaction pool.
func (e *answerError) says(phrases ...string) bool {
	said := strings.ToLower(e.message)
	for _, p := range phrases {
		if strings.Contains(said, p) {
			return true
		}
	}
	return false
}

// bare takes the address out of an error of the HTTP client: it may hold a key.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return errors.New("its answer is not JSON")
	}
	return err
}
