package quality

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// Traded is a response about one share.
type Traded struct {
	CIK equity.CIK
	// Bars of one publisher and its splits and dividends, in any order.
	Bars    []equity.Bar
	Actions []equity.Action
	// Known are the newest bars known of the publisher, ascending; none before the first load.
	Known []equity.Bar
	// Sessions are the trading days from the first bar of the answer to the newest day that should have one, ascending.
	Sessions []time.Time
}

const (
	// restated is the max relative correction of a close. If a known close differs by more, the response counts other shares: the publisher
	// adjusted for a split without stating it, or states a split without having adjusted for it.
	restated = 0.10
	// leap is the max factor between two closes of a large company's share on successive days without a split. The largest recorded factor,
	// over twelve years of large companies, is 1.6.
	leap = 2.5
)

// CheckBars compares a response about a share with the known data. It returns the bars that may be stored, and the findings. If the history
// differs, the whole response is held back. A bar that is far from both of its neighbours is left out. A newest bar that is far from the
// previous one waits until a later bar confirms it. On the day it cannot be distinguished from a slipped decimal point, but the next bar
// decides. None of this needs an operator.
func CheckBars(a Traded) (good []equity.Bar, found []series.Finding) {
	said := slices.SortedFunc(slices.Values(a.Bars), func(x, y equity.Bar) int { return x.Date.Compare(y.Date) })
	if f, other := a.otherHistory(said); other {
		return nil, []series.Finding{f}
	}
	before, ok := a.lastBefore(said)
	newest := time.Time{}
	if n := len(a.Known); n > 0 {
		newest = a.Known[n-1].Date
	}
	for i, b := range said {
		if ok && a.leaps(before, b) {
			f := a.finding(Jump, series.SeverityWarn, before.Date, b.Date, fmt.Sprintf("a close of %s after %s", b.Close, before.Close),
				fmt.Sprintf("a change by less than %v times, or a split that explains it", leap))
			next := i + 1
			if confirmed := next < len(said) && !a.leaps(b, said[next]); !confirmed {
				f.Severity = series.SeverityError
				f.Expected += ", or another day that confirms it: the bar is not stored before"
				found = append(found, f)
				continue
			}
			if b.Date.After(newest) {
				found = append(found, f)
			}
		}
		good = append(good, b)
		before, ok = b, true
	}
	return good, append(found, a.gaps(said, newest)...)
}

// lastBefore returns the newest known bar before the bars of the response.
func (a Traded) lastBefore(said []equity.Bar) (equity.Bar, bool) {
	if len(said) == 0 {
		return equity.Bar{}, false
	}
	for _, k := range slices.Backward(a.Known) {
		if k.Date.Before(said[0].Date) {
			return k, true
		}
	}
	return equity.Bar{}, false
}

// otherHistory reports whether the response's closes differ from the known closes of the same days.
func (a Traded) otherHistory(said []equity.Bar) (series.Finding, bool) {
	for _, k := range a.Known {
		i, common := slices.BinarySearchFunc(said, k.Date, func(b equity.Bar, day time.Time) int { return b.Date.Compare(day) })
		if common && math.Abs(math.Log(said[i].Close.Float()/k.Close.Float())) > restated {
			return a.finding(Revision, series.SeverityError, k.Date, k.Date, fmt.Sprintf("a close of %s where %s is known", said[i].Close, k.Close),
				"the closes of the day: nothing of the answer is stored"), true
		}
	}
	return series.Finding{}, false
}

// leaps reports whether the share changed by more from one bar to another than shares do, adjusted for splits and dividends.
func (a Traded) leaps(from, to equity.Bar) bool {
	shares, cash := 1.0, 0.0
	for _, x := range a.Actions {
		if !x.Date.After(from.Date) || x.Date.After(to.Date) {
			continue
		}
		switch x.Kind {
		case equity.Split:
			shares *= x.Ratio()
		case equity.Dividend:
			cash += x.Cash.Float()
		case equity.Merger, equity.Delisting:
		}
	}
	return math.Abs(math.Log(shares*(to.Close.Float()+cash)/from.Close.Float())) > math.Log(leap)
}

// gaps marks trading days after the newest known bar that the answer passes over.
func (a Traded) gaps(said []equity.Bar, newest time.Time) []series.Finding {
	var missing []time.Time
	for _, day := range a.Sessions {
		_, has := slices.BinarySearchFunc(said, day, func(b equity.Bar, d time.Time) int { return b.Date.Compare(d) })
		if !has && day.After(newest) {
			missing = append(missing, day)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []series.Finding{a.finding(Gaps, series.SeverityWarn, missing[0], missing[len(missing)-1],
		fmt.Sprintf("no bar of %d of %d trading days, the first %s", len(missing), len(a.Sessions), missing[0].Format(time.DateOnly)), "a bar of each trading day")}
}

func (a Traded) finding(check string, s series.Severity, from, to time.Time, seen, expected string) series.Finding {
	return series.Finding{Check: check, Severity: s, Series: series.ID("equity." + a.CIK.String() + ".close"), From: from, To: to, Observed: seen, Expected: expected}
}
