package forecast

import "slices"

// conformal corrects levels by earlier hits: adaptive conformal inference (Gibbs and Candes, NeurIPS 2021) with a separate step for each
// node. For any data, the share of hits of a node's own thresholds is off by at most (max(t,1-t)+step)/(step*n) after n outcomes, where t
// is the node. The bound is weak: a year of weeks promises nothing.
type conformal struct {
	step       float64
	nodes      []float64
	thresholds []float64
}

// conformalStep and conformalNodes are used for every forecast.
const conformalStep = 0.01

var conformalNodes = []float64{0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95}

func newConformal(step float64, nodes []float64) *conformal {
	return &conformal{step: step, nodes: nodes, thresholds: slices.Clone(nodes)}
}

// level is where to read the distribution for a level to be held: linear through (0,0), the nodes and their thresholds, and (1,1).
func (c *conformal) level(p float64) float64 {
	at := slices.Sorted(slices.Values(c.thresholds))
	x0, y0 := 0.0, 0.0
	for i, x := range c.nodes {
		y := min(max(at[i], minProbability), maxProbability)
		if p <= x {
			return y0 + float64((p-x0)/(x-x0)*(y-y0))
		}
		x0, y0 = x, y
	}
	return y0 + float64((p-x0)/(1-x0)*(1-y0))
}

// learn adds an outcome: held reports whether it was at or below the distribution's quantile of a level, before the correction. Each node
// is judged by its own threshold: this repairs crossed thresholds.
func (c *conformal) learn(held func(level float64) bool) {
	for i, node := range c.nodes {
		hit := 0.0
		if t := c.thresholds[i]; t >= 1 || t > 0 && held(t) {
			hit = 1
		}
		c.thresholds[i] += float64(c.step * (node - hit))
	}
}

// correct reads the distribution at the corrected levels.
func (c *conformal) correct(q Quantiles) (out Quantiles) {
	for i, p := range Levels {
		out[i] = q.At(c.level(p))
	}
	return out.sorted()
}
