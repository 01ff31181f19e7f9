package backtest

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// market holds what followed the rankings: daily returns of all companies that were scored.
type market struct {
	in   Input
	days []ranked
	// sessions are the trading days from the first ranking on. at is the session of each ranking.
	sessions []time.Time
	at       []int
	// returns are daily total returns by session, NaN without a close. A return after sessions without a close covers them too. After a merger
	// they are the returns of the shares' successor.
	returns map[equity.CIK][]float64
	// ended are the companies that stopped trading.
	ended map[equity.CIK]ending
	// benchmark and universe are the daily returns of the benchmark, and of all companies of the newest ranking at equal weight.
	benchmark, universe []float64
}

func newMarket(in Input, days []ranked) *market {
	m := &market{in: in, days: days, returns: map[equity.CIK][]float64{}, ended: in.endings(days)}
	m.sessions = calendar.Between(days[0].day, in.To)
	for _, d := range days {
		i, _ := slices.BinarySearchFunc(m.sessions, d.day, time.Time.Compare)
		m.at = append(m.at, i)
		for _, s := range d.scores {
			if m.returns[s.cik] == nil {
				m.returns[s.cik] = m.follow(s.cik)
				m.lose(s.cik, m.returns[s.cik], lossPublished)
			}
		}
	}
	m.benchmark = m.follow(equity.Benchmark)
	m.universe = make([]float64, len(m.sessions))
	for i, d := range days {
		end := len(m.sessions) - 1
		if i+1 < len(days) {
			end = m.at[i+1]
		}
		for day := m.at[i] + 1; day <= end; day++ {
			var sum, n float64
			for _, s := range d.scores {
				if v := m.returns[s.cik][day]; !math.IsNaN(v) {
					sum, n = sum+v, n+1
				}
			}
			m.universe[day] = sum / n
		}
	}
	return m
}

// follow returns the daily returns of one company from the session of its first bar on.
func (m *market) follow(cik equity.CIK) []float64 {
	list := make([]float64, len(m.sessions))
	for i := range list {
		list[i] = math.NaN()
	}
	first := slices.IndexFunc(m.in.Prices[cik].Bars, func(b equity.Bar) bool { return !b.Date.Before(m.sessions[0]) })
	if first < 0 {
		return list
	}
	bar := m.in.Prices[cik].Bars[first]
	before := 1.0
	for _, l := range m.in.Prices.Path(cik, bar.Close, bar.Date, m.in.To) {
		if i, ok := slices.BinarySearchFunc(m.sessions, l.Date, time.Time.Compare); ok && before > 0 {
			list[i] = l.Level/before - 1
			before = l.Level
		}
	}
	return list
}

// census counts the companies scored on a day.
func (m *market) census() [3]Number {
	least, most, sum := math.Inf(1), 0.0, 0.0
	for _, d := range m.days {
		n := float64(len(d.scores))
		least, most, sum = min(least, n), max(most, n), sum+n
	}
	return [3]Number{Number(least), Number(sum / float64(len(m.days))), Number(most)}
}

// entry is the session at whose close a company can be bought after a ranking: the first with a close. It is false if none of the sessions in
// which the portfolio waits for one has a close.
func (m *market) entry(i int, cik equity.CIK) (int, bool) {
	bar, ok := m.in.Prices.Entry(cik, m.days[i].day, m.in.Holding)
	if !ok {
		return 0, false
	}
	return slices.BinarySearchFunc(m.sessions, bar.Date, time.Time.Compare)
}

// apart are the rankings that are at least a month apart: their months do not overlap.
func (m *market) apart() []int {
	var list []int
	for i, at := range m.at {
		if len(list) == 0 || at >= m.at[list[len(list)-1]]+MonthSessions {
			list = append(list, i)
		}
	}
	return list
}

// later is the return of a company in the n-th month after a ranking, from the close at which it can be bought. It is NaN if the company
// has no close in that month. The whole month must lie in the sessions: see covers.
func (m *market) later(i int, cik equity.CIK, month int) float64 {
	at, ok := m.entry(i, cik)
	if !ok {
		return math.NaN()
	}
	growth, seen := 1.0, false
	for _, v := range m.returns[cik][min(at+1+(month-1)*MonthSessions, len(m.sessions)):min(at+1+month*MonthSessions, len(m.sessions))] {
		if !math.IsNaN(v) {
			growth, seen = growth*(1+v), true
		}
	}
	if !seen {
		return math.NaN()
	}
	return growth - 1
}

// covers reports whether the n-th month after a ranking is over for all companies that are bought at the next close.
func (m *market) covers(i, month int) bool {
	return m.at[i]+1+month*MonthSessions < len(m.sessions)
}

// correlation is the mean rank correlation of a score with the returns of a later month.
func (m *market) correlation(apart []int, month int, score func(scored) float64) Correlation {
	var list []float64
	for _, i := range apart {
		if !m.covers(i, month) {
			continue
		}
		var x, y []float64
		for _, s := range m.days[i].scores {
			if v, w := score(s), m.later(i, s.cik, month); !math.IsNaN(v) && !math.IsNaN(w) {
				x, y = append(x, v), append(y, w)
			}
		}
		if ic := Spearman(x, y); !math.IsNaN(ic) {
			list = append(list, ic)
		}
	}
	mean, t := meanAndT(list)
	return Correlation{Month: month, Mean: Number(mean), Months: len(list), T: Number(t)}
}

// fifths compares the fifths of the rankings in the first month.
func (m *market) fifths(apart []int) Fifths {
	const parts = 5
	sums := make([][]float64, parts)
	var spreads, turnover []float64
	var before map[equity.CIK]bool
	for _, i := range apart {
		scores := m.days[i].scores
		top := map[equity.CIK]bool{}
		for _, s := range scores[:len(scores)/parts] {
			top[s.cik] = true
		}
		if before != nil {
			fresh := 0
			for cik := range top {
				if !before[cik] {
					fresh++
				}
			}
			turnover = append(turnover, 100*float64(fresh)/float64(len(top)))
		}
		before = top
		if !m.covers(i, 1) {
			continue
		}
		var means [parts]float64
		for part := range parts {
			var known []float64
			for _, s := range scores[part*len(scores)/parts : (part+1)*len(scores)/parts] {
				if v := m.later(i, s.cik, 1); !math.IsNaN(v) {
					known = append(known, 100*v)
				}
			}
			means[part], _ = meanAndT(known)
		}
		if spread := means[0] - means[parts-1]; !math.IsNaN(spread) {
			spreads = append(spreads, spread)
			for part, v := range means {
				sums[part] = append(sums[part], v)
			}
		}
	}
	var f Fifths
	for _, list := range sums {
		mean, _ := meanAndT(list)
		f.ReturnPct = append(f.ReturnPct, Number(mean))
	}
	spread, t := meanAndT(spreads)
	often, _ := meanAndT(turnover)
	f.SpreadPct, f.T, f.TurnoverPct = Number(spread), Number(t), Number(often)
	return f
}
