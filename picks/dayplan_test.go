package picks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/picks"
)

// The exchange's published calendar of 2026: Thanksgiving is 26 November, and on the 27th trading ends at 13:00. New York is five hours
// behind UTC then.
func TestThePlanOfADay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		slot, now string
		newest    string
		gaps      []string
		step      picks.DayStep
		reason    string
		missed    []string
	}{
		{name: "after the close", slot: "2026-11-24T21:15:00Z", now: "2026-11-24T21:15:05Z", newest: "2026-11-23", step: picks.StepPick},
		{name: "the first pick", slot: "2026-11-24T21:15:00Z", now: "2026-11-24T21:15:05Z", step: picks.StepPick},
		{
			name: "before the close", slot: "2026-11-24T20:15:00Z", now: "2026-11-24T20:15:05Z", newest: "2026-11-23",
			step: picks.StepTooEarly, reason: "open until 2026-11-24T21:00:00Z",
		},
		{name: "after an early close", slot: "2026-11-27T18:15:00Z", now: "2026-11-27T18:15:05Z", newest: "2026-11-25", step: picks.StepPick},
		{name: "a holiday", slot: "2026-11-26T21:15:00Z", now: "2026-11-26T21:15:05Z", newest: "2026-11-25", reason: "no trading day"},
		{
			name: "a day that has passed", slot: "2026-11-24T21:15:00Z", now: "2026-11-25T21:15:00Z", newest: "2026-11-23",
			reason: "2026-11-24 has passed", missed: []string{"2026-11-24"},
		},
		{name: "made already", slot: "2026-11-24T21:15:00Z", now: "2026-11-24T21:40:00Z", newest: "2026-11-24", step: picks.StepFollowUp},
		{
			name: "recorded as a gap", slot: "2026-11-24T21:15:00Z", now: "2026-11-24T23:40:00Z", newest: "2026-11-23",
			gaps: []string{"2026-11-24"}, reason: "recorded as a day without a pick",
		},
		{
			name: "down for a week", slot: "2026-11-30T21:15:00Z", now: "2026-11-30T21:16:00Z", newest: "2026-11-20", gaps: []string{"2026-11-23"},
			step: picks.StepPick, missed: []string{"2026-11-24", "2026-11-25", "2026-11-27"},
		},
		{name: "a day in New York ends later", slot: "2026-11-25T02:00:00Z", now: "2026-11-25T02:01:00Z", newest: "2026-11-23", step: picks.StepPick},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plan, err := picks.PlanDay(instant(t, c.slot), instant(t, c.now), c.newest, c.gaps, 17*time.Hour, 20*time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			if plan.Step != c.step || !strings.Contains(plan.Reason, c.reason) || (c.reason == "") != (plan.Reason == "") {
				t.Errorf("step %d because of %q, expected %d because of %q", plan.Step, plan.Reason, c.step, c.reason)
			}
			if !slices.Equal(plan.Missed, c.missed) {
				t.Errorf("missed %v, expected %v", plan.Missed, c.missed)
			}
			if c.step == picks.StepPick && !plan.Deadline.After(plan.AnnounceAt) {
				t.Errorf("prices are waited for until %s, the announcement is at %s", plan.Deadline, plan.AnnounceAt)
			}
		})
	}
	if _, err := picks.PlanDay(time.Now(), time.Now(), "yesterday", nil, 0, 0); err == nil {
		t.Error("a newest pick without a date was accepted")
	}
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
