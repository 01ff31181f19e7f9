// Package temis reads monthly means of nitrogen dioxide in the lower atmosphere. The TROPOMI instrument on Sentinel-5P measures it, and
// KNMI publishes it at TEMIS: one grid of the world a month. Source declares the source. The grid is read as a stream (grid.go), and only
// the mean columns over eight industrial regions are kept (region.go). Sandbox answers with synthetic grids in the same layout, and Grid
// writes one.
package temis

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const host = "d1qb6yzwaaq4he.cloudfront.net"

// firstMonth is the first of the operational mission. Grids of the three months before exist, from the time of its commissioning.
var firstMonth = time.Date(2018, time.May, 1, 0, 0, 0, 0, time.UTC)

// versionSeries states the product version of each month's grid.
const versionSeries series.ID = "temis.NO2.version"

// maxGap is how many months in a row the publisher may lack. The satellite has stood still for weeks.
const maxGap = 2

// minColumn and maxColumn bound a region's mean, in micromoles per square metre. Means of a week over single cities were between -16
// (noise over clean air, Riga) and 668 (Beijing) in 2019 and 2020; a region's month varies far less.
const minColumn, maxColumn = -30.0, 1500.0

// gone are the statuses of a grid that is not there: 404, and 403 because a store that does not let itself be listed says so.
var gone = []int{http.StatusForbidden, http.StatusNotFound}

// Source declares the mean columns over the regions, in micromoles per square metre, and the product version of each. An observation is
// about a month and dated its first day. If too many cells of a region are undefined in a month, its value is the marker "undef" instead
// of a number.
//
// There is no index of the grids. They are requested in order, each after the one before, up to the last month that was over at the time
// of the response. A missing or empty grid is skipped; the newest months are often missing. A scheduled run reads the last few months
// again. The first run of a quarter reads all of them, because the publisher replaces the whole history when the processor changes; it
// mostly confirms them as unchanged.
//
// Every value is kept as published, in any version. Months may only be compared if they have the same version (the number before the
// point). The series of versions exists for that.
func Source() ingest.Source {
	s := ingest.Source{
		ID:              "temis-no2",
		Name:            "TROPOMI tropospheric NO2 over industrial regions, monthly means",
		Publisher:       "Royal Netherlands Meteorological Institute (KNMI), TEMIS",
		License:         "Free to use with acknowledgement of KNMI, ESA and Copernicus. Contains modified Copernicus Sentinel data (2018 to now), processed by KNMI. The columns were averaged over regions.",
		Redistributable: true,
		HomeURL:         "https://www.temis.nl/airpollution/no2col/no2month_tropomi.php",
		Cadence:         series.Cadence{Cron: "40 10 5,10,15,20,25 * *", Zone: zoneName, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval: time.Second,
			Timeout:  2 * time.Minute,
			MaxBytes: maxText, // 3.5 MB compressed; a server may send it as compressed text, which arrives unpacked
			ContentTypes: []string{
				"application/x-gzip", "application/gzip", "application/octet-stream", "binary/octet-stream", "text/plain",
			},
			Pages: 12 * 50,
		},
		Request: requests,
		Window:  window,
		Epoch:   func(at time.Time) string { return lastMonth(at).String() },
		Parse:   parse,
		Locate:  locate,
	}
	for _, r := range regions {
		s.Series = append(s.Series, series.Info{
			ID: r.id, Name: "Tropospheric NO2, monthly mean column: " + r.title, Unit: "umol/m2", Frequency: "monthly", Published: published,
			Min: new(minColumn), Max: new(maxColumn), Rounding: rounding,
		})
	}
	s.Series = append(s.Series, series.Info{
		ID: versionSeries, Name: "Tropospheric NO2: version of the month's product",
		Unit: "version number, hundredths after the point", Frequency: "monthly", Published: published,
		Min: new(1.0), Max: new(50.0),
	})
	return s
}

// GridURL is the address of a month's grid.
func GridURL(month time.Time) string {
	year, m, _ := month.UTC().Date()
	return fmt.Sprintf("https://%s/tropomi/no2/%04d/%02d/no2_%04d%02d.asc.gz", host, year, m, year, m)
}

var gridPath = regexp.MustCompile(`^/tropomi/no2/(\d{4})/(\d{2})/no2_(\d{4})(\d{2})\.asc\.gz$`)

// monthOf reads the month in the path of a grid's address.
func monthOf(path string) (month time.Time, ok bool) {
	m := gridPath.FindStringSubmatch(path)
	if m == nil || m[1] != m[3] || m[2] != m[4] {
		return time.Time{}, false
	}
	month, err := time.Parse("2006 01", m[1]+" "+m[2])
	return month, err == nil
}

// requests asks for the first month of a window. The others follow it, also those after the window's end.
func requests(w series.Window) ([]ingest.Request, error) {
	if !w.From.After(firstMonth) {
		return []ingest.Request{{URL: GridURL(firstMonth)}}, nil
	}
	from := time.Date(w.From.UTC().Year(), w.From.UTC().Month(), 1, 0, 0, 0, 0, time.UTC)
	return []ingest.Request{*ask(from, from.AddDate(0, maxGap, 0), 0)}, nil
}

// ask builds the request for a month after gap missing ones. In its place the next one is asked, up to the last, but never more than
// maxGap in a row among months that should have been there long since.
func ask(month, last time.Time, gap int) *ingest.Request {
	if month.After(last) {
		return nil
	}
	r := &ingest.Request{URL: GridURL(month)}
	if recent := !month.AddDate(0, late, 0).Before(last); gap < maxGap || recent {
		r.Absent, r.Else = gone, ask(month.AddDate(0, 1, 0), last, gap+1)
	}
	return r
}

// window is ingest.Source's: all months in the first run of a quarter, otherwise the newest known one and the two before.
func window(slot, newest time.Time) series.Window {
	if slot.Day() <= 5 && slot.Month()%3 == 1 {
		return series.Window{}
	}
	return series.Window{From: newest.AddDate(0, -2, 0)}
}

// parse reads the grid of a month.
func parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, errors.New("parse a grid of temis: its address is not one")
	}
	month, ok := monthOf(u.Path)
	if !ok || u.Host != host {
		return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: temis has no grid there", u.Host, u.Path)
	}
	last := lastMonth(r.FetchedAt)
	if len(r.Body) == 0 { // as good as not there
		return ingest.Batch{Next: ask(month.AddDate(0, 1, 0), last, 1)}, nil
	}
	found, err := readGrid(r.Body, month)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the grid of %s: %w", month.Format("2006-01"), err)
	}
	batch := ingest.Batch{Next: ask(month.AddDate(0, 1, 0), last, 0)}
	for i, region := range regions {
		reading := ingest.Reading{Series: region.id, ObservedAt: month}
		if mean, ok := found.means[i].value(); ok {
			reading.Value = mean
		} else {
			reading.Marker = markerUndefined
		}
		batch.Readings = append(batch.Readings, reading)
	}
	batch.Readings = append(batch.Readings, ingest.Reading{Series: versionSeries, ObservedAt: month, Value: found.version})
	return batch, nil
}
