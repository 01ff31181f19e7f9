package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/eia"
	"tidemark/internal/series"
)

// firstDay is the first day of every series. It must be long ago, so that all days are past.
var firstDay = time.Date(1750, time.January, 1, 0, 0, 0, 0, time.UTC)

// pagesOf writes the pages of three series into memory: by series and offset.
func pagesOf(ids []string, write func(b *bytes.Buffer, id string, from, to int)) map[string][]byte {
	pages := map[string][]byte{}
	for _, id := range ids {
		for from := 0; from < pagedDays; from += pageLength {
			var b bytes.Buffer
			write(&b, id, from, min(from+pageLength, pagedDays))
			pages[id+"/"+strconv.Itoa(from)] = b.Bytes()
		}
	}
	return pages
}

func pagedValue(day int) float64 { return 1 + float64(day%9973)/1000 }

// eiaForm is the EIA API v2, with the members that it sends.
func eiaForm() pagedForm {
	src := eia.Spot(strings.Repeat("0", 40))
	var ids []string
	about := map[string]string{}
	for _, s := range src.Series {
		id := strings.TrimPrefix(string(s.ID), "eia.")
		ids = append(ids, id)
		code := "$/GAL"
		if s.Unit == "Dollars per Barrel" {
			code = "$/BBL"
		}
		about[id] = fmt.Sprintf(`"series":%q,"series-description":"%s (%s)","units":%q`, id, s.Name, s.Unit, code)
	}
	pages := pagesOf(ids, func(b *bytes.Buffer, id string, from, to int) {
		fmt.Fprintf(b, `{"response":{"total":"%d","dateFormat":"YYYY-MM-DD","frequency":"daily","data":[`, pagedDays)
		for day := from; day < to; day++ {
			if day > from {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, `{"period":%q,"duoarea":"Y35NY","area-name":"NEW YORK CITY","product":"EPMRU","product-name":"Conventional Regular Gasoline",`+
				`"process":"PF4","process-name":"Spot Price FOB",%s,"value":"%.3f"}`,
				firstDay.AddDate(0, 0, day).Format(time.DateOnly), about[id], pagedValue(day))
		}
		b.WriteString(`],"description":"Spot prices."},"request":{"command":"/v2/petroleum/pri/spt/data/"},"apiVersion":"2.1.12"}`)
	})
	return pagedForm{name: "EIA API", source: src, page: func(q url.Values) []byte {
		return pages[q.Get("facets[series][]")+"/"+q.Get("offset")]
	}}
}

// tersePage is a page of the terse form. Next is the offset of the following page, 0 after the last.
type tersePage struct {
	Rows []terseRow `json:"rows"`
	Next int        `json:"next"`
}

type terseRow struct {
	Day   string  `json:"d"`
	Value float64 `json:"v"`
}

// terseForm is a source that says no more than it must.
func terseForm() pagedForm {
	ids := []string{"a", "b", "c"}
	pages := pagesOf(ids, func(b *bytes.Buffer, _ string, from, to int) {
		p := tersePage{Rows: make([]terseRow, 0, to-from)}
		for day := from; day < to; day++ {
			p.Rows = append(p.Rows, terseRow{firstDay.AddDate(0, 0, day).Format(time.DateOnly), pagedValue(day)})
		}
		if to < pagedDays {
			p.Next = to
		}
		_ = json.NewEncoder(b).Encode(p) // numbers and texts
	})
	src := ingest.Source{ID: "terse", Request: func(series.Window) ([]ingest.Request, error) {
		var list []ingest.Request
		for _, id := range ids {
			list = append(list, ingest.Request{URL: "https://terse.example/?offset=0&series=" + id})
		}
		return list, nil
	}, Parse: readTerse}
	for _, id := range ids {
		src.Series = append(src.Series, series.Info{ID: series.ID(id), Published: func(at time.Time) time.Time { return at.AddDate(0, 0, 2) }})
	}
	return pagedForm{name: "terse pages", source: src, page: func(q url.Values) []byte { return pages[q.Get("series")+"/"+q.Get("offset")] }}
}

func readTerse(r ingest.Response) (ingest.Batch, error) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Batch{}, err
	}
	var p tersePage
	if err := json.Unmarshal(r.Body, &p); err != nil {
		return ingest.Batch{}, err
	}
	q := u.Query()
	id := series.ID(q.Get("series"))
	b := ingest.Batch{Readings: make([]ingest.Reading, len(p.Rows))}
	for i, row := range p.Rows {
		at, err := time.Parse(time.DateOnly, row.Day)
		if err != nil {
			return ingest.Batch{}, err
		}
		b.Readings[i] = ingest.Reading{Series: id, ObservedAt: at, Value: row.Value}
	}
	b.Covers = []ingest.Coverage{{Series: id, Window: series.Window{From: b.Readings[0].ObservedAt, To: b.Readings[len(p.Rows)-1].ObservedAt}}}
	if p.Next > 0 {
		q.Set("offset", strconv.Itoa(p.Next))
		u.RawQuery = q.Encode()
		next := r.Request
		next.URL = u.String()
		b.Next = &next
	}
	return b, nil
}
