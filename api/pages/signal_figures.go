package pages

import (
	"fmt"
	"html/template"
	"strings"

	"tidemark/signals"
)

// How pages write the figures of signals: values, bounds, units and differences.

// Figure writes a value of a signal, or a pointer to one, without its unit. d is a definition from Own.
func (l localizer) Figure(d signals.Definition, v any) string {
	if _, ok := l.texts(d); !ok {
		return figure(d, v)
	}
	value := valueOf(v)
	if value != value {
		return l.T("unknown")
	}
	text := l.Num(new(value/d.Scale()), d.Phrasing.Decimals)
	if number, negative := strings.CutPrefix(text, "−"); negative {
		return "−" + d.Prefix() + number
	}
	return d.Prefix() + text
}

// Bounds writes the bounds of a value, each a number or a pointer to one.
func (l localizer) Bounds(d signals.Definition, value, lo, hi any) string {
	if low, high := valueOf(lo), valueOf(hi); low == low && high == high {
		return l.Between(l.Figure(d, lo), l.Figure(d, hi))
	}
	return l.lacking(value)
}

// Baseline writes the baseline of a value, and Score its z-score, each a number or a pointer to one.
func (l localizer) Baseline(d signals.Definition, value, baseline any) string {
	if finite(valueOf(baseline)) == nil {
		return l.lacking(value)
	}
	return l.Figure(d, baseline)
}

func (l localizer) Score(value, z any) string {
	if finite(valueOf(z)) == nil {
		return l.lacking(value)
	}
	return l.Z(z)
}

// lacking stands for a number of a value that there is none of. A known value without bounds has no interval, as a final has none. One
// without a baseline has too few values before it. These are not unknown: what follows from an unknown value is.
func (l localizer) lacking(value any) string {
	if finite(valueOf(value)) != nil {
		return l.T("signal.not applicable")
	}
	return l.T("unknown")
}

// BoundsInWords writes the bounds of a value with its unit.
func (l localizer) BoundsInWords(d signals.Definition, value, lo, hi any) string {
	if low, high := valueOf(lo), valueOf(hi); low == low && high == high {
		return forecastUnit{l, d}.between(low, high)
	}
	return l.Bounds(d, value, lo, hi)
}

// Bound writes one bound of a value, or its baseline, for a cell of a table.
func (l localizer) Bound(d signals.Definition, value, bound any) template.HTML {
	return l.cell(value, bound, l.Figure(d, bound))
}

// ScoreCell writes the z-score of a value for a cell of a table.
func (l localizer) ScoreCell(value, z any) template.HTML { return l.cell(value, z, l.Z(z)) }

// cell writes a number of a value as a text, or the sign for a cell that has no number.
func (l localizer) cell(value, number any, text string) template.HTML {
	if finite(valueOf(number)) == nil && finite(valueOf(value)) != nil {
		return l.None()
	}
	return template.HTML(template.HTMLEscapeString(text)) //nolint:gosec // escaped
}

// FigureUnit returns the words after a figure. Without such words, it returns the signal's unit.
func (l localizer) FigureUnit(d signals.Definition) string {
	if unit := d.FigureUnit(); unit != "" {
		return unit
	}
	return d.Unit
}

// UnitBefore returns the words that all figures of a signal follow: "index". It is empty for other figures, whose words are after the number.
func (l localizer) UnitBefore(d signals.Definition) string {
	before, after, _ := strings.Cut(d.Phrasing.Figure, "%s")
	if after != "" || !strings.HasSuffix(before, " ") {
		return ""
	}
	return strings.TrimSpace(before)
}

// Large writes a value in large letters, and its unit in small ones on the side where a sentence has it.
func (l localizer) Large(d signals.Definition, v *float64) template.HTML {
	number := template.HTMLEscapeString(l.Figure(d, v))
	if v == nil {
		return template.HTML("<data>" + number + "</data>") //nolint:gosec // escaped
	}
	number = `<data value="` + template.HTMLEscapeString(fmt.Sprint(*v)) + `">` + number + "</data>"
	unit := func(words string) string { return `<span class="unit">` + template.HTMLEscapeString(words) + "</span>" }
	if before := l.UnitBefore(d); before != "" {
		return template.HTML(unit(before) + " " + number) //nolint:gosec // escaped
	}
	return template.HTML(number + " " + unit(l.UnitAfter(d, v))) //nolint:gosec // escaped
}

// UnitAfter returns the words after a value, a number or a pointer to one: after a number that takes the singular they are in the singular.
func (l localizer) UnitAfter(d signals.Definition, v any) string {
	if value := valueOf(v); value == value && l.language().Singular(strings.Trim(l.Figure(d, value), "−"+d.Prefix())) {
		return l.OneUnit(d)
	}
	return l.FigureUnit(d)
}

// OneUnit returns the words after a number that takes the singular.
func (l localizer) OneUnit(d signals.Definition) string {
	if d.Phrasing.One != "" {
		d.Phrasing.Figure = d.Phrasing.One
	}
	return l.FigureUnit(d)
}

// Measure names a signal with the unit of its figures: "US crude oil stocks, million barrels", "3:2:1 crack spread, $ a barrel".
func (l localizer) Measure(d signals.Definition) string { return d.Name + ", " + l.MeasureUnit(d) }

// MeasureUnit names the unit of a signal's figures: "million barrels", "$ a barrel".
func (l localizer) MeasureUnit(d signals.Definition) string {
	return strings.TrimSpace(strings.TrimSpace(d.Prefix()) + " " + l.FigureUnit(d))
}

// Difference writes by how much a value of a signal is above another, with its sign. It is the difference of the two as they are shown.
func (l localizer) Difference(d signals.Definition, value, other any) string {
	v := d.Apart(valueOf(value), valueOf(other))
	if _, ok := l.texts(d); !ok {
		return d.Signed(v)
	}
	text := l.Figure(d, v)
	if v > 0 && text != l.Figure(d, 0.0) {
		return "+" + text
	}
	return text
}
