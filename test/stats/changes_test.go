package stats

import (
	"math"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
	"tidemark/signals/changes"
)

// newsOf are the vintages of a set that became known after an instant, and known what was before.
func newsOf(set series.Set, from, to time.Time) (known series.Set, news []changes.Vintage) {
	known = series.Set{}
	for id, points := range set {
		for _, p := range points {
			switch {
			case !p.VintageAt.Time().After(from):
				known[id] = append(known[id], p)
			case !p.VintageAt.Time().After(to):
				news = append(news, changes.Vintage{
					Observation: series.Observation{Series: id, ObservedAt: p.ObservedAt.Time(), VintageAt: p.VintageAt.Time(), Value: p.Value}, Source: "recorded",
				})
			}
		}
	}
	return known, news
}

// wantParts explains what a signal says at two instants and checks that the parts add up, and that none is left for the code. It returns how many
// there are.
func wantParts(t *testing.T, d signals.Definition, known series.Set, all series.Set, news []changes.Vintage, from, to time.Time) int {
	t.Helper()
	served := func(in series.Set, at time.Time) changes.Snapshot {
		s := changes.Snapshot{At: at, Numbers: changes.Numbers{Value: math.NaN(), Baseline: math.NaN(), Z: math.NaN()}}
		if track := d.Compute(in, at); len(track) > 0 {
			e := track[len(track)-1]
			s.Numbers = changes.Numbers{Value: e.Value, Baseline: e.Baseline, Z: e.Z()}
		}
		return s
	}
	e := changes.Explain(d, served(known, from), served(all, to), known, news)
	var sum changes.Numbers
	for _, p := range e.Parts {
		sum.Value, sum.Baseline, sum.Z = sum.Value+p.Value, sum.Baseline+p.Baseline, sum.Z+p.Z
		if p.Kind == changes.Code {
			t.Errorf("%s from %v to %v: the code changed %+v", d.ID, from, to, p.Numbers)
		}
	}
	for name, n := range map[string][2]float64{"value": {sum.Value, e.Total.Value}, "baseline": {sum.Baseline, e.Total.Baseline}, "z": {sum.Z, e.Total.Z}} {
		if !math.IsNaN(n[1]) && !(math.Abs(n[0]-n[1]) <= 1e-9) {
			t.Errorf("%s from %v to %v: the parts of the %s add up to %v of %v", d.ID, from, to, name, n[0], n[1])
		}
	}
	return len(e.Parts)
}

// The parts of differences over recorded data: a week, a quarter and years apart, and across real revisions.
func TestPartsAddUpOverRecordedData(t *testing.T) {
	t.Parallel()
	for id, set := range map[string]series.Set{
		"lng-arbitrage": pinkSheet(t, "2026-03-03"), "hormuz-transit": portWatch(t), "iowa-corn-yield": illinoisCorn(t),
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			d, n := definition(t, id), 0
			for _, days := range []int{7, 90, 1500} {
				for back := range 5 {
					to := date("2025-12-20").AddDate(0, -7*back, 0)
					from := to.AddDate(0, 0, -days)
					known, news := newsOf(set, from, to)
					all, _ := newsOf(set, to, to)
					n += wantParts(t, d, known, all, news, from, to)
				}
			}
			if n == 0 {
				t.Error("nothing moved")
			}
		})
	}
}

func TestPartsAddUpOverRecordedRevisions(t *testing.T) {
	t.Parallel()
	revised := func(after series.Set, at time.Time) (news []changes.Vintage) {
		for id, points := range after {
			for _, p := range points {
				news = append(news, changes.Vintage{Observation: series.Observation{Series: id, ObservedAt: p.ObservedAt.Time(), VintageAt: at, Value: p.Value}, Source: "recorded", Release: 1})
			}
		}
		return news
	}
	books := []string{"2024-12-03", "2025-12-02", "2026-03-03"}
	for i, later := range books[1:] {
		known, all, from, to := pinkSheet(t, books[i]), pinkSheet(t, later), date(books[i]), date(later)
		if n := wantParts(t, definition(t, "lng-arbitrage"), known, all, revised(all, to), from, to); n < 1 {
			t.Errorf("between the workbooks of %s and %s are %d parts", books[i], later, n)
		}
	}
	const ships = "portwatch.chokepoint6.n_total"
	known, all := series.Set{ships: portWatchPoll(t, "2026-04-21T13-36-09Z")}, series.Set{ships: portWatch(t)[ships]}
	from, to := known[ships][0].VintageAt, date("2026-07-07")
	if n := wantParts(t, definition(t, "hormuz-transit"), known, all, revised(all, to), from.Time(), to); n < 2 {
		t.Errorf("between April and July are %d parts", n)
	}
}
