package workers

import (
	"context"
	"maps"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/task"
	"tidemark/picks"
)

const (
	// What happened in the last sessions is looked for at every run: an event is recorded once, however often it is found.
	eventSessions = 5
	// A price move is compared with the returns of this many days before, with room for holidays.
	movesBack = 110 * 24 * time.Hour
)

// events records what happened around the companies of the portfolio in the last sessions.
func (p Publications) events(ctx context.Context, t task.Task, now time.Time) error {
	asOf := settled(now)
	since := calendar.Add(calendar.DayOf(now), -eventSessions)
	book, err := p.goneOn(ctx, asOf, calendar.Previous(since), calendar.LastClosed(now), since.Add(-movesBack))
	if err != nil {
		return err
	}
	if len(book.picks) == 0 {
		return Skip("no pick is announced yet")
	}
	var events []picks.Event
	for i, q := range book.announced {
		if date := book.picks[i].Date; !date.Before(since) {
			picked, err := time.Parse(time.DateOnly, q.Date)
			if err != nil {
				return err
			}
			events = append(events, picks.AnnouncedEvent(book.companies[q.CIK], picked, equity.Price(q.Price), *q.AnnouncedAt))
		}
	}
	to, _ := book.closed(calendar.LastClosed(now))
	portfolio := book.simulate(to)
	for _, day := range calendar.Between(since, to) {
		events = append(events, picks.ClosedEvents(portfolio, book.companies, day)...)
		for _, cik := range holdings(portfolio, calendar.Previous(day)) {
			if e, moved := picks.MoveEvent(book.companies[cik], book.prices[cik], day); moved {
				events = append(events, e)
			}
		}
	}
	for _, day := range calendar.Between(since, calendar.DayOf(now)) {
		opening, _ := calendar.Open(day)
		if opening.After(now) {
			break
		}
		for _, cik := range holdings(portfolio, calendar.Previous(day)) {
			events = append(events, picks.ActionEvents(book.companies[cik], book.prices[cik], day)...)
		}
	}
	filings, err := p.filings(ctx, book, portfolio, since, asOf)
	if err != nil {
		return err
	}
	signals, err := p.crossings(ctx, book, portfolio, since, asOf)
	if err != nil {
		return err
	}
	_, err = p.Picks.DB.AddPortfolioEvents(ctx, t.Fence, slices.Concat(events, filings, signals))
	return err
}

// holdings lists the companies whose shares the portfolio held after the close of a day.
func holdings(p picks.Portfolio, day time.Time) []equity.CIK {
	var ciks []equity.CIK
	for _, q := range p.Positions {
		if !q.EntryDate.After(day) && (q.Open() || q.ExitDate.After(day)) {
			ciks = append(ciks, q.Holding)
		}
	}
	slices.Sort(ciks)
	return slices.Compact(ciks)
}

// followed lists the companies of positions that were open at some time since a day, and of picks that are announced and not bought yet.
func followed(b portfolioInput, p picks.Portfolio, since time.Time) []equity.CIK {
	var ciks []equity.CIK
	for _, q := range p.Positions {
		if q.Open() || !q.ExitDate.Before(since) {
			ciks = append(ciks, q.Holding)
		}
	}
	for _, q := range b.picks {
		if !q.Date.Before(since) {
			ciks = append(ciks, q.CIK)
		}
	}
	slices.Sort(ciks)
	return slices.Compact(ciks)
}

// filings are the events of the filings of followed companies since a day.
func (p Publications) filings(ctx context.Context, b portfolioInput, portfolio picks.Portfolio, since, asOf time.Time) ([]picks.Event, error) {
	list, err := p.Picks.DB.FilingsOf(ctx, followed(b, portfolio, since), since, calendar.DayOf(asOf).AddDate(0, 0, 1), asOf)
	if err != nil {
		return nil, err
	}
	var events []picks.Event
	for _, f := range list {
		if e, told := picks.FilingEvent(b.companies[f.CIK], f); told && !e.OccurredAt.After(asOf) {
			events = append(events, e)
		}
	}
	return p.announcedBefore(ctx, events)
}

// announcedBefore leaves out events of a company before it was first announced as a pick: it was not in the portfolio then.
func (p Publications) announcedBefore(ctx context.Context, events []picks.Event) ([]picks.Event, error) {
	ciks := map[equity.CIK]bool{}
	for _, e := range events {
		ciks[e.CIK] = true
	}
	first, err := p.Picks.DB.FirstAnnounced(ctx, slices.Sorted(maps.Keys(ciks)))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(events, func(e picks.Event) bool { return e.OccurredAt.Before(first[e.CIK]) }), nil
}

// crossings are the events of our own signals that moved far from their usual level since a day, for the companies that are exposed.
func (p Publications) crossings(ctx context.Context, b portfolioInput, portfolio picks.Portfolio, since, asOf time.Time) ([]picks.Event, error) {
	list, err := p.Picks.DB.SignalZs(ctx, since, asOf)
	if err != nil {
		return nil, err
	}
	var readings []picks.SignalReading
	for i, now := range list {
		if i == 0 || list[i-1].Signal != now.Signal || list[i-1].Z == nil || now.Z == nil {
			continue
		}
		readings = append(readings, picks.SignalReading{ID: now.Signal, Before: *list[i-1].Z, Z: *now.Z, At: now.At})
	}
	var events []picks.Event
	for _, cik := range followed(b, portfolio, since) {
		events = append(events, picks.SignalEvents(b.companies[cik], readings)...)
	}
	return p.announcedBefore(ctx, events)
}
