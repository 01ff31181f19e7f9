package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // save times are stated in New York's, and the machine may have no zones

	"github.com/extrame/xls"

	"tidemark/internal/series"
)

// eastern is the zone of the save times in EIA's workbooks, which do not name it.
const eastern = "America/New_York"

// readWorkbook reads each wanted series of a workbook as EIA serves them under hist_xls and xls. A sheet Contents holds the release dates
// and the save time. In the sheets of data, the second row names each column's series.
func readWorkbook(file string, body []byte, wanted map[series.ID]string) ([]recording, []omission, error) {
	book, err := xls.OpenReader(bytes.NewReader(body), "utf-8")
	if err != nil {
		return nil, nil, fmt.Errorf("open workbook: %w", err)
	}
	if book == nil || book.NumSheets() < 2 {
		return nil, nil, errors.New("not a workbook with contents and data")
	}
	common, err := readContents(book.GetSheet(0))
	if err != nil {
		return nil, nil, fmt.Errorf("read contents: %w", err)
	}
	common.file = file
	var found []recording
	var others []string
	for i := 1; i < book.NumSheets(); i++ {
		sheet := book.GetSheet(i)
		if cellText(sheet, 1, 0) != "Sourcekey" {
			return nil, nil, fmt.Errorf("sheet %s: second row begins with %q, want Sourcekey", sheet.Name, cellText(sheet, 1, 0))
		}
		for column := 1; cellText(sheet, 1, column) != ""; column++ {
			key := cellText(sheet, 1, column)
			r := common
			r.series = series.ID("eia." + key)
			if r.source = wanted[r.series]; r.source == "" {
				others = append(others, key)
				continue
			}
			if r.readings, err = readColumn(sheet, column, r.series); err != nil {
				return nil, nil, fmt.Errorf("sheet %s, %s: %w", sheet.Name, key, err)
			}
			found = append(found, r)
		}
	}
	var left []omission
	if len(others) > 0 {
		left = []omission{{file, "series that no source reads: " + strings.Join(others, ", ")}}
	}
	return found, left, nil
}

// readContents reads the release dates, and the save time, the only cell of the last row.
func readContents(sheet *xls.WorkSheet) (recording, error) {
	zone, err := time.LoadLocation(eastern)
	if err != nil {
		return recording{}, err
	}
	var r recording
	for row := range int(sheet.MaxRow) + 1 {
		for column := range 8 {
			text := cellText(sheet, row, column)
			switch text {
			case "Release Date:":
				r.released, err = time.Parse("1/2/2006", cellText(sheet, row, column+1))
			case "Next Release Date:":
				r.next, err = time.Parse("1/2/2006", cellText(sheet, row, column+1))
			default:
				if at, err := time.ParseInLocation("1/2/2006 3:04:05 PM", text, zone); err == nil {
					r.saved = at
				}
			}
			if err != nil {
				return recording{}, fmt.Errorf("%s %w", text, err)
			}
		}
	}
	if r.saved.IsZero() || r.released.IsZero() || r.next.IsZero() {
		return recording{}, errors.New("no save time or no release dates")
	}
	return r, nil
}

// readColumn reads the values of a column, which begin in the fourth row. It skips blank cells.
func readColumn(sheet *xls.WorkSheet, column int, id series.ID) ([]series.Reading, error) {
	var list []series.Reading
	for row := 3; row <= int(sheet.MaxRow); row++ {
		date, value := cellText(sheet, row, 0), cellText(sheet, row, column)
		if value == "" {
			continue
		}
		day, err := time.Parse(time.RFC3339, date)
		if err != nil {
			return nil, fmt.Errorf("row %d: date: %w", row+1, err)
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("row %d: value: %w", row+1, err)
		}
		list = append(list, series.Reading{Series: id, ObservedAt: day.UTC(), Value: number})
	}
	if len(list) == 0 {
		return nil, errors.New("no values")
	}
	return list, nil
}

// cellText returns a cell, or "" if it is missing: the library panics on a missing row, and its count of rows is one too high.
func cellText(sheet *xls.WorkSheet, row, column int) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	return strings.TrimSpace(sheet.Row(row).Col(column))
}

// vintageName matches the name of a version of a history that was saved on the named day. Of the saved series, a source reads only WTI.
var vintageName = regexp.MustCompile(`/revision-vintages/wti-daily-(\d{4}-\d{2}-\d{2})-(before|after)\.csv$`)

// readVintage reads a table of Date and Price. Only the day when it was saved is known: its last second is taken, which claims nothing
// too early. The table shows the release of the Wednesday before.
func readVintage(file string, body []byte, wanted map[series.ID]string) (recording, error) {
	saved, err := time.Parse(time.DateOnly, vintageName.FindStringSubmatch(file)[1])
	if err != nil {
		return recording{}, fmt.Errorf("read the day of saving: %w", err)
	}
	const id = "eia.RWTC"
	wednesday := saved.AddDate(0, 0, -(int(saved.Weekday()-time.Wednesday)+7)%7)
	r := recording{
		file: file, source: wanted[id], series: id,
		saved: saved.AddDate(0, 0, 1).Add(-time.Second), released: wednesday, next: wednesday.AddDate(0, 0, 7),
	}
	rows, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil {
		return recording{}, fmt.Errorf("read table: %w", err)
	}
	if len(rows) < 2 || strings.Join(rows[0], ",") != "Date,Price" {
		return recording{}, errors.New("want a table of Date and Price")
	}
	for n, row := range rows[1:] {
		if row[1] == "" {
			continue
		}
		day, err := time.Parse(time.DateOnly, row[0])
		if err != nil {
			return recording{}, fmt.Errorf("line %d: %w", n+2, err)
		}
		value, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return recording{}, fmt.Errorf("line %d: %w", n+2, err)
		}
		r.readings = append(r.readings, series.Reading{Series: id, ObservedAt: day, Value: value})
	}
	return r, nil
}
