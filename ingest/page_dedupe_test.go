package ingest

import (
	"testing"
	"time"
)

// A plain map is the truth that the ascending runs are held to.
func TestReadingsAreToldApartInAnyOrder(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC) }
	for name, order := range map[string][]int{
		"ascending":          {1, 2, 3, 4, 5},
		"descending":         {5, 4, 3, 2, 1},
		"pages newest first": {5, 6, 7, 1, 2, 3, 8, 4},
		"with repeats":       {3, 3, 1, 5, 1, 2, 5, 3, 4, 2},
	} {
		s := make(pageDedupe)
		s.add("b", day(1)) // another series does not affect this one
		truth := map[int]bool{}
		var taken []Reading
		for _, n := range order {
			if got, want := s.add("a", day(n)), !truth[n]; got != want {
				t.Errorf("%s: day %d is new: %t, want %t", name, n, got, want)
			}
			if !truth[n] {
				taken = append(taken, Reading{Series: "a", ObservedAt: day(n)})
			}
			truth[n] = true
		}
		half := len(taken) / 2
		s.forget(taken[half:])
		for i, r := range taken {
			if got, want := s.add("a", r.ObservedAt), i >= half; got != want {
				t.Errorf("%s: after half was forgotten, %s is new: %t, want %t", name, r.ObservedAt.Format(time.DateOnly), got, want)
			}
		}
	}
}
