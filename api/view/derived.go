package view

import "tidemark/signals"

// Derived returns a snapshot as a server at a public address states it: its addresses, level, environment, disclaimer and JSON-LD follow from
// the definition and from the other members. The days that the JSON-LD covers stay as they are, because a snapshot does not state its first day.
func Derived(d signals.Definition, s SignalSnapshot, public string) SignalSnapshot {
	o := Options{PublicURL: public, World: WorldLive}
	switch {
	case s.Synthetic:
		o.World = WorldSandbox
	case s.Environment != o.environment():
		o.World = WorldReplay
	}
	covers := s.JSONLD.TemporalCoverage
	s.BriefURL, s.PageURL, s.HistoryURL = o.briefURL(d.ID), o.pageURL(d.ID), o.historyURL(d.ID)
	s.Provenance.URL = o.inputsURL(d.ID, s.AsOf)
	s.UncertaintyLevel, s.Environment, s.Disclaimer = signals.Level, o.environment(), o.disclaimer(s.Synthetic)
	s.JSONLD = o.dataset(d, s)
	s.JSONLD.TemporalCoverage = covers
	return s
}

// PageAddress returns the part of the address of a signal's page that follows the server's own address.
func PageAddress(id string) string { return Options{}.pageURL(id) }

// RawAddress returns the part of the address of an archived body that follows the server's own address.
func RawAddress(sha256 string) string { return "/raw/" + sha256 }
