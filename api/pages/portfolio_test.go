package pages

import (
	"slices"
	"testing"

	"tidemark/api/view"
)

// The return of the first session is zero by definition: with it, all curves begin at one point, on the day from which they count.
func TestTheWeeklyPointsBeginWithTheFirstSession(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ sessions, want []string }{
		{[]string{"2026-10-28", "2026-10-29", "2026-10-30", "2026-11-02", "2026-11-06", "2026-11-09"}, []string{"2026-10-28", "2026-10-30", "2026-11-06", "2026-11-09"}},
		{[]string{"2026-10-30", "2026-11-02", "2026-11-03"}, []string{"2026-10-30", "2026-11-03"}}, // a Friday
		{[]string{"2026-10-28"}, []string{"2026-10-28"}},
	} {
		var history []view.HistorySnapshot
		for _, day := range c.sessions {
			history = append(history, view.HistorySnapshot{Date: day})
		}
		var got []string
		for _, s := range weekly(history) {
			got = append(got, s.Date)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v it keeps %v, want %v", c.sessions, got, c.want)
		}
	}
}
