package picks

import (
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// Brief is the source of a text about one company: the facts, the documents that contain them, and the points that the numbers support.
// It is the same for all languages, so that all name the same numbers. The rank of a company, overall or in a group of metrics, is a fact
// for the day's pick only: for other companies it would hint at later picks.
type Brief struct {
	Ticker, Name string
	Day          time.Time
	// Facts has every number that any text may name.
	Facts Data
	// Sources are the documents; Facts point into them.
	Sources []Source

	// lead and next are the groups that favour the company most; weak is the group that counts most against it. Empty means none.
	lead, next, weak Group
	// first reports of each group whether all other companies are behind.
	first map[Group]bool
	// last reports whether all other companies are better in the weak group.
	last bool
	// strong and poor are the metrics for and against the company, the clearest first.
	strong, poor []string
	// risk is the key of the main risk.
	risk string
	// signal is the sign of the effect of the most important of our own signals; zero if none is worth naming.
	signal int
	// financial reports whether the company is in finance, insurance or real estate. Such companies have other phrases.
	financial bool
	// trust reports whether it is a real estate investment trust, whose price is compared with funds from operations.
	trust bool
	// bookAndEarnings reports whether its price is compared with book value and earnings only, not also with cash flow and operating
	// income.
	bookAndEarnings bool
	// noted reports whether the debt is a total that a note states, and not the long-term debt of the balance sheet.
	noted bool
	// loses reports whether the company made a loss in the last twelve months.
	loses bool
	// allKnown reports of each group whether all its metrics are known: only then a text lists them.
	allKnown map[Group]bool
	// priceOnly reports whether the source of its prices states no dividends.
	priceOnly bool
	// spunOff reports whether the momentum counts shares of another company that were given away.
	spunOff bool
	// changes are the lines that the last report changed.
	changes []string
	// picked reports whether the company is the pick of the day, chosen whether an editor chose it.
	picked, chosen bool
	// variant chooses between phrases that say the same.
	variant int
}

// exchangeNames are the names of the covered exchanges.
var exchangeNames = map[string]string{"XNYS": "NYSE", "XNAS": "Nasdaq", "XASE": "NYSE American"}

// clear is how many standard deviations from the mean a metric must be to be worth a sentence.
const clear = 0.35

// NewBrief gathers what there is to say about one of the companies of a ranking. A fact whose filing is not in the background is cited
// without an address.
func NewBrief(r Ranking, s Score, background Background) Brief {
	b := Brief{Ticker: s.Ticker, Name: s.Name, Day: r.Day, financial: financial(s.SIC), trust: propertyTrust(s.SIC), bookAndEarnings: !applies(OperatingYield, s.SIC) || !applies(CashYield, s.SIC), priceOnly: s.PriceOnly, spunOff: s.SpunOff, picked: r.Pick != nil && r.Pick.CIK == s.CIK}
	b.chosen = b.picked && r.Chosen
	b.variant = int(s.CIK) + r.Day.YearDay()
	w := briefWriter{brief: &b, score: s, filings: background.Filings, day: r.Day}
	w.names(r)
	w.figures()
	w.growth()
	w.ratios()
	w.market(r)
	w.changed()
	w.valuation(background.History)
	w.peers(r.Scores)
	w.next()
	w.sensitivity(r)
	b.choose(s, r.Scores)
	return b
}

// Fundamentals are the few figures shown with a text. Unknown figures are NaN.
type Fundamentals struct {
	// MarketCapUSDBn is in billions of US dollars.
	MarketCapUSDBn, PE, RevenueGrowthPct float64
	// AsOf is the end of the newest report that they are made of.
	AsOf time.Time
}

// Fundamentals picks them out of a score, rounded to one decimal. A company with a loss has no price to earnings.
func (s Score) Fundamentals() Fundamentals {
	round := func(v float64) float64 { return math.Round(v*10) / 10 }
	f := Fundamentals{MarketCapUSDBn: round(s.MarketValue.Value / 1e9), PE: math.NaN(), RevenueGrowthPct: math.NaN(), AsOf: s.Income.Over.End}
	if m := s.metric(EarningsYield); m.Known() && m.Value > 0 {
		f.PE = round(1 / m.Value)
	}
	if growth := s.revenueGrowth(); growth.Known() {
		f.RevenueGrowthPct = round(100 * growth.Value)
	}
	return f
}

// revenueGrowth returns the revenue growth of the newest fiscal year.
func (s Score) revenueGrowth() Figure {
	if len(s.Book.years) < 2 {
		return Figure{}
	}
	now, before := s.Book.over(revenue, s.Book.years[0]), s.Book.over(revenue, s.Book.years[1])
	if !s.Book.comparable(revenue, now, before) {
		return Figure{}
	}
	return now.minus(before).over(before)
}

// The same quarter of the year before ended from minQuarterYear to maxQuarterYear days earlier: fiscal quarters end on a weekday, not on a date, and a
// fiscal year has 52 or 53 weeks. Real filings have 364, 365, 366 and 371 days.
const minQuarterYear, maxQuarterYear = 358, 372

// lastQuarters are the revenue of the newest quarter and of the same quarter of the year before, if both state the same thing. A quarter that a
// newer report has followed is not told.
func (s Score) lastQuarters() (now, before Figure) {
	now = s.Book.quarter(revenue, s.Revenue.Over.End)
	if !now.Known() || !now.Over.End.Equal(s.Income.Over.End) {
		return Figure{}, Figure{}
	}
	for days := minQuarterYear; days <= maxQuarterYear; days++ {
		before := s.Book.quarter(revenue, now.Over.End.AddDate(0, 0, -days))
		if now.minus(before).over(before).Known() && s.Book.comparable(revenue, now, before) {
			return now, before
		}
	}
	return Figure{}, Figure{}
}

// recovers reports whether revenue rose after the fiscal year: in the newest quarter, or in the twelve months to the newest report.
func (s Score) recovers(facts Data) bool {
	quarter, _ := facts.Find("quarter_growth")
	if len(s.Book.years) == 0 {
		return quarter.Number() > 0
	}
	year := s.Book.over(revenue, s.Book.years[0])
	return quarter.Number() > 0 || s.Revenue.Known() && year.Known() && s.Revenue.Value > year.Value
}

// A strength is what at most a third of the others match, and a weak point where at most a third of them are behind, in percent.
const strongAhead, weakAhead = 67, 33

// choose decides what is worth saying. scores are all companies compared.
func (b *Brief) choose(s Score, scores []Score) {
	weights := DefaultRules().weights()
	groups := slices.Clone(scoreGroups)
	slices.SortStableFunc(groups, func(x, y Group) int {
		return compareDown(weights[x]*s.Groups[x], weights[y]*s.Groups[y])
	})
	b.noted = s.Debt.Why == concepts.Total
	b.allKnown = s.allKnown()
	income, _ := b.Facts.Find("net_income")
	b.loses = income.Number() < 0 // as it is told
	if b.Facts.Has("quality_ahead") {
		ahead := func(g Group) float64 {
			d, _ := b.Facts.Find(string(g) + "_ahead")
			return d.Number()
		}
		for _, g := range groups {
			switch {
			case g == Quality && b.loses, s.Groups[g] <= 0, ahead(g) < strongAhead: // no quality of a business that loses money
			case b.lead == "":
				b.lead = g
			case b.next == "" && s.Groups[g] > clear:
				b.next = g
			}
		}
		b.first = map[Group]bool{}
		for _, g := range groups {
			b.first[g] = !slices.ContainsFunc(scores, func(o Score) bool { return o.CIK != s.CIK && o.Groups[g] >= s.Groups[g] })
		}
		if last := groups[3]; s.Groups[last] < -clear && ahead(last) <= weakAhead {
			b.weak = last
			b.last = !slices.ContainsFunc(scores, func(o Score) bool { return o.CIK != s.CIK && o.Groups[last] <= s.Groups[last] })
		}
	}
	metrics := slices.DeleteFunc(slices.Clone(s.Metrics), func(m Metric) bool { return math.IsNaN(m.Z) })
	slices.SortStableFunc(metrics, func(x, y Metric) int { return compareDown(x.Z, y.Z) })
	for _, m := range metrics {
		if m.Z > clear && s.supports(m, scores) {
			b.strong = append(b.strong, m.ID)
		}
	}
	for _, m := range slices.Backward(metrics) {
		if m.Z < -clear && s.speaksAgainst(m, scores) {
			b.poor = append(b.poor, m.ID)
		}
	}
	b.risk = mainRisk(s, b.Facts, b.strong)
	if b.risk == "market" && (b.weak != "" || b.objections()[0] != "against.none") {
		b.risk = "market.weak"
	}
}

// thinCash is the share of net income below which operating cash flow backs it poorly.
const thinCash = 0.8

// thinlyBacked reports whether operating cash flow is well below a positive net income.
func (s *Score) thinlyBacked() bool {
	return s.Income.Value > 0 && s.CashFlow.Value < float64(thinCash*s.Income.Value)
}

// supports reports whether a metric above its peers' mean is also a strength by its own figure. A text that says "than most" must be true of
// all compared companies. No text may call missing cash flow a backing, a minority of passed tests a strength, or a loss an advantage over
// larger losses.
func (s *Score) supports(m Metric, scores []Score) bool {
	switch m.ID {
	case PriceMomentum: // the text compares the share with its sector
		return m.Value > s.SectorMomentum
	case FinancialStrength:
		return m.Value > 0.5
	case CashBacking:
		return m.Value > 0 && s.CashFlow.Value > 0 && beatsMajority(scores, s.CIK, m, 1)
	case LowDebt: // a note's total may leave out what the balance sheet has under other tags
		return s.Debt.Why != concepts.Total && beatsMajority(scores, s.CIK, m, 1)
	case EarningsYield, CashYield, BookYield, TangibleYield, FundsYield, OperatingYield, GrossProfitability, ReturnOnEquity, ReturnOnAssets, EquityToAssets:
		return m.Value > 0 && beatsMajority(scores, s.CIK, m, 1)
	}
	return beatsMajority(scores, s.CIK, m, 1)
}

// speaksAgainst is the same for a metric below its peers' mean.
func (s *Score) speaksAgainst(m Metric, scores []Score) bool {
	switch m.ID {
	case PriceMomentum:
		return m.Value < s.SectorMomentum
	case FinancialStrength:
		return m.Value <= 0.5
	case CashBacking:
		return m.Value < 0 && (s.thinlyBacked() || s.Income.Value < 0 && s.CashFlow.Value < 0)
	}
	return beatsMajority(scores, s.CIK, m, -1)
}

// beatsMajority reports whether a company's metric is above that of more than half of the other companies that have it, or below it for a sign of -1.
func beatsMajority(scores []Score, cik equity.CIK, m Metric, sign float64) bool {
	beaten, others := 0, 0
	for i := range scores {
		if o := scores[i].metric(m.ID); scores[i].CIK != cik && o.Applies && o.Known() {
			others++
			if sign*m.Value > sign*o.Value {
				beaten++
			}
		}
	}
	return 2*beaten > others
}

// allKnown reports of each group whether all metrics that apply are known.
func (s *Score) allKnown() map[Group]bool {
	all := map[Group]bool{Quality: true, Value: true, Momentum: true, Risk: true}
	for _, m := range s.Metrics {
		if m.Applies && !m.Known() {
			all[m.Group] = false
		}
	}
	return all
}

// usualYears is the number of fiscal years whose median net income is the usual one; minUsualYears must be known.
const usualYears, minUsualYears = 5, 3

// usualIncome is the median net income of the last fiscal years, and whether enough are known.
func (b *Financials) usualIncome() (float64, bool) {
	var list []float64
	for _, f := range b.incomes() {
		list = append(list, f.Value)
	}
	if len(list) < minUsualYears {
		return 0, false
	}
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2, true
}

// depressed reports whether net income is positive, and less than half of the usual one. A high multiple of it says that the price counts on a
// recovery, and not that expectations are high.
func (s *Score) depressed() bool {
	usual, ok := s.Book.usualIncome()
	return ok && s.Income.Value > 0 && s.Income.Value < usual/2
}

func compareDown(x, y float64) int {
	switch {
	case x > y:
		return -1
	case x < y:
		return 1
	default:
		return 0
	}
}

// mainRisk returns the key of the main risk. Each risk is measured by how far it exceeds its threshold, and the largest counts. A loss
// comes before all others. A risk does not count if the figures say the opposite, or if its measure is one of the company's strong ones.
func mainRisk(s Score, facts Data, strong []string) string {
	value := func(id string) float64 {
		d, ok := facts.Find(id)
		if !ok {
			return math.NaN()
		}
		return d.Number()
	}
	z := func(id string) float64 { return s.metric(id).Z }
	unknown, measures := value("unknown"), value("measures")
	price := max(value("pe")/30-1, -z(EarningsYield)-1.5)
	// A measure that is only worse than that of the others is no risk if the figure in the text says the opposite: holds is false.
	risks := []struct {
		key   string
		above float64
		holds bool
	}{
		{"loss", loss(value("net_income")), !(value("free_cash_flow") > 0)},
		{"loss.funded", loss(value("net_income")), value("free_cash_flow") > 0},
		{"price", price, value("pe") >= 20 && !s.depressed()},
		{"depressed", price, value("pe") >= 20 && s.depressed()},
		{"debt", max(value("debt_ratio")/40-1, -z(LowDebt)-1.5), value("debt_ratio") >= 25},
		{"volatility", max(value("volatility")/45-1, -z(LowVolatility)-1.5), value("volatility") >= 30},
		{"falling", max(-value("momentum")/20-1, -z(PriceMomentum)-1.5), value("momentum") < 0},
		{"shrinking", -value("revenue_growth")/5 - 1, !s.recovers(facts)},
		{"weak", 0.5 - value("fscore")/value("fscore_known"), true},
		{"accruals", -z(CashBacking) - 1, s.thinlyBacked()},
		{"signal", -s.Tilt.Total/maxTilt*2 - 1, true},
		{"unknown", 4*unknown/measures - 1, true},
	}
	key, most := "market", 0.0
	for _, r := range risks {
		if phrase := "risk." + r.key; r.holds && r.above > most && facts.fits(phrase) && !slices.Contains(strong, riskMeasures[r.key]) {
			key, most = r.key, r.above
		}
	}
	return key
}

// riskMeasures are the metrics that main risks are about.
var riskMeasures = map[string]string{
	"price": EarningsYield, "depressed": EarningsYield, "debt": LowDebt, "volatility": LowVolatility, "falling": PriceMomentum, "weak": FinancialStrength,
	"accruals": CashBacking,
}

// loss is beyond all other measures for a loss, and none for a profit.
func loss(income float64) float64 {
	if income < 0 {
		return math.Inf(1)
	}
	return 0
}

// fits reports whether all facts exist that a phrase names. All languages name the same facts.
func (d Data) fits(phrase string) bool {
	text, ok := english.Phrases[phrase]
	if !ok {
		return false
	}
	for {
		_, rest, found := strings.Cut(text, "{")
		if !found {
			return true
		}
		place, after, _ := strings.Cut(rest, "}")
		id, _, _ := strings.Cut(place, "|")
		if !d.Has(id) {
			return false
		}
		text = after
	}
}
