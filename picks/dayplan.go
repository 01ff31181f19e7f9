package picks

import (
	"fmt"
	"slices"
	"time"

	"tidemark/internal/calendar"
)

// DayStep is a step that the record needs on a day.
type DayStep int

// The steps.
const (
	// StepNone: the day gets no pick, and needs nothing.
	StepNone DayStep = iota
	// StepTooEarly: the exchange has not closed.
	StepTooEarly
	// StepPick: the day's pick must be made.
	StepPick
	// StepFollowUp: the pick is made, and its announcement may be due.
	StepFollowUp
)

// DayPlan lists the steps that the record needs on a day, with their times.
type DayPlan struct {
	// Day is the day of the exchange, and Date the same as YYYY-MM-DD.
	Day  time.Time
	Date string
	Step DayStep
	// Reason says why the step is StepNone or StepTooEarly. It never names a pick.
	Reason string
	// Missed are the trading days between the newest pick and today that have neither a pick nor a gap, as YYYY-MM-DD. Each must be
	// recorded as a gap first.
	Missed []string
	// AnnounceAt is when the day's pick becomes public, and Deadline how long to wait for its prices.
	AnnounceAt, Deadline time.Time
}

// PlanDay plans the day of a slot. That day must be today in New York: a past day gets no pick. Newest is the date of the newest recorded
// pick, empty before the first, and gaps are the recorded gaps from that date on, all as YYYY-MM-DD. Announce and cutoff are clock times of
// the day in New York. A date that does not parse is an error.
func PlanDay(slot, now time.Time, newest string, gaps []string, announce, cutoff time.Duration) (DayPlan, error) {
	day, today := calendar.DayOf(slot), calendar.DayOf(now)
	p := DayPlan{Day: day, Date: day.Format(time.DateOnly), Deadline: calendar.At(day, cutoff)}
	p.AnnounceAt, _ = calendar.Announcement(day, announce)
	if newest != "" {
		last, err := time.Parse(time.DateOnly, newest)
		if err != nil {
			return p, fmt.Errorf("read the date of the newest pick: %w", err)
		}
		// Each day before that pick had a pick or a gap when it was made.
		for _, d := range calendar.Between(last.AddDate(0, 0, 1), today.AddDate(0, 0, -1)) {
			if date := d.Format(time.DateOnly); !slices.Contains(gaps, date) {
				p.Missed = append(p.Missed, date)
			}
		}
	}
	closing, trading := calendar.Close(day)
	switch {
	case !trading:
		reason, _ := calendar.Closed(day)
		p.Reason = "no trading day: " + reason
	case day.Before(today):
		p.Reason = p.Date + " has passed: a day that was missed gets no pick"
	case now.Before(closing):
		p.Step, p.Reason = StepTooEarly, "the exchange is open until "+closing.Format(time.RFC3339)+": a pick is made after the close"
	case slices.Contains(gaps, p.Date):
		p.Reason = p.Date + " is recorded as a day without a pick"
	case newest == p.Date:
		p.Step = StepFollowUp
	default:
		p.Step = StepPick
	}
	return p, nil
}
