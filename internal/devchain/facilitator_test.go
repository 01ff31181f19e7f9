package devchain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/google/go-cmp/cmp"

	"tidemark/internal/devchain"
)

// question returns a resource server's request to a facilitator about a payment of 1000 micro-dollars, in either version of the protocol.
func question(version int, a authorization, sig []byte, bend func(payment, want map[string]any)) []byte {
	payload := map[string]any{
		"signature": hexutil.Encode(sig),
		"authorization": map[string]any{
			"from": a.from.Hex(), "to": a.to.Hex(), "value": a.value.String(), "validAfter": a.validAfter.String(),
			"validBefore": a.validBefore.String(), "nonce": hexutil.Encode(a.nonce[:]),
		},
	}
	want := map[string]any{
		"scheme": "exact", "network": "eip155:84532", "amount": "1000", "asset": devchain.TokenAddress.Hex(), "payTo": devchain.Address(5).Hex(),
		"maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USDC", "version": "2"},
	}
	payment := map[string]any{"x402Version": version, "payload": payload}
	if version == 1 {
		want["network"], want["maxAmountRequired"] = "base-sepolia", "1000"
		delete(want, "amount")
		payment["scheme"], payment["network"] = "exact", "base-sepolia"
	} else {
		payment["accepted"] = want
	}
	if bend != nil {
		bend(payment, want)
	}
	b, err := json.Marshal(map[string]any{"x402Version": version, "paymentPayload": payment, "paymentRequirements": want})
	if err != nil {
		panic(err)
	}
	return b
}

func ask(t *testing.T, h http.Handler, path string, body []byte) map[string]any {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body)))
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return out
}

func TestFacilitator(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{})
	f, err := devchain.NewFacilitator(c, 9)
	if err != nil {
		t.Fatal(err)
	}
	payer, shop := devchain.Address(4), devchain.Address(5)
	now := time.Now().Unix()
	nonce := byte(0)
	pay := func() authorization {
		nonce++
		return authorization{payer, shop, big.NewInt(1000), big.NewInt(now - 600), big.NewInt(now + 3600), [32]byte{nonce}}
	}
	sign := func(a authorization) []byte { return a.sign(devchain.Key(4), "USDC", 84532, devchain.TokenAddress) }
	balance := func(a common.Address) int64 {
		return call(t, c, "Token", devchain.TokenAddress, "balanceOf", a)[0].(*big.Int).Int64()
	}
	shopHad, payerHad := balance(shop), balance(payer)

	for version := 1; version <= 2; version++ {
		a := pay()
		q := question(version, a, sign(a), nil)
		if v := ask(t, f, "/verify", q); v["isValid"] != true || !common.IsHexAddress(fmt.Sprint(v["payer"])) {
			t.Errorf("version %d: %v", version, v)
		}
		s := ask(t, f, "/settle", q)
		if s["success"] != true || s["network"] != map[int]string{1: "base-sepolia", 2: "eip155:84532"}[version] {
			t.Fatalf("version %d: %v", version, s)
		}
		r, err := client(t, c).TransactionReceipt(t.Context(), common.HexToHash(s["transaction"].(string)))
		if err != nil || r.Status != 1 {
			t.Errorf("version %d: %+v, %v", version, r, err)
		}
		// A nonce works only once.
		if v := ask(t, f, "/verify", q); v["isValid"] != false || v["invalidReason"] != "invalid_exact_evm_nonce_already_used" {
			t.Errorf("version %d, again: %v", version, v)
		}
		if s := ask(t, f, "/settle", q); s["success"] != false || s["transaction"] != "" {
			t.Errorf("version %d, again: %v", version, s)
		}
	}
	if got := balance(shop) - shopHad; got != 2000 {
		t.Errorf("the shop got %d micro-dollars, want 2000", got)
	}
	if got := payerHad - balance(payer); got != 2000 {
		t.Errorf("the payer paid %d micro-dollars, want 2000", got)
	}

	early, late, poor := pay(), pay(), pay()
	early.validAfter, late.validBefore = big.NewInt(now+1800), big.NewInt(now-1)
	poor.from = common.HexToAddress("0x9858EfFD232B4033E47d90003D41EC34EcaEda94")
	for _, tt := range []struct {
		name, want string
		q          []byte
	}{
		{"not yet valid", "invalid_exact_evm_payload_authorization_valid_after", question(1, early, sign(early), nil)},
		{"expired", "invalid_exact_evm_payload_authorization_valid_before", question(2, late, sign(late), nil)},
		{"signed by someone else", "invalid_exact_evm_payload_signature", question(2, poor, sign(poor), nil)},
		{"signed for another token", "invalid_exact_evm_payload_signature", question(1, pay(), pay().sign(devchain.Key(4), "USD Coin", 84532, devchain.TokenAddress), nil)},
		{"less than asked for", "invalid_exact_evm_payload_authorization_value", question(1, pay(), sign(pay()), func(_, want map[string]any) { want["maxAmountRequired"] = "1001" })},
		{"more than asked for", "invalid_exact_evm_payload_authorization_value", question(2, pay(), sign(pay()), func(_, want map[string]any) { want["amount"] = "999" })},
		{"to someone else", "invalid_exact_evm_payload_recipient_mismatch", question(2, pay(), sign(pay()), func(_, want map[string]any) { want["payTo"] = payer.Hex() })},
		{"on another network", "invalid_network", question(1, pay(), sign(pay()), func(p, _ map[string]any) { p["network"] = "base" })},
		{"in another token", "invalid_payment_requirements", question(1, pay(), sign(pay()), func(_, want map[string]any) { want["asset"] = shop.Hex() })},
		{"by another scheme", "unsupported_scheme", question(1, pay(), sign(pay()), func(p, _ map[string]any) { p["scheme"] = "upto" })},
		{"of another version", "invalid_x402_version", question(2, pay(), sign(pay()), func(p, _ map[string]any) { p["x402Version"] = 1 })},
		{"no JSON", "invalid_payload", []byte("hello")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if v := ask(t, f, "/verify", tt.q); v["isValid"] != false || v["invalidReason"] != tt.want {
				t.Errorf("verify: %v, want %s", v, tt.want)
			}
			if s := ask(t, f, "/settle", tt.q); s["success"] != false || s["errorReason"] != tt.want || s["transaction"] != "" {
				t.Errorf("settle: %v, want %s", s, tt.want)
			}
		})
	}
	if got := balance(shop) - shopHad; got != 2000 {
		t.Errorf("the shop got %d micro-dollars after what was refused, want 2000", got)
	}
}

// Many parallel settlements take one nonce of the facilitator's account each.
func TestFacilitatorSettlesManyAtOnce(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{})
	f, err := devchain.NewFacilitator(c, 9)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			a := authorization{
				devchain.Address(4), devchain.Address(5), big.NewInt(1000), big.NewInt(now - 600), big.NewInt(now + 3600), [32]byte{byte(i)},
			}
			if s := ask(t, f, "/settle", question(2, a, a.sign(devchain.Key(4), "USDC", 84532, devchain.TokenAddress), nil)); s["success"] != true {
				t.Errorf("%v", s)
			}
		})
	}
	all.Wait()
}

// On a chain without transactions the newest block grows old. An authorization that is valid now would not be valid at the time of that
// block.
func TestFacilitatorGoesByTheTimeOfTheNextBlock(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{})
	f, err := devchain.NewFacilitator(c, 9)
	if err != nil {
		t.Fatal(err)
	}
	head, err := client(t, c).HeaderByNumber(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	after := int64(head.Time) + 1
	<-time.After(time.Until(time.Unix(after+1, 0)))
	a := authorization{devchain.Address(4), devchain.Address(5), big.NewInt(1000), big.NewInt(after), big.NewInt(after + 60), [32]byte{1}}
	if v := ask(t, f, "/verify", question(2, a, a.sign(devchain.Key(4), "USDC", 84532, devchain.TokenAddress), nil)); v["isValid"] != true {
		t.Errorf("%v", v)
	}
}

func TestFacilitatorSaysWhatItSettles(t *testing.T) {
	t.Parallel()
	f, err := devchain.NewFacilitator(start(t, devchain.Options{}), 9)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/supported", nil))
	var got struct{ Kinds any }
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := []any{
		map[string]any{"x402Version": 2.0, "scheme": "exact", "network": "eip155:84532"},
		map[string]any{"x402Version": 1.0, "scheme": "exact", "network": "base-sepolia"},
	}
	if d := cmp.Diff(any(want), got.Kinds); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
