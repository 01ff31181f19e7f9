package picks

import (
	"strings"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/locale"
)

// line is a figure of a company's reports that cards compare with the report before.
type line struct {
	id     string
	figure Figure
	// ratio reports whether the figure is a fraction, and not an amount.
	ratio bool
}

// lines are the figures of the newest report. Figures without a meaning in the line of business are left out.
func (s *Score) lines() []line {
	list := []line{{"revenue", s.Revenue.with(s.Income), false}}
	if s.metric(GrossProfitability).Applies {
		list = append(list, line{"gross_margin", s.GrossProfit.with(s.Revenue).over(s.Revenue), true})
	}
	list = append(list, line{"net_income", s.Income, false}, line{"net_margin", s.Income.over(s.Revenue.with(s.Income)), true})
	if !financial(s.SIC) {
		list = append(list, line{"free_cash_flow", s.CashFlow.minus(s.Spending.with(s.CashFlow)).with(s.Income), false})
	}
	if s.metric(LowDebt).Applies {
		list = append(list, line{"debt_ratio", s.debtRatio(), true})
	}
	return list
}

// beforeLastReport scores the company by the filings of the day before the newest report on the income was filed. It reports false if they
// said too little.
func (s *Score) beforeLastReport() (Score, bool) {
	var facts []equity.Fact
	var filed time.Time
	for _, list := range s.Book.stated {
		facts = append(facts, list...)
	}
	for _, f := range s.Income.From {
		if f.Filed.After(filed) {
			filed = f.Filed
		}
	}
	before := newScore(s.company, filed)
	if err := before.readBook(Candidate{Facts: facts}, filed, DefaultRules()); err != nil {
		return Score{}, false
	}
	return before, before.Income.Over.End.Before(s.Income.Over.End)
}

// minChanged is the smallest number of lines with which a card compares two reports.
const minChanged = 2

// changed adds the figures of the report before, each under its name with "_before".
func (w *briefWriter) changed() {
	before, ok := w.score.beforeLastReport()
	if !ok {
		return
	}
	known := map[string]line{}
	for _, l := range w.score.lines() {
		known[l.id] = l
	}
	var list []line
	for _, l := range before.lines() {
		// Some lines of the balance are stated once a year. A column is of one date, so an older balance has no place in it.
		if l.figure.Over.End.Equal(before.Income.Over.End) && known[l.id].figure.Over.End.Equal(w.score.Income.Over.End) {
			list = append(list, l)
		}
	}
	if len(list) < minChanged {
		return
	}
	w.facts().date("before_to", before.Income.Over.End)
	for _, l := range list {
		if l.ratio {
			w.ratio(l.id+"_before", l.figure)
		} else {
			w.amount(l.id+"_before", l.figure)
		}
		w.brief.changes = append(w.brief.changes, l.id)
	}
}

// changesTable is the table of the changes by the last report, line by line: the figure by the report before, and now.
func (b Brief) changesTable(w *textWriter) string {
	heading := func(id string) string {
		d, _ := b.Facts.Find(id)
		return w.fact(Datum{ID: id, Value: d.Value, Unit: locale.Date})
	}
	var rows strings.Builder
	rows.WriteString("| " + w.paragraph("table.measure") + " | " + heading("before_to") + " | " + heading("income_to") + " |\n|:---|---:|---:|")
	for _, id := range b.changes {
		before, _ := b.Facts.Find(id + "_before")
		now, _ := b.Facts.Find(id)
		rows.WriteString("\n| " + w.paragraph(b.debtPhrase("label."+id)) + " | " + w.fact(before) + " | " + w.fact(now) + " |")
	}
	return rows.String()
}
