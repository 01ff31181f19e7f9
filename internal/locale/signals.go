package locale

// SignalTexts are the texts of one signal in a language other than English. The English ones are in the signal's own file. The others are in
// the language's folder, or in the signal's file. Where neither has them, readers get the English ones.
type SignalTexts struct {
	// Short names the signal in one to four words.
	Short string
	// Figure has one %s for the number, Gap one for a difference of two values that is told in the unit. Gap is empty if it is told in percent.
	Figure, Gap string
	// PerUnit is how many of the signal's units one of the figure's is. Zero means as in English.
	PerUnit float64
	// Decimals is the number of decimals of a figure.
	Decimals int
	// Normal names the baseline after "above" and "below", and At says that a value is at it.
	Normal, At string
	// Baseline and Interval say the two methods in a few words. Truth is what the interval bounds.
	Baseline, Interval, Truth string
	// Lead says in one sentence what the signal is.
	Lead string
	// Parts are the labels of the components by their names.
	Parts map[string]string
	// Figures are the names of the forecast figures by their ids.
	Figures map[string]string
}

// BushelsPerTonne is how many bushels of corn an acre yields where a hectare yields one tonne: a bushel of corn has 56 pounds.
const BushelsPerTonne = 1000 / (56 * 0.45359237 / 0.40468564224)
