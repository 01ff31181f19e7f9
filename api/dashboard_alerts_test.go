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
