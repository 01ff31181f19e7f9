package synth

import (
	"slices"
	"sync"
	"time"
)

// Print is the published value for one date from an instant on, until the date's next print.
type Print struct {
	KnownAt time.Time
	Value   float64
	// Withdrawn takes the date off the board; Value has no meaning.
	Withdrawn bool
}

// Publisher returns the prints over time of the last of points, ascending in KnownAt. The first is the first print, further ones are
// revisions or a withdrawal. No prints means that the publisher never shows that date (a holiday). It is called once for each date, in
// ascending order, and must be a function of the points alone. KnownAt must not be before the date.
type Publisher func(points []Point) []Print

// ReleaseHistory is a publisher's table through time. Methods may be called from any number of goroutines.
type ReleaseHistory struct {
	series    *Series
	publisher Publisher

	mu     sync.Mutex
	dates  []time.Time
	prints [][]Print
}

// NewBoard returns the board on which a publisher shows a series.
func NewBoard(s *Series, p Publisher) *ReleaseHistory {
	return &ReleaseHistory{series: s, publisher: p}
}

// AsOf returns the published points at an instant: one point for each date that had been published by then and not withdrawn, ascending,
// with the newest value printed by then. The caller owns the slice.
func (b *ReleaseHistory) AsOf(t time.Time) []Point {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.draw(t)
	shown := make([]Point, 0, n)
	for i := range n { // the board may hold dates after t, drawn for a later question
		if p, ok := newest(b.prints[i], t); ok && !p.Withdrawn {
			shown = append(shown, Point{b.dates[i], p.Value})
		}
	}
	return shown
}

// History returns all prints up to an instant: for each date with a print, ascending, its prints in their order. The caller owns the
// slice.
func (b *ReleaseHistory) History(t time.Time) []Printed {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Printed
	for i := range b.draw(t) {
		prints := b.prints[i]
		n := slices.IndexFunc(prints, func(p Print) bool { return p.KnownAt.After(t) })
		if n < 0 {
			n = len(prints)
		}
		if n > 0 {
			all = append(all, Printed{b.dates[i], slices.Clone(prints[:n])})
		}
	}
	return all
}

// Printed holds the prints of one date.
type Printed struct {
	At     time.Time
	Prints []Print
}

// draw asks the publisher about every date up to t that it was not yet asked about, and returns how many dates there are. It is called
// with mu held.
func (b *ReleaseHistory) draw(t time.Time) int {
	points := b.series.Until(t)
	for n := len(b.dates); n < len(points); n++ {
		b.dates = append(b.dates, points[n].At)
		b.prints = append(b.prints, b.publisher(points[:n+1]))
	}
	return len(points)
}

func newest(prints []Print, t time.Time) (Print, bool) {
	for _, p := range slices.Backward(prints) {
		if !p.KnownAt.After(t) {
			return p, true
		}
	}
	return Print{}, false
}
