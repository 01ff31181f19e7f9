package api_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
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
