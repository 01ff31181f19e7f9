package signals

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/series"
)

// monthly yields points on the first days of months, from one on, each known on the 4th of the next month.
func monthly(first string, values ...float64) []series.Point {
	out := make([]series.Point, len(values))
	for i, v := range values {
		day := date(first).AddDate(0, i, 0)
		out[i] = series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 1, 3)), Value: v}
	}
	return out
}

func repeat(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func TestLNGMarginsOfPublishedPrices(t *testing.T) {
	t.Parallel()
	// Prices of the Pink Sheet of 3 March 2026: United States, Europe, Japan.
	for _, c := range []struct {
		month           string
		hub, ttf, japan float64
		europe, asia    float64
	}{
		{"2026-02-01", 3.6147, 11.23735293669, 11.4696, 2.7804, 2.0127},
		{"2025-11-01", 3.7912, 10.42040288015, 11.15452343511, 1.7605, 1.4946},
	} {
		set := series.Set{
			henryHub: monthly(c.month, c.hub), europeGas: monthly(c.month, c.ttf), japanLNG: monthly(c.month, c.japan),
		}
		track := computeLNG(set, date("2026-04-01"))
		if len(track) != 1 || math.Abs(track[0].Value-c.europe) > 5e-5 {
			t.Errorf("%s: %+v, want a margin of %v", c.month, track, c.europe)
		}
		got := map[string]float64{}
		for _, part := range lngComponents(set, date("2026-04-01")) {
			got[part.Name] = part.Value
		}
		for name, want := range map[string]float64{
			"asia_proxy_japan_import": c.asia, "europe_short_run": c.europe + 3, "asia_proxy_short_run": c.asia + 3,
			"henry_hub": c.hub, "europe_gas": c.ttf, "japan_lng": c.japan,
			"assumed_hub_share": 115, "assumed_tolling_fee": 3, "assumed_shipping_europe": 0.9, "assumed_shipping_asia": 2,
			"assumed_regasification_europe": 0.4, "assumed_regasification_asia": 0.3,
		} {
			if v, ok := got[name]; !ok || math.Abs(v-want) > 5.1e-5 {
				t.Errorf("%s: %s is %v, want %v", c.month, name, v, want)
			}
		}
		if len(got) != 12 {
			t.Errorf("%d components, want 12", len(got))
		}
	}
}

func TestLNGIntervalIsTheSpanOfTheContractsFees(t *testing.T) {
	t.Parallel()
	track := computeLNG(series.Set{henryHub: monthly("2020-05-01", 1.75), europeGas: monthly("2020-05-01", 1.6)}, date("2020-07-01"))
	// A fee of 2.25 in place of 3.00 is the upper bound.
	wantNear(t, "upper bound", track[0].Hi, 1.6-(1.15*1.75+2.25)-0.9-0.4)
	wantNear(t, "lower bound", track[0].Lo, 1.6-(1.15*1.75+3.75)-0.9-0.4)
}

func TestLNGHasAMonthOnlyWithBothPricesAndOnlySinceTTF(t *testing.T) {
	t.Parallel()
	hub, europe := monthly("2015-01-01", 3, 3, 3, 3, 3, 3, 3), monthly("2015-01-01", 9, 9, 9, 8, 8, 8, 8)
	hub = slices.Delete(hub, 5, 6)                             // no June in the United States
	europe[6].VintageAt = series.InstantOf(date("2015-09-01")) // a late European price for July
	track := computeLNG(series.Set{henryHub: hub, europeGas: europe}, date("2015-12-01"))
	var months []string
	for _, e := range track {
		months = append(months, e.ObservedAt.Time().Format("2006-01"))
	}
	if want := []string{"2015-04", "2015-05", "2015-07"}; !slices.Equal(months, want) {
		t.Errorf("months %v, want %v: the border price ended in March, June lacks a price", months, want)
	}
	if last := track[len(track)-1]; !last.KnownAt.Time().Equal(date("2015-09-01")) {
		t.Errorf("July was known at %v, want with its last price", last.KnownAt)
	}
	if parts := lngComponents(series.Set{henryHub: hub}, date("2015-12-01")); len(parts) != 1 || parts[0].Name != "henry_hub" {
		t.Errorf("components of Henry Hub alone: %+v", parts)
	}
}

func TestLNGBaselineIgnoresAWildYear(t *testing.T) {
	t.Parallel()
	// Margins of 1, 2 and 3 alternate for four years, then a year of 50, then 2.
	var values []float64
	for i := range 48 {
		values = append(values, float64(1+i%3))
	}
	values = append(append(values, repeat(12, 50)...), 2)
	before := monthsBefore(monthly("2018-01-01", values...))
	last := before[len(before)-1]
	// Of 60 values, 16 are 1, 16 are 2, 16 are 3 and 12 are 50: the 30th and 31st are 2, the distances 16 times 0, 32 times 1.
	if last.n != 60 || last.median != 2 || last.scale != madToSD {
		t.Errorf("baseline %+v, want the median 2 in a scale of 1.4826", last)
	}
}

func TestLNGBaselineNeedsThreeYearsAndForgetsAfterFive(t *testing.T) {
	t.Parallel()
	points := monthly("2018-01-01", append(repeat(36, 7), repeat(70, 9)...)...)
	for i, b := range monthsBefore(points) {
		wantN := min(i, 60)
		if i < 36 {
			wantN = 0
		}
		if b.n != wantN || math.IsNaN(b.median) != (wantN == 0) || math.IsNaN(b.scale) != (wantN == 0) {
			t.Errorf("month %d has the baseline %+v, want one of %d months", i, b, wantN)
		}
		if i >= 36+60 && (b.median != 9 || b.scale != 0) {
			t.Errorf("month %d still knows the old level: %+v", i, b)
		}
	}
	// After a hole of four years the 60 months before hold too few.
	gap := slices.Concat(points[:40], points[88:90])
	if b := monthsBefore(gap); b[40].n != 0 || !math.IsNaN(b[40].median) {
		t.Errorf("twelve months make the baseline %+v, want none", b[40])
	}
}

func TestMonthsBeforeEqualADirectComputation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 20))
		points := walk(rng, date("1999-01-01"), date("2024-12-31"), 5, 1, func(day time.Time) bool { return day.Day() == 1 })
		some, none := 0, 0
		for i, got := range monthsBefore(points) {
			var window []float64
			for _, p := range points[:i] {
				if !p.ObservedAt.Time().Before(points[i].ObservedAt.AddDate(0, -60, 0).Time()) {
					window = append(window, p.Value)
				}
			}
			if len(window) < 36 {
				none++
				if got.n != 0 {
					t.Fatalf("%v: a baseline of %d months", points[i].ObservedAt, len(window))
				}
				continue
			}
			some++
			middle := median(window)
			for j := range window {
				window[j] = math.Abs(window[j] - middle)
			}
			if got.n != len(window) || !near(got.median, middle, 0) || !near(got.scale, 1.4826*median(window), 0) {
				t.Fatalf("%v: %+v, want %d, %v, %v", points[i].ObservedAt, got, len(window), middle, 1.4826*median(window))
			}
		}
		if some < 100 || none < 30 {
			t.Fatalf("%d baselines and %d without: the series does not test what it should", some, none)
		}
	}
}

// median sorts, and returns the middle of the two values at which the empirical distribution reaches one half, from below and from above.
func median(values []float64) float64 {
	up := slices.Sorted(slices.Values(values))
	down := make([]float64, len(up))
	for i, v := range up {
		down[len(up)-1-i] = -v
	}
	return (stat.Quantile(0.5, stat.Empirical, up, nil) - stat.Quantile(0.5, stat.Empirical, down, nil)) / 2
}

func TestLNGNamesJapansPriceAsNoJKM(t *testing.T) {
	t.Parallel()
	set := series.Set{henryHub: monthly("2024-01-01", 2), europeGas: monthly("2024-01-01", 9), japanLNG: monthly("2024-01-01", 12)}
	named := 0
	for _, c := range lngComponents(set, date("2024-03-01")) {
		if strings.HasPrefix(c.Name, "asia_proxy") {
			named++
			if !strings.Contains(c.Label, "not JKM") {
				t.Errorf("the label of %s is %q", c.Name, c.Label)
			}
		}
	}
	if named != 2 {
		t.Errorf("%d margins to Asia, want 2", named)
	}
}
