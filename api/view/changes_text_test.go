package view

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
	"tidemark/signals/changes"
)

// Numbers of crack-spread-321, whose words have cents; the day is a Wednesday.
func TestTheWordsSayWhyTheZScoreMoved(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("crack-spread-321")
	day := time.Date(2026, time.November, 18, 0, 0, 0, 0, time.UTC)
	unknown := math.NaN()
	fresh := changes.Part{Kind: changes.NewObservation, Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 2, Baseline: 0, Z: 1}}
	moved := changes.Part{Kind: changes.BaselineWindow, Numbers: changes.Numbers{Value: 0, Baseline: 0.5, Z: -0.25}}
	window := changes.Part{Kind: changes.Window, Numbers: changes.Numbers{Value: 0, Baseline: 0, Z: 0.5}}
	for _, c := range []struct {
		what     string
		from, to changes.Numbers
		parts    []changes.Part
		want     map[string]string
	}{
		{"value and z-score", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 24, Baseline: 20.5, Z: 1.75}, []changes.Part{moved, fresh}, map[string]string{
			"en": "up $2.00 a barrel: new data (November 18, 2026) +2.00; the baseline rose by $0.50 a barrel: compared with a different stretch of the past +0.50; " +
				"the z-score rose by 0.75: compared with a different stretch of the past −0.25, new data (November 18, 2026) +1.00",
			"es": "sube 2,00 dólares por barril: datos nuevos (18 de noviembre de 2026) +2,00. La referencia sube 0,50 dólares por barril: comparación con otro tramo del pasado +0,50. " +
				"La puntuación z sube 0,75: comparación con otro tramo del pasado −0,25; datos nuevos (18 de noviembre de 2026) +1,00",
		}},
		{"the baseline alone", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22, Baseline: 20.5, Z: 0.75}, []changes.Part{moved}, map[string]string{
			"en": "unchanged; the baseline rose by $0.50 a barrel: compared with a different stretch of the past +0.50; " +
				"the z-score fell by 0.25, although the value is unchanged, because the baseline moved: compared with a different stretch of the past −0.25",
			"pt": "sem mudança. A referência sobe US$\u00a00,50 por barril: comparação com outro trecho do passado +0,50. " +
				"O escore z cai 0,25, embora o valor não tenha mudado, porque a referência mudou: comparação com outro trecho do passado −0,25",
		}},
		{"the spread alone", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22, Baseline: 20, Z: 1.5}, []changes.Part{window}, map[string]string{
			"en": "unchanged; the z-score rose by 0.50, although the value and the baseline are unchanged, because the usual spread moved: the window moved forward +0.50",
			"hi": "कोई बदलाव नहीं; मान और आधार वही हैं, फिर भी z-स्कोर 0.50 बढ़ा, क्योंकि सामान्य फैलाव बदल गया: अवधि आगे बढ़ी +0.50",
		}},
		{"baseline and spread", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22, Baseline: 20.5, Z: 1.25}, []changes.Part{moved, window}, map[string]string{
			"en": "unchanged; the baseline rose by $0.50 a barrel: compared with a different stretch of the past +0.50; the z-score rose by 0.25, although the value is unchanged, " +
				"because the baseline and the usual spread moved: compared with a different stretch of the past −0.25, the window moved forward +0.50",
		}},
		{"a part too small to be named", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 24.004, Baseline: 20, Z: 1}, []changes.Part{
			{Kind: changes.NewObservation, Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 1.994}},
			{Kind: changes.Window, Numbers: changes.Numbers{Value: 0.006}},
			{Kind: changes.Code, Numbers: changes.Numbers{Value: 0.004}},
		}, map[string]string{
			"en": "up $2.00 a barrel: new data (November 18, 2026) +1.99, the window moved forward +0.01",
		}},
		{"parts too small to be named", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22.008, Baseline: 20, Z: 1}, []changes.Part{
			{Kind: changes.Window, Numbers: changes.Numbers{Value: 0.004}},
			{Kind: changes.Code, Numbers: changes.Numbers{Value: 0.004}},
		}, map[string]string{
			"en": "up $0.01 a barrel: smaller parts +0.01", "es": "sube 0,01 dólares por barril: otros efectos menores +0,01", "pt": "sobe US$\u00a00,01 por barril: outros efeitos menores +0,01", "hi": "0.01 डॉलर प्रति बैरल ऊपर: दूसरे छोटे असर +0.01",
		}},
		{"parts that do not add up as they are rounded", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 24.012, Baseline: 20, Z: 1}, []changes.Part{
			{Kind: changes.NewObservation, Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 2.006}},
			{Kind: changes.Window, Numbers: changes.Numbers{Value: 0.006}},
		}, map[string]string{
			"en": "up $2.01 a barrel: new data (November 18, 2026) +2.01, the window moved forward +0.01, rounding −0.01",
			"es": "sube 2,01 dólares por barril: datos nuevos (18 de noviembre de 2026) +2,01; la ventana avanzó +0,01; redondeo −0,01",
		}},
		{"parts with the same words", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 24, Baseline: 20.364, Z: 1}, []changes.Part{
			{Kind: changes.BaselineWindow, Numbers: changes.Numbers{Baseline: 0.246}},
			{Kind: changes.NewObservation, Source: "a", Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 1.5}},
			{Kind: changes.NewObservation, Source: "b", Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 0.5}},
			{Kind: changes.BaselineWindow, Numbers: changes.Numbers{Baseline: 0.118}},
		}, map[string]string{
			"en": "up $2.00 a barrel: new data (November 18, 2026) +2.00; the baseline rose by $0.36 a barrel: compared with a different stretch of the past +0.36",
			"es": "sube 2,00 dólares por barril: datos nuevos (18 de noviembre de 2026) +2,00. La referencia sube 0,36 dólares por barril: comparación con otro tramo del pasado +0,36",
		}},
		{"a first z-score", changes.Numbers{Value: 22, Baseline: 20, Z: unknown}, changes.Numbers{Value: 22, Baseline: 20, Z: 1}, nil, map[string]string{
			"en": "unchanged; there was no z-score before",
		}},
		{"nothing", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22, Baseline: 20, Z: 1}, nil, map[string]string{"en": "unchanged"}},
		{"no value", changes.Numbers{Value: unknown, Baseline: 20, Z: unknown}, changes.Numbers{Value: 22, Baseline: 20, Z: 1}, nil, map[string]string{
			"en": "not comparable: one of the two values is unknown",
		}},
	} {
		total := changes.Numbers{Value: c.to.Value - c.from.Value, Baseline: c.to.Baseline - c.from.Baseline, Z: c.to.Z - c.from.Z}
		for lang, want := range c.want {
			w := newChangeWriter(languages.Or(locale.Lang(lang)), d)
			if got := w.sentence(c.from, c.to, changes.Explanation{Total: total, Parts: c.parts}); got != want {
				t.Errorf("%s: %q, want %q", c.what, got, want)
			}
		}
	}
	w := newChangeWriter(languages.Or("en"), d)
	if got, want := w.part(moved), "compared with a different stretch of the past, baseline +$0.50 a barrel, z-score −0.25"; got != want {
		t.Errorf("a part is %q, want %q", got, want)
	}
}

// The source dates a final 1 January of its crop year.
func TestANewFinalIsOfItsCropYear(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("iowa-corn-yield")
	day, nov := time.Date(2025, time.January, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, time.November, 1, 0, 0, 0, 0, time.UTC)
	for lang, want := range map[locale.Lang][2]string{"en": {"2025 crop", "November 2025"}, "es": {"campaña de 2025", "noviembre de 2025"}} {
		w := newChangeWriter(languages.Or(lang), d)
		for i, at := range []time.Time{day, nov} {
			if got := w.cause(changes.Part{Kind: changes.NewObservation, Count: 1, Releases: 1, From: at, To: at, Release: at}); !strings.Contains(got, want[i]) {
				t.Errorf("%q, want %q", got, want[i])
			}
		}
	}
}

// The named parts add up to the stated whole, digit for digit, in 10,000 random changes of each signal.
func TestTheNamedPartsAddUpToTheWholeAsItIsWritten(t *testing.T) {
	t.Parallel()
	kinds := []changes.Kind{changes.NewObservation, changes.Revision, changes.Window, changes.BaselineWindow, changes.Code}
	for _, d := range signals.All() {
		w := newChangeWriter(languages.Or("en"), d)
		value, _, _ := w.measures()
		unit := math.Pow10(-value.decimals) * w.inValue.per
		rng := rand.New(rand.NewPCG(19, uint64(len(d.ID))))
		for range 10_000 {
			e := changes.Explanation{}
			for range rng.IntN(7) {
				day := time.Date(2026, time.January, 1+rng.IntN(300), 0, 0, 0, 0, time.UTC)
				p := changes.Part{
					Kind: kinds[rng.IntN(len(kinds))], Source: "up", Count: 1 + rng.IntN(3), Releases: 1, From: day, To: day, Release: day,
					Numbers: changes.Numbers{Value: rng.NormFloat64() * unit * math.Pow(10, 3*rng.Float64()-1)},
				}
				e.Parts, e.Total.Value = append(e.Parts, p), e.Total.Value+p.Value
			}
			text := w.sentence(changes.Numbers{Value: 100}, changes.Numbers{Value: 100 + e.Total.Value}, e)
			said, causes, _ := strings.Cut(text, ": ")
			var whole, sum float64
			if figure := firstNumber.FindString(said); figure != "" {
				whole = figureOf(t, figure)
			}
			if strings.HasPrefix(said, "down") {
				whole = -whole
			}
			for _, sign := range []string{"+", "−"} {
				for _, after := range strings.Split(causes, " "+sign)[1:] {
					figure, _, _ := strings.Cut(after, ", ")
					figure, _, _ = strings.Cut(figure, " ")
					if v := figureOf(t, figure); sign == "+" {
						sum += v
					} else {
						sum -= v
					}
				}
			}
			if math.Abs(sum-whole) > unit/w.inValue.per/1000 {
				t.Fatalf("%s: the parts of %q add up to %v, and the whole is %v", d.ID, text, sum, whole)
			}
		}
	}
}

// firstNumber finds the number in "down $0.74 a barrel".
var firstNumber = regexp.MustCompile(`[0-9][0-9.,]*`)

// Each difference has the unit of the headline above it, and is converted as the value is: 3.33 bushels an acre are 0.209 tonnes a hectare.
func TestADifferenceHasTheUnitOfTheHeadline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, lang string
		moved    changes.Numbers
		want     string
	}{
		{"crack-spread-321", "en", changes.Numbers{Value: -0.74, Baseline: 0.5}, "down $0.74 a barrel; the baseline rose by $0.50 a barrel"},
		{"iowa-corn-yield", "en", changes.Numbers{Value: 3.33}, "up 3.33 bushels an acre"},
		{"iowa-corn-yield", "es", changes.Numbers{Value: 3.33, Baseline: -3.33}, "sube 0,209 toneladas por hectárea; la referencia baja 0,209 toneladas por hectárea"},
		{"iowa-corn-yield", "hi", changes.Numbers{Value: 3.33}, "0.209 टन प्रति हेक्टेयर ऊपर"},
		{"eia-weekly-petroleum", "en", changes.Numbers{Value: 1879, Baseline: -41}, "up 1.88 million barrels; the baseline fell by 0.04 million barrels"},
		{"eia-weekly-petroleum", "pt", changes.Numbers{Value: 1879}, "sobe 1,88 milhão de barris"},
		{"eia-weekly-petroleum", "hi", changes.Numbers{Value: 1879}, "18.8 लाख बैरल ऊपर"},
		{"eia-weekly-petroleum", "hi", changes.Numbers{Value: 12879, Baseline: -41}, "1.288 करोड़ बैरल ऊपर; आधार 0.4 लाख बैरल घटा"},
		{"hormuz-transit", "en", changes.Numbers{Value: 4.2}, "up 4.2 ships a day"},
		{"hormuz-transit", "pt", changes.Numbers{Value: 4.2, Baseline: -1.5}, "sobe 4,2 navios por dia; a referência cai 1,5 navio por dia"},
		{"iowa-corn-yield", "pt", changes.Numbers{Value: 3.33}, "sobe 0,209 tonelada por hectare"},
		{"lng-arbitrage", "pt", changes.Numbers{Value: -0.5}, "cai US$\u00a00,50 por MMBtu"},
		{"tropomi-no2-economic", "en", changes.Numbers{Value: -1.25, Baseline: 2}, "down 1.25 index points; the baseline rose by 2.00 index points"},
		{"tropomi-no2-economic", "es", changes.Numbers{Value: -1.25}, "baja 1,25 puntos del índice"},
		{"tropomi-no2-economic", "pt", changes.Numbers{Value: -1.25}, "cai 1,25 ponto do índice"},
		{"tropomi-no2-economic", "hi", changes.Numbers{Value: -1.25}, "सूचकांक के 1.25 अंक नीचे"},
	} {
		d, _ := signals.ByID(c.id)
		w := newChangeWriter(languages.Or(locale.Lang(c.lang)), d, c.moved)
		value, baseline, _ := w.measures()
		if got := strings.TrimSuffix(w.moved(value, c.moved)+"; "+w.moved(baseline, c.moved), "; "); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.id, c.lang, got, c.want)
		}
	}
}

// figureOf reads a number as English writes it.
func figureOf(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(text, ",;"), ",", ""), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
