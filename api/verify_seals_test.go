package api_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/chain"
	"tidemark/chain/tlog"
	"tidemark/internal/calendar"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// keepLog begins the record's log, and returns the step of its sequencer.
func (l *ledger) keepLog() (sequence func()) {
	t := l.t
	t.Helper()
	keys, err := tlog.NewLogKey(rand.Reader, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer := &markedSigner{}
	if signer.Signer, err = tlog.NewSigner(keys.Private); err != nil {
		t.Fatal(err)
	}
	if err := l.worker.BeginLog(t.Context(), postgres.LogStart{Log: postgres.LogRecord, Origin: signer.Origin(), VKey: signer.VKey(), Environment: "demo"}); err != nil {
		t.Fatal(err)
	}
	sequence = func() {
		t.Helper()
		for range 2 {
			if _, err := l.worker.NumberLeaves(t.Context(), postgres.LogRecord); err != nil {
				t.Fatal(err)
			}
			if _, _, err := l.worker.IntegrateLeaves(t.Context(), postgres.LogRecord, signer); err != nil {
				t.Fatal(err)
			}
		}
	}
	sequence()
	return sequence
}

// seals returns the open seals and the faults of the chain's answer, and the outcome of its check.
func (l *ledger) seals() (open, faults []any, check any) {
	l.t.Helper()
	body := l.get("/api/v1/verify/picks")
	seals := body["seals"].(map[string]any)
	return seals["open"].([]any), seals["faults"].([]any), body["checks"].(map[string]any)["seals"]
}

func TestASealWithoutARevealIsNamedByItsDay(t *testing.T) {
	t.Parallel()
	l := serveRecord(t, pgtest.New(t), "2026-02-12")
	sequence := l.keepLog()
	const sealed = "2026-02-17"
	fault := func(want string, proven bool) {
		t.Helper()
		l.eventually("the fault "+want, func() bool {
			_, faults, check := l.seals()
			if len(faults) != 1 || check != view.CheckFailed {
				return false
			}
			f := faults[0].(map[string]any)
			return f["date"] == sealed && f["fault"] == want && f["contradicts"] == proven && strings.Contains(f["text"].(string), sealed)
		})
	}
	l.pick("AAPL", "243.85", "2026-02-13", true)
	sequence()
	l.eventually("the first seal", func() bool { _, faults, check := l.seals(); return len(faults) == 0 && check == view.CheckOK })
	first := l.get("/api/v1/verify/pick/AAPL")
	if s := first["seal"].(map[string]any); s["fault"] != nil || s["reveal_index"] == nil || first["checks"].(map[string]any)["seal"] != view.CheckOK {
		t.Errorf("revealed: %v", first)
	}

	secret := l.pick("NVDA", "182.50", sealed, false)
	sequence()
	l.eventually("the open seal", func() bool {
		open, faults, check := l.seals()
		return len(open) == 1 && open[0].(map[string]any)["date"] == sealed && len(faults) == 0 && check == view.CheckPending
	})
	l.clock(sealed, 18*time.Hour+10*time.Minute+time.Second)
	fault(view.SealMissing, false)
	if got := l.ask(http.MethodGet, "/api/v1/verify/pick/AAPL?date="+sealed); got.StatusCode != http.StatusNotFound || !strings.Contains(string(got.body), "was sealed and had to be revealed by 2026-02-17 23:10") {
		t.Errorf("asked for the day: %s", got.body)
	}
	// The log continues without the reveal.
	if err := l.worker.Correct(t.Context(), chain.Correction{Seq: 1, What: "the close was 243.80", Evidence: "https://example.org/", Date: sealed}, "operator"); err != nil {
		t.Fatal(err)
	}
	sequence()
	fault(view.SealMissing, true)
	for _, path := range []string{"/api/v1/verify/picks", "/api/v1/verify/pick/AAPL?date=" + sealed, "/api/v1/verify/pick/NVDA"} {
		if body := string(l.ask(http.MethodGet, path).body); strings.Contains(body, secret.Hash) || strings.Contains(body, "182.50") || strings.Contains(body, `"NVDA"`) {
			t.Errorf("%s shows the pick: %s", path, body)
		}
	}

	if _, err := l.worker.AnnounceDue(t.Context(), task.Fence{}, calendar.At(l.day(sealed), 18*time.Hour+11*time.Minute)); err != nil {
		t.Fatal(err)
	}
	sequence()
	fault(view.SealLate, false)
	late := l.get("/api/v1/verify/pick/NVDA")
	if s := late["seal"].(map[string]any); s["fault"] != view.SealLate || late["checks"].(map[string]any)["seal"] != view.CheckFailed || late["verdict"] == "witnessed" {
		t.Errorf("late: %v", late)
	}
	if again := l.get("/api/v1/verify/pick/AAPL"); again["checks"].(map[string]any)["seal"] != view.CheckOK {
		t.Errorf("another day: %v", again)
	}
}
