package picks

import (
	"fmt"
	"strconv"

	"tidemark/internal/equity"
	"tidemark/internal/locale"
)

// parts adds the facts that a figure was computed from, each exactly as its filing states it and with that filing as the source. Their order
// is that of the formula: twelve months are a year, the months since, and the same months of that year, which are subtracted. A figure that is
// one fact has its own source.
func (w *briefWriter) parts(id string, facts []equity.Fact) {
	if len(facts) < 2 {
		return
	}
	for i, f := range facts {
		d := Datum{ID: fmt.Sprintf("%s_part_%d", id, i+1), AsOf: f.End, Source: w.source(f), Unit: locale.Count, Value: strconv.FormatFloat(f.Value, 'f', -1, 64)}
		if f.Unit == "USD" {
			d.Unit, d.Value = locale.Millions, strconv.FormatFloat(f.Value/1e6, 'f', -1, 64)
		}
		*w.facts() = append(*w.facts(), d)
	}
}

// incomes are the stated net incomes of the last fiscal years.
func (b *Financials) incomes() (facts []equity.Fact) {
	for _, year := range b.years[:min(len(b.years), usualYears)] {
		facts = append(facts, b.over(netIncome, year).From...)
	}
	return facts
}
