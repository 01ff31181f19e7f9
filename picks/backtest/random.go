package backtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"tidemark/internal/equity"
	"tidemark/internal/sharpe"
	"tidemark/picks"
)

// holding is a pick that is held from a session on; from is -1 if it was never bought.
type holding struct {
	cik  equity.CIK
	from int
}

func (m *market) hold(i int, cik equity.CIK) holding {
	at, ok := m.entry(i, cik)
	if !ok {
		at = -1
	}
	return holding{cik, at}
}

// excess returns the daily excess returns of a portfolio in calendar time that holds all holdings at equal weight: over the benchmark, and
// over all companies scored. Sessions without a held company are left out. held is the sum over the sessions of the number held.
func (m *market) excess(list []holding) (overBenchmark, overUniverse []float64, held int) {
	means, held := m.means(list)
	return without(means, m.benchmark), without(means, m.universe), held
}

// means are the mean returns of a portfolio's holdings, by session; NaN without a held company.
func (m *market) means(list []holding) (means []float64, held int) {
	means, counts := make([]float64, len(m.sessions)), make([]int, len(m.sessions))
	for _, h := range list {
		if h.from < 0 {
			continue
		}
		returns := m.returns[h.cik]
		for day := h.from + 1; day < len(returns) && day <= h.from+m.in.Holding.HoldingDays; day++ {
			if v := returns[day]; !math.IsNaN(v) {
				means[day] += v
				counts[day]++
			}
		}
	}
	for day, n := range counts {
		means[day] /= float64(n) // 0/0 is NaN
		held += n
	}
	return means, held
}

// without are the known differences of two lists.
func without(a, b []float64) (list []float64) {
	for i, v := range a {
		if d := v - b[i]; !math.IsNaN(d) {
			list = append(list, d)
		}
	}
	return list
}

func yearly(daily []float64) float64 {
	mean, _ := meanAndT(daily)
	return 100 * yearSessions * mean
}

// record judges holdings. The variance is that of the ratios of a session of the weightings. The deflated ratio assumes it or, if that is larger, the
// variance of trials without skill, as the registry of methods has it: weightings of the same metrics are alike.
func (m *market) record(list []holding, trials int, variance float64) Record {
	overBenchmark, overUniverse, held := m.excess(list)
	s := sharpe.Measure(overUniverse)
	variance = math.Max(variance, 1/float64(max(s.N-1, 1)))
	return Record{
		Picks: len(list), Sessions: len(overUniverse), Trials: trials,
		ExcessOverBenchmarkPct: Number(yearly(overBenchmark)), ExcessOverUniversePct: Number(yearly(overUniverse)),
		InformationRatio: Number(s.Ratio * math.Sqrt(yearSessions)), T: Number(s.Ratio * math.Sqrt(float64(s.N))),
		Probabilistic: Number(sharpe.Probabilistic(s, 0)), Deflated: Number(sharpe.Deflated(s, trials, variance)),
		TrialVariance: Number(variance),
		TurnoverPct:   Number(100 * yearSessions * float64(len(list)) / float64(held)),
	}
}

// luck draws random portfolios: on each day of the method's picks a company that the same rules allow, by their own earlier picks.
func (m *market) luck(own float64) Luck {
	l := Luck{N: m.in.Random, MeanPct: Number(math.NaN()), RangePct: [2]Number{Number(math.NaN()), Number(math.NaN())}, P: Number(math.NaN())}
	if l.N == 0 || math.IsNaN(own) {
		return l
	}
	shells := make([]picks.Ranking, len(m.days))
	entries := make([]map[equity.CIK]holding, len(m.days))
	for i, d := range m.days {
		shells[i].Day = d.day
		entries[i] = map[equity.CIK]holding{}
		for _, s := range d.scores {
			shells[i].Scores = append(shells[i].Scores, picks.Score{CIK: s.cik, Ticker: s.ticker, Sector: s.sector})
			entries[i][s.cik] = m.hold(i, s.cik)
		}
	}
	all := make([]float64, 0, l.N)
	as := 1 // the picks themselves
	for n := range l.N {
		rng := rand.New(rand.NewPCG(m.in.Seed, uint64(n)))
		var past []picks.PastPick
		var list []holding
		for i, d := range m.days {
			if d.pick < 0 {
				continue
			}
			free := shells[i].Free(past[max(0, len(past)-m.memory()):], m.in.Rules)
			if len(free) == 0 {
				continue
			}
			s := free[rng.IntN(len(free))]
			past = append(past, picks.PastPick{Date: d.day, CIK: s.CIK, Sector: s.Sector})
			list = append(list, entries[i][s.CIK])
		}
		_, overUniverse, _ := m.excess(list)
		v := yearly(overUniverse)
		if !(v < own) {
			as++
		}
		all = append(all, v)
	}
	all = slices.DeleteFunc(all, math.IsNaN)
	sort.Float64s(all)
	if len(all) > 0 {
		mean, _ := meanAndT(all)
		l.MeanPct = Number(mean)
		l.RangePct = [2]Number{Number(all[len(all)/20]), Number(all[len(all)-1-len(all)/20])}
	}
	l.P = Number(float64(as) / float64(l.N+1))
	return l
}

// memory is how many earlier picks the rules can read: one a session.
func (m *market) memory() int { return max(m.in.Rules.RepeatDays, m.in.Rules.SectorWindow) + 1 }
