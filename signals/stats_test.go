package signals

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/series"
)

// exact is the mean and the sample standard deviation in 400 bits.
func exact(values []float64) (mean, sd float64) {
	number := func(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }
	sum := number(0)
	for _, v := range values {
		sum.Add(sum, number(v))
	}
	m := number(0).Quo(sum, number(float64(len(values))))
	squares := number(0)
	for _, v := range values {
		d := number(0).Sub(number(v), m)
		squares.Add(squares, d.Mul(d, d))
	}
	squares.Quo(squares, number(float64(len(values)-1)))
	mean, _ = m.Float64()
	sd, _ = squares.Sqrt(squares).Float64()
	return mean, sd
}

func TestTrailingMomentsAgreeWithExactArithmetic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		start, step float64
	}{
		{"prices of a few dollars", 2, 0.03},
		{"stocks of half a million", 450_000, 3_000},
		{"a small spread on a large value", 1e6, 1},
		{"a tiny spread on a huge value", 1e12, 0.01},
		{"values around zero", 0, 1},
		{"very small values", 1e-150, 1e-151},
		{"very large values", 1e150, 1e148},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 2))
			values := make([]float64, 700)
			x := c.start
			for i := range values {
				x += c.step * rng.NormFloat64()
				values[i] = x
			}
			for _, n := range []int{2, 5, 60, 252} {
				at := trailed(values, n)
				for i := range values {
					m := at[i]
					if i < n-1 {
						if m.n != 0 || !math.IsNaN(m.mean()) || !math.IsNaN(m.sd()) {
							t.Fatalf("n %d, i %d: %+v from too short a history, want nothing", n, i, m)
						}
						continue
					}
					if i%7 != 0 {
						continue // the exact arithmetic is slow
					}
					window := values[i+1-n : i+1]
					mean, sd := exact(window)
					if !near(m.mean(), mean, sd) || !near(m.sd(), sd, 0) {
						t.Fatalf("n %d, i %d: %v, %v, want %v, %v", n, i, m.mean(), m.sd(), mean, sd)
					}
					if gm, gs := stat.MeanStdDev(window, nil); !near(m.mean(), gm, gs) || math.Abs(m.sd()-gs) > 1e-9*gs {
						t.Fatalf("n %d, i %d: %v, %v, gonum has %v, %v", n, i, m.mean(), m.sd(), gm, gs)
					}
				}
			}
		})
	}
}

func TestAConstantWindowHasNoSpreadWhateverStandsBesideIt(t *testing.T) {
	t.Parallel()
	for _, constant := range []float64{0.1, 3.3, 90.7, 442_999.9, -36.98} {
		values := []float64{7, -1e9, 12.5}
		for range 200 {
			values = append(values, constant)
		}
		at := trailed(values, 7)
		for i := 9; i < len(values); i++ { // before, the window still holds another value
			m := at[i]
			if m.mean() != constant || m.sd() != 0 {
				t.Fatalf("window of %v: mean %v, sd %v, want the value and exactly 0", constant, m.mean(), m.sd())
			}
			if z := (Estimate{Value: constant, Baseline: m.mean(), Scale: m.sd()}).Z(); !math.IsNaN(z) {
				t.Fatalf("z-score in a spread of zero is %v, want NaN", z)
			}
		}
	}
}

func TestAnUnknownOrAbsurdValueLeavesNoTraceBehindItsWindow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	values := make([]float64, 300)
	for i := range values {
		values[i] = 20 + rng.NormFloat64()
	}
	for _, bad := range []float64{math.NaN(), 1e300, -1e17} {
		broken := slices.Clone(values)
		broken[100] = bad
		before, after := trailed(values, 30), trailed(broken, 30)
		for i := range values {
			clean, got := before[i], after[i]
			touched := i >= 100 && i < 130
			if !touched && got != clean {
				t.Fatalf("%v at 100 changed the window that ends at %d: %+v, want %+v", bad, i, got, clean)
			}
			if touched && math.IsNaN(bad) && !(math.IsNaN(got.mean()) && math.IsNaN(got.sd())) {
				t.Fatalf("the window that ends at %d holds NaN but has mean %v, sd %v", i, got.mean(), got.sd())
			}
		}
	}
}

// trailed are the samples of trailing, and empty ones before.
func trailed(values []float64, n int) []moments {
	out := make([]moments, len(values))
	for i, m := range trailing(values, n) {
		out[i] = m
	}
	return out
}

func TestMomentsByHand(t *testing.T) {
	t.Parallel()
	m := moments{}.add(2).add(4).add(4).add(4).add(5).add(5).add(7).add(9)
	wantNear(t, "mean", m.mean(), 5)
	wantNear(t, "sd", m.sd(), math.Sqrt(32.0/7))
	halves := moments{}.add(2).add(4).add(4).merge(moments{}.add(4).add(5).add(5).add(7).add(9))
	wantNear(t, "mean of the union", halves.mean(), 5)
	wantNear(t, "sd of the union", halves.sd(), math.Sqrt(32.0/7))
	for _, m := range []moments{{}, moments{}.add(3), moments{}.add(3).add(3), m, halves} {
		if mean, sd := m.meanAndSD(); !near(mean, m.mean(), 0) || !near(sd, m.sd(), 0) {
			t.Errorf("%+v: mean and sd at once %v, %v, want %v, %v", m, mean, sd, m.mean(), m.sd())
		}
	}
	if one := (moments{}).add(3); one.mean() != 3 || !math.IsNaN(one.sd()) {
		t.Errorf("one value has mean %v, sd %v, want 3 and NaN", one.mean(), one.sd())
	}
	if got := changes([]float64{1, 4, 2}, nil); !slices.Equal(got, []float64{3, -2}) {
		t.Errorf("changes = %v", got)
	}
	if got := changes([]float64{1}, nil); len(got) != 0 {
		t.Errorf("changes of one value = %v", got)
	}
}

func TestQuantileIsTheInverseOfTheEmpiricalDistribution(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	var s sorted
	if !math.IsNaN(s.quantile(0.5)) {
		t.Error("the empty set has a quantile")
	}
	for range 300 {
		s.insert(float64(rng.IntN(50))) // with ties
		for _, p := range []float64{0, 0.05, 0.25, 0.5, 0.9, 0.95, 1} {
			if got, want := s.quantile(p), stat.Quantile(p, stat.Empirical, s, nil); got != want {
				t.Fatalf("quantile %v of %d values = %v, gonum has %v", p, len(s), got, want)
			}
		}
	}
	for len(s) > 0 {
		s.remove(s[rng.IntN(len(s))])
		if !slices.IsSorted(s) {
			t.Fatal("out of order after a removal")
		}
	}
}

func TestTheNthMemberOfASetThatChanges(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 32))
	for _, size := range []int{1, 63, 64, 65, 500} {
		set := make(placeSet, size/64+1)
		var members []int
		var found nth
		for range 2000 {
			place := rng.IntN(size)
			if i, is := slices.BinarySearch(members, place); is {
				members = slices.Delete(members, i, i+1)
				set.remove(place)
				found.removed(place)
			} else {
				members = slices.Insert(members, i, place)
				set.add(place)
				found.added(place)
			}
			if len(members) == 0 || rng.IntN(3) == 0 {
				continue
			}
			if n := rng.IntN(len(members)); found.move(set, n) != members[n] {
				t.Fatalf("of %d places, member %d is %d, want %d", size, n, found.place, members[n])
			}
		}
	}
}

func TestMedianAndItsDeviation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in          sorted
		median, mad float64
	}{
		{nil, math.NaN(), math.NaN()},
		{sorted{4}, 4, 0},
		{sorted{1, 4}, 2.5, 1.5},
		{sorted{1, 1, 2, 2, 4, 6, 9}, 2, 1}, // distances 0, 0, 1, 1, 2, 4, 7
		{sorted{3.3, 3.3, 3.3, 3.3}, 3.3, 0},
		{sorted{1, 2, 3, 100}, 2.5, 1}, // distances 0.5, 0.5, 1.5, 97.5
	} {
		if m, d := c.in.median(), c.in.mad(); !near(m, c.median, 0) || !near(d, c.mad, 0) {
			t.Errorf("%v: median %v, deviation %v, want %v and %v", c.in, m, d, c.median, c.mad)
		}
	}
	rng := rand.New(rand.NewPCG(15, 16))
	var s sorted
	for range 200 {
		s.insert(float64(rng.IntN(40)) / 3)
		m := s.median()
		var distances sorted
		for _, x := range s {
			distances.insert(math.Abs(x - m))
		}
		if got, want := s.mad(), distances.median(); !near(got, want, 1) {
			t.Fatalf("deviation of %v: %v, want %v", s, got, want)
		}
	}
}

func TestInterpolatedQuantilesLeaveANewcomerEachGapAlike(t *testing.T) {
	t.Parallel()
	s := sorted{10, 20, 40, 80} // five gaps, a fifth of all newcomers in each
	for p, want := range map[float64]float64{0: 10, 0.1: 10, 0.2: 10, 0.3: 15, 0.4: 20, 0.5: 30, 0.7: 60, 0.8: 80, 0.95: 80, 1: 80} {
		if got := s.between(p); !near(got, want, 0) {
			t.Errorf("quantile %v is %v, want %v", p, got, want)
		}
	}
	if got := (sorted{7}).between(0.5); got != 7 {
		t.Errorf("quantile of one value %v", got)
	}
	if got := sorted(nil).between(0.5); !math.IsNaN(got) {
		t.Errorf("quantile of nothing %v", got)
	}
	// Of bands made of 25 errors, 90 of 100 hold the next one; the plain quantiles of the same errors hold fewer.
	rng := rand.New(rand.NewPCG(17, 18))
	held, plain := 0, 0
	const worlds = 20_000
	for range worlds {
		var errors sorted
		for range 25 {
			errors.insert(rng.NormFloat64())
		}
		next := rng.NormFloat64()
		if errors.between(0.05) <= next && next <= errors.between(0.95) {
			held++
		}
		if errors.quantile(0.05) <= next && next <= errors.quantile(0.95) {
			plain++
		}
	}
	if share := float64(held) / worlds; math.Abs(share-0.9) > 0.01 || held <= plain {
		t.Errorf("bands held %v, by plain quantiles %v", share, float64(plain)/worlds)
	}
}

func TestTrailingQuantilesEqualADirectComputation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 9))
		points := walk(rng, date("1999-11-01"), date("2013-03-31"), 100, 1, friday)
		values := make([]float64, len(points))
		for i := range values {
			values[i] = rng.NormFloat64()
			if rng.IntN(20) == 0 {
				values[i] = math.NaN()
			}
		}
		const years, minKnown = 5, 30 // with two leap days among them, five years end on a Friday again
		lower, upper := trailingQuantiles(points, values, years, minKnown, 0.05, 0.95)
		unknown := 0
		for i, p := range points {
			var window []float64
			start := earlier(p.ObservedAt.Time(), years)
			for j := range i + 1 {
				if points[j].ObservedAt.Time().After(start) && !math.IsNaN(values[j]) {
					window = append(window, values[j])
				}
			}
			slices.Sort(window)
			lo, hi := math.NaN(), math.NaN()
			if len(window) >= minKnown {
				lo, hi = stat.Quantile(0.05, stat.Empirical, window, nil), stat.Quantile(0.95, stat.Empirical, window, nil)
			} else {
				unknown++
			}
			if !near(lower[i], lo, 0) || !near(upper[i], hi, 0) {
				t.Fatalf("seed %d, %v: %v, %v, want %v, %v", seed, p.ObservedAt, lower[i], upper[i], lo, hi)
			}
		}
		if unknown == 0 || unknown > len(points)/2 {
			t.Fatalf("%d of %d windows were too short: the series does not test what it should", unknown, len(points))
		}
	}
}

func TestUntilCutsAfterAnInstant(t *testing.T) {
	t.Parallel()
	points := []series.Point{point("2024-01-02", 1), point("2024-01-03", 2), point("2024-01-05", 3)}
	for day, want := range map[string]int{"2024-01-01": 0, "2024-01-02": 1, "2024-01-04": 2, "2024-01-05": 3, "2025-01-01": 3} {
		if got := until(points, series.InstantOf(date(day))); len(got) != want {
			t.Errorf("until(%s) holds %d points, want %d", day, len(got), want)
		}
	}
}

// The bound that the comment of moments states: a sample counted from its farthest outlier loses no more than a factor of 2n.
func TestASampleCountedFromAnOutlierKeepsItsDigits(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, 20))
	for _, outlier := range []float64{-36.98, 1e4, 1e9, 1e15} {
		for _, n := range []int{2, 30, 155} {
			values := []float64{outlier}
			for range n - 1 {
				values = append(values, 20+rng.NormFloat64())
			}
			one, halves := moments{}, moments{}
			for _, v := range values {
				one = one.add(v)
			}
			for _, part := range [][]float64{values[:n/2], values[n/2:]} {
				var m moments
				for _, v := range part {
					m = m.add(v)
				}
				halves = halves.merge(m)
			}
			mean, sd := exact(values)
			for what, m := range map[string]moments{"one by one": one, "in halves": halves} {
				if math.Abs(m.mean()-mean) > 1e-12*sd || math.Abs(m.sd()-sd) > 1e-12*sd {
					t.Errorf("%v beside %d values, %s: %v, %v, want %v, %v", outlier, n-1, what, m.mean(), m.sd(), mean, sd)
				}
			}
		}
	}
}
