package changes_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
	"tidemark/signals/changes"
)

var (
	seed  = flag.Uint64("changes.seed", 19, "seed of the made-up pairs")
	pairs = flag.Int("changes.pairs", 600, "how many pairs of all signals together are made up")
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// calendar lists the observation times that a signal's input has, from a day on, at most n.
func calendar(id string, input series.ID, n int) (days []time.Time, level, step float64) {
	next := func(from string, step func(time.Time) time.Time) {
		for t := day(from); len(days) < n; t = step(t) {
			days = append(days, t)
		}
	}
	month := func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }
	switch id {
	case "iowa-corn-yield":
		if input == "nass.IA.CORN.YIELD.FINAL" {
			next("1950-01-01", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) })
		} else {
			next("1950-08-01", func(t time.Time) time.Time {
				if t.Month() == time.November {
					return t.AddDate(0, 9, 0)
				}
				return month(t)
			})
		}
		return days, 150, 8
	case "tropomi-no2-economic":
		next("2018-05-01", month)
		if input == "temis.NO2.version" {
			return days, 2.3, 0
		}
		return days, 9, 0.4
	case "lng-arbitrage":
		next("2015-01-01", month)
		return days, 12, 0.7
	case "eia-weekly-petroleum":
		next("2016-01-01", func(t time.Time) time.Time { return t.AddDate(0, 0, 7) })
		return days, 430_000, 2500
	case "hormuz-transit":
		next("2019-01-01", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) })
		return days, 100, 4
	}
	next("2014-01-01", func(t time.Time) time.Time {
		if t.Weekday() == time.Friday {
			return t.AddDate(0, 0, 3)
		}
		return t.AddDate(0, 0, 1)
	})
	if input == "eia.RWTC" {
		return days, 70, 1
	}
	return days, 2.3, 0.04
}

// maxObservations is how many observations of an input a case may have. Half of the cases have few: they are quick, and have no baseline.
func maxObservations(d signals.Definition) int {
	return map[string]int{"daily": 1800, "weekly": 420, "monthly": 130}[d.Frequency]
}

// world holds the publishers' data of a signal's inputs up to a second instant, some of it from after a first one.
type world struct {
	from, to time.Time
	known    series.Set
	news     []changes.Vintage
	// all is the data known at the second instant.
	all series.Set
}

func makeWorld(rng *rand.Rand, d signals.Definition) world {
	n := 4 + rng.IntN(20)
	if rng.IntN(2) == 0 {
		n = 20 + rng.IntN(maxObservations(d))
	}
	w := world{known: series.Set{}, all: series.Set{}}
	fresh := rng.IntN(8)
	whole := d.ID == "eia-weekly-petroleum" || d.ID == "hormuz-transit"
	var days []time.Time
	for _, input := range d.Inputs {
		var level, step float64
		days, level, step = calendar(d.ID, input, n)
		if last := days[len(days)-1].AddDate(0, 1, 5); last.After(w.from) {
			w.from = last
		}
		var points []series.Point
		for _, t := range days[:max(0, len(days)-fresh)] {
			level += step * rng.NormFloat64()
			if rng.IntN(40) == 0 {
				continue // a hole
			}
			points = append(points, series.Point{ObservedAt: series.InstantOf(t), VintageAt: series.InstantOf(t.AddDate(0, 0, 3)), Value: rounded(level, whole)})
		}
		put(w.known, input, points)
		at := w.from
		for release := range 1 + rng.IntN(3) {
			at = at.AddDate(0, 0, 7)
			say := func(t time.Time, value float64, marker string) {
				w.news = append(w.news, changes.Vintage{
					Observation: series.Observation{Series: input, ObservedAt: t, VintageAt: at.Add(time.Duration(rng.IntN(50)) * time.Second), Value: value, Marker: marker},
					Source:      "publisher", Release: int64(release + 1),
				})
			}
			for range rng.IntN(4) * rng.IntN(4) {
				if len(points) == 0 {
					break
				}
				back := min(rng.IntN(1+rng.IntN(len(points))), len(points)-1)
				p := points[len(points)-1-back]
				switch {
				case input == "temis.NO2.version":
					say(p.ObservedAt.Time(), 2.4+float64(rng.IntN(2)), "")
				case rng.IntN(12) == 0:
					say(p.ObservedAt.Time(), 0, series.MarkerWithdrawn)
				default:
					say(p.ObservedAt.Time(), rounded(p.Value+step*rng.NormFloat64(), whole), "")
				}
			}
			for _, t := range days[max(0, len(days)-fresh):] {
				if rng.IntN(3) > 0 {
					level += step * rng.NormFloat64()
					say(t, rounded(level, whole), "")
				}
			}
		}
	}
	w.to = w.from.AddDate(0, rng.IntN(8), 30)
	w.all = latest(w.known, w.news)
	return w
}

func rounded(v float64, whole bool) float64 {
	if whole {
		return math.Round(v)
	}
	return math.Round(v*1000) / 1000
}

func put(set series.Set, id series.ID, points []series.Point) {
	if len(points) > 0 {
		set[id] = points
	}
}

// latest is the data known after all vintages: for each observation the newest, computed in another way than the package does.
func latest(known series.Set, news []changes.Vintage) series.Set {
	cells := map[series.ID]map[time.Time]changes.Vintage{}
	say := func(v changes.Vintage) {
		if cells[v.Series] == nil {
			cells[v.Series] = map[time.Time]changes.Vintage{}
		}
		if before, ok := cells[v.Series][v.ObservedAt]; !ok || !v.VintageAt.Before(before.VintageAt) {
			cells[v.Series][v.ObservedAt] = v
		}
	}
	for id, points := range known {
		for _, p := range points {
			say(changes.Vintage{Observation: series.Observation{Series: id, ObservedAt: p.ObservedAt.Time(), VintageAt: p.VintageAt.Time(), Value: p.Value}})
		}
	}
	for _, v := range news {
		say(v)
	}
	out := series.Set{}
	for id, all := range cells {
		var points []series.Point
		for _, v := range all {
			if v.Marker == "" {
				points = append(points, series.Point{ObservedAt: series.InstantOf(v.ObservedAt), VintageAt: series.InstantOf(v.VintageAt), Value: v.Value})
			}
		}
		slices.SortFunc(points, func(a, b series.Point) int { return a.ObservedAt.Time().Compare(b.ObservedAt.Time()) })
		put(out, id, points)
	}
	return out
}

func served(d signals.Definition, in series.Set, at time.Time) changes.Snapshot {
	s := changes.Snapshot{At: at, Numbers: changes.Numbers{Value: math.NaN(), Baseline: math.NaN(), Z: math.NaN()}}
	if track := d.Compute(in, at); len(track) > 0 {
		e := track[len(track)-1]
		s.Numbers = changes.Numbers{Value: e.Value, Baseline: e.Baseline, Z: e.Z()}
	}
	return s
}

// sums adds parts up, in their order.
func sums(parts []changes.Part) (n changes.Numbers) {
	for _, p := range parts {
		n.Value, n.Baseline, n.Z = n.Value+p.Value, n.Baseline+p.Baseline, n.Z+p.Z
	}
	return n
}

// wantWhole checks that parts add up to the whole, and returns how far they miss it.
func wantWhole(t *testing.T, what string, from, to changes.Snapshot, e changes.Explanation) (worst float64) {
	t.Helper()
	sum := sums(e.Parts)
	for name, n := range map[string]struct{ from, to, total, sum float64 }{
		"value": {from.Value, to.Value, e.Total.Value, sum.Value}, "baseline": {from.Baseline, to.Baseline, e.Total.Baseline, sum.Baseline}, "z": {from.Z, to.Z, e.Total.Z, sum.Z},
	} {
		switch whole := n.to - n.from; {
		case math.IsNaN(whole):
			if !math.IsNaN(n.total) || len(e.Parts) > 0 && !math.IsNaN(n.sum) {
				t.Errorf("%s: the %s went from %v to %v, and its parts add up to %v of %v", what, name, n.from, n.to, n.sum, n.total)
			}
		case n.total != whole || !(math.Abs(n.sum-whole) <= 1e-9):
			t.Errorf("%s: the %s went from %v to %v, by %v; its parts add up to %v of %v: %+v", what, name, n.from, n.to, whole, n.sum, n.total, e.Parts)
		default:
			worst = max(worst, math.Abs(n.sum-whole))
		}
	}
	return worst
}

// go test ./signals/changes -changes.pairs 10000 takes half a minute of a processor.
func TestThePartsOfADifferenceAddUpToIt(t *testing.T) {
	t.Parallel()
	n := *pairs / len(signals.All())
	for _, d := range signals.All() {
		t.Run(d.ID, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(*seed, uint64(len(d.ID))))
			var worst float64
			kinds, moved, parts := map[changes.Kind]int{}, 0, 0
			for range n + 1 {
				w := makeWorld(rng, d)
				from, to := served(d, w.known, w.from), served(d, w.all, w.to)
				recoded := rng.IntN(10) == 0
				if recoded { // another program computed the one or the other
					from.Value += rng.NormFloat64()
					to.Z -= rng.NormFloat64()
				}
				e := changes.Explain(d, from, to, w.known, w.news)
				worst = max(worst, wantWhole(t, d.ID, from, to, e))
				if len(e.Parts) > 0 {
					moved++
				}
				parts += len(e.Parts)
				for _, p := range e.Parts {
					kinds[p.Kind]++
					if p.Kind == changes.Code && !recoded { // computed over the same inputs, the same program says the same
						t.Errorf("%s: the code is said to have changed %+v", d.ID, p)
					}
				}
				if t.Failed() {
					t.Fatalf("seed %d", *seed)
				}
			}
			t.Logf("%d pairs, %d of which moved, %d parts %v, worst sum %.1e off", n+1, moved, parts, kinds, worst)
			if moved < n/2 || kinds[changes.Revision] == 0 || kinds[changes.NewObservation] == 0 || kinds[changes.BaselineWindow] == 0 || kinds[changes.Code] == 0 {
				t.Errorf("hardly anything was explained: %d of %d moved, %v", moved, n+1, kinds)
			}
			if d.Averaged != "" && kinds[changes.Window] == 0 {
				t.Error("no day left the window of a mean")
			}
		})
	}
}

// crack is a margin of (2*gasoline + diesel)*42/3 - crude.
func crack(t *testing.T) signals.Definition {
	t.Helper()
	d, ok := signals.ByID("crack-spread-321")
	if !ok {
		t.Fatal("the signal is gone")
	}
	return d
}

func price(id series.ID, of, known string, value float64) changes.Vintage {
	return changes.Vintage{
		Observation: series.Observation{Series: id, ObservedAt: day(of), VintageAt: day(known), Value: value}, Source: "eia-daily", Release: 7,
	}
}

const (
	crude    series.ID = "eia.RWTC"
	gasoline series.ID = "eia.EER_EPMRU_PF4_Y35NY_DPG"
	diesel   series.ID = "eia.EER_EPD2DXL0_PF4_Y35NY_DPG"
)

func prices(of string, c, g, d float64) series.Set {
	known := day(of).AddDate(0, 0, 2)
	return series.Set{
		crude: {{ObservedAt: series.InstantOf(day(of)), VintageAt: series.InstantOf(known), Value: c}}, gasoline: {{ObservedAt: series.InstantOf(day(of)), VintageAt: series.InstantOf(known), Value: g}},
		diesel: {{ObservedAt: series.InstantOf(day(of)), VintageAt: series.InstantOf(known), Value: d}},
	}
}

func explain(d signals.Definition, known series.Set, news []changes.Vintage, from, to string) changes.Explanation {
	return changes.Explain(d, served(d, known, day(from)), served(d, latest(known, news), day(to)), known, news)
}

func TestAReleaseOfThreePricesIsOnePartAndARevisionAnother(t *testing.T) {
	t.Parallel()
	d := crack(t)
	known := prices("2026-03-02", 60, 2, 2)
	e := explain(d, known, []changes.Vintage{
		price(crude, "2026-03-02", "2026-03-11", 61), // revised in the report that brings the next day
		price(crude, "2026-03-03", "2026-03-11", 60), price(gasoline, "2026-03-03", "2026-03-11", 2), price(diesel, "2026-03-03", "2026-03-11", 2.5),
	}, "2026-03-05", "2026-03-12")
	if len(e.Parts) != 2 || math.Abs(e.Total.Value-7) > 1e-9 {
		t.Fatalf("%+v", e)
	}
	old, fresh := e.Parts[0], e.Parts[1]
	if old.Kind != changes.Revision || old.Series != crude || old.Before != 60 || old.After != 61 || math.Abs(old.Value+1) > 1e-9 || !old.From.Equal(day("2026-03-02")) {
		t.Errorf("the revision: %+v", old)
	}
	if fresh.Kind != changes.NewObservation || fresh.Source != "eia-daily" || fresh.Series != "" || fresh.Count != 3 || !fresh.To.Equal(day("2026-03-03")) ||
		!fresh.Release.Equal(day("2026-03-11")) || math.Abs(fresh.Value-8) > 1e-9 {
		t.Errorf("the release: %+v", fresh)
	}
}

func TestAnObservationWithoutTheOthersOfItsDayChangesNothing(t *testing.T) {
	t.Parallel()
	e := explain(crack(t), prices("2026-03-02", 60, 2, 2), []changes.Vintage{price(crude, "2026-03-03", "2026-03-11", 90)}, "2026-03-05", "2026-03-12")
	if len(e.Parts) != 0 || e.Total.Value != 0 {
		t.Errorf("%+v", e)
	}
}

func TestAWithdrawnDayTakesTheValueBack(t *testing.T) {
	t.Parallel()
	known := latest(prices("2026-03-02", 60, 2, 2), []changes.Vintage{
		price(crude, "2026-03-03", "2026-03-04", 60), price(gasoline, "2026-03-03", "2026-03-04", 3), price(diesel, "2026-03-03", "2026-03-04", 2),
	})
	gone := price(gasoline, "2026-03-03", "2026-03-11", 0)
	gone.Marker = series.MarkerWithdrawn
	e := explain(crack(t), known, []changes.Vintage{gone}, "2026-03-05", "2026-03-12")
	if len(e.Parts) != 1 || e.Parts[0].Kind != changes.Revision || e.Parts[0].Before != 3 || !math.IsNaN(e.Parts[0].After) || math.Abs(e.Parts[0].Value+28) > 1e-9 {
		t.Errorf("%+v", e)
	}
}

func TestOfManyReleasesTheNewestAreToldApart(t *testing.T) {
	t.Parallel()
	known := prices("2026-01-01", 60, 2, 2)
	var news []changes.Vintage
	for i := range 40 {
		of, at := day("2026-01-02").AddDate(0, 0, i).Format(time.DateOnly), day("2026-01-04").AddDate(0, 0, i).Format(time.DateOnly)
		for _, v := range []changes.Vintage{price(crude, of, at, 60+float64(i)), price(gasoline, of, at, 2), price(diesel, of, at, 2)} {
			v.Release = int64(i + 1)
			news = append(news, v)
		}
	}
	e := explain(crack(t), known, news, "2026-01-03", "2026-03-12")
	if len(e.Parts) != 25 || e.Parts[0].Releases != 16 || e.Parts[0].Value != -15 || e.Parts[24].Value != -1 || e.Total.Value != -39 {
		t.Errorf("%d parts: %+v", len(e.Parts), e)
	}
}

// A publisher who estimates the whole history again changes thousands of values. Those of the value's own days are told apart.
func TestOfManyRevisionsTheNewestDaysAreToldApart(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("hormuz-transit")
	const ships series.ID = "portwatch.chokepoint6.n_total"
	known := series.Set{}
	var news []changes.Vintage
	for i := range 2600 {
		of := day("2019-01-01").AddDate(0, 0, i)
		known[ships] = append(known[ships], series.Point{ObservedAt: series.InstantOf(of), VintageAt: series.InstantOf(of.AddDate(0, 0, 4)), Value: float64(100 + i%7)})
		news = append(news, changes.Vintage{
			Observation: series.Observation{Series: ships, ObservedAt: of, VintageAt: day("2026-05-01"), Value: float64(80 + i%5)}, Source: "portwatch", Release: 3,
		})
	}
	e := explain(d, known, news, "2026-03-01", "2026-05-02")
	newest, single := day("2019-01-01").AddDate(0, 0, 2599), 0
	var value float64
	for i, p := range e.Parts {
		if p.Kind != changes.Revision || i > 0 && p.To.Before(e.Parts[i-1].To) {
			t.Fatalf("part %d: %+v", i, p)
		}
		if p.Count == 1 && p.From.After(newest.AddDate(0, 0, -7)) {
			single++
			value += p.Value
		}
	}
	if single != 7 || math.Abs(value-e.Total.Value) > 1e-9 || len(e.Parts) > 100 {
		t.Errorf("%d of the 7 newest days are told apart, and changed the value by %v of %v, in %d parts", single, value, e.Total.Value, len(e.Parts))
	}
}

func TestDaysThatLeaveTheMeanAreAPartOfTheirOwn(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("hormuz-transit")
	const ships series.ID = "portwatch.chokepoint6.n_total"
	known := series.Set{}
	for i := range 7 {
		of := day("2026-03-02").AddDate(0, 0, i)
		known[ships] = append(known[ships], series.Point{ObservedAt: series.InstantOf(of), VintageAt: series.InstantOf(of.AddDate(0, 0, 2)), Value: 100})
	}
	known[ships][0].Value = 170 // the mean is 110; without this day it is less
	e := explain(d, known, []changes.Vintage{{
		Observation: series.Observation{Series: ships, ObservedAt: day("2026-03-09"), VintageAt: day("2026-03-11"), Value: 124}, Source: "portwatch", Release: 1,
	}}, "2026-03-10", "2026-03-12")
	if len(e.Parts) != 2 || e.Parts[0].Kind != changes.Window || e.Parts[1].Kind != changes.NewObservation ||
		math.Abs(e.Parts[0].Value+60.0/7) > 1e-9 || math.Abs(e.Parts[1].Value-2) > 1e-9 {
		t.Errorf("%+v", e)
	}
}

func TestAnUnknownNumberHasNoParts(t *testing.T) {
	t.Parallel()
	e := explain(crack(t), series.Set{}, []changes.Vintage{
		price(crude, "2026-03-03", "2026-03-11", 60), price(gasoline, "2026-03-03", "2026-03-11", 2), price(diesel, "2026-03-03", "2026-03-11", 2),
	}, "2026-03-05", "2026-03-12")
	if !math.IsNaN(e.Total.Value) || len(e.Parts) != 0 {
		t.Errorf("%+v", e)
	}
}

func BenchmarkExplain(b *testing.B) {
	for _, d := range signals.All() {
		b.Run(d.ID, func(b *testing.B) {
			w := makeWorld(rand.New(rand.NewPCG(3, 3)), d)
			from, to := served(d, w.known, w.from), served(d, w.all, w.to)
			for b.Loop() {
				changes.Explain(d, from, to, w.known, w.news)
			}
		})
	}
}
