package companies

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/quality"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	// official is the time of day in New York when the closes of a day are first requested.
	official = 16*time.Hour + 15*time.Minute
	// Overlap is how far behind its newest bar a share is asked for again: corrections come within days.
	Overlap = 7 * 24 * time.Hour
	// Lookback is the age of the known data with which a response is compared.
	Lookback = 45 * 24 * time.Hour
)

// Share identifies a share whose prices are requested.
type Share struct {
	CIK    equity.CIK
	Ticker string
}

// Pricing is the state of one run of prices: the known bars, the responses, and the findings about them.
type Pricing struct {
	// Day is the newest trading day whose closes are official.
	Day time.Time
	// Shares are the funds, the benchmark first, then the shares of companies.
	Shares   []Share
	Findings []series.Finding
	// SplitBetween finds the split that a publisher has worked into its history without saying so, from the bars as they are known and
	// as they are stated now. Nil for a publisher that states splits.
	SplitBetween func(known, now []equity.Bar) (equity.Action, bool)

	known  map[equity.CIK][]equity.Bar
	loaded map[equity.CIK]time.Time
	// has tells whose bar of the day is known.
	has map[equity.CIK]bool
}

// NewPricing returns the day and the shares of a run at an instant. Start passes on what is known of the shares.
func NewPricing(funds []Share, known Known, now time.Time) *Pricing {
	p := &Pricing{Day: calendar.DayOf(now), Shares: slices.Clone(funds), has: map[equity.CIK]bool{}}
	if !calendar.IsTradingDay(p.Day) || calendar.At(p.Day, official).After(now) {
		p.Day = calendar.Previous(p.Day)
	}
	for id, c := range known {
		if ticker := c.Ticker(calendar.DayOf(now)); ticker != "" && !equity.IsFund(id) {
			p.Shares = append(p.Shares, Share{id, ticker})
		}
	}
	slices.SortFunc(p.Shares[len(funds):], func(a, b Share) int { return cmp.Compare(a.CIK, b.CIK) })
	return p
}

// CIKs lists the companies of the shares.
func (p *Pricing) CIKs() []equity.CIK {
	ids := make([]equity.CIK, len(p.Shares))
	for i, s := range p.Shares {
		ids[i] = s.CIK
	}
	return ids
}

// Start takes the known bars of each share from Lookback before the day up to it, ascending, and when each share was last asked for.
func (p *Pricing) Start(known map[equity.CIK][]equity.Bar, loaded map[equity.CIK]time.Time) {
	p.known, p.loaded = known, loaded
	for _, s := range p.Shares {
		_, ok := p.Bar(s.CIK)
		_, asked := p.loaded[s.CIK]
		p.has[s.CIK] = ok && asked
	}
}

// Bar returns the known bar of the day of a share.
func (p *Pricing) Bar(cik equity.CIK) (equity.Bar, bool) {
	b, ok := p.newest(cik)
	return b, ok && b.Date.Equal(p.Day)
}

func (p *Pricing) newest(cik equity.CIK) (equity.Bar, bool) {
	bars := p.known[cik]
	if len(bars) == 0 {
		return equity.Bar{}, false
	}
	return bars[len(bars)-1], true
}

// Question is shares that are asked for from one day on.
type Question struct {
	From   time.Time
	Shares []Share
}

// Questions lists the shares that lack the day's bar. Shares that lack least come first.
func (p *Pricing) Questions() []Question {
	var list []Question
	for _, s := range p.Shares {
		if p.has[s.CIK] {
			continue
		}
		from := p.Day.Add(-history)
		if _, ok := p.loaded[s.CIK]; ok {
			from = p.Day.Add(-Lookback)
			if b, ok := p.newest(s.CIK); ok {
				from = b.Date.Add(-Overlap)
			}
		}
		i := slices.IndexFunc(list, func(a Question) bool { return a.From.Equal(from) })
		if i < 0 {
			i = len(list)
			list = append(list, Question{From: from})
		}
		list[i].Shares = append(list[i].Shares, s)
	}
	slices.SortStableFunc(list, func(a, b Question) int { return b.From.Compare(a.From) })
	return list
}

// Believed is the part of a response about a share that may be stored.
type Believed struct {
	// None means that no price may be stored.
	None bool
	// Without lists the days whose bars must not be stored.
	Without []time.Time
	// Splits are splits that the prices include already, and that the publisher did not state.
	Splits []equity.Action
}

// Inspect compares a response with the known bars of its share. The response of a share without bars is believed.
func (p *Pricing) Inspect(a ingest.Fetched) Believed {
	bars := a.Batch.Bars
	if len(bars) == 0 {
		return Believed{}
	}
	traded := quality.Traded{CIK: bars[0].CIK, Bars: bars, Actions: a.Batch.Actions}
	for _, b := range p.known[traded.CIK] {
		if b.Source == bars[0].Source {
			traded.Known = append(traded.Known, b)
		}
	}
	if p.SplitBetween != nil {
		p.workIn(&traded)
	}
	first := slices.MinFunc(traded.Bars, func(x, y equity.Bar) int { return x.Date.Compare(y.Date) }).Date
	traded.Sessions = calendar.Between(first, p.Day)
	good, found := quality.CheckBars(traded)
	p.Findings = append(p.Findings, found...)
	if len(good) == 0 {
		return Believed{None: true}
	}
	p.has[traded.CIK] = slices.ContainsFunc(good, func(b equity.Bar) bool { return b.Date.Equal(p.Day) })
	return Believed{Without: without(bars, good), Splits: traded.Actions[len(a.Batch.Actions):]}
}

// workIn adds a split that no publisher states, and leaves the bars before it unchanged: they were traded at those prices.
func (p *Pricing) workIn(t *quality.Traded) {
	byDate := func(x, y equity.Bar) int { return x.Date.Compare(y.Date) }
	now := slices.SortedFunc(slices.Values(t.Bars), byDate)
	split, ok := p.SplitBetween(t.Known, now)
	if !ok {
		return
	}
	t.Actions = append(slices.Clone(t.Actions), split)
	t.Bars = slices.DeleteFunc(now, func(b equity.Bar) bool { return b.Date.Before(split.Date) })
}

// Judge decides whether to try again: after transient errors, or if too many shares lack their bar. A publisher's errors about single
// shares become findings.
func (p *Pricing) Judge(troubles []error) error {
	var standing []error
	for _, err := range troubles {
		if errors.Is(err, ingest.Refused) || errors.Is(err, ingest.Layout) || errors.Is(err, ingest.WrongType) || errors.Is(err, ingest.TooLarge) {
			p.find("share", err.Error(), "the bars of the share")
			continue
		}
		standing = append(standing, err)
	}
	missing := slices.DeleteFunc(slices.Clone(p.Shares), func(s Share) bool { return p.has[s.CIK] })
	if len(missing) > 2+len(p.Shares)/50 || slices.ContainsFunc(missing, func(s Share) bool { return s.CIK == equity.Benchmark }) {
		err := fmt.Errorf("no bar of %s of %d of %d shares, such as %s", p.Day.Format(time.DateOnly), len(missing), len(p.Shares), missing[0].Ticker)
		if len(standing) == 0 && len(troubles) > 0 {
			err = fmt.Errorf("%w: %w", err, troubles[0])
		}
		standing = append(standing, err)
	}
	return errors.Join(standing...)
}

// Doubt records that another publisher's close of a share disputes the known one.
func (p *Pricing) Doubt(cik equity.CIK, doubt string, tolerance float64) {
	name := cik.String()
	if i := slices.IndexFunc(p.Shares, func(s Share) bool { return s.CIK == cik }); i >= 0 {
		name = p.Shares[i].Ticker
	}
	p.find("second_close", name+": "+doubt, fmt.Sprintf("closes within %.1f %% of each other", 100*tolerance))
}

// SecondLacking returns an error if another publisher has no close of the day of too many shares.
func (p *Pricing) SecondLacking(source string, lacking int) error {
	if lacking <= 2+len(p.Shares)/10 {
		return nil
	}
	return fmt.Errorf("%s has no close of %s of %d of %d shares", source, p.Day.Format(time.DateOnly), lacking, len(p.Shares))
}

func (p *Pricing) find(check, observed, expected string) {
	p.Findings = append(p.Findings, series.Finding{
		Check: check, Severity: series.SeverityWarn, From: p.Day, To: p.Day, Observed: observed, Expected: expected,
	})
}

// without lists the days of bars that are not among others.
func without(all, good []equity.Bar) (days []time.Time) {
	have := make(map[time.Time]bool, len(good))
	for _, b := range good {
		have[b.Date] = true
	}
	for _, b := range all {
		if !have[b.Date] {
			days = append(days, b.Date)
		}
	}
	return days
}
