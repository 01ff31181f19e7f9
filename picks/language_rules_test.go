package picks

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
)

// languageRule is a fault that a native editor would mark and that a pattern finds.
type languageRule struct {
	fault   string
	pattern *regexp.Regexp
}

func rules(pairs ...string) []languageRule {
	var all []languageRule
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, languageRule{pairs[i], regexp.MustCompile(pairs[i+1])})
	}
	return all
}

var (
	everywhere = rules(
		"a doubled blank", `[ \x{00A0}]{2}`,
		"a blank before a mark", ` [.,;:!?।]`,
		"a doubled mark", `\.\.|,,|;;|।।|[.।],`,
		"two signs", `[-+−][-+−]\d`,
		"a value that is missing", `NaN|<nil>|%!|[{}]`,
	)
	// An English word that is no name. Signals have the term of the trade in parentheses.
	foreign = `(?:^|[^\pL-])(bu|acres?|bushels?|barrels?|million|billion|thousand|percent|per|points?|years?|days?|weeks?|months?|` +
		`shares?|stocks?|the|of|and|standard|deviations?|dollars|times|rose|fell)(?:$|[^\pL-])`
	inLanguage = map[locale.Lang][]languageRule{
		locale.English: rules(
			"one of many", `(?:^|[^\d.,])1 (points|events|positions|picks|shares|years|deviations|votes)\b`,
			"many of one", `(?:^|[^\d.,])([2-9]|\d\d+) (point|event|position|pick|share|year|deviation|vote)\b`,
			"a percent sign after a blank", `\d[ \x{00A0}]%`,
			"an article before a vowel", `\ba (8|11|18)\b`,
		),
		"es": rules(
			"an English word", foreign,
			"no contraction", `(?:^|\s)(de|a) el\s`,
			"y before i", `\sy h?i(?:$|[^aeou])`,
			"one of many", `(?:^|[^\d.,])1 (puntos|eventos|posiciones|selecciones|acciones|años|desviaciones|votos|veces|millones)`,
			"many of one", `(?:^|[^\d.,])([2-9]|\d\d+) (punto|evento|posición|selección|acción|año|desviación|voto|vez|millón)(?:$|[^\pL])`,
			"a point for the decimals", `(?:^|[^\d.,])\d{1,3}\.\d{1,2}(?:$|[^\d.])`,
			"a percent sign without its blank", `\d%|\d %`,
			"thousands of millions", `mil millones`,
			"a date in officialese", `a fecha de`,
			"a false friend", `(?i)asunci[oó]n|performance|ratio PER|billones de barriles`,
		),
		"pt": rules(
			"an English word", foreign,
			"no contraction", `(?i)(?:^|\s)(de|em|por) (os?|as?)\s`,
			"no crasis", `(?:^|\s)a (o|os|a|as)\s`,
			"one of many", `(?:^|[^\d.,])[01](,\d+)? (pontos|eventos|posições|seleções|ações|anos|desvios|votos|vezes|milhões|bilhões|trilhões)`,
			"many of one", `(?:^|[^\d.,])([2-9]|\d\d+) (ponto|evento|posição|seleção|ação|ano|desvio|voto|vez|milhão|bilhão)(?:$|[^\pL])`,
			"a point for the decimals", `(?:^|[^\d.,])\d{1,3}\.\d{1,2}(?:$|[^\d.])`,
			"a percent sign after a blank", `\d[ \x{00A0}]%`,
			"a first day without its º", `(?:^|[^\d.,])1 de (janeiro|fevereiro|março|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro)`,
			"dollars after the number", `\d (?:(?:milh|bilh|trilh)(?:ão|ões) de )?dólar`,
			"a translated term", `(?i)fundos federais|respaldo|facilidade de depósito`,
			"a word of Portugal", `(?i)(?:^|[^\pL])(facto|registo|registada|acç\pL+|equipa|utilizador|ecrã)(?:$|[^\pL])`,
		),
		"hi": rules(
			"a word in Latin letters", `(?:^|[^A-Za-z./_&=-])[a-z]{4,}(?:$|[^A-Za-z./_&=-])`,
			"an English unit", `\b(bu/|bu\b|acres?\b|USD/|bbl\b)`,
			"a Devanagari digit among Latin ones", `[०-९]`,
			"a percent sign after a blank", `\d[ \x{00A0}]%`,
			"a full stop for a danda", `[\x{0900}-\x{097F}]\.(?:\s|$)`,
			"millions, which Hindi does not count in", `मिलियन|बिलियन`,
			"a surprise that is amazement", `अचरज`,
		),
	}
	// wordsIn splits a text. A word in Devanagari holds its vowel signs.
	wordsIn = regexp.MustCompile(`[\pL\pM]+`)
)

// languageFaults are the faults of a text in a language, each with what it was found in.
func languageFaults(lang locale.Lang, text string) []string {
	var faults []string
	for _, r := range slices.Concat(everywhere, inLanguage[lang]) {
		if found := r.pattern.FindString(text); found != "" {
			faults = append(faults, fmt.Sprintf("%s, %q", r.fault, found))
		}
	}
	at := wordsIn.FindAllStringIndex(text, -1)
	for i := 1; i < len(at); i++ {
		before, word := text[at[i-1][0]:at[i-1][1]], text[at[i][0]:at[i][1]]
		capitals := strings.ToUpper(word) == word && strings.ToLower(word) != word // a ticker
		if strings.Trim(text[at[i-1][1]:at[i][0]], " \u00a0") == "" && strings.EqualFold(before, word) && !capitals {
			faults = append(faults, fmt.Sprintf("a doubled word, %q", word))
		}
	}
	return faults
}

func TestTheRulesOfLanguageFindFaultsThatOnceWereWritten(t *testing.T) {
	t.Parallel()
	for lang, texts := range map[locale.Lang][]string{
		locale.English: {"It was  high.", "2 event was recorded.", "1 percentage points and 1 points", "a 8% margin", "NaN%", "the the share", "rose 7 %."},
		"es": {
			"con el código de actividad correspondiente a el tabaco", "el rendimiento es de 190 bu/acre", "121,9 mil millones de dólares", "sube un 7%.",
			"energía y industria", "1 veces el beneficio", "2 desviación típica", "un 7.5\u00a0% más", "con datos a fecha de 20 de noviembre",
		},
		"pt": {
			"US$\u00a01,4 bilhões", "por o estreito", "o nível de a bacia", "1 vezes o lucro", "sobe 7 %", "o registo", "190 bu/acre", "2 evento",
			"desde 1 de maio", "2 bilhões de dólares", "a taxa dos fundos federais",
		},
		"hi": {"190 bu/acre", "७ प्रतिशत", "यह अच्छा है.", "3 मिलियन बैरल", "अचरज (z)", "यह यह है।"},
	} {
		for _, text := range texts {
			if len(languageFaults(lang, text)) == 0 {
				t.Errorf("no fault is found in %s: %q", lang, text)
			}
		}
	}
}

// A plot's event has a short whole sentence in each language, and no language has one of an event that is not in the list.
func TestEveryEventHasASentenceInEachLanguage(t *testing.T) {
	t.Parallel()
	events := make([]string, 0, 32)
	for _, a := range signals.Annotations() {
		events = append(events, a.ID)
	}
	slices.Sort(events)
	for _, l := range languages.All() {
		if got := slices.Sorted(maps.Keys(l.Annotations)); !slices.Equal(got, events) {
			t.Errorf("%s has sentences of %q, the events are %q", l.Code, got, events)
		}
		for id, text := range l.Annotations {
			if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "।") || utf8.RuneCountInString(text) > 140 {
				t.Errorf("%s in %s: %q", id, l.Code, text)
			}
		}
	}
}

// The fixed texts of the pages, the names of things and the reviewed events read as the phrases do.
func TestFixedTextsHoldTheRulesOfLanguage(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`%(\[\d\])?s`)
	name := regexp.MustCompile(`claim <[^“”«»]*>|/api/[a-z0-9/]+|\b(as_of|errors|lang|order|vintages|signature)\b`) // of the API, in texts about problems
	for _, l := range languages.All() {
		check := func(what, text string) {
			for _, fault := range languageFaults(l.Code, text) {
				t.Errorf("%s of %s: %s in %q", what, l.Code, fault, text)
			}
		}
		for id, text := range l.Words {
			if strings.HasPrefix(id, "evidence.unit.") {
				continue // a source's own unit, which the trade calls by its English name
			}
			if strings.HasPrefix(id, "problem.") {
				text = name.ReplaceAllString(text, "API")
			}
			check("word "+id, strings.ReplaceAll(verb.ReplaceAllString(text, "7"), "%%", "%"))
		}
		for id, text := range l.Terms {
			check("term "+id, text)
		}
		inSignal := func(id string, x locale.SignalTexts) {
			figure := func(text string) string { return strings.ReplaceAll(text, "%s", "7") }
			whole := []string{x.Short, figure(x.Figure), x.Baseline, x.Interval, x.Truth, x.Lead, x.About, x.Technique, x.Target, x.Predictor, x.Naive}
			if slices.Contains(whole, "") {
				t.Errorf("%s in %s lacks a text: %q", id, l.Code, whole)
			}
			for _, text := range slices.Concat(whole, slices.Collect(maps.Values(x.Parts)), slices.Collect(maps.Values(x.Figures)), []string{figure(x.Gap)}) {
				check("the signal "+id, text)
			}
		}
		for id, x := range l.SignalTexts {
			inSignal(id, x)
		}
		for _, d := range signals.All() {
			check("signal "+d.ID, d.Phrase[string(l.Code)])
			if x, ok := d.Texts[string(l.Code)]; ok {
				inSignal(d.ID, x)
			}
		}
		for id, text := range l.Annotations {
			check("event "+id, text)
		}
	}
}

// A word of Hindi is written with a dot below or without, not both.
func TestHindiSpellsAWordInOneWay(t *testing.T) {
	t.Parallel()
	l := languages.Find("hi")
	seen := map[string]string{}
	dots := strings.NewReplacer("\u093c", "", "\u0958", "क", "\u0959", "ख", "\u095a", "ग", "\u095b", "ज", "\u095c", "ड", "\u095d", "ढ", "\u095e", "फ")
	whole := strings.NewReplacer("\u0958", "क\u093c", "\u0959", "ख\u093c", "\u095a", "ग\u093c", "\u095b", "ज\u093c", "\u095c", "ड\u093c", "\u095d", "ढ\u093c", "\u095e", "फ\u093c")
	read := func(text string) {
		for _, word := range wordsIn.FindAllString(whole.Replace(text), -1) {
			bare := dots.Replace(word)
			if other, ok := seen[bare]; ok && other != word {
				t.Errorf("%q and %q are one word", other, word)
			}
			seen[bare] = word
		}
	}
	for _, texts := range []map[string]string{l.Phrases, l.Terms, l.Words, l.Annotations} {
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			read(texts[key])
		}
	}
}
