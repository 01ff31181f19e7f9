package view

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math"
	"sort"
	"sync"
	"time"

	"tidemark/internal/postgres"
)

// History contains all points of a signal as known at one instant, in columns, in ascending time. It is immutable. An unknown number is
// NaN.
type History struct {
	// observed and published are Unix times in microseconds.
	observed, published             []int64
	value, lo, hi, baseline, pct, z []float64
	vintage                         []int32
	// digest returns the digest of all columns. It is computed on first use, because many histories are replaced before anyone needs it.
	digest func() [sha256.Size]byte
}

// Len returns the number of points.
func (h *History) Len() int {
	if h == nil {
		return 0
	}
	return len(h.observed)
}

// First returns the observation time of the oldest point, or zero if there are no points.
func (h *History) First() time.Time {
	if h.Len() == 0 {
		return time.Time{}
	}
	return time.UnixMicro(h.observed[0]).UTC()
}

// at returns the i-th point.
func (h *History) at(i int) postgres.Point {
	return postgres.Point{
		ObservedAt: time.UnixMicro(h.observed[i]).UTC(), PublishedAt: time.UnixMicro(h.published[i]).UTC(), Value: h.value[i], Lo: h.lo[i],
		Hi: h.hi[i], Baseline: h.baseline[i], DeltaPct: h.pct[i], Z: h.z[i], Vintage: int(h.vintage[i]),
	}
}

// points yields the points that a query selects. It ignores the query's instant and signal: the history has its own.
func (h *History) points(q postgres.HistoryQuery) iter.Seq2[postgres.Point, error] {
	from, to := 0, h.Len()
	before := func(t time.Time) int { // the number of points before t
		return sort.Search(h.Len(), func(i int) bool { return h.observed[i] >= t.UnixMicro() })
	}
	if !q.From.IsZero() {
		from = before(q.From)
	}
	if !q.To.IsZero() {
		to = before(q.To.Add(time.Microsecond))
	}
	if q.After != nil && q.Desc {
		to = min(to, before(q.After.ObservedAt))
	} else if q.After != nil {
		from = max(from, before(q.After.ObservedAt.Add(time.Microsecond)))
	}
	return func(yield func(postgres.Point, error) bool) {
		for n := 0; from+n < to && (q.Limit == 0 || n < q.Limit); n++ {
			i := from + n
			if q.Desc {
				i = to - 1 - n
			}
			if !yield(h.at(i), nil) {
				return
			}
		}
	}
}

// with returns the history after changes, which are in ascending time. h may be nil, which means the empty history.
func (h *History) with(changes []postgres.Point) *History {
	if h == nil {
		h = &History{}
	}
	out := newHistory(h.Len() + len(changes))
	i := 0
	keep := func(until int) {
		out.observed, out.published = append(out.observed, h.observed[i:until]...), append(out.published, h.published[i:until]...)
		out.vintage = append(out.vintage, h.vintage[i:until]...)
		mine, its := out.numbers(), h.numbers()
		for c := range mine {
			*mine[c] = append(*mine[c], (*its[c])[i:until]...)
		}
		i = until
	}
	for _, p := range changes {
		at := p.ObservedAt.UnixMicro()
		keep(i + sort.Search(h.Len()-i, func(n int) bool { return h.observed[i+n] >= at }))
		if i < h.Len() && h.observed[i] == at {
			i++ // replaced or withdrawn
		}
		if !p.Gone {
			out.add(p)
		}
	}
	keep(h.Len())
	out.digest = sync.OnceValue(out.sum)
	return out
}

func newHistory(n int) *History {
	h := &History{observed: make([]int64, 0, n), published: make([]int64, 0, n), vintage: make([]int32, 0, n)}
	for _, column := range h.numbers() {
		*column = make([]float64, 0, n)
	}
	return h
}

func (h *History) numbers() [6]*[]float64 {
	return [6]*[]float64{&h.value, &h.lo, &h.hi, &h.baseline, &h.pct, &h.z}
}

func (h *History) add(p postgres.Point) {
	h.observed, h.published = append(h.observed, p.ObservedAt.UnixMicro()), append(h.published, p.PublishedAt.UnixMicro())
	h.vintage = append(h.vintage, int32(p.Vintage))
	for c, v := range [6]float64{p.Value, p.Lo, p.Hi, p.Baseline, p.DeltaPct, p.Z} {
		column := h.numbers()[c]
		*column = append(*column, v)
	}
}

// sum returns the digest of all columns.
func (h *History) sum() (out [sha256.Size]byte) {
	hash := sha256.New()
	buf := make([]byte, 0, 8*(2+6)+4)
	for i := range h.observed {
		buf = binary.LittleEndian.AppendUint64(buf[:0], uint64(h.observed[i]))
		buf = binary.LittleEndian.AppendUint64(buf, uint64(h.published[i]))
		buf = binary.LittleEndian.AppendUint32(buf, uint32(h.vintage[i]))
		for _, column := range h.numbers() {
			buf = binary.LittleEndian.AppendUint64(buf, math.Float64bits((*column)[i]))
		}
		_, _ = hash.Write(buf) // never fails
	}
	hash.Sum(out[:0])
	return out
}
