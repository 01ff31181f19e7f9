package ingest

import (
	"slices"
	"time"

	"tidemark/internal/series"
)

// pageDedupe holds which readings a chain of pages has brought so far.
type pageDedupe map[series.ID]*seenTimes

// seenTimes holds the times of one series, in microseconds: an ascending run, which is how most publishers list them, and what
// came out of order. Every time in rest is below the last of run.
type seenTimes struct {
	run  []int64
	rest map[int64]bool
}

// add records a reading and reports whether it was new.
func (s pageDedupe) add(id series.ID, at time.Time) bool {
	t := s[id]
	if t == nil {
		t = &seenTimes{}
		s[id] = t
	}
	micros := at.UnixMicro()
	if n := len(t.run); n == 0 || micros > t.run[n-1] {
		t.run = append(t.run, micros)
		return true
	}
	if _, found := slices.BinarySearch(t.run, micros); found || t.rest[micros] {
		return false
	}
	if t.rest == nil {
		t.rest = make(map[int64]bool)
	}
	t.rest[micros] = true
	return true
}

// forget takes back what add took in, newest first.
func (s pageDedupe) forget(readings []Reading) {
	for _, r := range slices.Backward(readings) {
		t, micros := s[r.Series], r.ObservedAt.UnixMicro()
		if n := len(t.run); n > 0 && t.run[n-1] == micros {
			t.run = t.run[:n-1]
		} else {
			delete(t.rest, micros)
		}
	}
}
