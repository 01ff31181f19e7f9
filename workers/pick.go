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

	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
	"tidemark/signals"
)

// Picks is the job that records the pick of its slot's day, or that the day has none.
type Picks struct {
	DB *postgres.DB
	// Signals are the ids of our own signals.
	Signals []string
	// Cards writes the research.
	Cards Cards
	// Announce and Cutoff are clock times of the day in New York: when the pick becomes public, and until when prices are waited for.
	Announce, Cutoff time.Duration
	Log              *slog.Logger
}

// earlierPicks are as many as the rules look back, and more.
const earlierPicks = 100

// lookAgain is the pause while something is missing that may come any minute.
const lookAgain = 2 * time.Minute

// Origins of a pick.
const (
	originMethod = "method"
	originEditor = "editor"
)

// Run records the pick of the slot's day. That day must be today: a past day stays a gap, as does every trading day since the first pick
// that has neither a pick nor a gap. Errors and reasons never name the pick: they can be read before the announcement.
func (p Picks) Run(ctx context.Context, t task.Task) error {
	now, err := p.DB.Now(ctx)
	if err != nil {
		return err
	}
	made, err := p.DB.NewestRecorded(ctx, earlierPicks)
	if err != nil {
		return err
	}
	plan, err := p.plan(ctx, t.Slot, now, made)
	if err != nil {
		return err
	}
	for _, date := range plan.Missed {
		if _, err := p.DB.RecordGap(ctx, t.Fence, chain.Gap{Date: date, Reason: "no pick was made on the day"}); err != nil {
			return err
		}
	}
	switch plan.Step {
	case picks.StepNone:
		return Skip(plan.Reason)
	case picks.StepTooEarly:
		return Permanent(errors.New(plan.Reason))
	}
	var pick postgres.Pick
	if plan.Step == picks.StepFollowUp {
		pick = made[len(made)-1]
	} else {
		var lack *missing
		if pick, lack, err = p.pick(ctx, t, plan, settled(now), made); err != nil {
			return err
		}
		if lack != nil {
			return p.without(ctx, t.Fence, plan, *lack, len(made) > 0, now)
		}
	}
	if pick.AnnouncedAt != nil || now.Before(plan.AnnounceAt) {
		return nil
	}
	// The announcement did not wait for the pick.
	return p.DB.EnsureDue(ctx, t.Fence, task.Announce, []string{task.Daily}, now)
}

// without waits for the missing data, or records that the day has no pick. begun reports whether the record has a first pick.
func (p Picks) without(ctx context.Context, f task.Fence, plan picks.DayPlan, lack missing, begun bool, now time.Time) error {
	if !lack.forGood && now.Before(plan.Deadline) {
		return WaitFor(errors.New(lack.reason), lookAgain)
	}
	if !begun {
		return Permanent(fmt.Errorf("no pick was made, and the record has not begun: %s", lack.reason))
	}
	_, err := p.DB.RecordGap(ctx, f, chain.Gap{Date: plan.Date, Reason: "no pick: " + lack.reason})
	return err
}

// plan says what a slot's day needs. made are the recorded picks, the newest last.
func (p Picks) plan(ctx context.Context, slot, now time.Time, made []postgres.Pick) (picks.DayPlan, error) {
	newest := ""
	if len(made) > 0 {
		newest = made[len(made)-1].Date
	}
	gaps, err := p.DB.GapsFrom(ctx, newest)
	if err != nil {
		return picks.DayPlan{}, err
	}
	dates := make([]string, len(gaps))
	for i, g := range gaps {
		dates[i] = g.Date
	}
	return picks.PlanDay(slot, now, newest, dates, p.Announce, p.Cutoff)
}

// missing is why there is no pick, and whether waiting cannot change that.
type missing struct {
	reason  string
	forGood bool
}

// pick makes and records the pick of a day from the data known at an instant, or returns what is missing.
func (p Picks) pick(
	ctx context.Context, t task.Task, plan picks.DayPlan, asOf time.Time, made []postgres.Pick,
) (pick postgres.Pick, _ *missing, err error) {
	there, companies, err := p.closes(ctx, plan.Day, asOf)
	if err != nil {
		return pick, nil, err
	}
	if !there.Enough() {
		return pick, &missing{reason: there.Describe(companies)}, nil
	}
	market, err := p.Market(ctx, plan.Day, asOf, made)
	if err != nil {
		return pick, nil, err
	}
	ranking := picks.Rank(market, picks.DefaultRules())
	if err := p.measureUniverse(ctx, t.Fence, market, ranking, asOf); err != nil {
		return pick, nil, err
	}
	ranking, choice, err := p.edited(ctx, t, ranking, market)
	if err != nil {
		return pick, nil, err
	}
	if ranking.Pick == nil {
		return pick, &missing{reason: ranking.NoPick, forGood: there.Have == there.Expected}, nil
	}
	card, err := p.Cards.Write(ctx, ranking, *ranking.Pick, asOf)
	if err != nil {
		return pick, nil, err
	}
	s := ranking.Pick
	next := postgres.NewPick{
		Ticker: s.Ticker, Price: string(s.Price), Date: plan.Date, CIK: s.CIK, Name: s.Name, Exchange: s.Exchange,
		Sector: string(s.Sector), Region: string(s.Region), Country: s.Country, Currency: "USD", Origin: originMethod,
		Reason: fmt.Sprintf("rank %d of %d by the method", s.Rank, len(ranking.Scores)), AnnounceAt: plan.AnnounceAt,
	}
	if ranking.Chosen {
		next.Origin, next.Reason = originEditor, choice.Reason
	}
	if err := adopt(ctx, p.DB, picksMethod()); err != nil {
		return pick, nil, err
	}
	pick, added, err := p.DB.RecordPick(ctx, t.Fence, next, card, choice.ID)
	if err != nil {
		return pick, nil, err
	}
	if added {
		p.Log.InfoContext(ctx, "the pick of the day is recorded", "at", t.Slot, "seq", pick.Seq, "scored", len(ranking.Scores),
			"excluded", len(ranking.Excluded), "origin", next.Origin)
	}
	return pick, nil, nil
}

// settling is the max time between a fetch and its storing. A read as of this long ago is complete, so it can be repeated.
const settling = 2 * time.Minute

// settled is the newest instant whose data are all stored.
func settled(now time.Time) time.Time { return now.Add(-settling) }

// closes counts the closes of a day of all known companies. It runs every few minutes on a day on which the publisher is late, and so
// reads the closes of two sessions, and not the whole Market.
func (p Picks) closes(ctx context.Context, day, asOf time.Time) (picks.Closes, map[equity.CIK]equity.Company, error) {
	companies, err := p.DB.Companies(ctx, asOf)
	if err != nil {
		return picks.Closes{}, nil, err
	}
	if len(companies) == 0 {
		return picks.Closes{}, nil, Skip("no company is known: is there a source of companies, and one of prices (`tidemark help settings`)?")
	}
	prices, err := p.DB.HistoriesFrom(ctx, slices.Sorted(maps.Keys(companies)), calendar.Previous(day), day, asOf)
	if err != nil {
		return picks.Closes{}, nil, err
	}
	return picks.ClosesOf(prices, day), companies, nil
}

// Market returns the input for the pick of a day, as known at an instant. made are the recorded picks, as far back as the rules look.
func (p Picks) Market(ctx context.Context, day, asOf time.Time, made []postgres.Pick) (picks.Market, error) {
	m := picks.Market{Day: day}
	var err error
	if m.Candidates, err = p.DB.Candidates(ctx, day, asOf); err != nil {
		return m, err
	}
	if m.Second, err = p.DB.SecondCloses(ctx, day, asOf); err != nil {
		return m, err
	}
	if m.Signals, _, err = signalStates(ctx, p.DB, p.Signals, asOf); err != nil {
		return m, err
	}
	for _, q := range made {
		date, err := time.Parse(time.DateOnly, q.Date)
		if err != nil {
			return m, fmt.Errorf("read the date of pick %d: %w", q.Seq, err)
		}
		m.Past = append(m.Past, picks.PastPick{Date: date, CIK: q.CIK, Sector: picks.Sector(q.Sector)})
	}
	return m, nil
}

// signalStates returns our own signals as of an instant, with their differences from the usual level in percent by id.
func signalStates(ctx context.Context, db *postgres.DB, ids []string, asOf time.Time) ([]picks.SignalState, map[string]*float64, error) {
	var states []picks.SignalState
	deltas := map[string]*float64{}
	for _, id := range ids {
		s, err := db.SnapshotAsOf(ctx, id, asOf)
		if errors.Is(err, postgres.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		state := picks.SignalState{ID: id, Z: math.NaN(), Live: s.Status == signals.StatusLive}
		if s.Z != nil {
			state.Z = *s.Z
		}
		states, deltas[id] = append(states, state), s.DeltaPct
	}
	return states, deltas, nil
}
