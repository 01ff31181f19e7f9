package signals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/series"
)

const (
	toldSeries   series.ID = "test.told"
	targetSeries series.ID = "test.target"
)

// logExporter is a signal whose z-score is its one series, tested against the change of a target over 20 of its days.
func logExporter() Definition {
	return Definition{
		ID: "teller", Inputs: []series.ID{toldSeries},
		Compute: func(in series.Set, _ time.Time) Track {
			var track Track
			for _, p := range in[toldSeries] {
				track = append(track, Estimate{ObservedAt: p.ObservedAt, KnownAt: p.VintageAt, Value: p.Value, Scale: 1, N: 1})
			}
			return track
		},
		Backtest: Backtest{Inputs: []series.ID{targetSeries}, Cases: forwardChanges(pointsOf(targetSeries), 20, 1)},
	}
}

// randomWalk is a target on n weekdays that nothing foretells.
func randomWalk(seed uint64, n int) []series.Point {
	rng := rand.New(rand.NewPCG(seed, 60))
	level := 100.0
	out := make([]series.Point, n)
	for i, day := range weekdaysFrom("2015-01-01", n) {
		level += rng.NormFloat64()
		out[i] = series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.Add(22 * time.Hour)), Value: level}
	}
	return out
}

// tell makes a series of a day's own number, known so many days of the target later.
func tell(target []series.Point, late int, number func(i int) float64) []series.Point {
	var out []series.Point
	for i := 0; i+20 < len(target) && i+late < len(target); i++ {
		p := target[i]
		p.Value, p.VintageAt = number(i), target[i+late].ObservedAt
		out = append(out, p)
	}
	return out
}

// equalNaNs compares numbers so that unknown equals unknown.
var equalNaNs = cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })

var backtestEnd = date("2035-01-01")

func TestAPlantedLookAheadScoresChanceAndOnlyWithoutItsVintagesPerfection(t *testing.T) {
	t.Parallel()
	// The series of a day is the target's change in the 20 days after it. It was known after these days, as its vintages say.
	const seeds = 40
	found := 0
	for seed := range uint64(seeds) {
		target := randomWalk(seed, 1000)
		future := func(i int) float64 { return target[i+20].Value - target[i].Value }
		honest := logExporter().RunBacktest(series.Set{toldSeries: tell(target, 20, future), targetSeries: target}, backtestEnd, Arrivals{})
		if honest.N < 900 || math.Abs(honest.RankIC) > 0.5 || !honest.LookAheadSafe() {
			t.Errorf("seed %d: with its vintages %d cases score %v, want chance", seed, honest.N, honest.RankIC)
		}
		if honest.Clear() {
			found++
		}
		cheating := logExporter().RunBacktest(series.Set{toldSeries: tell(target, 0, future), targetSeries: target}, backtestEnd, Arrivals{})
		if cheating.RankIC < 0.999 || cheating.HitRatePct < 99.9 {
			t.Errorf("seed %d: without its vintages it scores %v, hits %v %%, want perfection", seed, cheating.RankIC, cheating.HitRatePct)
		}
	}
	if found > seeds/5 {
		t.Errorf("an edge was found in %d of %d walks that nothing foretells", found, seeds)
	}
}

func TestLookAheadSafeIsFalseForCasesOfWhichTheFirstValueIsNotKnown(t *testing.T) {
	t.Parallel()
	target := randomWalk(1, 1000)
	told := tell(target, 1, func(i int) float64 { return float64(i%11) - 5 })
	set := series.Set{toldSeries: told, targetSeries: target}
	assumed := told[399].VintageAt
	r := logExporter().RunBacktest(set, backtestEnd, Arrivals{RecordedFrom: assumed.Time()})
	if r.LookAheadSafe() || r.LookAhead != LookAheadUnwatched || !r.RecordedFrom.Equal(assumed.Time()) {
		t.Errorf("%s, recorded from %s, want values up to %s to be in doubt", r.LookAhead, r.RecordedFrom, assumed)
	}
	if r.Assumed.N != 400 || r.Recorded.N != r.N-400 || r.Recorded.N < 500 {
		t.Errorf("%d cases before and %d since of %d, want 400 before", r.Assumed.N, r.Recorded.N, r.N)
	}
	// Each of the two parts equals its separate backtest.
	late := logExporter().RunBacktest(series.Set{toldSeries: told[400:], targetSeries: target}, backtestEnd, Arrivals{})
	if d := cmp.Diff(late.Edge, r.Recorded, equalNaNs); d != "" || late.LookAhead != LookAheadRecorded {
		t.Errorf("the newer part (-alone +part), alone safe %t:\n%s", late.LookAheadSafe(), d)
	}
	if r := logExporter().RunBacktest(set, backtestEnd, Arrivals{RecordedFrom: told[0].VintageAt.Time().Add(-time.Hour)}); !r.LookAheadSafe() || r.Assumed.N != 0 {
		t.Errorf("no case rests on an assumed value, and yet safe is %t with %d cases before", r.LookAheadSafe(), r.Assumed.N)
	}
}

func TestAnEstimateThatKnowsWhatCameLaterIsFound(t *testing.T) {
	t.Parallel()
	target := randomWalk(2, 400)
	set := series.Set{toldSeries: tell(target, 1, func(i int) float64 { return float64(i%11) - 5 }), targetSeries: target}
	honest := logExporter()
	if honest.LooksAhead(set, backtestEnd) {
		t.Error("a signal that uses each value from its vintage on is said to look ahead")
	}
	for name, plant := range map[string]func(track Track){
		"the next value": func(track Track) {
			for i := range len(track) - 1 {
				track[i].Value = track[i+1].Value
			}
		},
		"the mean of all as the baseline": func(track Track) {
			sum := 0.0
			for _, e := range track {
				sum += e.Value
			}
			for i := range track {
				track[i].Baseline = sum / float64(len(track))
			}
		},
		"a bound that is fitted to the whole": func(track Track) {
			for i := range track {
				track[i].Hi = track[len(track)-1].Value + float64(len(track))
			}
		},
	} {
		cheat := logExporter()
		cheat.Compute = func(in series.Set, at time.Time) Track {
			track := honest.Compute(in, at)
			plant(track)
			return track
		}
		if !cheat.LooksAhead(set, backtestEnd) {
			t.Errorf("%s is not found", name)
		}
	}
}

func TestALookAheadThatIsPlantedOnSomeDaysOrInTheCasesIsFound(t *testing.T) {
	t.Parallel()
	target := randomWalk(4, 2400)
	set := series.Set{targetSeries: target}
	noise := rand.New(rand.NewPCG(4, 62))
	own := make([]float64, len(target))
	for i := range own {
		own[i] = noise.NormFloat64()
	}
	// The value of some days is the outcome that the backtest holds it against.
	peeking := func(peek func(i int) bool) Definition {
		return Definition{
			ID: "peeker", Inputs: []series.ID{targetSeries},
			Compute: func(in series.Set, _ time.Time) Track {
				points := in[targetSeries]
				track := make(Track, len(points))
				for i, p := range points {
					v := own[i]
					if peek(i) && i+21 < len(points) {
						v = points[i+21].Value - points[i+1].Value
					}
					track[i] = Estimate{ObservedAt: p.ObservedAt, KnownAt: p.VintageAt, Value: v, Scale: 1, N: 1}
				}
				return track
			},
			Backtest: Backtest{Cases: forwardChanges(pointsOf(targetSeries), 20, 1)},
		}
	}
	never := func(int) bool { return false }
	withCases := func(change func(cases []Case)) Definition {
		d := peeking(never)
		honest := d.Backtest.Cases
		d.Backtest.Cases = func(read Track, in series.Set) []Case {
			cases := honest(read, in)
			change(cases)
			return cases
		}
		return d
	}
	early := peeking(never)
	honest := early.Compute
	early.Compute = func(in series.Set, at time.Time) Track {
		track := honest(in, at)
		for i := range track {
			track[i].Value = in[targetSeries][i].Value
			track[i].KnownAt = track[i].ObservedAt.AddDate(0, 0, -5)
		}
		return track
	}
	for name, d := range map[string]Definition{
		"on every day":                  peeking(func(int) bool { return true }),
		"on every third day":            peeking(func(i int) bool { return i%3 == 1 }),
		"on nine of ten days":           peeking(func(i int) bool { return i%10 != 0 }),
		"on one day of ten":             peeking(func(i int) bool { return i%10 == 0 }),
		"in the forecast of the cases":  withCases(func(cases []Case) { each(cases, func(c *Case) { c.Predicted += c.Happened }) }),
		"in the naive forecast":         withCases(func(cases []Case) { each(cases, func(c *Case) { c.Naive = c.Happened }) }),
		"known before it was published": early,
	} {
		for day := range 5 {
			if !d.LooksAhead(set, backtestEnd.AddDate(0, 0, day)) {
				t.Errorf("a look-ahead %s is not found on day %d", name, day)
			}
		}
	}
	for day := range 20 {
		if peeking(never).LooksAhead(set, backtestEnd.AddDate(0, 0, day)) {
			t.Errorf("an honest signal is said to look ahead on day %d", day)
		}
	}
}

func each(cases []Case, change func(*Case)) {
	for i := range cases {
		change(&cases[i])
	}
}

func TestAFewShiftsCannotMakeASmallPValue(t *testing.T) {
	t.Parallel()
	for _, n := range []int{12, 40, 46, 98} {
		cases := make([]Case, n)
		for i := range cases { // foretold to perfection
			day := date("2020-01-01").AddDate(0, i, 0)
			x := math.Sin(float64(i * i))
			cases[i] = Case{Known: series.InstantOf(day), Start: series.InstantOf(day), End: series.InstantOf(day.AddDate(0, 0, 20)), Predicted: x, Happened: x, Naive: math.NaN()}
		}
		d := logExporter()
		d.Backtest.Cases = func(Track, series.Set) []Case { return cases }
		r := d.RunBacktest(series.Set{}, backtestEnd, Arrivals{})
		shifts := n - 2*r.Lags - 1
		if want := 1 / float64(shifts+1); shifts > 0 && !(r.P >= want-1e-15) || shifts < 1 && !math.IsNaN(r.P) {
			t.Errorf("%d cases, %d shifts: p %v, want at least %v", n, shifts, r.P, want)
		}
	}
}

func TestAPlantedEdgeIsFound(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 61))
		target := randomWalk(seed, 2500)
		// Half of it is the change of the next 20 days, and it was known on the day.
		told := tell(target, 0, func(i int) float64 { return target[i+20].Value - target[i].Value + 6*rng.NormFloat64() })
		r := logExporter().RunBacktest(series.Set{toldSeries: told, targetSeries: target}, backtestEnd, Arrivals{})
		// p is at least one over the number of shifts and one, and counts once for each trial in the registry.
		if !(r.Lo > 0.2) || !(r.AdjustedP < 0.05) || !(r.OutOfSample.Lo > 0) || r.HitRatePct < 60 {
			t.Errorf("seed %d: %v between %v and %v, adjusted p %v, out of sample from %v, hits %v %%",
				seed, r.RankIC, r.Lo, r.Hi, r.AdjustedP, r.OutOfSample.Lo, r.HitRatePct)
		}
		if r.NaiveRankIC > 0.5 {
			t.Errorf("seed %d: the naive forecast scores %v", seed, r.NaiveRankIC)
		}
	}
}

// The same relation with the other sign is as significant, and no edge: the sign is declared, so the forecasts were wrong.
func TestASignificantRelationOfTheWrongSignIsNoEdge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 61))
		target := randomWalk(seed, 2500)
		told := tell(target, 0, func(i int) float64 { return target[i].Value - target[i+20].Value + 6*rng.NormFloat64() })
		r := logExporter().RunBacktest(series.Set{toldSeries: told, targetSeries: target}, backtestEnd, Arrivals{})
		if !(r.Hi < -0.2) || !(r.P < 0.05) {
			t.Fatalf("seed %d: %v between %v and %v, p %v: the test does not test what it should", seed, r.RankIC, r.Lo, r.Hi, r.P)
		}
		if r.Clear() || r.OutOfSample.Clear() || r.Wins() == WinsSignal {
			t.Errorf("seed %d: %v between %v and %v is called an edge; %q wins", seed, r.RankIC, r.Lo, r.Hi, r.Wins())
		}
	}
}

func TestCasesUseTheNewestValueKnownAndTheFirstPriceAfter(t *testing.T) {
	t.Parallel()
	at := func(day string, hour int) time.Time { return date(day).Add(time.Duration(hour) * time.Hour) }
	told := []series.Point{ // Monday's and Tuesday's are published on Wednesday evening, Wednesday's on Saturday, Thursday's on Sunday
		{ObservedAt: series.InstantOf(date("2024-01-01")), VintageAt: series.InstantOf(at("2024-01-03", 23)), Value: 1},
		{ObservedAt: series.InstantOf(date("2024-01-02")), VintageAt: series.InstantOf(at("2024-01-03", 23)), Value: 2},
		{ObservedAt: series.InstantOf(date("2024-01-03")), VintageAt: series.InstantOf(at("2024-01-06", 9)), Value: 3},
		{ObservedAt: series.InstantOf(date("2024-01-04")), VintageAt: series.InstantOf(at("2024-01-07", 9)), Value: 4},
		{ObservedAt: series.InstantOf(date("2024-01-05")), VintageAt: series.InstantOf(date("2024-01-09")), Value: -5}, // known with the day's first instant
		{ObservedAt: series.InstantOf(date("2024-01-08")), VintageAt: series.InstantOf(at("2024-01-11", 1)), Value: 6}, // too late for two more prices
	}
	var target []series.Point
	for i, day := range weekdaysFrom("2024-01-01", 10) { // to Friday the 12th: 0, 1, 4, 9 and so on
		target = append(target, series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 0, 1)), Value: float64(i * i)})
	}
	d := logExporter()
	d.Backtest.Cases = forwardChanges(pointsOf(targetSeries), 2, -1)
	got := d.Backtest.Cases(asKnown(d.Compute(series.Set{toldSeries: told}, backtestEnd)), series.Set{targetSeries: target})
	want := []Case{
		// Tuesday's value; the price of Thursday is the first after it. Known were the prices to Tuesday: no change over two days yet.
		{Known: series.InstantOf(at("2024-01-03", 23)), Start: series.InstantOf(date("2024-01-04")), End: series.InstantOf(date("2024-01-08")), Predicted: -2, Happened: 25 - 9, Naive: math.NaN()},
		// Thursday's value in place of Wednesday's, for both precede Monday's price.
		{Known: series.InstantOf(at("2024-01-07", 9)), Start: series.InstantOf(date("2024-01-08")), End: series.InstantOf(date("2024-01-10")), Predicted: -4, Happened: 49 - 25, Naive: 16 - 4},
		{Known: series.InstantOf(date("2024-01-09")), Start: series.InstantOf(date("2024-01-09")), End: series.InstantOf(date("2024-01-11")), Predicted: 5, Happened: 64 - 36, Naive: 25 - 9},
	}
	if diff := cmp.Diff(want, got, equalNaNs); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
}

func TestALateVintageIsNeverUsedBeforeItWasKnown(t *testing.T) {
	t.Parallel()
	target := randomWalk(1, 600)
	told := tell(target, 1, func(i int) float64 { return float64(i % 17) })
	d := logExporter()
	revised := slices.Clone(told)
	revised[100].VintageAt = told[400].VintageAt // corrected 300 days later
	revised[100].Value = 1000
	want := d.RunBacktest(series.Set{toldSeries: slices.Delete(slices.Clone(told), 100, 101), targetSeries: target}, backtestEnd, Arrivals{})
	got := d.RunBacktest(series.Set{toldSeries: revised, targetSeries: target}, backtestEnd, Arrivals{})
	if diff := cmp.Diff(want, got, equalNaNs); diff != "" {
		t.Errorf("a correction that came late left a trace in the years before it (-without +with):\n%s", diff)
	}
	if want.N < 550 {
		t.Errorf("%d cases: one late value must not silence the others", want.N)
	}
}

func TestInOrderKeepsWhatWasKnownWhenTheNextWas(t *testing.T) {
	t.Parallel()
	days := func(vintages ...string) []series.Point {
		var out []series.Point
		for i, v := range vintages {
			out = append(out, series.Point{ObservedAt: series.InstantOf(date("2024-01-01").AddDate(0, 0, i)), VintageAt: series.InstantOf(date(v)), Value: float64(i)})
		}
		return out
	}
	for _, c := range []struct {
		name string
		in   []series.Point
		want []float64
	}{
		{"nothing", nil, nil},
		{"one after the other", days("2024-01-05", "2024-01-06", "2024-01-07"), []float64{0, 1, 2}},
		{"all at once", days("2024-02-01", "2024-02-01", "2024-02-01"), []float64{0, 1, 2}},
		{"one late", days("2024-01-05", "2024-03-01", "2024-01-07"), []float64{0, 2}},
		{"two late, the later one less", days("2024-01-05", "2024-03-01", "2024-02-01", "2024-01-08"), []float64{0, 3}},
		{"late but the newest", days("2024-01-05", "2024-01-06", "2024-03-01"), []float64{0, 1, 2}},
	} {
		var got []float64
		for _, p := range inOrder(c.in) {
			got = append(got, p.Value)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: kept %v, want %v", c.name, got, c.want)
		}
	}
}

func TestABacktestOfTooLittleOrOfNothingThatVariesIsUnknown(t *testing.T) {
	t.Parallel()
	target := randomWalk(2, 400)
	flat := slices.Clone(target)
	for i := range flat {
		flat[i].Value = 7
	}
	varied := tell(target, 1, func(i int) float64 { return float64(i % 7) })
	for _, c := range []struct {
		name string
		set  series.Set
		n    int
	}{
		{"nothing at all", series.Set{}, 0},
		{"no target", series.Set{toldSeries: varied}, 0},
		{"nine cases", series.Set{toldSeries: varied[:9], targetSeries: target}, 9},
		{"a constant signal", series.Set{toldSeries: tell(target, 1, func(int) float64 { return 3.3 }), targetSeries: target}, 379},
		{"a constant target", series.Set{toldSeries: varied, targetSeries: flat}, 379},
		{"an unknown signal", series.Set{toldSeries: tell(target, 1, func(int) float64 { return math.NaN() }), targetSeries: target}, 0},
	} {
		r := logExporter().RunBacktest(c.set, backtestEnd, Arrivals{})
		if r.N != c.n {
			t.Errorf("%s: %d cases, want %d", c.name, r.N, c.n)
		}
		for what, x := range map[string]float64{
			"rank correlation": r.RankIC, "lower bound": r.Lo, "upper bound": r.Hi, "t": r.T, "p": r.P, "adjusted p": r.AdjustedP,
			"rank correlation out of sample": r.OutOfSample.RankIC,
		} {
			if !math.IsNaN(x) {
				t.Errorf("%s: %s %v, want unknown", c.name, what, x)
			}
		}
		if r.Clear() || r.From.IsZero() != (c.n == 0) || len(r.Examples) > 3 {
			t.Errorf("%s: clear %v, from %v, %d examples", c.name, r.Clear(), r.From, len(r.Examples))
		}
	}
}

func TestABacktestStatesItsSample(t *testing.T) {
	t.Parallel()
	target := randomWalk(3, 400)
	r := logExporter().RunBacktest(series.Set{toldSeries: tell(target, 1, func(i int) float64 { return float64(i%11) - 5 }), targetSeries: target}, backtestEnd, Arrivals{})
	// Told are 380 days; the first outcome begins on the second day, the last ends with the target.
	if r.N != 379 || !r.From.Equal(target[1].ObservedAt.Time()) || !r.To.Equal(target[399].ObservedAt.Time()) || !r.At.Equal(backtestEnd) {
		t.Errorf("%d cases from %v to %v as of %v", r.N, r.From, r.To, r.At)
	}
	if r.OutOfSample.N != 190 || !r.OutOfSampleFrom.Equal(target[1+189].ObservedAt.Time()) {
		t.Errorf("out of sample are %d from %v, want the newer half", r.OutOfSample.N, r.OutOfSampleFrom)
	}
	// Every signal, and the six other rules for corn of docs/trials.md.
	all := len(All())
	if r.Trials != all+6 || math.Abs(r.AdjustedP-min(1, float64(all+6)*r.P)) > 1e-15 || r.Lags != 38 { // 20 days overlap with the 19 next
		t.Errorf("%d trials, p %v, adjusted %v, %d lags", r.Trials, r.P, r.AdjustedP, r.Lags)
	}
	// A second and a third version tested all signals once more.
	r.P = 0.001
	if third := r.Allow(Tests(3)); third.Trials != 3*all+6 || math.Abs(third.AdjustedP-float64(3*all+6)/1000) > 1e-15 || third.N != r.N {
		t.Errorf("of three versions: %d trials, adjusted %v", third.Trials, third.AdjustedP)
	}
	var starts []time.Time
	for _, c := range r.Examples {
		starts = append(starts, c.Start.Time())
	}
	if diff := cmp.Diff([]time.Time{target[1].ObservedAt.Time(), target[190].ObservedAt.Time(), target[379].ObservedAt.Time()}, starts); diff != "" {
		t.Errorf("examples (-want +got):\n%s", diff)
	}
}

// TestComputationsBesideEachOther computes signals at the same time, and again in memory that others have used. All have the same numbers.
func TestComputationsBesideEachOther(t *testing.T) {
	t.Parallel()
	in := series.Set{}
	rng := rand.New(rand.NewPCG(41, 42))
	for _, d := range All() {
		for _, id := range d.BacktestInputs() {
			if in[id] == nil {
				in[id] = walk(rng, date("2012-01-02"), date("2023-06-30"), 100, 1, weekday)
			}
		}
	}
	at := date("2023-07-05")
	for _, d := range All() {
		track, result := d.Compute(in, at), d.RunBacktest(in, at, Arrivals{})
		for range 4 {
			t.Run(d.ID, func(t *testing.T) {
				t.Parallel()
				for range 3 {
					if !slices.EqualFunc(d.Compute(in, at), track, Estimate.same) {
						t.Error("another track")
					}
					if again := d.RunBacktest(in, at, Arrivals{}); fmt.Sprint(again) != fmt.Sprint(result) {
						t.Errorf("another backtest: %+v, want %+v", again, result)
					}
				}
			})
		}
	}
}
