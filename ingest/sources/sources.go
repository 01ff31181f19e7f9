// Package sources lists the upstreams: every Source that the program runs, and the sandbox that answers for them all. It is the
// one place that names each folder under ingest; adding an upstream adds a line to publishers.
package sources

import (
	"net/http"
	"slices"
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
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/ingest/worldbank"
	"tidemark/internal/config"
)

// publisher is the content of a folder below ingest. It has its sources, with the operator's key if they take one, and its handler in the
// sandbox. faults are its own kinds of fault in the sandbox, in addition to the common ones.
type publisher struct {
	sources func(config.Upstreams) []ingest.Source
	sandbox func(*http.ServeMux, synth.World)
	faults  []string
}

// A whole publisher answers with its history, which it may revise or lose. A revising one may only revise.
var (
	whole    = []string{world.Revised, world.Shrunk}
	revising = []string{world.Revised}
)

// publishers are listed in the order in which their sources are shown.
var publishers = []publisher{
	{func(k config.Upstreams) []ingest.Source {
		return []ingest.Source{eia.Spot(k.EIAAPIKey), eia.Weekly(k.EIAAPIKey)}
	}, eia.Sandbox, whole},
	{only(worldbank.Source), worldbank.Sandbox, revising},
	{only(portwatch.Source), portwatch.Sandbox, whole},
	{func(k config.Upstreams) []ingest.Source { return []ingest.Source{nass.Source(k.NASSAPIKey)} }, nass.Sandbox, nil},
	{only(temis.Source), temis.Sandbox, revising},
	{only(fed.Source), fed.Sandbox, nil},
	{only(ecb.Source), ecb.Sandbox, nil},
	{only(bls.Source), bls.Sandbox, revising},
	{func(k config.Upstreams) []ingest.Source { return fred.Sources(k.FREDAPIKey) }, fred.Sandbox, whole},
}

// only is a publisher with one source and no key.
func only(source func() ingest.Source) func(config.Upstreams) []ingest.Source {
	return func(config.Upstreams) []ingest.Source { return []ingest.Source{source()} }
}

// All returns every source, in the order in which they are shown.
func All(keys config.Upstreams) []ingest.Source {
	var list []ingest.Source
	for _, p := range publishers {
		list = append(list, p.sources(keys)...)
	}
	return list
}

// FaultsOf returns the kinds of fault that a source's publisher can have in the sandbox. Those of companies and prices are not in All: they can
// be late, malformed and away, as every publisher can.
func FaultsOf(source string) []string {
	kinds := []string{world.Late, world.Malformed, world.Unavailable}
	for _, p := range publishers {
		if slices.ContainsFunc(p.sources(config.Upstreams{}), func(s ingest.Source) bool { return s.ID == source }) {
			kinds = append(kinds, p.faults...)
		}
	}
	return kinds
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
