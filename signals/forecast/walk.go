package forecast

import (
	"math"
	"slices"
	"time"
)

// firstPrint is one release of a figure, with the data needed to forecast it. Its value is NaN if it is the one to come.
type firstPrint struct {
	period time.Time
	value  float64
}

// expert is one way to forecast a figure: for each print, the expected location and the unit of its errors. NaN if it has no forecast.
// Each uses only data known before its print.
type expert struct {
	at, scale []float64
	// squareRoot reports whether both are for the figure's square root.
	squareRoot bool
}

// walk goes through the prints of a figure, oldest first, and makes the distribution of each from the prints before it.
type walk struct {
	prints  []firstPrint
	experts []expert
	// naive1 and naive2 are the forecasts to beat. Which of them are experts of the pool, too, the model says.
	naive1, naive2 expert
	// window is how many errors of an expert make its spread, minErrors how few.
	window, minErrors int
	// floor is the min value of the figure; nil if none exists.
	floor *float64
	// alone reports whether only the first expert forecasts a print. Nil: never.
	alone func(i int) bool
}

// step is the distribution of one print.
type step struct {
	period                    time.Time
	quantiles, naive1, naive2 Quantiles
	// ok reports whether there were enough errors for all three.
	ok    bool
	value float64
}

// run yields a step for each print.
func (w walk) run() []step {
	out := make([]step, len(w.prints))
	tracked := make([]*trackedExpert, len(w.experts))
	for i, e := range w.experts {
		tracked[i] = w.track(e)
	}
	first, second := w.track(w.naive1), w.track(w.naive2)
	mixture, correction := newPool(Levels[:], len(tracked)), newConformal(conformalStep, conformalNodes)
	for i, p := range w.prints {
		s := step{period: p.period, value: p.value}
		predicted, present := make([][]float64, len(tracked)), make([]bool, len(tracked))
		for e := range tracked {
			q, ok := tracked[e].predict(i)
			predicted[e], present[e] = q[:], ok && (e == 0 || w.alone == nil || !w.alone(i))
		}
		var ok1, ok2 bool
		s.naive1, ok1 = first.predict(i)
		s.naive2, ok2 = second.predict(i)
		if slices.Contains(present, true) {
			mix := mixture.mix(predicted, mixture.shares(present))
			pooled := Quantiles(mix).sorted()
			s.quantiles = correction.correct(pooled).notBelow(w.floor)
			s.ok = ok1 && ok2
			if !math.IsNaN(p.value) {
				mixture.learn(predicted, present, mix, p.value)
				correction.learn(func(level float64) bool { return p.value <= pooled.At(level) })
			}
		}
		for e := range tracked {
			tracked[e].learn(i, p.value)
		}
		first.learn(i, p.value)
		second.learn(i, p.value)
		out[i] = s
	}
	return out
}

// trackedExpert is an expert with the errors that it has made.
type trackedExpert struct {
	expert
	errors    window
	minErrors int
	floor     *float64
}

func (w walk) track(e expert) *trackedExpert {
	return &trackedExpert{expert: e, errors: window{capacity: w.window}, minErrors: w.minErrors, floor: w.floor}
}

// predict is the expert's distribution of the i-th print, and whether it has one.
func (t *trackedExpert) predict(i int) (Quantiles, bool) {
	q, ok := t.errors.dress(t.at[i], t.scale[i], t.minErrors)
	if ok && t.squareRoot {
		for j, x := range q {
			q[j] = float64(max(x, 0) * max(x, 0))
		}
	}
	return q.notBelow(t.floor), ok
}

func (t *trackedExpert) learn(i int, y float64) {
	if t.squareRoot {
		y = math.Sqrt(y)
	}
	t.errors.add((y - t.at[i]) / t.scale[i])
}

// plain is an expert whose errors are counted in the figure's own unit.
func plain(at []float64) expert {
	scale := make([]float64, len(at))
	for i := range scale {
		scale[i] = 1
	}
	return expert{at: at, scale: scale}
}

// running returns an expert whose errors are in units of their running deviation.
func running(at, values []float64, lambda float64, minSquares int) expert {
	return expert{at: at, scale: deviations(at, values, lambda, minSquares)}
}

// deviations is for each print the running deviation of the errors before it.
func deviations(at, values []float64, lambda float64, minSquares int) []float64 {
	w := ewma{lambda: lambda, clip: 16, minSquares: minSquares}
	out := make([]float64, len(at))
	for i := range at {
		out[i] = w.sd()
		w.add(values[i] - at[i])
	}
	return out
}
