package ingest

import (
	"slices"
	"sync"
	"time"
)

// Timeless is the Epoch of a parser that does not look at the time of an answer.
func Timeless(time.Time) string { return "" }

// maxRemembered bounds how many readings and vintages a memory holds: some 30 MB.
const maxRemembered = 300_000

// memory keeps what the newest answer of each address held, so that a body which comes again, or which a 304 confirms, is not parsed
// again. It is of one process and of the sources that have an Epoch. The zero memory is empty.
type memory struct {
	mu    sync.Mutex
	held  map[string]remembered
	order []string // oldest first
	size  int
}

// remembered is a parsed body, and all that its parser saw.
type remembered struct {
	seen  string
	batch Batch
	size  int
}

// find returns the batch of a body that was parsed before.
func (m *memory) find(address, saw string) (Batch, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.held[address]
	if !ok || r.seen != saw {
		return Batch{}, false
	}
	return r.batch.copied(), true
}

// keep stores the batch of a body. A batch that is too large for the memory, or has data about companies, is not stored.
func (m *memory) keep(address, saw string, b Batch) {
	size := len(b.Readings) + len(b.Covers) + len(b.Vintages)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(address)
	if size > maxRemembered || len(b.Companies)+len(b.Filings)+len(b.Facts)+len(b.Bars)+len(b.Actions)+len(b.News)+len(b.Risks) > 0 {
		return
	}
	for m.size+size > maxRemembered {
		m.forget(m.order[0])
	}
	if m.held == nil {
		m.held = map[string]remembered{}
	}
	m.held[address] = remembered{saw, b.copied(), size}
	m.order = append(m.order, address)
	m.size += size
}

func (m *memory) forget(address string) {
	r, ok := m.held[address]
	if !ok {
		return
	}
	delete(m.held, address)
	m.order = slices.DeleteFunc(m.order, func(a string) bool { return a == address })
	m.size -= r.size
}

// copied is a batch of readings whose lists are its own.
func (b Batch) copied() Batch {
	b.Readings, b.Covers, b.Vintages = slices.Clone(b.Readings), slices.Clone(b.Covers), slices.Clone(b.Vintages)
	if b.Next != nil {
		b.Next = new(*b.Next)
	}
	return b
}
