package picks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// companyFixture draws a company whose books add up. Fiscal years are calendar years. Annual reports come on February 20 with three years
// of income and two balances. Quarterly reports come 36 days after the quarter, with the year to date and the same months of the year
// before.
type companyFixture struct {
	cik     equity.CIK
	ticker  string
	sic     int
	revenue func(year, quarter int) float64
	margin  float64 // net income / revenue
	gross   float64 // gross profit / revenue
	backing float64 // operating cash flow / net income
	debt    float64 // long-term debt / assets
	shares  float64
	omit    map[string]bool
}

func (f companyFixture) company() equity.Company {
	return equity.Company{
		CIK: f.cik, Name: f.ticker + " Corp", SIC: f.sic, Location: "CA", FiscalYearEnd: "1231",
		Listings: []equity.Listing{{Ticker: f.ticker, Exchange: "XNYS"}},
	}
}

// facts are the firm's filed facts about the fiscal years from first to last.
func (f companyFixture) facts(first, last int) []equity.Fact {
	var all []equity.Fact
	add := func(tag, unit string, start, end time.Time, v float64, form string, filed time.Time, year int, fp string) {
		if f.omit[tag] {
			return
		}
		taxonomy := "us-gaap"
		if tag == "EntityCommonStockSharesOutstanding" {
			taxonomy = "dei"
		}
		all = append(all, equity.Fact{
			CIK: f.cik, Taxonomy: taxonomy, Tag: tag, Unit: unit, Start: start, End: end, Value: math.Round(v), Form: form, Filed: filed,
			Accession: fmt.Sprintf("%s-%02d-%s", f.cik, year%100, fp), FY: year, FP: fp,
		})
	}
	flows := func(start, end time.Time, year, quarters int, form string, filed time.Time, fy int, fp string) {
		sales := 0.0
		for q := 1; q <= quarters; q++ {
			sales += f.revenue(year, q)
		}
		income := sales * f.margin
		add("RevenueFromContractWithCustomerExcludingAssessedTax", "USD", start, end, sales, form, filed, fy, fp)
		add("GrossProfit", "USD", start, end, sales*f.gross, form, filed, fy, fp)
		add("OperatingIncomeLoss", "USD", start, end, income*1.3, form, filed, fy, fp)
		add("NetIncomeLoss", "USD", start, end, income, form, filed, fy, fp)
		add("NetCashProvidedByUsedInOperatingActivities", "USD", start, end, income*f.backing, form, filed, fy, fp)
		add("DepreciationAndAmortization", "USD", start, end, sales*0.03, form, filed, fy, fp)
		add("ProvisionForLoanLeaseAndOtherLosses", "USD", start, end, sales*(1-f.gross)*0.1, form, filed, fy, fp)
		add("PremiumsEarnedNet", "USD", start, end, sales*0.9, form, filed, fy, fp)
		add("PolicyholderBenefitsAndClaimsIncurredNet", "USD", start, end, sales*(1-f.gross), form, filed, fy, fp)
		add("DeferredPolicyAcquisitionCostAmortizationExpense", "USD", start, end, sales*0.1, form, filed, fy, fp)
		add("OtherUnderwritingExpense", "USD", start, end, sales*0.1, form, filed, fy, fp)
		add("PaymentsToAcquirePropertyPlantAndEquipment", "USD", start, end, sales*0.04, form, filed, fy, fp)
		add("WeightedAverageNumberOfDilutedSharesOutstanding", "shares", start, end, f.shares*(1-0.01*float64(year-first)), form, filed, fy, fp)
	}
	balance := func(end time.Time, year, quarter int, form string, filed time.Time, fy int, fp string) {
		total := 5 * f.revenue(year, quarter)
		add("Assets", "USD", time.Time{}, end, total, form, filed, fy, fp)
		add("AssetsCurrent", "USD", time.Time{}, end, total*0.4, form, filed, fy, fp)
		add("LiabilitiesCurrent", "USD", time.Time{}, end, total*(0.25-0.005*float64(year-first)), form, filed, fy, fp)
		add("LongTermDebtNoncurrent", "USD", time.Time{}, end, total*f.debt, form, filed, fy, fp)
		add("StockholdersEquity", "USD", time.Time{}, end, total*(0.7-f.debt), form, filed, fy, fp)
		add("Goodwill", "USD", time.Time{}, end, total*0.05, form, filed, fy, fp)
		add("CashAndCashEquivalentsAtCarryingValue", "USD", time.Time{}, end, total*0.1, form, filed, fy, fp)
	}
	span := func(year, quarters int) (start, end time.Time) {
		return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(year, time.Month(3*quarters+1), 0, 0, 0, 0, 0, time.UTC)
	}
	for year := first; year <= last; year++ {
		for quarter := 1; quarter <= 3; quarter++ {
			start, end := span(year, quarter)
			filed, fp := end.AddDate(0, 0, 36), fmt.Sprintf("Q%d", quarter)
			flows(start, end, year, quarter, "10-Q", filed, year, fp)
			before, beforeEnd := span(year-1, quarter)
			flows(before, beforeEnd, year-1, quarter, "10-Q", filed, year, fp)
			balance(end, year, quarter, "10-Q", filed, year, fp)
			add("EntityCommonStockSharesOutstanding", "shares", time.Time{}, filed.AddDate(0, 0, -6), f.shares*(1-0.01*float64(year-first)), "10-Q", filed, year, fp)
		}
		filed := time.Date(year+1, 2, 20, 0, 0, 0, 0, time.UTC)
		for back := range 3 {
			start, end := span(year-back, 4)
			flows(start, end, year-back, 4, "10-K", filed, year, "FY")
			if back < 2 {
				balance(end, year-back, 4, "10-K", filed, year, "FY")
			}
		}
		add("EntityCommonStockSharesOutstanding", "shares", time.Time{}, filed.AddDate(0, 0, -6), f.shares*(1-0.01*float64(year-first)), "10-K", filed, year, "FY")
	}
	return all
}

// walkBars draws raw daily bars on all trading days of a span.
func walkBars(rng *rand.Rand, cik equity.CIK, from, to time.Time, price, drift, vol float64) []equity.Bar {
	var bars []equity.Bar
	for _, d := range calendar.Between(from, to) {
		price *= math.Exp(drift + vol*rng.NormFloat64())
		text, err := equity.PriceOf(max(price, 0.01), 2)
		if err != nil {
			panic(err)
		}
		bars = append(bars, equity.Bar{CIK: cik, Date: d, Open: text, High: text, Low: text, Close: text, Volume: 2_000_000, Source: "synthetic"})
	}
	return bars
}

var synthSICs = []int{7372, 7372, 7372, 3674, 3571, 3674, 2834, 2836, 3841, 6021, 6022, 6321, 1311, 2911, 1389, 4512, 5331, 5411, 5812, 2040, 3523, 4911, 4813, 3711}

// synthMarket draws a market of n companies with prices up to a day and filings about the years 2020 to 2025.
func synthMarket(seed uint64, n int, pick time.Time) Market {
	rng := rand.New(rand.NewPCG(seed, 7))
	m := Market{Day: pick}
	for i := range n {
		base, growth, noise := 4e8*(1+3*rng.Float64()), 0.15*rng.Float64()-0.03, rng.Uint64()
		f := companyFixture{
			cik: equity.CIK(1000 + i), ticker: string([]byte{'A' + byte(i/26%26), 'A' + byte(i%26), 'X'}), sic: synthSICs[i%len(synthSICs)],
			revenue: func(year, quarter int) float64 {
				local := rand.New(rand.NewPCG(noise, uint64(year*10+quarter)))
				return base * math.Pow(1+growth, float64(year-2020)) * (1 + 0.05*local.NormFloat64())
			},
			margin: 0.2*rng.Float64() - 0.02, gross: 0.3 + 0.4*rng.Float64(), backing: 0.8 + 0.6*rng.Float64(), debt: 0.4 * rng.Float64(),
			shares: 1e8 * (1 + rng.Float64()), omit: map[string]bool{},
		}
		switch {
		case SectorOf(f.sic) == Finance:
			for _, tag := range []string{"AssetsCurrent", "LiabilitiesCurrent", "GrossProfit", "OperatingIncomeLoss"} {
				f.omit[tag] = true
			}
		case i%7 == 3:
			f.omit["LongTermDebtNoncurrent"] = true
		}
		from := calendar.Add(pick, -320)
		h := History{Bars: walkBars(rng, f.cik, from, calendar.Add(pick, 10), 40+60*rng.Float64(), 0.0012*rng.NormFloat64(), 0.01+0.02*rng.Float64())}
		for d := from.AddDate(0, 0, 20+rng.IntN(60)); d.Before(pick.AddDate(0, 0, 20)); d = d.AddDate(0, 0, 91) {
			h.Actions = append(h.Actions, equity.Action{CIK: f.cik, Kind: equity.Dividend, Date: d, Cash: "0.25"})
		}
		m.Candidates = append(m.Candidates, Candidate{Company: f.company(), Facts: f.facts(2020, 2025), History: h})
	}
	for _, id := range []string{"crack-spread-321", "hormuz-transit", "iowa-corn-yield"} {
		m.Signals = append(m.Signals, SignalState{ID: id, Z: 1.5 * rng.NormFloat64(), Live: true})
	}
	return m
}
