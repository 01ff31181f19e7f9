package main

import (
	"testing"
	"time"

	"tidemark/signals"
)

// TestThePeersComputeTheSameColumns compares the signals with the scripts of the peers, which share no code with them. They need python3 with
// pandas and numba, and the packages that make conformance installs.
func TestThePeersComputeTheSameColumns(t *testing.T) {
	t.Parallel()
	at := now.Add(17 * time.Hour)
	in := inputs(now, 12)
	for _, peer := range peers {
		t.Run(peer.library, func(t *testing.T) {
			t.Parallel()
			p, err := peer.start(t.Context(), in, at, 1)
			if err != nil {
				t.Skipf("nothing to compare with: %v", err)
			}
			defer p.stop()
			for _, id := range reference {
				d, _ := signals.ByID(id)
				for what, columns := range map[string][][]float64{
					id:               trackColumns(d.Compute(in, at)),
					"backtest " + id: p.resultColumns(d.RunBacktest(in, at, signals.Arrivals{})),
				} {
					if _, _, err := p.ask(what); err != nil {
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
