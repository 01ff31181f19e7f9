package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
	"tidemark/signals"
)

// Publications is the job that brings what is published around the record up to date: the portfolio, its events, macro events, research and
// the weekly digest.
type Publications struct {
	Picks Picks
	// Signals are the signals of the daily data set.
	Signals []signals.Definition
	Log     *slog.Logger
}

// Run brings the task's subject up to date. It computes everything from the record and from the data known a moment before the world's
// time. The digest and the research are about the week of the slot.
func (p Publications) Run(ctx context.Context, t task.Task) error {
	now, err := p.Picks.DB.Now(ctx)
	if err != nil {
		return err
	}
	switch t.Subject {
	case task.Portfolio:
		return p.portfolio(ctx, t, now)
	case task.Events:
		return p.events(ctx, t, now)
	case task.Economy:
		return p.economy(ctx, t, now)
	case task.Research:
		return p.research(ctx, t, now)
	case task.Digest:
		return p.digest(ctx, t)
	case task.Dataset:
		return p.dataset(ctx, t)
	default:
		return Permanent(fmt.Errorf("unknown publication %q", t.Subject))
	}
}

// portfolio stores the portfolio up to the last session whose closes are there.
func (p Publications) portfolio(ctx context.Context, t task.Task, now time.Time) error {
	asOf := settled(now)
	today := calendar.LastClosed(now)
	book, err := p.goneOn(ctx, asOf, today, today, time.Time{})
	if err != nil {
		return err
	}
	if len(book.picks) == 0 {
		return Skip("no pick is announced yet")
	}
	to, late := book.closed(today)
	if !to.Equal(today) && now.Before(calendar.At(today, p.Picks.Cutoff)) {
		return WaitFor(errors.New(late), lookAgain)
	}
	if book.second, err = p.Picks.DB.SecondCloses(ctx, to, asOf); err != nil {
		return err
	}
	added, err := p.Picks.DB.SavePortfolio(ctx, t.Fence, book.simulate(to), asOf)
	if err != nil {
		return err
	}
	if added > 1 {
		p.Log.InfoContext(ctx, "snapshots of the portfolio are stored", "at", t.Slot, "rows", added, "date", to)
	}
	return nil
}

// portfolioInput is the input of the portfolio computation, as known at an instant.
type portfolioInput struct {
	// base is the checkpoint where the portfolio continues; if it is nil, the computation begins with the first day. With a base, announced
	// holds only the newest picks, and prices holds their companies and the base's.
	base      *postgres.PortfolioBase
	announced []postgres.Pick
	picks     []picks.AnnouncedPick
	companies map[equity.CIK]equity.Company
	prices    picks.Prices
	// departures are filings that show that a company left, or may have left, the exchange.
	departures map[equity.CIK][]equity.Filing
	benchmark  picks.History
	// second are the closes by a second publisher, of the last session that the portfolio covers.
	second map[equity.CIK]picks.SecondClose
}

// goneOn reads the input that continues the portfolio from its newest checkpoint up to a session, and prices from a day on if that is
// earlier. The checkpoint is at or before the session since. If none exists, or the available closes end before it, goneOn reads the
// whole book.
func (p Publications) goneOn(ctx context.Context, asOf, since, session, from time.Time) (b portfolioInput, err error) {
	base, err := p.Picks.DB.PortfolioBase(ctx, picks.DefaultPortfolioRules(), since, asOf)
	if errors.Is(err, postgres.ErrNotFound) {
		return p.book(ctx, asOf, from)
	}
	if err != nil {
		return b, err
	}
	c := base.Checkpoint
	b.base = &base
	for below := int64(math.MaxInt64); ; below = b.announced[0].Seq {
		some, err := p.Picks.DB.NewestAnnounced(ctx, below, followedPicks)
		if err != nil {
			return b, err
		}
		b.announced = append(some, b.announced...)
		if b.picks, err = portfolioPicks(b.announced); err != nil {
			return b, err
		}
		if len(some) < followedPicks || b.picks[0].Date.Before(c.Date) {
			break
		}
	}
	if least := c.Since(); from.IsZero() || least.Before(from) {
		from = least
	}
	if b, err = p.prices(ctx, b, c.Companies(), asOf, from); err != nil {
		return b, err
	}
	if to, _ := b.closed(session); to.Before(c.Date) {
		return p.book(ctx, asOf, from)
	}
	return b, nil
}

// book reads the announced picks, and the prices of their companies and of the buyers of those companies. Prices begin at a given day, at
// the latest at the session before the first pick.
func (p Publications) book(ctx context.Context, asOf, from time.Time) (portfolioInput, error) {
	var b portfolioInput
	var err error
	if b.announced, err = p.Picks.DB.AnnouncedPicks(ctx); err != nil || len(b.announced) == 0 {
		return b, err
	}
	if b.picks, err = portfolioPicks(b.announced); err != nil {
		return b, err
	}
	first := calendar.Previous(b.picks[0].Date)
	if from.IsZero() || first.Before(from) {
		from = first
	}
	return p.prices(ctx, b, nil, asOf, from)
}

// prices reads the companies, and the prices of some of them from a day on: of the companies of the picks and of their buyers.
func (p Publications) prices(ctx context.Context, b portfolioInput, next []equity.CIK, asOf, from time.Time) (portfolioInput, error) {
	var err error
	if b.companies, err = p.Picks.DB.Companies(ctx, asOf); err != nil {
		return b, err
	}
	today := calendar.DayOf(asOf)
	b.prices = picks.Prices{}
	for _, q := range b.picks {
		next = append(next, q.CIK)
	}
	for len(next) > 0 {
		slices.Sort(next)
		more, err := p.Picks.DB.HistoriesFrom(ctx, slices.Compact(next), from, today, asOf)
		if err != nil {
			return b, err
		}
		next = nil
		maps.Copy(b.prices, more)
		for _, h := range more {
			for _, a := range h.Actions {
				if _, known := b.prices[a.Successor]; a.Kind == equity.Merger && a.Successor != 0 && !known {
					b.prices[a.Successor] = picks.History{}
					next = append(next, a.Successor)
				}
			}
		}
	}
	filings, err := p.Picks.DB.FilingsOf(ctx, slices.Sorted(maps.Keys(b.prices)), from, today, asOf)
	if err != nil {
		return b, err
	}
	b.departures = map[equity.CIK][]equity.Filing{}
	for _, f := range filings {
		if picks.Departs(f) {
			b.departures[f.CIK] = append(b.departures[f.CIK], f)
		}
	}
	all, err := p.Picks.DB.HistoriesFrom(ctx, []equity.CIK{equity.Benchmark}, from, today, asOf)
	b.benchmark = all[equity.Benchmark]
	return b, err
}

// portfolioPicks returns announced picks in the form of the portfolio. The portfolio buys at the first close after the announcement: a
// late pick counts as of the last session that had closed by then.
func portfolioPicks(announced []postgres.Pick) ([]picks.AnnouncedPick, error) {
	list := make([]picks.AnnouncedPick, 0, len(announced))
	for _, q := range announced {
		date, err := time.Parse(time.DateOnly, q.Date)
		if err != nil {
			return nil, fmt.Errorf("read the date of pick %d: %w", q.Seq, err)
		}
		if last := calendar.LastClosed(*q.AnnouncedAt); last.After(date) {
			date = last
		}
		list = append(list, picks.AnnouncedPick{Seq: int(q.Seq), Date: date, CIK: q.CIK})
	}
	return list, nil
}

// followedPicks are as many of the newest picks as there are positions at most: the closes of their companies are waited for.
const followedPicks = 60

// closed returns the newest session up to a day whose closes are available; zero if none exists. late describes the missing closes of
// the day.
func (b portfolioInput) closed(day time.Time) (to time.Time, late string) {
	awaited := picks.Prices{}
	for _, q := range b.picks[max(0, len(b.picks)-followedPicks):] {
		awaited[q.CIK] = b.prices[q.CIK]
	}
	for to = day; !to.Before(b.picks[0].Date); to = calendar.Previous(to) {
		c := picks.ClosesOf(awaited, to)
		if _, traded := b.benchmark.BarOn(to); c.Enough() && (traded || len(b.benchmark.Bars) == 0) {
			return to, late
		}
		if late == "" {
			if late = c.Describe(b.companies); c.Enough() {
				late = fmt.Sprintf("the benchmark has no close of %s yet", to.Format(time.DateOnly))
			}
		}
	}
	return time.Time{}, late
}

// simulate runs the portfolio up to a day.
func (b portfolioInput) simulate(to time.Time) picks.Portfolio {
	in := picks.PortfolioInput{
		Picks: b.picks, Companies: b.companies, Prices: b.prices, Departures: b.departures, Benchmark: b.benchmark, To: to,
	}
	var p picks.Portfolio
	if b.base != nil {
		p = picks.Resume(b.base.Checkpoint, b.base.Past, in, picks.DefaultPortfolioRules())
	} else {
		p = picks.Simulate(in, picks.DefaultPortfolioRules())
	}
	p.Doubts = p.Doubted(b.prices, b.second, picks.DefaultRules().CloseTolerance)
	return p
}
