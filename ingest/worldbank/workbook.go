package worldbank

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
)

const (
	// maxWorkbook bounds the workbook as it is sent. It has 0.8 MB.
	maxWorkbook = 8 << 20
	// maxUnpacked bounds what it may unpack to, all parts together. It has 4 MB in 30 parts.
	maxUnpacked = 64 << 20
	maxParts    = 500
	// maxRows bounds the rows of the sheet: three centuries of months.
	maxRows = 4000
	// sheetName is the sheet of prices.
	sheetName = "Monthly Prices"
)

// eachRow calls f for each row of the sheet of prices, with its number from 1 and its cells as stored, trimmed: numbers as text without
// the displayed format. Missing rows come as empty ones. An error of f ends it.
func eachRow(body []byte, f func(row int, cells []string) error) error {
	if err := checkParts(body); err != nil {
		return err
	}
	book, err := excelize.OpenReader(bytes.NewReader(body), excelize.Options{
		RawCellValue: true, UnzipSizeLimit: maxUnpacked, UnzipXMLSizeLimit: maxUnpacked, // no part goes to a temporary file
	})
	if err != nil {
		return fmt.Errorf("open workbook: %w", err)
	}
	defer func() { _ = book.Close() }() // there is nothing to close but temporary files
	sheets := book.GetSheetList()
	if !slices.ContainsFunc(sheets, func(s string) bool { return strings.EqualFold(s, sheetName) }) {
		return fmt.Errorf("no sheet %q among %.300q", sheetName, sheets)
	}
	rows, err := book.Rows(sheetName)
	if err != nil {
		return fmt.Errorf("read sheet %q: %w", sheetName, err)
	}
	defer func() { _ = rows.Close() }()
	for row := 1; rows.Next(); row++ {
		if row > maxRows {
			return fmt.Errorf("sheet %q has more than %d rows", sheetName, maxRows)
		}
		cells, err := rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return fmt.Errorf("read row %d of sheet %q: %w", row, sheetName, err)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if err := f(row, cells); err != nil {
			return err
		}
	}
	return nil
}

// checkParts unpacks a workbook without keeping the result. It refuses a file that is not a workbook, that unpacks to more than the limit,
// or that has a damaged part. The library that reads it silently keeps the readable beginning of such a part, and a truncated sheet would
// look like a shorter one.
func checkParts(body []byte) error {
	if !bytes.HasPrefix(body, []byte("PK\x03\x04")) {
		return fmt.Errorf("not a workbook: it begins with %.40q", body[:min(len(body), 40)])
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return fmt.Errorf("not a whole workbook: %w", err)
	}
	if len(archive.File) > maxParts {
		return fmt.Errorf("a workbook of %d parts, want at most %d", len(archive.File), maxParts)
	}
	left := uint64(maxUnpacked)
	names := map[string]bool{}
	for _, part := range archive.File {
		name := strings.ToLower(part.Name)
		if names[name] {
			return fmt.Errorf("a workbook with two parts %.100q", part.Name)
		}
		names[name] = true
		// The sum of the stated sizes is enough: the unpacker fails on a part that is longer than it states.
		if part.UncompressedSize64 > left {
			return fmt.Errorf("a workbook that unpacks to more than %d bytes", maxUnpacked)
		}
		left -= part.UncompressedSize64
		if err := checkPart(part); err != nil {
			return fmt.Errorf("the workbook is damaged: part %.100q: %w", part.Name, err)
		}
	}
	return nil
}

func checkPart(part *zip.File) error {
	if part.Flags&1 != 0 {
		return errors.New("it is encrypted")
	}
	content, err := part.Open()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, content)
	return errors.Join(err, content.Close())
}
