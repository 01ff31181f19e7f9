package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/series"
)

// crackDay is a day with all three prices.
type crackDay struct {
	day   time.Time
	value float64
}

// crackDays joins the legs by their dates.
func crackDays(set series.Set) (out []crackDay) {
	legs := map[time.Time][2]float64{}
	for _, p := range set["eia.EER_EPMRU_PF4_Y35NY_DPG"] {
		legs[p.ObservedAt.Time()] = [2]float64{p.Value, math.NaN()}
	}
	for _, p := range set["eia.EER_EPD2DXL0_PF4_Y35NY_DPG"] {
		if l, ok := legs[p.ObservedAt.Time()]; ok {
			legs[p.ObservedAt.Time()] = [2]float64{l[0], p.Value}
		}
	}
	for _, p := range set["eia.RWTC"] {
		if l, ok := legs[p.ObservedAt.Time()]; ok && !math.IsNaN(l[1]) {
			out = append(out, crackDay{p.ObservedAt.Time(), (2*42*l[0] + 42*l[1] - 3*p.Value) / 3})
		}
	}
	return out
}

// The brief says how often the random walk held the price of exactly so many days later: what had no price of its own on that day does not
// count.
func TestTheCrackIntervalHeldWhatItsBriefSaysOfEachHorizon(t *testing.T) {
	t.Parallel()
	days := crackDays(spotPrices(t))
	at := map[time.Time]float64{}
	for _, d := range days {
		at[d.day] = d.value
	}
	for _, c := range []struct{ days, hits, cases int }{{2, 2538, 2808}, {5, 2574, 2806}, {9, 2600, 2805}} {
		hits, cases := 0, 0
		for i := 60; i < len(days); i++ {
			later, priced := at[days[i].day.AddDate(0, 0, c.days)]
			if !priced {
				continue
			}
			var changes []float64
			for j := i - 59; j <= i; j++ {
				changes = append(changes, days[j].value-days[j-1].value)
			}
			business := 0
			for d := range c.days {
				if w := days[i].day.AddDate(0, 0, d+1).Weekday(); w != time.Saturday && w != time.Sunday {
					business++
				}
			}
			cases++
			if math.Abs(later-days[i].value) <= 1.645*stat.StdDev(changes, nil)*math.Sqrt(float64(business)) {
				hits++
			}
		}
		if hits != c.hits || cases != c.cases {
			t.Errorf("%d days later: %d of %d", c.days, hits, cases)
		}
		share := fmt.Sprintf("%.1f", 100*float64(hits)/float64(cases))
		if brief := strings.Join(strings.Fields(definition(t, "crack-spread-321").Brief), " "); !strings.Contains(brief, share) {
			t.Errorf("%d days later it held %s %%, and the brief does not say so", c.days, share)
		}
	}
}
