package picks

import (
	"slices"
	"strings"
	"testing"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/locale/languages"
)

// A claim is something that a phrase says about a company's figures.
type claim string

const (
	claimCash     claim = "cash flow and accruals"
	claimFScore   claim = "Piotroski's tests"
	claimDebt     claim = "debt to assets"
	claimGross    claim = "gross profit"
	claimOperates claim = "operating income to enterprise value"
	claimLends    claim = "what measures banks and lenders"
	claimFunds    claim = "funds from operations"
	claimPremiums claim = "the combined ratio"
	claimEarnings claim = "price to earnings"
)

// forbidden are the claims that mean nothing in a line of business: a company of such a code is never described by them.
var forbidden = []struct {
	name   string
	of     func(sic int) bool
	claims []claim
}{
	{"SIC 6000 to 6799", func(sic int) bool { return sic >= 6000 && sic <= 6799 }, []claim{claimCash, claimFScore}},
	{"finance and real estate", func(sic int) bool { return SectorOf(sic) == Finance || SectorOf(sic) == RealEstate }, []claim{claimDebt, claimGross, claimOperates}},
	{"utilities", func(sic int) bool { return SectorOf(sic) == Utilities }, []claim{claimOperates}},
	{"property trusts", func(sic int) bool { return sic == 6798 }, []claim{claimEarnings}},
	{"all but property trusts", func(sic int) bool { return sic != 6798 }, []claim{claimFunds}},
	{"all but insurers of property", func(sic int) bool { return sic != 6331 }, []claim{claimPremiums}},
	{"all but banks and lenders", func(sic int) bool { return sic < 6000 || sic > 6199 }, []claim{claimLends}},
}

// claimsOf are the marks of a phrase with a claim: a fact that it names, or a word in some language.
var claimsOf = map[claim][]string{
	claimCash:     {"{cash_flow", "{free_cash_flow", "{cash_yield", "cash", "flujo de caja", "fluxo de caixa", "la caja", "em caixa", "नक़दी", "कैश फ़्लो"},
	claimFScore:   {"{fscore", "Piotroski", "पिओत्रोस्की"},
	claimDebt:     {"{debt_ratio"},
	claimGross:    {"{gross_profitability", "{gross_margin"},
	claimOperates: {"{operating_yield", "operating income", "resultado operativo", "resultado operacional", "परिचालन आय"}, //nolint:misspell // Portuguese
	claimLends:    {"{return_on_assets", "{equity_to_assets", "{provisions", "{price_to_tangible", "{tangible_equity"},
	claimFunds:    {"{funds", "funds from operations", "fondos de operaciones", "recursos das operações", "परिचालन से प्राप्त धन"},
	claimPremiums: {"{combined_ratio"},
	claimEarnings: {"{pe}", "{earnings_yield", "{range_", "{peers_pe}"},
}

func makes(text, mark string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(mark))
}

// No phrase and no row with a claim, in any language, is reachable for companies of a sector without this claim. Each fact that makes a claim is
// told of some other company, with five years of prices and filings.
func TestNoCompanyIsDescribedByWhatMeansNothingInItsSector(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, sics := range [][]int{{6021}, {6141}, {6199}, {6211}, {6311}, {6324}, {6331}, {6411}, {6512}, {6726}, {6798}, {6798, 6512}, {4911}, {7372}, {2911}} {
		m := synthMarket(uint64(sics[0]), 24, day("2026-03-16"))
		histories := map[equity.CIK]History{}
		for i := range m.Candidates {
			m.Candidates[i].Company.SIC = sics[i%len(sics)]
			if i%4 == 0 { // enough to read
				histories[m.Candidates[i].Company.CIK] = withYearsBefore(m.Candidates[i].History)
			}
		}
		r := Rank(m, DefaultRules())
		if len(r.Scores) < 12 {
			t.Errorf("SIC %d: only %d of 24 can be scored: %v", sics, len(r.Scores), r.Excluded)
		}
		for i, s := range r.Scores {
			picked := r
			picked.Pick = &r.Scores[i]
			b := NewBrief(picked, s, Background{History: histories[s.CIK]})
			for _, g := range []Group{Quality, Value, Momentum, Risk} {
				b.lead = g
				used := slices.Concat(b.summary(), b.business(), b.reasons(), b.objections(), b.origin(), []string{"risk." + b.risk})
				rows := ""
				for _, row := range slices.Concat(tableRows, b.changes) {
					if b.Facts.Has(row) {
						used = append(used, "label."+row)
						rows += "{" + row + "}"
					}
				}
				for _, l := range languages.All() {
					texts := rows
					for _, key := range used {
						texts += "\n" + l.Phrases[key]
					}
					for c, marks := range claimsOf {
						for _, mark := range marks {
							if !makes(texts, mark) {
								continue
							}
							seen[mark]++
							for _, f := range forbidden {
								if f.of(s.SIC) && slices.Contains(f.claims, c) {
									t.Fatalf("SIC %d (%s) is described by %s, in %s, by %s:\n%s", s.SIC, f.name, c, l.Code, mark, texts)
								}
							}
						}
					}
				}
			}
		}
	}
	for c, marks := range claimsOf {
		for _, mark := range marks {
			if rare := []string{"em caixa", "{tangible_equity"}; seen[mark] == 0 && !slices.Contains(rare, mark) { // burnt cash, and a loss of equity
				t.Errorf("no company at all is described by %s, by %s: the test shows nothing", c, mark)
			}
		}
	}
}

// withYearsBefore adds five years of days before a history, all at its first close.
func withYearsBefore(h History) History {
	var before []equity.Bar
	for _, d := range calendar.Between(h.Bars[0].Date.AddDate(-5, 0, 0), h.Bars[0].Date.AddDate(0, 0, -1)) {
		b := h.Bars[0]
		b.Date = d
		before = append(before, b)
	}
	h.Bars = slices.Concat(before, h.Bars)
	return h
}

// A phrase with a claim has it in all languages; otherwise a language would hide it from the table.
func TestAClaimIsOneInAllLanguages(t *testing.T) {
	t.Parallel()
	for key, phrase := range english.Phrases {
		if strings.HasPrefix(key, "page.") || !strings.ContainsAny(phrase, "{") {
			continue
		}
		for c, marks := range claimsOf {
			claims := func(text string) bool {
				return slices.ContainsFunc(marks, func(mark string) bool { return makes(text, mark) })
			}
			for _, l := range languages.All() {
				if claims(phrase) != claims(l.Phrases[key]) {
					t.Errorf("%s makes a claim of %s in English: %v, in %s: %v (%s)", key, c, claims(phrase), l.Code, !claims(phrase), l.Phrases[key])
				}
			}
		}
	}
}
