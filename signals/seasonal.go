package signals

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// The seasonal baselines use the same time of the year in the years before. Five years is the span of the "five-year range" in the charts
// of EIA's weekly report. It is long enough to average out single winters and refinery outages, and short enough to exclude another market.
const (
	seasonYears = 5
	// minSeasonYears is how many of them must be matched before there is a baseline. A spread has one degree of freedom less
	// than it has values: from two years it rests on a single difference, and the z-score in it says nothing.
	minSeasonYears = 3
)

const secondsPerDay = 24 * 60 * 60

// dayOf is the UTC date of t as the number of days since 1970-01-01.
func dayOf(t time.Time) int {
	return series.InstantOf(t).Days()
}

// calendarDay is a UTC date.
type calendarDay struct {
	number, year int32 // number as dayOf has it
	month, day   int8
}

// dayIn is the UTC date of t.
func dayIn(t series.Instant) calendarDay {
	year, month, day := t.Time().Date()
	return calendarDay{number: int32(t.Days()), year: int32(year), month: int8(month), day: int8(day)}
}

// dateOf is the date of a day that is given as its number.
func dateOf(number int) calendarDay {
	return dayIn(series.InstantOf(time.Unix(int64(number)*secondsPerDay, 0)))
}

// yearsBefore is the number of the day with the same month and day, k years earlier. 29 February becomes the 28th in a year without it.
func (c calendarDay) yearsBefore(k int) int {
	year := int(c.year) // the last one whose leap day, if it has one, is not after the date
	if c.month <= int8(time.February) {
		year--
	}
	number := int(c.number) - 365*k - (leapDays(year) - leapDays(year-k))
	if c.month == int8(time.February) && c.day == 29 && !leap(int(c.year)-k) {
		number--
	}
	return number
}

// anniversaries finds the same month and day of some earlier years, for one day after the other. How many days back they are is the same
// for all days of a year up to 28 February, and for all from 1 March on.
type anniversaries struct {
	// ago is which years are meant for a date, as numbers of years before it.
	ago func(calendarDay) []int
	// from and until enclose the days on which back holds.
	from, until int
	back        []int
}

// daysBack is how many days before a day its anniversaries are, in the order of ago.
func (a *anniversaries) daysBack(day int) []int {
	if day < a.from || day >= a.until {
		a.enter(day)
	}
	return a.back
}

func (a *anniversaries) enter(day int) {
	date := dateOf(day)
	first := func(year int, month time.Month) int { return dayOf(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)) }
	year := int(date.year)
	switch {
	case date.month > int8(time.February):
		a.from, a.until = first(year, time.March), first(year+1, time.January)
	case date.month == int8(time.February) && date.day == 29:
		a.from, a.until = day, day+1
	default:
		a.from, a.until = first(year, time.January), first(year, time.February)+28
	}
	a.back = a.back[:0]
	for _, k := range a.ago(date) {
		a.back = append(a.back, day-date.yearsBefore(k))
	}
}

func leap(year int) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// leapDays counts the leap days of our era up to the end of a year.
func leapDays(year int) int { return year/4 - year/100 + year/400 }

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// businessDays counts the days from Monday to Friday after the day from, up to and with the day to, on the UTC calendar; 0 if to is not
// later. Holidays count as business days: a spread scaled by the result is too wide rather than too narrow.
func businessDays(from, to int) int {
	if to <= from {
		return 0
	}
	return weekdaysUntil(to) - weekdaysUntil(from)
}

// weekdaysUntil counts the days from Monday to Friday from Monday 1969-12-29 up to and with day.
func weekdaysUntil(day int) int {
	const monday = -3 // 1970-01-01 was a Thursday
	weeks := floorDiv(day-monday, 7)
	return 5*weeks + min(day-monday-7*weeks+1, 5)
}

// weekdayOf is 0 on Mondays. day is not older than the year 1.
func weekdayOf(day int) int {
	const monday = -102_737*7 - 3 // 0001-01-01
	return int(uint64(day-monday) % 7)
}

// monthDayWindow is a baseline of all values within days calendar days of the same month and day in each of the five previous years.
type monthDayWindow struct {
	days int
	// minPerYear is how many values the window of a year must hold for the year to count as matched. The values of other years do not
	// enter, and none do before minSeasonYears are matched.
	minPerYear int
}

// season has the sample of the baseline of any point of a series. It is the empty one if too few years are matched. The windows close months
// before the point, so no point sees its own future.
type season struct {
	days       []int32 // of the points
	windows    seasonalWindows
	minPerYear int
	before     anniversaries
}

// previousYears are the years of a season, as numbers of years before.
var previousYears = [seasonYears]int{1, 2, 3, 4, 5}

// over is the season of the five previous years. Its windows are in memory.
func (b monthDayWindow) over(points datedSeries, memory *scratch) season {
	if len(points.days) == 0 {
		return season{}
	}
	oldest, newest := int(points.days[0]), int(points.days[len(points.days)-1])
	years := func(calendarDay) []int { return previousYears[:] }
	return b.ofYears(points, years, oldest-b.days, dateOf(newest).yearsBefore(1), memory)
}

// ofYears is over for other years: ago says which for a date. The stretch from first to last holds all days of them that matter.
func (b monthDayWindow) ofYears(points datedSeries, ago func(calendarDay) []int, first, last int, memory *scratch) season {
	return season{
		days: points.days, windows: points.around(b.days, first, last, memory), minPerYear: b.minPerYear, before: anniversaries{ago: ago},
	}
}

// of is the sample of the i-th point.
func (s *season) of(i int) moments {
	samples, least := s.windows.samples, s.minPerYear
	day := int(s.days[i])
	years := s.before.daysBack(day)
	if len(years) < minSeasonYears {
		return moments{}
	}
	day -= s.windows.first
	var sample moments
	matched := 0
	for _, back := range years {
		at := day - back
		if uint(at) >= uint(len(samples)) {
			continue
		}
		year := &samples[at]
		if year.n < least {
			continue
		}
		if matched++; matched == 1 {
			sample = *year
			continue
		}
		sample = sample.join(*year)
	}
	if matched < minSeasonYears {
		return moments{}
	}
	return sample
}

// datedSeries is a sequence of values with the numbers of their days, which ascend.
type datedSeries struct {
	days   []int32
	values []float64
}

func datedPoints(points []series.Point) datedSeries { return datedSeries{}.holding(points) }

// holding is a sequence of the values of points, in the memory of d if that is large enough.
func (d datedSeries) holding(points []series.Point) datedSeries {
	days, values := sized(d.days, len(points)), sized(d.values, len(points))
	for i := range points {
		days[i], values[i] = int32(points[i].ObservedAt.Days()), points[i].Value
	}
	return datedSeries{days, values}
}

// seasonalWindows holds, for every day of a stretch, the sample of the values within some calendar days of it.
type seasonalWindows struct {
	first   int // the number of the first day
	samples []moments
}

// around are the samples of the values within reach days of each day from first to last. Windows are made of blocks of as many days, as stats.go
// says. The blocks lie on the calendar and not on the history's start: the same windows give the same bits however far back the history
// goes. The samples are in memory. It costs O(n) in the values and days.
func (d datedSeries) around(reach, first, last int, memory *scratch) seasonalWindows {
	out := seasonalWindows{first: first, samples: sized(memory.samples, max(0, last-first+1))}
	memory.samples = out.samples
	if len(out.samples) == 0 {
		return out
	}
	width, from := 2*reach+1, first-reach // the day on which the first window begins
	block := floorDiv(from, width) * width
	memory.before = d.before(block, last+3*width, memory.before)
	before := memory.before
	var left, right windowBlock
	right.fill(d.values[before[0]:before[width]])
	for rest := out.samples; len(rest) > 0; block, before = block+width, before[width:] {
		left, right = right, left
		right.fill(d.values[before[width]:before[2*width]])
		skipped := max(0, from-block)
		n := min(width-skipped, len(rest))
		windowsBetween(&left, &right, before[skipped:], before[width], width, rest[:n])
		rest = rest[n:]
	}
	return out
}

// before is how many values are before each day from first up to end. It reuses memory.
func (d datedSeries) before(first, end int, memory []int32) []int32 {
	out := sized(memory, end-first)
	clear(out)
	old, _ := slices.BinarySearch(d.days, int32(first))
	for _, day := range d.days[old:] {
		at := int(day) + 1 - first
		if at >= len(out) {
			break
		}
		out[at]++
	}
	sum := int32(old)
	for i, n := range out {
		sum += n
		out[i] = sum
	}
	return out
}

// windowBlock has the samples from each value of a block to the block's end, and from the block's start up to each value.
type windowBlock struct{ tails, heads []moments }

func (b *windowBlock) fill(values []float64) {
	b.tails, b.heads = tailsOf(values, b.tails), headsOf(values, b.heads)
}

// windowsBetween sets the samples of windows that begin in one block and end in the next. Each begins a day after the window before it. before
// is how many values are before each day, from the day on which the first window begins. border is how many are before the next block.
func windowsBetween(left, right *windowBlock, before []int32, border int32, width int, samples []moments) {
	tails, heads := left.tails, right.heads
	begins, ends := before[:len(samples)], before[width:][:len(samples)]
	for i := range samples {
		l, r := int(border-begins[i]), int(ends[i]-border) // how many values are in either block
		switch {
		case l > 0 && r > 0:
			samples[i] = tails[len(tails)-l].join(heads[r-1])
		case l > 0:
			samples[i] = tails[len(tails)-l]
		case r == 0:
			samples[i] = moments{}
		case r == len(heads): // the whole block
			samples[i] = right.tails[0]
		default:
			samples[i] = heads[r-1]
		}
	}
}

// matchedWeeks are the points of a weekly series in the same week of each of the five previous years, as indexes. An index is -1 where the series
// has a gap or has not begun.
type matchedWeeks [seasonYears]int

// values is the sample of the matched weeks' values, empty where fewer than minSeasonYears are matched.
func (m *matchedWeeks) values(points []series.Point) moments {
	var sample moments
	for _, j := range m {
		if j >= 0 {
			sample = sample.add(points[j].Value)
		}
	}
	return sample.ofYears()
}

// changes is the sample of what the matched weeks have in a list, where that is known.
func (m *matchedWeeks) changes(changes []float64) moments {
	var sample moments
	for _, j := range m {
		if j >= 0 && !math.IsNaN(changes[j]) {
			sample = sample.add(changes[j])
		}
	}
	return sample.ofYears()
}

// ofYears is a sample with one value a year, the empty one if it has fewer than minSeasonYears.
func (m moments) ofYears() moments {
	if m.n < minSeasonYears {
		return moments{}
	}
	return m
}

// sameWeeks finds the matched weeks of one point of a weekly series after the other. The same week is the nearest point at most three days from the
// same month and day, the earlier of two equally near. Since weeks end on one weekday, seven days hold exactly one.
type sameWeeks struct {
	days []int32
	// next are the first points that are not before the reach. They only ever move forward.
	next   [seasonYears]int
	before anniversaries
}

func sameWeeksOf(points []series.Point) sameWeeks {
	days := make([]int32, len(points))
	for i := range points {
		days[i] = int32(points[i].ObservedAt.Days())
	}
	return sameWeeks{days: days, before: anniversaries{ago: func(calendarDay) []int { return previousYears[:] }}}
}

// of are the matched weeks of the i-th point. Calls must ascend.
func (s *sameWeeks) of(i int) (matches matchedWeeks) {
	const reach = 3
	day := int(s.days[i])
	for k, back := range s.before.daysBack(day) {
		centre, j := day-back, s.next[k]
		for int(s.days[j]) < centre-reach { // ends at i at the latest
			j++
		}
		s.next[k] = j
		best, distance := -1, reach+1
		for ; int(s.days[j]) <= centre+reach; j++ {
			if d := max(int(s.days[j])-centre, centre-int(s.days[j])); d < distance {
				best, distance = j, d
			}
		}
		matches[k] = best
	}
	return matches
}

// sameWeeksOfNewest are the matched weeks of the last point.
func sameWeeksOfNewest(points []series.Point) matchedWeeks {
	s := sameWeeksOf(points)
	return s.of(len(points) - 1)
}

// weekChange is the difference of the i-th point of a weekly series from seven days before, NaN after a gap.
func weekChange(points []series.Point, i int) float64 {
	if i == 0 || points[i].ObservedAt.Days()-points[i-1].ObservedAt.Days() != 7 {
		return math.NaN()
	}
	return points[i].Value - points[i-1].Value
}

// week is how one week of a weekly series stands against the same weeks of the five previous years. The samples are empty, and the
// numbers NaN, where fewer than minSeasonYears are matched.
type week struct {
	// level is the sample of the matched weeks' values, low and high its range.
	level     moments
	low, high float64
	// change is the difference from seven days before, NaN after a gap; season is the sample of the matched weeks' changes.
	change float64
	season moments
}

// surprise is the week's change less the mean change of the matched weeks.
func (w week) surprise() float64 { return w.change - w.season.mean() }

// weekOf compares the last point of a weekly series with the same weeks of the five previous years.
func weekOf(points []series.Point) week {
	changes := make([]float64, len(points))
	for i := range points {
		changes[i] = weekChange(points, i)
	}
	last := len(points) - 1
	matches := sameWeeksOfNewest(points)
	w := week{level: matches.values(points), low: math.NaN(), high: math.NaN(), change: changes[last], season: matches.changes(changes)}
	if w.level.n > 0 {
		w.low, w.high = math.Inf(1), math.Inf(-1)
		for _, j := range matches {
			if j >= 0 {
				w.low, w.high = min(w.low, points[j].Value), max(w.high, points[j].Value)
			}
		}
	}
	return w
}
