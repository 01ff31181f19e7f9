package picks

import (
	"time"

	"tidemark/internal/series"
)

// The series with the lower end of the target range and the votes of each meeting.
const (
	rateLower   series.ID = "fed.FOMC.LOWER"
	rateFor     series.ID = "fed.FOMC.FOR"
	rateAgainst series.ID = "fed.FOMC.AGAINST"
)

// fomc is the indicator whose decisions are a range, with votes.
const fomc = "fomc"

// Inputs lists the series that the indicator's events are made of, its own first.
func (def Indicator) Inputs() []series.ID {
	if def.ID == fomc {
		return []series.ID{def.Series, rateLower, rateFor, rateAgainst}
	}
	return []series.ID{def.Series}
}

// Events turns all observations of the indicator's inputs into events, in ascending period: the first prints with their surprises. For a
// decision of the Federal Reserve it adds the lower end of the target range and the votes, each as first published. A decision whose
// votes are unknown has none.
func (def Indicator) Events(observations []series.Observation) []EconomicEvent {
	events := Surprises(def, FirstPrints(def, observations))
	if def.ID != fomc {
		return events
	}
	type told struct {
		id     series.ID
		period time.Time
	}
	first := map[told]series.Observation{}
	for _, o := range observations {
		key := told{o.Series, o.ObservedAt}
		if was, ok := first[key]; o.Marker == "" && (!ok || o.VintageAt.Before(was.VintageAt)) {
			first[key] = o
		}
	}
	for i, e := range events {
		value := func(id series.ID) float64 { return first[told{id, e.Print.Period}].Value }
		events[i] = e.WithVote(value(rateLower), int(value(rateFor)), int(value(rateAgainst)))
	}
	return events
}
