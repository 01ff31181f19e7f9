package main

import (
	"testing"
	"time"

	"tidemark/signals"
)

// TestThePeersComputeTheSameColumns compares the signals with reference.py and compiled.py, which share no code with them. It needs python3
// with pandas, and numba for the second.
func TestThePeersComputeTheSameColumns(t *testing.T) {
	t.Parallel()
	at := now.Add(17 * time.Hour)
	in := inputs(now, 12)
	for _, peer := range peers {
		t.Run(peer.library, func(t *testing.T) {
			t.Parallel()
			p, err := startPython(t.Context(), peer.library, peer.script, in, at)
			if err != nil {
				t.Skipf("nothing to compare with: %v", err)
			}
			defer p.stop()
			for _, id := range reference {
				d, _ := signals.ByID(id)
				for what, columns := range map[string][][]float64{
					id:               trackColumns(d.Compute(in, at)),
					"backtest " + id: resultColumns(d.RunBacktest(in, at, signals.Arrivals{})),
				} {
					if _, err := p.ask(what); err != nil {
						t.Fatal(err)
					}
					if apart, err := p.apart(id, columns); err != nil || apart > 1e-9 {
						t.Errorf("%s: differs by %g of the scale of a column, want at most 1e-9 (%v)", what, apart, err)
					}
				}
			}
		})
	}
}
