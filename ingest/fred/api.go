package fred

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	// apiLimit is the most rows that the API gives. All vintages since 2005 of the figure with the most of them, weekly claims, are a
	// tenth of that.
	apiLimit = 100_000
	// forever is the last date of FRED's calendar: an open end.
	forever = "9999-12-31"
)

// apiRequests asks for each figure: of the whole history for all of its vintages, of a window for the present state.
func (r release) apiRequests(key string, w series.Window) []ingest.Request {
	requests := make([]ingest.Request, len(r.figures))
	for i, f := range r.figures {
		q := url.Values{
			"series_id": {f.id}, "api_key": {key}, "file_type": {"json"}, "limit": {strconv.Itoa(apiLimit)},
			"observation_start": {from(w).Format(time.DateOnly)},
		}
		if !w.To.IsZero() {
			q.Set("observation_end", w.To.UTC().Format(time.DateOnly))
		}
		if w == (series.Window{}) {
			q.Set("realtime_start", begin.Format(time.DateOnly))
			q.Set("realtime_end", forever)
		}
		requests[i] = ingest.Request{
			URL:    (&url.URL{Scheme: "https", Host: apiHost, Path: apiPath, RawQuery: q.Encode()}).String(),
			Secret: []string{"api_key"},
		}
	}
	return requests
}

// apiAnswer is the part of an answer that is read.
type apiAnswer struct {
	RealtimeEnd  string   `json:"realtime_end"`
	Units        string   `json:"units"`
	Count        *int     `json:"count"`
	Offset       int      `json:"offset"`
	Observations []apiRow `json:"observations"`
}

// apiRow is a value and the days, both included, on which the database showed it.
type apiRow struct {
	RealtimeStart string `json:"realtime_start"`
	RealtimeEnd   string `json:"realtime_end"`
	Date          string `json:"date"`
	Value         string `json:"value"`
}

// parseAPI reads the observations of a figure, in ascending dates. Where all vintages were asked for, each date has a row for every
// value that it ever had; the last of them is the present one.
func (r release) parseAPI(q url.Values, a ingest.Response) (ingest.Batch, error) {
	f, err := r.figure(q.Get("series_id"))
	if err != nil {
		return ingest.Batch{}, err
	}
	var answer apiAnswer
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return ingest.Batch{}, fmt.Errorf("%s: want a JSON object: %w", f.id, err)
	}
	switch rows := len(answer.Observations); {
	case answer.Count == nil || answer.Observations == nil:
		return ingest.Batch{}, fmt.Errorf("%s: no members count and observations", f.id)
	case answer.Units != "" && answer.Units != "lin":
		return ingest.Batch{}, fmt.Errorf("%s: units are %q, want lin", f.id, answer.Units)
	case *answer.Count != rows || answer.Offset != 0:
		return ingest.Batch{}, fmt.Errorf("%s: %d rows from offset %d of %d, want all", f.id, rows, answer.Offset, *answer.Count)
	}
	if q.Get("realtime_start") == "" {
		rows := make([]row, len(answer.Observations))
		for i, o := range answer.Observations {
			rows[i] = row{o.Date, o.Value}
		}
		return f.batch(rows, q.Get("observation_start"), q.Get("observation_end"))
	}
	vintages, present, err := r.vintages(f, answer, a.FetchedAt)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("%s: %w", f.id, err)
	}
	batch, err := f.batch(present, q.Get("observation_start"), "")
	if err != nil {
		return ingest.Batch{}, err
	}
	batch.Vintages = vintages
	return batch, nil
}

// vintages reads rows with their days of validity: each value with the time at which it became known, and the present values. A day
// becomes the instant of the release on it, which ALFRED's dates leave out. A value of today became known at the latest when it was
// fetched. If a value's days end and no other's begin, it was withdrawn.
func (r release) vintages(f figure, answer apiAnswer, fetchedAt time.Time) (all []series.Observation, present []row, err error) {
	known := func(day time.Time) time.Time {
		if at := r.clock.on(day); at.Before(fetchedAt) {
			return at
		}
		return fetchedAt
	}
	for i, o := range answer.Observations {
		reading, err := f.reading(row{o.Date, o.Value})
		if err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		since, serr := time.Parse(time.DateOnly, o.RealtimeStart)
		until, uerr := time.Parse(time.DateOnly, o.RealtimeEnd)
		if serr != nil || uerr != nil || until.Before(since) {
			return nil, nil, fmt.Errorf("row %d: valid from %.20q to %.20q", i+1, o.RealtimeStart, o.RealtimeEnd)
		}
		same := i > 0 && answer.Observations[i-1].Date == o.Date
		switch {
		case i > 0 && o.Date < answer.Observations[i-1].Date:
			return nil, nil, fmt.Errorf("row %d: %s does not follow %s", i+1, o.Date, answer.Observations[i-1].Date)
		case same && o.RealtimeStart <= answer.Observations[i-1].RealtimeEnd:
			return nil, nil, fmt.Errorf("row %d: two values of %s on %s", i+1, o.Date, o.RealtimeStart)
		}
		one := series.Observation{
			Series: reading.Series, ObservedAt: reading.ObservedAt, Value: reading.Value, Marker: reading.Marker, VintageAt: known(since),
		}
		if one.VintageAt.Before(one.ObservedAt) {
			return nil, nil, fmt.Errorf("row %d: known on %s of %s", i+1, o.RealtimeStart, o.Date)
		}
		// What is written in another way, 0.0 and then -0.0, is the vintage that it was.
		if before := len(all) - 1; !same || all[before].Value != one.Value || all[before].Marker != one.Marker {
			all = append(all, one)
		}
		next := until.AddDate(0, 0, 1)
		followed := i+1 < len(answer.Observations) && answer.Observations[i+1].Date == o.Date
		switch {
		case followed && answer.Observations[i+1].RealtimeStart == next.Format(time.DateOnly):
		case o.RealtimeEnd == answer.RealtimeEnd:
			present = append(present, row{o.Date, o.Value})
		default:
			one.VintageAt, one.Value, one.Marker = known(next), 0, series.MarkerWithdrawn
			all = append(all, one)
		}
	}
	return all, present, nil
}
