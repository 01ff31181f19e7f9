package eia

import (
	"math"
	"time"

	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

const barrel = 42 // gallons

// draw draws the synthetic series of both groups, each with the release history of its schedule. The levels, seasons and spreads are set by
// eye to the real series since 2006. Crude is near 70 dollars and moves between 35 and 140. Product margins are 10 to 40 dollars a barrel.
// Stocks and utilization have their yearly swing. None of it is a forecast or a fit.
func draw(w synth.World) map[series.ID]*synth.ReleaseHistory {
	days := synth.Weekdays(time.Date(2006, 6, 14, 0, 0, 0, 0, time.UTC))
	crude := w.Series(synth.Process{
		Name: "eia crude price", Calendar: days, Decimals: 2,
		Mean: 70, Reversion: 0.0025, Volatility: 0.018, Log: true, Floor: 10, Ceiling: 180,
	})
	// Both margins share the refiners' fortune, so that the products move together beyond what crude explains.
	refining := w.Series(synth.Process{
		Name: "eia refining margin", Calendar: days, Decimals: -1,
		Reversion: 0.012, Volatility: 0.5,
	})
	gasoline := w.Series(synth.Process{
		Name: "eia gasoline margin", Calendar: days, Decimals: -1,
		Mean: 18, Reversion: 0.03, Volatility: 0.65, Season: synth.Yearly(4, time.May, 20),
	})
	diesel := w.Series(synth.Process{
		Name: "eia diesel margin", Calendar: days, Decimals: -1,
		Mean: 25, Reversion: 0.02, Volatility: 0.6, Season: synth.Yearly(3, time.December, 15),
	})
	perGallon := func(_ time.Time, v []float64) float64 {
		return synth.Round((v[0]+max(v[1]+v[2], 1))/barrel, 3)
	}
	prices := map[string]*synth.Series{
		"RWTC":                       crude,
		"EER_EPMRU_PF4_Y35NY_DPG":    synth.Combine(perGallon, crude, refining, gasoline),
		"EER_EPD2DXL0_PF4_Y35NY_DPG": synth.Combine(perGallon, crude, refining, diesel),
	}
	weeks := synth.Weeks(time.Date(1990, 1, 5, 0, 0, 0, 0, time.UTC))
	levels := map[string]synth.Process{
		"WCESTUS1": {
			Calendar: weeks,
			Mean:     430_000, Reversion: 0.012, Volatility: 3_900, Season: synth.Yearly(14_000, time.April, 28),
			Floor: 250_000, Ceiling: 600_000,
		},
		"WGTSTUS1": {
			Calendar: weeks,
			Mean:     228_000, Reversion: 0.05, Volatility: 2_100, Season: synth.Yearly(11_000, time.February, 5),
			Floor: 180_000, Ceiling: 280_000,
		},
		"WDISTUS1": {
			Calendar: weeks,
			Mean:     130_000, Reversion: 0.025, Volatility: 2_000, Season: synth.Yearly(8_000, time.January, 5),
			Floor: 80_000, Ceiling: 190_000,
		},
		"WPULEUS3": {
			Calendar: synth.Weeks(time.Date(1990, 11, 2, 0, 0, 0, 0, time.UTC)),
			Mean:     89.5, Reversion: 0.09, Volatility: 0.9, Season: turnarounds,
			Floor: 55, Ceiling: 99.8,
		},
	}

	boards := map[series.ID]*synth.ReleaseHistory{}
	for _, h := range spot.histories {
		boards[h.series()] = synth.NewBoard(prices[h.id], spotPublisher(w, h))
	}
	for _, h := range weekly.histories {
		p := levels[h.id]
		p.Name, p.Decimals = "eia "+h.id, h.decimals
		boards[h.series()] = synth.NewBoard(w.Series(p), weeklyPublisher)
	}
	return boards
}

// weeklyPublisher prints each figure once: weekly figures were not revised in 2,058 weeks that two vintages four years apart have
// in common.
func weeklyPublisher(points []synth.Point) []synth.Print {
	last := points[len(points)-1]
	return []synth.Print{{KnownAt: weeklyPublished(last.At), Value: last.Value}}
}

// turnarounds is the year of the refineries: maintenance around March and October, full runs in high summer.
func turnarounds(day time.Time) float64 {
	year := 2 * math.Pi * float64(day.YearDay()) / 365.25
	return -1.5*math.Cos(year-0.4) + 2*math.Cos(2*(year-0.15))
}

// EIA's observed changes of published spot prices: values change rarely. Now and then the row of a holiday appears with the price of the
// day before, and is withdrawn with the next release.
const (
	revisedShare = 1.0 / 2000
	slippedShare = 1.0 / 8 // of the holidays
)

// spotPublisher defines how the sandbox's spot prices are printed.
func spotPublisher(w synth.World, h history) synth.Publisher {
	revised := w.Noise("eia revised " + h.id)
	slipped := w.Noise("eia slipped holiday " + h.id)
	size := w.Noise("eia revision " + h.id)
	return func(points []synth.Point) []synth.Print {
		last := points[len(points)-1]
		released := spotPublished(last.At)
		week := func(n int) time.Time { return spotPublished(last.At.AddDate(0, 0, 7*n)) }
		switch {
		case isHoliday(last.At):
			if len(points) < 2 || !slipped.Chance(last.At, slippedShare) {
				return nil
			}
			return []synth.Print{{KnownAt: released, Value: points[len(points)-2].Value}, {KnownAt: week(1), Withdrawn: true}}
		case revised.Chance(last.At, revisedShare):
			first := synth.Round(last.Value*(1+0.01*size.Normal(last.At)), h.decimals)
			return []synth.Print{{KnownAt: released, Value: first}, {KnownAt: week(1 + last.At.Day()%4), Value: last.Value}}
		}
		return []synth.Print{{KnownAt: released, Value: last.Value}}
	}
}

// isHoliday reports whether a weekday has no spot prices: a federal holiday, or the substitute day for one on a weekend, or Good Friday.
func isHoliday(day time.Time) bool {
	year, month, date := day.Date()
	for _, fixed := range []struct {
		month time.Month
		day   int
		since int
	}{{time.January, 1, 0}, {time.June, 19, 2022}, {time.July, 4, 0}, {time.November, 11, 2023}, {time.December, 25, 0}} {
		if year < fixed.since {
			continue
		}
		h := time.Date(year, fixed.month, fixed.day, 0, 0, 0, 0, time.UTC)
		switch h.Weekday() {
		case time.Saturday:
			h = h.AddDate(0, 0, -1)
		case time.Sunday:
			h = h.AddDate(0, 0, 1)
		}
		if h.Equal(day) {
			return true
		}
	}
	nth := (date-1)/7 + 1
	lastWeek := day.AddDate(0, 0, 7).Month() != month
	switch day.Weekday() {
	case time.Monday:
		return month == time.January && nth == 3 || month == time.February && nth == 3 || month == time.May && lastWeek ||
			month == time.September && nth == 1 || month == time.October && nth == 2 && year >= 2023
	case time.Thursday:
		return month == time.November && nth == 4
	case time.Friday:
		return easter(year).AddDate(0, 0, -2).Equal(day)
	}
	return false
}

// easter is the Sunday of Easter in the Gregorian calendar, by the anonymous algorithm that Nature printed in 1876 (Meeus,
// Astronomical Algorithms, chapter 8).
func easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	g := (8*b + 13) / 25
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 19*l) / 433
	month := (h + l - 7*m + 90) / 25
	return time.Date(year, time.Month(month), (h+l-7*m+33*month+19)%32, 0, 0, 0, 0, time.UTC)
}

// asOf returns what a board shows as readings of a series.
func asOf(board *synth.ReleaseHistory, id series.ID, at time.Time) []series.Reading {
	points := board.AsOf(at)
	list := make([]series.Reading, len(points))
	for i, p := range points {
		list[i] = series.Reading{Series: id, ObservedAt: p.At, Value: p.Value}
	}
	return list
}
