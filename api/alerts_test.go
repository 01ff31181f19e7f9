package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/internal/postgres"
)

// alertsFixture is a system whose keys can have alerts, and the requests of one key.
type alertsFixture struct {
	*billingFixture

	owner   string
	options api.Options
}

func newAlertsFixture(t *testing.T) *alertsFixture {
	t.Helper()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	s.save(full())
	s.eventually("the signal", func() bool { return s.view.State().Signal("crack-spread-321") != nil })
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	db := s.open(postgres.RoleAPI)
	s.madeUp = false
	f := &alertsFixture{billingFixture: s, owner: s.key()}
	f.options = api.Options{View: s.view, Pushes: db, Accounts: &api.Accounts{DB: db, Tariff: tariff, Now: time.Now}}
	s.serve(f.options)
	return f
}

func (f *alertsFixture) by(key, method, path, body string) answer {
	f.t.Helper()
	return f.askWith(method, "/api/v1/alerts"+path, body, "Authorization", "Bearer "+key)
}

const onZ = `{"rule":{"on":"z_score","signal":"crack-spread-321","above":2,"rearm":1.5},"url":"https://hooks.example.com/x"}`

// made makes an alert and returns its id.
func (f *alertsFixture) made() (id string, whole map[string]any) {
	f.t.Helper()
	a := f.by(f.owner, http.MethodPost, "", onZ)
	if a.StatusCode != http.StatusCreated {
		f.t.Fatalf("%s: %s", a.Status, a.body)
	}
	whole = f.object(a)["data"].(map[string]any)
	return whole["id"].(string), whole
}

func TestAnAlertIsMadeListedAndDeletedByItsKey(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	id, whole := f.made()
	secret, _ := whole["secret"].(string)
	if !strings.HasPrefix(secret, "whsec_") || whole["status"] != "active" {
		t.Errorf("made: %v", whole)
	}
	for _, path := range []string{"", "/" + id} {
		a := f.by(f.owner, http.MethodGet, path, "")
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), id) || strings.Contains(string(a.body), "whsec_") {
			t.Errorf("GET %s: %s: %s", path, a.Status, a.body)
		}
	}
	other := f.key()
	if a := f.by(other, http.MethodGet, "", ""); strings.Contains(string(a.body), id) {
		t.Errorf("another key lists it: %s", a.body)
	}
	for _, r := range [][3]string{
		{http.MethodGet, "", ""}, {http.MethodDelete, "", ""}, {http.MethodPost, "/test", ""}, {http.MethodPost, "/secret", ""}, {http.MethodPost, "/replay", `{"after":"0"}`},
	} {
		f.problem(f.by(other, r[0], "/"+id+r[1], r[2]), http.StatusNotFound, "not_found")
		f.problem(f.askWith(r[0], "/api/v1/alerts/"+id+r[1], r[2]), http.StatusUnauthorized, "missing_api_key")
	}
	a := f.by(f.owner, http.MethodPost, "/"+id+"/secret", "")
	next, _ := f.object(a)["data"].(map[string]any)["secret"].(string)
	if a.StatusCode != http.StatusOK || !strings.HasPrefix(next, "whsec_") || next == secret {
		t.Errorf("rotate: %s: %s", a.Status, a.body)
	}
	until, _ := f.object(a)["data"].(map[string]any)["old_expires_at"].(string)
	p := f.problem(f.by(f.owner, http.MethodPost, "/"+id+"/secret", ""), http.StatusBadRequest, "invalid_request")
	if detail, _ := p["detail"].(string); until == "" || !strings.Contains(detail, until) {
		t.Errorf("a second rotation is refused with %q, want the instant %s", detail, until)
	}
	if a := f.by(f.owner, http.MethodPost, "/"+id+"/test", ""); a.StatusCode != http.StatusAccepted {
		t.Errorf("test: %s: %s", a.Status, a.body)
	}
	f.problem(f.by(f.owner, http.MethodPost, "/"+id+"/replay", `{"after":"0"}`), http.StatusTooManyRequests, "rate_limited")
	if got := f.query(`select job, queue, status from runs where job = 'webhook'`); len(got) != 1 || got[0] != "webhook webhooks due" {
		t.Errorf("the runs of the test message: %v", got)
	}
	if a := f.by(f.owner, http.MethodDelete, "/"+id, ""); a.StatusCode != http.StatusNoContent {
		t.Errorf("delete: %s: %s", a.Status, a.body)
	}
	if got := f.query(`select (select count(*) from push_rules), (select count(*) from push_deliveries)`)[0]; got != "0 0" {
		t.Errorf("%s rows are left", got)
	}
	if a := f.ask(http.MethodPatch, "/api/v1/alerts/"+id); a.Header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS" {
		t.Errorf("Allow: %s", a.Header.Get("Allow"))
	}
}

func TestAnAlertThatCannotBeIsRefusedWithItsMember(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	for body, pointer := range map[string]string{
		`{"url":"https://hooks.example.com/"}`:                                                                         "/rule",
		`{"rule":{"on":"pick"}}`:                                                                                       "/url",
		`{"rule":{"on":"weather"},"url":"https://hooks.example.com/"}`:                                                 "/rule/on",
		`{"rule":{"on":"value","signal":"none","above":1},"url":"https://hooks.example.com/"}`:                         "/rule/signal",
		`{"rule":{"on":"value","signal":"crack-spread-321","above":1,"below":2},"url":"https://hooks.example.com/"}`:   "/rule/above",
		`{"rule":{"on":"value","signal":"crack-spread-321","above":"much"},"url":"https://hooks.example.com/"}`:        "/rule/above",
		`{"rule":{"on":"pick"},"url":"http://hooks.example.com/"}`:                                                     "/url",
		`{"rule":{"on":"pick"},"url":"https://127.0.0.1/"}`:                                                            "/url",
		`{"rule":{"on":"pick"},"url":"https://169.254.169.254/latest/meta-data/"}`:                                     "/url",
		`{"rule":{"on":"pick"},"url":"https://[::ffff:10.0.0.1]/"}`:                                                    "/url",
		`{"rule":{"on":"pick"},"url":"https://localhost/"}`:                                                            "/url",
		`{"rule":{"on":"value","signal":"crack-spread-321","above":1,"rearmed":0},"url":"https://hooks.example.com/"}`: "/rule/rearmed",
		`{"rule":{"on":"pick","Ticker":"ACME"},"url":"https://hooks.example.com/"}`:                                    "/rule/Ticker",
		`{"rule":{"on":"pick"},"url":"https://hooks.example.com/","secret":"x"}`:                                       "/secret",
		`{"rule":{"on":"pick","a/b":{}},"url":"https://hooks.example.com/"}`:                                           "/rule/a~1b",
	} {
		p := f.problem(f.by(f.owner, http.MethodPost, "", body), http.StatusBadRequest, "invalid_parameter")
		if errs, _ := p["errors"].([]any); len(errs) != 1 || errs[0].(map[string]any)["pointer"] != pointer {
			t.Errorf("%s: %v, want %s", body, p["errors"], pointer)
		}
	}
	if got := f.query(`select count(*) from push_rules`)[0]; got != "0" {
		t.Errorf("%s rules were made", got)
	}
}

func TestAMemberOfAnotherTypeIsRefusedInWordsOfJSON(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	for rule, want := range map[string]string{
		`[]`:                                 "This is an array where an object is expected.",
		`"pick"`:                             "This is a string where an object is expected.",
		`5`:                                  "This is a number where an object is expected.",
		`{"on":5}`:                           "This is a number where a string is expected.",
		`{"on":{}}`:                          "This is an object where a string is expected.",
		`{"on":"event","min_severity":true}`: "This is true or false where a whole number is expected.",
		`{"on":"event","min_severity":4.5}`:  "This is the number 4.5 where a whole number is expected.",
		`{"on":"value","above":"much"}`:      "This is a string where a number of at most 1.79e308 is expected.",
		`{"on":"value","above":1e400}`:       "This is the number 1e400 where a number of at most 1.79e308 is expected.",
	} {
		a := f.by(f.owner, http.MethodPost, "", `{"url":"https://hooks.example.com/","rule":`+rule+`}`)
		if p := f.problem(a, http.StatusBadRequest, "invalid_parameter"); p["detail"] != want {
			t.Errorf("%s: %v, want %s", rule, p["detail"], want)
		}
	}
}

// Where events are sold, an alert for a company would tell for nothing which events are about it. A key with Pro can read them all.
func TestWhereEventsAreSoldOnlyAKeyWithProSelectsThem(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	f.options.Free = true
	f.serve(f.options)
	bodies := map[string]string{
		"/rule/min_severity": `{"rule":{"on":"event","min_severity":4},"url":"https://hooks.example.com/"}`,
		"/rule/ticker":       `{"rule":{"on":"event","ticker":"ACME"},"url":"https://hooks.example.com/"}`,
	}
	for pointer, body := range bodies {
		p := f.problem(f.by(f.owner, http.MethodPost, "", body), http.StatusBadRequest, "invalid_parameter")
		if errs, _ := p["errors"].([]any); len(errs) != 1 || errs[0].(map[string]any)["pointer"] != pointer {
			t.Errorf("%s: %v, want %s", body, p["errors"], pointer)
		}
	}
	if a := f.by(f.owner, http.MethodPost, "", `{"rule":{"on":"event"},"url":"https://hooks.example.com/"}`); a.StatusCode != http.StatusCreated {
		t.Errorf("all events: %s: %s", a.Status, a.body)
	}
	f.query(`insert into plan_changes (key_id, kind, period, by, reason) select id, 'grant', '1 day', 'op', 'why' from keys returning id`)
	for _, body := range bodies {
		f.eventually("a key with Pro to make "+body, func() bool { return f.by(f.owner, http.MethodPost, "", body).StatusCode == http.StatusCreated })
	}
}

func TestAKeyHasABoundedNumberOfAlerts(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	for range postgres.MaxPushRules {
		f.made()
	}
	f.problem(f.by(f.owner, http.MethodPost, "", onZ), http.StatusBadRequest, "invalid_request")
	if got := f.query(`select count(*) from push_rules`)[0]; got != fmt.Sprint(postgres.MaxPushRules) {
		t.Errorf("%s rules", got)
	}
}

// Who gets into the API process must not be able to sign messages to the receivers of others.
func TestTheAPIsLoginReadsNoSecretOfAWebhook(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	f.made()
	got := f.query(`
		select c.column_name from information_schema.columns c
		where c.table_name = 'push_rules' and has_column_privilege('tidemark_api', 'push_rules', c.column_name, 'select') and c.column_name like '%secret%'
		union all
		select p from unnest(array['insert', 'update', 'delete']) p
		where has_table_privilege('tidemark_api', 'push_rules', p) or has_table_privilege('tidemark_api', 'push_deliveries', p)`)
	if len(got) != 0 {
		t.Errorf("the API's login has %v", got)
	}
}
