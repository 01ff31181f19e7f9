package picks

import (
	"slices"
	"strings"
	"testing"

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
	claimCash:     {"{cash_flow", "{free_cash_flow", "{cash_yield", "cash", "flujo de caja", "fluxo de caixa", "la caja", "em caixa", "नक़दी"},
	claimFScore:   {"{fscore", "Piotroski", "पिओत्रोस्की"},
	claimDebt:     {"{debt_ratio"},
	claimGross:    {"{gross_profitability", "{gross_margin"},
	claimOperates: {"{operating_yield", "operating income", "resultado operativo", "resultado operacional", "परिचालन आय"}, //nolint:misspell // Portuguese
	claimLends:    {"{return_on_assets", "{equity_to_assets", "{provisions", "{price_to_tangible", "{tangible_equity"},
	claimFunds:    {"{funds", "funds from operations", "fondos de operaciones", "recursos das operações", "परिचालन से निधि"},
	claimPremiums: {"{combined_ratio"},
	claimEarnings: {"{pe}", "{earnings_yield"},
}

func makes(phrase string, c claim) bool {
	return slices.ContainsFunc(claimsOf[c], func(mark string) bool { return strings.Contains(strings.ToLower(phrase), strings.ToLower(mark)) })
}

// No phrase with a claim, in any language, is reachable for companies of a sector without this claim.
func TestNoCompanyIsDescribedByWhatMeansNothingInItsSector(t *testing.T) {
	t.Parallel()
	seen := map[claim]int{}
	for _, sic := range []int{6021, 6141, 6199, 6211, 6311, 6324, 6331, 6411, 6512, 6726, 6798, 4911, 7372, 2911} {
		m := synthMarket(uint64(sic), 24, day("2026-03-16"))
		for i := range m.Candidates {
			m.Candidates[i].Company.SIC = sic
		}
		r := Rank(m, DefaultRules())
		if len(r.Scores) < 12 {
			t.Errorf("SIC %d: only %d of 24 can be scored: %v", sic, len(r.Scores), r.Excluded)
		}
		for i := range r.Scores {
			picked := r
			picked.Pick = &r.Scores[i]
			b := NewBrief(picked, r.Scores[i], Background{})
			for _, g := range []Group{Quality, Value, Momentum, Risk} {
				b.lead = g
				used := slices.Concat(b.summary(), b.business(), b.reasons(), b.objections(), b.origin(), []string{"risk." + b.risk})
				for _, row := range tableRows {
					if b.Facts.Has(row) {
						used = append(used, "label."+row)
					}
				}
				for _, f := range forbidden {
					for _, c := range f.claims {
						for _, l := range languages.All() {
							for _, key := range used {
								if phrase := l.Phrases[key]; makes(phrase, c) {
									if f.of(sic) {
										t.Fatalf("SIC %d (%s) is described by %s, in %s: %s", sic, f.name, c, l.Code, phrase)
									}
									seen[c]++
								}
							}
						}
					}
				}
			}
		}
	}
	for c := range claimsOf {
		if seen[c] == 0 {
			t.Errorf("no company at all is described by %s: the test shows nothing", c)
		}
	}
}

// A phrase with a claim has it in all languages; otherwise a language would hide it from the table.
func TestAClaimIsOneInAllLanguages(t *testing.T) {
	t.Parallel()
	for key, phrase := range english.Phrases {
		if strings.HasPrefix(key, "page.") || !strings.ContainsAny(phrase, "{") {
			continue
		}
		for c := range claimsOf {
			for _, l := range languages.All() {
				if makes(phrase, c) != makes(l.Phrases[key], c) {
					t.Errorf("%s makes a claim of %s in English: %v, in %s: %v (%s)", key, c, makes(phrase, c), l.Code, !makes(phrase, c), l.Phrases[key])
				}
			}
		}
	}
}
