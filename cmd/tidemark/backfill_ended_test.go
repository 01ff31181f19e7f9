package main

import (
	"strings"
	"testing"
	"time"

	"tidemark/backfill"
	"tidemark/internal/postgres"
)

// A command that follows a cancelled backfill reports the cancellation and the snapshots that stay.
func TestABackfillThatIsCancelledIsNoSuccess(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	var out strings.Builder
	p := &program{stdout: &out}
	err := p.ended(t.Context(), l.db, backfill.Progress{
		Backfill:       postgres.Backfill{ID: 3, Signal: "s", Status: postgres.BackfillCancelled, AppliedAt: new(time.Unix(0, 0))},
		BackfillCounts: postgres.BackfillCounts{Slots: 5, Done: 2, Added: 2, Cancelled: 3},
		State:          postgres.BackfillCancelled,
	})
	if err == nil || !strings.Contains(err.Error(), "backfill 3 was cancelled: 2 snapshots that it made stay") || !strings.Contains(out.String(), "2 added, 3 cancelled") {
		t.Errorf("%v\n%s", err, &out)
	}
}
