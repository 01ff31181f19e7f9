package base_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tidemark/chain/base"
)

// No response of a node causes a panic, and every accepted transfer is to us, in the token that we accept.
func FuzzNodeAnswers(f *testing.F) {
	var answer []byte
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Method string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		w.Header().Set("Content-Type", "application/json")
		if asked.Method == "eth_chainId" {
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":"0x2105"}`))
			return
		}
		_, _ = w.Write(answer)
	}))
	f.Cleanup(node.Close)
	c, err := base.Dial(8453, node.URL)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.Close)
	us, token := common.HexToAddress("0xaa"), common.HexToAddress("0xbb")
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"number":"0x1","hash":"0x` + strings.Repeat("ab", 32) + `","timestamp":"0x1","parentHash":"0x` + strings.Repeat("cd", 32) + `"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"execution reverted","data":"0x"}}`))
	f.Add([]byte(`{"result":"0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		answer = body
		tx := "0x" + strings.Repeat("ab", 32)
		e, err := c.Evidence(t.Context(), tx)
		if err == nil {
			list, _ := base.VerifyTransfer(e, base.DefaultTerms(token, us), time.Unix(1_800_000_000, 0), time.Unix(0, 0))
			for _, x := range list {
				if x.Micro < 5_000_000 {
					t.Errorf("%q pays %d", body, x.Micro)
				}
			}
		}
		_ = c.CheckProof(t.Context(), us, tx, "0x00")
	})
}

// A signature that is taken has the one form that there is for it.
func FuzzSignature(f *testing.F) {
	f.Add("claim", "0x"+strings.Repeat("11", 65))
	f.Add("claim", "0x"+strings.Repeat("11", 64)+"1b")
	f.Fuzz(func(t *testing.T, message, signature string) {
		if base.SignedBy(common.HexToAddress("0xaa"), message, signature) {
			t.Errorf("%q signs for an account that nobody has the key of", signature)
		}
		if hash, err := base.ParseTxHash(signature); err == nil && (len(hash) != 66 || hash != strings.ToLower(hash)) {
			t.Errorf("%q is the hash %q", signature, hash)
		}
	})
}
