package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/internal/telemetry"
)

// format is the output format of a command.
type format struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// table is the output of a list command: cells below columns. A nil pointer and an empty string are unknown values.
type table struct {
	columns []string
	rows    [][]any
}

func newTable(columns ...string) *table { return &table{columns: columns} }

func (t *table) add(cells ...any) { t.rows = append(t.rows, cells) }

// list prints a table: columns for people, or an array of objects.
func (f format) list(out io.Writer, t *table) error {
	if f.JSON {
		objects := make([]object, len(t.rows))
		for i, row := range t.rows {
			objects[i] = object{t.columns, row}
		}
		return writeJSON(out, objects)
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, strings.ToUpper(strings.Join(t.columns, "\t")))
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = strings.Join(strings.Fields(cell(c)), " ")
		}
		_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// show prints the only row of a table: a line for each column for people, or an object.
func (f format) show(out io.Writer, t *table) error {
	if f.JSON {
		return writeJSON(out, object{t.columns, t.rows[0]})
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for i, name := range t.columns {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", name, cell(t.rows[0][i]))
	}
	return w.Flush()
}

func writeJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// cut is a text that a list truncates.
type cut struct{ text *string }

// percent is a change in percent.
type percent float64

// object is a row that keeps the order of its columns in JSON.
type object struct {
	columns []string
	cells   []any
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, name := range o.columns {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		value := o.cells[i]
		switch v := value.(type) {
		case time.Duration:
			value = telemetry.Duration(v)
		case cut:
			value = v.text
		case time.Time:
			value = v.UTC()
		case *time.Time:
			if v != nil {
				value = v.UTC()
			}
		}
		key, err := json.Marshal(strings.ReplaceAll(name, " ", "_"))
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		b.Write(append(append(key, ':'), text...))
	}
	b.WriteString("}")
	return b.Bytes(), nil
}

// cell formats a value for people.
func cell(v any) string {
	switch v := v.(type) {
	case time.Time:
		return instant(&v)
	case *time.Time:
		return instant(v)
	case *int64:
		return count(v)
	case *string:
		return deref(v)
	case *bool:
		if v == nil {
			return dash("")
		}
		return map[bool]string{true: "yes", false: "no"}[*v]
	case percent:
		return fmt.Sprintf("%+.2f", float64(v))
	case cut:
		return brief(deref(v.text))
	case string:
		return dash(v)
	case time.Duration:
		return telemetry.Duration(v)
	}
	return fmt.Sprint(v)
}

// counted returns a number with its noun: 1 answer, 2 answers.
func counted[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if stem, ok := strings.CutSuffix(one, "ch"); ok {
		one = stem + "che"
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// maxCell is how many characters of a cell a list shows.
const maxCell = 120

// brief joins a text to one line, and truncates a long one.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxCell {
		text = string(r[:maxCell-3]) + "..."
	}
	return text
}
