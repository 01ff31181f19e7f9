package workers

import "runtime/debug"

const (
	// HeapGrowth is the percentage of the live data by which the heap grows before a garbage collection: a recompute holds little data, and
	// allocates much.
	HeapGrowth = 400
	// maxGrown is the memory in bytes from which on the garbage is collected more often.
	maxGrown = 1 << 30
)

// CollectSeldom lets the heap grow by HeapGrowth, up to 1 GiB, until the returned function is called. GOGC and GOMEMLIMIT of the environment
// win.
func CollectSeldom() (restore func()) {
	percent, limit := debug.SetGCPercent(HeapGrowth), debug.SetMemoryLimit(-1)
	if percent != 100 {
		debug.SetGCPercent(percent)
		return func() {}
	}
	debug.SetMemoryLimit(min(limit, maxGrown))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
