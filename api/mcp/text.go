package mcp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
)

// The responses for people: short, and complete enough to be forwarded. Numbers are the same as in the structured response.

// decimals formats a number with two decimals, and with the minus sign of the pages. Zero has none.
func decimals(v float64) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', 2, 64)
	if v < 0 && strings.Trim(text, "0.") != "" {
		return "−" + text
	}
	return text
}

// positive is decimals with the sign of a number above zero.
func positive(v float64) string {
	text := decimals(v)
	if v > 0 && strings.Trim(text, "0.") != "" {
		return "+" + text
	}
	return text
}

// signed formats a percentage with its sign, or returns "unknown".
func signed(pct *float64) string {
	if pct == nil {
		return "unknown"
	}
	return positive(*pct) + "%"
}

// points formats a difference of two percentages with its sign, or returns "unknown".
func points(pct *float64) string {
	if pct == nil {
		return "unknown"
	}
	return positive(*pct) + " percentage points"
}

// period formats the return of a period, which a young record does not have.
func period(pct *float64) string {
	if pct == nil {
		return "not applicable"
	}
	return signed(pct)
}

// lines joins paragraphs, each on its own line.
type lines struct{ strings.Builder }

func (l *lines) add(format string, args ...any) {
	_, _ = fmt.Fprintf(&l.Builder, format+"\n", args...)
}

func picksText(a view.LatestPicks) string {
	var l lines
	if len(a.Picks) == 0 {
		l.add("No pick has been announced yet.")
	}
	for _, p := range a.Picks {
		entry := "not followed by a close yet"
		if p.EntryDate != nil {
			entry = fmt.Sprintf("%s from the close of %s, the first after the announcement, %s %s", signed(p.ReturnFromEntryPct), *p.EntryDate,
				p.Benchmark, signed(p.BenchmarkReturnFromEntryPct))
		}
		l.add("%s: %s (%s), picked at %s %s, %s; from the price of the record %s, %s %s (%s).", p.Date, p.Ticker, p.Name, p.Price, p.Currency,
			entry, signed(p.ReturnPct), p.Benchmark, signed(p.BenchmarkReturnPct), p.Status)
		if p.SummaryWhy != nil {
			l.add("  %s", *p.SummaryWhy)
		}
	}
	l.add("\n%s", a.Disclaimer)
	return l.String()
}

// word returns a word of the responses in the language of the texts.
func word(lang picks.Lang, id string) string { return languages.Or(lang).Words["agent."+id] }

// cardText returns the whole research, which contains the other texts.
func cardText(a view.Card) string {
	var l lines
	result := ""
	if a.Pick.ReturnFromEntryPct != nil { // the returns of older picks are not free
		result = ", " + signed(a.Pick.ReturnFromEntryPct)
	}
	if a.Pick.EntryDate != nil {
		result += " (" + *a.Pick.EntryDate + ")"
	}
	l.add("%s (%s): %s, %s%s\n\n%s\n", a.Ticker, a.Name, a.Pick.Date, a.Pick.Price, result, strings.TrimSpace(a.FullResearch))
	l.sources(word(a.Language, "source"), a.Sources)
	l.add("\n%s", a.Disclaimer)
	return l.String()
}

func (l *lines) sources(heading string, list []view.SourceDocument) {
	for _, s := range list {
		url := ""
		if s.URL != nil {
			url = " " + *s.URL
		}
		l.add("%s: %s%s", heading, s.Title, url)
	}
}

func portfolioText(a view.PortfolioSummary) string {
	var l lines
	l.add("Model portfolio at the close of %s, since %s: %s; %s (%s) %s; difference %s.", a.AsOf, a.InceptionDate, signed(a.ReturnPct),
		a.Benchmark.Name, a.Benchmark.Symbol, signed(a.Benchmark.ReturnPct), points(a.ExcessReturnPct))
	l.add("One day %s, one week %s, one month %s, this year %s. Volatility %s, largest drawdown %s.", period(a.Return1DPct), period(a.Return1WPct),
		period(a.Return1MPct), period(a.ReturnYTDPct), strings.TrimPrefix(period(a.VolatilityPct), "+"), signed(a.MaxDrawdownPct))
	l.add("%d positions, %s%% cash. Best: %s. Worst: %s.", a.PositionsCount, decimals(a.CashPct), positions(a.Best), positions(a.Worst))
	if c := a.LikeWithLike; c != nil {
		l.add("Against %s with the same share of cash: %s, volatility %s, largest drawdown %s; difference %s.", a.Benchmark.Symbol,
			signed(c.Benchmark.ReturnPct), strings.TrimPrefix(period(c.Benchmark.VolatilityPct), "+"), signed(c.Benchmark.MaxDrawdownPct),
			points(c.ExcessReturnPct))
	}
	if d := a.Delistings; d != nil && d.Sessions > 0 {
		l.add("Positions that stopped trading without a known price are assumed to lose 30%% (NYSE) or 55%% (Nasdaq), in %d sessions. Without any loss, the return is %s; with a total loss, %s.",
			d.Sessions, signed(d.ReturnAtLastClose), signed(d.ReturnAtTotalLoss))
	}
	if a.ReturnKind == view.PriceReturn {
		l.add("Price returns: the source of prices states no dividends, of the positions or of the benchmark.")
	}
	for _, d := range a.PricesInDoubt {
		l.add("In doubt: %s closed at %s; %s says %s.", d.Ticker, d.Close, d.Source, d.OtherClose)
	}
	for _, s := range a.Skill {
		if s.TStatistic != nil {
			l.add("Picks by %s: excess from entry %s a year, t %s, probability of skill %s.", s.Origin, points(s.ExcessPctPerYear), decimals(*s.TStatistic),
				strings.TrimPrefix(signed(s.ProbabilityPct), "+"))
		}
	}
	l.add("Method: %s.\n\n%s", a.Method, a.Disclaimer)
	return l.String()
}

func positions(list []view.PositionReturn) string {
	if len(list) == 0 {
		return "none"
	}
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.Ticker + " " + signed(p.ReturnPct)
	}
	return strings.Join(out, ", ")
}

func pickText(a view.VerifiedPick) string {
	var l lines
	verdict := "is valid: its hash was recomputed from the stored values and matches, and so does every link up to it"
	if !a.Valid {
		verdict = "is NOT valid: " + fmt.Sprintf("hash %s, previous %s, next %s", a.Checks.Hash, a.Checks.Previous, a.Checks.Next)
	}
	l.add("The pick of %s on %s, number %d of %d, %s.", a.Ticker, a.Pick.Date, a.ChainPosition, a.ChainLength, verdict)
	l.add("Verdict of this server: %s. %s", strings.ReplaceAll(string(a.Verdict), "_", "-"), a.JudgedBy.Text)
	l.add("SHA-256 of %q is %s.", a.Preimage, a.RecomputedHash)
	l.add("Git: %s%s. Attestation: %s%s.", a.Checks.Git, named(", commit ", a.Git.Commit), a.Attestation.Status, named(", transaction ", a.Attestation.TxHash))
	if a.ProofURL != nil {
		l.add("Leaf %d of the transparency log; its proof, which can be checked offline: %s", *a.LogIndex, *a.ProofURL)
	}
	if a.Seal != nil && a.Seal.Text != nil {
		l.add("FAILURE OF THAT DAY: %s", *a.Seal.Text)
	}
	for _, c := range a.Corrections {
		l.add("Correction of %s: %s (%s). The link stays as it was announced.", c.Date, c.What, c.Evidence)
	}
	l.add("How to check it without trusting this server: %s\n\n%s", a.HowToVerify, a.Disclaimer)
	return l.String()
}

// named returns a value with a text before it. The value may be unknown.
func named(before string, value *string) string {
	if value == nil {
		return ""
	}
	return before + *value
}

// after returns a text with another before it. Without a text, it returns an empty string.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func chainText(st *view.RecordState, from int64, limit int) string {
	var l lines
	n := st.Length()
	to := min(from+int64(limit)-1, int64(n))
	verdict := "every link was recomputed here and matches"
	if !st.Valid() {
		verdict = "the stored chain does NOT hold: see first_invalid_seq"
	}
	l.add("The chain has %d announced picks; %s. Here are %s.", n, verdict, span(from, to))
	if to < int64(n) {
		l.add("Go on with from_seq=%d.", to+1)
	}
	l.add("Recompute it: for each pick in the order of seq, join ticker, price, date and previous_hash with | exactly as they stand, take SHA-256 of the " +
		"UTF-8 bytes as lower-case hex, and compare with hash; previous_hash is the hash of the pick before, and genesis_hash for the first. " +
		"Every trading day of New York must have a pick or stand in gaps. Then compare with the file that git names, and with the attestations that " +
		"the attester made on the L2 network: each has the length of the chain and its hash at that length.")
	checks := st.Checks()
	l.add("This server's own checks: hashes %s, links %s, git %s, attestations %s, business days %s, seals %s.", checks.Hashes, checks.Links, checks.Git, checks.Attestations,
		checks.BusinessDays, checks.Seals)
	for _, text := range st.SealFaults() {
		l.add("FAILURE OF THAT DAY: %s", text)
	}
	l.add("\n%s", st.Disclaimer())
	return l.String()
}

func span(from, to int64) string {
	if to < from {
		return "none yet"
	}
	return "numbers " + strconv.FormatInt(from, 10) + " to " + strconv.FormatInt(to, 10)
}

func headlinesText(a view.EconomicHeadlines) string {
	var l lines
	if len(a.Events) == 0 {
		l.add("There are no macro events here.")
	}
	for _, e := range a.Events {
		l.add("%s (%d/5) %s [%s]", e.Date, e.Importance, e.Title, e.ID)
	}
	if a.NextCursor != nil {
		l.add("Older ones: cursor=%s", *a.NextCursor)
	}
	l.add("\n%s", a.Disclaimer)
	return l.String()
}

func analysisText(a view.EconomicAnalysis) string {
	var l lines
	figures := []string{a.Actual + " " + a.Unit}
	if a.Expected != nil {
		figures = append(figures, word(a.Lang, "expected")+" "+*a.Expected)
	}
	if a.Previous != nil {
		figures = append(figures, word(a.Lang, "previous")+" "+*a.Previous)
	}
	if a.SurpriseZ != nil {
		figures = append(figures, word(a.Lang, "surprise")+" "+positive(*a.SurpriseZ)+" σ")
	}
	l.add("%s (%s): %s\n\n%s\n", a.Title, a.Date, strings.Join(figures, ", "), a.Summary)
	if a.Analysis != nil {
		l.add("%s\n", strings.TrimSpace(*a.Analysis))
	}
	l.sources(word(a.Lang, "source"), a.Sources)
	l.add("\n%s", a.Disclaimer)
	return l.String()
}
