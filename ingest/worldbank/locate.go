package worldbank

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// locate finds the cell of a month and a series in the workbook.
func locate(r ingest.Response, id series.ID, observedAt time.Time) (ingest.Place, bool) {
	series := slices.IndexFunc(columns, func(c column) bool { return c.id == id })
	if series < 0 || !bytes.HasPrefix(r.Body, []byte("PK\x03\x04")) {
		return ingest.Place{}, false
	}
	t, name, month := table{}, "", observedAt.UTC().Format("2006M01")
	err := eachRow(r.Body, func(row int, cells []string) error {
		if err := t.read(row, cells); err != nil {
			return err
		}
		if name == "" && cell(cells, 0) == month {
			name = cellName(t.places[series].index, row)
		}
		return nil
	})
	if err != nil || name == "" {
		return ingest.Place{}, false
	}
	part, sheet := sheetPart(r.Body)
	found := regexp.MustCompile(`<c\s[^>]*\br="` + name + `"[^>]*>(?:[^<]|<f[^>]*>[^<]*</f>)*<v>([^<]*)</v>`).FindSubmatchIndex(sheet)
	if found == nil {
		return ingest.Place{}, false
	}
	return ingest.Place{
		Part: part, Offset: found[2], Length: found[3] - found[2], Where: fmt.Sprintf("cell %s of the sheet %q, in %s of the workbook", name, sheetName, part),
	}, true
}

var (
	sheetID     = regexp.MustCompile(`(?i)<(?:\w+:)?sheet\s[^>]*\bname="` + sheetName + `"[^>]*\br:id="([^"]+)"`)
	relationTag = regexp.MustCompile(`<Relationship\s[^>]*>`)
)

// sheetPart is the part of a workbook that holds the sheet of prices, and its text. They are empty if it is not found.
func sheetPart(body []byte) (name string, text []byte) {
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return "", nil
	}
	read := func(name string) []byte {
		f, err := archive.Open(name)
		if err != nil {
			return nil
		}
		defer func() { _ = f.Close() }()
		text, err := io.ReadAll(io.LimitReader(f, maxUnpacked))
		if err != nil {
			return nil
		}
		return text
	}
	id := sheetID.FindSubmatch(read("xl/workbook.xml"))
	if id == nil {
		return "", nil
	}
	for _, relation := range relationTag.FindAll(read("xl/_rels/workbook.xml.rels"), -1) {
		if !bytes.Contains(relation, []byte(`Id="`+string(id[1])+`"`)) {
			continue
		}
		_, target, _ := strings.Cut(string(relation), `Target="`)
		target, _, _ = strings.Cut(target, `"`)
		if rooted, ok := strings.CutPrefix(target, "/"); ok {
			return rooted, read(rooted)
		}
		name = path.Join("xl", target)
		return name, read(name)
	}
	return "", nil
}
