package forecast

import "math"

// pool mixes the quantiles of experts by Bernstein online aggregation (Wintenberger, Machine Learning 106, 2017). Each expert has one
// weight for all levels, which learns from the pinball loss of the mixture.
type pool struct {
	levels, weights []float64
	experts         []expertRecord
}

// expertRecord is the pool's record of an expert: the largest and the summed square of its instantaneous regrets, and the regret itself
// with its correction of the second order.
type expertRecord struct{ maxAbs, squares, regret float64 }

func newPool(levels []float64, experts int) *pool {
	return &pool{levels: levels, weights: weights(levels), experts: make([]expertRecord, experts)}
}

// rate is the expert's learning rate, 0 before it has differed from the mixture.
func (e expertRecord) rate(experts int) float64 {
	if e.maxAbs == 0 {
		return 0
	}
	return min(1/(2*e.maxAbs), math.Sqrt(math.Log(float64(experts))/e.squares))
}

// shares are the weights of the present experts, which sum to 1; other experts have weight 0. An expert that has not yet differed from
// the mixture has the average weight of the others.
func (p *pool) shares(present []bool) []float64 {
	logs, largest := make([]float64, len(p.experts)), math.Inf(-1)
	for i, e := range p.experts {
		if rate := e.rate(len(p.experts)); present[i] && rate > 0 {
			logs[i] = math.Log(rate) + float64(rate*e.regret)
			largest = max(largest, logs[i])
		}
	}
	out := make([]float64, len(p.experts))
	var sum float64
	fresh, old := 0, 0
	for i, e := range p.experts {
		switch {
		case !present[i]:
		case e.maxAbs == 0:
			fresh++
		default:
			old++
			out[i] = math.Exp(logs[i] - largest)
			sum += out[i]
		}
	}
	average := 1.0
	if old > 0 {
		average = sum / float64(old)
	}
	sum += float64(average * float64(fresh))
	for i, e := range p.experts {
		if present[i] && e.maxAbs == 0 {
			out[i] = average
		}
		out[i] /= sum
	}
	return out
}

// mix is the mixture of the present experts' quantiles at the pool's levels.
func (p *pool) mix(quantiles [][]float64, shares []float64) []float64 {
	out := make([]float64, len(p.levels))
	for e, share := range shares {
		if share == 0 {
			continue
		}
		for i, q := range quantiles[e] {
			out[i] += float64(share * q)
		}
	}
	return out
}

// learn takes the outcome of a mixture to the records of the experts that were present.
func (p *pool) learn(quantiles [][]float64, present []bool, mix []float64, y float64) {
	for e := range p.experts {
		if !present[e] {
			continue
		}
		var r float64
		for i, level := range p.levels {
			slope := -level
			if y < mix[i] {
				slope++
			}
			r += float64(p.weights[i] * slope * (mix[i] - quantiles[e][i]))
		}
		r *= 2
		record := &p.experts[e]
		record.maxAbs = max(record.maxAbs, math.Abs(r))
		record.squares += float64(r * r)
		rate := record.rate(len(p.experts))
		record.regret += float64(r * (1 - float64(rate*r)))
	}
}
