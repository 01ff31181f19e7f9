package backtest

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/equity"
	"tidemark/internal/sharpe"
)

// blocks are the parts of the history. Each half of them chooses a variant, as in the paper. Each has a month at least.
const blocks = 16

// Overfitting says how overfitted a choice of the weights by their results would be. It uses combinatorially symmetric cross-validation (Bailey, Borwein,
// López de Prado and Zhu, 2016) over the excess returns of the rules in force and of their variants. The numbers are null for less than 16
// months in which all hold shares.
type Overfitting struct {
	// Trials are the rules in force, and their variants.
	Trials   []Trial `json:"trials"`
	Sessions int     `json:"sessions"`
	Blocks   int     `json:"blocks"`
	// Probability is how often the variant that was the best in one half of the blocks was in the lower half of all in the other. Loss is how
	// often it lost against all companies scored there.
	Probability Number `json:"probability"`
	Loss        Number `json:"loss"`
	// Slope is how much of a ratio in the chosen half was left in the other.
	Slope Number `json:"slope"`
}

// Trial is a weighting that ran on history. InformationRatio is of a year, over all companies scored.
type Trial struct {
	Name             string `json:"name"`
	InformationRatio Number `json:"information_ratio"`
}

// Best is the name of the trial with the best ratio, empty without one.
func (o Overfitting) Best() (name string) {
	best := math.Inf(-1)
	for _, t := range o.Trials {
		if v := float64(t.InformationRatio); v > best {
			best, name = v, t.Name
		}
	}
	return name
}

// variance is the variance of the ratios of a session of the trials, 0 if fewer than two are known.
func (o Overfitting) variance() float64 {
	var ratios []float64
	for _, t := range o.Trials {
		if v := float64(t.InformationRatio) / math.Sqrt(yearSessions); !math.IsNaN(v) && !math.IsInf(v, 0) {
			ratios = append(ratios, v)
		}
	}
	if len(ratios) < 2 {
		return 0
	}
	return stat.Variance(ratios, nil)
}

// overfitting compares the picks with the variants' picks.
func (m *market) overfitting(own []holding) Overfitting {
	names, trials := []string{"in-force"}, [][]float64{m.overUniverse(own)}
	for n, v := range m.in.Rules.Variants() {
		var list []holding
		for i, d := range m.days {
			if d.others[n] != equity.CIK(0) {
				list = append(list, m.hold(i, d.others[n]))
			}
		}
		names, trials = append(names, v.Name), append(trials, m.overUniverse(list))
	}
	trials = known(trials)
	unknown := Number(math.NaN())
	o := Overfitting{Sessions: len(trials[0]), Blocks: blocks, Probability: unknown, Loss: unknown, Slope: unknown}
	for i, returns := range trials {
		o.Trials = append(o.Trials, Trial{names[i], Number(sharpe.Measure(returns).Ratio * math.Sqrt(yearSessions))})
	}
	if o.Sessions < blocks*MonthSessions {
		return o
	}
	if found, err := sharpe.Overfitting(trials, blocks); err == nil { // unknown if no trial varies
		o.Probability, o.Loss, o.Slope = Number(found.Probability), Number(found.Loss), Number(found.Slope)
	}
	return o
}

// overUniverse is the excess return over all companies scored of each session, NaN where nothing is held.
func (m *market) overUniverse(list []holding) []float64 {
	means, _ := m.means(list)
	for day := range means {
		means[day] -= m.universe[day]
	}
	return means
}

// known keeps the sessions in which all lists have a number.
func known(lists [][]float64) [][]float64 {
	out := make([][]float64, len(lists))
	for day := range lists[0] {
		all := true
		for _, list := range lists {
			all = all && !math.IsNaN(list[day])
		}
		for i, list := range lists {
			if all {
				out[i] = append(out[i], list[day])
			}
		}
	}
	return out
}
