package pages

import (
	"slices"
	"time"

	"tidemark/api/view"
)

// knownDays are the days of the points that a page knows, in ascending order, as days since 1970.
type knownDays []int

// daysOf returns the days of the points from a first to a last instant.
func daysOf(points []view.HistoryPoint, first, last time.Time) (days knownDays) {
	for _, p := range points {
		if !p.ObservedAt.Before(first) && !p.ObservedAt.After(last) {
			days = append(days, dayNumber(p.ObservedAt))
		}
	}
	return slices.Compact(days)
}

func dayNumber(at time.Time) int { return int(at.UTC().Truncate(24*time.Hour).Unix() / (24 * 60 * 60)) }

// window is a stretch from a day to a day.
type window struct{ from, to int }

func (w window) moved(days int) window { return window{w.from + days, w.to + days} }

// span is the stretch of an address.
func (w window) span() span {
	day := func(n int) time.Time { return time.Unix(int64(n)*24*60*60, 0).UTC() }
	return span{From: day(w.from), To: day(w.to)}
}

// half is the length of a step: half the window, at least a day.
func (w window) half() int { return max((w.to-w.from+1)/2, 1) }

// inside returns the index of the first day of a window, and of the first day after it.
func (k knownDays) inside(w window) (first, end int) {
	first, _ = slices.BinarySearch(k, w.from)
	end, _ = slices.BinarySearch(k, w.to+1)
	return first, end
}

// step returns the nearest window of the same length, by steps of so many days, that shows other points. A step in the other direction then
// leads back to the same points. It passes over windows without a point, and stops at the last day. ok is false if no point lies there.
func (k knownDays) step(w window, by int) (next window, ok bool) {
	first, end := k.inside(w)
	if by < 0 && first == 0 || by > 0 && end == len(k) {
		return w, false
	}
	next = w.moved(by)
	i, j := k.inside(next)
	for i == first && j == end && i < j {
		next = next.moved(by)
		i, j = k.inside(next)
	}
	switch {
	case i < j:
	case by < 0:
		next = next.moved(by * steps(next.from-k[i-1], -by))
	default:
		next = next.moved(by * steps(k[j]-next.to, by))
	}
	return next.moved(min(0, max(w.to, k[len(k)-1])-next.to)), true
}

// steps is how many steps of a length cover a distance.
func steps(distance, length int) int { return (distance + length - 1) / length }

// wider returns the smallest window around w, within the known days, that shows more points. ok is false if w shows all.
func (k knownDays) wider(w window) (next window, ok bool) {
	first, end := k.inside(w)
	if end-first == len(k) {
		return w, false
	}
	for by := w.half(); ; by *= 2 {
		next = window{max(w.from-by, k[0]), min(w.to+by, k[len(k)-1])}
		if i, j := k.inside(next); j-i > end-first {
			return next, true
		}
	}
}

// closest is the number of points below which no link leads closer.
const closest = 4

// closer returns the middle half of the points of w. ok is false if there are too few.
func (k knownDays) closer(w window) (next window, ok bool) {
	first, end := k.inside(w)
	if end-first <= closest {
		return w, false
	}
	quarter := (k[end-1] - k[first]) / 4
	next = window{k[first] + quarter, k[end-1] - quarter}
	i, j := k.inside(next)
	return next, j-i > 1 && j-i < end-first
}

// neighbours sets the links to the stretches around the shown stretch.
func (b *signalBody) neighbours(path string) {
	first, last := b.shown()
	k := daysOf(b.Signal.History.Points(time.Time{}), first, last)
	if len(k) == 0 {
		return
	}
	end := k[len(k)-1]
	w := window{k[0], end}
	if from := beginning(b.Span.Name, last); !from.IsZero() {
		w.from = dayNumber(from)
	}
	if to := b.Span.To; !to.IsZero() {
		w.from, w.to = min(w.from, dayNumber(to)), dayNumber(to)
	}
	if from := b.Span.From; !from.IsZero() {
		w.from = dayNumber(from)
	}
	if w.from <= end {
		w.to = min(w.to, end)
	}
	w.to = max(w.from, w.to)
	link := func(next window, ok bool) string {
		if !ok {
			return ""
		}
		return b.address(path, next.span())
	}
	b.Earlier, b.Later = link(k.step(w, -w.half())), link(k.step(w, w.half()))
	b.Closer, b.Wider = link(k.closer(w)), link(k.wider(w))
}
