package view

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/columns"
)

// csvOf returns rows as CSV (RFC 4180). The header row contains the JSON names. It omits members that are lists or objects. An unknown
// value is an empty cell.
func csvOf[S any](rows []S) []byte {
	fields := columnsOf(reflect.TypeFor[S]())
	var out, line bytes.Buffer
	w := csv.NewWriter(&line)
	record := make([]string, len(fields))
	write := func() {
		line.Reset()
		_ = w.Write(record) // writing to memory cannot fail
		w.Flush()
		// UseCRLF would also change the ends of lines within a cell.
		_, _ = out.Write(bytes.TrimSuffix(line.Bytes(), []byte("\n")))
		_, _ = out.WriteString("\r\n")
	}
	for i, f := range fields {
		record[i] = f.name
	}
	write()
	for _, r := range rows {
		v := reflect.ValueOf(r)
		for i, f := range fields {
			record[i] = cell(v.FieldByIndex(f.index))
		}
		write()
	}
	return out.Bytes()
}

type csvColumn struct {
	name  string
	index []int
	// kind and nullable are the type of the column in the formats with types.
	kind     columns.Kind
	nullable bool
}

func columnsOf(t reflect.Type) []csvColumn {
	var list []csvColumn
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if name == "" || of.Kind() == reflect.Slice || of.Kind() == reflect.Map || of.Kind() == reflect.Struct && of != reflect.TypeFor[time.Time]() {
			continue
		}
		kind := columns.Text
		switch {
		case of == reflect.TypeFor[time.Time]():
			kind = columns.Instant
		case f.Tag.Get("column") == "date":
			kind = columns.Date
		case of.Kind() == reflect.Float64:
			kind = columns.Number
		case of.Kind() == reflect.Bool:
			kind = columns.Bool
		case of.Kind() != reflect.String:
			kind = columns.Integer
		}
		list = append(list, csvColumn{name, f.Index, kind, f.Type.Kind() == reflect.Pointer || kind == columns.Date})
	}
	return list
}

// LeftOut returns the members of a row that tables (CSV, Parquet, Arrow) do not have: lists and objects.
func LeftOut(row reflect.Type) (names []string) {
	fields := columnsOf(row)
	for _, f := range reflect.VisibleFields(row) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name != "" && name != "-" && !slices.ContainsFunc(fields, func(c csvColumn) bool { return c.name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// columnarOf returns rows in a format with types. It has the columns of csvOf. about are texts about the whole table.
func columnarOf[S any](format string, rows []S, about []columns.Pair) ([]byte, error) {
	fields := columnsOf(reflect.TypeFor[S]())
	list := make([]columns.Column, len(fields))
	for i, f := range fields {
		list[i] = columns.Column{Name: f.name, Kind: f.kind, Nullable: f.nullable}
	}
	var out bytes.Buffer
	w := columns.New(format, &out, list, about...)
	for _, r := range rows {
		v := reflect.ValueOf(r)
		for _, f := range fields {
			putValue(w, f.kind, v.FieldByIndex(f.index))
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func putValue(w *columns.Writer, kind columns.Kind, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			w.Null()
			return
		}
		v = v.Elem()
	}
	switch kind {
	case columns.Text:
		w.Text(v.String())
	case columns.Date:
		w.Date(v.String())
	case columns.Number:
		w.Number(v.Float())
	case columns.Bool:
		w.Bool(v.Bool())
	case columns.Integer:
		w.Integer(v.Int())
	case columns.Instant:
		w.Instant(v.Interface().(time.Time))
	}
}

func cell(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch of := v.Interface().(type) {
	case time.Time:
		return of.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(of, 'f', -1, 64)
	case string:
		return escapeFormula(of)
	default:
		if v.Kind() == reflect.String {
			return escapeFormula(v.String())
		}
		return fmt.Sprint(of)
	}
}

// escapeFormula prevents a spreadsheet from interpreting a text as a formula.
func escapeFormula(s string) string {
	if s == "" || !strings.Contains("=+-@\t\r", s[:1]) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	return "'" + s
}
