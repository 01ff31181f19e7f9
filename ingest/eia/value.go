package eia

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/series"
)

// markers are the signs that EIA's tables print instead of a number: withheld, not available, no data reported, not applicable.
var markers = map[string]bool{"W": true, "NA": true, "-": true, "--": true, "- -": true}

// clean collapses white space, hard blanks included, to single blanks and trims it.
func clean(s string) string {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return s
}

// parseValue reads a cleaned token of a table: a number, with or without thousands separators and of either sign, or a marker.
// Anything else is an error that names the token.
func parseValue(token string) (value float64, marker string, err error) {
	if !isNumber(token) {
		if markers[token] {
			return 0, token, nil
		}
		return 0, "", fmt.Errorf("%.60q is neither a number nor a marker", token)
	}
	value, err = strconv.ParseFloat(strings.ReplaceAll(token, ",", ""), 64)
	if err != nil {
		return 0, "", fmt.Errorf("read number %.60q: %w", token, err)
	}
	return value, "", nil
}

// isNumber reports whether a token is a decimal number: digits, all of them or none grouped in threes by commas. It may have a sign before
// and a fraction after them.
func isNumber(token string) bool {
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(token, "-"), ".")
	if dotted && !isDigits(fraction) {
		return false
	}
	first, groups, grouped := strings.Cut(whole, ",")
	if !isDigits(first) || grouped && len(first) > 3 {
		return false
	}
	for grouped {
		var group string
		if group, groups, grouped = strings.Cut(groups, ","); len(group) != 3 || !isDigits(group) {
			return false
		}
	}
	return true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// formatValue prints a value as the series' table does, which must be able to state it exactly.
func (h history) formatValue(v float64, separators bool) (string, error) {
	text := strconv.FormatFloat(v, 'f', h.decimals, 64)
	if again, err := strconv.ParseFloat(text, 64); err != nil || again != v || math.IsInf(v, 0) {
		return "", fmt.Errorf("%v cannot be printed with %d decimals", v, h.decimals)
	}
	if !separators {
		return text, nil
	}
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction := text, ""
	if dot := strings.IndexByte(text, '.'); dot >= 0 {
		whole, fraction = text[:dot], text[dot:]
	}
	var b bytes.Buffer
	for i, digit := range []byte(whole) {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digit)
	}
	return sign + b.String() + fraction, nil
}

// checkDay refuses dates that a weekly series cannot have: its weeks end on Fridays. Another weekday is the mark of a misread
// year. Of daily series every date is taken: EIA has stated values of Sundays, and withdrawn them.
func (g group) checkDay(day time.Time) error {
	if weekday := day.Weekday(); g.frequency == "weekly" && weekday != time.Friday {
		return fmt.Errorf("%s is a %s, not the Friday that ends a week", day.Format(time.DateOnly), weekday)
	}
	return nil
}

// readings collects readings and refuses two of one date.
type readings struct {
	list []series.Reading
	// seen finds the readings by date. It is made when one comes that is not later than all before.
	seen map[time.Time]int
}

// add appends a reading. A reading equal to the known one of its date is left out; a contradicting one is an error.
func (r *readings) add(v series.Reading) error {
	if n := len(r.list); r.seen == nil && (n == 0 || v.ObservedAt.After(r.list[n-1].ObservedAt)) {
		r.list = append(r.list, v)
		return nil
	}
	if r.seen == nil {
		r.seen = make(map[time.Time]int, len(r.list))
		for i, known := range r.list {
			r.seen[known.ObservedAt] = i
		}
	}
	if i, twice := r.seen[v.ObservedAt]; twice {
		if r.list[i] == v {
			return nil
		}
		return fmt.Errorf("two values for %s", v.ObservedAt.Format(time.DateOnly))
	}
	r.seen[v.ObservedAt] = len(r.list)
	r.list = append(r.list, v)
	return nil
}
