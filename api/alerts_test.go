package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
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

func TestASecretIsRotatedOnceForAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	id, whole := f.made()
	rotate := func(once, body string) answer {
		return f.askWith(http.MethodPost, "/api/v1/alerts/"+id+"/secret", body, "Authorization", "Bearer "+f.owner, "Idempotency-Key", once)
	}
	first := rotate("once", "")
	secret, _ := f.object(first)["data"].(map[string]any)["secret"].(string)
	if first.StatusCode != http.StatusOK || !strings.HasPrefix(secret, "whsec_") || secret == whole["secret"] {
		t.Fatalf("rotate: %s: %s", first.Status, first.body)
	}
	if again := rotate("once", ""); again.StatusCode != http.StatusOK || string(again.body) != string(first.body) {
		t.Errorf("after a lost answer: %s: %s, want %s", again.Status, again.body, first.body)
	}
	if got := f.query(`select secret from push_rules`)[0]; got != secret {
		t.Errorf("the rule has the secret %s, and the client %s", got, secret)
	}
	f.problem(rotate("once", "{}"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	f.problem(rotate("another", ""), http.StatusBadRequest, "invalid_request") // the old one still signs
	for path, body := range map[string]string{"/secret": `{"keep":1}`, "/test": `{"to":"x"}`, "/replay": `{"after":"0","before":"9"}`} {
		f.problem(f.by(f.owner, http.MethodPost, "/"+id+path, body), http.StatusBadRequest, "invalid_parameter") // the member means nothing
	}
}

func TestAnAlertIsMadeOnceForAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	post := func(key, once, body string) answer {
		return f.askWith(http.MethodPost, "/api/v1/alerts", body, "Authorization", "Bearer "+key, "Idempotency-Key", once)
	}
	// Ten at once, as a client that gives up and repeats.
	answers := make([]answer, 10)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = post(f.owner, "once", onZ) })
	}
	all.Wait()
	first := answers[0]
	data, _ := f.object(first)["data"].(map[string]any)
	id, _ := data["id"].(string)
	for _, a := range append(answers, post(f.owner, "once", onZ)) { // the last one after a lost answer
		if a.StatusCode != http.StatusCreated || string(a.body) != string(first.body) || !strings.HasSuffix(a.Header.Get("Location"), "/api/v1/alerts/"+id) {
			t.Errorf("%s, at %s: %s, want that of the first: %s", a.Status, a.Header.Get("Location"), a.body, first.body)
		}
	}
	count := func(key string, want int) {
		t.Helper()
		if list := f.object(f.by(key, http.MethodGet, "", ""))["data"].([]any); len(list) != want {
			t.Errorf("the key has %d alerts, want %d", len(list), want)
		}
	}
	count(f.owner, 1)
	secret, _ := data["secret"].(string)
	if !strings.HasPrefix(secret, "whsec_") || f.query(`select count(*) from kept_answers where position(convert_to('` + secret + `', 'UTF8') in answer) > 0`)[0] != "0" {
		t.Errorf("the secret %q is kept in the answer as it is", secret)
	}
	other := strings.Replace(onZ, `"above":2`, `"above":3`, 1)
	f.problem(post(f.owner, "once", other), http.StatusUnprocessableEntity, "idempotency_key_reused")
	f.problem(post(f.owner, strings.Repeat("x", 256), onZ), http.StatusBadRequest, "invalid_request")
	// A refused request leaves nothing behind, and another caller has other keys.
	f.problem(post(f.owner, "refused", strings.Replace(onZ, "crack-spread-321", "none", 1)), http.StatusBadRequest, "invalid_parameter")
	if a := post(f.owner, "refused", other); a.StatusCode != http.StatusCreated || f.object(a)["data"].(map[string]any)["id"] == id {
		t.Errorf("after a refusal: %s: %s", a.Status, a.body)
	}
	stranger := f.key()
	if a := post(stranger, "once", onZ); a.StatusCode != http.StatusCreated || strings.Contains(string(a.body), id) {
		t.Errorf("another key: %s: %s", a.Status, a.body)
	}
	count(f.owner, 2)
	count(stranger, 1)
	// The answer of the first request is repeated, also when the alert is deleted since.
	if a := f.by(f.owner, http.MethodDelete, "/"+id, ""); a.StatusCode != http.StatusNoContent {
		t.Fatalf("delete: %s", a.Status)
	}
	if a := post(f.owner, "once", onZ); string(a.body) != string(first.body) {
		t.Errorf("after it is deleted: %s: %s", a.Status, a.body)
	}
	count(f.owner, 1)
}

// TestMessagesToWebhooksAreAsDescribed sends messages as a worker does and compares each request with the description. The signal's change was
// written by the database; the others have its members (test/conformance compares a sandbox's messages).
func TestMessagesToWebhooksAreAsDescribed(t *testing.T) {
	t.Parallel()
	f := newAlertsFixture(t)
	d, err := description()
	if err != nil {
		t.Fatal(err)
	}
	kind, received := "", 0
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = d.CheckMessage(kind, r.Header, body)
		}
		if err != nil {
			t.Errorf("%v: %s", err, body)
		}
		received++
		other := map[string]string{"signal": "pick", "pick": "event", "event": "forecast", "forecast": "test", "test": "signal"}[kind]
		if d.CheckMessage(other, r.Header, body) == nil {
			t.Errorf("a message of the type %s is one of %s, too: %s", kind, other, body)
		}
		r.Header.Del("Webhook-Id")
		if d.CheckMessage(kind, r.Header, body) == nil {
			t.Errorf("a message of the type %s needs no webhook-id", kind)
		}
	}))
	defer receiver.Close()
	secret, err := pushes.NewSecret()
	if err != nil {
		t.Fatal(err)
	}
	sender := pushes.NewSender(pushes.SenderOptions{Private: true, Agent: "test", Now: time.Now})
	send := func(of string, body []byte, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		kind = of
		if o, err := sender.Send(t.Context(), pushes.Message{URL: receiver.URL, ID: "msg_1", Body: body, Attempt: 1, Secrets: []string{secret}}); err != nil || !o.Accepted() {
			t.Errorf("%s: %+v, %v", of, o, err)
		}
	}
	for _, data := range []string{
		`'pick', 'announced', 'NVDA', '{"seq": 1, "ticker": "NVDA", "name": "NVIDIA", "date": "2026-03-02", "price": "178.80", "currency": "USD", "announced_at": "2026-03-02T23:00:00+00:00", "hash": "` + strings.Repeat("0f", 32) + `"}'`,
		`'event', 'happened', 'NVDA', '{"id": "ev_1", "type": "price_move", "severity": 3, "ticker": "NVDA", "occurred_at": "2026-03-02T23:00:00+00:00", "change_pct": null}'`,
	} {
		f.query(`select push(` + data + `)::text`)
	}
	rows, err := f.open(postgres.RoleAPI).Pushes(t.Context(), 0, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		for _, free := range []bool{false, true} {
			c, err := f.view.NewChange(row, free)
			if err != nil {
				t.Fatal(err)
			}
			body, err := pushes.NewNotice("alert_1", c)
			of, _, _ := strings.Cut(row.Topic, ":")
			send(of, body, err)
		}
	}
	body, err := pushes.NewTest("alert_1", time.Now())
	send(pushes.TypeTest, body, err)
	if received < 7 {
		t.Errorf("%d messages came, want those of a signal, a pick and an event, each twice, and a test", received)
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
