package picks

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/calendar"
	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// Group is one of the four things a score is made of.
type Group string

// The groups.
const (
	Quality  Group = "quality"
	Value    Group = "value"
	Momentum Group = "momentum"
	Risk     Group = "risk"
)

// The metrics. More is better in each; metrics where less is better are negated.
const (
	EarningsYield      = "earnings_yield"      // net income / market value
	CashYield          = "cash_yield"          // (operating cash flow - capital spending) / market value
	BookYield          = "book_yield"          // shareholders' equity / market value
	OperatingYield     = "operating_yield"     // operating income / enterprise value
	GrossProfitability = "gross_profitability" // gross profit / assets
	ReturnOnEquity     = "return_on_equity"    // net income / shareholders' equity
	CashBacking        = "cash_backing"        // (operating cash flow - net income) / assets: accruals, negated
	LowDebt            = "low_debt"            // long-term debt / assets, negated
	ReturnOnAssets     = "return_on_assets"    // net income / assets, of banks and lenders
	EquityToAssets     = "equity_to_assets"    // shareholders' equity / assets, of banks and lenders
	LowProvisions      = "low_provisions"      // provisions for credit losses / assets, negated, of banks and lenders
	TangibleYield      = "tangible_yield"      // equity without goodwill and other intangibles / market value, of banks and lenders
	FundsYield         = "funds_yield"         // funds from operations / market value, of property trusts
	Underwriting       = "underwriting"        // one minus claims and costs / premiums, of insurers that state them
	FinancialStrength  = "financial_strength"  // the share of Piotroski's signals that are good
	PriceMomentum      = "price_momentum"      // total return from twelve months to one month ago, minus its sector's mean
	LowVolatility      = "low_volatility"      // yearly volatility of the last 63 daily returns, negated
)

// metricGroups lists the metrics with their groups, in the order in which they are shown.
var metricGroups = []struct {
	id    string
	group Group
}{
	{EarningsYield, Value},
	{CashYield, Value},
	{BookYield, Value},
	{TangibleYield, Value},
	{FundsYield, Value},
	{OperatingYield, Value},
	{GrossProfitability, Quality},
	{ReturnOnEquity, Quality},
	{CashBacking, Quality},
	{LowDebt, Quality},
	{FinancialStrength, Quality},
	{ReturnOnAssets, Quality},
	{EquityToAssets, Quality},
	{LowProvisions, Quality},
	{Underwriting, Quality},
	{PriceMomentum, Momentum},
	{LowVolatility, Risk},
}

// financial reports whether an SIC code is in finance, insurance or real estate: 6000 to 6799. The operating cash flow of such a company
// is the turnover of deposits, policies and properties. It carries no information, and neither do metrics derived from it.
func financial(sic int) bool { return sic >= 6000 && sic <= 6799 }

// lends reports whether an SIC code is of a bank or a lender.
func lends(sic int) bool {
	id := industryOf(sic).id
	return id == "banks" || id == "lenders"
}

// propertyTrust reports whether an SIC code is of a real estate investment trust. Depreciation, which its buildings need not lose, makes its net
// income and every price to it meaningless: funds from operations replace them.
func propertyTrust(sic int) bool { return industryOf(sic).id == "property_trusts" }

// insuresProperty reports whether an SIC code is of an insurer of fire, marine and casualty.
func insuresProperty(sic int) bool { return sic == 6331 }

// applies reports whether a metric is meaningful for a company with an SIC code. Banks and insurers have neither a cost of sales nor an
// enterprise value; their debt is their trade, and their cash flow is not a measure. Banks and lenders are measured by the return on
// their assets, their equity ratio, their provisions and their tangible equity. Regulators set the operating income of utilities, so
// Greenblatt leaves them out.
func applies(metric string, sic int) bool {
	s := SectorOf(sic)
	switch metric {
	case OperatingYield:
		return s != Finance && s != RealEstate && s != Utilities
	case GrossProfitability, LowDebt:
		return s != Finance && s != RealEstate
	case CashYield, CashBacking, FinancialStrength:
		return !financial(sic)
	case ReturnOnAssets, EquityToAssets, LowProvisions, TangibleYield:
		return lends(sic)
	case BookYield:
		return !lends(sic)
	case FundsYield:
		return propertyTrust(sic)
	case EarningsYield:
		return !propertyTrust(sic)
	case Underwriting:
		return insuresProperty(sic)
	default:
		return true
	}
}

// Metric is one number about one company, and what became of it in the comparison.
type Metric struct {
	ID    string
	Group Group
	// Applies is false for a metric that says nothing about the company's sector. It then has no part in the score.
	Applies bool
	// Value is the number itself, a fraction (0.05 is five percent); NaN if unknown.
	Value float64
	// Clipped is the value after the extremes of the universe were cut off. Z is its distance from its peers' mean, in standard deviations.
	// Both are NaN if the value is unknown.
	Clipped, Z float64
	// Peers counts the companies in the comparison, including the company; BySector reports whether they are its sector.
	Peers    int
	BySector bool
	// Worst is the lowest z-score of the peers, if the value is unknown because the company does not state its debt: a missing debt
	// counts as the largest debt. NaN otherwise.
	Worst float64
	// Facts are the inputs of the number, in the order of the formula.
	Facts []equity.Fact
	// From and To are the first and the last close used for the number; zero if it uses none.
	From, To time.Time
}

// Known reports whether the value is known.
func (m Metric) Known() bool { return !math.IsNaN(m.Value) }

// sessions are the trading days that prices are read at, the same for all companies: the last is the trading day before the pick's.
type sessions struct {
	last, monthAgo, yearAgo time.Time
	days                    []time.Time
}

const (
	momentumFar  = 252 // trading days: twelve months
	momentumNear = 21  // trading days: one month
	volatileDays = 63  // trading days: three months
	yearlyDays   = 252
	// A company must have traded on 95 % of the days of the momentum's year.
	minTradedDays = 0.95
)

func sessionsBefore(pick time.Time) sessions {
	last := calendar.Previous(pick)
	yearAgo := calendar.Add(last, -momentumFar)
	return sessions{last: last, monthAgo: calendar.Add(last, -momentumNear), yearAgo: yearAgo, days: calendar.Between(yearAgo, last)}
}

// measure computes the inputs of one company's score. An error says why it cannot be scored.
func (s *Score) measure(c Candidate, pick time.Time, se sessions, rules Rules) error {
	today, ok := c.History.BarOn(pick)
	if !ok {
		return fmt.Errorf("no close on %s", pick.Format(time.DateOnly))
	}
	s.Price = today.Close
	if err := s.readBook(c, pick, rules); err != nil {
		return err
	}
	if err := s.readPrices(c, se, rules); err != nil {
		return err
	}
	return s.readValue(c, pick, rules)
}

// readBook fills in what the filings say.
func (s *Score) readBook(c Candidate, pick time.Time, rules Rules) error {
	s.Book = NewBook(c.Facts, pick.AddDate(0, 0, -1))
	if !s.Book.newest(assets).Known() {
		return errNoDollars
	}
	if len(s.Book.years) == 0 {
		return errNoYear
	}
	if age := pick.Sub(s.Book.years[0].End); age > rules.MaxReportAge {
		return fmt.Errorf("the newest fiscal year ended on %s", s.Book.years[0].End.Format(time.DateOnly))
	}
	b := s.Book
	s.Income, s.Revenue, s.OperatingIncome = b.trailing(netIncome), b.trailing(revenue), b.trailing(operatingIncome)
	s.CashFlow, s.Spending = b.trailing(operatingCash), b.trailing(capitalSpending)
	s.Assets = b.newest(assets)
	s.Equity = b.commonEquity(s.Assets.Over.End)
	s.Debt = b.newestDebt(s.Assets.Over.End)
	s.GrossProfit = b.trailing(statedGrossProfit).or(s.Revenue.with(b.trailing(costOfSales)).minus(b.trailing(costOfSales)))
	s.FScore = b.FScore()
	if !s.Income.Known() {
		return errNoIncome
	}

	s.set(GrossProfitability, s.GrossProfit.over(s.Assets))
	s.set(ReturnOnEquity, b.commonIncome(s.Income).over(s.meaningfulEquity()))
	s.set(CashBacking, s.CashFlow.with(s.Income).minus(s.Income).over(s.Assets))
	s.set(LowDebt, s.debtRatio().negated())
	s.set(ReturnOnAssets, s.Income.over(s.Assets))
	s.set(EquityToAssets, s.Equity.over(s.Assets))
	s.Provisions = b.trailing(concepts.Provisions).with(s.Income)
	s.set(LowProvisions, s.Provisions.over(s.Assets).negated())
	s.CombinedRatio = b.combinedRatio(s.Income.Over)
	s.set(Underwriting, s.CombinedRatio.negated())
	if u := s.metric(Underwriting); !u.Known() {
		u.Applies = false // few insurers state all parts: the others are measured by the rest
	}
	if s.FScore.Known >= minFScoreKnown {
		var facts []equity.Fact
		for _, g := range s.FScore.Signals {
			facts = append(facts, append(slices.Clone(g.Now.From), g.Before.From...)...)
		}
		s.set(FinancialStrength, Figure{Value: float64(s.FScore.Score) / float64(s.FScore.Known), From: facts})
	}
	return nil
}

// readPrices fills in what the closes before the pick's day say.
func (s *Score) readPrices(c Candidate, se sessions, rules Rules) error {
	levels := c.History.Levels(se.last, true)
	if len(levels) == 0 || levels[0].Date.After(se.yearAgo) {
		return errYoung
	}
	first := len(levels)
	for first > 0 && !levels[first-1].Date.Before(se.yearAgo) {
		first--
	}
	if float64(len(levels)-first) < float64(minTradedDays*float64(len(se.days))) || !levels[len(levels)-1].Date.Equal(se.last) {
		return errGaps
	}
	momentum := s.metric(PriceMomentum)
	momentum.Value = levelAt(levels, se.monthAgo)/levelAt(levels, se.yearAgo) - 1
	momentum.From, momentum.To = se.yearAgo, se.monthAgo
	s.SpunOff = slices.ContainsFunc(c.History.between(se.yearAgo, se.monthAgo), func(a equity.Action) bool { return a.Kind == equity.SpinOff })

	tail := levels[len(levels)-volatileDays-1:]
	steps := make([]float64, volatileDays)
	for i := range steps {
		steps[i] = math.Log(tail[i+1].Level / tail[i].Level)
	}
	risk := s.metric(LowVolatility)
	s.Volatility = stat.StdDev(steps, nil) * math.Sqrt(yearlyDays)
	risk.Value, risk.From, risk.To = -s.Volatility, tail[0].Date, se.last

	bars := c.History.Bars[:c.History.upTo(se.last)]
	turnover := make([]float64, volatileDays)
	for i, b := range bars[len(bars)-volatileDays:] {
		turnover[i] = b.Close.Float() * float64(b.Volume)
	}
	slices.Sort(turnover)
	if median := turnover[volatileDays/2]; median < rules.MinTurnover {
		return fmt.Errorf("a median of %.0f USD traded a day", median)
	}
	return nil
}

// readValue fills in what the company's size and price say.
func (s *Score) readValue(c Candidate, pick time.Time, rules Rules) error {
	if s.Price.Float() < rules.MinPrice {
		return fmt.Errorf("a price of %s USD", s.Price)
	}
	shares := sharesOutstanding(s.Book, c.Company.CIK, c.History, pick)
	if !shares.Known() {
		return errNoShares
	}
	s.MarketValue = shares
	s.MarketValue.Value = float64(shares.Value * s.Price.Float())
	if s.MarketValue.Value < rules.MinMarketValue {
		return fmt.Errorf("a market value of %.0f million USD", s.MarketValue.Value/1e6)
	}
	s.EnterpriseValue = s.enterpriseValue()
	s.set(EarningsYield, s.Book.commonIncome(s.Income).over(s.MarketValue))
	s.set(CashYield, s.CashFlow.minus(s.Spending.with(s.CashFlow)).over(s.MarketValue))
	s.set(BookYield, s.Equity.over(s.MarketValue))
	s.set(TangibleYield, s.Book.tangible(s.Equity).over(s.MarketValue))
	s.Funds = s.Book.funds(s.Income)
	s.set(FundsYield, s.Funds.over(s.MarketValue))
	s.set(OperatingYield, s.OperatingIncome.over(s.EnterpriseValue))
	return nil
}

// enterpriseValue is Greenblatt's: market value plus debt minus cash, at the date of the newest balance. Long-term debt and cash must
// be stated; what else is stated at that date is worked in.
func (s *Score) enterpriseValue() Figure {
	at := Period{End: s.Assets.Over.End}
	debt := s.Debt.and(s.Book.shortTermDebt(s.Debt))
	liquid := s.Book.liquidFunds(at)
	outside := s.Book.over(minorityInterest, at)
	return s.MarketValue.plus(debt.plusStated(outside)).minus(liquid)
}

// debtRatio is long-term debt / assets, both of the balance that states the debt.
func (s *Score) debtRatio() Figure {
	return s.Debt.over(s.Book.at(assets, s.Debt.Over.End).or(s.Assets))
}

// set fills in a metric that was made of facts.
func (s *Score) set(id string, f Figure) {
	if m := s.metric(id); m.Applies && f.Known() {
		m.Value, m.Facts = f.Value, f.From
	}
}

// metric is the score's metric of an id, which must be one of the constants.
func (s *Score) metric(id string) *Metric {
	return &s.Metrics[slices.IndexFunc(s.Metrics, func(m Metric) bool { return m.ID == id })]
}

// splitsBetween is by how much splits multiplied a share after one date and up to another. It is unknown if a ratio lies between that may
// be a split or a spin-off.
func (h History) splitsBetween(after, to time.Time) (ratio float64, known bool) {
	ratio = 1
	for _, a := range h.between(after, to) {
		switch a.Kind {
		case equity.Split:
			ratio *= a.Ratio()
		case equity.Unexplained:
			return 0, false
		case equity.SpinOff, equity.Dividend, equity.Merger, equity.Delisting:
		}
	}
	return ratio, true
}
