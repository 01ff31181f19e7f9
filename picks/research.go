package picks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Texts are the texts about one company in one language. FullResearch is Markdown, the others are plain paragraphs.
type Texts struct {
	Lang         Lang
	SummaryWhy   string
	WhatItDoes   string
	WhyChosen    string
	MainRisk     string
	FullResearch string
}

// all lists the texts.
func (t Texts) all() []string {
	return []string{t.SummaryWhy, t.WhatItDoes, t.WhyChosen, t.MainRisk, t.FullResearch}
}

// Writer writes the texts about a company from a brief, in one language. An implementation may do I/O and take its time; it stops with
// the context. It may choose words and order, but name no number that is not among the brief's facts: Compose checks it.
type Writer interface {
	Write(ctx context.Context, b Brief, lang Lang) (Texts, error)
}

// Compose lets a writer write the texts and checks every number in them. WriteResearch writes the texts if no writer is given, if the
// writer fails, or if it names a number that is not a fact. The second result then says why the writer's texts were rejected. It is nil
// without a writer.
func Compose(ctx context.Context, w Writer, b Brief, lang Lang) (t Texts, refused, err error) {
	if w != nil {
		t, refused = w.Write(ctx, b, lang)
		if refused == nil {
			refused = t.check(lang, b.Facts)
		}
		if refused == nil {
			return t, nil, nil
		}
		refused = fmt.Errorf("write %s in %s: %w", b.Ticker, lang, refused)
	}
	t, err = WriteResearch(b, lang)
	return t, refused, err
}

// check returns an error for the first text that is empty, is in another language than lang, or names a number that is not a fact.
func (t Texts) check(lang Lang, facts Data) error {
	if t.Lang != lang {
		return fmt.Errorf("the texts are in %q", t.Lang)
	}
	for _, text := range t.all() {
		if strings.TrimSpace(text) == "" {
			return errors.New("a text is empty")
		}
		if err := CheckNumbers(text, lang, facts); err != nil {
			return err
		}
	}
	return nil
}

// WriteResearch writes the texts about a company by rule. The numbers determine the leading factor, the points for and against the
// company, the main risk, and so the sentences. Equal briefs give equal texts. It fails only for an unknown language.
func WriteResearch(b Brief, lang Lang) (Texts, error) {
	w := textWriter{facts: b.Facts, lang: lang}
	t := Texts{Lang: lang}
	t.SummaryWhy = w.paragraph(b.summary()...)
	t.WhatItDoes = w.paragraph(b.business()...)
	t.WhyChosen = w.paragraph(b.reasons()...)
	t.MainRisk = w.paragraph(b.mainRisk()...)
	t.FullResearch = b.full(&w, t)
	if w.err != nil {
		return Texts{}, fmt.Errorf("write %s: %w", b.Ticker, w.err)
	}
	return t, nil
}

// textWriter writes phrases and keeps the first error.
type textWriter struct {
	facts Data
	lang  Lang
	err   error
}

func (p *textWriter) paragraph(phrases ...string) string {
	s, err := p.facts.paragraph(p.lang, phrases...)
	if p.err == nil {
		p.err = err
	}
	return s
}

// summary is the reason for the pick, in a few sentences. For a company that was not picked, it is the clearest point for it and the
// clearest against it.
func (b Brief) summary() []string {
	if !b.picked {
		return slices.Concat([]string{"why.compared"}, b.reasons()[:1], b.objections()[:1])
	}
	phrases := []string{b.choosePhrase("why.pick")}
	if b.lead != "" {
		lead := "why.lead." + string(b.lead)
		switch {
		case b.first[b.lead]:
			lead += ".all"
		case (b.lead == Value || b.lead == Quality) && !b.allKnown[b.lead]:
			lead += ".some"
		case b.lead == Value && b.trust:
			lead += ".property"
		case b.lead == Quality && b.financial, b.lead == Value && b.bookAndEarnings:
			lead += ".financial"
		}
		phrases = append(phrases, lead)
	}
	if b.next != "" {
		next := "why.next." + string(b.next)
		if b.first[b.next] {
			next += ".all"
		}
		phrases = append(phrases, next)
	}
	if b.weak != "" {
		weak := "why.weak." + string(b.weak)
		if b.last {
			weak += ".none"
		}
		phrases = append(phrases, weak)
	}
	if d, _ := b.Facts.Find("universe"); d.Value == "1" { // no other company could score higher or lower
		return phrases
	}
	standing := "why.passed"
	if d, _ := b.Facts.Find("rank"); d.Value == "1" {
		standing = "why.best"
	} else if b.chosen {
		standing = "why.chosen"
	}
	return append(phrases, standing)
}

// choosePhrase chooses between a phrase and its other wordings, which are numbered from "#2" on.
func (b Brief) choosePhrase(phrase string) string {
	n := 1
	for {
		if _, ok := english.Phrases[fmt.Sprintf("%s#%d", phrase, n+1)]; !ok {
			break
		}
		n++
	}
	if k := b.variant % n; k > 0 {
		return fmt.Sprintf("%s#%d", phrase, k+1)
	}
	return phrase
}

// business describes the company's business and size.
func (b Brief) business() []string {
	phrases := b.listed("what.business", "what.seat")
	switch d, _ := b.Facts.Find("net_income"); {
	case b.isZero("net_income"): // neither a profit nor a loss
	case d.Number() < 0 && b.isZero("revenue"): // "revenue was $0" says nothing
		phrases = append(phrases, b.listed("what.loss_only")...)
	case d.Number() < 0:
		phrases = append(phrases, b.firstListed("what.loss", "what.loss_only")...)
	default:
		phrases = append(phrases, b.firstListed("what.profit", "what.profit_only")...)
	}
	if growth := b.change("growth", "revenue_growth"); len(growth) > 0 {
		phrases = append(phrases, growth...)
		if quarter := b.change("quarter", "quarter_growth"); len(quarter) > 0 { // says "it" of revenue
			phrases = slices.Concat(phrases, quarter, b.listed("quarter.days"))
		}
	}
	peers := "what.peers"
	if d, _ := b.Facts.Find("peers"); !strings.Contains(d.Value, ",") {
		peers += ".one"
	}
	return slices.Concat(phrases, b.listed("what.market"), b.firstListed("what.range.some", "what.range"), b.listed(peers, "what.peers_pe"))
}

// change is the phrase for a rise or a fall; none for no change, which no phrase could put well.
func (b Brief) change(phrase, fact string) []string {
	d, ok := b.Facts.Find(fact)
	switch {
	case !ok || d.Number() == 0:
		return nil
	case d.Number() < 0:
		return b.listed(phrase + ".down")
	default:
		return b.listed(phrase + ".up")
	}
}

// listed keeps the phrases whose facts are known, first the first of them.
func (b Brief) listed(phrases ...string) []string {
	var fit []string
	for _, p := range phrases {
		if b.Facts.fits(p) {
			fit = append(fit, p)
		}
	}
	return fit
}

func (b Brief) firstListed(phrases ...string) []string {
	fit := b.listed(phrases...)
	return fit[:min(len(fit), 1)]
}

// maxReasons is how many metrics are named on either side.
const maxReasons = 4

// reasons are the points in favour of the company.
func (b Brief) reasons() []string {
	phrases := b.points(b.strong, "good")
	if b.signal > 0 {
		phrases = append(phrases, b.listed("signal.for")...)
	}
	if len(phrases) == 0 {
		return []string{"for.none"}
	}
	return phrases
}

// objections are the points against it.
func (b Brief) objections() []string {
	phrases := b.points(b.poor, "bad")
	if b.signal < 0 {
		phrases = append(phrases, b.listed("signal.against")...)
	}
	if len(phrases) == 0 {
		return []string{"against.none"}
	}
	return phrases
}

// points are the phrases of the clearest metrics of one side.
func (b Brief) points(metrics []string, side string) []string {
	var phrases []string
	named := 0
	for _, id := range metrics {
		phrase := b.listed(b.metricPhrase(id, side))
		if len(phrase) == 0 || named == maxReasons || id == PriceMomentum && b.movesWithSector() {
			continue
		}
		phrases = append(phrases, phrase...)
		named++
		if id == PriceMomentum {
			phrases = append(phrases, b.spinOff()...)
		}
	}
	return phrases
}

// movesWithSector reports whether the momentum is written with the same digits as the momentum of the sector. A text then sees neither ahead.
func (b Brief) movesWithSector() bool {
	sector, ok := b.Facts.Find("sector_momentum")
	return ok && b.tells("momentum", sector)
}

// spinOff says of a momentum that it counts more than the closes, if the company gave away shares of another.
func (b Brief) spinOff() []string {
	if b.spunOff {
		return []string{"momentum.spinoff"}
	}
	return nil
}

// passesNone reports whether the company passes none of Piotroski's tests.
func (b Brief) passesNone() bool {
	d, _ := b.Facts.Find("fscore")
	return d.Value == "0"
}

// mainRisk describes the main risk.
func (b Brief) mainRisk() []string {
	phrases := []string{b.debtPhrase("risk." + b.risk)}
	if b.risk == "weak" && b.passesNone() {
		phrases[0] += ".none"
	}
	if b.risk == "falling" {
		phrases = append(phrases, b.spinOff()...)
	}
	return phrases
}

// debtPhrase returns the phrase about debt for a company whose debt a note states, and any other phrase as it is.
func (b Brief) debtPhrase(phrase string) string {
	if _, ok := english.Phrases[phrase+".noted"]; ok && b.noted {
		return phrase + ".noted"
	}
	return phrase
}

// isZero reports whether a fact is known and rounded to zero.
func (b Brief) isZero(id string) bool {
	d, ok := b.Facts.Find(id)
	return ok && d.Number() == 0
}

// tells reports whether a fact is written with the same digits and unit as another.
func (b Brief) tells(id string, other Datum) bool {
	d, ok := b.Facts.Find(id)
	return ok && d.Value == other.Value && d.Unit == other.Unit
}

// metricPhrase returns the phrase for a metric; a loss has its own phrase.
func (b Brief) metricPhrase(id, side string) string {
	fact := map[string]string{
		EarningsYield: "net_income", CashYield: "free_cash_flow", FundsYield: "funds", TangibleYield: "tangible_equity", OperatingYield: OperatingYield,
		BookYield: BookYield, GrossProfitability: GrossProfitability, ReturnOnAssets: ReturnOnAssets, EquityToAssets: EquityToAssets,
	}[id]
	if d, ok := b.Facts.Find(fact); ok && d.Number() < 0 {
		side = "loss"
	}
	if id == CashYield && side == "bad" && b.isZero(CashYield) {
		side = "thin" // it is rounded to nothing
	}
	if d, ok := b.Facts.Find("provisions"); id == LowProvisions && ok && d.Number() < 0 {
		side = "release"
	}
	if id == LowDebt && side == "good" && b.isZero("debt_ratio") {
		side = "none"
	}
	if id == CashBacking && b.loses {
		side = map[string]string{"good": "loss", "bad": "burn"}[side]
		if cash, _ := b.Facts.Find("cash_flow"); side == "burn" && b.tells("net_income", cash) {
			side = "burn.near" // one amount is not more than the same amount
		}
	}
	if id == FinancialStrength && b.passesNone() {
		side = "none"
	}
	if id == LowDebt {
		return b.debtPhrase(id + "." + side)
	}
	if id == PriceMomentum {
		side = b.momentumSide(side)
	}
	return id + "." + side
}

// momentumSide chooses the phrase for a side of the momentum.
func (b Brief) momentumSide(side string) string {
	if side == "good" && b.priceOnly {
		side += ".price" // the other phrase says "with dividends"
	}
	if b.isZero("momentum") || b.isZero("sector_momentum") {
		side += ".flat" // a price that stayed neither gained nor lost
	}
	return side
}
