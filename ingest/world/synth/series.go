package synth

import (
	"math"
	"sort"
	"sync"
	"time"
)

// Calendar lists the dates of a series: the first, and the one after any. Dates are midnights in UTC.
type Calendar struct {
	First time.Time
	Next  func(time.Time) time.Time
}

// Days is every day from first on.
func Days(first time.Time) Calendar {
	return Calendar{first, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }}
}

// Weekdays is every Monday to Friday from first on, holidays included: which of them a publisher leaves out is its own affair.
func Weekdays(first time.Time) Calendar {
	return Calendar{first, func(t time.Time) time.Time {
		switch t.Weekday() {
		case time.Friday:
			return t.AddDate(0, 0, 3)
		case time.Saturday:
			return t.AddDate(0, 0, 2)
		default:
			return t.AddDate(0, 0, 1)
		}
	}}
}

// Weeks is first and every seventh day after it.
func Weeks(first time.Time) Calendar {
	return Calendar{first, func(t time.Time) time.Time { return t.AddDate(0, 0, 7) }}
}

// Months is first and the same day of every month after it, which must not be later than the 28th.
func Months(first time.Time) Calendar {
	return Calendar{first, func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }}
}

// Process describes a random walk that is pulled back to a mean: an autoregressive process of order one, the discrete form of
// Ornstein and Uhlenbeck's. Its first value is drawn from the distribution that the walk settles into, so that no history begins
// at the mean.
type Process struct {
	// Name names the process permanently: another name gives another history.
	Name     string
	Calendar Calendar
	// Mean is the level that the walk returns to. With Log it is the median.
	Mean float64
	// Reversion is the share of the distance to the mean that is given back at each step, in (0, 1]. The memory of a shock
	// halves in about 0.69/Reversion steps. A walk of reversion zero begins at the mean and has no level that it returns to.
	Reversion float64
	// Volatility is the standard deviation of one step's shock: in units of the value, or relative (0.02 is 2 %) with Log.
	Volatility float64
	// Log lets the walk multiply instead of add. Values stay positive.
	Log bool
	// Season is added to the walk: a season, a trend, an event on a date. Relative with Log. It may be nil, and must be a
	// function of the date alone.
	Season func(day time.Time) float64
	// Floor and Ceiling bound the value if Ceiling is above Floor. The underlying walk stays unbounded.
	Floor, Ceiling float64
	// Decimals is the number of decimals of rounded values. If it is negative, values are not rounded, as parts of a combination should be.
	Decimals int
}

// Point is one drawn value.
type Point struct {
	At    time.Time
	Value float64
}

// Series is a drawn history. It is drawn once, as far as it was asked for, and grows with the clock that asks. Methods may be
// called from any number of goroutines.
type Series struct {
	mu     sync.Mutex
	points []Point
	// grow appends all points at or before t. It is called with mu held.
	grow func(points []Point, t time.Time) []Point
	// shown returns the visible ones of the points. Nil: all.
	shown func([]Point) []Point
}

// Series draws a process.
func (w World) Series(p Process) *Series {
	noise := w.Noise(p.Name)
	keep := 1 - p.Reversion
	var walk float64
	next := p.Calendar.First
	return &Series{shown: func(points []Point) []Point { return w.applyFaults(points, p.Decimals) }, grow: func(points []Point, t time.Time) []Point {
		for ; !next.After(t); next = p.Calendar.Next(next) {
			shock := p.Volatility * noise.Normal(next)
			if len(points) == 0 && keep < 1 {
				walk = shock / math.Sqrt(1-keep*keep)
			} else {
				walk = keep*walk + shock
			}
			points = append(points, Point{next, p.value(next, walk)})
		}
		return points
	}}
}

func (p Process) value(day time.Time, walk float64) float64 {
	if p.Season != nil {
		walk += p.Season(day)
	}
	v := p.Mean + walk
	if p.Log {
		v = p.Mean * math.Exp(walk)
	}
	if p.Ceiling > p.Floor {
		v = min(max(v, p.Floor), p.Ceiling)
	}
	if p.Decimals >= 0 {
		v = Round(v, p.Decimals)
	}
	return v
}

// Combine computes a series from others, date by date: f gets the parts' values in the order of the parts. Dates that one of the parts
// lacks are left out. It makes correlated series: their common factor is a part of both. Without parts the series is empty.
func Combine(f func(day time.Time, v []float64) float64, parts ...*Series) *Series {
	at := make([]int, len(parts)) // how many points of each part are used up
	values := make([]float64, len(parts))
	return &Series{grow: func(points []Point, t time.Time) []Point {
		if len(parts) == 0 {
			return points
		}
		drawn := make([][]Point, len(parts))
		for i, part := range parts {
			drawn[i] = part.Until(t)
		}
		for {
			var latest time.Time
			for i := range drawn {
				if at[i] >= len(drawn[i]) { // also when t is before an earlier question's
					return points
				}
				if day := drawn[i][at[i]].At; day.After(latest) {
					latest = day
				}
			}
			met := true
			for i := range drawn {
				if drawn[i][at[i]].At.Before(latest) {
					at[i]++
					met = false
				}
			}
			if !met {
				continue
			}
			for i := range drawn {
				values[i] = drawn[i][at[i]].Value
				at[i]++
			}
			points = append(points, Point{latest, f(latest, values)})
		}
	}}
}

// Until returns all points dated at or before t, ascending. The slice is shared and must not be changed.
func (s *Series) Until(t time.Time) []Point {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points = s.grow(s.points, t)
	n := sort.Search(len(s.points), func(i int) bool { return s.points[i].At.After(t) })
	if s.shown != nil {
		return s.shown(s.points[:n:n])
	}
	return s.points[:n:n]
}
