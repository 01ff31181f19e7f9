package picks

import (
	"cmp"
	"fmt"
	"slices"

	"tidemark/internal/equity"
	"tidemark/internal/locale"
)

// Variation is the pick that another weight of one group would have made.
type Variation struct {
	Group Group
	// Factor multiplies the group's weight; the other weights stay.
	Factor float64
	CIK    equity.CIK
	Ticker string
	// Same reports whether the pick stays what it is.
	Same bool
}

// weightChanges are the factors that vary applies to each weight.
var weightChanges = []float64{0.8, 1.2}

// vary returns the pick of the day for a weight of one group that is a fifth smaller or larger. Each group has two variations, in
// the order of the groups. The objections of earlier picks stay the same. past are the earlier picks in any order. It is nil if the ranking
// has no pick.
func (r Ranking) vary(past []PastPick, rules Rules) []Variation {
	if r.Pick == nil {
		return nil
	}
	free := r.Free(past, rules)
	var list []Variation
	for _, g := range scoreGroups {
		for _, factor := range weightChanges {
			weights := rules.weights()
			weights[g] *= factor
			if best := bestOf(free, weights); best != nil {
				list = append(list, Variation{Group: g, Factor: factor, CIK: best.CIK, Ticker: best.Ticker, Same: best.CIK == r.Pick.CIK})
			}
		}
	}
	return list
}

// sensitivity adds in how many cases the pick of the day would be the same company under other weights. An editor's pick is not made by weights.
func (w *briefWriter) sensitivity(r Ranking) {
	if !w.brief.picked || r.Chosen || len(r.Variations) == 0 {
		return
	}
	same := 0
	for _, v := range r.Variations {
		if v.CIK == w.score.CIK {
			same++
		}
	}
	w.facts().add("weights_same", float64(same), 0, locale.Count, r.Day, -1)
	w.facts().add("weights_tried", float64(len(r.Variations)), 0, locale.Count, r.Day, -1)
}

// bestOf returns the best of some companies under other weights, nil of none. They are in the order of their scores, so equal totals keep it.
func bestOf(free []*Score, weights map[Group]float64) (best *Score) {
	for _, s := range free {
		if best == nil || s.sum(weights) > best.sum(weights) {
			best = s
		}
	}
	return best
}

// Variant is another weighting of the groups that runs on history next to the rules in force.
type Variant struct {
	// Name is its name in the registry of methods, such as value-alone.
	Name string
	// Weights of the groups.
	Weights map[Group]float64
}

// Variants are all weightings that a backtest tries in addition to the rules' own: each group alone, all groups alike, and each weight a fifth
// smaller or larger.
func (r Rules) Variants() (list []Variant) {
	alike := map[Group]float64{}
	for _, g := range scoreGroups {
		list = append(list, Variant{string(g) + "-alone", map[Group]float64{g: 1}})
		alike[g] = 1 / float64(len(scoreGroups))
	}
	list = append(list, Variant{"alike", alike})
	for _, g := range scoreGroups {
		for _, factor := range weightChanges {
			weights := r.weights()
			weights[g] *= factor
			list = append(list, Variant{fmt.Sprintf("%s-times-%g", g, factor), weights})
		}
	}
	return list
}

// PickBy returns the company that Rank would pick with other weights, nil if the earlier picks, given in any order, object to all.
func (r Ranking) PickBy(v Variant, past []PastPick, rules Rules) *Score {
	free := r.Free(past, rules)
	slices.SortFunc(free, func(a, b *Score) int { return cmp.Or(cmp.Compare(a.Ticker, b.Ticker), cmp.Compare(a.CIK, b.CIK)) }) // equal totals are ordered so
	return bestOf(free, v.Weights)
}

// Free returns the companies scored that the earlier picks, given in any order, do not object to, in the order of the scores.
func (r Ranking) Free(past []PastPick, rules Rules) []*Score {
	object := r.objection(past, rules)
	var free []*Score
	for i := range r.Scores {
		if object(&r.Scores[i]) == "" {
			free = append(free, &r.Scores[i])
		}
	}
	return free
}

// String is one line, for example "quality -20 %: AAPL".
func (v Variation) String() string {
	return fmt.Sprintf("%s %+.0f %%: %s", v.Group, 100*(v.Factor-1), v.Ticker)
}
