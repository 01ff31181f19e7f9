package signals_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/robfig/cron/v3"

	"tidemark/internal/series"
	"tidemark/signals"
)

// published returns the ids that the README promises, in the order of its table.
func published(t *testing.T) (ids []string) {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "\n## Signals\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|").FindAllStringSubmatch(table, -1) {
		ids = append(ids, row[1])
	}
	return ids
}

// history is how many years of made-up data the properties below are tried on.
const history = 12

// perDefinition runs a test for every signal of the catalog.
func perDefinition(t *testing.T, test func(t *testing.T, d signals.Definition)) {
	t.Helper()
	for _, d := range signals.All() {
		t.Run(d.ID, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// dates returns whether a series has a value about a day, and how many days later the value becomes known.
func dates(id series.ID) (due func(day time.Time) bool, lag int) {
	switch name := string(id); {
	case strings.HasSuffix(name, ".FINAL"): // known in January of the next year
		return func(day time.Time) bool { return day.YearDay() == 1 }, 376
	case strings.HasSuffix(name, ".FORECAST"):
		return func(day time.Time) bool {
			return day.Day() == 1 && day.Month() >= time.August && day.Month() <= time.November
		}, 11
	case strings.HasPrefix(name, "worldbank."), strings.HasPrefix(name, "temis."):
		return func(day time.Time) bool { return day.Day() == 1 }, 34
	case strings.HasPrefix(name, "portwatch."):
		return func(time.Time) bool { return true }, 2
	case strings.HasPrefix(name, "eia.W"):
		return func(day time.Time) bool { return day.Weekday() == time.Friday }, 2
	}
	return func(day time.Time) bool { return day.Weekday() != time.Saturday && day.Weekday() != time.Sunday }, 2
}

// madeUp draws the known data at end for every input of a signal and of its backtest: a positive random walk on the series' own days, with
// some days missing. It begins some years before 2025, for corn 80 years before. Forecasts are drawn around their finals.
func madeUp(d signals.Definition, years int, seed uint64) series.Set {
	set := series.Set{}
	finals := map[int]float64{}
	for i, id := range d.BacktestInputs() {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		value := 100.0
		if id == "worldbank.NGAS_US" { // gas must be cheap for a margin to be positive
			value = 5
		}
		due, lag := dates(id)
		first := 2025 - years
		if strings.HasPrefix(string(id), "nass.") {
			first -= 80
		}
		for day := time.Date(first, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2025; day = day.AddDate(0, 0, 1) {
			if !due(day) {
				continue
			}
			value *= math.Exp(0.02 * rng.NormFloat64())
			if lag > 365 {
				finals[day.Year()] = value
			} else if final, ok := finals[day.Year()]; ok {
				value = final * math.Exp(0.02*rng.NormFloat64())
			}
			if strings.HasSuffix(string(id), ".version") {
				value = 2.04
			}
			known := day.AddDate(0, 0, lag)
			if rng.IntN(100) == 0 || known.After(end) {
				continue
			}
			set[id] = append(set[id], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(known), Value: value})
		}
	}
	return set
}

var end = time.Date(2025, 1, 10, 18, 0, 0, 0, time.UTC)

// sameBits compares numbers by their bits, so that unknown equals unknown and 0 differs from -0.
var sameBits = cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })

func clone(set series.Set) series.Set {
	out := maps.Clone(set)
	for id, points := range out {
		out[id] = slices.Clone(points)
	}
	return out
}

// knownBy returns the part of a set known at t.
func knownBy(set series.Set, t time.Time) series.Set {
	out := series.Set{}
	for id, points := range set {
		for _, p := range points {
			if !p.VintageAt.Time().After(t) {
				out[id] = append(out[id], p)
			}
		}
	}
	return out
}

func components(d signals.Definition, set series.Set, at time.Time) []signals.Component {
	if d.Components == nil {
		return nil
	}
	return d.Components(set, at)
}

func TestTheCatalogListsThePublishedSignalsInTheirOrder(t *testing.T) {
	t.Parallel()
	var listed []string
	for _, d := range signals.All() {
		listed = append(listed, d.ID)
		if got, ok := signals.ByID(d.ID); !ok || got.Name != d.Name {
			t.Errorf("ByID(%q) = %q, %v", d.ID, got.Name, ok)
		}
	}
	if diff := cmp.Diff(published(t), listed); diff != "" {
		t.Errorf("signals (-README +catalog):\n%s", diff)
	}
	for _, id := range []string{"", "crack-spread", "CRACK-SPREAD-321"} {
		if d, ok := signals.ByID(id); ok {
			t.Errorf("ByID(%q) = %q, want none", id, d.ID)
		}
	}
}

func TestEverySignalStatesItsFacts(t *testing.T) {
	t.Parallel()
	machine := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		for what, text := range map[string]string{
			"domain": d.Domain, "name": d.Name, "unit": d.Unit, "place": d.Place, "license": d.License, "technique": d.Technique,
		} {
			if text == "" || text != strings.TrimSpace(text) {
				t.Errorf("%s is %q", what, text)
			}
		}
		if n := utf8.RuneCountInString(d.Description); n < 50 || n > 5000 {
			t.Errorf("the description has %d characters, want 50 to 5,000", n)
		}
		for what, address := range map[string]string{"license": d.LicenseURL, "source": d.SourceURL} {
			if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
				t.Errorf("the %s page is %q", what, address)
			}
		}
		if f := d.Finding(5, 4, time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)).String(); len(f) < 20 || len(f) > 90 || strings.Contains(f, "%!") {
			t.Errorf("%s: the finding is %q", d.ID, f)
		}
		for what, caption := range map[string]string{"baseline": d.BaselineCaption, "interval": d.IntervalCaption} {
			if caption == "" || len(caption) > 60 || strings.ContainsAny(caption, "_.") {
				t.Errorf("%s: the caption of the %s is %q", d.ID, what, caption)
			}
		}
		for what, name := range map[string]string{"baseline": d.BaselineMethod, "interval": d.IntervalMethod} {
			if !machine.MatchString(name) {
				t.Errorf("the %s method is named %q, want a machine name", what, name)
			}
		}
		if !slices.Contains([]string{"daily", "weekly", "monthly"}, d.Frequency) {
			t.Errorf("frequency %q", d.Frequency)
		}
		if len(d.Inputs) == 0 || len(d.Keywords) == 0 {
			t.Errorf("inputs %v, keywords %v", d.Inputs, d.Keywords)
		}
		if inputs := slices.Clone(d.Inputs); len(slices.Compact(slices.Sorted(slices.Values(inputs)))) != len(d.Inputs) {
			t.Errorf("an input is named twice: %v", d.Inputs)
		}
		if d.Staleness <= 0 {
			t.Errorf("staleness %v", d.Staleness)
		}
		b := d.Backtest
		for what, text := range map[string]string{
			"target": b.Symbol, "description": b.Description, "predictor": b.Predictor, "naive forecast": b.Naive,
		} {
			if text == "" || text != strings.TrimSpace(text) {
				t.Errorf("the %s of the backtest is %q", what, text)
			}
		}
		if b.HorizonDays <= 0 || b.Cases == nil {
			t.Errorf("the backtest looks %d days ahead, or has no cases", b.HorizonDays)
		}
		if all := d.BacktestInputs(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(d.Inputs)+len(b.Inputs) {
			t.Errorf("a series is named twice among the inputs of the backtest: %v", all)
		}
		rest := d.Brief
		for _, heading := range []string{"## What it says\n", "## How it is made\n", "## Baseline", "## The interval\n", "## Backtest\n", "## What it cannot tell\n", "## Sources\n"} {
			_, after, found := strings.Cut(rest, heading)
			if !found {
				t.Errorf("the brief lacks %q, or has it out of order", heading)
				continue
			}
			rest = after
		}
		if !strings.Contains(d.Brief, "90%") {
			t.Error("the brief does not name the level of the interval")
		}
	})
}

func TestSchedulesRunOnceOnEveryWeekdayOfAYear(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		zone, err := time.LoadLocation(d.Cadence.Zone)
		if err != nil {
			t.Fatalf("load the zone: %v", err)
		}
		schedule, err := cron.ParseStandard("CRON_TZ=" + zone.String() + " " + d.Cadence.Cron)
		if err != nil {
			t.Fatalf("parse the schedule: %v", err)
		}
		if !slices.Contains([]series.CatchUp{series.CatchUpSkip, series.CatchUpLatest, series.CatchUpAll}, d.Cadence.CatchUp) {
			t.Errorf("catch-up policy %q", d.Cadence.CatchUp)
		}
		slots := map[string]int{}
		for at := schedule.Next(time.Date(2025, 12, 31, 23, 59, 0, 0, zone)); at.Year() == 2026; at = schedule.Next(at) {
			slots[at.In(zone).Format(time.DateOnly)]++
			if hour := at.In(zone).Hour(); hour == 2 || hour == 3 {
				t.Fatalf("slot %v lies where clocks change", at)
			}
		}
		for day := time.Date(2026, 1, 1, 12, 0, 0, 0, zone); day.Year() == 2026; day = day.AddDate(0, 0, 1) {
			want := 1
			if day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
				want = 0
			}
			if got := slots[day.Format(time.DateOnly)]; got != want {
				t.Errorf("%s %s has %d slots, want %d", day.Weekday(), day.Format(time.DateOnly), got, want)
			}
		}
	})
}

func TestComputeIsAPureFunction(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		set := madeUp(d, history, 1)
		before := clone(set)
		track, parts := d.Compute(set, end), components(d, set, end)
		if diff := cmp.Diff(before, set, sameBits); diff != "" {
			t.Fatalf("the input was changed (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(track, d.Compute(clone(set), end), sameBits); diff != "" {
			t.Errorf("the same input gave another track (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(parts, components(d, clone(set), end), sameBits); diff != "" {
			t.Errorf("the same input gave other components (-first +second):\n%s", diff)
		}
		set[d.Inputs[0]][0].Value++ // the result must not share the input's memory
		if diff := cmp.Diff(track, d.Compute(before, end), sameBits); diff != "" {
			t.Errorf("the track changed with the input afterwards:\n%s", diff)
		}
	})
}

func TestTracksAscendAndTheNewestEstimateIsWhole(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		track := d.Compute(madeUp(d, history, 2), end)
		if len(track) < 100 {
			t.Fatalf("%d estimates from %d years", len(track), history)
		}
		for i, e := range track {
			if i > 0 && !e.ObservedAt.Time().After(track[i-1].ObservedAt.Time()) {
				t.Fatalf("%v follows %v", e.ObservedAt, track[i-1].ObservedAt)
			}
			if e.KnownAt.Time().Before(e.ObservedAt.Time()) {
				t.Fatalf("%v was known before, at %v", e.ObservedAt, e.KnownAt)
			}
			if e.Lo > e.Hi {
				t.Fatalf("%v lies between %v and %v", e.ObservedAt, e.Lo, e.Hi)
			}
			if math.IsNaN(e.Baseline) != (e.N == 0) {
				t.Fatalf("%v has the baseline %v of %d values", e.ObservedAt, e.Baseline, e.N)
			}
		}
		last := track[len(track)-1]
		for what, x := range map[string]float64{
			"value": last.Value, "lower bound": last.Lo, "upper bound": last.Hi, "baseline": last.Baseline, "scale": last.Scale,
			"z-score": last.Z(), "difference": last.DeltaPct(),
		} {
			if math.IsNaN(x) {
				t.Errorf("the %s of the newest estimate is unknown after %d years", what, history)
			}
		}
		if last.Lo >= last.Value || last.Hi <= last.Value {
			t.Errorf("the newest value %v lies between %v and %v", last.Value, last.Lo, last.Hi)
		}
		names := map[string]bool{}
		for _, c := range components(d, madeUp(d, history, 2), end) {
			if c.Name == "" || c.Label == "" || c.Unit == "" || c.ObservedAt.IsZero() || names[c.Name] || math.IsNaN(c.Value) {
				t.Errorf("component %+v", c)
			}
			names[c.Name] = true
		}
	})
}

func TestNoEstimateSeesItsFuture(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		set := madeUp(d, history, 3)
		whole := d.Compute(set, end)
		for _, share := range []float64{0.01, 0.3, 0.5, 0.77, 0.9, 0.99} {
			cut := whole[int(share*float64(len(whole)))]
			got := d.Compute(knownBy(set, cut.KnownAt.Time()), cut.KnownAt.Time())
			if len(got) == 0 || !got[len(got)-1].ObservedAt.Time().Equal(cut.ObservedAt.Time()) {
				t.Fatalf("the track up to %v has %d estimates", cut.ObservedAt, len(got))
			}
			want := slices.Clone(whole[:len(got)])
			// The newest interval may depend on when it is read.
			got[len(got)-1].Lo, got[len(got)-1].Hi = 0, 0
			want[len(got)-1].Lo, want[len(got)-1].Hi = 0, 0
			if diff := cmp.Diff(want, got, sameBits); diff != "" {
				t.Fatalf("up to %v the track is another one without what came after (-with +without):\n%s", cut.ObservedAt, diff)
			}
		}
	})
}

func TestReadingLaterChangesNothingButTheNewestInterval(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		set := madeUp(d, history, 4)
		now, later := d.Compute(set, end), d.Compute(set, end.AddDate(0, 2, 0))
		last := len(now) - 1
		if later[last].Hi-later[last].Lo < now[last].Hi-now[last].Lo {
			t.Errorf("the interval shrank from %v to %v without new data", now[last].Hi-now[last].Lo, later[last].Hi-later[last].Lo)
		}
		later[last].Lo, later[last].Hi = now[last].Lo, now[last].Hi
		if diff := cmp.Diff(now, later, sameBits); diff != "" {
			t.Errorf("(-now +two months later):\n%s", diff)
		}
	})
}

// wantNoInfinity fails for any number that is not finite or NaN.
func wantNoInfinity(t *testing.T, track signals.Track, parts []signals.Component) {
	t.Helper()
	for _, e := range track {
		for _, x := range []float64{e.Value, e.Lo, e.Hi, e.Baseline, e.Scale, e.Z(), e.DeltaPct()} {
			if math.IsInf(x, 0) {
				t.Fatalf("estimate %+v holds an infinity (z %v, difference %v)", e, e.Z(), e.DeltaPct())
			}
		}
		if !(e.Scale > 0) && !math.IsNaN(e.Z()) {
			t.Fatalf("z-score %v in a scale of %v", e.Z(), e.Scale)
		}
		if !(e.Baseline > 0) && !math.IsNaN(e.DeltaPct()) {
			t.Fatalf("difference %v from a baseline of %v", e.DeltaPct(), e.Baseline)
		}
	}
	for _, c := range parts {
		for _, x := range []float64{c.Value, c.Baseline, c.Scale, c.Z(), c.DeltaPct()} {
			if math.IsInf(x, 0) {
				t.Fatalf("component %+v holds an infinity (z %v, difference %v)", c, c.Z(), c.DeltaPct())
			}
		}
	}
}

func TestAbsurdInputIsUnknownAndNeverInfinite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(set series.Set)
	}{
		{"as it is", func(series.Set) {}},
		{"huge values", every(func(i int, _ float64) float64 { return math.MaxFloat64 * float64(1-2*(i%2)) })},
		{"one huge value", every(func(i int, v float64) float64 {
			if i == 700 {
				return 1e308
			}
			return v
		})},
		{"one unknown value", every(func(i int, v float64) float64 {
			if i == 100 {
				return math.NaN()
			}
			return v
		})},
		{"nothing but unknown values", every(func(int, float64) float64 { return math.NaN() })},
		{"a constant", every(func(int, float64) float64 { return 3.3 })},
		{"zero", every(func(int, float64) float64 { return 0 })},
		{"negative values", every(func(_ int, v float64) float64 { return -v })},
		{"one point each", func(set series.Set) {
			for id := range set {
				set[id] = set[id][:1]
			}
		}},
		{"one series missing", func(set series.Set) {
			delete(set, slices.Sorted(maps.Keys(set))[0])
		}},
		{"one series empty", func(set series.Set) { set[slices.Sorted(maps.Keys(set))[0]] = nil }},
		{"nothing", func(set series.Set) { clear(set) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			perDefinition(t, func(t *testing.T, d signals.Definition) {
				set := madeUp(d, history, 5)
				c.damage(set)
				wantNoInfinity(t, d.Compute(set, end), components(d, set, end))
			})
		})
	}
}

// every replaces each value of each series of a set.
func every(replace func(i int, v float64) float64) func(series.Set) {
	return func(set series.Set) {
		for _, points := range set {
			for i := range points {
				points[i].Value = replace(i, points[i].Value)
			}
		}
	}
}

func TestASignalIsLiveUntilItsStaleness(t *testing.T) {
	t.Parallel()
	perDefinition(t, func(t *testing.T, d signals.Definition) {
		observed := time.Date(2025, 12, 8, 0, 0, 0, 0, time.UTC)
		for age, want := range map[time.Duration]string{
			0: signals.StatusLive, d.Staleness: signals.StatusLive, d.Staleness + time.Second: signals.StatusDecayed,
		} {
			if got := d.Status(observed, observed.Add(age)); got != want {
				t.Errorf("after %v the signal is %s, want %s", age, got, want)
			}
		}
	})
}

// BenchmarkCompute shows the cost of a whole track: twice the history, about twice the time.
func BenchmarkCompute(b *testing.B) {
	for _, d := range signals.All() {
		for _, years := range []int{10, 20, 40, 80} {
			set := madeUp(d, years, 6)
			b.Run(fmt.Sprintf("%s/years=%d", d.ID, years), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d.Compute(set, end)
				}
			})
		}
	}
}
