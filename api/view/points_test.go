package view

import (
	"slices"
	"testing"
	"time"

	"tidemark/internal/postgres"
)

// The first load of a source brings years at once. No such value is called a first print, because its arrival was not seen.
func TestOnlyAValueThatWasRecordedAsItCameIsAFirstPrint(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, time.September, n, 0, 0, 0, 0, time.UTC) }
	loaded := SignalSnapshot{firstIngested: day(20)}
	for _, c := range []struct {
		name     string
		versions []postgres.Point
		want     []float64
	}{
		{"a young program", []postgres.Point{
			{ObservedAt: day(1), PublishedAt: day(8), Value: 10, Vintage: 1},
			{ObservedAt: day(1), PublishedAt: day(27), Value: 11, Vintage: 2},
			{ObservedAt: day(2), PublishedAt: day(20), Value: 20, Vintage: 1},
			{ObservedAt: day(2), PublishedAt: day(27), Value: 21, Vintage: 2},
		}, nil},
		{"points from before and after the first load", []postgres.Point{
			{ObservedAt: day(1), PublishedAt: day(8), Value: 10, Vintage: 1},
			{ObservedAt: day(1), PublishedAt: day(27), Value: 11, Vintage: 2},
			{ObservedAt: day(21), PublishedAt: day(22), Value: 30, Vintage: 1},
			{ObservedAt: day(21), PublishedAt: day(27), Value: 31, Vintage: 2},
		}, []float64{30}},
		{"an old day that was published late", []postgres.Point{{ObservedAt: day(1), PublishedAt: day(21), Value: 10, Vintage: 1}}, []float64{10}},
		{"a first value that another version of the program computed again", []postgres.Point{
			{ObservedAt: day(21), PublishedAt: day(22), Value: 30, Vintage: 1}, {ObservedAt: day(21), PublishedAt: day(22), Value: 30.5, Vintage: 1},
		}, []float64{30}},
		{"a first value from the load that was computed again later", []postgres.Point{
			{ObservedAt: day(1), PublishedAt: day(8), Value: 10, Vintage: 1}, {ObservedAt: day(1), PublishedAt: day(27), Value: 10.5, Vintage: 1},
		}, nil},
	} {
		list, err := firstPrints(func(yield func(postgres.Point, error) bool) {
			for _, p := range c.versions {
				if !yield(p, nil) {
					return
				}
			}
		}, loaded)
		var got []float64
		for _, p := range list {
			got = append(got, p.Value)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: the first prints are %v (%v), want %v", c.name, got, err, c.want)
		}
	}
}
