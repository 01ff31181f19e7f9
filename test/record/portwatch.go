package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/portwatch"
	"tidemark/internal/series"
)

// portwatchFolder is the folder of PortWatch's recordings below --from.
const portwatchFolder = "portwatch"

// tableName is the name under which the layer's rows were saved, with the day when that was.
var tableName = regexp.MustCompile(`^hormuz_daily_chokepoint_(\d{4}-\d{2}-\d{2})\.csv$`)

// readTransits reads the tables of the layer's rows. Of each the archive gets the answers to the whole chain of questions that the
// source asks, constructed around the rows. Only the day of saving is known: its last second is taken, which claims nothing too
// early.
func readTransits(from string) ([]entry, []omission, error) {
	fail := func(err error) ([]entry, []omission, error) {
		return nil, nil, fmt.Errorf("read the transits of portwatch: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(from, portwatchFolder, "*.csv"))
	if err != nil {
		return fail(err)
	}
	slices.Sort(files)
	var entries []entry
	for _, file := range files {
		chain, err := readTable(file)
		if err != nil {
			return fail(fmt.Errorf("%s: %w", filepath.Base(file), err))
		}
		entries = append(entries, chain...)
	}
	polls, err := filepath.Glob(filepath.Join(from, portwatchFolder, "polls", "*.json"))
	if err != nil {
		return fail(err)
	}
	var omissions []omission
	for _, file := range polls {
		omissions = append(omissions, omission{
			portwatchFolder + "/polls/" + filepath.Base(file),
			"a client's own form of the newest year alone, without which a history would begin there",
		})
	}
	return entries, omissions, nil
}

func readTable(file string) ([]entry, error) {
	match := tableName.FindStringSubmatch(filepath.Base(file))
	if match == nil {
		return nil, errors.New("its name does not say when it was saved")
	}
	day, err := time.Parse(time.DateOnly, match[1])
	if err != nil {
		return nil, err
	}
	saved := day.AddDate(0, 0, 1).Add(-time.Second)
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := readRows(body)
	if err != nil {
		return nil, err
	}
	name := portwatchFolder + "/" + filepath.Base(file)
	note := fmt.Sprintf("Constructed around recorded figures: %s, saved %s", name, saved.Format(time.RFC3339))
	src := portwatch.Source()
	requests, err := src.Request(series.Window{})
	if err != nil || len(requests) != 1 {
		return nil, fmt.Errorf("the source asks %d first questions: %w", len(requests), err)
	}
	var chain []entry
	for next := &requests[0]; next != nil; {
		if len(chain) > src.Limits.Pages {
			return nil, errors.New("the chain of questions has no end")
		}
		u, err := url.Parse(next.URL)
		if err != nil {
			return nil, err
		}
		e := entry{file: name, body: portwatch.Answer(rows, u.Query(), note), fetch: series.Fetch{
			Source: src.ID, URL: next.URL, Status: http.StatusOK, FetchedAt: saved, Constructed: true,
			Header: map[string]string{"Content-Type": "application/json; charset=utf-8", "Date": saved.Format(http.TimeFormat)},
		}}
		var b ingest.Batch
		if b, err = ingest.Parse(src, e.fetch, e.body); err != nil {
			return nil, err
		}
		chain, next = append(chain, e), b.Next
	}
	return chain, readBack(src, chain)
}

// readRows reads a table whose columns are named as the layer's attributes. ObjectId, which was not saved, counts the rows.
func readRows(body []byte) ([]portwatch.Row, error) {
	lines, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(lines) < 2 {
		return nil, errors.New("no rows")
	}
	var rows []portwatch.Row
	for n, line := range lines[1:] {
		attributes := map[string]any{"ObjectId": n + 1}
		for i, name := range lines[0] {
			attributes[name] = line[i]
			if name == "date" {
				continue
			}
			if number, err := strconv.ParseFloat(line[i], 64); err == nil {
				attributes[name] = number
			}
		}
		text, err := json.Marshal(attributes)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+2, err)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		var row portwatch.Row
		if err := d.Decode(&row); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+2, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}
