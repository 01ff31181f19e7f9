package view

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
	"tidemark/picks"
)

// PublicationsStore is the data source of the view of the picks. *postgres.DB implements it. It returns announced picks only, but for EarlyPick.
type PublicationsStore interface {
	// AnnouncedAfter returns the announced picks after a number.
	AnnouncedAfter(ctx context.Context, seq int64) ([]postgres.Pick, error)
	// EarlyPick returns postgres.ErrNotFound if no pick may be seen early now.
	EarlyPick(ctx context.Context) (postgres.EarlyPick, error)
	Attestations(ctx context.Context) ([]postgres.Attestation, error)
	// LedgerState and AttesterState return postgres.ErrNotFound if their jobs have not run yet.
	LedgerState(ctx context.Context) (postgres.LedgerState, error)
	AttesterState(ctx context.Context) (postgres.AttesterState, error)
	HistoriesFrom(ctx context.Context, ids []equity.CIK, from, to, asOf time.Time) (picks.Prices, error)
	// HistoriesSince updates prices that were read as of one instant to a later one.
	HistoriesSince(ctx context.Context, have picks.Prices, from, to, since, asOf time.Time) (picks.Prices, error)
	// PickSummaries returns the card summaries of the picks after a number.
	PickSummaries(ctx context.Context, after int64) (map[int64]map[picks.Lang]string, error)
	// ResearchOfPick returns postgres.ErrNotFound if the pick has no card.
	ResearchOfPick(ctx context.Context, seq int64) (postgres.Research, error)
	// LatestResearch returns the newest cards that are not among the known ones.
	LatestResearch(ctx context.Context, known ...postgres.Research) ([]postgres.Research, error)
	Stocks(ctx context.Context) ([]postgres.Stock, error)
	// RiskCounts returns of how many reports of each company the risk factors were read, and RiskReports what they say.
	RiskCounts(ctx context.Context) (map[equity.CIK]int, error)
	RiskReports(ctx context.Context, ids []equity.CIK) (map[equity.CIK][]picks.RiskReport, error)
	// PortfolioState returns postgres.ErrNotFound before the portfolio's inception.
	PortfolioState(ctx context.Context) (postgres.PortfolioState, error)
	PortfolioHistory(ctx context.Context) ([]postgres.PortfolioSnapshot, error)
	// UniverseDays returns the days from a date on, oldest first.
	UniverseDays(ctx context.Context, from time.Time) ([]postgres.UniverseDay, error)
	PortfolioEvents(ctx context.Context, q postgres.EventFilter) ([]postgres.PortfolioEvent, error)
	EconomicEvents(ctx context.Context, limit int) ([]postgres.EconomicEvent, error)
	Digests(ctx context.Context, limit int) ([]postgres.Digest, error)
	// Listen runs until ctx ends and reconnects automatically. It calls the listener's functions one at a time.
	Listen(ctx context.Context, l postgres.Listener) error
}

// PublicationsOptions configure the view of the picks and its data source.
type PublicationsOptions struct {
	Store PublicationsStore
	// PublicURL, World and Now are as in Options.
	PublicURL string
	World     string
	Now       func() time.Time
	Info      InfoOptions
	// PicksEarly lets readers who pay see a sealed pick before its announcement.
	PicksEarly bool
	Log        *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics
}

// Publications keeps the published data around the picks current in memory: the picks with their returns, research, the model portfolio,
// events, macro events and the digest. It is safe for concurrent use.
type Publications struct {
	o           PublicationsOptions
	state       atomic.Pointer[PublicationsState]
	unavailable atomic.Bool

	// stale are the parts that must be read again. wake receives a value when there are some.
	mu    sync.Mutex
	stale part
	wake  chan struct{}

	// loading is held from the read of the database until the new state is stored. read is the last data read.
	loading sync.Mutex
	read    published
}

// NewPublications returns an empty view. Run loads it.
func NewPublications(o PublicationsOptions) (*Publications, error) {
	o.PublicURL = strings.TrimRight(o.PublicURL, "/")
	if err := (Options{PublicURL: o.PublicURL, World: o.World}).check(); err != nil {
		return nil, err
	}
	return &Publications{o: o, wake: make(chan struct{}, 1)}, nil
}

// State returns the current state, nil before the first load.
func (p *Publications) State() *PublicationsState { return p.state.Load() }

// PicksEarly reports whether readers who pay may see a sealed pick before its announcement.
func (p *Publications) PicksEarly() bool { return p.o.PicksEarly }

// Degraded reports whether the database is unavailable, so that the state may be out of date.
func (p *Publications) Degraded() bool { return p.unavailable.Load() }

// part is a set of parts of the published data.
type part uint

const (
	partPicks part = 1 << iota
	partPrices
	partWitnesses
	partResearch
	partPortfolio
	partEvents
	partEconomy
	partDigest

	everything = partPicks | partPrices | partWitnesses | partResearch | partPortfolio | partEvents | partEconomy | partDigest
)

// parts returns the parts that a notification about a table makes stale.
func parts(table string) part {
	switch table {
	case "announcements": // a card becomes public with its pick
		return partPicks | partPrices | partResearch
	case "attestations", "attester_state", "ledger_state":
		return partWitnesses
	case "gaps", "corrections", "ledger_entries": // this view shows none of them
		return 0
	case "research", "risk_factors":
		return partResearch
	case "portfolio_snapshots", "portfolio_state": // the returns use the same closes as the portfolio
		return partPortfolio | partPrices
	case "portfolio_events":
		return partEvents
	case "economic_events":
		return partEconomy
	case "digests":
		return partDigest
	}
	return everything
}

// refreshPause is the minimum time between two reads: a sandbox that simulates months in a minute publishes a lot at once.
const refreshPause = 100 * time.Millisecond

// Run keeps the state current until ctx ends. Then it returns nil.
func (p *Publications) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		return p.o.Store.Listen(ctx, postgres.Listener{
			Channels: []string{postgres.ChannelRecord, postgres.ChannelPublications},
			Connected: func(ctx context.Context) error {
				if err := p.load(ctx, everything, true); err != nil {
					return err
				}
				p.unavailable.Store(false)
				return nil
			},
			Notified: func(_ context.Context, _, table string) error { p.markStale(parts(table)); return nil },
			Lost:     func(error) { p.unavailable.Store(true) },
			Log:      p.o.Log,
		})
	})
	g.Go(func() error { return p.refresh(ctx) })
	return g.Wait()
}

// markStale marks parts as stale.
func (p *Publications) markStale(what part) {
	if what == 0 {
		return
	}
	p.mu.Lock()
	p.stale |= what
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// refresh reads stale parts, at most once every refreshPause.
func (p *Publications) refresh(ctx context.Context) error {
	pause := time.NewTicker(refreshPause)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
		}
		p.mu.Lock()
		what := p.stale
		p.stale = 0
		p.mu.Unlock()
		if what != 0 {
			if err := p.o.Metrics.Guard(ctx, p.o.Log, "publications", func() error { return p.load(ctx, what, false) }); err != nil && ctx.Err() == nil {
				p.o.Log.WarnContext(ctx, "could not read the publications, trying again", "err", err)
				p.markStale(what)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
}

// published is the data read from the database.
type published struct {
	picks     []postgres.Pick
	attested  []postgres.Attestation
	ledger    *postgres.LedgerState   // nil before the job's first run
	attester  *postgres.AttesterState // nil before the job's first run
	prices    picks.Prices
	pricedAt  time.Time // the instant that prices are as of
	summaries map[int64]map[picks.Lang]string
	research  []postgres.Research
	stocks    []postgres.Stock
	risks     map[equity.CIK]riskChanges
	portfolio *postgres.PortfolioState // nil before the inception
	history   []postgres.PortfolioSnapshot
	universe  []postgres.UniverseDay
	events    []postgres.PortfolioEvent // newest first
	economic  []postgres.EconomicEvent
	digest    *postgres.Digest // nil before the first
}

// load reads parts and stores the new state. If the parameter anew is true, it ignores the data read before.
func (p *Publications) load(ctx context.Context, what part, anew bool) error {
	p.loading.Lock()
	defer p.loading.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	next := p.read
	if anew {
		next = published{}
	}
	for _, l := range []struct {
		part part
		read func(context.Context, *published) error
	}{
		{partPicks, p.readPicks},
		{partPrices, p.readPrices},
		{partWitnesses, p.readWitnesses},
		{partResearch, p.readResearch},
		{partPortfolio, p.readPortfolio},
		{partEvents, p.readEvents},
		{partEconomy, func(ctx context.Context, d *published) (err error) {
			d.economic, err = p.o.Store.EconomicEvents(ctx, 0)
			return err
		}},
		{partDigest, func(ctx context.Context, d *published) error {
			list, err := p.o.Store.Digests(ctx, 1)
			if err == nil && len(list) > 0 {
				d.digest = &list[0]
			}
			return err
		}},
	} {
		if what&l.part != 0 {
			if err := l.read(ctx, &next); err != nil {
				return err
			}
		}
	}
	p.read = next
	p.state.Store(newPublicationsState(p.o, next))
	return nil
}

func (p *Publications) readWitnesses(ctx context.Context, d *published) (err error) {
	if d.attested, err = p.o.Store.Attestations(ctx); err != nil {
		return err
	}
	if d.ledger, err = found(p.o.Store.LedgerState(ctx)); err != nil {
		return err
	}
	d.attester, err = found(p.o.Store.AttesterState(ctx))
	return err
}

// found returns the value read, or nil if it does not exist.
func found[T any](v T, err error) (*T, error) {
	switch {
	case err == nil:
		return &v, nil
	case errors.Is(err, postgres.ErrNotFound):
		return nil, nil
	}
	return nil, err
}

// readResearch reads the cards that are newer than those already read.
func (p *Publications) readResearch(ctx context.Context, d *published) error {
	last := int64(0)
	for seq := range d.summaries {
		last = max(last, seq)
	}
	fresh, err := p.o.Store.PickSummaries(ctx, last)
	if err != nil {
		return err
	}
	all := maps.Clone(d.summaries) // the current state still reads the old map
	if all == nil {
		all = map[int64]map[picks.Lang]string{}
	}
	maps.Copy(all, fresh)
	d.summaries = all
	if d.research, err = p.o.Store.LatestResearch(ctx, d.research...); err != nil {
		return err
	}
	if d.stocks, err = p.o.Store.Stocks(ctx); err != nil {
		return err
	}
	d.risks, err = p.readRisks(ctx, d.risks)
	return err
}

func (p *Publications) readPortfolio(ctx context.Context, d *published) (err error) {
	if d.portfolio, err = found(p.o.Store.PortfolioState(ctx)); err != nil {
		return err
	}
	if d.history, err = p.o.Store.PortfolioHistory(ctx); err != nil || len(d.history) == 0 {
		return err
	}
	d.universe, err = p.o.Store.UniverseDays(ctx, d.history[0].Date)
	return err
}

// readEvents reads the events that are newer than those already read.
func (p *Publications) readEvents(ctx context.Context, d *published) error {
	q := postgres.EventFilter{}
	if len(d.events) > 0 {
		q.After = d.events[0].Key()
	}
	fresh, err := p.o.Store.PortfolioEvents(ctx, q)
	if err != nil {
		return err
	}
	for i := range fresh {
		fresh[i].Facts = nil // the feed does not show them
	}
	d.events = append(fresh, d.events...)
	return nil
}

// readPicks reads the picks that were announced since the last read.
func (p *Publications) readPicks(ctx context.Context, d *published) error {
	last := int64(0)
	if n := len(d.picks); n > 0 {
		last = d.picks[n-1].Seq
	}
	fresh, err := p.o.Store.AnnouncedAfter(ctx, last)
	if err == nil {
		d.picks = append(slices.Clip(d.picks), fresh...) // the current state still reads the old slice
	}
	return err
}

// readPrices reads prices from the first pick on: of the companies of the picks, of the companies that acquired them, and of the benchmark.
// For companies already read, it reads only the changes.
func (p *Publications) readPrices(ctx context.Context, d *published) error {
	all := picks.Prices{}
	if len(d.picks) == 0 {
		d.prices = all
		return nil
	}
	from, err := time.Parse(time.DateOnly, d.picks[0].Date)
	if err != nil {
		return fmt.Errorf("read the date of pick %d: %w", d.picks[0].Seq, err)
	}
	now := p.o.Now()
	if len(d.prices) > 0 {
		if all, err = p.o.Store.HistoriesSince(ctx, d.prices, from, calendar.DayOf(now), d.pricedAt, now); err != nil {
			return err
		}
	}
	var next []equity.CIK
	want := func(cik equity.CIK) {
		if _, known := all[cik]; !known {
			all[cik] = picks.History{}
			next = append(next, cik)
		}
	}
	bought := func(h picks.History) {
		for _, a := range h.Actions {
			if a.Kind == equity.Merger && a.Successor != 0 {
				want(a.Successor)
			}
		}
	}
	for _, h := range slices.Collect(maps.Values(all)) {
		bought(h)
	}
	want(equity.Benchmark)
	want(equity.EqualWeightFund)
	for _, q := range d.picks {
		want(q.CIK)
	}
	for len(next) > 0 {
		slices.Sort(next)
		some, err := p.o.Store.HistoriesFrom(ctx, next, from, calendar.DayOf(now), now)
		if err != nil {
			return err
		}
		next = nil
		maps.Copy(all, some)
		for _, h := range some {
			bought(h)
		}
	}
	d.prices, d.pricedAt = all, now
	return nil
}
