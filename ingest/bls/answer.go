package bls

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// missing is the Bureau's sign for a month without a value.
const missing = "-"

// succeeded is the status of a good answer. Others come with HTTP's 200 too, as when the day's questions are used up.
const succeeded = "REQUEST_SUCCEEDED"

// fetchResponse is the part of an answer that is read.
type fetchResponse struct {
	Status  string   `json:"status"`
	Message []string `json:"message"`
	Results struct {
		Series []struct {
			ID   string  `json:"seriesID"`
			Data []datum `json:"data"`
		} `json:"series"`
	} `json:"Results"`
}

// datum is one value. Period is M01 to M12; M13 is the mean of the year.
type datum struct {
	Year   string `json:"year"`
	Period string `json:"period"`
	Value  string `json:"value"`
}

// parse reads an answer. One to a question without years leads to the ten years before it.
func parse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil || u.Host != host || u.Path != path {
		return ingest.Batch{}, errors.New("parse an answer of the BLS: it is not asked at this address")
	}
	b, err := parseAnswer(figures, r.Body)
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse an answer of the BLS: %w", err)
	}
	var q fetchRequest
	if len(r.Request.Body) > 0 {
		if err := json.Unmarshal(r.Request.Body, &q); err != nil {
			return ingest.Batch{}, fmt.Errorf("parse an answer of the BLS: invalid request: %w", err)
		}
	}
	if q.First == "" {
		oldest := slices.MinFunc(b.Readings, func(x, y series.Reading) int { return x.ObservedAt.Compare(y.ObservedAt) }).ObservedAt
		b.Next = ask(oldest.Year()-maxYears, oldest.Year()-1)
	}
	return b, nil
}

// parseAnswer reads the values of figures, newest first as they come. Every figure must be there once.
func parseAnswer(figures []figure, body []byte) (ingest.Batch, error) {
	var a fetchResponse
	if err := json.Unmarshal(body, &a); err != nil {
		return ingest.Batch{}, fmt.Errorf("want a JSON object: %w", err)
	}
	if a.Status != succeeded {
		return ingest.Batch{}, fmt.Errorf("status is %.60q, want %s: %.300s", a.Status, succeeded, strings.Join(a.Message, "; "))
	}
	var b ingest.Batch
	for _, f := range figures {
		found := 0
		for _, s := range a.Results.Series {
			if s.ID != f.id {
				continue
			}
			found++
			readings, err := f.readings(s.Data)
			if err != nil {
				return ingest.Batch{}, fmt.Errorf("%s: %w", f.id, err)
			}
			b.Readings = append(b.Readings, readings...)
			whole := series.Window{From: readings[len(readings)-1].ObservedAt, To: readings[0].ObservedAt}
			b.Covers = append(b.Covers, series.Coverage{Series: f.series(), Window: whole})
		}
		if found != 1 {
			return ingest.Batch{}, fmt.Errorf("%s is there %d times, want once", f.id, found)
		}
	}
	if len(a.Results.Series) != len(figures) {
		return ingest.Batch{}, fmt.Errorf("%d series, want %d", len(a.Results.Series), len(figures))
	}
	return b, nil
}

// readings reads the months of a figure, which descend.
func (f figure) readings(data []datum) ([]series.Reading, error) {
	var list []series.Reading
	for _, d := range data {
		if d.Period == "M13" {
			continue
		}
		month, err := time.Parse("2006M01", d.Year+d.Period)
		if err != nil || month.Year() < 1900 {
			return nil, fmt.Errorf("%.10q %.10q is not a month", d.Year, d.Period)
		}
		if n := len(list); n > 0 && !month.Before(list[n-1].ObservedAt) {
			return nil, fmt.Errorf("%s follows %s, want descending months", month.Format("2006-01"), list[n-1].ObservedAt.Format("2006-01"))
		}
		one := series.Reading{Series: f.series(), ObservedAt: month}
		if d.Value == missing {
			one.Marker = missing
		} else if one.Value, err = ingest.Decimal(d.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", month.Format("2006-01"), err)
		}
		list = append(list, one)
	}
	if len(list) == 0 {
		return nil, errors.New("no months: the BLS knows no such series, or it has ended")
	}
	return list, nil
}
