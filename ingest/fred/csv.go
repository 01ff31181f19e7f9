package fred

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// graphRequests asks for the file of each figure.
func (r release) graphRequests(w series.Window) []ingest.Request {
	requests := make([]ingest.Request, len(r.figures))
	for i, f := range r.figures {
		q := url.Values{"id": {f.id}, "cosd": {from(w).Format(time.DateOnly)}}
		if !w.To.IsZero() {
			q.Set("coed", w.To.UTC().Format(time.DateOnly))
		}
		requests[i].URL = (&url.URL{Scheme: "https", Host: graphHost, Path: graphPath, RawQuery: q.Encode()}).String()
	}
	return requests
}

// from is the first date that is asked for.
func from(w series.Window) time.Time {
	if w.From.After(begin) {
		return w.From.UTC()
	}
	return begin
}

// parseGraph reads the file behind a graph: a header that names the series, then a date and a value in each line. Since about 2025 the
// first column is observation_date and a missing value an empty cell; before, it was DATE and a point.
func (r release) parseGraph(q url.Values, body []byte) (ingest.Batch, error) {
	f, err := r.figure(q.Get("id"))
	if err != nil {
		return ingest.Batch{}, err
	}
	records := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	records.FieldsPerRecord = 2
	table, err := records.ReadAll()
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("%s: want a file of two columns: %w", f.id, err)
	}
	if len(table) == 0 || !isHeader(table[0], f.id) {
		return ingest.Batch{}, fmt.Errorf("%s: want the header observation_date,%s", f.id, f.id)
	}
	rows := make([]row, len(table)-1)
	for i, record := range table[1:] {
		rows[i] = row{record[0], strings.TrimSpace(record[1])}
	}
	return f.batch(rows, q.Get("cosd"), q.Get("coed"))
}

func isHeader(record []string, id string) bool {
	first := strings.ToLower(record[0])
	return (first == "observation_date" || first == "date") && record[1] == id
}

// batch makes the batch of an answer that holds all rows from the first date asked for to the last (empty: the newest).
func (f figure) batch(rows []row, first, last string) (ingest.Batch, error) {
	readings, err := f.readings(rows)
	if err != nil {
		return ingest.Batch{}, err
	}
	if len(readings) == 0 {
		if last == "" {
			return ingest.Batch{}, fmt.Errorf("%s: %w", f.id, errNoRows)
		}
		return ingest.Batch{}, nil
	}
	since, err := time.Parse(time.DateOnly, first)
	if err != nil || since.After(readings[0].ObservedAt) {
		since = readings[0].ObservedAt
	}
	whole := series.Window{From: since, To: readings[len(readings)-1].ObservedAt}
	return ingest.Batch{Readings: readings, Covers: []series.Coverage{{Series: f.series(), Window: whole}}}, nil
}
