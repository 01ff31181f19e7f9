package edgar

import (
	"time"

	"tidemark/ingest/world/synth"
)

// line is one line of a company's statements.
type line struct {
	tag string
	of  func(synth.Quarter) float64
}

// incomeLines are stated by the quarter and by the year to date.
func incomeLines(c *synth.Company, fiscalYear int) []line {
	list := []line{
		{"NetIncomeLoss", func(q synth.Quarter) float64 { return q.Net }},
		{salesTag(c, fiscalYear), func(q synth.Quarter) float64 { return q.Sales }},
	}
	if c.Books == synth.Financial {
		return list
	}
	costs := []string{"CostOfGoodsAndServicesSold", "CostOfRevenue", "CostOfGoodsSold"}
	list = append(list,
		line{costs[c.CIK%3], func(q synth.Quarter) float64 { return q.Cost }},
		line{"OperatingIncomeLoss", func(q synth.Quarter) float64 { return q.Operating }},
		line{"IncomeTaxExpenseBenefit", func(q synth.Quarter) float64 { return (q.Operating - q.Net) / 2 }})
	if c.CIK%2 == 0 { // the others leave it to the reader
		list = append(list, line{"GrossProfit", func(q synth.Quarter) float64 { return q.Sales - q.Cost }})
	}
	return list
}

// salesTag is the tag of sales, which changed with the accounting rules of 2018.
func salesTag(c *synth.Company, fiscalYear int) string {
	switch {
	case c.Books == synth.Financial:
		return "RevenuesNetOfInterestExpense"
	case fiscalYear < 2018:
		return "SalesRevenueNet"
	case c.CIK%5 == 0:
		return "Revenues"
	}
	return "RevenueFromContractWithCustomerExcludingAssessedTax"
}

// cashLines are stated by the year to date only.
func cashLines(c *synth.Company) []line {
	spending := "PaymentsToAcquirePropertyPlantAndEquipment"
	if c.CIK%6 == 1 {
		spending = "PaymentsToAcquireProductiveAssets"
	}
	return []line{
		{"NetCashProvidedByUsedInOperatingActivities", func(q synth.Quarter) float64 { return q.CashFlow }},
		{spending, func(q synth.Quarter) float64 { return q.Spending }},
		{"ProceedsFromIssuanceOfCommonStock", func(q synth.Quarter) float64 { return q.Issued }},
	}
}

// balanceLines are stated at a date.
func balanceLines(c *synth.Company) []line {
	list := []line{
		{"Assets", func(q synth.Quarter) float64 { return q.Assets }},
		{"StockholdersEquity", func(q synth.Quarter) float64 { return q.Equity }},
		{"CashAndCashEquivalentsAtCarryingValue", func(q synth.Quarter) float64 { return q.Cash }},
		{"Goodwill", func(q synth.Quarter) float64 { return q.Assets / 16 }},
	}
	if c.Books == synth.Financial {
		return append(list, line{"LongTermDebt", func(q synth.Quarter) float64 { return q.Debt }})
	}
	list = append(list,
		line{"AssetsCurrent", func(q synth.Quarter) float64 { return q.Current }},
		line{"LiabilitiesCurrent", func(q synth.Quarter) float64 { return q.Owed }},
		line{"MarketableSecuritiesCurrent", func(q synth.Quarter) float64 { return q.Securities }},
		line{"LongTermDebtCurrent", func(q synth.Quarter) float64 { return q.DebtDue }})
	if c.CIK%4 == 3 {
		return append(list, line{"LongTermDebt", func(q synth.Quarter) float64 { return q.Debt + q.DebtDue }})
	}
	return append(list, line{"LongTermDebtNoncurrent", func(q synth.Quarter) float64 { return q.Debt }})
}

// statements are the figures of the report about the n-th quarter, filed on a day. A report has the income of the quarter and of the year
// to date, each with the same months of the year before. An annual report has three years. Share counts are all stated for the shares of that day. The
// report's income for its own period is multiplied by wrong, which is 1 in most reports.
func statements(c *synth.Company, quarters []synth.Quarter, n int, filed time.Time, wrong float64) []figure {
	q := quarters[n]
	var list []figure
	add := func(tag string, from, to int, instant bool, value float64) {
		f := figure{taxonomy: "us-gaap", tag: tag, unit: "USD", end: quarters[to].End, value: value}
		if !instant {
			f.start = quarters[from].Start
		}
		list = append(list, f)
	}
	sum := func(of func(synth.Quarter) float64, from, to int) (total float64) {
		for i := from; i <= to; i++ {
			total += of(quarters[i])
		}
		return total
	}
	factor := c.Shares(filed)
	flows := func(lines []line, from, to int) {
		if from < 0 {
			return
		}
		for _, l := range lines {
			value := sum(l.of, from, to)
			if wrong != 1 && to == n && (l.tag == "NetIncomeLoss" || l.tag == "OperatingIncomeLoss") {
				value = roundTo(value*wrong, 1000)
			}
			add(l.tag, from, to, false, value)
		}
	}
	averages := func(from, to int) {
		if from < 0 {
			return
		}
		count := sum(func(q synth.Quarter) float64 { return q.Diluted }, from, to) / float64(to-from+1)
		list = append(list, figure{
			"us-gaap", "WeightedAverageNumberOfDilutedSharesOutstanding", "shares", quarters[from].Start, quarters[to].End, roundTo(count*factor, 1000),
		}, figure{
			"us-gaap", "EarningsPerShareDiluted", "USD/shares", quarters[from].Start, quarters[to].End,
			roundTo(sum(func(q synth.Quarter) float64 { return q.Net }, from, to)/(count*factor), 0.01),
		})
	}
	income, flow := incomeLines(c, q.FiscalYear), cashLines(c)
	year := n - (q.Number - 1) // its first quarter
	if q.Number == 4 {
		for back := range 3 {
			flows(income, year-4*back, n-4*back)
			flows(flow, year-4*back, n-4*back)
			averages(year-4*back, n-4*back)
		}
	} else {
		for _, back := range []int{0, 4} {
			flows(income, n-back, n-back)
			averages(n-back, n-back)
			if q.Number > 1 {
				flows(income, year-back, n-back)
				averages(year-back, n-back)
			}
			flows(flow, year-back, n-back)
		}
	}
	before := year - 1 // the end of the fiscal year before
	for _, at := range []int{n, before} {
		if at >= 0 {
			for _, l := range balanceLines(c) {
				add(l.tag, at, at, true, roundTo(l.of(quarters[at]), 1000))
			}
		}
	}
	return append(list, cover(q, filed, factor))
}

// cover is the number of shares on the cover of a report, as of a week before it.
func cover(q synth.Quarter, filed time.Time, factor float64) figure {
	return figure{
		taxonomy: "dei", tag: "EntityCommonStockSharesOutstanding", unit: "shares", end: filed.AddDate(0, 0, -7), value: roundTo(q.Outstanding*factor, 1),
	}
}

// foreignAnnual are the figures of a foreign company's annual report: international tags, in euros, two years.
func foreignAnnual(c *synth.Company, quarters []synth.Quarter, n int, filed time.Time) []figure {
	list := []figure{cover(quarters[n], filed, c.Shares(filed))}
	for back := range 2 {
		to := n - 4*back
		if to < 3 {
			break
		}
		var sales, net float64
		for _, q := range quarters[to-3 : to+1] {
			sales += q.Sales
			net += q.Net
		}
		start, end := quarters[to-3].Start, quarters[to].End
		list = append(list,
			figure{"ifrs-full", "Revenue", "EUR", start, end, sales},
			figure{"ifrs-full", "ProfitLoss", "EUR", start, end, net},
			figure{"ifrs-full", "Assets", "EUR", time.Time{}, end, quarters[to].Assets},
			figure{"ifrs-full", "Equity", "EUR", time.Time{}, end, quarters[to].Equity})
	}
	return list
}
