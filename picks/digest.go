package picks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/locale"
)

// DigestInput is the input of a weekly digest. Data outside the week is ignored, so callers may pass more.
type DigestInput struct {
	Portfolio Portfolio
	Events    []Event
	Picks     []DigestPick
	Economic  []EconomicEvent
	// Signals are the states of our own signals at the end of the week.
	Signals []SignalState
}

// DigestPick is a pick of the week.
type DigestPick struct {
	Seq    int
	Ticker string
	Date   time.Time
}

// Digest is one week.
type Digest struct {
	// Week is the ISO week, for example "2026-W47".
	Week string
	// From and To are its Monday and Friday.
	From, To time.Time
	// Events are the events of severity DigestSeverity or more, in the order of the feed.
	Events []Event
	Delta  PortfolioDelta
	// Picks are by number; Economic in the order of SortEconomic: the first is the event of the week.
	Picks    []DigestPick
	Economic []EconomicEvent
	// Signals are the live signals, the furthest from their usual level first.
	Signals []SignalState
}

// DigestSeverity is the least severity of the events in a digest.
const DigestSeverity = Notable

// PortfolioDelta is the change of the portfolio in the week. Percentages are not rounded, and NaN if unknown: in a week without a
// session, or without a benchmark.
type PortfolioDelta struct {
	ReturnPct, BenchmarkReturnPct, ExcessReturnPct float64
	// Added and Removed are the tickers of positions that were bought and closed in the week, in the order of their numbers.
	Added, Removed []string
	// Top and Bottom are up to three positions each, by their contribution to the week's return, in percentage points of the portfolio at
	// its beginning. Top has the largest gains, Bottom the largest losses.
	Top, Bottom []Contribution
}

// Contribution is the contribution of one position to a return.
type Contribution struct {
	Ticker string
	Points float64
}

// NewDigest puts the digest of the week together that holds a day.
func NewDigest(in DigestInput, day time.Time) Digest {
	monday := day.AddDate(0, 0, -((int(day.Weekday()) + 6) % 7))
	year, week := monday.ISOWeek()
	d := Digest{Week: fmt.Sprintf("%d-W%02d", year, week), From: monday, To: monday.AddDate(0, 0, 4)}
	end := monday.AddDate(0, 0, 7)
	inside := func(t time.Time) bool { return !t.Before(monday) && t.Before(end) }
	for _, e := range SortEvents(in.Events) {
		if inside(e.OccurredAt) && e.Severity >= DigestSeverity {
			d.Events = append(d.Events, e)
		}
	}
	for _, p := range in.Picks {
		if inside(p.Date) {
			d.Picks = append(d.Picks, p)
		}
	}
	slices.SortFunc(d.Picks, func(a, b DigestPick) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, e := range SortEconomic(in.Economic) {
		if inside(e.Date()) {
			d.Economic = append(d.Economic, e)
		}
	}
	for _, s := range in.Signals {
		if s.Live && !math.IsNaN(s.Z) {
			d.Signals = append(d.Signals, s)
		}
	}
	slices.SortStableFunc(d.Signals, func(a, b SignalState) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Z), math.Abs(a.Z)), cmp.Compare(a.ID, b.ID))
	})
	d.Delta = in.Portfolio.delta(d.From, d.To)
	return d
}

// delta returns the change between the last session before a day and the last session up to another.
func (p Portfolio) delta(from, to time.Time) PortfolioDelta {
	nan := math.NaN()
	d := PortfolioDelta{ReturnPct: nan, BenchmarkReturnPct: nan, ExcessReturnPct: nan}
	first, last := p.index(from.AddDate(0, 0, -1)), p.index(to)
	if last < 0 || last == first {
		return d
	}
	var start Snapshot // before the inception nothing had been gained
	if first >= 0 {
		start = p.Snapshots[first]
	}
	end := p.Snapshots[last]
	d.ReturnPct = between(start.ReturnPct, end.ReturnPct)
	d.BenchmarkReturnPct = between(start.BenchmarkReturnPct, end.BenchmarkReturnPct)
	d.ExcessReturnPct = d.ReturnPct - d.BenchmarkReturnPct
	var all []Contribution
	for _, q := range p.Positions {
		if !q.EntryDate.Before(from) && !q.EntryDate.After(to) {
			d.Added = append(d.Added, q.Ticker)
		}
		if !q.Open() && !q.ExitDate.Before(from) && !q.ExitDate.After(to) {
			d.Removed = append(d.Removed, q.Ticker)
		}
		if points := q.contribution(first, last) / (1 + start.ReturnPct/100); points != 0 {
			all = append(all, Contribution{q.Ticker, points})
		}
	}
	slices.SortStableFunc(all, func(a, b Contribution) int {
		return cmp.Or(cmp.Compare(b.Points, a.Points), cmp.Compare(a.Ticker, b.Ticker))
	})
	for _, c := range all[:min(len(all), shownExtremes)] {
		if c.Points > 0 {
			d.Top = append(d.Top, c)
		}
	}
	for _, c := range slices.Backward(all[max(0, len(all)-shownExtremes):]) {
		if c.Points < 0 {
			d.Bottom = append(d.Bottom, c)
		}
	}
	return d
}

// contribution returns a position's contribution between two snapshots, in percentage points of the portfolio at its inception.
func (q Position) contribution(first, last int) float64 {
	at := func(i int) float64 {
		switch i -= q.entered; {
		case i < 0:
			return 0
		case i >= len(q.contributed):
			return q.ContributionPct
		default:
			return q.contributed[i]
		}
	}
	return at(last) - at(first)
}

// DigestText is a digest in one language. Body is Markdown.
type DigestText struct {
	Lang        Lang
	Title, Body string
}

// Facts are the facts that the texts of a digest may name.
func (g Digest) Facts() Data {
	var d Data
	d.date("from", g.From)
	d.date("to", g.To)
	d.percent("portfolio", g.Delta.ReturnPct/100, g.To, -1)
	d.percent("benchmark", g.Delta.BenchmarkReturnPct/100, g.To, -1)
	// The distance of the two as they are told, so that a reader can check it.
	if p, b, ok := d.two("portfolio", "benchmark"); ok {
		d.add("excess", p-b, 1, locale.Points, g.To, -1)
	}
	for i, side := range []struct {
		id   string
		list []Contribution
	}{{"top", g.Delta.Top}, {"bottom", g.Delta.Bottom}} {
		if len(side.list) > 0 && math.Abs(side.list[0].Points) >= 0.005 { // as the points are told
			d.word(side.id, side.list[0].Ticker, locale.Name)
			d.add([]string{"top_points", "bottom_points"}[i], side.list[0].Points, 2, locale.Points, g.To, -1)
		}
	}
	var tickers []string
	for _, p := range g.Picks {
		tickers = append(tickers, p.Ticker)
	}
	d.add("picks", float64(len(g.Picks)), 0, locale.Count, g.To, -1)
	d.word("tickers", strings.Join(tickers, ", "), locale.Name)
	d.add("removed", float64(len(g.Delta.Removed)), 0, locale.Count, g.To, -1)
	d.word("removed_tickers", strings.Join(g.Delta.Removed, ", "), locale.Name)
	d.add("events", float64(len(g.Events)), 0, locale.Count, g.To, -1)
	d.add("severity", float64(DigestSeverity), 0, locale.Count, g.To, -1)
	if len(g.Economic) > 0 {
		for _, f := range g.Economic[0].Facts() {
			if f.ID == "indicator" || f.ID == "actual" {
				d = append(d, f)
			}
		}
	}
	if len(g.Signals) > 0 && math.Abs(g.Signals[0].Z) >= 0.05 { // as it is told
		d.word("signal", "signal."+g.Signals[0].ID, locale.Term)
		d.add("z", g.Signals[0].Z, 1, locale.Deviations, g.To, -1)
	}
	return d
}

// two are two facts as numbers.
func (d Data) two(a, b string) (x, y float64, ok bool) {
	first, ok1 := d.Find(a)
	second, ok2 := d.Find(b)
	return first.Number(), second.Number(), ok1 && ok2
}

// Text writes a digest in a language. It fails only on a language that does not exist.
func (g Digest) Text(lang Lang) (DigestText, error) {
	facts := g.Facts()
	w := textWriter{facts: facts, lang: lang}
	portfolio := "digest.portfolio.alone"
	if excess, ok := facts.Find("excess"); ok {
		switch {
		case excess.Number() == 0:
			portfolio = "digest.portfolio.level"
		case excess.Number() < 0:
			portfolio = "digest.portfolio.behind"
		default:
			portfolio = "digest.portfolio.ahead"
		}
	}
	picked := "digest.picks"
	if len(g.Picks) == 0 {
		picked = "digest.picks.none"
	}
	groups := [][]string{{portfolio, "digest.top", "digest.bottom"}, {picked}, {"digest.economy", "digest.signals"}}
	if len(g.Delta.Removed) > 0 {
		groups[1] = append(groups[1], "digest.removed")
	}
	if len(g.Events) > 0 {
		groups[1] = append(groups[1], "digest.events")
	}
	var paragraphs []string
	for _, phrases := range groups {
		fit := slices.DeleteFunc(phrases, func(p string) bool { return !facts.fits(p) })
		if len(fit) > 0 {
			paragraphs = append(paragraphs, w.paragraph(fit...))
		}
	}
	paragraphs = append(paragraphs, "*"+w.paragraph("disclaimer")+"*")
	t := DigestText{Lang: lang, Title: w.paragraph("digest.title"), Body: strings.Join(paragraphs, "\n\n") + "\n"}
	if w.err != nil {
		return DigestText{}, fmt.Errorf("write digest %s: %w", g.Week, w.err)
	}
	return t, nil
}
