package workers_test

import (
	"strings"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

func TestTheVersionOfTheSignalsIsRecordedBeforeTheirFirstSnapshot(t *testing.T) {
	t.Parallel()
	b := newBench(t, edgy(new(int)))
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for n := range 2 {
		if err := b.job.Run(t.Context(), task.Task{Job: task.Signal, Subject: edgy(new(int)).ID, Slot: at.Add(time.Duration(n) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.db.Methods(t.Context())
	if err != nil || len(list) != 1+7 || list[0].Name != "signals" || list[0].SHA256 != signals.SourceHash() || list[0].Status != postgres.MethodAdopted {
		t.Errorf("%+v, %v", list, err)
	}
	// The rules for corn that docs/trials.md has came before it.
	if first := list[len(list)-1]; first.Version != "corn.nass-alone" || first.Status != postgres.MethodDropped || !strings.Contains(first.Note, "before the registry began") {
		t.Errorf("the first is %+v", first)
	}
}

// The p-value of a backtest allows for each version of the signals in the registry at the slot.
func TestABacktestAllowsForTheVersionsInTheRegistry(t *testing.T) {
	t.Parallel()
	def := edgy(new(int))
	b := newBench(t, def)
	today, err := b.db.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	today = today.Truncate(24 * time.Hour)
	published := []series.Reading{{Series: "test.a", ObservedAt: today.AddDate(0, 0, -3), Value: 1}}
	b.store(today.AddDate(0, 0, -2), published)
	tests := func(day int, code string) int {
		b.job.CodeVersion = code // a backtest is made anew by another version
		b.run(def.ID, today.AddDate(0, 0, day))
		return b.snapshot(def.ID, today.AddDate(0, 0, day)).Backtest.Trials.Trials
	}
	const corn = 6 // other rules for corn that docs/trials.md has
	each := len(signals.All())
	if got := tests(1, "one"); got != each+corn {
		t.Errorf("with this version alone %d tests, want one of each of %d signals and of %d other rules for corn", got, each, corn)
	}
	sha := strings.Repeat("ab", 32)
	if _, err := b.db.RecordMethod(t.Context(), postgres.Method{Name: "signals", Version: sha[:12], Status: postgres.MethodTried, SHA256: sha, Note: "another"}); err != nil {
		t.Fatal(err)
	}
	if got := tests(2, "two"); got != 2*each+corn {
		t.Errorf("after another version %d tests, want two of each signal", got)
	}
	if got := tests(-1, "two"); got != each+corn {
		t.Errorf("as of a day before it %d tests", got)
	}
}
