package picks

import (
	"slices"
	"strings"
	"time"

	"tidemark/internal/locale"
)

// tableRows are the facts in the table of figures, in its order, if they are known.
var tableRows = []string{
	"price", "market_value", "revenue", "revenue_growth", "gross_margin", "net_income", "net_margin", "free_cash_flow", "funds", "pe", "price_to_tangible",
	"provisions", "combined_ratio", "return_on_equity", "debt_ratio", "fscore", "momentum", "volatility",
}

// full is the whole research in Markdown: the other texts under headings, the table of figures with their dates, the points against the
// company, and the sources of the figures.
func (b Brief) full(w *textWriter, t Texts) string {
	var doc strings.Builder
	section := func(head, body string) {
		doc.WriteString("## " + w.paragraph(head) + "\n\n" + body + "\n\n")
	}
	section("head.summary", t.SummaryWhy)
	section("head.business", t.WhatItDoes)
	section("head.figures", b.table(w))
	if len(b.changes) > 0 {
		section("head.changed", b.changesTable(w))
	}
	if b.picked {
		section("head.why", t.WhyChosen)
	} else {
		section("head.for", t.WhyChosen)
	}
	section("head.against", w.paragraph(b.objections()...))
	section("head.risk", t.MainRisk)
	section("head.sources", w.paragraph(b.origin()...))
	doc.WriteString("*" + w.paragraph("disclaimer") + "*\n")
	return doc.String()
}

// origin is where the figures are from.
func (b Brief) origin() []string {
	phrases := b.listed("sources.annual", "sources.latest", "sources.next", "sources.revenue", "sources.prices", "sources.method", b.weightsPhrase())
	annual, _ := b.Facts.Find("annual_filed")
	if latest, _ := b.Facts.Find("latest_filed"); latest.Source == annual.Source {
		phrases = slices.DeleteFunc(phrases, func(p string) bool { return p == "sources.latest" })
	}
	return phrases
}

// weightsPhrase is the phrase for the cases of other weights in which the pick stays.
func (b Brief) weightsPhrase() string {
	tried, _ := b.Facts.Find("weights_tried")
	switch {
	case b.isZero("weights_same"):
		return "sources.weights.none"
	case b.tells("weights_same", tried):
		return "sources.weights.all"
	default:
		return "sources.weights"
	}
}

// table is the table of figures.
func (b Brief) table(w *textWriter) string {
	var rows strings.Builder
	rows.WriteString("| " + w.paragraph("table.measure") + " | " + w.paragraph("table.value") + " | " + w.paragraph("table.date") + " |\n")
	rows.WriteString("|:---|---:|:---|")
	for _, id := range tableRows {
		d, ok := b.Facts.Find(id)
		if !ok {
			continue
		}
		value := w.fact(d)
		if known, ok := b.Facts.Find("fscore_known"); ok && id == "fscore" {
			value += " / " + w.fact(known)
		}
		date := Datum{ID: id, Value: d.AsOf.Format(time.DateOnly), Unit: locale.Date}
		rows.WriteString("\n| " + w.paragraph(b.debtPhrase("label."+id)) + " | " + value + " | " + w.fact(date) + " |")
	}
	return rows.String()
}

// fact writes one fact alone.
func (p *textWriter) fact(d Datum) string {
	s, err := format(p.lang, d)
	if p.err == nil {
		p.err = err
	}
	return s
}
