package worldbank

import (
	"bytes"
	"fmt"
	"time"

	"github.com/xuri/excelize/v2"

	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// vintage is the content of one synthetic workbook.
type vintage struct {
	updated time.Time
	// values are the values of each series, ascending.
	values map[series.ID][]synth.Point
}

// headings are the first columns of the sheet of prices and their units. The sandbox fills the columns of the series that are read. The
// other columns have no values; they keep the column positions realistic.
var headings = []struct{ name, unit string }{
	{"Crude oil, average", "($/bbl)"},
	{"Crude oil, Brent", "($/bbl)"},
	{"Crude oil, Dubai", "($/bbl)"},
	{"Crude oil, WTI", "($/bbl)"},
	{"Coal, Australian", "($/mt)"},
	{"Coal, South African **", "($/mt)"},
	{columns[0].heading, unit},
	{columns[1].heading, unit},
	{columns[2].heading, unit},
	{"Natural gas index", "(2010=100)"},
}

// write makes the workbook in the layout of 2026. A row has the figures of a month, from the first month of any series to the newest. A
// missing value is an ellipsis. The same vintage gives the same bytes, because the library writes its parts in a fixed order and without
// the time.
func (v vintage) write() ([]byte, error) {
	f := excelize.NewFile()
	defer func() { _ = f.Close() }() // there is nothing to close but temporary files
	w := writer{f: f}
	w.do(f.SetSheetName("Sheet1", "AFOSHEET"))
	w.sheet(sheetName)
	w.set(1, 1, "World Bank Commodity Price Data (The Pink Sheet)")
	w.set(1, 2, "monthly prices in nominal US dollars, 1960 to present")
	w.set(1, 3, "(monthly series are available only in nominal US dollars)")
	w.set(1, 4, "Updated on "+v.updated.Format("January 02, 2006"))
	index := map[string]int{}
	for i, h := range headings {
		w.set(i+2, 5, h.name)
		w.set(i+2, 6, h.unit)
		index[h.name] = i
	}
	months := map[time.Time][]any{}
	var first, last time.Time
	for _, c := range columns {
		for _, p := range v.values[c.id] {
			if months[p.At] == nil {
				months[p.At] = make([]any, len(headings))
			}
			months[p.At][index[c.heading]] = p.Value
			if first.IsZero() || p.At.Before(first) {
				first = p.At
			}
			if p.At.After(last) {
				last = p.At
			}
		}
	}
	for row, month := 7, first; !month.After(last); row, month = row+1, month.AddDate(0, 1, 0) {
		w.set(1, row, month.Format("2006M01"))
		for i := range headings {
			var value any = "…"
			if prices := months[month]; prices != nil && prices[i] != nil {
				value = prices[i]
			}
			w.set(i+2, row, value)
		}
	}
	w.sheet("Description")
	w.set(1, 1, syntheticNote)
	if w.err != nil {
		return nil, fmt.Errorf("write workbook: %w", w.err)
	}
	f.SetActiveSheet(1)
	w.do(f.SetSheetVisible("AFOSHEET", false))
	var out bytes.Buffer
	w.do(f.Write(&out))
	if w.err != nil {
		return nil, fmt.Errorf("write workbook: %w", w.err)
	}
	return out.Bytes(), nil
}

// writer sets cells of the sheet that was made last. After an error it does nothing.
type writer struct {
	f    *excelize.File
	name string
	err  error
}

func (w *writer) do(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) sheet(name string) {
	w.name = name
	_, err := w.f.NewSheet(name)
	w.do(err)
}

// set sets a cell. Columns and rows are counted from 1.
func (w *writer) set(column, row int, value any) {
	if w.err != nil {
		return
	}
	name, err := excelize.CoordinatesToCellName(column, row)
	w.do(err)
	if err == nil {
		w.do(w.f.SetCellValue(w.name, name, value))
	}
}
