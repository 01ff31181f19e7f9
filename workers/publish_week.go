package workers

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
)

// toldBack is how far back macro figures are told that were published before anyone looked.
const toldBack = 35 * 24 * time.Hour

// economy records the macro figures that were published.
func (p Publications) economy(ctx context.Context, t task.Task, now time.Time) error {
	told, err := p.Picks.DB.NewestPrints(ctx)
	if err != nil {
		return err
	}
	events, err := p.prints(ctx, now.Add(-toldBack), now, told)
	if err != nil {
		return err
	}
	_, err = p.Picks.DB.AddEconomicEvents(ctx, t.Fence, events)
	return err
}

// prints are the macro figures first published after one instant and up to another, with their surprises. An indicator without a print
// since its instant in told, by its id, is left out.
func (p Publications) prints(ctx context.Context, from, to time.Time, told map[string]time.Time) ([]picks.EconomicEvent, error) {
	var events []picks.EconomicEvent
	for _, def := range picks.Indicators() {
		newest, err := p.Picks.DB.NewestVintage(ctx, []series.ID{def.Series}, to)
		if err != nil {
			return nil, err
		}
		if !newest.After(from) || newest.Equal(told[def.ID]) {
			continue
		}
		var known []series.Observation
		for _, id := range def.Inputs() {
			all, err := p.Picks.DB.Observations(ctx, id)
			if err != nil {
				return nil, err
			}
			for _, o := range all {
				if !o.VintageAt.After(to) {
					known = append(known, o)
				}
			}
		}
		for _, e := range def.Events(known) {
			if e.PublishedAt().After(from) && e.Facts().Has("actual") {
				events = append(events, e)
			}
		}
	}
	return events, nil
}

// maxCards bounds how many companies are written about in a week.
const maxCards = 100

// research writes a card about each picked company, and about the largest others by market value, as of the last session before the day
// of the slot. Neither the choice nor the cards show how a company ranks, since it may be the next pick. A company that has a card for
// that session keeps it.
func (p Publications) research(ctx context.Context, t task.Task, now time.Time) error {
	day, asOf := calendar.Previous(calendar.DayOf(t.Slot)), settled(now)
	made, err := p.Picks.DB.AnnouncedPicks(ctx)
	if err != nil {
		return err
	}
	there, companies, err := p.Picks.closes(ctx, day, asOf)
	if err != nil {
		return err
	}
	if !there.Enough() {
		return Skip(there.Describe(companies))
	}
	market, err := p.Picks.Market(ctx, day, asOf, made)
	if err != nil {
		return err
	}
	ranking := picks.Rank(market, picks.DefaultRules())
	ranking.Pick = nil // the method's pick is not shown: the record has the actual pick
	picked := map[equity.CIK]bool{}
	for _, q := range made {
		picked[q.CIK] = true
	}
	var scores []picks.Score
	var ciks []equity.CIK
	bySize := slices.Clone(ranking.Scores)
	slices.SortStableFunc(bySize, func(a, b picks.Score) int {
		return cmp.Or(cmp.Compare(b.MarketValue.Value, a.MarketValue.Value), cmp.Compare(a.Ticker, b.Ticker))
	})
	for _, s := range bySize {
		if picked[s.CIK] || len(scores) < maxCards {
			scores, ciks = append(scores, s), append(ciks, s.CIK)
		}
	}
	if len(scores) == 0 {
		return Skip("no company could be scored")
	}
	backgrounds, err := p.Picks.Cards.backgrounds(ctx, ranking, ciks, asOf)
	if err != nil {
		return err
	}
	cards := make([]postgres.Research, len(scores))
	for i, s := range scores {
		if cards[i], err = p.Picks.Cards.write(ctx, ranking, s, backgrounds[s.CIK], asOf); err != nil {
			return err
		}
	}
	_, err = p.Picks.DB.AddResearch(ctx, t.Fence, cards)
	return err
}

// digest writes the digest of the week that the day before the slot belongs to, as of the slot.
func (p Publications) digest(ctx context.Context, t task.Task) error {
	asOf := settled(t.Slot)
	day := calendar.DayOf(t.Slot).AddDate(0, 0, -1)
	monday := day.AddDate(0, 0, -((int(day.Weekday()) + 6) % 7))
	book, err := p.goneOn(ctx, asOf, calendar.Previous(monday), calendar.LastClosed(asOf), time.Time{})
	if err != nil {
		return err
	}
	in := picks.DigestInput{}
	for _, q := range book.announced {
		if q.AnnouncedAt.After(asOf) {
			continue
		}
		date, err := time.Parse(time.DateOnly, q.Date)
		if err != nil {
			return err
		}
		in.Picks = append(in.Picks, picks.DigestPick{Seq: int(q.Seq), Ticker: q.Ticker, Date: date})
	}
	if len(book.picks) > 0 {
		to, _ := book.closed(calendar.LastClosed(asOf))
		in.Portfolio = book.simulate(to)
	}
	stored, err := p.Picks.DB.PortfolioEvents(ctx, postgres.EventFilter{From: monday, To: monday.AddDate(0, 0, 7), MinSeverity: int(picks.DigestSeverity)})
	if err != nil {
		return err
	}
	for _, e := range stored {
		if !e.RecordedAt.After(asOf) {
			in.Events = append(in.Events, picks.Event{ID: e.ID, Severity: picks.Severity(e.Severity), OccurredAt: e.OccurredAt})
		}
	}
	if in.Economic, err = p.prints(ctx, monday, asOf, nil); err != nil {
		return err
	}
	var deltas map[string]*float64
	if in.Signals, deltas, err = signalStates(ctx, p.Picks.DB, p.Picks.Signals, asOf); err != nil {
		return err
	}
	digest := picks.NewDigest(in, day)
	if len(digest.Picks) == 0 && len(digest.Economic) == 0 && len(digest.Events) == 0 {
		return Skip("nothing happened in the week")
	}
	_, err = p.Picks.DB.AddDigest(ctx, t.Fence, digest, deltas, asOf)
	return err
}
