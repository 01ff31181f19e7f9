package base_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

// closed returns the address of a port without a listener.
func closed(tb testing.TB) string {
	tb.Helper()
	var config net.ListenConfig
	l, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "http://" + l.Addr().String()
}

func TestAnotherNodeAnswersForOneThatFails(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	good, bad := newGate(t, c), newGate(t, c)
	for name, judge := range map[string]func(int, string, []json.RawMessage) verdict{
		"it answers 503":              func(int, string, []json.RawMessage) verdict { return verdict{fail: 503} },
		"it answers 429":              func(int, string, []json.RawMessage) verdict { return verdict{fail: 429} },
		"it breaks the connection":    func(int, string, []json.RawMessage) verdict { return verdict{lose: true} },
		"it is limited":               refuse(-32005, "limit exceeded"),
		"it is limited in words":      refuse(-32000, "rate limit reached"),
		"it does not know the method": refuse(-32601, "the method does not exist"),
		"it has an internal error":    refuse(-32603, "internal error"),
		"it is not in step":           refuse(-32000, "header not found"),
		"it answers with nonsense":    func(int, string, []json.RawMessage) verdict { return verdict{swallow: "x"} },
	} {
		bad.set(func(n int, method string, params []json.RawMessage) verdict {
			if method == "eth_chainId" {
				return verdict{}
			}
			return judge(n, method, params)
		})
		client := dial(t, bad.URL, good.URL)
		e := base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress}
		if a, err := client.Attestation(t.Context(), e, common.Hash{1}); err != nil || a != nil {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		asked := bad.count("")
		if _, err := client.Attestation(t.Context(), e, common.Hash{1}); err != nil || bad.count("") != asked {
			t.Errorf("%s: it was asked again before the one that answers: %v", name, err)
		}
	}
}

// Callers do not wait behind each other for a node that hangs: each asks it, and then the next node.
func TestCallersDoNotWaitBehindEachOtherForANodeThatHangs(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	arrived, breakOff := make(chan struct{}), make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
		case <-r.Context().Done():
		}
		<-breakOff
		panic(http.ErrAbortHandler)
	}))
	release := sync.OnceFunc(func() { close(breakOff) })
	t.Cleanup(hung.Close)
	t.Cleanup(release)
	client := dial(t, hung.URL, newGate(t, c).URL)
	e := base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress}
	const callers = 3
	done := make(chan error, callers)
	for range callers {
		go func() {
			_, err := client.Attestation(t.Context(), e, common.Hash{1})
			done <- err
		}()
	}
	for i := range callers {
		select {
		case <-arrived:
		case <-time.After(5 * time.Second):
			t.Fatalf("%d of %d callers ask the node that hangs, the others wait for them", i, callers)
		}
	}
	release()
	for range callers {
		if err := <-done; err != nil {
			t.Errorf("the next node does not answer: %v", err)
		}
	}
}

func refuse(code int, message string) func(int, string, []json.RawMessage) verdict {
	return func(int, string, []json.RawMessage) verdict {
		return verdict{refuse: &rpcError{Code: code, Message: message}}
	}
}

func TestNoNodeIsTryAgainAndChangesNothing(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 2)
	w.settle(t, h[0])
	w.step(t, h[1])
	before := w.store.all()
	w.Client = dial(t, closed(t), closed(t))
	_, err := w.Step(t.Context(), w.now, h[1])
	if !errors.Is(err, base.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	if after := w.store.all(); fmt.Sprint(after[2].State, after[2].Version) != fmt.Sprint(before[2].State, before[2].Version) {
		t.Errorf("the row became %+v", after[2])
	}
	if err := w.Client.Check(t.Context()); !errors.Is(err, base.ErrUnavailable) || errors.Is(err, base.ErrWrongChain) {
		t.Errorf("check: %v", err)
	}
	if _, err := w.Client.Evidence(t.Context(), common.Hash{1}.Hex()); !errors.Is(err, base.ErrUnavailable) {
		t.Errorf("evidence: %v", err)
	}
	if err := w.Client.CheckProof(t.Context(), common.Address{1}, "0x", "0x00"); !errors.Is(err, base.ErrUnavailable) || errors.Is(err, base.ErrBadProof) {
		t.Errorf("proof: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(t, c.URL()).Evidence(canceled, common.Hash{1}.Hex()); !errors.Is(err, base.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled question: %v", err)
	}
}

func TestANodeOfAnotherChainIsRefused(t *testing.T) {
	t.Parallel()
	other, err := devchain.Start(devchain.Options{ChainID: 8453, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	c := startChain(t)
	if err := dial(t, c.URL()).Check(t.Context()); err != nil {
		t.Errorf("the right chain: %v", err)
	}
	// One wrong node among right ones, or behind one that is unavailable, is found at the start.
	for _, urls := range [][]string{{other.URL()}, {c.URL(), other.URL()}, {closed(t), other.URL()}} {
		if err := dial(t, urls...).Check(t.Context()); !errors.Is(err, base.ErrWrongChain) {
			t.Errorf("%v: %v", urls, err)
		}
	}
	// Without a check, it is asked nothing else either.
	e := base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress}
	g := newGate(t, other)
	if _, err := dial(t, g.URL, c.URL()).Attestation(t.Context(), e, common.Hash{1}); err != nil || g.count("") != g.count("eth_chainId") {
		t.Errorf("%v, asked %v", err, g.calls)
	}
	if _, err := dial(t, other.URL()).Attestation(t.Context(), e, common.Hash{1}); !errors.Is(err, base.ErrWrongChain) {
		t.Errorf("only the wrong chain: %v", err)
	}
}

// Providers put their keys into the address.
func TestKeysInAddressesAreNotShown(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte("bad key s3cret"))
	}))
	t.Cleanup(srv.Close)
	for _, address := range []string{srv.URL + "/v2/s3cret", closed(t) + "/v2/s3cret?key=s3cret", "http://user:s3cret@127.0.0.1:1/"} {
		client := dial(t, address)
		err := client.Check(t.Context())
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("check: %v", err)
		}
		if _, err := client.Evidence(t.Context(), common.Hash{1}.Hex()); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("evidence: %v", err)
		}
	}
	for _, bad := range [][]string{nil, {""}, {"ws://x"}, {"localhost:8545"}, {"file:///x"}, {"http://a b/s3cret"}} {
		if _, err := base.Dial(1, bad...); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := base.Dial(0, "http://x"); err == nil {
		t.Error("a chain without an id was dialed")
	}
}

// A node that has not reached the block where a row was seen would let it look lost.
func TestANodeThatIsBehindIsNotAsked(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 2)
	w.settle(t, h[0])
	behind := newGate(t, c)
	behind.set(func(_ int, method string, params []json.RawMessage) verdict {
		switch {
		case method == "eth_getBlockByNumber" && strings.HasPrefix(string(params[0]), `"0x`):
			return verdict{swallow: json.RawMessage("null")}
		case method == "eth_getBlockByNumber":
			return verdict{swallow: map[string]any{"number": "0x1", "hash": common.Hash{1}, "timestamp": "0x1", "baseFeePerGas": "0x1"}}
		case method == "eth_getTransactionReceipt":
			return verdict{swallow: json.RawMessage("null")}
		case method == "eth_estimateGas":
			return verdict{refuse: &rpcError{Code: 3, Message: "execution reverted"}}
		}
		return verdict{}
	})
	w.Client = dial(t, behind.URL, w.gate.URL)
	w.settle(t, h[1])
	w.one(t, h...)
	for _, r := range w.store.all() {
		if r.Alarm {
			t.Errorf("alarm: %+v", r)
		}
	}
}

// Providers limit how many blocks one question for logs may span, each in its own words.
func TestLogsAreReadInPagesThatTheNodeAllows(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	h := heads(t, 5)
	for _, head := range h {
		w.settle(t, head)
		for range 7 {
			c.Commit()
		}
	}
	widest := uint64(0)
	w.gate.set(func(_ int, method string, params []json.RawMessage) verdict {
		if method != "eth_getLogs" {
			return verdict{}
		}
		var q struct{ FromBlock, ToBlock string }
		if err := json.Unmarshal(params[0], &q); err != nil {
			t.Error(err)
		}
		span := common.HexToHash(q.ToBlock).Big().Uint64() - common.HexToHash(q.FromBlock).Big().Uint64() + 1
		if span > 3 {
			return verdict{refuse: &rpcError{Code: -32005, Message: "query exceeds max block range 3"}}
		}
		widest = max(widest, span)
		return verdict{}
	})
	w.one(t, h...)
	if widest != 2 && widest != 3 {
		t.Errorf("the widest page was %d", widest)
	}
	// From the middle on, only what comes after is listed.
	w.gate.set(nil)
	all := w.one(t, h...)
	e := w.EAS
	e.StartBlock = all[2].BlockNumber
	if rest, err := w.Client.Attestations(t.Context(), e, w.Signer.Address()); err != nil || len(rest) != 3 {
		t.Errorf("%d attestations from the third on, %v", len(rest), err)
	}
}

func TestADiscontinuedHeadTagFallsBackToDepth(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	w := newWorld(t, c, base.EAS{Contract: devchain.EASAddress, Registry: devchain.SchemaRegistryAddress})
	unknown := func(_ int, method string, params []json.RawMessage) verdict {
		if method == "eth_getBlockByNumber" && (string(params[0]) == `"safe"` || string(params[0]) == `"finalized"`) {
			return verdict{refuse: &rpcError{Code: -32602, Message: "invalid argument 0: unknown block tag"}}
		}
		return verdict{}
	}
	w.gate.set(unknown)
	h := heads(t, 1)
	w.step(t, h[0]) // the schema is sent
	c.Commit()
	p := w.step(t, h[0])
	if r := p.Rows[0]; r.Kind != base.KindRegister || r.State != base.StateMined || !p.Busy {
		t.Errorf("row %+v", r)
	}
	for range 12 {
		c.Commit()
	}
	p = w.step(t, h[0])
	if r := p.Rows[0]; r.State != base.StateSafe || len(p.Rows) != 2 {
		t.Errorf("after twelve blocks: %+v", p.Rows)
	}
	w.gate.set(nil)
	w.settle(t, h[0])
	w.one(t, h...)
}
