package ingest

import (
	"context"
	"sync"

	"tidemark/internal/series"
)

// Sink takes the good answers of a run as they come: one call at a time, in the order of the source's requests and their pages.
type Sink interface {
	// Page takes the next page of the chain under way.
	Page(ctx context.Context, f Fetched)
	// EndChain ends the chain under way. The sink must discard the pages of an incomplete one.
	EndChain(ctx context.Context, complete bool)
}

// Stream is Collect for a slow sink: the sink works on one page while the next is fetched and parsed. When Stream returns, the complete
// chains have passed to the sink everything that Collect would return.
func (e *Engine) Stream(ctx context.Context, src Source, w series.Window, runID int64, sink Sink) error {
	if e.Serial {
		return e.walk(ctx, src, w, runID, sink)
	}
	steps := make(forwarder, 1)
	var taking sync.WaitGroup
	var broken any
	taking.Go(func() {
		defer func() {
			if broken = recover(); broken != nil {
				for range steps { // let the engine come to its end
				}
			}
		}()
		for step := range steps {
			step(sink)
		}
	})
	err := e.walk(ctx, src, w, runID, steps)
	close(steps)
	taking.Wait()
	if broken != nil {
		panic(broken) // where the caller can see it
	}
	return err
}

// forwarder is a Sink that hands everything on to another goroutine.
type forwarder chan func(Sink)

// Page implements Sink.
func (r forwarder) Page(ctx context.Context, f Fetched) { r <- func(s Sink) { s.Page(ctx, f) } }

// EndChain implements Sink.
func (r forwarder) EndChain(ctx context.Context, complete bool) {
	r <- func(s Sink) { s.EndChain(ctx, complete) }
}

// collector is a Sink that keeps the pages of complete chains.
type collector struct{ good, chain []Fetched }

// Page implements Sink.
func (g *collector) Page(_ context.Context, f Fetched) { g.chain = append(g.chain, f) }

// EndChain implements Sink.
func (g *collector) EndChain(_ context.Context, complete bool) {
	if complete {
		g.good = append(g.good, g.chain...)
	}
	g.chain = nil
}
