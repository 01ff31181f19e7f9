// Package portwatch reads the daily transits of the Strait of Hormuz from IMF PortWatch. PortWatch counts ships from their radio signals,
// and publishes the counts of all days once a week as a layer of an ArcGIS feature service. Source declares the source: a request for the
// number of days, then pages of days (chain.go, page.go). Sandbox answers with synthetic figures, and Answer writes the service's
// responses around given figures.
package portwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	layerHost = "services9.arcgis.com"
	queryPath = "/weJ1QsnbMYJlCHdG/arcgis/rest/services/Daily_Chokepoints_Data/FeatureServer/0/query"
	// chokepoint is the id of the Strait of Hormuz.
	chokepoint = "chokepoint6"
)

// measure is one series: an attribute of each day.
type measure struct {
	field, name, unit string
	of                func(*attributes) json.RawMessage
}

const (
	transits = "Transits per day"
	tons     = "Metric tons per day"
)

// maxima bound a day's values: six times the busiest day of 2019 to 2026, which had 157 ships, and a dozen times the largest tonnage of a
// day, 7.5 million.
var maxima = map[string]float64{transits: 1000, tons: 100e6}

// measures are the series that are read, all ships first and tankers second. The layer has more: the other classes' capacities,
// and the sums of all but tankers.
var measures = []measure{
	{"n_total", "Strait of Hormuz, transits of all ships", transits, func(a *attributes) json.RawMessage { return a.Total }},
	{"n_tanker", "Strait of Hormuz, transits of tankers", transits, func(a *attributes) json.RawMessage { return a.Tanker }},
	{"n_container", "Strait of Hormuz, transits of container ships", transits, func(a *attributes) json.RawMessage { return a.Container }},
	{"n_dry_bulk", "Strait of Hormuz, transits of dry bulk carriers", transits, func(a *attributes) json.RawMessage { return a.DryBulk }},
	{"n_general_cargo", "Strait of Hormuz, transits of general cargo ships", transits, func(a *attributes) json.RawMessage { return a.GeneralCargo }},
	{"n_roro", "Strait of Hormuz, transits of roll-on/roll-off ships", transits, func(a *attributes) json.RawMessage { return a.RoRo }},
	{"capacity_tanker", "Strait of Hormuz, estimated cargo carried by tankers", tons, func(a *attributes) json.RawMessage { return a.CapacityTanker }},
	{"capacity", "Strait of Hormuz, estimated cargo carried by all ships", tons, func(a *attributes) json.RawMessage { return a.Capacity }},
}

func (m measure) series() series.ID { return series.ID("portwatch." + chokepoint + "." + m.field) }

// Source declares the daily transits of the Strait of Hormuz and their estimated cargo, from 2019 on. Days are days of UTC. A ship that
// passes twice within 48 hours is one transit; zero is a valid count.
//
// A release may estimate the whole history again, so the whole layer is read each time. It comes on Tuesday and holds the days to the
// Sunday before. While it is being loaded, the service may have no days at all for hours, so it is requested again in the evening and on
// Wednesday. The next release replaces it, and no other archive keeps it. So it is requested on Friday and Monday, too, in case that it was
// late or that the service did not answer for days.
func Source() ingest.Source {
	s := ingest.Source{
		ID:           "portwatch-hormuz",
		Name:         "IMF PortWatch, daily transits of the Strait of Hormuz",
		Publisher:    "International Monetary Fund",
		License:      "IMF terms of use (https://www.imf.org/external/terms.htm): free for non-commercial and research use, other use needs the IMF's permission. Attribution: IMF PortWatch (portwatch.imf.org).",
		TermsSetting: "PORTWATCH_LICENSE_ACK",
		HomeURL:      "https://portwatch.imf.org",
		Reestimates:  true,
		Cadence:      series.Cadence{Cron: "45 9,17 * * MON,TUE,WED,FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval:     2 * time.Second, // the service has a quota that all its clients share
			Timeout:      time.Minute,
			MaxBytes:     8 << 20,
			ContentTypes: []string{"application/json", "text/plain"},
			Pages:        30,
		},
		Request: func(series.Window) ([]ingest.Request, error) {
			return []ingest.Request{{URL: countURL()}}, nil
		},
		Parse:  parse,
		Locate: locate,
	}
	for _, m := range measures {
		s.Series = append(s.Series, series.Info{
			ID: m.series(), Name: m.name, Unit: m.unit, Frequency: "daily", Published: published, Min: new(0.0), Max: new(maxima[m.unit]),
		})
	}
	return s
}

// parse reads an answer of either form.
func parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, errors.New("parse a portwatch answer: its address is not one")
	}
	q := u.Query()
	switch {
	case u.Host != layerHost || u.Path != queryPath || q.Get("where") != where:
		return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: the transits of %s are not there", u.Host, u.Path, chokepoint)
	case q.Get("returnCountOnly") == "true":
		return parseCount(r.Body)
	}
	return parsePage(q, r)
}
