// Package sources lists the upstreams: every Source that the program runs, and the sandbox that answers for them all. It is the
// one place that names each folder under ingest; adding an upstream adds a line to All and one to Sandbox.
package sources

import (
	"net/http"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/bls"
	"tidemark/ingest/ecb"
	"tidemark/ingest/edgar"
	"tidemark/ingest/eia"
	"tidemark/ingest/fed"
	"tidemark/ingest/fred"
	"tidemark/ingest/nass"
	"tidemark/ingest/portwatch"
	"tidemark/ingest/prices"
	"tidemark/ingest/temis"
	"tidemark/ingest/world/synth"
	"tidemark/ingest/worldbank"
)

// Keys holds the operator's keys to upstreams. An empty key is none: the source then takes its keyless form.
type Keys struct {
	// EIA opens the API v2 of the U.S. Energy Information Administration.
	EIA string
	// NASS opens the Quick Stats API of the U.S. Department of Agriculture.
	NASS string
	// FRED opens the API of the Federal Reserve Bank of St. Louis.
	FRED string
}

// All returns every source, in the order in which they are shown.
func All(keys Keys) []ingest.Source {
	list := []ingest.Source{
		eia.Spot(keys.EIA),
		eia.Weekly(keys.EIA),
		worldbank.Source(),
		portwatch.Source(),
		nass.Source(keys.NASS),
		temis.Source(),
		fed.Source(),
		ecb.Source(),
		bls.Source(),
	}
	return append(list, fred.Sources(keys.FRED)...)
}

// Sandbox answers for all upstreams, by host, in their wire forms and with synthetic figures, those of companies and prices included,
// whose sources are declared for a universe and are not among All. trading tells on which days the exchange is open. A host that no
// source asks is answered 404. The handler is safe for concurrent use.
func Sandbox(w synth.World, trading func(day time.Time) bool) http.Handler {
	mux := http.NewServeMux()
	eia.Sandbox(mux, w)
	worldbank.Sandbox(mux, w)
	portwatch.Sandbox(mux, w)
	nass.Sandbox(mux, w)
	temis.Sandbox(mux, w)
	fed.Sandbox(mux, w)
	ecb.Sandbox(mux, w)
	bls.Sandbox(mux, w)
	fred.Sandbox(mux, w)
	edgar.Sandbox(mux, w)
	prices.Sandbox(mux, w, trading)
	return mux
}
