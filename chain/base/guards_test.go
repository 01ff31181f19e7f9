package base_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

func TestAnAnswerOfAnotherShapeIsNoAnswer(t *testing.T) {
	t.Parallel()
	const good = `{"jsonrpc":"2.0","id":1,"result":"0x14a34"}`
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(good)) }))
	t.Cleanup(elsewhere.Close)
	for name, tt := range map[string]struct {
		status     int
		body, says string
	}{
		"the right chain":     {200, good, ""},
		"another's answer":    {200, `{"jsonrpc":"2.0","id":2,"result":"0x14a34"}`, "another question"},
		"an answer to nobody": {200, `{"jsonrpc":"2.0","result":"0x14a34"}`, "another question"},
		"an answer to null":   {200, `{"jsonrpc":"2.0","id":null,"result":"0x14a34"}`, "another question"},
		"an id of a text":     {200, `{"jsonrpc":"2.0","id":"1","result":"0x14a34"}`, "another question"},
		"an unread question":  {200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"it is no JSON"}}`, "it is no JSON"},
		"another's error":     {200, `{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"reverted"}}`, "another question"},
		"no result":           {200, `{"jsonrpc":"2.0","id":1}`, "no result"},
		"too long":            {200, good + strings.Repeat(" ", 32<<20), "longer than"},
		"another status":      {404, good, "404"},
		"a redirect":          {307, good, "307"},
		"a result of a list":  {200, `{"jsonrpc":"2.0","id":1,"result":[]}`, "eth_chainId"},
		"a result and errors": {200, `{"jsonrpc":"2.0","id":1,"result":"0x14a34","error":{"code":-32603,"message":"it broke"}}`, "it broke"},
	} {
		node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(tt.status)
			_, _ = w.Write([]byte(tt.body))
		}))
		t.Cleanup(node.Close)
		err := dial(t, node.URL).Check(t.Context())
		if tt.says == "" && err != nil || tt.says != "" && (!errors.Is(err, base.ErrUnavailable) || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAReceiptOfAnotherTransactionIsNotTaken(t *testing.T) {
	t.Parallel()
	g := newGate(t, startChain(t))
	g.set(func(_ int, method string, _ []json.RawMessage) verdict {
		if method != "eth_getTransactionReceipt" {
			return verdict{}
		}
		return verdict{swallow: map[string]any{"transactionHash": common.Hash{2}, "status": "0x1", "blockNumber": "0x0", "blockHash": common.Hash{3}, "gasUsed": "0x1"}}
	})
	_, err := dial(t, g.URL).Evidence(t.Context(), common.Hash{1}.Hex())
	if !errors.Is(err, base.ErrUnavailable) || !strings.Contains(err.Error(), "it gave the receipt of") {
		t.Errorf("%v", err)
	}
}

// A node charges for each question, and a stranger sends the signature.
func TestASignatureThatIsNoneAsksNoNode(t *testing.T) {
	t.Parallel()
	g := newGate(t, startChain(t))
	client := dial(t, g.URL)
	for name, tt := range map[string]struct {
		signature string
		asks      int
	}{
		"no hex": {"0xzz", 0}, "empty": {"0x", 0}, "a byte too long": {"0x" + strings.Repeat("00", 8<<10+1), 0}, "as long as it may be": {"0x" + strings.Repeat("00", 8<<10), 1},
	} {
		before := g.count("eth_call")
		err := client.CheckProof(t.Context(), devchain.Address(2), "a message", tt.signature)
		if asked := g.count("eth_call") - before; !errors.Is(err, base.ErrBadProof) || asked != tt.asks {
			t.Errorf("%s: the node was asked %d times, %v", name, asked, err)
		}
	}
}
