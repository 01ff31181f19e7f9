package signals

import (
	"slices"
	"sync"

	"tidemark/internal/series"
)

// scratch is memory for the columns that a computation needs on its way to a result. The next computation writes over it, so a history of 40
// years does not allocate and clear a megabyte each time. No result may refer to it.
type scratch struct {
	points        []series.Point
	dated         datedSeries
	samples       []moments
	before        []int32
	steps, spread []float64
	read          []readPoint
	other         ordered
	a, b          []complex128
	twists, turns []complex128
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// borrow returns memory that no other computation uses before giveBack.
func borrow() *scratch { return scratches.Get().(*scratch) }

func (s *scratch) giveBack() { scratches.Put(s) }

// sized is a list of n elements, in the memory of another list if it is large enough. The elements have any value.
func sized[T any](memory []T, n int) []T {
	return slices.Grow(memory[:0], n)[:n]
}
