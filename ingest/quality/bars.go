package quality

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// Traded is what an answer says of one share.
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
	// restated is by how much a publisher corrects a close. Where a known one differs by more, the answer counts other shares: it has
	// worked in a split that it does not state, or states one that it has not worked in.
	restated = 0.10
	// leap is the factor by which a large company's share may move in a day without a split. The widest of the recorded ones, over
	// twelve years of large companies, is 1.6.
	leap = 2.5
)

// CheckBars holds an answer about a share against what is known of it. It returns the bars that may be stored, and what is to be said.
// An answer whose history is another is kept back whole, a bar between two others that are both far away is left out, and a newest
// bar that is far away from the one before waits until a later one confirms it: what nobody can tell from a slipped decimal point on
// the day is told by the next. None of this needs a person.
func CheckBars(a Traded) (good []equity.Bar, found []Finding) {
	said := slices.SortedFunc(slices.Values(a.Bars), func(x, y equity.Bar) int { return x.Date.Compare(y.Date) })
	if f, other := a.otherHistory(said); other {
		return nil, []Finding{f}
	}
	before, ok := a.lastBefore(said)
	newest := time.Time{}
	if n := len(a.Known); n > 0 {
		newest = a.Known[n-1].Date
	}
	for i, b := range said {
		if ok && a.leaps(before, b) {
			f := a.finding(Jump, Warn, before.Date, b.Date, fmt.Sprintf("a close of %s after %s", b.Close, before.Close),
				fmt.Sprintf("a change by less than %v times, or a split that explains it", leap))
			next := i + 1
			if confirmed := next < len(said) && !a.leaps(b, said[next]); !confirmed {
				f.Severity = Error
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

// lastBefore is the newest known bar before those of the answer.
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

// otherHistory tells whether the answer's closes are other ones than those that are known of the same days.
func (a Traded) otherHistory(said []equity.Bar) (Finding, bool) {
	for _, k := range a.Known {
		i, common := slices.BinarySearchFunc(said, k.Date, func(b equity.Bar, day time.Time) int { return b.Date.Compare(day) })
		if common && math.Abs(math.Log(said[i].Close.Float()/k.Close.Float())) > restated {
			return a.finding(Revision, Error, k.Date, k.Date, fmt.Sprintf("a close of %s where %s is known", said[i].Close, k.Close),
				"the closes of the day: nothing of the answer is stored"), true
		}
	}
	return Finding{}, false
}

// leaps tells whether the share changed by more from one bar to another than shares do, splits and dividends taken out.
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
func (a Traded) gaps(said []equity.Bar, newest time.Time) []Finding {
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
	return []Finding{a.finding(Gaps, Warn, missing[0], missing[len(missing)-1],
		fmt.Sprintf("no bar of %d of %d trading days, the first %s", len(missing), len(a.Sessions), missing[0].Format(time.DateOnly)), "a bar of each trading day")}
}

func (a Traded) finding(check string, s Severity, from, to time.Time, seen, expected string) Finding {
	return Finding{Check: check, Severity: s, Series: series.ID("equity." + a.CIK.String() + ".close"), From: from, To: to, Seen: seen, Expected: expected}
}
