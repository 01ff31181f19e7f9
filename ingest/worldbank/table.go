package worldbank

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"

	"tidemark/ingest"
	"tidemark/internal/series"
)

const (
	// maxHead is the max number of rows before the first month: title, dates, names, units and codes take six or seven.
	maxHead = 30
	// maxAge is the age at which a workbook's link must be stale: the workbook is renewed every month.
	maxAge = 45 * 24 * time.Hour
	// maxLag is how many months the newest row may lie before the month of the workbook's date. One is normal.
	maxLag = 2
	// decimals is the number of decimals of a rounded value. The database behind the workbook has as many.
	//
	// Programs that save such a workbook write a number with 15, 16 or 17 significant digits (0.14000000000000001). Rounding gives all
	// these copies of one vintage the same values to the bit. Rounding everything to two decimals would lose digits that the publisher
	// states.
	decimals = 11
	// rounding is the difference that copies with only two decimals make, with room for the last bit. Revisions that matter begin at 0.1.
	rounding = 0.006
	// maxPrice is a limit below which that rounding is surely exact. No price in dollars comes near it.
	maxPrice = 1e4
)

// epoch is the earliest month that is taken for one: the workbook begins in 1960.
var epoch = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	monthPattern  = regexp.MustCompile(`^\d{4}M\d{2}$`)
	numberPattern = regexp.MustCompile(`^-?\d+(\.\d+)?([eE][-+]?\d+)?$`)
	// missing are the signs of a cell without a value. The workbook uses the first.
	missing = map[string]bool{"…": true, "": true, "..": true, "...": true}
)

// parseWorkbook reads the workbook. It covers each series from the first month of the sheet to the newest that has a value.
func parseWorkbook(r ingest.Response) (ingest.Batch, error) {
	t := table{}
	err := eachRow(r.Body, t.read)
	if err == nil {
		err = t.check(answeredAt(r))
	}
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse the pink sheet: %w", err)
	}
	batch := ingest.Batch{Readings: t.readings}
	for i, c := range columns {
		batch.Covers = append(batch.Covers, ingest.Coverage{
			Series: c.id, Window: series.Window{From: t.first, To: t.places[i].newest},
		})
	}
	return batch, nil
}

// table is the content of the sheet of prices, as far as it has been read.
type table struct {
	// head holds the rows before the first month.
	head [][]string
	// updated is the date on which the workbook says that it was made.
	updated time.Time
	// first and last are the first months of the sheet and the newest so far; last is zero before the first.
	first, last time.Time
	// places tells where each of columns stands.
	places   []place
	readings []ingest.Reading
}

// place is where a series stands: its column, counted from 0, and the newest month that has a value.
type place struct {
	index  int
	newest time.Time
}

// read reads the next row. The months begin with the first row whose column A is a month: files differ in the number of rows before it.
func (t *table) read(row int, cells []string) error {
	first := cell(cells, 0)
	switch isMonth := monthPattern.MatchString(first); {
	case isMonth && t.last.IsZero():
		if err := t.readHead(); err != nil {
			return err
		}
		return t.readMonth(row, cells)
	case isMonth:
		return t.readMonth(row, cells)
	case t.last.IsZero():
		t.head = append(t.head, cells)
		if len(t.head) > maxHead {
			return fmt.Errorf("none of the first %d rows has a month such as 1960M01 in column A", maxHead)
		}
		return nil
	}
	for _, p := range t.places { // below the months there may be notes, but no values
		if text := cell(cells, p.index); text != "" {
			return fmt.Errorf("row %d has %.40q under a price and %.40q in column A, want a month such as 1960M01", row, text, first)
		}
	}
	return nil
}

// readHead finds the date of the workbook, the columns by their names, and in the row below the names the units.
func (t *table) readHead() error {
	names := -1
	for row, cells := range t.head {
		if text, ok := strings.CutPrefix(clean(cell(cells, 0)), "Updated on "); ok && t.updated.IsZero() {
			day, err := time.Parse("January 2, 2006", text)
			if err != nil {
				return fmt.Errorf("row %d: the workbook was updated on %.40q, want a date such as March 03, 2026", row+1, text)
			}
			t.updated = day
		}
		for i := range cells {
			if names < 0 && heading(cells[i]) == columns[0].heading {
				names = row
			}
		}
	}
	switch {
	case t.updated.IsZero():
		return errors.New(`no cell "Updated on" in column A above the months`)
	case names < 0:
		return fmt.Errorf("no column %q above the months", columns[0].heading)
	case names+1 >= len(t.head):
		return fmt.Errorf("no row of units below the names in row %d", names+1)
	}
	for _, c := range columns {
		p := place{index: -1}
		for i, text := range t.head[names] {
			if heading(text) != c.heading {
				continue
			}
			if p.index >= 0 {
				return fmt.Errorf("two columns %q in row %d", c.heading, names+1)
			}
			p.index = i
		}
		if p.index < 0 {
			return fmt.Errorf("no column %q in row %d", c.heading, names+1)
		}
		if got := clean(cell(t.head[names+1], p.index)); !strings.EqualFold(got, unit) {
			return fmt.Errorf("the unit of %q is %.40q, want %q", c.heading, got, unit)
		}
		t.places = append(t.places, p)
	}
	return nil
}

// readMonth reads the prices of a month. Months follow each other without a gap: a sheet with a missing month is incomplete.
func (t *table) readMonth(row int, cells []string) error {
	text := cell(cells, 0)
	month, err := time.Parse("2006M01", text)
	if err != nil || month.Before(epoch) {
		return fmt.Errorf("row %d: %q is not a month", row, text)
	}
	if t.last.IsZero() {
		t.first = month
	} else if next := t.last.AddDate(0, 1, 0); !month.Equal(next) {
		return fmt.Errorf("row %d: %s follows %s, want %s", row, text, t.last.Format("2006M01"), next.Format("2006M01"))
	}
	t.last = month
	for i, c := range columns {
		p := &t.places[i]
		text := cell(cells, p.index)
		if missing[text] {
			continue
		}
		value, err := parseNumber(text)
		if err != nil {
			return fmt.Errorf("cell %s, %s of %s: %w", cellName(p.index, row), c.heading, month.Format("2006M01"), err)
		}
		p.newest = month
		t.readings = append(t.readings, ingest.Reading{Series: c.id, ObservedAt: month, Value: value})
	}
	return nil
}

// check refuses an incomplete sheet, and a sheet that was served too long after it was made. If the time of the response is zero, it is
// unknown and not compared.
func (t *table) check(answered time.Time) error {
	if t.last.IsZero() {
		return fmt.Errorf("no row with a month such as 1960M01 in column A of sheet %q", sheetName)
	}
	for i, c := range columns {
		if t.places[i].newest.IsZero() {
			return fmt.Errorf("column %q has no value", c.heading)
		}
	}
	made := time.Date(t.updated.Year(), t.updated.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch {
	case t.last.After(t.updated):
		return fmt.Errorf("the newest month is %s, after the update of %s", t.last.Format("2006M01"), t.updated.Format(time.DateOnly))
	case t.last.Before(made.AddDate(0, -maxLag, 0)):
		return fmt.Errorf("the newest month is %s, but the update of %s: the sheet is cut short", t.last.Format("2006M01"), t.updated.Format(time.DateOnly))
	case !answered.IsZero() && answered.Sub(t.updated) > maxAge:
		return fmt.Errorf("the workbook was updated on %s, %d days before it was fetched: the link to it is stale, last year's perhaps",
			t.updated.Format(time.DateOnly), int(answered.Sub(t.updated).Hours()/24))
	}
	return nil
}

// cell returns a cell of a row, "" where the row is shorter.
func cell(cells []string, i int) string {
	if i < len(cells) {
		return cells[i]
	}
	return ""
}

// heading is a column's name without the asterisks behind it.
func heading(text string) string { return clean(strings.TrimRight(clean(text), "* ")) }

// parseNumber reads a number as a workbook stores it, rounded to decimals.
func parseNumber(text string) (float64, error) {
	if !numberPattern.MatchString(text) {
		return 0, fmt.Errorf("%.40q is neither a number nor the sign of a missing one", text)
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("read number: %w", err)
	}
	if math.Abs(value) > maxPrice {
		return 0, fmt.Errorf("%.40q is not a price in dollars per million Btu", text)
	}
	scale := math.Pow10(decimals)
	return math.Round(value*scale) / scale, nil
}

// cellName is the name of a cell: column from 0, row from 1.
func cellName(column, row int) string {
	name, err := excelize.CoordinatesToCellName(column+1, row)
	if err != nil {
		return fmt.Sprintf("column %d of row %d", column+1, row)
	}
	return name
}
