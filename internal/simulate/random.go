package simulate

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// random draws numbers from the seed. Each purpose has its own generator, by name, so that one more draw for one purpose changes nothing
// for the others.
type random struct{ *rand.Rand }

func newDice(seed uint64, purpose string) random {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose))
	return random{rand.New(rand.NewPCG(seed, h.Sum64()))} //nolint:gosec // a simulation is drawn again, and keeps no secret
}

// chance returns true with probability p.
func (d random) chance(p float64) bool { return d.Float64() < p }

// between draws a duration in [from, to), in whole milliseconds.
func (d random) between(from, to time.Duration) time.Duration {
	return from + time.Duration(d.Int64N(int64((to-from)/time.Millisecond)))*time.Millisecond
}

// Read fills p, for code that needs a source of random bytes.
func (d random) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(d.Uint32())
	}
	return len(p), nil
}

// one returns a random element of a list.
func one[T any](d random, list []T) T { return list[d.IntN(len(list))] }
