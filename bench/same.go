package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
)

// The columns that an answer and its peer must have in common. Ours states twelve digits of a number, the peer all.
var (
	sameTimes   = []string{"observed_at", "ingested_at"}
	sameNumbers = []string{"value", "uncertainty_lo", "uncertainty_hi", "baseline_value", "delta_vs_baseline_pct", "z_score", "vintage"}
)

// apart is how far two numbers of one meaning may differ, as a share of the larger.
const apart = 1e-11

// table is rows by the names of their columns. Unknown values are empty.
type table []map[string]string

// csvTable reads CSV with a header.
func csvTable(body []byte) (table, error) {
	all, err := csv.NewReader(bytes.NewReader(body)).ReadAll()
	if err != nil || len(all) == 0 {
		return nil, fmt.Errorf("a table as CSV: %d lines, %w", len(all), err)
	}
	out := make(table, len(all)-1)
	for i, cells := range all[1:] {
		out[i] = make(map[string]string, len(cells))
		for n, cell := range cells {
			out[i][all[0][n]] = cell
		}
	}
	return out, nil
}

// jsonTable reads the list of an answer.
func jsonTable(body []byte) (table, error) {
	var list struct {
		Data []map[string]any `json:"data"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("a table as JSON: %w", err)
	}
	out := make(table, len(list.Data))
	for i, row := range list.Data {
		out[i] = make(map[string]string, len(row))
		for name, v := range row {
			if v != nil {
				out[i][name] = fmt.Sprint(v)
			}
		}
	}
	return out, nil
}

// same compares an answer with what its peer copied, row by row.
func same(ours, theirs table) error {
	if len(ours) != len(theirs) || len(ours) == 0 {
		return fmt.Errorf("the answer has %d rows, and its peer %d", len(ours), len(theirs))
	}
	for i, row := range ours {
		for _, name := range sameTimes {
			a, errOurs := time.Parse(time.RFC3339Nano, row[name])
			b, errTheirs := time.Parse("2006-01-02 15:04:05.999999-07", theirs[i][name]) // as the database writes it
			if errOurs != nil || errTheirs != nil || !a.Equal(b) {
				return fmt.Errorf("row %d: %s is %s, and for the peer %s", i, name, row[name], theirs[i][name])
			}
		}
		for _, name := range sameNumbers {
			if !sameNumber(row[name], theirs[i][name]) {
				return fmt.Errorf("row %d: %s is %q, and for the peer %q", i, name, row[name], theirs[i][name])
			}
		}
	}
	return nil
}

// sameNumber reports whether both are unknown, or numbers of one meaning.
func sameNumber(a, b string) bool {
	if a == "" || b == "" {
		return a == b
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= apart*max(math.Abs(x), math.Abs(y))
}

// sameAs compares an answer with the CSV in a file. It cannot read Parquet: see againstDuckDB.
func sameAs(path string, body []byte, file string) error {
	read := jsonTable
	switch {
	case strings.Contains(path, "format=parquet"):
		return nil
	case strings.Contains(path, "format=csv"):
		read = csvTable
	}
	ours, err := read(body)
	if err != nil {
		return err
	}
	copied, err := os.ReadFile(file) //nolint:gosec // in our own folder
	if err != nil {
		return err
	}
	theirs, err := csvTable(copied)
	if err != nil {
		return err
	}
	return same(ours, theirs)
}
