package view

import (
	"context"
	"fmt"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
)

// OtherDay says that a snapshot is not about the day that was asked for. Days are in UTC.
type OtherDay struct {
	Asked string `json:"asked"`
	// Shown is the day that the snapshot is about, the nearest earlier one. Later is the nearest later one, or null if none exists yet.
	Shown string  `json:"shown"`
	Later *string `json:"later"`
	// Text says it in words.
	Text string `json:"text"`
}

// NoSuchDayError says that no snapshot is about a day or an earlier one. It is a postgres.ErrNotFound.
type NoSuchDayError struct {
	Day time.Time
	// First is the day of the first snapshot; zero if none exists.
	First time.Time
}

func (e *NoSuchDayError) Error() string {
	text := fmt.Sprintf("No snapshot of this signal is about %s or an earlier day.", e.Day.Format(time.DateOnly))
	if !e.First.IsZero() {
		text += fmt.Sprintf(" The first is about %s.", e.First.Format(time.DateOnly))
	}
	return text
}

// Unwrap returns postgres.ErrNotFound.
func (*NoSuchDayError) Unwrap() error { return postgres.ErrNotFound }

// otherDay compares the day that was asked for with the day of a snapshot. The result is nil if they are the same.
func (v *View) otherDay(ctx context.Context, s *Signal, day time.Time, stored postgres.Snapshot, lang locale.Lang) (*OtherDay, error) {
	if stored.ObservedAt == nil {
		return nil, nil
	}
	day = day.UTC().Truncate(24 * time.Hour)
	shown := stored.ObservedAt.UTC().Truncate(24 * time.Hour)
	if shown.Equal(day) {
		return nil, nil
	}
	later, err := v.o.Store.ObservedAfter(ctx, s.Definition.ID, day, v.Now())
	if err != nil {
		return nil, err
	}
	l := languages.Or(lang)
	word := "day.missing"
	if s.History.has(day) {
		word = "day.together"
	}
	out := &OtherDay{
		Asked: day.Format(time.DateOnly), Shown: shown.Format(time.DateOnly), Text: fmt.Sprintf(l.Words[word], l.WriteDate(day), l.WriteDate(shown)),
	}
	if !later.IsZero() {
		out.Later = new(later.Format(time.DateOnly))
	}
	return out, nil
}

// noSuchDay names the first day that a snapshot is about.
func (v *View) noSuchDay(ctx context.Context, s *Signal, day time.Time) error {
	first, err := v.o.Store.ObservedAfter(ctx, s.Definition.ID, day, v.Now())
	if err != nil {
		return err
	}
	return &NoSuchDayError{Day: day.UTC().Truncate(24 * time.Hour), First: first}
}

// has reports whether a history has a point on a day.
func (h *History) has(day time.Time) bool {
	points := h.Points(day)
	return len(points) > 0 && points[0].ObservedAt.Before(day.AddDate(0, 0, 1))
}
