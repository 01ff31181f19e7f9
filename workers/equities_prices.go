package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/quality"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
)

// Share identifies a share whose prices are requested.
type Share struct {
	CIK    equity.CIK
	Ticker string
}

// Prices is the publisher of prices that the operator has chosen. The zero value means no publisher.
type Prices struct {
	// ID is the id of its source.
	ID string
	// Benchmark is the fund that is asked for like a company's share.
	Benchmark Share
	// Ask fetches the bars and actions of shares, archives and records each response, and returns the good ones. The error joins the
	// errors of the others. A share without data is not an error.
	Ask func(ctx context.Context, shares []Share, w series.Window, runID int64) ([]ingest.Fetched, error)
	// SplitBetween finds the split that a publisher has worked into its history without saying so, from the bars as they are known and
	// as they are stated now. Nil for a publisher that states splits.
	SplitBetween func(known, now []equity.Bar) (equity.Action, bool)
}

const (
	// sharesAtOnce is how many shares are asked for before what came is stored.
	sharesAtOnce = 25
	// official is the time of day in New York when the closes of a day are first requested.
	official = 16*time.Hour + 15*time.Minute
	// overlap is how far behind its newest bar a share is asked for again: corrections come within days.
	overlap = 7 * 24 * time.Hour
	// lookback is the age of the known data with which a response is compared.
	lookback = 45 * 24 * time.Hour
)

// prices requests the bars that each share lacks, up to the newest close. Single shares may lack theirs, for example after a trading
// halt. The run is done when the benchmark and nearly all shares have them, and is tried again otherwise.
func (e Equities) prices(ctx context.Context, t task.Task) error {
	p, err := e.pricing(ctx)
	if err != nil {
		return err
	}
	var troubles []error
	for _, q := range p.questions() {
		for some := range slices.Chunk(q.shares, sharesAtOnce) {
			answers, err := e.Prices.Ask(ctx, some, series.Window{From: q.from}, t.RunID)
			troubles = append(troubles, errorsOf(err)...)
			loads := make([]postgres.EquityLoad, len(answers))
			for i, a := range answers {
				loads[i] = p.inspect(a)
			}
			if err := e.store(ctx, t, loads); err != nil {
				return err
			}
			if later(err) || ctx.Err() != nil {
				return errors.Join(append(troubles, e.keepFindings(ctx, t, p))...)
			}
		}
	}
	standing := p.judge(troubles)
	return errors.Join(e.keepFindings(ctx, t, p), standing)
}

func (e Equities) keepFindings(ctx context.Context, t task.Task, p *pricing) error {
	if len(p.findings) == 0 {
		return nil
	}
	return e.DB.AddFindings(ctx, t.Fence, p.findings)
}

// pricing is the state of one run of prices: the known data, the responses, and the findings about them.
type pricing struct {
	Prices
	// day is the newest trading day whose closes are official.
	day    time.Time
	shares []Share
	// known is the recent known data of each share; loaded names the shares ever requested.
	known  picks.Prices
	loaded map[equity.CIK]time.Time
	// has tells whose bar of the day is known.
	has      map[equity.CIK]bool
	findings []postgres.Finding
}

func (e Equities) pricing(ctx context.Context) (*pricing, error) {
	now := e.Now()
	p := &pricing{Prices: e.Prices, day: calendar.DayOf(now), has: map[equity.CIK]bool{}}
	if !calendar.IsTradingDay(p.day) || calendar.At(p.day, official).After(now) {
		p.day = calendar.Previous(p.day)
	}
	companies, err := e.DB.Companies(ctx, now)
	if err != nil {
		return nil, err
	}
	p.shares = []Share{e.Prices.Benchmark}
	ids := []equity.CIK{equity.Benchmark}
	for id, c := range companies {
		if ticker := c.Ticker(calendar.DayOf(now)); ticker != "" && id != equity.Benchmark {
			p.shares, ids = append(p.shares, Share{id, ticker}), append(ids, id)
		}
	}
	slices.SortFunc(p.shares[1:], func(a, b Share) int { return cmp.Compare(a.CIK, b.CIK) })
	if p.known, err = e.DB.HistoriesFrom(ctx, ids, p.day.Add(-lookback), p.day, now); err != nil {
		return nil, err
	}
	if p.loaded, err = e.DB.AskedEquities(ctx, e.Prices.ID); err != nil {
		return nil, err
	}
	for _, s := range p.shares {
		_, ok := p.known[s.CIK].BarOn(p.day)
		_, asked := p.loaded[s.CIK]
		p.has[s.CIK] = ok && asked
	}
	return p, nil
}

// ask is shares that are asked for from one day on.
type ask struct {
	from   time.Time
	shares []Share
}

// questions lists the shares that lack the day's bar. Shares that lack least come first.
func (p *pricing) questions() []ask {
	var list []ask
	for _, s := range p.shares {
		if p.has[s.CIK] {
			continue
		}
		from := p.day.Add(-history)
		if _, ok := p.loaded[s.CIK]; ok {
			from = p.day.Add(-lookback)
			if b, ok := p.known[s.CIK].BarAt(p.day); ok {
				from = b.Date.Add(-overlap)
			}
		}
		i := slices.IndexFunc(list, func(a ask) bool { return a.from.Equal(from) })
		if i < 0 {
			i = len(list)
			list = append(list, ask{from: from})
		}
		list[i].shares = append(list[i].shares, s)
	}
	slices.SortStableFunc(list, func(a, b ask) int { return b.from.Compare(a.from) })
	return list
}

// inspect compares a response with the known data of its share and returns the data to store.
func (p *pricing) inspect(a ingest.Fetched) postgres.EquityLoad {
	l := choose([]ingest.Fetched{a}, postgres.EquityChoice{})
	if len(l.Bars) == 0 {
		return l
	}
	traded := quality.Traded{CIK: l.Bars[0].CIK, Bars: l.Bars, Actions: l.Actions}
	for _, b := range p.known[traded.CIK].Bars {
		if b.Source == l.Bars[0].Source {
			traded.Known = append(traded.Known, b)
		}
	}
	if p.SplitBetween != nil {
		p.workIn(&traded)
	}
	first := slices.MinFunc(traded.Bars, func(x, y equity.Bar) int { return x.Date.Compare(y.Date) }).Date
	traded.Sessions = calendar.Between(first, p.day)
	good, found := quality.CheckBars(traded)
	p.findings = append(p.findings, kept(found)...)
	choice := postgres.EquityChoice{Unbelieved: len(good) == 0}
	if !choice.Unbelieved {
		choice.Without, choice.Splits = without(l.Bars, good), traded.Actions[len(l.Actions):]
	}
	l = choose([]ingest.Fetched{a}, choice)
	if choice.Unbelieved {
		return l
	}
	p.has[traded.CIK] = slices.ContainsFunc(good, func(b equity.Bar) bool { return b.Date.Equal(p.day) })
	return l
}

// workIn adds a split that no publisher states, and leaves the bars before it unchanged: they were traded at those prices.
func (p *pricing) workIn(t *quality.Traded) {
	byDate := func(x, y equity.Bar) int { return x.Date.Compare(y.Date) }
	now := slices.SortedFunc(slices.Values(t.Bars), byDate)
	split, ok := p.SplitBetween(t.Known, now)
	if !ok {
		return
	}
	t.Actions = append(slices.Clone(t.Actions), split)
	t.Bars = slices.DeleteFunc(now, func(b equity.Bar) bool { return b.Date.Before(split.Date) })
}

// judge decides whether to try again: after transient errors, or if too many shares lack their bar. A publisher's errors about single
// shares are kept with the run.
func (p *pricing) judge(troubles []error) error {
	var standing []error
	for _, err := range troubles {
		if errors.Is(err, ingest.Refused) || errors.Is(err, ingest.Layout) || errors.Is(err, ingest.WrongType) || errors.Is(err, ingest.TooLarge) {
			p.findings = append(p.findings, postgres.Finding{
				Check: "share", Severity: string(quality.Warn), From: p.day, To: p.day, Observed: err.Error(), Expected: "the bars of the share",
			})
			continue
		}
		standing = append(standing, err)
	}
	var missing []Share
	for _, s := range p.shares {
		if !p.has[s.CIK] {
			missing = append(missing, s)
		}
	}
	if len(missing) > 2+len(p.shares)/50 || slices.ContainsFunc(missing, func(s Share) bool { return s.CIK == equity.Benchmark }) {
		err := fmt.Errorf("no bar of %s of %d of %d shares, such as %s", p.day.Format(time.DateOnly), len(missing), len(p.shares), missing[0].Ticker)
		if len(standing) == 0 && len(troubles) > 0 {
			err = fmt.Errorf("%w: %w", err, troubles[0])
		}
		standing = append(standing, err)
	}
	return errors.Join(standing...)
}

// errorsOf takes joined errors apart.
func errorsOf(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	if _, leaf := err.(*ingest.Error); leaf { //nolint:errorlint // the node itself, not what it wraps
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, errorsOf(e)...)
	}
	return list
}
