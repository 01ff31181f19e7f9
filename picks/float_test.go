package picks

import (
	"math"
	"testing"
	"time"
)

// Companies state on the cover of the annual report what the shares of outside holders were worth at the end of the second quarter. Insiders
// hold less than a thousandth of Apple, so its float is an independent figure of its market value. It is the only recorded company with
// both a cover and prices: Meta and Snowflake have covers alone, and the files that are cut to 22 tags have none.
//
// The market value of a day counts the shares of the newest report of that day. So it is compared twice: as of that day, and by the report
// on the quarter that ended then, which comes weeks later. In between Apple bought back 3.5 % of its shares early in 2014.
func TestMarketValueAgreesWithTheFloatOnTheCover(t *testing.T) {
	t.Parallel()
	const apple = 320193
	facts := recorded(t, "CIK0000320193.json")
	var history History
	for _, c := range bookMarket(t, day("2022-11-18")).Candidates {
		if c.Company.CIK == apple {
			history = c.History
		}
	}
	const untilReport = 45 * 24 * time.Hour
	var checked, then, later int
	seen := map[time.Time]bool{}
	for _, f := range facts {
		if f.Tag != "EntityPublicFloat" || seen[f.End] {
			continue
		}
		seen[f.End] = true
		bar, ok := history.BarAt(f.End)
		if !ok || f.End.Sub(bar.Date) > 4*24*time.Hour {
			continue // the prices end in 2022
		}
		off := func(known time.Time) float64 {
			return sharesOutstanding(NewBook(facts, known), apple, history, f.End).Value*bar.Close.Float()/f.Value - 1
		}
		early, late := off(f.End), off(f.End.Add(untilReport))
		t.Logf("Apple on %s: %.1f billion on the cover; %+.2f %% as of that day, %+.2f %% by the report on that quarter",
			f.End.Format(time.DateOnly), f.Value/1e9, 100*early, 100*late)
		checked++
		if math.Abs(early) <= 0.03 {
			then++
		}
		if math.Abs(late) <= 0.03 {
			later++
		}
	}
	t.Logf("market value within 3 %% of the float on the cover: %d of %d as of the day, %d by the report on that quarter", then, checked, later)
	if checked < 13 || float64(later) < 0.98*float64(checked) || then < 12 {
		t.Errorf("%d checked, %d within 3 %% as of the day, %d by the report", checked, then, later)
	}
}
