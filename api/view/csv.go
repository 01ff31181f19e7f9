package view

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// csvOf returns rows as CSV (RFC 4180). The header row contains the JSON names. It omits members that are lists or objects. An unknown
// value is an empty cell.
func csvOf[S any](rows []S) []byte {
	fields := columnsOf(reflect.TypeFor[S]())
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	record := make([]string, len(fields))
	for i, f := range fields {
		record[i] = f.name
	}
	_ = w.Write(record) // writing to memory cannot fail
	for _, r := range rows {
		v := reflect.ValueOf(r)
		for i, f := range fields {
			record[i] = cell(v.FieldByIndex(f.index))
		}
		_ = w.Write(record)
	}
	w.Flush()
	return out.Bytes()
}

type csvColumn struct {
	name  string
	index []int
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
		list = append(list, csvColumn{name, f.Index})
	}
	return list
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
