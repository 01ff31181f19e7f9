package signals_test

import (
	"math"
	"testing"
	"time"

	"tidemark/signals"
)

func TestAFindingSaysTheValueAndItsDistanceFromNormal(t *testing.T) {
	t.Parallel()
	mid, early, late := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, 10, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 21, 0, 0, 0, 0, time.UTC)
	unknown := math.NaN()
	for _, tt := range []struct {
		id              string
		value, baseline float64
		at              time.Time
		want            string
	}{
		{"hormuz-transit", 112.3, 85.7, mid, "Hormuz: 112 ships a day, 31% above normal for mid-November"},
		{"hormuz-transit", 85.7, 85.7, early, "Hormuz: 86 ships a day, at normal for early May"},
		{"hormuz-transit", 85.5, 85.7, early, "Hormuz: 86 ships a day, 0.2% below normal for early May"},
		{"hormuz-transit", 0, 85.7, late, "Hormuz: 0 ships a day, 100% below normal for late February"},
		{"hormuz-transit", 112, unknown, mid, "Hormuz: 112 ships a day"},
		{"hormuz-transit", unknown, 85.7, mid, ""},
		{"crack-spread-321", 16.208, 20.74, mid, "Crack spread: $16.21 a barrel, $4.53 below normal for mid-November"},
		{"crack-spread-321", -36.98, 20.74, mid, "Crack spread: −$36.98 a barrel, $57.72 below normal for mid-November"},
		{"crack-spread-321", -0.001, 0.001, mid, "Crack spread: $0.00 a barrel, at normal for mid-November"},
		{"lng-arbitrage", 0.36, -1.2, mid, "US LNG to Europe: $0.36 per MMBtu, $1.56 above its median of five years"},
		{"lng-arbitrage", 0.364, 2.2155, mid, "US LNG to Europe: $0.36 per MMBtu, $1.86 below its median of five years"}, // 1.85 apart, but shown as 0.36 and 2.22
		{"lng-arbitrage", 0.3649, 0.3551, mid, "US LNG to Europe: $0.36 per MMBtu, at its median of five years"},
		{"eia-weekly-petroleum", 421140, 440000, mid, "US crude oil stocks: 421.1 million barrels, 4% below normal for mid-November"},
		{"iowa-corn-yield", 213.04, 205, mid, "Iowa corn: 213.0 bushels an acre, 4% above its trend"},
		{"tropomi-no2-economic", 96.31, 100, late, "NO2 over industry: index 96.3, 4% below normal for February"},
	} {
		var d signals.Definition
		for _, one := range signals.All() {
			if one.ID == tt.id {
				d = one
			}
		}
		if got := d.Finding(tt.value, tt.baseline, tt.at).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.id, got, tt.want)
		}
	}
}

func TestAFigureHasTheDecimalsOfItsUnit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		id           string
		value        float64
		number, unit string
	}{
		{"hormuz-transit", 87.6, "88", "ships a day"},
		{"lng-arbitrage", 0.3591, "$0.36", "per MMBtu"},
		{"lng-arbitrage", -0.3591, "−$0.36", "per MMBtu"},
		{"lng-arbitrage", -0.001, "$0.00", "per MMBtu"},
		{"eia-weekly-petroleum", 421140, "421.1", "million barrels"},
		{"tropomi-no2-economic", 96.31, "96.3", "index"},
		{"crack-spread-321", math.NaN(), "unknown", "a barrel"},
	} {
		for _, d := range signals.All() {
			if d.ID == tt.id && (d.Number(tt.value) != tt.number || d.FigureUnit() != tt.unit) {
				t.Errorf("%s: %v is %s %s, want %s %s", tt.id, tt.value, d.Number(tt.value), d.FigureUnit(), tt.number, tt.unit)
			}
		}
	}
}

func TestASeasonOfCornEndsWithItsFinal(t *testing.T) {
	t.Parallel()
	at := func(year int, month time.Month) time.Time { return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC) }
	for _, d := range signals.All() {
		corn := d.ID == "iowa-corn-yield"
		if d.SameSeason(at(2026, time.January), at(2026, time.May)) == corn {
			t.Errorf("%s: a final and the next May are of one season: %t", d.ID, !corn)
		}
		if !d.SameSeason(at(2025, time.May), at(2026, time.January)) {
			t.Errorf("%s: May and the final of January are of two seasons", d.ID)
		}
	}
}
