package signals

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Phrasing defines the wording of a signal's value in an English sentence.
type Phrasing struct {
	// Short names the signal in one to four words.
	Short string
	// Figure has one %s for the number: "%s ships a day", "$%s a barrel".
	Figure string
	// One is Figure for exactly one: "%s ship a day". It is empty if the words are the same.
	One string
	// PerUnit is how many of the signal's units one of the figure's is. Zero is one.
	PerUnit float64
	// Decimals is the number of decimals of a figure.
	Decimals int
	// Normal is the name of the baseline after "above" and "below".
	Normal string
	// Seasonal reports whether the baseline depends on the time of year.
	Seasonal bool
}

// Finding is the meaning of a value, in three parts: "Hormuz", "112 ships a day", "31% above normal for mid-November".
type Finding struct {
	// Short names the signal.
	Short string
	// Figure is the value with its unit.
	Figure string
	// Distance is the distance of the value from its baseline. It is empty if that is unknown.
	Distance string
}

// String joins the parts: "Hormuz: 112 ships a day, 31 % above normal for mid-November". The zero Finding is the empty string.
func (f Finding) String() string {
	switch {
	case f.Figure == "":
		return ""
	case f.Distance == "":
		return f.Short + ": " + f.Figure
	}
	return f.Short + ": " + f.Figure + ", " + f.Distance
}

// Finding returns the meaning of a value compared with its baseline. A margin's distance is in its own unit, any other's in percent. The
// distance is empty if the baseline is NaN or allows no percentage. The finding of a NaN is the zero Finding.
func (d Definition) Finding(value, baseline float64, observed time.Time) Finding {
	if value != value {
		return Finding{}
	}
	return Finding{d.Phrasing.Short, d.Phrasing.figure(value), d.distance(value, baseline, observed)}
}

func (d Definition) distance(value, baseline float64, observed time.Time) string {
	p := d.Phrasing
	normal := p.Normal
	if p.Seasonal {
		normal += " for " + d.timeOfYear(observed)
	}
	side := " above "
	if value < baseline {
		side = " below "
	}
	switch distance, pct := math.Abs(d.Apart(value, baseline)), math.Abs(deltaPct(value, baseline)); {
	case baseline != baseline || !d.Margin && pct != pct:
		return ""
	case d.Margin && p.number(distance) != p.number(0):
		return d.Number(distance) + side + normal
	case !d.Margin && pct >= 0.95:
		return strconv.FormatFloat(pct, 'f', 0, 64) + "%" + side + normal
	case !d.Margin && pct >= 0.05:
		return strconv.FormatFloat(pct, 'f', 1, 64) + "%" + side + normal
	}
	return "at " + normal
}

// figure writes a value with its unit. A minus sign comes first, also before a currency.
func (p Phrasing) figure(v float64) string {
	form := p.Figure
	if p.One != "" && p.number(v) == "1" {
		form = p.One
	}
	s := fmt.Sprintf(form, p.number(v))
	if v < 0 && p.number(v) != p.number(0) {
		return "−" + s
	}
	return s
}

// Number writes a value as a figure without its unit: "−$0.36", "421.1". It is "unknown" for a NaN.
func (d Definition) Number(v float64) string {
	if v != v {
		return "unknown"
	}
	prefix, _ := d.Phrasing.parts()
	if s := d.Phrasing.number(v); v < 0 && s != d.Phrasing.number(0) {
		return "−" + prefix + s
	}
	return prefix + d.Phrasing.number(v)
}

// Apart is a value less another, both as a figure shows them: a reader who subtracts the two shown numbers finds the shown difference. It is NaN
// if one is.
func (d Definition) Apart(value, other float64) float64 {
	return (d.Phrasing.shown(value) - d.Phrasing.shown(other)) * d.Scale()
}

// Signed is Number of a difference: one above zero has a plus.
func (d Definition) Signed(v float64) string {
	if v > 0 && d.Phrasing.number(v) != d.Phrasing.number(0) {
		return "+" + d.Number(v)
	}
	return d.Number(v)
}

// Prefix returns the text before the number of a figure: a currency sign, or nothing.
func (d Definition) Prefix() string {
	prefix, _ := d.Phrasing.parts()
	return prefix
}

// FigureUnit is the unit of a figure in words: "million barrels", "a barrel" after a sign of currency.
func (d Definition) FigureUnit() string {
	_, unit := d.Phrasing.parts()
	return unit
}

// Scale is how many of the signal's units one of the figure's is.
func (d Definition) Scale() float64 {
	if d.Phrasing.PerUnit == 0 {
		return 1
	}
	return d.Phrasing.PerUnit
}

// parts returns the text that precedes a figure's number without a blank, and the words around it.
func (p Phrasing) parts() (prefix, unit string) {
	before, after, _ := strings.Cut(p.Figure, "%s")
	if strings.HasSuffix(before, " ") {
		return "", strings.TrimSpace(before + after)
	}
	return before, strings.TrimSpace(after)
}

// number writes the magnitude of a value, thousands apart.
func (p Phrasing) number(v float64) string {
	s := strconv.FormatFloat(math.Abs(p.shown(v)), 'f', p.Decimals, 64)
	whole, rest, fraction := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction {
		return whole + "." + rest
	}
	return whole
}

// shown is the number of a figure: a value in the figure's unit, rounded to its decimals.
func (p Phrasing) shown(v float64) float64 {
	if p.PerUnit != 0 {
		v /= p.PerUnit
	}
	return Rounded(v, p.Decimals)
}

// Rounded returns a number with as many decimals as texts write, rounded as they do: the digits of strconv.FormatFloat.
func Rounded(v float64, decimals int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
	if err != nil {
		return v // cannot happen: the text is a number
	}
	return rounded
}

// timeOfYear names the month of a monthly signal, and a third of a month of any other, in UTC.
func (d Definition) timeOfYear(t time.Time) string {
	t = t.UTC()
	switch month := t.Month().String(); {
	case d.Frequency == "monthly":
		return month
	case t.Day() <= 10:
		return "early " + month
	case t.Day() <= 20:
		return "mid-" + month
	default:
		return "late " + month
	}
}
