package picks

import (
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/locale"
)

// briefWriter fills a brief.
type briefWriter struct {
	brief   *Brief
	score   Score
	filings []equity.Filing
	day     time.Time
}

func (w *briefWriter) facts() *Data { return &w.brief.Facts }

// names adds who the company is and what it costs.
func (w *briefWriter) names(r Ranking) {
	s, d := w.score, w.facts()
	d.word("name", s.Name, locale.Name)
	d.word("ticker", s.Ticker, locale.Name)
	d.word("exchange", exchangeNames[s.Exchange], locale.Name)
	d.word("sector", "sector."+string(s.Sector), locale.Term)
	d.word("industry", "industry."+industryOf(s.SIC).id, locale.Term)
	if s.Country != "" {
		d.word("country", "country."+s.Country, locale.Term)
	}
	d.date("pick_date", r.Day)
	*d = append(*d, Datum{ID: "price", Value: string(s.Price), Unit: locale.Dollars, AsOf: r.Day, Source: -1})
	if w.brief.picked {
		d.add("rank", float64(s.Rank), 0, locale.Count, r.Day, -1)
	}
	d.add("universe", float64(len(r.Scores)), 0, locale.Count, r.Day, -1)
}

// figures adds the amounts of the last twelve months and of the balance.
func (w *briefWriter) figures() {
	s, d := w.score, w.facts()
	d.date("income_to", s.Income.Over.End)
	w.amount("net_income", s.Income)
	w.amount("revenue", s.Revenue.with(s.Income))
	if s.Revenue.with(s.Income).Known() {
		w.basis("revenue", s.Revenue)
	}
	if !financial(s.SIC) {
		w.amount("cash_flow", s.CashFlow.with(s.Income))
		w.amount("free_cash_flow", s.CashFlow.minus(s.Spending.with(s.CashFlow)).with(s.Income))
	}
	if usual, ok := s.Book.usualIncome(); ok && s.depressed() {
		d.dollars("usual_income", usual, s.Book.years[0].End, -1)
		w.parts("usual_income", s.Book.incomes())
	}
	w.basis("shares", s.MarketValue)
	d.dollars("market_value", s.MarketValue.Value, w.day, w.source(s.MarketValue.From...))
	w.parts("market_value", s.MarketValue.From)
	if year := s.FScore.Year; !year.End.IsZero() {
		d.date("year_end", year.End)
	}
	w.report("annual", func(f equity.Fact) bool { return annualForms[f.Form] })
	w.report("latest", func(equity.Fact) bool { return true })
}

// report adds form and date of the newest report of a kind that a figure was taken from.
func (w *briefWriter) report(id string, kind func(equity.Fact) bool) {
	var newest equity.Fact
	for _, m := range w.score.Metrics {
		for _, f := range m.Facts {
			if kind(f) && (f.Filed.After(newest.Filed) || f.Filed.Equal(newest.Filed) && f.Accession > newest.Accession) {
				newest = f
			}
		}
	}
	if newest.Form != "" {
		*w.facts() = append(*w.facts(), Datum{ID: id + "_form", Value: newest.Form, Unit: locale.Name, AsOf: newest.Filed, Source: w.source(newest)})
		*w.facts() = append(*w.facts(), Datum{ID: id + "_filed", Value: newest.Filed.Format(time.DateOnly), Unit: locale.Date, AsOf: newest.Filed, Source: w.source(newest)})
	}
}

// amount adds a sum of money.
func (w *briefWriter) amount(id string, f Figure) {
	if f.Known() {
		w.facts().dollars(id, f.Value, f.Over.End, w.source(f.From...))
		w.parts(id, f.From)
	}
}

// basis adds under which tags a figure is stated, and why these count.
func (w *briefWriter) basis(id string, f Figure) {
	if !f.Known() {
		return
	}
	var tags []string
	for _, x := range f.From {
		if !slices.Contains(tags, x.Tag) {
			tags = append(tags, x.Tag)
		}
	}
	w.facts().word(id+"_tag", strings.Join(tags, ", "), locale.Name)
	if f.Why != "" {
		w.facts().word(id+"_basis", "basis."+string(f.Why), locale.Term)
	}
}

// ratio adds a figure that is a fraction as a percentage.
func (w *briefWriter) ratio(id string, f Figure) {
	if f.Known() {
		w.facts().percent(id, f.Value, f.Over.End, w.source(f.From...))
	}
}

// source is the index of the newest filing among the filings of the facts. A new filing is added to the sources.
func (w *briefWriter) source(facts ...equity.Fact) int {
	var newest equity.Fact
	for _, f := range facts {
		if f.Filed.After(newest.Filed) {
			newest = f
		}
	}
	if newest.Accession == "" {
		return -1
	}
	source := Source{Title: "Form " + newest.Form + ", " + newest.Filed.Format(time.DateOnly)}
	for _, f := range w.filings {
		if f.Accession == newest.Accession {
			source.URL, source.RetrievedAt = f.URL, f.AcceptedAt
		}
	}
	if source.URL == "" {
		source.Title += ", " + newest.Accession
	}
	if i := slices.Index(w.brief.Sources, source); i >= 0 {
		return i
	}
	w.brief.Sources = append(w.brief.Sources, source)
	return len(w.brief.Sources) - 1
}

// minDaysApart is from how many days on the lengths of two quarters are told: a leap day makes no difference, a 53rd week does.
const minDaysApart = 4

// growth adds how revenue changed over the fiscal year and over the newest quarter.
func (w *briefWriter) growth() {
	w.ratio("revenue_growth", w.score.revenueGrowth())
	now, before := w.score.lastQuarters()
	if !now.Known() {
		return
	}
	w.ratio("quarter_growth", now.minus(before).over(before))
	w.facts().date("quarter_to", now.Over.End)
	if days, then := now.Over.Days(), before.Over.Days(); abs(days-then) >= minDaysApart {
		w.facts().add("quarter_days", float64(days), 0, locale.Count, now.Over.End, -1)
		w.facts().add("quarter_days_before", float64(then), 0, locale.Count, before.Over.End, -1)
	}
}

// ratios adds the inputs of the metrics.
func (w *briefWriter) ratios() {
	s, d := w.score, w.facts()
	w.ratio("net_margin", s.Income.over(s.Revenue.with(s.Income)))
	if s.metric(GrossProfitability).Applies {
		w.ratio("gross_margin", s.GrossProfit.with(s.Revenue).over(s.Revenue))
	}
	if s.metric(LowDebt).Applies {
		w.ratio("debt_ratio", s.debtRatio())
		w.basis("debt", s.Debt)
	}
	for _, id := range []string{EarningsYield, CashYield, BookYield, OperatingYield, GrossProfitability, ReturnOnEquity, ReturnOnAssets, EquityToAssets, FundsYield} {
		if m := s.metric(id); m.Known() {
			asOf := w.day // a price has a part in it
			if m.Group == Quality {
				asOf = s.Income.Over.End
			}
			d.percent(id, m.Value, asOf, w.source(m.Facts...))
		}
	}
	w.lineFacts()
	if m := s.metric(EarningsYield); m.Known() && m.Value > 0 {
		d.add("pe", 1/m.Value, 1, locale.Times, w.day, w.source(m.Facts...))
	}
	if s.metric(FinancialStrength).Known() {
		facts := s.metric(FinancialStrength).Facts
		d.add("fscore", float64(s.FScore.Score), 0, locale.Count, s.FScore.Year.End, w.source(facts...))
		d.add("fscore_known", float64(s.FScore.Known), 0, locale.Count, s.FScore.Year.End, w.source(facts...))
	}
}

// market adds what prices and the comparison say.
func (w *briefWriter) market(r Ranking) {
	s, d := w.score, w.facts()
	if m := s.metric(PriceMomentum); m.Known() {
		d.percent("momentum", m.Value, m.To, -1)
		d.percent("sector_momentum", s.SectorMomentum, m.To, -1)
		d.date("momentum_from", m.From)
		d.date("momentum_to", m.To)
	}
	d.percent("volatility", s.Volatility, s.metric(LowVolatility).To, -1)
	for _, g := range scoreGroups {
		if !w.brief.picked {
			break // the weights are published: the four shares are nearly a rank
		}
		d.add(string(g)+"_ahead", aheadPercent(r.Scores, s, g), 0, locale.Percent, r.Day, -1)
	}
	unknown, measures := 0, 0
	for _, m := range s.Metrics {
		if m.Applies {
			measures++
			if !m.Known() {
				unknown++
			}
		}
	}
	d.add("unknown", float64(unknown), 0, locale.Count, r.Day, -1)
	d.add("measures", float64(measures), 0, locale.Count, r.Day, -1)
	if p, ok := s.Tilt.largest(); ok {
		d.word("signal", "signal."+p.Exposure.Signal, locale.Term)
		d.add("signal_z", p.Z, 1, locale.Deviations, r.Day, -1)
		if w.brief.signal = 1; p.Effect < 0 {
			w.brief.signal = -1
		}
	}
}

// aheadPercent is ahead in whole percent: 100 only for all of them, and zero only for none.
func aheadPercent(scores []Score, s Score, g Group) float64 {
	share := ahead(scores, s, g)
	if share > 0 && share < 1 {
		return min(max(math.Round(100*share), 1), 99)
	}
	return 100 * share
}

// ahead is the share of the other companies with a lower score in a group.
func ahead(scores []Score, s Score, g Group) float64 {
	if len(scores) < 2 {
		return math.NaN()
	}
	lower := 0
	for _, o := range scores {
		if o.Groups[g] < s.Groups[g] {
			lower++
		}
	}
	return float64(lower) / float64(len(scores)-1)
}

// largest is the signal with the largest effect, and whether there is one worth naming.
func (t Tilt) largest() (TiltPart, bool) {
	var best TiltPart
	for _, p := range t.Parts {
		if math.Abs(p.Effect) > math.Abs(best.Effect) {
			best = p
		}
	}
	return best, math.Abs(best.Z) >= 1
}
