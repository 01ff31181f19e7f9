package forecast

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"tidemark/internal/series"
)

const (
	finals    series.ID = "nass.IA.CORN.YIELD.FINAL"
	forecasts series.ID = "nass.IA.CORN.YIELD.FORECAST"

	// cornYears is how many finals make the trend, and how far back errors are remembered; cornMinErrors how many errors a spread needs.
	cornYears     = 25
	cornMinErrors = 12
)

// cornYield forecasts the next figure that USDA prints of Iowa's corn yield: in August, September, October and November, and the final in
// January.
func cornYield() Target {
	return Target{
		Signal: "iowa-corn-yield", Figure: "next_print", Name: "USDA's next figure for the corn yield in Iowa", Unit: "bu/acre", Decimals: 1,
		Version: "next_print-1", Monthly: true, GradesNeeded: monthlyGrades, GivenUpAfter: days(10), Inputs: []series.ID{finals, forecasts},
		schedules: []schedule{cornMonthly(), cornFinal()},
		next:      nextCorn,
		outcome:   func(in series.Set, r Release) (series.Point, bool) { return pointOn(in[r.Series], r.ObservedAt) },
		walk:      func(in series.Set, r Release) []step { return cornSteps(cornPrints(in), r) },
	}
}

// cornMonths are those in which a figure of the season's yield is printed; the final follows in January.
var cornMonths = []time.Month{time.August, time.September, time.October, time.November}

// nextCorn is the first release of the season that is neither printed nor past, from May on, once the one before is printed or was left out.
func nextCorn(in series.Set, at time.Time) (Release, bool) {
	final, ok := newest(in[finals])
	if !ok {
		return Release{}, false
	}
	year := final.ObservedAt.Time().Year() + 1
	if at.Before(time.Date(year, time.May, 1, 0, 0, 0, 0, time.UTC)) {
		return Release{}, false
	}
	for _, month := range cornMonths {
		r := cornRelease(year, month)
		if _, printed := pointOn(in[forecasts], r.ObservedAt); !printed && at.Before(r.ScheduledAt) {
			return r, true
		}
		// A month that was not printed within its ten days was left out.
		if _, printed := pointOn(in[forecasts], r.ObservedAt); !printed && at.Before(r.ScheduledAt.Add(days(10))) {
			return Release{}, false
		}
	}
	return cornRelease(year, time.January), true
}

// cornMonthly and cornFinal are the schedules: not before the eighth, at noon.
func cornMonthly() schedule {
	return schedule{form: formMonth, series: forecasts, months: cornMonths, due: func(month time.Time) time.Time {
		return onClock(month.AddDate(0, 0, 7), 12, 0)
	}}
}

func cornFinal() schedule {
	return schedule{form: formFinal, series: finals, due: func(year time.Time) time.Time { return onClock(year.AddDate(1, 0, 7), 12, 0) }}
}

// cornRelease is the figure of a crop year that is printed in a month; January's figure is the final.
func cornRelease(year int, month time.Month) Release {
	first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	if month == time.January {
		return cornFinal().release(first)
	}
	return cornMonthly().release(first)
}

// cornPrint is one printed figure of a crop year, by its month; the final's is January.
type cornPrint struct {
	year  int
	month time.Month
	value float64
}

// cornPrints are all printed figures, a crop year after the other.
func cornPrints(in series.Set) []cornPrint {
	var out []cornPrint
	f, m := in[finals], in[forecasts]
	for len(f)+len(m) > 0 {
		if len(f) == 0 || len(m) > 0 && m[0].ObservedAt.Time().Year() <= f[0].ObservedAt.Time().Year() {
			at := m[0].ObservedAt.Time()
			out = append(out, cornPrint{at.Year(), at.Month(), m[0].Value})
			m = m[1:]
			continue
		}
		out = append(out, cornPrint{f[0].ObservedAt.Time().Year(), time.January, f[0].Value})
		f = f[1:]
	}
	return out
}

// cornStage remembers by how much the prints of one month missed the figure before them, and the trend.
type cornStage struct{ before, trend window }

// cornSteps forecasts each print from the one before it, the first of a season from the trend. Half of the spread comes from the stage's
// errors in the last 25 years. The other half is a t distribution with five degrees of freedom and the errors' root mean square.
func cornSteps(prints []cornPrint, r Release) []step {
	open := cornPrint{year: r.ObservedAt.Year(), month: r.ObservedAt.Month(), value: math.NaN()}
	stages := map[time.Month]*cornStage{}
	correction := newConformal(conformalStep, conformalNodes)
	var years, yields []float64 // of the finals
	last, season := math.NaN(), 0
	var out []step
	for _, p := range append(prints, open) {
		trend := math.NaN()
		if len(yields) >= cornYears {
			trend = lineAt(years[len(years)-cornYears:], yields[len(yields)-cornYears:], float64(p.year))
		}
		if p.year != season {
			season, last = p.year, trend
		}
		stage := stages[p.month]
		if stage == nil {
			stage = &cornStage{window{capacity: cornYears}, window{capacity: cornYears}}
			stages[p.month] = stage
		}
		s := step{period: time.Date(p.year, p.month, 1, 0, 0, 0, 0, time.UTC), value: p.value}
		var ok1, ok2 bool
		s.naive1, ok1 = stage.before.dress(last, 1, cornMinErrors)
		s.naive2, ok2 = stage.trend.dress(trend, 1, cornMinErrors)
		if s.ok = ok1 && ok2; s.ok {
			blend := halved(last, s.naive1, stage.before.came)
			s.quantiles = correction.correct(blend)
			if !math.IsNaN(p.value) {
				correction.learn(func(level float64) bool { return p.value <= blend.At(level) })
			}
		}
		out = append(out, s)
		stage.before.add(p.value - last)
		stage.trend.add(p.value - trend)
		last = p.value
		if p.month == time.January {
			years, yields = append(years, float64(p.year)), append(yields, p.value)
		}
	}
	return out
}

// halved is halfway between a dressed location and a t distribution of the same errors.
func halved(location float64, dressed Quantiles, errors []float64) Quantiles {
	var squares float64
	for _, e := range errors {
		squares += float64(e * e)
	}
	rms := math.Sqrt(squares / float64(len(errors)))
	student := distuv.StudentsT{Sigma: 1, Nu: 5}
	for i, p := range Levels {
		// A t distribution with five degrees of freedom has the variance 5/3.
		dressed[i] = (dressed[i] + location + float64(rms*math.Sqrt(0.6)*student.Quantile(p))) / 2
	}
	return dressed.sorted()
}

// lineAt is the least squares line through points at x.
func lineAt(xs, ys []float64, x float64) float64 {
	mx, my := mean(xs), mean(ys)
	var xy, xx float64
	for i := range xs {
		xy += float64((xs[i] - mx) * (ys[i] - my))
		xx += float64((xs[i] - mx) * (xs[i] - mx))
	}
	return my + float64(xy/xx*(x-mx))
}
