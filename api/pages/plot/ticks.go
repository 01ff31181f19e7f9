package plot

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Ticks returns about as many round values within an interval as wanted, and their distance: 1, 2, 2.5 or 5 times a power of ten.
func Ticks(lo, hi float64, about int) (values []float64, step float64) {
	if !(hi > lo) || about < 1 {
		return nil, 1
	}
	rough := (hi - lo) / float64(about)
	unit := math.Pow(10, math.Floor(math.Log10(rough)))
	step = 10 * unit
	for _, nice := range []float64{1, 2, 2.5, 5} {
		if nice*unit >= rough*.999 {
			step = nice * unit
			break
		}
	}
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+step*1e-9; i++ {
		values = append(values, i*step)
	}
	return values, step
}

// Label formats a multiple of a step, with the same number of decimals as the step and with thousands separators.
func Label(v, step float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals(step), 64)
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if v < 0 && strings.Trim(text, "0.") != "" {
		return "−" + whole
	}
	return whole
}

// decimals is the number of decimals of a step.
func decimals(step float64) (n int) {
	for ; n < 12 && math.Abs(step-math.Round(step)) > 1e-6*math.Max(1, step); step *= 10 {
		n++
	}
	return n
}

// Date is a labelled instant of a time axis.
type Date struct {
	At    time.Time
	Label string
	// day reports that the label has the day of the month.
	day bool
}

// Dates returns at most maxDates labelled dates within an interval: days, Mondays, or first days of months, quarters or years. The label of
// 1 January is the year alone if the steps are months or longer. Of the other months the first one has its year. months omits days, unless no
// month begins within the interval.
func Dates(from, to time.Time, maxDates int, months bool) []Date {
	from, to = from.UTC(), to.UTC()
	month := time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC)
	if month.Before(from) {
		month = month.AddDate(0, 1, 0)
	}
	months = months && !month.After(to)
	for _, step := range []struct{ years, months, days int }{
		{0, 0, 1},
		{0, 0, 2},
		{0, 0, 7},
		{0, 0, 14},
		{0, 1, 0},
		{0, 2, 0},
		{0, 3, 0},
		{0, 6, 0},
		{1, 0, 0},
		{2, 0, 0},
		{5, 0, 0},
		{10, 0, 0},
		{20, 0, 0},
		{25, 0, 0},
		{50, 0, 0},
		{100, 0, 0},
	} {
		if months && step.days > 0 {
			continue
		}
		at := time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, time.UTC)
		switch {
		case step.years > 0:
			at = time.Date(from.Year()/step.years*step.years, 1, 1, 0, 0, 0, 0, time.UTC)
		case step.months > 0:
			at = time.Date(from.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
		case step.days >= 7:
			at = at.AddDate(0, 0, -(int(at.Weekday())+6)%7)
		}
		var out []Date
		for n := 0; !at.After(to) && len(out) <= maxDates; n++ {
			if !at.Before(from) {
				out = append(out, Date{at, labelOf(at, len(out) == 0, step.days > 0, step.years > 0), step.days > 0})
			}
			at = at.AddDate(step.years, step.months, step.days)
		}
		if len(out) <= maxDates {
			return out
		}
	}
	return nil
}

func labelOf(at time.Time, first, days, years bool) string {
	switch {
	case days:
		return at.Format("Jan 2")
	case years || at.Month() == time.January:
		return at.Format("2006")
	}
	if first {
		return at.Format("Jan 2006")
	}
	return at.Format("Jan")
}
