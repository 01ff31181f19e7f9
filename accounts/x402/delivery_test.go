package x402_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tidemark/accounts/x402"
)

// The key of RFC 8037, appendix A, and its thumbprint as appendix A.3 has it.
const (
	rfc8037Seed       = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
	rfc8037Public     = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
	rfc8037Thumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
)

func deliveryKeys(t testing.TB, address string, seeds ...string) *x402.DeliveryKeys {
	t.Helper()
	var text []byte
	for _, s := range seeds {
		seed, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		one, err := x402.NewDeliveryKey(seed)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, one...)
	}
	k, err := x402.NewDeliveryKeys(text, address)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// otherSeed is another key.
var otherSeed = base64.RawURLEncoding.EncodeToString([]byte("an old key of the same service!!"))

const (
	sellerURL = "https://shop.example"
	content   = `{"data":"a pick & <more>"}`
)

func delivery() x402.Delivery {
	return x402.Delivery{
		ContentSHA256: x402.ContentDigest([]byte(content)), IssuedAt: now.Unix(), Network: "eip155:8453", Payer: payer,
		ResourceURL: sellerURL + "/api/v1/x402/picks/latest", Transaction: "0x" + strings.Repeat("ab", 32),
	}
}

// responseWith is what the payer of a transaction keeps.
func responseWith(k *x402.DeliveryKeys, d x402.Delivery, transaction string) string {
	return x402.Receipt{Success: true, Transaction: transaction, Network: "base", Payer: d.Payer, Extensions: k.Sign(d)}.Encode()
}

// The receipt is read here with the standard library alone, as any verifier of JWS would.
func TestAReceiptIsAJWSOfThePublishedForm(t *testing.T) {
	t.Parallel()
	k := deliveryKeys(t, sellerURL, rfc8037Seed)
	var e struct {
		R struct {
			Info struct {
				Receipt struct{ Format, Signature string }
			}
		} `json:"offer-receipt"`
	}
	if err := json.Unmarshal(k.Sign(delivery()), &e); err != nil || e.R.Info.Receipt.Format != "jws" {
		t.Fatalf("%+v: %v", e, err)
	}
	parts := strings.Split(e.R.Info.Receipt.Signature, ".")
	raw := make([][]byte, 3)
	for i := range raw {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(parts[i]); err != nil {
			t.Fatal(err)
		}
	}
	if want := `{"alg":"EdDSA","kid":"did:web:shop.example#` + rfc8037Thumbprint + `"}`; string(raw[0]) != want {
		t.Errorf("header %s, want %s", raw[0], want)
	}
	public, err := base64.RawURLEncoding.DecodeString(rfc8037Public)
	if err != nil {
		t.Fatal(err)
	}
	if !ed25519.Verify(public, []byte(parts[0]+"."+parts[1]), raw[2]) {
		t.Error("the published key did not sign it")
	}
	var names []string
	dec := json.NewDecoder(strings.NewReader(string(raw[1])))
	for depth := 0; dec.More() || depth == 0; depth++ {
		token, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := token.(string); ok && depth%2 == 1 {
			names = append(names, name)
		}
	}
	if !slices.IsSorted(names) || len(names) != 7 || strings.Contains(string(raw[1]), " ") {
		t.Errorf("RFC 8785 wants sorted members without blanks: %s", raw[1])
	}
	var got map[string]any
	if err := json.Unmarshal(raw[1], &got); err != nil {
		t.Fatal(err)
	}
	// The members of the extension, and the content: printf '{"data":"a pick & <more>"}' | sha256sum
	want := map[string]any{
		"version": 1.0, "network": "eip155:8453", "resourceUrl": sellerURL + "/api/v1/x402/picks/latest", "payer": payer, "issuedAt": float64(now.Unix()),
		"transaction": "0x" + strings.Repeat("ab", 32), "contentSha256": "76b3b7cb2105951db382154f5a83bb58c12c540171f322fd50bc630fb1e5a43c",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("payload %v, want %v", got, want)
	}
}

func TestAReceiptIsCompared(t *testing.T) {
	t.Parallel()
	ours, d := deliveryKeys(t, sellerURL, rfc8037Seed, otherSeed), delivery()
	published, err := x402.ReadDIDKeys(ours.Document())
	if err != nil || len(published) != 2 {
		t.Fatalf("%d keys: %v", len(published), err)
	}
	other := d
	other.Transaction = "0x" + strings.Repeat("cd", 32)
	elsewhere := d
	elsewhere.ResourceURL = "https://other.example/api/v1/x402/picks/latest"
	flipped := func(text string) string {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		// The signed text is the only one with points; the first digit of its hash becomes another.
		start := strings.Index(string(b), `"signature":"`) + len(`"signature":"`)
		end := start + strings.Index(string(b[start:]), `"`)
		parts := strings.Split(string(b[start:end]), ".")
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		at := strings.Index(string(payload), `"contentSha256":"`) + len(`"contentSha256":"`)
		payload[at] = map[bool]byte{true: '1', false: '0'}[payload[at] == '0']
		parts[1] = base64.RawURLEncoding.EncodeToString(payload)
		return base64.StdEncoding.EncodeToString([]byte(string(b[:start]) + strings.Join(parts, ".") + string(b[end:])))
	}
	for _, c := range []struct {
		name, kept string
		want       x402.Expected
		fault      string
	}{
		{"as it was", responseWith(ours, d, d.Transaction), x402.Expected{Content: []byte(content), Transaction: d.Transaction}, ""},
		{"with an older key", responseWith(deliveryKeys(t, sellerURL, otherSeed), d, d.Transaction), x402.Expected{Content: []byte(content)}, ""},
		{"without the content", responseWith(ours, d, d.Transaction), x402.Expected{}, ""},
		{"another body", responseWith(ours, d, d.Transaction), x402.Expected{Content: []byte(content + " ")}, "content"},
		{"no body", responseWith(ours, d, d.Transaction), x402.Expected{Content: []byte{}}, "content"},
		{"another key", responseWith(deliveryKeys(t, sellerURL, base64.RawURLEncoding.EncodeToString(make([]byte, 32))), d, d.Transaction), x402.Expected{}, "signature"},
		{"another payload under the signature", flipped(responseWith(ours, d, d.Transaction)), x402.Expected{}, "signature"},
		{"the receipt of another payment", responseWith(ours, other, d.Transaction), x402.Expected{Content: []byte(content)}, "response"},
		{"the response of another payment", responseWith(ours, other, other.Transaction), x402.Expected{Content: []byte(content), Transaction: d.Transaction}, "transaction"},
		{"our key for another host", responseWith(ours, elsewhere, d.Transaction), x402.Expected{}, "seller"},
	} {
		r, err := x402.ReadReceipt([]byte(c.kept))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var faults []string
		for _, f := range r.Check(published, c.want) {
			if f.Fault != "" {
				faults = append(faults, f.Name)
			}
		}
		if strings.Join(faults, " ") != c.fault {
			t.Errorf("%s: %q, want %q", c.name, faults, c.fault)
		}
	}
}

func TestWhatIsNoReceiptIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"nothing":           {"", "neither"},
		"a page":            {"<html>", "neither"},
		"an unsigned one":   {x402.Receipt{Success: true, Transaction: "0x1"}.Encode(), "no signed receipt"},
		"another format":    {`{"extensions":{"offer-receipt":{"info":{"receipt":{"format":"eip712","signature":"0x00"}}}}}`, "only jws"},
		"two parts":         {`{"extensions":{"offer-receipt":{"info":{"receipt":{"format":"jws","signature":"e30.e30"}}}}}`, "three parts"},
		"another algorithm": {"eyJhbGciOiJub25lIiwia2lkIjoiYSJ9.e30.AA", "only EdDSA"},
	} {
		if _, err := x402.ReadReceipt([]byte(c[0])); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %q", name, err, c[1])
		}
	}
	for name, text := range map[string]string{"nothing": "", "another block": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := x402.NewDeliveryKeys([]byte(text), sellerURL); err == nil || !strings.Contains(err.Error(), "openssl genpkey") {
			t.Errorf("a key file with %s: %v", name, err)
		}
	}
}

func FuzzReceiptOfAPayer(f *testing.F) {
	k := deliveryKeys(f, sellerURL, rfc8037Seed)
	keys, err := x402.ReadDIDKeys(k.Document())
	if err != nil {
		f.Fatal(err)
	}
	d := delivery()
	f.Add([]byte(responseWith(k, d, d.Transaction)), k.Document())
	f.Add([]byte("eyJhbGciOiJFZERTQSIsImtpZCI6ImEifQ.e30.AA"), []byte("{}"))
	f.Fuzz(func(t *testing.T, text, document []byte) {
		_, _ = x402.ReadDIDKeys(document)
		r, err := x402.ReadReceipt(text)
		if err != nil {
			return
		}
		// Nothing but what was signed passes as signed.
		for _, found := range r.Check(keys, x402.Expected{}) {
			if found.Name == "signature" && found.Fault == "" && r.Delivery != withVersion(d) {
				t.Fatalf("%+v passes, which nobody signed", r.Delivery)
			}
		}
	})
}

func withVersion(d x402.Delivery) x402.Delivery {
	d.Version = 1
	return d
}
