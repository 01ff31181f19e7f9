package main

import (
	"strings"
	"testing"
	"time"
)

func TestTheHistoryHasABar(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 7, 25, 0, 0, 0, 0, time.UTC)
	until := from.AddDate(0, 0, 120)
	for _, c := range []struct {
		days  int
		took  time.Duration
		width int
		want  string
	}{
		{0, 0, 80, "History [" + strings.Repeat("-", 40) + "] 0 of 120 days, 2026-07-25"},
		{30, 20 * time.Second, 120, "History [##########------------------------------] 30 of 120 days, 2026-08-24, about 1m0s left"},
		{60, time.Minute, 80, "History [############-------------] 60 of 120 days, 2026-09-23, about 1m0s left"},
		{120, time.Minute, 120, "History [" + strings.Repeat("#", 40) + "] 120 of 120 days, 2026-11-22, about 0s left"},
		{60, time.Minute, 40, "History: 60 of 120 days, 2026-09-23, ab"},
	} {
		got := historyLine(from, from.AddDate(0, 0, c.days), until, c.took, c.width)
		if got != c.want || len(got) >= c.width {
			t.Errorf("%d days in %d columns:\n%s, want\n%s", c.days, c.width, got, c.want)
		}
	}
}
