package ecb

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// inEffect is how many days after a decision its rate is in force for sure: it takes effect on the sixth, a Wednesday.
const inEffect = 7

// parsePortal reads the table of the data portal: one line a day, weekends included, with the columns TIME_PERIOD and OBS_VALUE among
// others. Of each meeting of the list whose rate is in force by then it makes a decision, and it leads to the feed for later ones.
func parsePortal(q url.Values, body []byte) (ingest.Batch, error) {
	table, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff")))).ReadAll()
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the table of the data portal: %w", err)
	}
	if len(table) < 2 {
		return ingest.Batch{}, errors.New("parse the table of the data portal: no rows")
	}
	key, date, value := slices.Index(table[0], "KEY"), slices.Index(table[0], "TIME_PERIOD"), slices.Index(table[0], "OBS_VALUE")
	if key < 0 || date < 0 || value < 0 {
		return ingest.Batch{}, fmt.Errorf("parse the table of the data portal: want the columns KEY, TIME_PERIOD and OBS_VALUE, got %.200q", table[0])
	}
	levels := map[string]float64{}
	var b ingest.Batch
	for i, row := range table[1:] {
		day, err := time.Parse(time.DateOnly, row[date])
		if err != nil || row[key] != "FM."+portalKey {
			return ingest.Batch{}, fmt.Errorf("parse the table of the data portal: row %d is of %.60q and %.40q, want FM.%s and a date", i+1, row[key], row[date], portalKey)
		}
		if n := len(b.Readings); n > 0 && !day.After(b.Readings[n-1].ObservedAt) {
			return ingest.Batch{}, fmt.Errorf("parse the table of the data portal: %s does not follow %s", row[date], b.Readings[n-1].ObservedAt.Format(time.DateOnly))
		}
		rate, err := percent(row[value])
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("parse the table of the data portal: %s: %w", row[date], err)
		}
		levels[day.Format(compactDate)] = rate
		b.Readings = append(b.Readings, series.Reading{Series: inForce, ObservedAt: day, Value: rate})
	}
	first := b.Readings[0].ObservedAt
	after := first.AddDate(0, 0, -1).Format(compactDate)
	for _, m := range meetings {
		day, err := time.Parse(compactDate, m)
		if err != nil {
			return ingest.Batch{}, fmt.Errorf("read the list of meetings: %w", err)
		}
		rate, known := levels[day.AddDate(0, 0, inEffect).Format(compactDate)]
		if known && !day.Before(first) {
			b.Readings = append(b.Readings, series.Reading{Series: decided, ObservedAt: day, Value: rate})
			after = m
		}
	}
	if !q.Has("endPeriod") { // of a window that ends in the past the feed knows nothing
		b.Next = &ingest.Request{URL: feedURL(after)}
	}
	return b, nil
}

// percent reads a rate: a plain decimal number.
func percent(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > -100 && v < 100) {
		return 0, fmt.Errorf("%.40q is not a rate", s)
	}
	return v, nil
}
