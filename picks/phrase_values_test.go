package picks

import (
	"regexp"
	"strings"
)

// phraseValues are the values that a fact can have in a phrase. Facts of one phrase belong together: they take the values of the same place in their
// lists, so that the larger of two is written as the larger.
type phraseValues struct {
	phrases *regexp.Regexp
	facts   map[string]string
}

func inPhrases(pattern string, idsAndValues ...string) phraseValues {
	v := phraseValues{regexp.MustCompile(pattern), map[string]string{}}
	for i := 0; i < len(idsAndValues); i += 2 {
		for id := range strings.FieldsSeq(idsAndValues[i]) {
			v.facts[id] = idsAndValues[i+1]
		}
	}
	return v
}

const (
	gains  = "0.1 1 1.5 2 12.3 1000000"
	losses = "-0.1 -1 -1.5 -2 -12.3 -1000000"
	falls  = "-0.1 -1 -1.5 -2 -12.3 -99.9" // in percent: nothing loses more than all
)

// valuesOf are the values that phrases are chosen for; the first entry of a phrase and a fact counts. Other numbers can have any value.
var valuesOf = []phraseValues{
	// Amounts that are chosen by their sign or size.
	inPhrases(`^what\.loss|^risk\.loss|^earnings_yield\.loss`, "net_income", losses, "revenue free_cash_flow", gains),
	inPhrases(`^what\.profit$`, "revenue", "1 2 12.3 1000000", "net_income", "0.1 1 1.5 2", "net_margin", "10.0 50.0 12.2 0.0"),
	inPhrases(`^what\.profit_only`, "net_income", gains),
	inPhrases(`^cash_backing\.good`, "net_income", "0.1 1 1.5 2", "cash_flow", "0.2 2 12.3 1000000"),
	inPhrases(`^cash_backing\.bad|^risk\.accruals`, "net_income", "0.1 1 2 1000000", "cash_flow", "-2 0.0 1 1.5"),
	inPhrases(`^cash_backing\.(loss|burn)`, "net_income", "-0.1 -1 -1.5 -2", "cash_flow", "0.2 2 12.3 1000000"),
	inPhrases(`^risk\.depressed`, "net_income", "0.1 1 1.5 2", "usual_income", "1 3 12.3 1000000", "pe", "20 45.5 20.1 1000000"),
	inPhrases(`^risk\.price`, "pe", "20 45.5 1000000"),
	inPhrases(`^risk\.(debt|volatility)`, "debt_ratio", "25.0 58.3 100.0", "volatility", "30.0 75.4 210.0"),
	inPhrases(`\.(loss|release)$`, "free_cash_flow funds tangible_equity provisions book_yield operating_yield gross_profitability return_on_assets equity_to_assets", losses),
	inPhrases(`^cash_yield\.thin`, "free_cash_flow", "0.0 0.1 2", "market_value", "1000 1500.5 1000000"),
	inPhrases(`^cash_yield|^funds_yield`, "free_cash_flow funds", gains, "cash_yield funds_yield", "0.1 1 1.5 2 2.3 12.3"),
	inPhrases(`^return_on_equity\.bad`, "return_on_equity", "-12.3 -1 0.0 1 12.3"),
	inPhrases(`^low_debt\.bad`, "debt_ratio", "12.3 25.0 58.3 100.0"),
	inPhrases(`\.bad`, "book_yield operating_yield gross_profitability return_on_assets equity_to_assets", "0.0 0.1 1 2 12.3"),
	inPhrases(`^low_volatility\.good`, "volatility", "1 12.3 24.9"),
	inPhrases(`^low_volatility\.bad`, "volatility", "25.0 58.3 210.0"),
	inPhrases(`^earnings_yield\.good`, "pe", "0.5 1 2 12.3", "earnings_yield", "200.0 100.0 50.0 8.1"),
	inPhrases(`^earnings_yield\.bad`, "pe", "12.3 20.0 111.4 1000000"),
	inPhrases(`^low_provisions`, "provision_ratio", "0.1 0.4 1 1.5 2"),
	inPhrases(`^low_debt\.none`, "debt_ratio", "0.0"),
	inPhrases(``, "earnings_yield book_yield operating_yield gross_profitability return_on_equity return_on_assets equity_to_assets", gains),
	inPhrases(``, "debt_ratio", "0.1 1 2 12.3", "volatility", "1 12.3 210.0", "combined_ratio", "70.1 99.9 112.0"),
	inPhrases(``, "price amount amount_before market_value provisions revenue", "0.1 1 1.5 2 1000000"),
	// Standings and counts.
	inPhrases(``, "fscore_known", "9 8 7", "measures", "13 12 11", "weights_tried", "8", "universe", "2 40 3000", "range_quarters", "20"),
	inPhrases(`\.good$`, "fscore", "9 5 4"),
	inPhrases(``, "fscore", "1 2 3", "unknown", "4 7 11", "weights_same", "1 2 7", "rank", "2 7 3000", "range_known", "12 19"),
	inPhrases(``, "window", "12", "years", "2 5 10", "votes_for", "12 11 7", "votes_against", "0 1 5"),
	inPhrases(`^quarter\.days`, "quarter_days", "98 91", "quarter_days_before", "91 98"),
	inPhrases(`^why\.weak`, "quality_ahead value_ahead momentum_ahead risk_ahead", "1 2 33"),
	inPhrases(``, "quality_ahead value_ahead momentum_ahead risk_ahead", "67 80 99"),
	inPhrases(``, "pe peers_pe price_to_tangible", "0.5 1 1.0 2 12.3 1000000"),
	inPhrases(``, "range_low", "0.5 1 12.3", "range_median", "1.0 2 15.1", "range_high", "2 31.5 1000000"),
	// Moves.
	inPhrases(`^price_momentum\.good.*\.flat`, "momentum", "0.0 12.3 0.0", "sector_momentum", "-0.1 0.0 -99.9"),
	inPhrases(`^price_momentum\.bad\.flat`, "momentum", "-0.1 0.0 -99.9", "sector_momentum", "0.0 12.3 0.0"),
	inPhrases(`^price_momentum\.good`, "momentum", "1.0 -1 1000000", "sector_momentum", "-1.5 -2 2"),
	inPhrases(`^price_momentum\.bad`, "momentum", "-1.5 -2 2", "sector_momentum", "1.0 -1 1000000"),
	inPhrases(`^risk\.shrinking`, "revenue_growth", "-5.1 -12.3 -99.9"),
	inPhrases(`^risk\.|^(growth|quarter)\.down`, "momentum revenue_growth quarter_growth", falls),
	inPhrases(`^(growth|quarter)\.up`, "revenue_growth quarter_growth", gains),
	inPhrases(`^event\.price_move\.up`, "change", "2.0 2.5 12.3 1000000"),
	inPhrases(`^event\.price_move\.down`, "change", "-2.0 -2.5 -12.3 -99.9"),
	inPhrases(`^econ\.title\.week`, "actual", "1 2 248 1000"),
	inPhrases(`ecb`, "actual", "-0.50 0.00 0.25 4.00"),
	inPhrases(`^econ\..*\.hike`, "change", "1 10 25 100"),
	inPhrases(`^econ\..*\.cut`, "change", "-1 -10 -25 -100"),
	inPhrases(`^event\.price_move\.body`, "size", "2 2.5 12.3 1000000", "change", "2.0 -2.1 12.3 -50"),
	inPhrases(`^event\.split\.title`, "new", "2 3 10", "old", "1 2 1"),
	inPhrases(`^event\.split\.reverse`, "new", "1 1 2", "old", "10 2 3"),
	inPhrases(`^event\.split\.body`, "new", "2 3 1", "old", "1 2 10"),
	inPhrases(`^event\.dividend\.cut`, "amount", "0.5 1 1.5", "amount_before", "1 2 1000000"),
	inPhrases(`^event\.signal_change|^signal\.|^risk\.signal`, "z signal_z", "2.0 -2.1 3 -12.3", "z_before", "0.4 -1 1 -0.1"),
	// Indicators.
	inPhrases(`fomc`, "lower", "0.00 0.75 1.00 5.25", "actual", "0.25 1.00 1.25 5.50"),
	inPhrases(`^econ\.summary\.above`, "actual", "0.1 1.0 -0.1 1000000", "expected", "-0.1 0.0 -1.1 2", "distance", "0.2 1.0 1.0 999998"),
	inPhrases(`^econ\.summary\.below`, "actual", "-0.1 0.0 -1.1 2", "expected", "0.1 1.0 -0.1 1000000", "distance", "0.2 1.0 1.0 999998"),
	inPhrases(`^econ\.size|^digest\.signals`, "z", "0.1 1.0 -1.5 2 -12.3"),
	inPhrases(`^event\.pick_closed`, "return", "0.0 1 2 -1 -1.5 1000000"),
	// Digests.
	inPhrases(`^digest\.portfolio\.ahead`, "portfolio", "2.0 -0.1 0.0 1000000", "benchmark", "1.0 -1.6 -0.1 0.0", "excess", "1.0 1.5 0.1 1000000"),
	inPhrases(`^digest\.portfolio\.behind`, "portfolio", "1.0 -1.6 -0.1 0.0", "benchmark", "2.0 -0.1 0.0 1000000", "excess", "-1.0 -1.5 -0.1 -1000000"),
	inPhrases(`^digest`, "top_points", "0.01 1 2 1.5", "bottom_points", "-0.01 -1 -2 -1.5", "picks removed events", "1 2 5 1000000"),
}

// phraseValue is the value of a fact in a phrase in one of several rounds, and whether the fact cannot have just any value.
func phraseValue(key, id string, round int) (value string, limited bool) {
	for _, v := range valuesOf {
		if list, ok := v.facts[id]; ok && v.phrases.MatchString(key) {
			values := strings.Fields(list)
			return values[round%len(values)], true
		}
	}
	return "", false
}
