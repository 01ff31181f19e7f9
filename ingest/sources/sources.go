// Package sources lists the upstreams: every Source that the program runs, and the sandbox that answers for them all. It is the
// one place that names each folder under ingest; adding an upstream adds a line to publishers.
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

// Keys holds the operator's keys to publishers. With an empty key, the source uses its keyless form.
type Keys struct {
	// EIA opens the API v2 of the U.S. Energy Information Administration.
	EIA string
	// NASS opens the Quick Stats API of the U.S. Department of Agriculture.
	NASS string
	// FRED opens the API of the Federal Reserve Bank of St. Louis.
	FRED string
}

// publisher is the content of a folder below ingest: its sources, with the operator's key if they take one, and its handler in the
// sandbox.
type publisher struct {
	sources func(Keys) []ingest.Source
	sandbox func(*http.ServeMux, synth.World)
}

// publishers are listed in the order in which their sources are shown.
var publishers = []publisher{
	{func(k Keys) []ingest.Source { return []ingest.Source{eia.Spot(k.EIA), eia.Weekly(k.EIA)} }, eia.Sandbox},
	{only(worldbank.Source), worldbank.Sandbox},
	{only(portwatch.Source), portwatch.Sandbox},
	{func(k Keys) []ingest.Source { return []ingest.Source{nass.Source(k.NASS)} }, nass.Sandbox},
	{only(temis.Source), temis.Sandbox},
	{only(fed.Source), fed.Sandbox},
	{only(ecb.Source), ecb.Sandbox},
	{only(bls.Source), bls.Sandbox},
	{func(k Keys) []ingest.Source { return fred.Sources(k.FRED) }, fred.Sandbox},
}

// only is a publisher with one source and no key.
func only(source func() ingest.Source) func(Keys) []ingest.Source {
	return func(Keys) []ingest.Source { return []ingest.Source{source()} }
}

// All returns every source, in the order in which they are shown.
func All(keys Keys) []ingest.Source {
	var list []ingest.Source
	for _, p := range publishers {
		list = append(list, p.sources(keys)...)
	}
	return list
}

// Sandbox answers for all publishers, by host, in their wire forms and with synthetic figures. It includes companies and prices, whose
// sources are declared for a universe and are not in All. trading reports whether the exchange is open on a day. A host that no source
// requests gets status 404. The handler is safe for concurrent use.
func Sandbox(w synth.World, trading func(day time.Time) bool) http.Handler {
	mux := http.NewServeMux()
	for _, p := range publishers {
		p.sandbox(mux, w)
	}
	edgar.Sandbox(mux, w)
	prices.Sandbox(mux, w, trading)
	return mux
}
