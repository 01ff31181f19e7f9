package signals

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/internal/series"
)

// TestTracksThatGrowAreWholeTracks compares tracks that continue kept ones with tracks that are computed whole, bit by bit. Observations come one or
// more at a time, late, twice, with gaps, are revised, withdrawn and estimated again, and instants come in any order.
func TestTracksThatGrowAreWholeTracks(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		if d.growth == nil {
			continue
		}
		t.Run(d.ID, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(27, uint64(len(d.ID))))
			grown := 0
			for range 12 {
				grown += grow(t, d, random)
			}
			if grown < 1000 {
				t.Errorf("%d tracks continued the one before, want most of them", grown)
			}
		})
	}
}

// grow takes one signal through some years, and returns how many of its tracks continued the one before.
func grow(t *testing.T, d Definition, random *rand.Rand) (grown int) {
	t.Helper()
	step := 1
	if d.Frequency == "weekly" {
		step = 7
	}
	in, now := series.Set{}, series.DateOf(2006+random.IntN(14), time.January, 6)
	value := func() float64 {
		if random.IntN(200) == 0 {
			return []float64{0, math.MaxFloat64, -math.MaxFloat64, 5e-324}[random.IntN(4)]
		}
		return math.Round(60 * (1 + random.Float64()))
	}
	observe := func(day series.Instant) {
		gap := random.IntN(40) == 0
		for _, id := range d.Inputs {
			if gap || random.IntN(60) == 0 {
				continue
			}
			in[id] = append(in[id], series.Point{ObservedAt: day, VintageAt: day.AddDate(0, 0, 1+random.IntN(9)), Value: value()})
		}
	}
	for range (7 + random.IntN(7)) * 365 / step {
		now = now.AddDate(0, 0, step)
		observe(now)
	}
	var tracks Tracks
	var before Growing
	type seen struct {
		track Growing
		copy  Track
	}
	var all []seen
	for n := range 150 {
		id := d.Inputs[random.IntN(len(d.Inputs))]
		points := in[id]
		switch random.IntN(25) {
		case 0: // nothing new
		case 1: // a revision, of the newest or of any
			in[id] = slices.Clone(points)
			in[id][len(points)-1-random.IntN(1+random.IntN(len(points)))].Value = value()
		case 2: // a withdrawal
			i := random.IntN(len(points))
			in[id] = slices.Delete(slices.Clone(points), i, i+1)
		case 3: // a gap is filled
			i := 1 + random.IntN(len(points)-1)
			if day := points[i].ObservedAt.AddDate(0, 0, -step); day > points[i-1].ObservedAt {
				in[id] = slices.Insert(slices.Clone(points), i, series.Point{ObservedAt: day, VintageAt: now, Value: value()})
			}
		case 4: // a later vintage of the same value
			in[id] = slices.Clone(points)
			in[id][len(points)-1].VintageAt++
		case 5: // new estimates of some days
			for _, id := range d.Reestimated {
				old := slices.Clone(in[series.Before(id)])
				for range random.IntN(40) {
					p := in[id][len(in[id])-1-random.IntN(1+random.IntN(len(in[id])))]
					p.VintageAt, p.Value = now, value()
					i, found := slices.BinarySearchFunc(old, p, func(a, b series.Point) int { return int(a.ObservedAt - b.ObservedAt) })
					if found {
						old[i] = p
					} else {
						old = slices.Insert(old, i, p)
					}
				}
				in[series.Before(id)] = old
			}
		case 6: // the worker starts again
			tracks = Tracks{}
		case 7: // some time without observations
			now = now.AddDate(0, random.IntN(30), 0)
		case 8: // one input waits for another
			now = now.AddDate(0, 0, step)
			in[id] = append(in[id], series.Point{ObservedAt: now, VintageAt: now, Value: value()})
		default:
			for range 1 + random.IntN(1+random.IntN(6)) {
				now = now.AddDate(0, 0, step)
				observe(now)
			}
		}
		known := series.Set{}
		for id, points := range in {
			known[id] = points
			if random.IntN(60) == 0 { // what was known earlier
				known[id] = points[:len(points)-random.IntN(min(5, len(points)))]
			}
		}
		at := now.AddDate(0, 0, random.IntN(20)-3).Time()
		got := tracks.Compute(d, known, at)
		if want := d.Compute(known, at); !sameBits(got.Track(), want) {
			t.Fatalf("step %d, as of %s: the track is not the whole one: it has %d estimates, want %d", n, at, got.Len(), len(want))
		}
		if got.Shared(before) > 0 {
			grown++
		}
		before, all = got, append(all, seen{got, got.Track()})
	}
	for n, s := range all {
		if !sameBits(s.track.Track(), s.copy) {
			t.Fatalf("the track of step %d was changed later", n)
		}
	}
	return grown
}

func sameBits(a, b Track) bool {
	return slices.EqualFunc(a, b, func(a, b Estimate) bool {
		equal := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
		return a.ObservedAt == b.ObservedAt && a.KnownAt == b.KnownAt && a.N == b.N && equal(a.Value, b.Value) && equal(a.Lo, b.Lo) &&
			equal(a.Hi, b.Hi) && equal(a.Baseline, b.Baseline) && equal(a.Scale, b.Scale)
	})
}

// The settled estimates are computed again now and then, so a wrong estimate does not stay. A track that could not be stored is forgotten.
func TestAWrongSettledEstimateDoesNotStay(t *testing.T) {
	t.Parallel()
	d, _ := ByID("hormuz-transit")
	var points []series.Point
	for day := series.DateOf(2019, time.January, 1); len(points) < 2500; day = day.AddDate(0, 0, 1) {
		points = append(points, series.Point{ObservedAt: day, VintageAt: day.AddDate(0, 0, 3), Value: float64(100 + len(points)%7)})
	}
	in := func(n int) series.Set {
		set := series.Set{}
		for _, id := range d.Inputs {
			set[id] = points[:n]
		}
		return set
	}
	at := date("2026-01-05")
	for what, heal := range map[string]func(*Tracks){"after some time": func(*Tracks) {}, "when it is forgotten": func(t *Tracks) { t.Forget(d.ID) }} {
		var tracks Tracks
		n := len(points) - 2*wholeEvery
		tracks.Compute(d, in(n), at)
		tracks.last[d.ID].settled[100].Value++
		n++
		if got := tracks.Compute(d, in(n), at); sameBits(got.Track(), d.Compute(in(n), at)) {
			t.Fatalf("%s: the wrong estimate is not in the next track, so this test tests nothing", what)
		}
		heal(&tracks)
		wrong := 0
		for ; n < len(points); n++ {
			if got := tracks.Compute(d, in(n), at); !sameBits(got.Track(), d.Compute(in(n), at)) {
				wrong++
			}
		}
		if most := map[string]int{"after some time": wholeEvery}[what]; wrong > most {
			t.Errorf("%s: %d tracks are wrong, want at most %d", what, wrong, most)
		}
	}
}

// TestTracksAtOnce computes one signal at several instants at once, with one memory.
func TestTracksAtOnce(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		if d.growth == nil {
			continue
		}
		in := series.Set{}
		random := rand.New(rand.NewPCG(27, 3))
		for _, id := range d.Inputs {
			in[id] = walk(random, date("2014-01-01"), date("2026-01-01"), 100, 1, func(t time.Time) bool { return d.Frequency != "weekly" || friday(t) })
		}
		known := func(back int) series.Set {
			set := series.Set{}
			for id, points := range in {
				set[id] = points[:len(points)-back]
			}
			return set
		}
		const instants = 40
		want := make([]Track, instants)
		for i := range want {
			want[i] = d.Compute(known(instants-i), date("2026-01-05"))
		}
		var tracks Tracks
		var group sync.WaitGroup
		got := make([][3]Growing, instants)
		for place := range 3 {
			group.Go(func() {
				for i := range got {
					got[i][place] = tracks.Compute(d, known(instants-i), date("2026-01-05"))
				}
			})
		}
		group.Wait()
		for i := range got {
			for _, g := range got[i] {
				if !sameBits(g.Track(), want[i]) {
					t.Fatalf("%s: the track of instant %d is not the whole one", d.ID, i)
				}
			}
		}
	}
}
