// Package claims lists the probabilities that readers are told, except the ones in a signal's interval and brief. Each comes with its
// proof. The package also finds the sentences of a text that claim a probability. test/stats uses it on the texts of the program,
// test/conformance on the responses of a running program. Start at All.
package claims

import (
	"regexp"
	"strings"
)

// Claim is a probability that is claimed outside of the briefs, whose figures another test checks. Each row of the table in docs/signals.md
// names its proof: a test, or the table of another page.
type Claim struct {
	// Claim is the text that readers see, Where its place.
	Claim, Where string
	// ShownBy is a test with its folder, or a document.
	ShownBy string
	// texts matches the sentences.
	texts *regexp.Regexp
}

var all = []Claim{
	{
		"the next figure lies in the central 80% of its forecast", "pages of forecasts, signals and the calendar, `/calendar.ics`; MCP", "docs/forecasts.md",
		regexp.MustCompile(`with 80% probability|80% संभावना के साथ|संभावना 80%|con una probabilidad del 80|com probabilidade de 80%`),
	},
	{
		"the central 50, 80 and 90% of a forecast hold the figure as often; 2.5 and 97.5% bound what luck leaves", "scorecard in API and OpenAPI", "docs/forecasts.md",
		regexp.MustCompile(`what number of hits luck alone leaves|^Inside the [58]0% interval|^Dentro d(?:el intervalo del|o intervalo de) [58]0|^[58]0% अंतराल के भीतर|graded forecasts in this view held`),
	},
	{
		"the skill of a forecast lies in its 90% interval", "scorecard in API and OpenAPI", "signals/forecast.TestComparisonsAreThoseOfTwoOtherPrograms",
		regexp.MustCompile("`interval_90` holds 90%"),
	},
	{
		"the coverage of an interval lies in its exact binomial interval at 95%", "`uncertainty.record` in API and OpenAPI", "test/stats.TestTheBoundsOfACoverageAreThoseOfTheBinomial",
		regexp.MustCompile("exact binomial interval at 95%"),
	},
	{
		"a measured interval is built to hold 90%, and held so many cases; an assumed one claims nothing", "`uncertainty.text` in API, pages and MCP; the name of an interval on a plot",
		"test/stats.TestTheTableOfIntervals",
		regexp.MustCompile(`Built to hold 90%\.|the interval is built to hold 90% of the outcomes|se construye para contener el 90.{0,3}% de los resultados, y su historial|ele é construído para conter 90% dos resultados, e seu histórico|बनाया जाता है कि 90% परिणाम उसके भीतर|Measured: it held \d|^In the last two years: \d|^90% interval$|, 90% interval |\(\d[\d.]*%; 95% confidence interval |` +
			// The phrases of signals' pages, also those that a share is put into.
			`^(?:The interval|El intervalo|O intervalo|अंतराल) \d+%\.$|con un 95.?% de confianza, entre|com 95% de confiança, entre|95% विश्वास के साथ|^(?:Lo medido: contuvo|Na prática, conteve|मापा गया: इसमें आए) `),
	},
	{
		"the correlation of a backtest lies in its 95% interval", "page of a signal", "signals.TestTheIntervalOfAnEdgeHoldsItsLevel",
		regexp.MustCompile(`Rank correlation (?:\(information coefficient\)|of the signal with what came after,) with its 95% interval|(?:Correlación de rangos|Correlação de postos|रैंक सहसंबंध).*95`),
	},
	{"the share of finals in the 90% interval of each stage of corn", "page of a signal", "test/stats.TestTheMeasuredFiguresOfTheCornBrief", regexp.MustCompile(`In the 90% interval`)},
	{
		"the correlation of two signals lies in its 90% interval, which held 88 to 92% in simulations", "`/compare`",
		"signals.TestTheIntervalOfAComparisonHoldsItsLevel",
		regexp.MustCompile(`One interval in ten misses|holds the correlation with the probability of its level|90% interval|intervalo del 90|intervalo de 90|Intervalo del 90|Intervalo de 90|90% अंतराल|\(Bartlett, 1935\)|88 to 92% of the cases|88 y el 92|88% a 92%|88.{0,4}92%`),
	},
	{
		"with 95% confidence the Sharpe ratio is above 0 after so many days", "evaluation of picks and methods",
		"internal/sharpe.TestAfterTheMinTrackRecordTheProbabilityIsTheConfidence", regexp.MustCompile(`with 95% confidence|track record length at 95%`),
	},
	{
		"the true Sharpe ratio is above 0 with a probability (\"of skill\")", "evaluation of picks and methods; MCP", "internal/sharpe.TestProbabilisticIsAsInTheExampleOfThePaper",
		regexp.MustCompile(`(?i)probability of skill|probabilidad de habilidad|probabilidade de habilidade|कौशल की संभावना|probability that the true ratio is above (?:zero|0)`),
	},
	{
		"the true Sharpe ratio is above what luck reaches in so many trials, with a probability", "`/api/methods`", "internal/sharpe.TestDeflatedIsAsInTheExampleOfThePaper",
		regexp.MustCompile(`probability that the true ratio is above that`),
	},
	{
		"a choice among the weightings of the picks is overfitted with a probability", "`tidemark picks backtest`", "internal/sharpe.TestTheProbabilityOfOverfittingIsThatOfThePapersTable",
		regexp.MustCompile(`probability that a choice among its 14 weightings|probability that the best of all 14`),
	},
}

// All lists the claims in the order of the table.
func All() []Claim { return all }

var (
	// A sentence that claims a probability matches both percentage and chance, or named.
	percentage = regexp.MustCompile(`(?i)\d[\s\x{a0}]?(?:%|per ?cent\b|por ciento|por cento|प्रतिशत)|\b(?:nine|eight|seven|9|8|7)(?:teen|ty)?(?:-five)? (?:times )?(?:in|of|out of) (?:ten|10|twenty|20|a hundred|100)\b|\bone (?:\w+ )?(?:in|of|out of) (?:ten|twenty|a hundred)\b`)
	chance     = regexp.MustCompile(`(?i)probab|interval|\bh[eo]lds?\b|\bcontain(?:s|ed|ing)?\b|confiden|certain|\blikel|\bodds\b|\bchance|\bwith \d+\s?%|conteve|contuvo|contien|contém|certeza|confian|अंतराल|प्रायिकता|संभाव|विश्वास|निश्चित`)
	named      = regexp.MustCompile(`(?i)\bprobability (?:of|that)\b|\bprobabilidade? de habilidade?\b|कौशल की संभावना`) // whatever its figure
	sentences  = regexp.MustCompile(`[.!?]\s+|\n\s*\n|।\s*`)
)

// In returns the sentences of a text that claim a probability.
func In(text string) (out []string) {
	for _, s := range sentences.Split(text, -1) {
		if percentage.MatchString(s) && chance.MatchString(s) || named.MatchString(s) {
			out = append(out, strings.Join(strings.Fields(s), " "))
		}
	}
	return out
}

// Carried reports whether a row of the table carries the claim of a sentence.
func Carried(sentence string) bool {
	for _, c := range all {
		if c.texts.MatchString(sentence + ".") {
			return true
		}
	}
	return false
}
