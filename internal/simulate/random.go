package simulate

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// random are the seed's draws. Each purpose has its own, by name, so that a draw more for one changes nothing for another.
type random struct{ *rand.Rand }

func newDice(seed uint64, purpose string) random {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose))
	return random{rand.New(rand.NewPCG(seed, h.Sum64()))} //nolint:gosec // a simulation is drawn again, and keeps no secret
}

// chance is true with probability p.
func (d random) chance(p float64) bool { return d.Float64() < p }

// between draws a duration in [from, to), in whole milliseconds.
func (d random) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64((to-from)/time.Millisecond)))*time.Millisecond
}

// Read fills p, for what wants a source of random bytes.
func (d random) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(d.Uint32())
	}
	return len(p), nil
}

// one draws one of a list.
func one[T any](d random, list []T) T { return list[d.IntN(len(list))] }
