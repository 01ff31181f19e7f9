package api_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// A payer on the dashboard gets either an amount that is reserved for the key, with a link that opens a wallet, or a text to sign.
func TestTheDashboardOffersAQuoteAndASignature(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	key := o.newKey()
	o.send("/dashboard/sign-in", url.Values{"api_key": {key}})
	o.open("/dashboard")
	id := regexp.MustCompile(`id="key-id">(key_[0-9a-z]+)<`).FindStringSubmatch(o.page)
	if id == nil || !strings.Contains(o.page, `id="quote-button"`) || strings.Contains(o.page, `id="wallet"`) {
		t.Fatalf("the page: %s", o.page)
	}
	for range 2 { // the same amount while it is reserved
		if a := o.send("/dashboard/quote", url.Values{}); a.StatusCode != http.StatusOK {
			t.Fatalf("a quote: %s", a.Status)
		}
	}
	amount := o.query(`select amount from payment_quotes`)
	if len(amount) != 1 {
		t.Fatalf("quotes: %v", amount)
	}
	link := regexp.MustCompile(`id="wallet" href="([^"]*)"`).FindStringSubmatch(o.page)
	want := "ethereum:0x036CbD53842c5426634e7929541eC2318f3dCF7e@84532/transfer?address=0x00000000000000000000000000000000000000aa&uint256=" + amount[0]
	if link == nil || !strings.EqualFold(html.UnescapeString(link[1]), want) {
		t.Errorf("the wallet's link is %q, want %s", link, want)
	}
	dollars := amount[0][:1] + "." + amount[0][1:]
	if !strings.Contains(o.page, `id="quoted">`+strings.TrimRight(dollars, "0")) {
		t.Errorf("the page does not name %s: %s", dollars, o.page)
	}

	tx := "0x" + strings.Repeat("AB", 32)
	o.send("/dashboard/claim", url.Values{"tx_hash": {tx}})
	text := regexp.MustCompile(`id="sign-text">([^<]*)<`).FindStringSubmatch(o.page)
	if want := "claim " + strings.ToLower(tx) + " for key " + id[1] + " on chain 84532"; text == nil || text[1] != want {
		t.Errorf("the text to sign is %q, want %s", text, want)
	}
	if !strings.Contains(o.page, `id="tx-hash" name="tx_hash" value="`+strings.ToLower(tx)+`"`) {
		t.Error("the transaction has to be typed again")
	}
	signature := "0x" + strings.Repeat("cd", 8<<10)
	if a := o.send("/dashboard/claim", url.Values{"tx_hash": {tx}, "signature": {signature}}); a.StatusCode != http.StatusAccepted {
		t.Errorf("a signature of a contract's wallet: %s", a.Status)
	}
	if got := o.query(`select signature from payment_claims`); len(got) != 1 || got[0] != signature {
		t.Errorf("the claim has %.20q", got)
	}
	for _, bad := range []string{"cd", "0x", "0xc", "0xzz", "0x" + strings.Repeat("cd", 8<<10+1)} {
		if a := o.send("/dashboard/claim", url.Values{"tx_hash": {tx}, "signature": {bad}}); a.StatusCode != http.StatusBadRequest {
			t.Errorf("the signature %.10q: %s", bad, a.Status)
		}
	}
}

// A text in its grace period can only read, also on the dashboard.
func TestAReplacedTextClaimsNothingOnTheDashboard(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	key := o.newKey()
	a := o.askWith(http.MethodPost, "/api/v1/keys/rotate", `{"grace_seconds":3600}`, "Authorization", "Bearer "+key)
	if a.StatusCode != http.StatusOK {
		t.Fatal(a.Status)
	}
	o.send("/dashboard/sign-in", url.Values{"api_key": {key}})
	o.open("/dashboard")
	for path, form := range map[string]url.Values{"/dashboard/claim": {"tx_hash": {"0x" + strings.Repeat("ab", 32)}}, "/dashboard/quote": {}} {
		if a := o.send(path, form); a.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	if got := o.query(`select (select count(*) from payment_claims) + (select count(*) from payment_quotes)`); got[0] != "0" {
		t.Errorf("%s claims and quotes", got[0])
	}
}
