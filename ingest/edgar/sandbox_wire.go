package edgar

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/equity"
)

// table is the SEC's table of filings with all its columns.
type table struct {
	Accession    []string `json:"accessionNumber"`
	Filed        []string `json:"filingDate"`
	Period       []string `json:"reportDate"`
	Accepted     []string `json:"acceptanceDateTime"`
	Act          []string `json:"act"`
	Form         []string `json:"form"`
	FileNumber   []string `json:"fileNumber"`
	FilmNumber   []string `json:"filmNumber"`
	Items        []string `json:"items"`
	CoreType     []string `json:"core_type"`
	Size         []int    `json:"size"`
	IsXBRL       []int    `json:"isXBRL"`
	IsInlineXBRL []int    `json:"isInlineXBRL"`
	Document     []string `json:"primaryDocument"`
	Description  []string `json:"primaryDocDescription"`
}

// tableOf writes filings, the newest first.
func tableOf(c *synth.Company, events []event) table {
	t := table{ // an empty table has empty columns
		Accession: []string{}, Filed: []string{}, Period: []string{}, Accepted: []string{}, Act: []string{}, Form: []string{}, FileNumber: []string{},
		FilmNumber: []string{}, Items: []string{}, CoreType: []string{}, Size: []int{}, IsXBRL: []int{}, IsInlineXBRL: []int{},
		Document: []string{}, Description: []string{},
	}
	for _, e := range slices.Backward(events) {
		period := ""
		if !e.period.IsZero() {
			period = e.period.Format(time.DateOnly)
		}
		xbrl := 0
		if len(e.figures) > 0 {
			xbrl = 1
		}
		t.Accession = append(t.Accession, e.accession)
		t.Filed = append(t.Filed, e.filed.Format(time.DateOnly))
		t.Period = append(t.Period, period)
		t.Accepted = append(t.Accepted, acceptedText(c, e.accepted))
		t.Act = append(t.Act, "34")
		t.Form = append(t.Form, e.form)
		t.FileNumber = append(t.FileNumber, fmt.Sprintf("001-%05d", c.CIK%100000))
		t.FilmNumber = append(t.FilmNumber, strings.ReplaceAll(e.accession[11:], "-", ""))
		t.Items = append(t.Items, strings.Join(e.items, ","))
		t.CoreType = append(t.CoreType, e.form)
		t.Size = append(t.Size, 20_000+400*len(e.figures))
		t.IsXBRL, t.IsInlineXBRL = append(t.IsXBRL, xbrl), append(t.IsInlineXBRL, xbrl)
		t.Document = append(t.Document, e.document)
		t.Description = append(t.Description, e.form)
	}
	return t
}

// acceptedText is the instant as the SEC writes it: of some companies New York's clock, marked as UTC all the same.
func acceptedText(c *synth.Company, at time.Time) string {
	if c.CIK%5 == 2 {
		at = at.In(ingest.NewYork())
	}
	return at.Format("2006-01-02T15:04:05.000") + "Z"
}

type place struct {
	Street1             string  `json:"street1"`
	Street2             *string `json:"street2"`
	City                string  `json:"city"`
	StateOrCountry      string  `json:"stateOrCountry"`
	ZipCode             string  `json:"zipCode"`
	StateOrCountryLabel string  `json:"stateOrCountryDescription"`
	IsForeign           *int    `json:"isForeignLocation"`
	Country             *string `json:"country"`
	CountryCode         *string `json:"countryCode"`
}

type page struct {
	Name  string `json:"name"`
	Count int    `json:"filingCount"`
	From  string `json:"filingFrom"`
	To    string `json:"filingTo"`
}

// writeCompany writes the first answer about a company's filings. Its ticker may be empty.
func writeCompany(c *synth.Company, ticker string, recent, older []event) []byte {
	tickers, markets, files := []string{}, []string{}, []page{}
	if ticker != "" {
		tickers, markets = []string{ticker}, []string{c.Exchange}
	}
	if len(older) > 0 {
		files = append(files, page{
			"CIK" + equity.CIK(c.CIK).String() + "-submissions-001.json", len(older),
			older[0].filed.Format(time.DateOnly), older[len(older)-1].filed.Format(time.DateOnly),
		})
	}
	home := place{Street1: "1 INVENTED WAY", City: "NOWHERE", StateOrCountry: c.Location, ZipCode: "00000", StateOrCountryLabel: c.Location}
	end := time.Date(2001, c.YearEnd+1, 0, 0, 0, 0, 0, time.UTC).Format("0102")
	return marshal(map[string]any{
		"cik": equity.CIK(c.CIK).String(), "entityType": "operating", "sic": fmt.Sprintf("%04d", c.SIC), "sicDescription": c.Industry,
		"ownerOrg": nil, "insiderTransactionForOwnerExists": 0, "insiderTransactionForIssuerExists": 1, "name": c.Name, "tickers": tickers,
		"exchanges": markets, "ein": "000000000", "lei": nil, "description": syntheticNote, "website": "", "investorWebsite": "",
		"category": "Large accelerated filer", "fiscalYearEnd": end, "stateOfIncorporation": "DE", "stateOfIncorporationDescription": "DE",
		"addresses": map[string]place{"mailing": home, "business": home}, "phone": "", "flags": "", "formerNames": []string{},
		"filings": map[string]any{"recent": tableOf(c, recent), "files": files},
	})
}

// syntheticNote marks what has room for a note. Names say it everywhere.
const syntheticNote = "Synthetic, drawn by a sandbox. Not a company, and not data of the U.S. Securities and Exchange Commission."

// said is a figure as the SEC writes it.
type said struct {
	Start string  `json:"start,omitempty"`
	End   string  `json:"end"`
	Value float64 `json:"val"`
	Accn  string  `json:"accn"`
	FY    *int    `json:"fy"`
	FP    *string `json:"fp"`
	Form  string  `json:"form"`
	Filed string  `json:"filed"`
	Frame string  `json:"frame,omitempty"`
}

type concept struct {
	Label       string            `json:"label"`
	Description string            `json:"description"`
	Units       map[string][]said `json:"units"`
}

// writeFacts writes all figures that were filed, by tag and unit in the order of their periods, then of their filings. Of several
// statements about a period that is a calendar's, the last filed is framed.
func writeFacts(c *synth.Company, events []event) []byte {
	all := map[string]map[string]concept{}
	for _, e := range events {
		for _, f := range e.figures {
			tags := all[f.taxonomy]
			if tags == nil {
				tags = map[string]concept{}
				all[f.taxonomy] = tags
			}
			k, ok := tags[f.tag]
			if !ok {
				k = concept{Label: f.tag, Description: syntheticNote, Units: map[string][]said{}}
				tags[f.tag] = k
			}
			v := said{End: f.end.Format(time.DateOnly), Value: f.value, Accn: e.accession, Form: e.form, Filed: e.filed.Format(time.DateOnly)}
			if e.fp != "" && e.form != "8-K" {
				v.FY, v.FP = &e.fy, &e.fp
			}
			if !f.start.IsZero() {
				v.Start = f.start.Format(time.DateOnly)
			}
			k.Units[f.unit] = append(k.Units[f.unit], v)
		}
	}
	for _, tags := range all {
		for _, k := range tags {
			for _, list := range k.Units {
				slices.SortStableFunc(list, func(a, b said) int { return strings.Compare(a.End+a.Start, b.End+b.Start) })
				for i := range list {
					if last := i+1 == len(list) || list[i+1].End != list[i].End || list[i+1].Start != list[i].Start; last {
						list[i].Frame = frame(list[i].Start, list[i].End)
					}
				}
			}
		}
	}
	return marshal(struct {
		CIK   int64                         `json:"cik"`
		Name  string                        `json:"entityName"`
		Facts map[string]map[string]concept `json:"facts"`
	}{c.CIK, c.Name, all})
}

// frame is the name of the calendar period of a span: CY2019 for a year, CY2019Q1 for a quarter, CY2019Q1I for an instant; empty for
// others.
func frame(start, end string) string {
	to, err := time.Parse(time.DateOnly, end)
	if err != nil {
		return ""
	}
	middle, days := to, 0
	if from, err := time.Parse(time.DateOnly, start); err == nil {
		days = int(to.Sub(from)/(24*time.Hour)) + 1
		middle = from.AddDate(0, 0, days/2)
	}
	quarter := fmt.Sprintf("CY%dQ%d", middle.Year(), (int(middle.Month())+2)/3)
	switch {
	case days == 0:
		return quarter + "I"
	case days >= 350 && days <= 380:
		return fmt.Sprintf("CY%d", middle.Year())
	case days >= 80 && days <= 100:
		return quarter
	}
	return ""
}

// roundTo rounds to a multiple of a step.
func roundTo(v, step float64) float64 {
	if step < 1 {
		return math.Round(v/step) / math.Round(1/step)
	}
	return math.Round(v/step) * step
}
