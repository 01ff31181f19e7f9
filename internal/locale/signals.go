package locale

import "math"

// SignalTexts are the texts of one signal in a language other than English. The English ones are in the signal's own file. The others are in
// the language's folder, or in the signal's file. Where neither has them, readers get the English ones.
type SignalTexts struct {
	// Short names the signal in one to four words.
	Short string
	// Figure has a %s for the number. Gap has a %s for a difference of two values in the unit. It is empty if the difference is given in
	// percent.
	Figure, Gap string
	// One is Figure for a number that takes the singular, which in Portuguese is any below two. It is empty if the difference does not show.
	One string
	// PerUnit is how many of the signal's units one of the figure's is. Zero means as in English.
	PerUnit float64
	// Decimals is the number of decimals of a figure.
	Decimals int
	// Small is the form of figures below one, for a language that counts them in a smaller unit. The zero value is the same form.
	Small SmallFigure
	// Normal names the baseline after "above" and "below", and At says that a value is at it.
	Normal, At string
	// Baseline and Interval say the two methods in a few words. Truth names the value that the interval bounds.
	Baseline, Interval, Truth string
	// Lead describes the signal in one sentence.
	Lead string
	// About is the rest of the description after Lead. Technique says in words how the value and its baseline are made.
	About, Technique string
	// Brief is the method in Markdown: the meaning of the signal, its computation, and its limits.
	Brief string
	// License is the upstream's licence and attribution.
	License string
	// Target, Predictor and Naive are the parts of the backtest: the later value, the value that foretells it, and the simple rule to
	// compare with.
	Target, Predictor, Naive string
	// Parts are the labels of the components by their names.
	Parts map[string]string
	// Figures are the names of the forecast figures by their ids.
	Figures map[string]string
}

// SmallFigure is a figure in a smaller unit: लाख below one करोड़. Its members are as in SignalTexts.
type SmallFigure struct {
	Figure   string
	PerUnit  float64
	Decimals int
}

// Sized returns the texts with the figure in the unit that suits values of the signal, and whether that is the smaller one. It is if a value is
// known and all known ones are below one of the larger.
func (t SignalTexts) Sized(values ...float64) (sized SignalTexts, small bool) {
	largest := math.NaN()
	for _, v := range values {
		if v == v && !(largest >= math.Abs(v)) {
			largest = math.Abs(v)
		}
	}
	if t.Small.Figure == "" || !(largest < t.PerUnit) {
		return t, false
	}
	t.Figure, t.One, t.PerUnit, t.Decimals = t.Small.Figure, "", t.Small.PerUnit, t.Small.Decimals
	return t, true
}

// BushelsPerTonne is how many bushels of corn an acre yields where a hectare yields one tonne: a bushel of corn has 56 pounds.
const BushelsPerTonne = 1000 / (56 * 0.45359237 / 0.40468564224)
