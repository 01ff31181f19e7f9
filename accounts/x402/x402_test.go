package x402_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts/x402"
)

const (
	payTo = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	payer = "0x857b06519E91e3A54538791bDbb0E22373e36b66"
)

var (
	now       = time.Unix(1740672100, 0)
	nonce     = "0x" + strings.Repeat("f3", 32)
	signature = "0x" + strings.Repeat("2d", 65)
)

func seller(t testing.TB, s x402.Settings) x402.Seller {
	t.Helper()
	if s.Network == "" {
		s.Network = "base"
	}
	if s.PayTo == "" {
		s.PayTo = payTo
	}
	out, err := x402.NewSeller(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func offer(t testing.TB) x402.Offer {
	return x402.Offer{
		Seller: seller(t, x402.Settings{}), Price: 1000, Resource: "https://host.example/api/v1/x402/picks/latest",
		Description: "Latest pick", MIMEType: "application/json",
	}
}

// object returns a payment as a standard client builds it, for modification.
func object(version int) map[string]any {
	p := map[string]any{
		"x402Version": version, "scheme": "exact", "network": "base",
		"payload": map[string]any{
			"signature": signature,
			"authorization": map[string]any{
				"from": payer, "to": payTo, "value": "1000", "validAfter": "1740671500", "validBefore": "1740672160", "nonce": nonce,
			},
		},
	}
	if version == x402.V2 {
		delete(p, "scheme")
		delete(p, "network")
		p["resource"] = map[string]any{"url": "https://host.example/api/v1/x402/picks/latest"}
		p["accepted"] = map[string]any{
			"scheme": "exact", "network": "eip155:8453", "amount": "1000", "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"payTo": payTo, "maxTimeoutSeconds": 60, "extra": map[string]any{"name": "USD Coin", "version": "2"},
		}
		p["extensions"] = map[string]any{}
	}
	return p
}

func header(t testing.TB, p any) string {
	t.Helper()
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// set sets a member: set(p, "1", "payload", "authorization", "value").
func set(p map[string]any, v any, path ...string) {
	for _, name := range path[:len(path)-1] {
		p = p[name].(map[string]any)
	}
	p[path[len(path)-1]] = v
}

func reason(err error) string {
	r := (*x402.Refusal)(nil)
	if errors.As(err, &r) {
		return r.Reason
	}
	return fmt.Sprint(err)
}

// The body is the example in the specification, with an output schema that is an object.
func TestTermsOfVersion1(t *testing.T) {
	t.Parallel()
	var got any
	if err := json.Unmarshal(offer(t).Body("X-PAYMENT header is required"), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"x402Version": 1.0, "error": "X-PAYMENT header is required", "accepts": []any{map[string]any{
		"scheme": "exact", "network": "base", "maxAmountRequired": "1000", "resource": "https://host.example/api/v1/x402/picks/latest",
		"description": "Latest pick", "mimeType": "application/json", "payTo": payTo, "maxTimeoutSeconds": 60.0,
		"asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "extra": map[string]any{"name": "USD Coin", "version": "2"},
		"outputSchema": map[string]any{"input": map[string]any{"type": "http", "method": "GET", "discoverable": true}},
	}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestTermsOfVersion2(t *testing.T) {
	t.Parallel()
	encoded := offer(t).Header("payment is required")
	if len(encoded) > 3000 {
		t.Errorf("%d bytes of header: a proxy may cut it", len(encoded))
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	bazaar, _ := got["extensions"].(map[string]any)["bazaar"].(map[string]any)
	if bazaar["info"] == nil || bazaar["schema"] == nil {
		t.Errorf("the extension lacks info or schema: %v", bazaar)
	}
	delete(got, "extensions")
	want := map[string]any{
		"x402Version": 2.0, "error": "payment is required",
		"resource": map[string]any{"url": "https://host.example/api/v1/x402/picks/latest", "description": "Latest pick", "mimeType": "application/json"},
		"accepts": []any{map[string]any{
			"scheme": "exact", "network": "eip155:8453", "amount": "1000", "asset": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
			"payTo": payTo, "maxTimeoutSeconds": 60.0, "extra": map[string]any{"name": "USD Coin", "version": "2"},
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

func TestOnlyWhatTheFacilitatorSettlesIsOffered(t *testing.T) {
	t.Parallel()
	o := offer(t)
	o.Versions = []int{x402.V1}
	if h := o.Header("x"); h != "" {
		t.Errorf("version 2 is offered: %s", h)
	}
	o.Versions = []int{x402.V2}
	if b := string(o.Body("x")); !strings.Contains(b, `"accepts":[]`) {
		t.Errorf("version 1 is offered: %s", b)
	}
	o = offer(t)
	o.Seller = seller(t, x402.Settings{Network: "eip155:31337", Asset: payer, AssetName: "Dollar", AssetVersion: "1"})
	if b := string(o.Body("x")); !strings.Contains(b, `"accepts":[]`) {
		t.Errorf("version 1 is offered on a network that it has no name for: %s", b)
	}
}

func TestSettingsOfASeller(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		s    x402.Settings
		want string // text in the error; empty: no error
	}{
		{"by the name of version 1", x402.Settings{Network: "base-sepolia", PayTo: payTo}, ""},
		{"by its CAIP-2 id", x402.Settings{Network: "eip155:84532", PayTo: payTo}, ""},
		{"a network of another kind", x402.Settings{Network: "solana", PayTo: payTo}, "X402_NETWORK"},
		{"a leading zero", x402.Settings{Network: "eip155:08453", PayTo: payTo}, "X402_NETWORK"},
		{"an unknown network without its token", x402.Settings{Network: "eip155:31337", PayTo: payTo}, "X402_ASSET_NAME"},
		{"another token without its name", x402.Settings{Network: "base", Asset: payer, PayTo: payTo}, "X402_ASSET_VERSION"},
		{"an asset that is no address", x402.Settings{Network: "base", Asset: "USDC", AssetName: "a", AssetVersion: "1", PayTo: payTo}, "X402_ASSET:"},
		{"nobody to pay", x402.Settings{Network: "base"}, "X402_PAY_TO"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := x402.NewSeller(tt.s)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
	main, test := seller(t, x402.Settings{Network: "base"}), seller(t, x402.Settings{Network: "base-sepolia"})
	if main.Asset.Name != "USD Coin" || test.Asset.Name != "USDC" {
		t.Errorf("the domains are named %q and %q", main.Asset.Name, test.Asset.Name)
	}
}

func TestChecksOfAPayment(t *testing.T) {
	t.Parallel()
	both, v1, v2 := []int{1, 2}, []int{1}, []int{2}
	auth := func(member string) []string { return []string{"payload", "authorization", member} }
	type bend = func(p map[string]any)
	put := func(v any, path ...string) bend { return func(p map[string]any) { set(p, v, path...) } }
	for _, tt := range []struct {
		name     string
		versions []int
		bend     bend
		want     string // the reason; empty: accepted
	}{
		{"as a stock client makes it", both, func(map[string]any) {}, ""},
		{"the other version", v1, put(2, "x402Version"), "the payment has no member accepted"},
		{"a version that does not exist", both, put(3, "x402Version"), ""},
		{"another scheme", v1, put("upto", "scheme"), x402.ReasonScheme},
		{"another scheme", v2, put("upto", "accepted", "scheme"), x402.ReasonScheme},
		{"another network", v1, put("base-sepolia", "network"), x402.ReasonNetwork},
		{"another network", v2, put("eip155:1", "accepted", "network"), x402.ReasonNetwork},
		{"the network's name of the other version", v2, put("base", "accepted", "network"), x402.ReasonNetwork},
		{"another amount accepted", v2, put("999", "accepted", "amount"), x402.ReasonTerms},
		{"another asset accepted", v2, put(payer, "accepted", "asset"), x402.ReasonTerms},
		{"another recipient accepted", v2, put(payer, "accepted", "payTo"), x402.ReasonTerms},
		{"addresses in another case", v2, func(p map[string]any) {
			set(p, strings.ToLower(payTo), "accepted", "payTo")
			set(p, strings.ToLower(payTo), auth("to")...)
		}, ""},
		{"Permit2 by its entry", v2, put(map[string]any{"assetTransferMethod": "permit2"}, "accepted", "extra"), x402.ReasonScheme},
		{"Permit2 by its payload", both, put(map[string]any{}, "payload", "permit2Authorization"), x402.ReasonScheme},
		{"EIP-3009 by name", v2, put(map[string]any{"assetTransferMethod": "eip3009"}, "accepted", "extra"), ""},
		{"less than the price", both, put("999", auth("value")...), x402.ReasonValue},
		{"more than the price", both, put("1001", auth("value")...), x402.ReasonValue},
		{"the price in hexadecimal", both, put("0x3e8", auth("value")...), x402.ReasonValue},
		{"the price with a blank", both, put(" 1000", auth("value")...), x402.ReasonValue},
		{"the price with a zero", both, put("01000", auth("value")...), x402.ReasonValue},
		{"the price with an exponent", both, put("1e3", auth("value")...), x402.ReasonValue},
		{"to someone else", both, put(payer, auth("to")...), x402.ReasonRecipient},
		{"from nobody", both, put("me", auth("from")...), x402.ReasonPayload},
		{"a short nonce", both, put("0x01", auth("nonce")...), x402.ReasonPayload},
		{"a short signature", both, put("0x01", "payload", "signature"), x402.ReasonSignature},
		{"a signature of odd length", both, put(signature+"0", "payload", "signature"), x402.ReasonSignature},
		{"the signature of a smart wallet", both, put("0x"+strings.Repeat("ab", 700), "payload", "signature"), ""},
		{"good from now on", both, put("1740672100", auth("validAfter")...), ""},
		{"good from the next second on", both, put("1740672101", auth("validAfter")...), x402.ReasonValidAfter},
		{"good since ever", both, put("0", auth("validAfter")...), ""},
		{"good since before 1970", both, put("-1", auth("validAfter")...), x402.ReasonPayload},
		{"good for 6 seconds", both, put("1740672106", auth("validBefore")...), ""},
		{"good for 5 seconds", both, put("1740672105", auth("validBefore")...), x402.ReasonValidBefore},
		{"expired", both, put("1740672099", auth("validBefore")...), x402.ReasonValidBefore},
		{"good for two minutes", both, put("1740672220", auth("validBefore")...), ""},
		{"good for longer", both, put("1740672221", auth("validBefore")...), x402.ReasonValidBefore},
		{"good for ever", both, put("999999999999999999", auth("validBefore")...), x402.ReasonValidBefore},
	} {
		for _, version := range tt.versions {
			t.Run(fmt.Sprintf("%s, version %d", tt.name, version), func(t *testing.T) {
				t.Parallel()
				p := object(version)
				tt.bend(p)
				want := tt.want
				if tt.name == "a version that does not exist" {
					want = x402.ReasonVersion
					if version == 2 { // it is parsed like version 1, which has its scheme in another place
						want = "the payment has no member scheme"
					}
				}
				got, err := x402.Decode(version, header(t, p))
				if err == nil {
					err = x402.Check(got, offer(t), now)
				}
				switch {
				case want == "" && err != nil, want != "" && reason(err) != want:
					t.Errorf("%v, want %q", err, want)
				}
			})
		}
	}
}

func TestDecoding(t *testing.T) {
	t.Parallel()
	good, err := json.Marshal(object(1))
	if err != nil {
		t.Fatal(err)
	}
	text := string(good)
	std := base64.StdEncoding.EncodeToString
	for _, tt := range []struct {
		name, header string
		want         string // text in the error; empty: no error
	}{
		{"padded", std(good), ""},
		{"unpadded", base64.RawStdEncoding.EncodeToString(good), ""},
		{"URL alphabet", base64.URLEncoding.EncodeToString([]byte(text + "\n")), ""},
		{"nothing", "", "not JSON"},
		{"not base64", "%%%", "not base64"},
		{"JSON as it is", text, "not base64"},
		{"not JSON", std([]byte("hello")), "not JSON"},
		{"cut off", std(good[:len(good)/2]), "not JSON"},
		{"two values", std([]byte(text + text)), "more than one"},
		{"a list", std([]byte("[]")), "not a JSON object"},
		{"null", std([]byte("null")), "not a JSON object"},
		{"not UTF-8", std([]byte(strings.Replace(text, "exact", "ex\xffct", 1))), "UTF-8"},
		{"a member twice", std([]byte(strings.Replace(text, `"nonce"`, `"nonce":"0x","nonce"`, 1))), "twice"},
		{"a member twice, in another case", std([]byte(strings.Replace(text, `"nonce"`, `"Nonce":"0x","nonce"`, 1))), "twice"},
		{"a member in another case only", std([]byte(strings.Replace(text, `"nonce"`, `"Nonce"`, 1))), "no member nonce"},
		{"a number for an amount", std([]byte(strings.Replace(text, `"1000"`, `1000`, 1))), "not a string"},
		{"a text for the version", std([]byte(strings.Replace(text, `"x402Version":1`, `"x402Version":"1"`, 1))), "not a whole number"},
		{"null for a signature", std([]byte(strings.Replace(text, `"`+signature+`"`, `null`, 1))), "not a string"},
		{"nested without end", std([]byte(strings.Repeat("[", 2000))), "too deep"},
		{"one byte too long", strings.Repeat("A", x402.MaxHeader+1), "longer than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := x402.Decode(1, tt.header)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q in it", err, tt.want)
			}
			if errors.Is(err, x402.ErrTooLong) != strings.Contains(tt.name, "too long") {
				t.Errorf("error %v", err)
			}
			if err == nil && strings.TrimSpace(string(p.Raw)) != text {
				t.Errorf("the facilitator would be given %s", p.Raw)
			}
		})
	}
}

// A payment is the same in either header and in any case of its hex digits.
func TestDigestNamesThePayment(t *testing.T) {
	t.Parallel()
	decode := func(version int, p map[string]any) x402.Payment {
		t.Helper()
		out, err := x402.Decode(version, header(t, p))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one, two := decode(1, object(1)), decode(2, object(2))
	if one.Digest() != two.Digest() {
		t.Error("the digests of one payment in both versions differ")
	}
	upper := object(1)
	set(upper, strings.ToUpper(payer[2:]), "payload", "authorization", "from")
	set(upper, "0x"+strings.ToUpper(payer[2:]), "payload", "authorization", "from")
	if decode(1, upper).Digest() != one.Digest() {
		t.Error("the digest depends on the letter case")
	}
	other := object(1)
	set(other, "1740672161", "payload", "authorization", "validBefore")
	if decode(1, other).Digest() == one.Digest() {
		t.Error("two authorizations have one digest")
	}
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	raw, err := base64.StdEncoding.DecodeString(x402.Receipt{Success: true, Transaction: "0xab", Network: "base", Payer: payer}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"success":true,"transaction":"0xab","network":"base","payer":"` + payer + `"}`; string(raw) != want {
		t.Errorf("%s, want %s", raw, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(1, header(f, object(1)))
	f.Add(2, header(f, object(2)))
	f.Add(1, "eyJ4NDAyVmVyc2lvbiI6MX0")
	f.Fuzz(func(t *testing.T, version int, s string) {
		p, err := x402.Decode(version, s)
		if err != nil {
			return
		}
		// Decode reads exactly what any JSON parser finds under the exact names.
		var m map[string]any
		if err := json.Unmarshal(p.Raw, &m); err != nil {
			t.Fatalf("%q is passed on and is no object: %v", p.Raw, err)
		}
		if p.Method == "" {
			a := m["payload"].(map[string]any)["authorization"].(map[string]any)
			if a["value"] != p.Authorization.Value || a["nonce"] != p.Authorization.Nonce || a["from"] != p.Authorization.From {
				t.Fatalf("%q was read as %+v", p.Raw, p.Authorization)
			}
		}
		if err := x402.Check(p, offer(t), now); err == nil && p.Authorization.Value != "1000" {
			t.Fatalf("%q was taken", p.Raw)
		}
	})
}

func TestANetworkIsNamedForReaders(t *testing.T) {
	t.Parallel()
	for want, n := range map[string]x402.Network{
		"Base (eip155:8453)": {ChainID: 8453, Name: "base"}, "Base Sepolia (eip155:84532)": {ChainID: 84532, Name: "base-sepolia"}, "eip155:1": {ChainID: 1},
	} {
		if got := n.Title(); got != want {
			t.Errorf("%+v is %q, want %q", n, got, want)
		}
	}
}
