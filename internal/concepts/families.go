package concepts

import "sync"

func dollars(tags ...string) Family { return Family{Taxonomy: "us-gaap", Unit: "USD", Tags: tags} }

func count(taxonomy, tag string) Family {
	return Family{Taxonomy: taxonomy, Unit: "shares", Tags: []string{tag}}
}

const (
	byContract      = "RevenueFromContractWithCustomerExcludingAssessedTax"
	byContractTaxed = "RevenueFromContractWithCustomerIncludingAssessedTax"
	netRevenue      = "RevenuesNetOfInterestExpense"
)

// The families, in the us-gaap taxonomy and in US dollars. A company that reports by other rules or in another currency states none of
// them.
var (
	NetIncome = dollars("NetIncomeLoss", "ProfitLoss")
	// OperatingCash and CapitalSpending are of the cash flow statement.
	OperatingCash   = dollars("NetCashProvidedByUsedInOperatingActivities", "NetCashProvidedByUsedInOperatingActivitiesContinuingOperations")
	CapitalSpending = dollars("PaymentsToAcquirePropertyPlantAndEquipment", "PaymentsToAcquireProductiveAssets")
	// Revenue is the total: contracts are a part of it at companies that also lend, insure, rent or hold shares of others.
	Revenue = Family{
		Taxonomy: "us-gaap", Unit: "USD", Tags: []string{byContract, "Revenues", byContractTaxed, "SalesRevenueNet", netRevenue},
		Largest: true, Net: netRevenue, Parts: []string{byContract, byContractTaxed},
	}
	GrossProfit     = dollars("GrossProfit")
	CostOfSales     = dollars("CostOfGoodsAndServicesSold", "CostOfRevenue", "CostOfGoodsSold")
	OperatingIncome = dollars("OperatingIncomeLoss")
	StockIssued     = dollars("ProceedsFromIssuanceOfCommonStock")

	Assets             = dollars("Assets")
	CurrentAssets      = dollars("AssetsCurrent")
	CurrentLiabilities = dollars("LiabilitiesCurrent")
	BookEquity         = dollars("StockholdersEquity")
	Cash               = dollars("CashAndCashEquivalentsAtCarryingValue")
	Securities         = dollars("MarketableSecuritiesCurrent")
	MinorityInterest   = dollars("MinorityInterest")

	DilutedShares = count("us-gaap", "WeightedAverageNumberOfDilutedSharesOutstanding")
	CoverShares   = count("dei", "EntityCommonStockSharesOutstanding")
)

// The families of debt.
var (
	LongDebt        = dollars("LongTermDebtNoncurrent")
	LongDebtTotal   = dollars("LongTermDebt")
	LongDebtCurrent = dollars("LongTermDebtCurrent")
	ShortDebt       = dollars("CommercialPaper", "ShortTermBorrowings")
)

// All lists the families.
func All() []Family {
	return []Family{
		NetIncome, OperatingCash, CapitalSpending, Revenue, GrossProfit, CostOfSales, OperatingIncome, StockIssued,
		Assets, CurrentAssets, CurrentLiabilities, BookEquity, Cash, Securities, MinorityInterest, DilutedShares, CoverShares,
		LongDebt, LongDebtTotal, LongDebtCurrent, ShortDebt,
	}
}

// units holds the unit of each taxonomy and tag.
var units = sync.OnceValue(func() map[[2]string]string {
	all := map[[2]string]string{}
	for _, f := range All() {
		for _, tag := range f.Tags {
			all[[2]string{f.Taxonomy, tag}] = f.Unit
		}
	}
	return all
})

// Unit returns the unit in which some family reads a tag; empty for a tag that none reads.
func Unit(taxonomy, tag string) string { return units()[[2]string{taxonomy, tag}] }
