package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/accounts/x402"
)

// The receipts are of a seller at its own address, whose keys it serves, and of one who is not there any more.
func TestVerifyReceiptExitsByWhatThePayerKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pem, err := x402.NewDeliveryKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	var document []byte
	seller := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != x402.DIDPath {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(document)
	}))
	t.Cleanup(seller.Close)
	sign := func(address, transaction, outer, content string) string {
		t.Helper()
		keys, err := x402.NewDeliveryKeys(pem, address)
		if err != nil {
			t.Fatal(err)
		}
		return x402.Receipt{Success: true, Transaction: outer, Network: "base", Payer: "0xAb", Extensions: keys.Sign(x402.Delivery{
			ContentSHA256: x402.ContentDigest([]byte(content)), IssuedAt: 1_700_000_000, Network: "eip155:8453", Payer: "0xab",
			ResourceURL: address + "/api/v1/x402/picks", Transaction: transaction,
		})}.Encode()
	}
	ours, err := x402.NewDeliveryKeys(pem, seller.URL)
	if err != nil {
		t.Fatal(err)
	}
	document = ours.Document()
	gone := "http://127.0.0.1:1"
	known, err := x402.NewDeliveryKeys(pem, gone)
	if err != nil {
		t.Fatal(err)
	}
	strange, err := x402.NewDeliveryKey(bytes.Repeat([]byte{8}, 32))
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := x402.NewDeliveryKeys(strange, seller.URL)
	if err != nil {
		t.Fatal(err)
	}
	good := file("good", sign(seller.URL, "0x1", "0x1", "a pick")+"\n")
	content, other := file("content", "a pick"), file("other", "another pick")
	away := file("away", sign(gone, "0x1", "0x1", "a pick"))
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"all of it", []string{"--receipt", good, "--content", content, "--transaction", "0x1"}, 0, []string{"ok  signature", "ok  content", "holds: 0xab paid 0x1 for " + seller.URL, "2023-11-14T22:13:20Z"}},
		{"without the answer", []string{"--receipt", good}, 0, []string{"ok           signature", "not checked  content"}},
		{"another body", []string{"--receipt", good, "--content", other}, 1, []string{"MISMATCH  content", "contradicted: "}},
		{"another key", []string{"--receipt", good, "--keys", file("stranger", string(stranger.Document()))}, 1, []string{"MISMATCH     signature"}},
		{"a replay inside", []string{"--receipt", file("replay", sign(seller.URL, "0x2", "0x1", "a pick"))}, 1, []string{"MISMATCH     response"}},
		{"a replay of the whole", []string{"--receipt", good, "--transaction", "0x2"}, 1, []string{"MISMATCH     transaction"}},
		{"a seller that is gone", []string{"--receipt", away}, 1, []string{"not checked", "127.0.0.1:1", "--keys"}},
		{"a seller that is gone, whose keys were kept", []string{"--receipt", away, "--keys", file("kept", string(known.Document())), "--content", content}, 0, []string{"holds: "}},
		{"a seller without https", []string{"--receipt", file("plain", sign("http://shop.example", "0x1", "0x1", "a pick"))}, 2, []string{"https", "--keys"}},
		{"no receipt", []string{"--receipt", content}, 2, []string{"not checked", "PAYMENT-RESPONSE"}},
		{"no file", []string{"--receipt", filepath.Join(dir, "nothing")}, 2, []string{"--receipt"}},
		{"a content alone", []string{"--content", content}, 2, []string{"--receipt"}},
		{"as JSON", []string{"--receipt", good, "--content", other, "--json"}, 1, []string{`"verdict": "contradicted"`, `"fault": "the content has the sha256`}},
	} {
		var out bytes.Buffer
		if status := run(t.Context(), append([]string{"verify"}, c.args...), &out, &out); status != c.status {
			t.Errorf("%s: exit status %d, want %d", c.name, status, c.status)
		}
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: it says\n%s\nwant %q in it", c.name, out.String(), want)
			}
		}
	}
}
