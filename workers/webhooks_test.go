package workers_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
	"tidemark/internal/task"
	"tidemark/workers"
)

// hooks is a database with a key, and the job that sends, whose receiver is a function of the test.
type hooks struct {
	t       *testing.T
	dsn     string
	db, api *postgres.DB
	key     int64
	hash    accounts.KeyHash
	matcher *workers.Matcher
	job     workers.Webhooks

	mu   sync.Mutex
	sent []pushes.Message
	// answer is the receiver's. Nil accepts everything.
	answer func(m pushes.Message) pushes.Outcome
}

func newHooks(t *testing.T) *hooks {
	t.Helper()
	h := &hooks{t: t, dsn: pgtest.New(t)}
	for role, db := range map[string]**postgres.DB{postgres.RoleWorker: &h.db, postgres.RoleAPI: &h.api} {
		var err error
		if *db, err = postgres.Open(t.Context(), h.dsn, role); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*db).Close)
	}
	if _, err := h.db.EnsureWorld(t.Context(), "sandbox", nil); err != nil {
		t.Fatal(err)
	}
	key, err := accounts.NewTestKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.api.Register(t.Context(), postgres.Registration{PublicID: "key_" + strings.Repeat("0", 26), Name: "test", Key: key}, nil,
		func(made postgres.Registered) ([]byte, error) { h.key = made.ID; return nil, nil }); err != nil {
		t.Fatal(err)
	}
	h.hash = key.Hash()
	h.matcher = &workers.Matcher{DB: h.db, Log: slog.New(slog.DiscardHandler), Origin: pushes.Origin{
		PublicURL: "https://tidemark.example", Environment: "demo", Round: postgres.Rounded,
	}}
	h.job = workers.Webhooks{DB: h.db, Sender: h, Now: time.Now}
	return h
}

// Send implements workers.MessageSender.
func (h *hooks) Send(_ context.Context, m pushes.Message) (pushes.Outcome, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, m)
	if h.answer == nil {
		return pushes.Outcome{Status: http.StatusOK}, nil
	}
	return h.answer(m), nil
}

// rule makes a rule and returns its id.
func (h *hooks) rule(r pushes.Rule) string {
	h.t.Helper()
	id := "alert_" + strings.ToLower(rand.Text())
	text, err := json.Marshal(r)
	if err != nil {
		h.t.Fatal(err)
	}
	one := postgres.PushRule{PublicID: id, KeyID: h.key, Topic: r.Topic(), Rule: text, URL: "https://hooks.example.com/"}
	if _, err := h.api.CreatePushRule(h.t.Context(), one, "whsec_c2VjcmV0", nil, func(postgres.PushRule) ([]byte, error) { return nil, nil }); err != nil {
		h.t.Fatal(err)
	}
	return id
}

// do runs a statement as the superuser.
func (h *hooks) do(sql string, args ...any) {
	h.t.Helper()
	c, err := pgx.Connect(h.t.Context(), h.dsn)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(h.t.Context())) }()
	if _, err := c.Exec(h.t.Context(), sql, args...); err != nil {
		h.t.Fatalf("%s: %v", sql, err)
	}
}

// picks pushes announced picks of tickers, and compares them with the rules.
func (h *hooks) picks(tickers ...string) {
	h.t.Helper()
	for _, ticker := range tickers {
		h.do(`select push('pick', 'announced', $1, jsonb_build_object('ticker', $1::text))`, ticker)
	}
	if err := h.matcher.Match(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// send runs the job for a rule once.
func (h *hooks) send(id string) error {
	h.t.Helper()
	return h.job.Run(h.t.Context(), claimed(h.t, h.db, task.Webhook, id, time.Now().UTC().Truncate(time.Microsecond)))
}

// received are the tickers of the messages, in their order, each with the number of its attempt.
func (h *hooks) received() (list []string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.sent {
		var n struct {
			Type string
			Data struct{ Subject string }
		}
		if err := json.Unmarshal(m.Body, &n); err != nil {
			h.t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s#%d", n.Data.Subject, m.Attempt))
	}
	return list
}

func (h *hooks) want(want ...string) {
	h.t.Helper()
	if got := h.received(); !slices.Equal(got, want) {
		h.t.Fatalf("received %v, want %v", got, want)
	}
}

func (h *hooks) stands(id string) (postgres.PushRule, []postgres.PushDelivery) {
	h.t.Helper()
	r, list, err := h.api.PushRuleOf(h.t.Context(), h.key, id, 100)
	if err != nil {
		h.t.Fatal(err)
	}
	return r, list
}

func TestAChangeReachesAWebhookOnceAndInOrder(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	h.picks("EARLY") // before the rule: it does not count
	id, other := h.rule(pushes.Rule{On: pushes.OnPick}), h.rule(pushes.Rule{On: pushes.OnPick, Ticker: "B"})
	h.picks("A", "B", "C")
	h.picks()
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.want("A#1", "B#1", "C#1")
	if err := h.send(other); err != nil {
		t.Fatal(err)
	}
	h.want("A#1", "B#1", "C#1", "B#1")
	for _, again := range []string{id, other} {
		if err := h.send(again); err != nil {
			t.Fatal(err)
		}
	}
	h.want("A#1", "B#1", "C#1", "B#1")
	ids := map[string]bool{}
	for _, m := range h.sent {
		ids[m.ID] = true
	}
	if len(ids) != 4 {
		t.Errorf("4 messages have %d ids", len(ids))
	}
	due, err := h.db.Runs(t.Context(), postgres.RunFilter{Job: task.Webhook, Subject: id, Limit: 10})
	if err != nil || !slices.ContainsFunc(due, func(r postgres.Run) bool { return r.Trigger == task.TriggerData && r.Queue == task.Webhooks }) {
		t.Errorf("no task was made due: %+v, %v", due, err)
	}
}

func TestAFailedMessageHoldsUpThoseAfterItAndKeepsItsID(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A", "B")
	h.answer = func(pushes.Message) pushes.Outcome { return pushes.Outcome{Status: http.StatusServiceUnavailable} }
	pauses := []time.Duration{}
	for range 3 {
		pause, later := workers.LaterIn(h.send(id))
		if !later {
			t.Fatal("a failed message is not tried again")
		}
		pauses = append(pauses, pause)
		if pause, later := workers.LaterIn(h.send(id)); !later || pause <= 0 { // too early: nothing is sent
			t.Fatalf("the pause is not kept: %s", pause)
		}
		h.do(`update push_rules set next_try_at = clock_timestamp()`)
	}
	if pauses[0] < 5*time.Second || pauses[1] < 15*time.Second || pauses[2] < 45*time.Second {
		t.Errorf("the pauses are %v", pauses)
	}
	h.answer = nil
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.want("A#1", "A#2", "A#3", "A#4", "B#1")
	if h.sent[0].ID != h.sent[3].ID {
		t.Errorf("one message has the ids %s and %s", h.sent[0].ID, h.sent[3].ID)
	}
	if r, list := h.stands(id); r.Failures != 0 || r.FailingSince != nil || len(list) != 2 || list[0].State != "delivered" {
		t.Errorf("%+v %+v", r, list)
	}
}

// The receiver has the message, and the worker dies before it can record that.
func TestAMessageWhoseOutcomeIsLostIsSentAgainWithTheSameID(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A")
	h.answer = func(pushes.Message) pushes.Outcome {
		h.do(`update runs set attempt = attempt + 1 where job = 'webhook'`) // a scheduler took the run from the worker
		return pushes.Outcome{Status: http.StatusOK}
	}
	if err := h.send(id); !errors.Is(err, postgres.ErrFenced) {
		t.Fatalf("%v, want the attempt fenced", err)
	}
	h.answer = nil
	h.do(`update push_rules set busy_until = clock_timestamp() - interval '1 second'`)
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.want("A#1", "A#2")
	if len(h.sent) != 2 || h.sent[0].ID != h.sent[1].ID || string(h.sent[0].Body) != string(h.sent[1].Body) {
		t.Errorf("%+v", h.sent)
	}
}

func TestTwoRunsNeverSendForOneRule(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A", "B")
	h.answer = func(pushes.Message) pushes.Outcome {
		h.mu.Unlock()
		defer h.mu.Lock()
		if pause, later := workers.LaterIn(h.send(id)); !later || pause == 0 {
			t.Error("a second run sends for the rule")
		}
		return pushes.Outcome{Status: http.StatusOK}
	}
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.want("A#1", "B#1")
}

func TestMatchersBesideEachOtherStoreEachMessageOnce(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				if err := h.matcher.Match(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 20 {
		h.do(`select push('pick', 'announced', $1, '{}')`, fmt.Sprintf("T%d", i))
	}
	all.Wait()
	h.picks()
	if _, list := h.stands(id); len(list) != 20 {
		t.Errorf("%d messages of 20 changes", len(list))
	}
}

func TestAWebhookThatIsGoneOrFailsForThreeDaysIsDisabled(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	for reason, status := range map[string]int{"gone": http.StatusGone, "unreachable": http.StatusBadGateway} {
		id := h.rule(pushes.Rule{On: pushes.OnPick})
		h.picks("A", "B")
		h.answer = func(pushes.Message) pushes.Outcome { return pushes.Outcome{Status: status} }
		if reason == "unreachable" {
			h.do(`update push_rules set failures = 40, failing_since = clock_timestamp() - interval '73 hours' where public_id = $1`, id)
			h.do(`update push_deliveries set expires_at = clock_timestamp() - interval '1 second' where push_id = (select min(push_id) from push_deliveries d
				join push_rules r on r.id = d.rule_id where r.public_id = $1)`, id)
		}
		_ = h.send(id)
		r, list := h.stands(id)
		if r.DisabledAt == nil || *r.DisabledReason != reason || r.NextTryAt != nil {
			t.Errorf("%s: %+v", reason, r)
		}
		if reason == "unreachable" && list[1].State != "given_up" {
			t.Errorf("a message that was pending for three days is %s", list[1].State)
		}
		if _, skipped := workers.Skipped(h.send(id)); !skipped {
			t.Errorf("%s: a disabled rule sends", reason)
		}
		// A replay enables it, and sends what was kept.
		h.answer = nil
		before := len(h.sent)
		if n, err := h.api.ReplayPushRule(t.Context(), h.key, id, 0); err != nil || n != 2 {
			t.Fatalf("a replay of %d messages: %v", n, err)
		}
		if err := h.send(id); err != nil || len(h.sent) != before+2 {
			t.Errorf("%s: a replay sends %d messages: %v", reason, len(h.sent)-before, err)
		}
		if _, err := h.api.ReplayPushRule(t.Context(), h.key, id, 0); !errors.Is(err, postgres.ErrTooSoon) {
			t.Errorf("a second replay at once: %v", err)
		}
	}
}

func TestATestMessageIsTriedOnceAlsoWhileTheWebhookFails(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A")
	h.answer = func(pushes.Message) pushes.Outcome { return pushes.Outcome{Fault: "no response in time"} }
	_ = h.send(id)
	if err := h.api.TestPushRule(t.Context(), h.key, id, "msg_test_1", []byte(`{"type":"test"}`)); err != nil {
		t.Fatal(err)
	}
	if _, later := workers.LaterIn(h.send(id)); !later {
		t.Error("the message before the test is not tried again")
	}
	_, list := h.stands(id)
	if list[0].MessageID != "msg_test_1" || list[0].State != "failed" || list[0].Attempts != 1 || *list[0].Fault != "no response in time" || list[1].State != "pending" {
		t.Errorf("%+v", list)
	}
	if err := h.api.TestPushRule(t.Context(), h.key, id, "msg_test_2", nil); !errors.Is(err, postgres.ErrTooSoon) {
		t.Errorf("a second test at once: %v", err)
	}
}

func TestAKeyThatHasEndedSendsNothing(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A")
	if err := h.api.RevokeOwn(t.Context(), h.hash, "test"); err != nil {
		t.Fatal(err)
	}
	h.picks("B")
	if _, skipped := workers.Skipped(h.send(id)); !skipped || len(h.sent) != 0 {
		t.Errorf("%d messages of a key that has ended", len(h.sent))
	}
	if _, list := h.stands(id); len(list) != 1 {
		t.Errorf("%d messages were stored, want the first only", len(list))
	}
}

// Whatever became of the run that should have sent: what waits is found again.
func TestAWebhookThatWaitsWithoutARunIsFound(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A")
	h.do(`update runs set status = 'failed', finished_at = clock_timestamp() where job = 'webhook'`)
	if err := h.db.RecheckWebhooks(t.Context()); err != nil {
		t.Fatal(err)
	}
	due, err := h.db.Runs(t.Context(), postgres.RunFilter{Job: task.Webhook, Subject: id, Status: "due", Limit: 10})
	if err != nil || len(due) != 1 {
		t.Errorf("%d runs are due: %v", len(due), err)
	}
}

func TestBothSecretsSignWhileOneReplacesTheOther(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A")
	rotate := func(secret string) error {
		_, _, err := h.api.RotatePushSecret(t.Context(), h.key, id, secret, nil, func(time.Time) ([]byte, error) { return nil, nil })
		return err
	}
	if err := rotate("whsec_bmV3"); err != nil {
		t.Fatal(err)
	}
	if err := rotate("whsec_dGhpcmQ"); !errors.Is(err, postgres.ErrOldSecretSigns) {
		t.Errorf("the old secret would not sign as long as was said: %v", err)
	}
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.do(`update push_rules set old_secret_until = clock_timestamp() - interval '1 second'`)
	h.picks("B")
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	if a, b := h.sent[0].Secrets, h.sent[1].Secrets; !slices.Equal(a, []string{"whsec_bmV3", "whsec_c2VjcmV0"}) || !slices.Equal(b, []string{"whsec_bmV3"}) {
		t.Errorf("signed with %v, then %v", a, b)
	}
	if err := rotate("whsec_dGhpcmQ"); err != nil {
		t.Errorf("after a day: %v", err)
	}
}
