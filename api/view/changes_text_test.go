package view

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
	"tidemark/signals/changes"
)

// Numbers of crack-spread-321, whose words have three decimals; the day is a Wednesday.
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
			"en": "up 2.000: new data (November 18, 2026) +2.000; the baseline rose by 0.500: compared with a different stretch of the past +0.500; " +
				"the z-score rose by 0.75: compared with a different stretch of the past −0.25, new data (November 18, 2026) +1.00",
			"es": "sube 2,000: datos nuevos (18 de noviembre de 2026) +2,000; la referencia sube 0,500: comparación con otro tramo del pasado +0,500; " +
				"la puntuación z sube 0,75: comparación con otro tramo del pasado −0,25, datos nuevos (18 de noviembre de 2026) +1,00",
		}},
		{"the baseline alone", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22, Baseline: 20.5, Z: 0.75}, []changes.Part{moved}, map[string]string{
			"en": "unchanged; the baseline rose by 0.500: compared with a different stretch of the past +0.500; " +
				"the z-score fell by 0.25, although the value is unchanged, because the baseline moved: compared with a different stretch of the past −0.25",
			"pt": "sem mudança; a referência sobe 0,500: comparação com outro trecho do passado +0,500; " +
				"o escore z cai 0,25, embora o valor não tenha mudado, porque a referência mudou: comparação com outro trecho do passado −0,25",
		}},
		{"the spread alone", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22, Baseline: 20, Z: 1.5}, []changes.Part{window}, map[string]string{
			"en": "unchanged; the z-score rose by 0.50, although the value and the baseline are unchanged, because the usual spread moved: the window moved forward +0.50",
			"hi": "कोई बदलाव नहीं; मान और आधार वही हैं, फिर भी z-स्कोर 0.50 बढ़ा, क्योंकि सामान्य फैलाव बदल गया: अवधि आगे बढ़ी +0.50",
		}},
		{"baseline and spread", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22, Baseline: 20.5, Z: 1.25}, []changes.Part{moved, window}, map[string]string{
			"en": "unchanged; the baseline rose by 0.500: compared with a different stretch of the past +0.500; the z-score rose by 0.25, although the value is unchanged, " +
				"because the baseline and the usual spread moved: compared with a different stretch of the past −0.25, the window moved forward +0.50",
		}},
		{"a part too small to be named", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 24.0004, Baseline: 20, Z: 1}, []changes.Part{
			{Kind: changes.NewObservation, Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 1.9994}},
			{Kind: changes.Window, Numbers: changes.Numbers{Value: 0.0006}},
			{Kind: changes.Code, Numbers: changes.Numbers{Value: 0.0004}},
		}, map[string]string{
			"en": "up 2.000: new data (November 18, 2026) +1.999, the window moved forward +0.001",
		}},
		{"parts too small to be named", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 22.0008, Baseline: 20, Z: 1}, []changes.Part{
			{Kind: changes.Window, Numbers: changes.Numbers{Value: 0.0004}},
			{Kind: changes.Code, Numbers: changes.Numbers{Value: 0.0004}},
		}, map[string]string{
			"en": "up 0.001: smaller parts +0.001", "es": "sube 0,001: otros efectos menores +0,001", "pt": "sobe 0,001: outros efeitos menores +0,001", "hi": "0.001 ऊपर: दूसरे छोटे असर +0.001",
		}},
		{"parts that do not add up as they are rounded", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 24.0012, Baseline: 20, Z: 1}, []changes.Part{
			{Kind: changes.NewObservation, Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 2.0006}},
			{Kind: changes.Window, Numbers: changes.Numbers{Value: 0.0006}},
		}, map[string]string{
			"en": "up 2.001: new data (November 18, 2026) +2.001, the window moved forward +0.001, rounding −0.001",
			"es": "sube 2,001: datos nuevos (18 de noviembre de 2026) +2,001, la ventana avanzó +0,001, redondeo −0,001",
		}},
		{"parts with the same words", changes.Numbers{Value: 22, Baseline: 20, Z: 1}, changes.Numbers{Value: 24, Baseline: 20.364, Z: 1}, []changes.Part{
			{Kind: changes.BaselineWindow, Numbers: changes.Numbers{Baseline: 0.246}},
			{Kind: changes.NewObservation, Source: "a", Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 1.5}},
			{Kind: changes.NewObservation, Source: "b", Count: 1, Releases: 1, From: day, To: day, Release: day, Numbers: changes.Numbers{Value: 0.5}},
			{Kind: changes.BaselineWindow, Numbers: changes.Numbers{Baseline: 0.118}},
		}, map[string]string{
			"en": "up 2.000: new data (November 18, 2026) +2.000; the baseline rose by 0.364: compared with a different stretch of the past +0.364",
			"es": "sube 2,000: datos nuevos (18 de noviembre de 2026) +2,000; la referencia sube 0,364: comparación con otro tramo del pasado +0,364",
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
			w := changeWriter{l: languages.Or(locale.Lang(lang)), d: d}
			if got := w.sentence(c.from, c.to, changes.Explanation{Total: total, Parts: c.parts}); got != want {
				t.Errorf("%s: %q, want %q", c.what, got, want)
			}
		}
	}
	w := changeWriter{l: languages.Or("en"), d: d}
	if got, want := w.part(moved), "compared with a different stretch of the past, baseline +0.500, z-score −0.25"; got != want {
		t.Errorf("a part is %q, want %q", got, want)
	}
}

// The named parts add up to the stated whole, digit for digit, in 10,000 random changes of each signal.
func TestTheNamedPartsAddUpToTheWholeAsItIsWritten(t *testing.T) {
	t.Parallel()
	kinds := []changes.Kind{changes.NewObservation, changes.Revision, changes.Window, changes.BaselineWindow, changes.Code}
	for _, d := range signals.All() {
		w := changeWriter{l: languages.Or("en"), d: d}
		value, _, _ := w.measures()
		unit := math.Pow10(-value.decimals)
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
			if _, figure, moved := strings.Cut(said, " "); moved {
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
			if math.Abs(sum-whole) > unit/1000 {
				t.Fatalf("%s: the parts of %q add up to %v, and the whole is %v", d.ID, text, sum, whole)
			}
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
