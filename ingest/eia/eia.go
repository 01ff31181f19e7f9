// Package eia reads the petroleum figures of the U.S. Energy Information Administration: daily spot prices and the weekly
// stocks. Spot and Weekly declare the two upstream jobs. Each has two forms that yield the same series: the public history
// pages (page.go), which need no key, and the API v2 (api.go), which needs one. Sandbox answers in both forms with synthetic
// figures, and Page writes a history page around figures that one has.
package eia

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	pageHost = "www.eia.gov"
	pagePath = "/dnav/pet/hist/LeafHandler.ashx"
	apiHost  = "api.eia.gov"
)

// history is one series as EIA publishes it.
type history struct {
	// id is EIA's, without the wrapping of the old API: RWTC, not PET.RWTC.D.
	id string
	// name and unit are from the page's title and the API's series-description.
	name, unit string
	// code is the API's short form of the unit.
	code string
	// route is the API's path to the series.
	route string
	// decimals is how many are printed.
	decimals int
	// min and max bound what can be true, for series.Info: well beyond what was recorded since the 1980s, and on this side of any
	// other unit. Prices may fall below zero: crude oil was at -36.98 on 2020-04-20, its highest was 145.31.
	min, max float64
}

func (h history) series() series.ID { return series.ID("eia." + h.id) }

// group is the content of one Source: series of one frequency that are released together.
type group struct {
	id, name, license, home string
	// open reports whether no third party has rights in the data.
	open bool
	// frequency as series.Info and the API name it; letter is the page's.
	frequency, letter string
	cadence           series.Cadence
	published         func(observedAt time.Time) time.Time
	histories         []history
}

// spot is released once a week: the values of a week appear on the Wednesday after its Monday. The page is asked twice on
// every working day, because a release may be late and a withdrawn row is seen only by looking.
var spot = group{
	id:        "eia-petroleum-spot",
	name:      "EIA petroleum spot prices, daily",
	license:   "EIA, public domain; spot assessments supplied to EIA by a third party (marked Thomson-Reuters, now LSEG). Attribution: Source: U.S. Energy Information Administration, with the date.",
	home:      "https://www.eia.gov/dnav/pet/pet_pri_spt_s1_d.htm",
	frequency: "daily",
	letter:    "D",
	cadence:   series.Cadence{Cron: "15 11,18 * * MON-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
	published: spotPublished,
	histories: []history{
		{
			id: "RWTC", name: "Cushing, OK WTI Spot Price FOB",
			unit: "Dollars per Barrel", code: "$/BBL", route: "petroleum/pri/spt", decimals: 2, min: -100, max: 500,
		},
		{
			id: "EER_EPMRU_PF4_Y35NY_DPG", name: "New York Harbor Conventional Gasoline Regular Spot Price FOB",
			unit: "Dollars per Gallon", code: "$/GAL", route: "petroleum/pri/spt", decimals: 3, min: -1, max: 25,
		},
		{
			id: "EER_EPD2DXL0_PF4_Y35NY_DPG", name: "New York Harbor Ultra-Low Sulfur No 2 Diesel Spot Price",
			unit: "Dollars per Gallon", code: "$/GAL", route: "petroleum/pri/spt", decimals: 3, min: -1, max: 25,
		},
	},
}

// weekly is the weekly petroleum status report. It is due on Wednesday at 10:30, after a holiday on Thursday and at another hour, so it
// is requested several times until Friday.
var weekly = group{
	id:        "eia-petroleum-weekly",
	name:      "EIA weekly petroleum stocks and refinery utilization",
	license:   "EIA, public domain. Attribution: Source: U.S. Energy Information Administration, with the date.",
	open:      true,
	home:      "https://www.eia.gov/petroleum/supply/weekly/",
	frequency: "weekly",
	letter:    "W",
	cadence:   series.Cadence{Cron: "35 10,11,12,17 * * WED-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
	published: weeklyPublished,
	histories: []history{
		{
			id: "WCESTUS1", name: "U.S. Ending Stocks excluding SPR of Crude Oil",
			unit: "Thousand Barrels", code: "MBBL", route: "petroleum/stoc/wstk", min: 100_000, max: 1_200_000,
		},
		{
			id: "WGTSTUS1", name: "U.S. Ending Stocks of Total Gasoline",
			unit: "Thousand Barrels", code: "MBBL", route: "petroleum/stoc/wstk", min: 80_000, max: 600_000,
		},
		{
			id: "WDISTUS1", name: "U.S. Ending Stocks of Distillate Fuel Oil",
			unit: "Thousand Barrels", code: "MBBL", route: "petroleum/stoc/wstk", min: 40_000, max: 400_000,
		},
		{
			id: "WPULEUS3", name: "U.S. Percent Utilization of Refinery Operable Capacity",
			unit: "Percent", code: "%", route: "petroleum/pnp/wiup", decimals: 1, min: 20, max: 110,
		},
	},
}

// Spot declares the daily spot prices of crude oil (WTI, Cushing), gasoline and diesel (both New York Harbor). With an empty key the
// history pages are requested, otherwise the API. With any key, Parse reads the responses of both forms and both their media types are
// allowed, so that an archive outlives a change of settings.
func Spot(apiKey string) ingest.Source { return spot.source(apiKey) }

// Weekly declares the weekly stocks of crude oil, gasoline and distillate, and the refineries' utilization. The key is as
// Spot's.
func Weekly(apiKey string) ingest.Source { return weekly.source(apiKey) }

func (g group) source(apiKey string) ingest.Source {
	s := ingest.Source{
		ID:              g.id,
		Name:            g.name,
		Publisher:       "U.S. Energy Information Administration",
		License:         g.license,
		Redistributable: g.open,
		HomeURL:         g.home,
		Cadence:         g.cadence,
		Limits: ingest.Limits{
			Interval:     time.Second,
			Timeout:      time.Minute,
			MaxBytes:     8 << 20,
			ContentTypes: []string{"text/html", "application/json"},
		},
		Request: g.pageRequests,
		Epoch:   ingest.Timeless,
		Parse:   g.parse,
		Locate:  g.locate,
	}
	if apiKey != "" {
		s.Request = func(w series.Window) ([]ingest.Request, error) { return g.apiRequests(apiKey, w) }
	}
	for _, h := range g.histories {
		s.Series = append(s.Series, series.Info{
			ID: h.series(), Name: h.name, Unit: h.unit, Frequency: g.frequency, Published: g.published, Min: &h.min, Max: &h.max,
		})
	}
	return s
}

// parse reads an answer of either form.
func (g group) parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse an answer to %s: its address is not one", g.id) // it may hold a key
	}
	switch {
	case u.Host == pageHost && u.Path == pagePath:
		return g.parsePage(u.Query(), r)
	case u.Host == apiHost:
		return g.parseAPI(u, r)
	}
	return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: %s asks for no such page", u.Host, u.Path, g.id)
}

// history finds a series of the group by EIA's id, in any case of letters.
func (g group) history(id string) (history, error) {
	for _, h := range g.histories {
		if strings.EqualFold(h.id, id) {
			return h, nil
		}
	}
	return history{}, fmt.Errorf("%q is not a series of %s", id, g.id)
}

// find looks a series up in both groups.
func find(id series.ID) (group, history, error) {
	for _, g := range []group{spot, weekly} {
		if h, err := g.history(strings.TrimPrefix(string(id), "eia.")); err == nil && h.series() == id {
			return g, h, nil
		}
	}
	return group{}, history{}, fmt.Errorf("%q is not a series of EIA that is known here", id)
}
