// Package bls reads macro figures of the United States from the public data API of the Bureau of Labor Statistics, their publisher. It
// reads the figures that the package fred does not have. Source declares the source. Sandbox answers with synthetic figures.
//
// Consumer prices, payrolls and the unemployment rate are the Bureau's too. They are read from FRED, which keeps their first prints; this
// API has the present state only.
package bls

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	host = "api.bls.gov"
	// path is the path of the version without a key: at most 25 requests a day, 25 series and ten years a request.
	path = "/publicAPI/v1/timeseries/data/"
	// maxYears is how many years one question may be about.
	maxYears = 10
)

// figure is one series as the Bureau has it.
type figure struct {
	id, name, unit string
	published      func(month time.Time) time.Time
	// min and max bound what can be true, well beyond what was seen since 2005 and on this side of any other unit.
	min, max float64
}

func (f figure) series() series.ID { return series.ID("bls." + f.id) }

var figures = []figure{
	{"CUSR0000SA0L1E", "Consumer prices without food and energy, seasonally adjusted", "Index 1982-1984=100", pricesPublished, 150, 1500},
	{"CES0500000003", "Average hourly earnings, all private employees, seasonally adjusted", "Dollars per Hour", employmentPublished, 10, 500},
	{"WPSFD4", "Producer prices of final demand, seasonally adjusted", "Index November 2009=100", producerPublished, 80, 800},
	{"JTS000000000000000JOL", "Job openings, total nonfarm, seasonally adjusted", "Thousands", openingsPublished, 500, 50_000},
}

// Source declares the figures. Two questions a weekday, each about all series at once, stay far below what is allowed without a key. The
// first run reads the last three years and the ten before; a later one two years, which hold all that is revised but once a year.
func Source() ingest.Source {
	s := ingest.Source{
		ID:          "bls-releases",
		Name:        "Core prices, earnings, producer prices and job openings",
		Publisher:   "U.S. Bureau of Labor Statistics",
		License:     "U.S. Bureau of Labor Statistics, public domain as a work of the U.S. government. BLS.gov cannot vouch for the data or analyses derived from these data after the data have been retrieved from BLS.gov.",
		HomeURL:     "https://www.bls.gov/developers/",
		Reestimates: true,
		// After the releases of 8:30 and of 10:00.
		Cadence: series.Cadence{Cron: "45 8,10 * * TUE-FRI", Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval:     2 * time.Second,
			Timeout:      time.Minute,
			MaxBytes:     4 << 20,
			ContentTypes: []string{"application/json"},
			Pages:        2,
		},
		Window: func(slot, _ time.Time) series.Window {
			year := slot.In(ingest.NewYork()).Year()
			return series.Window{From: firstDay(year - 1), To: firstDay(year+1).AddDate(0, 0, -1)}
		},
		Request: func(w series.Window) ([]ingest.Request, error) {
			if w == (series.Window{}) {
				return []ingest.Request{*ask(0, 0)}, nil
			}
			first, last := w.From.UTC().Year(), w.To.UTC().Year()
			if w.To.IsZero() {
				last = first + maxYears - 1
			}
			var list []ingest.Request
			for last-first >= maxYears {
				list = append(list, *ask(first, first+maxYears-1))
				first += maxYears
			}
			return append(list, *ask(first, last)), nil
		},
		Parse: parse,
	}
	for _, f := range figures {
		s.Series = append(s.Series, series.Info{
			ID: f.series(), Name: f.name, Unit: f.unit, Frequency: "monthly", Published: f.published, Min: &f.min, Max: &f.max,
		})
	}
	return s
}

func firstDay(year int) time.Time { return time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC) }

// fetchRequest is the body of a request. Without years the API answers with the last three.
type fetchRequest struct {
	Series []string `json:"seriesid"`
	First  string   `json:"startyear,omitempty"`
	Last   string   `json:"endyear,omitempty"`
}

// ask asks for all figures of some years; zero: the last three.
func ask(first, last int) *ingest.Request {
	var q fetchRequest
	for _, f := range figures {
		q.Series = append(q.Series, f.id)
	}
	if first > 0 {
		q.First, q.Last = strconv.Itoa(first), strconv.Itoa(last)
	}
	body, err := json.Marshal(q)
	if err != nil {
		panic(fmt.Sprintf("bls: a list of words has no JSON: %v", err))
	}
	return &ingest.Request{
		Method: http.MethodPost, URL: "https://" + host + path, Header: http.Header{"Content-Type": {"application/json"}}, Body: body,
	}
}
