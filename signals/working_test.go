package signals_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/series"
	"tidemark/signals"
)

// setOf is the data that some cells make.
func setOf(cells ...[]signals.Cell) series.Set {
	set := series.Set{}
	for _, c := range slices.Concat(cells...) {
		if !slices.ContainsFunc(set[c.Series], func(p series.Point) bool { return p.ObservedAt.Time().Equal(c.ObservedAt.Time()) }) {
			set[c.Series] = append(set[c.Series], c.Point)
		}
	}
	for _, points := range set {
		slices.SortFunc(points, func(a, b series.Point) int { return a.ObservedAt.Time().Compare(b.ObservedAt.Time()) })
	}
	return set
}

// with is a set in which one cell has another value.
func with(set series.Set, c signals.Cell, value float64) series.Set {
	out := clone(set)
	for i, p := range out[c.Series] {
		if p.ObservedAt.Time().Equal(c.ObservedAt.Time()) {
			out[c.Series][i].Value = value
		}
	}
	return out
}

// other is another value that a cell could have. Only the whole number of a version counts.
func other(c signals.Cell) float64 {
	if strings.HasSuffix(string(c.Series), ".version") {
		return c.Value + 1
	}
	return 1.37 * c.Value
}

// some draws a few of a list.
func some[T any](rng *rand.Rand, list []T, n int) []T {
	list = slices.Clone(list)
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(n, len(list))]
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// The cells of an estimate are the ones that it rests on, and no others. Its numbers come out of them alone. Each of them matters, and none of
// the rest does.
func TestTheCellsOfAnEstimateAreThoseThatItRestsOn(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		rng := rand.New(rand.NewPCG(19, 3))
		set := madeUp(d, history, 4)
		track := d.Compute(set, end)
		picked := append(some(rng, track[:len(track)-1], 12), track[len(track)-1])
		whole := 0
		for _, want := range picked {
			e, w, ok := d.Working(set, end, want.ObservedAt)
			if !ok || !e.ObservedAt.Time().Equal(want.ObservedAt.Time()) {
				t.Fatalf("no working about %s", want.ObservedAt)
			}
			at := func(in series.Set) signals.Estimate {
				e, _, _ := d.Working(in, end, want.ObservedAt)
				return e
			}
			if got := at(setOf(w.Value, w.Baseline)); !same(got.Value, e.Value) || !same(got.Baseline, e.Baseline) || !same(got.Scale, e.Scale) || got.N != e.N {
				t.Fatalf("%s: from its cells alone %+v, want %+v", e.ObservedAt, got, e)
			}
			if got := at(setOf(w.Value)); !same(got.Value, e.Value) {
				t.Errorf("%s: from the cells of the value alone %v, want %v", e.ObservedAt, got.Value, e.Value)
			}
			// One of the years of a line has no say where the line continues.
			free := 0
			if d.BaselineMethod == "ols_trend_25y" {
				free = 1
			}
			for _, c := range some(rng, w.Value, 20) {
				if got := at(with(set, c, other(c))); same(got.Value, e.Value) {
					if free--; free < 0 {
						t.Errorf("%s: %s of %s is a cell of the value, and does not matter to it", e.ObservedAt, c.Series, c.ObservedAt)
					}
				}
			}
			in := map[string]bool{}
			for _, c := range slices.Concat(w.Value, w.Baseline) {
				in[fmt.Sprint(c.Series, c.ObservedAt)] = true
			}
			if !math.IsNaN(e.Scale) && e.ObservedAt.Time().Year() > 2021 {
				whole++
				for _, c := range some(rng, w.Baseline, 20) {
					if got := at(with(set, c, other(c))); same(got.Baseline, e.Baseline) && same(got.Scale, e.Scale) && got.N == e.N && !medianOf(d) {
						t.Errorf("%s: %s of %s is a cell of the baseline, and does not matter to it", e.ObservedAt, c.Series, c.ObservedAt)
					}
				}
			}
			var rest []signals.Cell
			for _, id := range d.Inputs {
				for _, p := range set[id] {
					if c := (signals.Cell{Series: id, Point: p}); !in[fmt.Sprint(c.Series, c.ObservedAt)] {
						rest = append(rest, c)
					}
				}
			}
			for _, c := range some(rng, rest, 20) {
				if got := at(with(set, c, other(c))); !same(got.Value, e.Value) || !same(got.Baseline, e.Baseline) || !same(got.Scale, e.Scale) {
					t.Errorf("%s: %s of %s is no cell, and matters: %+v became %+v", e.ObservedAt, c.Series, c.ObservedAt, e, got)
				}
			}
		}
		if whole == 0 {
			t.Errorf("none of %d estimates has a baseline", len(picked))
		}
	})
}

// medianOf reports whether most cells of a baseline may change without changing it.
func medianOf(d signals.Definition) bool { return strings.HasSuffix(d.BaselineMethod, "_median") }

// The numbers that a formula shows give its result, reckoned by a small calculator.
func TestTheFormulasWithTheirNumbersGiveTheirResults(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		rng := rand.New(rand.NewPCG(19, 4))
		set := madeUp(d, history, 5)
		track := d.Compute(set, end)
		reckoned := map[string]int{}
		for _, e := range append(some(rng, track, 60), track[len(track)-1]) {
			e, w, _ := d.Working(set, end, e.ObservedAt)
			want := map[string]float64{"value": e.Value, "baseline": e.Baseline, "scale": e.Scale, "z_score": e.Z(), "delta_vs_baseline_pct": e.DeltaPct()}
			for _, s := range w.Steps {
				if !same(s.Result, want[s.Name]) {
					t.Errorf("%s: %s is %v, want %v", e.ObservedAt, s.Name, s.Result, want[s.Name])
				}
				delete(want, s.Name)
				if strings.HasPrefix(s.Formula, "median") {
					continue
				}
				got, err := reckon(s.Formula)
				if err != nil || math.Abs(got-s.Result) > 1e-7*max(1, math.Abs(s.Result)) {
					t.Errorf("%s: %s = %s is %v (%v), want %v", e.ObservedAt, s.Name, s.Formula, got, err, s.Result)
				}
				reckoned[s.Name]++
			}
			for name, v := range want {
				if !math.IsNaN(v) {
					t.Errorf("%s: no step has the %s of %v", e.ObservedAt, name, v)
				}
			}
		}
		if reckoned["value"] < 50 || reckoned["z_score"] == 0 {
			t.Errorf("%v were reckoned", reckoned)
		}
	})
}

// reckon computes a formula of numbers, + - * / ( ), sqrt and exp.
func reckon(formula string) (v float64, err error) {
	c := calculator{rest: strings.ReplaceAll(formula, " ", "")}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	v = c.sum()
	if c.rest != "" {
		return v, fmt.Errorf("%q is left", c.rest)
	}
	return v, nil
}

type calculator struct{ rest string }

func (c *calculator) take(prefix string) bool {
	rest, ok := strings.CutPrefix(c.rest, prefix)
	c.rest = rest
	return ok
}

func (c *calculator) sum() float64 {
	v := c.product()
	for {
		switch {
		case c.take("+"):
			v += c.product()
		case c.take("-"):
			v -= c.product()
		default:
			return v
		}
	}
}

func (c *calculator) product() float64 {
	v := c.factor()
	for {
		switch {
		case c.take("*"):
			v *= c.factor()
		case c.take("/"):
			v /= c.factor()
		default:
			return v
		}
	}
}

func (c *calculator) factor() float64 {
	switch {
	case c.take("sqrt("):
		return math.Sqrt(c.closed())
	case c.take("exp("):
		return math.Exp(c.closed())
	case c.take("("):
		return c.closed()
	case c.take("-"):
		return -c.factor()
	}
	n := strings.IndexFunc(c.rest, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if n < 0 {
		n = len(c.rest)
	}
	v, err := strconv.ParseFloat(c.rest[:n], 64)
	if err != nil {
		panic(err)
	}
	c.rest = c.rest[n:]
	return v
}

func (c *calculator) closed() float64 {
	v := c.sum()
	if !c.take(")") {
		panic("a parenthesis is open")
	}
	return v
}

// reestimated adds what some days of the re-estimated series were before their newest change.
func reestimated(d signals.Definition, set series.Set, rng *rand.Rand) series.Set {
	for _, id := range d.Reestimated {
		for _, p := range set[id] {
			if rng.IntN(3) > 0 {
				p.VintageAt, p.Value = p.VintageAt.AddDate(0, 1+rng.IntN(2), 0), math.Round(p.Value*(0.8+0.3*rng.Float64()))
				set[series.Before(id)] = append(set[series.Before(id)], p)
			}
		}
	}
	return set
}

// The bounds and the components come out of their cells alone, and what is no cell does not matter to them.
func TestTheCellsOfAnIntervalAndOfComponentsAreThoseThatTheyRestOn(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		rng := rand.New(rand.NewPCG(19, 7))
		set := reestimated(d, madeUp(d, history, 4), rng)
		track := d.Compute(set, end)
		bounded := 0
		near := func(a, b float64) bool { return same(a, b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a)) }
		for i, want := range append(some(rng, track[:len(track)-1], 12), track[len(track)-1]) {
			newest := i%2 == 0 // or else an estimate of the history: the components are not of it
			up := series.Set{}
			for id, points := range set {
				up[id] = slices.DeleteFunc(slices.Clone(points), func(p series.Point) bool { return newest && p.ObservedAt.Time().After(want.ObservedAt.Time()) })
			}
			e, w, ok := d.Working(up, end, want.ObservedAt)
			if !ok {
				continue
			}
			if e.Lo < e.Hi {
				bounded++
			}
			from := func(in series.Set) (signals.Estimate, []signals.Component) {
				e, _, _ := d.Working(in, end, want.ObservedAt)
				if d.Components == nil || !newest {
					return e, nil
				}
				return e, d.Components(in, end)
			}
			agree := func(what string, in series.Set) {
				t.Helper()
				got, parts := from(in)
				if !near(got.Lo, e.Lo) || !near(got.Hi, e.Hi) {
					t.Errorf("%s: %s: from %v to %v, want from %v to %v", e.ObservedAt, what, got.Lo, got.Hi, e.Lo, e.Hi)
				}
				_, whole := from(up)
				if len(parts) != len(whole) {
					t.Errorf("%s: %s: %d components, want %d", e.ObservedAt, what, len(parts), len(whole))
					return
				}
				for i, c := range whole {
					if p := parts[i]; p.Name != c.Name || !p.ObservedAt.Time().Equal(c.ObservedAt.Time()) || !near(p.Value, c.Value) || !near(p.Baseline, c.Baseline) || !near(p.Scale, c.Scale) {
						t.Errorf("%s: %s: %+v, want %+v", e.ObservedAt, what, p, c)
					}
				}
			}
			if !newest {
				w.Components = nil // the evidence of an estimate of the history names none
			}
			agree("from the cells alone", setOf(w.Value, w.Baseline, w.Interval, w.Components))
			cells := map[string]bool{}
			for _, c := range slices.Concat(w.Value, w.Baseline, w.Interval, w.Components) {
				cells[fmt.Sprint(c.Series, c.ObservedAt)] = true
			}
			var rest []signals.Cell
			for id, points := range up {
				for _, p := range points {
					if c := (signals.Cell{Series: id, Point: p}); !cells[fmt.Sprint(c.Series, c.ObservedAt)] && slices.Contains(append(slices.Clone(d.Inputs), beforeAll(d)...), id) {
						rest = append(rest, c)
					}
				}
			}
			for _, c := range some(rng, rest, 8) {
				agree(fmt.Sprintf("with another %s of %s, which is no cell", c.Series, c.ObservedAt), with(up, c, other(c)))
			}
		}
		if bounded == 0 {
			t.Error("no estimate has an interval")
		}
	})
}

func beforeAll(d signals.Definition) (out []series.ID) {
	for _, id := range d.Reestimated {
		out = append(out, series.Before(id))
	}
	return out
}
