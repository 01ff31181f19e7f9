// Package fred reads the macro figures of the United States: employment, consumer prices, output, production and jobless claims. They come
// from FRED and ALFRED, the databases of the Federal Reserve Bank of St. Louis. Sources declares one source for each statistical release.
// Each has two forms that return the same series. The file behind a public graph (csv.go) needs no key and has only the present state. The
// API (api.go) needs a key and also has the first prints and revisions. Sandbox answers in both forms with synthetic figures.
package fred

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	graphHost = "fred.stlouisfed.org"
	graphPath = "/graph/fredgraph.csv"
	apiHost   = "api.stlouisfed.org"
	apiPath   = "/fred/series/observations"
)

// begin is the first date that is asked for. It leaves more than the sixty prints that a surprise is measured against, of quarterly
// figures too.
var begin = time.Date(2005, time.January, 1, 0, 0, 0, 0, time.UTC)

// figure is one series as FRED has it.
type figure struct {
	id, name, unit string
	// frequency as series.Info names it.
	frequency string
	// min and max bound what can be true: well beyond what was seen since 2005, the spring of 2020 included, and on this side of any
	// other unit.
	min, max float64
}

func (f figure) series() series.ID { return series.ID("fred." + f.id) }

// release is the content of one Source: figures that are published together.
type release struct {
	id, name, publisher, home string
	cron                      string
	clock                     clockTime
	published                 func(observedAt time.Time) time.Time
	figures                   []figure
}

// releases are asked on every weekday on which they have come before, not long after their time: dates move with holidays, and
// moved by weeks in the shutdown of 2025.
var releases = []release{
	{
		id: "fred-employment", name: "Employment Situation", publisher: "U.S. Bureau of Labor Statistics",
		home: "https://www.bls.gov/ces/", cron: "15 9,11 * * WED-FRI", clock: morning, published: employmentPublished,
		figures: []figure{
			{"PAYEMS", "All Employees, Total Nonfarm", "Thousands of Persons", "monthly", 80_000, 400_000},
			{"UNRATE", "Unemployment Rate", "Percent", "monthly", 0, 40},
		},
	},
	{
		id: "fred-cpi", name: "Consumer Price Index", publisher: "U.S. Bureau of Labor Statistics",
		home: "https://www.bls.gov/cpi/", cron: "15 9,11 * * TUE-FRI", clock: morning, published: cpiPublished,
		figures: []figure{
			{"CPIAUCSL", "Consumer Price Index for All Urban Consumers: All Items in U.S. City Average", "Index 1982-1984=100", "monthly", 150, 1500},
		},
	},
	{
		id: "fred-gdp", name: "Gross Domestic Product", publisher: "U.S. Bureau of Economic Analysis",
		home: "https://www.bea.gov/data/gdp/gross-domestic-product", cron: "15 11 * * TUE-FRI", clock: morning, published: gdpPublished,
		figures: []figure{
			{"A191RL1Q225SBEA", "Real Gross Domestic Product", "Percent Change from Preceding Period, Annual Rate", "quarterly", -60, 80},
		},
	},
	{
		id: "fred-industrial-production", name: "G.17 Industrial Production and Capacity Utilization",
		publisher: "Board of Governors of the Federal Reserve System", home: "https://www.federalreserve.gov/releases/g17/",
		cron: "15 11 * * TUE-FRI", clock: production, published: productionPublished,
		figures: []figure{
			{"INDPRO", "Industrial Production: Total Index", "Index 2017=100", "monthly", 30, 300},
		},
	},
	{
		id: "fred-jobless-claims", name: "Unemployment Insurance Weekly Claims Report", publisher: "U.S. Employment and Training Administration",
		home: "https://www.dol.gov/ui/data.pdf", cron: "15 11 * * WED-FRI", clock: morning, published: claimsPublished,
		figures: []figure{
			{"ICSA", "Initial Claims", "Number", "weekly", 20_000, 20_000_000},
		},
	},
}

// Sources declares one source for each release. With an empty key it requests the file behind the public graph, otherwise the API. Parse
// reads responses of both forms with any key, so that an archive outlives a change of settings.
//
// The first response of the API has all vintages since 2005, so that each figure's first print is known. Without a key the history is the
// present one, assumed to have been known at the release of its period; later revisions are recorded as they come. Seasonal factors are
// estimated again once a year, and benchmarks change whole histories: such a release is not held for review.
func Sources(apiKey string) []ingest.Source {
	list := make([]ingest.Source, len(releases))
	for i, r := range releases {
		list[i] = r.source(apiKey)
	}
	return list
}

func (r release) source(apiKey string) ingest.Source {
	s := ingest.Source{
		ID:          r.id,
		Name:        r.name + ", as FRED has it",
		Publisher:   r.publisher,
		License:     r.publisher + ", public domain as a work of the U.S. government, retrieved from FRED, Federal Reserve Bank of St. Louis. This product uses the FRED API but is not endorsed or certified by the Federal Reserve Bank of St. Louis.",
		HomeURL:     r.home,
		Reestimates: true,
		Cadence:     series.Cadence{Cron: r.cron, Zone: ingest.NewYorkZone, CatchUp: series.CatchUpLatest},
		Limits: ingest.Limits{
			Interval: time.Second,
			Timeout:  time.Minute,
			MaxBytes: 16 << 20,
			ContentTypes: []string{
				"text/csv", "application/csv", "text/plain", "application/octet-stream", "application/vnd.ms-excel", "application/json",
			},
			Pages: 1,
		},
		// The whole history, by its bounds: the vintages belong to the first answer only.
		Window:  func(time.Time, time.Time) series.Window { return series.Window{From: begin} },
		Request: func(w series.Window) ([]ingest.Request, error) { return r.graphRequests(w), nil },
		Parse:   r.parse,
	}
	if apiKey != "" {
		s.Request = func(w series.Window) ([]ingest.Request, error) { return r.apiRequests(apiKey, w), nil }
	}
	for _, f := range r.figures {
		s.Series = append(s.Series, series.Info{
			ID: f.series(), Name: f.name, Unit: f.unit, Frequency: f.frequency, Published: r.published, Min: &f.min, Max: &f.max,
		})
	}
	return s
}

// parse reads an answer of either form.
func (r release) parse(a ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(a.Request.URL)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse an answer to %s: its address is not one", r.id) // it may hold a key
	}
	q := u.Query()
	var batch ingest.Batch
	switch {
	case u.Host == graphHost && u.Path == graphPath:
		batch, err = r.parseGraph(q, a.Body)
	case u.Host == apiHost && u.Path == apiPath:
		batch, err = r.parseAPI(q, a)
	default:
		return ingest.Batch{}, fmt.Errorf("parse an answer of %s%s: %s is not asked there", u.Host, u.Path, r.id)
	}
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse fred answer: %w", err)
	}
	return batch, nil
}

// figure finds a figure of the release by FRED's id.
func (r release) figure(id string) (figure, error) {
	for _, f := range r.figures {
		if f.id == id {
			return f, nil
		}
	}
	return figure{}, fmt.Errorf("%q is not a series of %s", id, r.id)
}

// missing is FRED's sign for a period without a value. The graph's file leaves the cell empty for the same.
const missing = "."

// row is one value as either form states it.
type row struct{ date, value string }

// readings reads rows, which must ascend and fit the figure's periods.
func (f figure) readings(rows []row) ([]series.Reading, error) {
	list := make([]series.Reading, len(rows))
	for i, row := range rows {
		r, err := f.reading(row)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: row %d: %w", f.id, i+1, err)
		case i > 0 && !r.ObservedAt.After(list[i-1].ObservedAt):
			return nil, fmt.Errorf("%s: row %d: %s does not follow %s", f.id, i+1, row.date, rows[i-1].date)
		}
		list[i] = r
	}
	return list, nil
}

func (f figure) reading(r row) (series.Reading, error) {
	day, err := time.Parse(time.DateOnly, r.date)
	if err != nil || !day.After(time.Time{}) { // The zero time means no date, and no figure is older.
		return series.Reading{}, fmt.Errorf("%.40q is not a date", r.date)
	}
	if !f.begins(day) {
		return series.Reading{}, fmt.Errorf("%s is not a date of a figure that is %s", r.date, f.frequency)
	}
	reading := series.Reading{Series: f.series(), ObservedAt: day}
	if r.value == "" || r.value == missing {
		reading.Marker = missing
		return reading, nil
	}
	if reading.Value, err = ingest.Decimal(r.value); err != nil {
		return series.Reading{}, fmt.Errorf("%s: %w", r.date, err)
	}
	return reading, nil
}

// begins reports whether a period of the figure can be dated with a day: the first of a month or quarter, the Saturday that ends a week.
func (f figure) begins(day time.Time) bool {
	switch f.frequency {
	case "weekly":
		return day.Weekday() == time.Saturday
	case "quarterly":
		return day.Day() == 1 && (day.Month()-1)%3 == 0
	default:
		return day.Day() == 1
	}
}

var errNoRows = errors.New("no rows: FRED knows no such series, or it has ended")
