package api_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/api"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

func TestAnAlertIsMadeTestedAndDeletedOnTheDashboardWithoutAScript(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.send("/dashboard/sign-in", url.Values{"api_key": {o.newKey()}})
	if o.open("/dashboard"); !strings.Contains(o.page, `action="/dashboard/alert"`) {
		t.Fatal("there is no form that makes an alert")
	}
	form := url.Values{"on": {"pick"}, "signal": {"crack-spread-321"}, "url": {"https://hooks.example.com/<x>"}}
	if a := o.send("/dashboard/alert", url.Values{"on": {"pick"}, "url": {"https://127.0.0.1/"}}); a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.body), "refused") {
		t.Errorf("a webhook in this machine: %s", a.Status)
	}
	if a := o.send("/dashboard/alert", url.Values{"on": {"value"}, "signal": {"crack-spread-321"}, "above": {"much"}, "url": {"https://hooks.example.com/"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a threshold that is no number: %s", a.Status)
	}
	a := o.send("/dashboard/alert", form)
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(strings.ReplaceAll(string(a.body), "&#43;", "+"))
	if a.StatusCode != http.StatusOK || secret == "" || strings.Contains(o.page, "/<x>") {
		t.Fatalf("an alert is asked for: %s, the secret %q", a.Status, secret)
	}
	if o.open("/dashboard"); strings.Contains(o.page, "whsec_") || !strings.Contains(o.page, "hooks.example.com") {
		t.Error("the secret is shown twice, or the alert is not listed")
	}
	id := regexp.MustCompile(`name="id" value="(alert_[0-9a-z]{26})"`).FindStringSubmatch(o.page)
	if id == nil {
		t.Fatal("the alert has no buttons")
	}
	if a := o.send("/dashboard/alert-test", url.Values{"id": {id[1]}}); a.StatusCode != http.StatusAccepted {
		t.Errorf("a test message: %s", a.Status)
	}
	if a := o.send("/dashboard/alert-test", url.Values{"id": {id[1]}}); a.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a second test message at once: %s", a.Status)
	}
	if a := o.send("/dashboard/alert-delete", url.Values{"id": {id[1]}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another site's form: %s", a.Status)
	}
	if a := o.send("/dashboard/alert-delete", url.Values{"id": {id[1]}}); a.StatusCode != http.StatusOK || strings.Contains(o.page, id[1]) {
		t.Errorf("delete: %s", a.Status)
	}
	if got := o.query(`select count(*) from push_rules`)[0]; got != "0" {
		t.Errorf("%s rules are left", got)
	}
}

// In each language a visitor makes a key and an alert, tests it, rotates its secret, has messages sent again and deletes it. Each page is in
// that language, and so is each answer to a faulty form.
func TestTheDashboardIsInEveryLanguage(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	english := languages.Or(picks.English).Words
	for _, l := range languages.All() {
		word := func(id string) string { return html.EscapeString(l.Words["key."+id]) }
		query := "?lang=" + string(l.Code)
		look := func(what string, a answer, words ...string) {
			t.Helper()
			page := string(a.body)
			for _, id := range append(words, "title") {
				text := ""
				for _, part := range regexp.MustCompile(`%(\[\d\])?[sd]`).Split(word(id), -1) {
					if len(part) > len(text) {
						text = part
					}
				}
				if text == "" || !strings.Contains(page, text) {
					t.Errorf("%s: %s (%s) lacks %q of %s", l.Code, what, a.Status, text, id)
				}
			}
			if !strings.Contains(page, `<html lang="`+string(l.Code)+`">`) {
				t.Errorf("%s: %s is in another language", l.Code, what)
			}
			for id, text := range english {
				if text == l.Words[id] || !strings.HasPrefix(id, "key.") || len(text) < 25 || strings.Contains(text, "%") {
					continue
				}
				if strings.Contains(page, html.EscapeString(text)) {
					t.Errorf("%s: %s has the English %q", l.Code, what, text)
				}
			}
		}
		o.cookie, o.page = "", ""
		look("the first page", o.open("/dashboard"+query), "create title", "create", "sign in text", "about")
		look("a key that there is not", o.send("/dashboard/sign-in"+query, url.Values{"api_key": {"tmk_live_wrong"}}), "said no key")
		a := o.send("/dashboard/create"+query, url.Values{"name": {""}})
		look("a new key", a, "said created", "store", "alert title", "alert text", "alert on", "alert signal", "alert rearm", "alert severity",
			"on value", "on z_score", "on status", "on new_print", "on revision", "on forecast", "on pick", "on event", "rotate", "revoke", "usage caption")
		rule := url.Values{"on": {"value"}, "signal": {"crack-spread-321"}, "above": {"30.5"}, "rearm": {"28"}, "url": {"https://hooks.example.com/x"}}
		with := func(pairs ...string) url.Values {
			form := maps.Clone(rule)
			for i := 0; i < len(pairs); i += 2 {
				form[pairs[i]] = []string{pairs[i+1]}
			}
			return form
		}
		for said, form := range map[string]url.Values{
			"said bad url": with("url", "https://127.0.0.1/"), "said bad threshold": with("below", "1"), "said bad rearm": with("rearm", "31"),
			"said bad signal": with("signal", "gold"), "said bad on": with("on", "gold"),
			"said bad ticker":   {"on": {"pick"}, "ticker": {"A B"}, "url": rule["url"]},
			"said bad severity": {"on": {"event"}, "min_severity": {"9"}, "url": rule["url"]},
		} {
			look(said, o.send("/dashboard/alert"+query, form), said)
		}
		look("an alert", o.send("/dashboard/alert"+query, rule), "said alert made", "secret title", "secret text", "test", "new secret", "replay", "replay after",
			"delete", "state active", "rule above", "rule rearm", "sent up to")
		if number := strings.Replace("30.5", ".", l.Decimal, 1); !strings.Contains(o.page, number) {
			t.Errorf("%s: the threshold is not written %s", l.Code, number)
		}
		id := url.Values{"id": {regexp.MustCompile(`name="id" value="(alert_[0-9a-z]{26})"`).FindStringSubmatch(o.page)[1]}}
		look("a test message", o.send("/dashboard/alert-test"+query, maps.Clone(id)), "said test sent")
		if o.open("/dashboard" + query); !regexp.MustCompile(`id="balance">\d+` + regexp.QuoteMeta(l.Decimal) + `\d\d<`).MatchString(o.page) {
			t.Errorf("%s: the balance is not written with the language's mark of decimals", l.Code)
		}
		look("a second one", o.send("/dashboard/alert-test"+query, maps.Clone(id)), "said too soon")
		a = o.send("/dashboard/alert-secret"+query, maps.Clone(id))
		look("another secret", a, "said secret rotated", "secret text")
		if !strings.Contains(string(a.body), "whsec_") {
			t.Errorf("%s: the new secret is not shown", l.Code)
		}
		o.query(`update push_rules set asked_at = null`)
		look("a replay", o.send("/dashboard/alert-replay"+query, url.Values{"id": id["id"], "after": {"0"}}), "said replayed")
		look("no cursor", o.send("/dashboard/alert-replay"+query, url.Values{"id": id["id"], "after": {"x"}}), "said bad cursor")
		look("deleted", o.send("/dashboard/alert-delete"+query, maps.Clone(id)), "said alert deleted")
		look("deleted twice", o.send("/dashboard/alert-delete"+query, maps.Clone(id)), "said no alert")
		look("a claim", o.send("/dashboard/claim"+query, url.Values{"tx_hash": {"x"}}), "said bad tx", "tx form", "with")
		if a := o.send("/dashboard/sign-out"+query, url.Values{}); a.Header.Get("Location") != "/dashboard"+query {
			t.Errorf("%s: signed out, the visitor comes to %s", l.Code, a.Header.Get("Location"))
		}
	}
	// Without a language in the address the browser's counts.
	if a := o.ask(http.MethodGet, "/dashboard", "Accept-Language", "pt-BR,pt;q=0.9"); !strings.Contains(string(a.body), languages.Or("pt").Words["key.create title"]) {
		t.Error("a Portuguese browser gets another language")
	}
}

// A refused form of the dashboard keeps what was entered, and says what is wrong beside the field.
func TestARefusedFormKeepsWhatWasEntered(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.send("/dashboard/sign-in", url.Values{"api_key": {o.newKey()}})
	alert := func(pairs ...string) url.Values {
		form := url.Values{
			"on": {"z_score"}, "signal": {"hormuz-transit"}, "above": {"2,5"}, "below": {""}, "rearm": {"1,25"}, "ticker": {""}, "min_severity": {""},
			"url": {"https://hooks.example.com/mine"},
		}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return form
	}
	for _, c := range []struct {
		path, field, said string
		form              url.Values
	}{
		{"/alert", "above", "bad number", alert("above", "much")},
		{"/alert", "below", "bad number", alert("below", "1.000,5", "above", "")},
		{"/alert", "rearm", "bad rearm", alert("rearm", "3,5")},
		{"/alert", "url", "bad url", alert("url", "https://127.0.0.1/")},
		{"/alert", "min_severity", "bad severity", alert("min_severity", "4")},
		{"/alert", "ticker", "bad ticker", alert("on", "pick", "above", "", "rearm", "", "ticker", "A B")},
		{"/top-up", "amount", "bad number", url.Values{"amount": {"1.500"}}},
		{"/top-up", "amount", "bad amount", url.Values{"amount": {"1,5"}}},
		{"/claim", "tx_hash", "bad tx", url.Values{"tx_hash": {"0xFF"}}},
		{"/claim", "signature", "bad signature", url.Values{"tx_hash": {"0x" + strings.Repeat("ab", 32)}, "signature": {"0x1"}}},
	} {
		for _, lang := range []picks.Lang{"es", "pt"} {
			o.open("/dashboard?lang=" + string(lang))
			a := o.send("/dashboard"+c.path+"?lang="+string(lang), c.form)
			page := string(a.body)
			said, _, _ := strings.Cut(languages.Or(lang).Words["key.said "+c.said], "%")
			if a.StatusCode != http.StatusBadRequest || !strings.Contains(page, `id="fault">`+html.EscapeString(said)) {
				t.Errorf("%s, %s: %s says nothing beside the field", lang, c.field, a.Status)
			}
			if !regexp.MustCompile(`name="` + c.field + `"[^>]*aria-invalid="true"`).MatchString(page) {
				t.Errorf("%s, %s: the field is not marked", lang, c.field)
			}
			for name := range c.form {
				value := c.form.Get(name)
				input := regexp.MustCompile(`<input[^>]* name="` + name + `"[^>]* value="` + regexp.QuoteMeta(value) + `"`)
				if value == "" || name == "token" || name == "once" || input.MatchString(page) {
					continue
				}
				if _, list, _ := strings.Cut(page, `<select id="alert-`+strings.TrimPrefix(name, "min_")+`"`); !strings.Contains(list, `<option value="`+value+`" selected>`) {
					t.Errorf("%s, %s: %s=%s is lost", lang, c.field, name, value)
				}
			}
		}
	}
	if n := o.count(`select count(*) from push_rules`); n != 0 {
		t.Errorf("refused forms made %d alerts", n)
	}
}

// Each language has its decimal mark. A point that could stand between thousands is never read as a decimal point where decimals have a comma.
func TestAThresholdIsReadInThePagesLanguage(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.send("/dashboard/sign-in", url.Values{"api_key": {o.newKey()}})
	const refused = ""
	for _, c := range []struct{ entered, comma, point string }{
		{"1,5", "1.5", refused},
		{"1.5", "1.5", "1.5"},
		{"-0,20", "-0.2", refused},
		{"\u22120.25", "-0.25", "-0.25"},
		{"1500", "1500", "1500"},
		{"1,500", "1.5", refused},
		{"1.500", refused, "1.5"},
		{"-12.345", refused, "-12.345"},
		{"0.125", "0.125", "0.125"},
		{".125", "0.125", "0.125"},
		{"1.000,5", refused, refused},
		{"1,000.5", refused, refused},
		{"1 500", refused, refused},
		{"1,", refused, refused},
		{"inf", refused, refused},
	} {
		for _, l := range languages.All() {
			query, want := "?lang="+string(l.Code), c.point
			if l.Decimal == "," {
				want = c.comma
			}
			o.open("/dashboard" + query)
			a := o.send("/dashboard/alert"+query, url.Values{"on": {"value"}, "signal": {"crack-spread-321"}, "above": {c.entered}, "url": {"https://hooks.example.com/"}})
			got := refused
			if a.StatusCode == http.StatusOK {
				got = o.query(`delete from push_rules returning rule->>'above'`)[0]
			}
			if got != want || want == refused && !strings.Contains(string(a.body), l.Words["key.said bad number"]) {
				t.Errorf("%s: %q is read as %q (%s), want %q", l.Code, c.entered, got, a.Status, want)
			}
		}
	}
}

// Browsers send a form again when its result is loaded again. One form makes one alert and one secret.
func TestAFormMakesOneAlertAndOneSecret(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.send("/dashboard/sign-in", url.Values{"api_key": {o.newKey()}})
	for _, l := range languages.All() {
		query := "?lang=" + string(l.Code)
		twice := func(path, said string, form url.Values) {
			t.Helper()
			o.open("/dashboard" + query)
			if a := o.send("/dashboard"+path+query, form); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `id="new-secret"`) {
				t.Fatalf("%s, %s: %s", l.Code, path, a.Status)
			}
			before := o.query(`select coalesce(string_agg(secret, ' ' order by id), '') from push_rules`)
			a := o.send("/dashboard"+path+query, form)
			if a.StatusCode != http.StatusConflict || strings.Contains(string(a.body), `id="new-secret"`) || !strings.Contains(string(a.body), html.EscapeString(l.Words["key.said "+said])) {
				t.Errorf("%s, %s again: %s", l.Code, path, a.Status)
			}
			if after := o.query(`select coalesce(string_agg(secret, ' ' order by id), '') from push_rules`); after[0] != before[0] {
				t.Errorf("%s: %s again changed the secrets", l.Code, path)
			}
			old := maps.Clone(form)
			old.Set("once", "x")
			if a := o.send("/dashboard"+path+query, old); a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.body), l.Words["key.said old page"]) {
				t.Errorf("%s, %s without its id: %s", l.Code, path, a.Status)
			}
		}
		twice("/alert", "alert made before", url.Values{"on": {"status"}, "signal": {"crack-spread-321"}, "url": {"https://hooks.example.com/x"}})
		id := regexp.MustCompile(`name="id" value="(alert_[0-9a-z]{26})"`).FindStringSubmatch(o.page)[1]
		twice("/alert-secret", "secret rotated before", url.Values{"id": {id}})
		if strings.Contains(o.page, "· crack-spread-321") || l.Code == picks.English && !strings.Contains(o.page, "· 3:2:1 crack spread, New York Harbor") {
			t.Errorf("%s: the alert is not listed by the signal's name", l.Code)
		}
		o.query(`delete from push_rules`)
	}
}

// Every notice of the program has its words in every language.
func TestEveryNoticeOfTheDashboardHasItsWords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	ids := api.ClaimNotices()
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bsaid\("([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
			ids = append(ids, "said "+m[1])
		}
	}
	if len(ids) < 40 {
		t.Errorf("only %d notices are found", len(ids))
	}
	for _, l := range languages.All() {
		for _, id := range ids {
			if l.Words["key."+id] == "" {
				t.Errorf("%s has no words for %q", l.EnglishName, id)
			}
		}
	}
}
