package workers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/signals"
)

// A replay sends what came after a cursor once more: in order, each message with the id that it had.
func TestAReplayBeginsAfterItsCursor(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A", "B", "C")
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	_, list := h.stands(id)
	var second int64
	for _, d := range list {
		if d.MessageID == h.sent[1].ID {
			second = *d.PushID
		}
	}
	if n, err := h.api.ReplayPushRule(t.Context(), h.key, id, second-1); err != nil || n != 2 {
		t.Fatalf("%d messages are replayed, %v; want those of B and C", n, err)
	}
	h.picks("D") // what is new follows
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.want("A#1", "B#1", "C#1", "B#2", "C#2", "D#1")
	for i := 1; i <= 2; i++ {
		if first, again := h.sent[i], h.sent[i+2]; first.ID != again.ID || string(first.Body) != string(again.Body) {
			t.Errorf("message %s comes again as %s", first.ID, again.ID)
		}
	}
}

// What becomes known while an alert is disabled is stored, and a replay sends it: in order, before what is new. What the receiver has already, by
// its cursor, does not come.
func TestAnAlertCatchesUpWithWhatItMissedWhileItWasDisabled(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	for reason, status := range map[string]int{"gone": http.StatusGone, "unreachable": http.StatusBadGateway} {
		h.sent = nil
		id := h.rule(pushes.Rule{On: pushes.OnPick})
		h.picks("A")
		if err := h.send(id); err != nil {
			t.Fatal(err)
		}
		h.answer = func(pushes.Message) pushes.Outcome { return pushes.Outcome{Status: status} }
		h.picks("B", "C")
		if reason == "unreachable" {
			h.do(`update push_rules set failures = 40, failing_since = clock_timestamp() - interval '73 hours' where public_id = $1`, id)
		}
		_ = h.send(id)
		if r, _ := h.stands(id); r.DisabledAt == nil || *r.DisabledReason != reason {
			t.Fatalf("%s: %+v", reason, r)
		}
		h.do(`delete from runs where job = 'webhook'`)
		h.picks("D", "E")
		if due, err := h.db.Runs(t.Context(), postgres.RunFilter{Job: task.Webhook, Subject: id, Limit: 1}); err != nil || len(due) > 0 {
			t.Errorf("%s: a disabled alert is served: %+v, %v", reason, due, err)
		}
		h.want("A#1", "B#1")
		h.answer = nil
		_, list := h.stands(id)
		cursor := func(ticker int) int64 { return *list[len(list)-1-ticker].PushID }
		if n, err := h.api.ReplayPushRule(t.Context(), h.key, id, cursor(1)); err != nil || n != 3 {
			t.Fatalf("%s: a replay of %d messages, %v; want those of C, D and E", reason, n, err)
		}
		h.picks("F")
		if err := h.send(id); err != nil {
			t.Fatal(err)
		}
		h.want("A#1", "B#1", "C#1", "D#1", "E#1", "F#1")
	}
}

// A mistyped cursor must not throw away what waits.
func TestAReplayAfterACursorThatNoChangeHasIsRefused(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	id := h.rule(pushes.Rule{On: pushes.OnPick})
	h.picks("A")
	if _, err := h.api.ReplayPushRule(t.Context(), h.key, id, 1_000_000); !errors.Is(err, postgres.ErrCursorAhead) {
		t.Errorf("%v, want %v", err, postgres.ErrCursorAhead)
	}
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.want("A#1")
}

// An alert tells that a number crossed its threshold. One that is made while the number is beyond waits until the number was back.
func TestAnAlertHoldsWhenTheNumberCrossesItsThreshold(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	at := time.Date(2026, time.March, 5, 12, 0, 0, 0, time.UTC)
	number := func(z float64) {
		t.Helper()
		at = at.Add(time.Hour)
		s := postgres.Snapshot{
			Signal: "crack-spread-321", At: at, Status: signals.StatusLive, ObservedAt: &at, KnownAt: &at, Value: new(z), Lo: new(z), Hi: new(z),
			Baseline: new(0.0), Scale: new(1.0), Z: new(z), DeltaPct: new(1.0), N: 9, CodeVersion: "test",
		}
		if err := h.db.SaveSnapshot(t.Context(), task.Fence{}, s, signals.Track{}); err != nil {
			t.Fatal(err)
		}
		if err := h.matcher.Match(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rule := func(on string, above, below, rearm *float64) string {
		return h.rule(pushes.Rule{On: on, Signal: "crack-spread-321", Above: above, Below: below, Rearm: rearm})
	}
	unseen := rule(pushes.OnZScore, new(2.0), nil, nil) // nothing is known of the number: the first one beyond is a crossing
	number(2.5)
	rules := map[string]string{
		"no number before":              unseen,
		"made above":                    rule(pushes.OnZScore, new(2.0), nil, new(1.0)),
		"made above, of the value":      rule(pushes.OnValue, new(2.0), nil, nil),
		"made below":                    rule(pushes.OnZScore, nil, new(3.0), nil),
		"made on the good side":         rule(pushes.OnZScore, new(2.6), nil, nil),
		"made between rearm and bound":  rule(pushes.OnZScore, new(2.6), nil, new(1.0)),
		"made on the good side of down": rule(pushes.OnValue, nil, new(1.1), nil),
	}
	armed := map[string]bool{"made on the good side": true, "made between rearm and bound": true, "made on the good side of down": true}
	for name, id := range rules {
		if r, _ := h.stands(id); r.Armed != armed[name] {
			t.Errorf("%s: armed %t", name, r.Armed)
		}
	}
	for _, z := range []float64{2.7, 1.5, 2.8, 0.9, 2.9, 3.5, 2.9} {
		number(z)
	}
	// The numbers at which each holds.
	want := map[string]string{
		"no number before":              "2.5 2.8 2.9",
		"made above":                    "2.9",
		"made above, of the value":      "2.8 2.9",
		"made below":                    "2.9",
		"made on the good side":         "2.7 2.8 2.9",
		"made between rearm and bound":  "2.7 2.9",
		"made on the good side of down": "0.9",
	}
	for name, id := range rules {
		h.sent = nil
		if err := h.send(id); err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, m := range h.sent {
			var n struct {
				Data struct {
					Data struct {
						Z float64 `json:"z_score"`
					}
				}
			}
			if err := json.Unmarshal(m.Body, &n); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(n.Data.Data.Z))
		}
		if strings.Join(got, " ") != want[name] {
			t.Errorf("%s: held at %v, want %s", name, got, want[name])
		}
	}
}

// Where events are sold, a key with Pro gets the events that its alert selects. A key without Pro gets none, because a selection would tell
// which events are severe. No message has the sold content of an event.
func TestAnAlertAboutEventsHoldsForItsSeverityAndCompanyWhereEventsAreSold(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	h.matcher.Origin.Free = true
	great, company, all := h.rule(pushes.Rule{On: pushes.OnEvent, MinSeverity: new(4)}), h.rule(pushes.Rule{On: pushes.OnEvent, Ticker: "ACME"}), h.rule(pushes.Rule{On: pushes.OnEvent})
	check := func(plan string, want map[string]int) {
		t.Helper()
		for ticker, severity := range map[string]int{"ACME": 2, "OTHR": 4} {
			h.do(`select push('event', 'happened', $1, jsonb_build_object('id', 'ev_' || $1, 'type', 'price_move', 'severity', $2::int, 'ticker', $1::text))`, ticker, severity)
		}
		h.picks()
		for id, n := range want {
			h.sent = nil
			if err := h.send(id); err != nil || len(h.sent) != n {
				t.Errorf("%s: %d messages, want %d: %v", plan, len(h.sent), n, err)
			}
			for _, m := range h.sent {
				if text := string(m.Body); strings.Contains(text, "ACME") || strings.Contains(text, "OTHR") || strings.Contains(text, "severity") {
					t.Errorf("%s: a message tells what is sold: %s", plan, text)
				}
			}
		}
	}
	check("without Pro", map[string]int{great: 0, company: 0, all: 2})
	h.do(`insert into plan_changes (key_id, kind, period, by, reason) select id, 'grant', '1 day', 'op', 'why' from keys`)
	check("with Pro", map[string]int{great: 1, company: 1, all: 2})
}

func TestAChangeThatCannotBeReadHoldsUpNoAlert(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	h.matcher.Metrics = telemetry.NewMetrics("1", "abc", time.Now)
	id := h.rule(pushes.Rule{On: pushes.OnValue, Signal: "crack-spread-321", Above: new(1.0)})
	for _, data := range []string{`{"status":"live","value":7,"z_score":"NaN"}`, `{"status":"live","value":2}`} {
		h.do(`select push('signal:crack-spread-321', 'revision', 'crack-spread-321', $1)`, data)
	}
	h.picks()
	if err := h.send(id); err != nil {
		t.Fatal(err)
	}
	h.want("crack-spread-321#1")
	w := httptest.NewRecorder()
	h.matcher.Metrics.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if want := `tidemark_changes_unreadable_total{place="alerts"} 1`; !strings.Contains(w.Body.String(), want) {
		t.Errorf("the metrics lack %s", want)
	}
}
