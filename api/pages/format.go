package pages

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

var functions = template.FuncMap{
	"number":  number,
	"signed":  signed,
	"instant": instant,
	"rfc3339": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"hours":   hours,
	"short":   func(sha256 string) string { return sha256[:min(len(sha256), 12)] },
}

const unknown = "unknown"

// number writes a number for a reader: at least four significant digits, thousands apart, never an exponent unless it is tiny.
func number(f *float64) string {
	if f == nil {
		return unknown
	}
	v := *f
	abs := math.Abs(v)
	if abs != 0 && abs < 1e-6 {
		return strconv.FormatFloat(v, 'e', 3, 64)
	}
	decimals := 2
	if abs != 0 {
		decimals = min(max(3-int(math.Floor(math.Log10(abs))), 0), 9)
	}
	s := strconv.FormatFloat(abs, 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	if v < 0 {
		return "−" + whole
	}
	return whole
}

// signed writes a number with two decimals and its sign.
func signed(f *float64) string {
	if f == nil {
		return unknown
	}
	s := strconv.FormatFloat(math.Abs(*f), 'f', 2, 64)
	switch {
	case strings.Trim(s, "0.") == "":
		return s
	case *f < 0:
		return "−" + s
	}
	return "+" + s
}

// instant writes a time with its zone, and a midnight as the day that it stands for.
func instant(t time.Time) string {
	u := t.UTC()
	if u.Equal(u.Truncate(24 * time.Hour)) {
		return u.Format(time.DateOnly)
	}
	return u.Format("2006-01-02 15:04 UTC")
}

// hours writes a number of seconds in hours, or in days where it is some.
func hours(seconds int64) string {
	if seconds >= 2*86400 && seconds%86400 == 0 {
		return fmt.Sprintf("%d days", seconds/86400)
	}
	return strconv.FormatFloat(float64(seconds)/3600, 'f', -1, 64) + " hours"
}

// markdown renders a brief. What is HTML already inside it is left out, and cells are aligned without a style, which the content security policy
// would refuse.
func markdown(text string) template.HTML {
	var out bytes.Buffer
	md := goldmark.New(goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
	))
	if err := md.Convert([]byte(text), &out); err != nil {
		panic(fmt.Errorf("render Markdown: %w", err)) // memory does not fail
	}
	return template.HTML(out.String())
}
