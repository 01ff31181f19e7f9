package picks

import (
	"slices"

	"gonum.org/v1/gonum/stat"
)

// compare fills in the clipped values and z-scores of all metrics.
func compare(scores []Score, rules Rules) {
	for k := range metricGroups {
		clip(scores, k, rules.ClipTail)
		if metricGroups[k].id == PriceMomentum {
			lessSectorMean(scores, k)
		}
		standardise(scores, k, rules.MinPeers)
	}
}

// standardiseGroups makes the groups' scores of all companies equally wide, so that the stated weights are the effective ones. A group of many
// metrics, which balance each other, has a narrower mean than a group of one.
func standardiseGroups(scores []Score) {
	for _, g := range scoreGroups {
		var raw []float64
		for i := range scores {
			if v, ok := scores[i].Groups[g]; ok {
				raw = append(raw, v)
			}
		}
		for i := range scores {
			if v, ok := scores[i].Groups[g]; ok {
				scores[i].Groups[g] = zScore(v, raw)
			}
		}
	}
}

// clip sets the values of a metric beyond the two quantiles to the quantiles.
func clip(scores []Score, k int, tail float64) {
	values := known(scores, k, func(m Metric) float64 { return m.Value }, nil)
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	low, high := stat.Quantile(tail, stat.LinInterp, values, nil), stat.Quantile(1-tail, stat.LinInterp, values, nil)
	for i := range scores {
		if m := &scores[i].Metrics[k]; m.Known() {
			m.Clipped = min(max(m.Value, low), high)
		}
	}
}

// lessSectorMean takes the mean of a company's sector off.
func lessSectorMean(scores []Score, k int) {
	clipped := func(m Metric) float64 { return m.Clipped }
	means := map[Sector]float64{}
	for i := range scores {
		s := scores[i].Sector
		if _, done := means[s]; !done {
			means[s] = stat.Mean(known(scores, k, clipped, &s), nil)
		}
	}
	for i := range scores {
		scores[i].SectorMomentum = means[scores[i].Sector]
		scores[i].Metrics[k].Clipped -= means[scores[i].Sector]
	}
}

// standardise makes z-scores, within the sector if it has enough members, else within the universe.
func standardise(scores []Score, k, minPeers int) {
	clipped := func(m Metric) float64 { return m.Clipped }
	all := known(scores, k, clipped, nil)
	for i := range scores {
		m := &scores[i].Metrics[k]
		if !m.Known() && !scores[i].silentOnDebt(m.ID) {
			continue
		}
		peers := known(scores, k, clipped, &scores[i].Sector)
		bySector := len(peers) >= minPeers
		if !bySector {
			peers = all
		}
		if !m.Known() {
			if len(peers) > 0 {
				m.Worst = zScore(slices.Min(peers), peers)
			}
			continue
		}
		m.BySector = bySector
		m.Peers = len(peers)
		m.Z = zScore(m.Clipped, peers)
	}
}

// silentOnDebt reports whether a metric is unknown since the company does not tell its debt.
func (s *Score) silentOnDebt(id string) bool {
	return s.metric(id).Applies && !s.Debt.Known() && (id == LowDebt || id == OperatingYield && s.OperatingIncome.Known())
}

// zScore is zero if the peers do not differ, or there is only one. The spread of equal numbers may come out a little above zero.
func zScore(v float64, peers []float64) float64 {
	if len(peers) < 2 || slices.Min(peers) == slices.Max(peers) {
		return 0
	}
	mean, sd := stat.MeanStdDev(peers, nil)
	return (v - mean) / sd
}

// known lists a metric's known numbers, of one sector or of all.
func known(scores []Score, k int, of func(Metric) float64, sector *Sector) []float64 {
	var values []float64
	for i := range scores {
		if m := scores[i].Metrics[k]; m.Known() && (sector == nil || scores[i].Sector == *sector) {
			values = append(values, of(m))
		}
	}
	return values
}
