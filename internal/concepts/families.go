package concepts

import (
	"slices"
	"sync"
)

func dollars(tags ...string) Family { return Family{Taxonomy: "us-gaap", Unit: "USD", Tags: tags} }

func largest(tags ...string) Family {
	return Family{Taxonomy: "us-gaap", Unit: "USD", Tags: tags, Largest: true}
}

func count(taxonomy string, tags ...string) Family {
	return Family{Taxonomy: taxonomy, Unit: "shares", Tags: tags}
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
	// OperatingCash and CapitalSpending are from the cash flow statement.
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
	MinorityInterest   = dollars("MinorityInterest")
	// PreferredStock is the part of shareholders' equity that belongs to preferred shareholders. PreferredDividends are theirs of the income.
	PreferredStock = largest("PreferredStockValue", "PreferredStockValueOutstanding", "PreferredStockLiquidationPreferenceValue",
		"PreferredStockIncludingAdditionalPaidInCapitalNetOfDiscount", "PreferredStockIncludingAdditionalPaidInCapital")
	PreferredDividends = dollars("PreferredStockDividendsIncomeStatementImpact", "DividendsPreferredStock", "DividendsPreferredStockCash")

	Cash = dollars("CashAndCashEquivalentsAtCarryingValue")
	// Securities can be sold within a year. Companies change between these lines: Facebook stated the first one until 2018 only.
	Securities = largest("MarketableSecuritiesCurrent", "ShortTermInvestments", "AvailableForSaleSecuritiesDebtSecuritiesCurrent",
		"AvailableForSaleSecuritiesCurrent", "DebtSecuritiesCurrent", "HeldToMaturitySecuritiesCurrent", "OtherShortTermInvestments")
	// LiquidFunds are both as one line.
	LiquidFunds = dollars("CashCashEquivalentsAndShortTermInvestments")

	DilutedShares = count("us-gaap", "WeightedAverageNumberOfDilutedSharesOutstanding")
	BasicShares   = count("us-gaap", "WeightedAverageNumberOfSharesOutstandingBasic")
	CoverShares   = count("dei", "EntityCommonStockSharesOutstanding")
	// BalanceShares counts all share classes. IssuedShares does too, and includes shares that the company bought back.
	BalanceShares  = count("us-gaap", "CommonStockSharesOutstanding")
	IssuedShares   = count("us-gaap", "CommonStockSharesIssued")
	TreasuryShares = count("us-gaap", "TreasuryStockCommonShares", "TreasuryStockShares")
)

// The families of single lines of business.
var (
	// Goodwill and Intangibles are assets that a bank's creditors get nothing for.
	Goodwill    = dollars("Goodwill")
	Intangibles = dollars("IntangibleAssetsNetExcludingGoodwill", "FiniteLivedIntangibleAssetsNet")
	// Provisions are the amount that a bank sets aside in a period for loans that will not be paid back.
	Provisions = dollars("ProvisionForLoanLeaseAndOtherLosses", "ProvisionForLoanAndLeaseLosses", "ProvisionForCreditLosses",
		"ProvisionForLoanLossesExpensed", "FinancingReceivableCreditLossExpenseReversal")
	// Depreciation, gains on sales and impairments turn a property trust's net income into funds from operations.
	Depreciation  = dollars("DepreciationDepletionAndAmortization", "DepreciationAndAmortization", "DepreciationAmortizationAndAccretionNet", "Depreciation")
	PropertyGains = dollars("GainLossOnSaleOfProperties", "GainsLossesOnSalesOfInvestmentRealEstate", "GainLossOnSaleOfPropertiesNetOfApplicableIncomeTaxes",
		"GainLossOnSaleOfPropertyPlantEquipment", "GainLossOnDispositionOfAssets1")
	PropertyImpairments = dollars("ImpairmentOfRealEstate")
	// Premiums, claims and costs of an insurer of property and casualty.
	Premiums         = dollars("PremiumsEarnedNetPropertyAndCasualty", "PremiumsEarnedNet")
	Claims           = dollars("IncurredClaimsPropertyCasualtyAndLiability", "PolicyholderBenefitsAndClaimsIncurredNet", "LiabilityForUnpaidClaimsAndClaimsAdjustmentExpenseIncurredClaims1")
	AcquisitionCosts = dollars("DeferredPolicyAcquisitionCostAmortizationExpense")
	Underwriting     = dollars("OtherUnderwritingExpense")
)

// The families of debt and other liabilities.
var (
	// LongDebt is debt due after a year, as one line. Despite its name, LongTermDebtAndCapitalLeaseObligations is also that line.
	LongDebt = largest("LongTermDebtNoncurrent", "LongTermDebtAndCapitalLeaseObligations")
	// LongDebtParts are parts of long debt that a balance sheet shows as separate lines.
	LongDebtParts = []Family{
		largest("ConvertibleDebtNoncurrent", "ConvertibleLongTermNotesPayable", "ConvertibleNotesPayableNoncurrent"),
		largest("LongTermNotesPayable", "SeniorLongTermNotes", "LongTermNotesAndLoans", "UnsecuredLongTermDebt"),
		largest("LongTermLineOfCredit", "LongTermLoansPayable", "LongTermLoansFromBank", "SecuredLongTermDebt"),
		largest("OtherLongTermDebtNoncurrent", "SubordinatedLongTermDebt"),
	}
	// LongDebtTotal includes the part due within a year.
	LongDebtTotal = largest("LongTermDebt", "LongTermDebtAndCapitalLeaseObligationsIncludingCurrentMaturities",
		"DebtLongtermAndShorttermCombinedAmount")
	LongDebtCurrent = dollars("LongTermDebtCurrent", "LongTermDebtAndCapitalLeaseObligationsCurrent", "ConvertibleDebtCurrent", "NotesPayableCurrent")
	ShortDebt       = largest("CommercialPaper", "ShortTermBorrowings")
	DebtCurrent     = dollars("DebtCurrent")
	// AnyDebt are lines of debt of any term, for companies that state no other debt.
	AnyDebt = []Family{
		largest("ConvertibleDebt", "ConvertibleNotesPayable"),
		largest("NotesPayable", "SeniorNotes", "NotesAndLoansPayable", "LoansPayable", "DebtInstrumentCarryingAmount"),
		largest("LineOfCredit", "LongTermLineOfCredit"),
	}
	Liabilities = dollars("Liabilities")
	// AllEquity includes the share of outside shareholders.
	AllEquity = dollars("StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest")
	// OtherLongLiabilities are liabilities due after a year that are not debt.
	OtherLongLiabilities = []Family{
		dollars("OperatingLeaseLiabilityNoncurrent"),
		dollars("FinanceLeaseLiabilityNoncurrent", "CapitalLeaseObligationsNoncurrent"),
		dollars("ContractWithCustomerLiabilityNoncurrent", "DeferredRevenueNoncurrent"),
		dollars("DeferredIncomeTaxLiabilitiesNet", "DeferredTaxLiabilitiesNoncurrent"),
		dollars("AccruedIncomeTaxesNoncurrent", "LiabilityForUncertainTaxPositionsNoncurrent"),
		dollars("PensionAndOtherPostretirementDefinedBenefitPlansLiabilitiesNoncurrent"),
		dollars("DeferredRentCreditNoncurrent"),
		dollars("AssetRetirementObligationsNoncurrent"),
		dollars("OtherLiabilitiesNoncurrent"),
	}
)

// All lists the families.
func All() []Family {
	return slices.Concat([]Family{
		NetIncome, OperatingCash, CapitalSpending, Revenue, GrossProfit, CostOfSales, OperatingIncome, StockIssued,
		Assets, CurrentAssets, CurrentLiabilities, BookEquity, AllEquity, PreferredStock, PreferredDividends,
		Cash, Securities, LiquidFunds, MinorityInterest,
		DilutedShares, BasicShares, CoverShares, BalanceShares, IssuedShares, TreasuryShares,
		Goodwill, Intangibles, Provisions, Depreciation, PropertyGains, PropertyImpairments,
		Premiums, Claims, AcquisitionCosts, Underwriting,
		LongDebt, LongDebtTotal, LongDebtCurrent, ShortDebt, DebtCurrent, Liabilities,
	}, LongDebtParts, AnyDebt, OtherLongLiabilities)
}

// units maps each taxonomy and tag to its unit.
var units = sync.OnceValue(func() map[[2]string]string {
	all := map[[2]string]string{}
	for _, f := range All() {
		for _, tag := range f.Tags {
			all[[2]string{f.Taxonomy, tag}] = f.Unit
		}
	}
	return all
})

// Unit returns the unit in which a family reads a tag, empty if no family reads it.
func Unit(taxonomy, tag string) string { return units()[[2]string{taxonomy, tag}] }
