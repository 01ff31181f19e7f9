package conformance

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// exampleSpreadsheets asks for what the recipes of Excel and Google Sheets ask for. Neither program is here: what they would read is read as
// they would.
func exampleSpreadsheets(t *testing.T, s *server) {
	query, err := os.ReadFile("../../examples/excel/history.pq")
	if err != nil {
		t.Fatal(err)
	}
	part := func(form string) []string {
		t.Helper()
		m := regexp.MustCompile(form).FindStringSubmatch(string(query))
		if m == nil {
			t.Fatalf("the query has no %s", form)
		}
		return m[1:]
	}
	path := part(`RelativePath = "([^"]+)" & Signal & "([^"]+)", Query = \[(\w+) = "(\w+)"\]`)
	rows := s.table(t, "/"+path[0]+part(`Signal = "([^"]+)"`)[0]+path[1]+"?"+path[2]+"="+path[3])
	types := map[string]string{}
	for _, m := range regexp.MustCompile(`\{"(\w+)", ([\w. ]+)\}`).FindAllStringSubmatch(string(query), -1) {
		types[m[1]] = m[2]
	}
	readers := map[string]func(string) error{
		"type number":       func(cell string) error { _, err := strconv.ParseFloat(cell, 64); return err },
		"Int64.Type":        func(cell string) error { _, err := strconv.ParseInt(cell, 10, 64); return err },
		"type logical":      func(cell string) error { _, err := strconv.ParseBool(cell); return err },
		"type datetimezone": func(cell string) error { _, err := time.Parse(time.RFC3339Nano, cell); return err },
		"type text":         func(string) error { return nil },
	}
	if len(types) != len(rows[0]) {
		t.Errorf("the query names %d columns, and the list has %v", len(types), rows[0])
	}
	for c, name := range rows[0] {
		read := readers[types[name]]
		if read == nil {
			t.Errorf("the query has no type that is known here for %s: %q", name, types[name])
			continue
		}
		for _, row := range rows[1:] {
			if err := read(row[c]); row[c] != "" && err != nil { // an empty cell becomes null
				t.Fatalf("%s of %v: %v", name, row, err)
			}
		}
	}

	readme, err := os.ReadFile("../../examples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	formula := regexp.MustCompile(`=IMPORTDATA\("https://tidemark\.example([^"]+)", ",", "en_US"\)`).FindSubmatch(readme)
	if formula == nil {
		t.Fatal("there is no formula for Google Sheets")
	}
	sheet := s.table(t, string(formula[1]))
	if !slices.Equal(sheet[0], rows[0]) {
		t.Errorf("the formula brings the columns %v", sheet[0])
	}
	for _, row := range sheet[1:] {
		if _, err := time.Parse(time.DateOnly, row[0][:10]); err != nil { // as DATEVALUE(LEFT(A2:A, 10)) does
			t.Fatal(err)
		}
	}
}

// table reads a list as CSV, without a key.
func (s *server) table(t *testing.T, path string) [][]string {
	t.Helper()
	a := s.ask(t, http.MethodGet, path, "")
	rows, err := csv.NewReader(bytes.NewReader(a.Body)).ReadAll()
	if a.Status != http.StatusOK || err != nil || len(rows) < 2 || !strings.HasPrefix(a.Header.Get("Content-Type"), "text/csv") {
		t.Fatalf("%s: %d, %v, %d rows of %s", path, a.Status, err, len(rows), a.Header.Get("Content-Type"))
	}
	return rows
}
