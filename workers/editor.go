package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
)

// Basis returns the instant whose knowledge is used for a day: the instant of the day's pick, or the end of the day if it has no pick.
// The zero day is the last session. A day whose close has not come is an error.
func (p Picks) Basis(ctx context.Context, day time.Time) (time.Time, time.Time, error) {
	now, err := p.DB.Now(ctx)
	if err != nil {
		return day, now, err
	}
	if day.IsZero() {
		day = calendar.LastClosed(now)
	}
	if closing, trading := calendar.Close(day); !trading || now.Before(closing) {
		reason, closed := calendar.Closed(day)
		if !closed {
			reason = "the exchange has not closed"
		}
		return day, now, fmt.Errorf("nothing is scored for %s: %s", day.Format(time.DateOnly), reason)
	}
	asOf, err := p.DB.PickBasis(ctx, day)
	if errors.Is(err, postgres.ErrNotFound) {
		asOf, err = settled(now), nil
		if end := calendar.At(day.AddDate(0, 0, 1), 0); end.Before(asOf) {
			asOf = end
		}
	}
	return day, asOf, err
}

// CheckChoice returns an error if an editor's choice is currently not allowed. The choice must be for today, a trading day without a pick
// so far, and for a company that the rules allow. Without the closes of the day the check is not complete, and CheckChoice reports false.
func (p Picks) CheckChoice(ctx context.Context, choice postgres.EditorChoice) (checked bool, err error) {
	now, err := p.DB.Now(ctx)
	if err != nil {
		return false, err
	}
	today := calendar.DayOf(now)
	if !choice.Date.Equal(today) {
		return false, fmt.Errorf("today is %s: a pick is made on its day, never before or later", today.Format(time.DateOnly))
	}
	if reason, closed := calendar.Closed(today); closed {
		return false, errors.New("no trading day: " + reason)
	}
	made, err := p.DB.RecordedPicks(ctx)
	if err != nil {
		return false, err
	}
	date := today.Format(time.DateOnly)
	if len(made) > 0 && made[len(made)-1].Date == date {
		return false, errors.New("the pick of the day is made, and a recorded pick stays")
	}
	gaps, err := p.DB.Gaps(ctx)
	if err != nil {
		return false, err
	}
	for _, g := range gaps {
		if g.Date == date {
			return false, errors.New("the day is recorded without a pick")
		}
	}
	there, companies, err := p.closes(ctx, today, settled(now))
	if err != nil {
		return false, err
	}
	if closing, _ := calendar.Close(today); now.Before(closing) || !there.Enough() {
		for _, c := range companies {
			if c.Ticker(today) == choice.Ticker {
				return false, nil
			}
		}
		return false, errors.New("it is not in the universe")
	}
	market, err := p.Market(ctx, today, settled(now), made)
	if err != nil {
		return false, err
	}
	_, err = Edited(picks.Rank(market, picks.DefaultRules()), choice, market.Past)
	return err == nil, err
}

// edited replaces the method's pick with an editor's choice. A choice against the rules is refused, and the method's pick stays.
func (p Picks) edited(ctx context.Context, t task.Task, r picks.Ranking, m picks.Market) (picks.Ranking, postgres.EditorChoice, error) {
	choice, err := p.DB.EditorChoice(ctx, r.Day)
	if errors.Is(err, postgres.ErrNotFound) {
		return r, postgres.EditorChoice{}, nil
	}
	if err != nil {
		return r, choice, err
	}
	chosen, fault := Edited(r, choice, m.Past)
	if fault == nil {
		return chosen, choice, nil
	}
	p.Log.WarnContext(ctx, "an editor's choice is refused, the method's pick stands", "at", t.Slot, "err", fault)
	return r, postgres.EditorChoice{}, p.DB.SettleEditorChoice(ctx, t.Fence, choice.ID, postgres.ChoiceRefused, fault.Error())
}

// Edited returns a ranking with an editor's choice instead of the method's pick, or an error that says why the rules forbid it.
func Edited(r picks.Ranking, choice postgres.EditorChoice, past []picks.PastPick) (picks.Ranking, error) {
	chosen, err := r.Choose(choice.Ticker, past, picks.DefaultRules())
	if err != nil {
		return r, err
	}
	if choice.Price != nil && *choice.Price != string(chosen.Pick.Price) {
		return r, fmt.Errorf("%s closed at %s, the choice expects %s", choice.Ticker, chosen.Pick.Price, *choice.Price)
	}
	return chosen, nil
}
