package view

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// OtherDay says that a number is not about the day that was asked for. Days are in UTC.
type OtherDay struct {
	Asked string `json:"asked"`
	// Shown is the day that the number is about, the nearest earlier one. Later is the nearest later one, or null if none exists yet.
	Shown string  `json:"shown"`
	Later *string `json:"later"`
	// Text says it in words.
	Text string `json:"text"`
}

// NoSuchDayError says that no number is about a day or an earlier one. It is a postgres.ErrNotFound.
type NoSuchDayError struct {
	Day time.Time
	// First is the first day that a number is about; zero if none exists.
	First time.Time
}

func (e *NoSuchDayError) Error() string {
	text := fmt.Sprintf("No number of this signal is about %s or an earlier day.", e.Day.Format(time.DateOnly))
	if !e.First.IsZero() {
		text += fmt.Sprintf(" The first is about %s.", e.First.Format(time.DateOnly))
	}
	return text
}

// Unwrap returns postgres.ErrNotFound.
func (*NoSuchDayError) Unwrap() error { return postgres.ErrNotFound }

// WriteDay writes the day that a value of a signal is about, the month of a monthly signal, or the crop of a final.
func WriteDay(l *locale.Language, d signals.Definition, day time.Time) string {
	day = day.UTC()
	switch d.PeriodOf(day) {
	case signals.PeriodCrop:
		return fmt.Sprintf(l.Words["signal.crop"], strconv.Itoa(day.Year()-1))
	case signals.PeriodMonth:
		return l.WriteMonth(day)
	}
	return l.WriteDate(day)
}

// otherDay compares the day that was asked for with the day of a snapshot. The result is nil if they are the same. history reports that days of
// the history count, too, and not only the days that snapshots are about. Later days are those known at asOf; zero means now.
func (v *View) otherDay(ctx context.Context, s *Signal, day, asOf time.Time, stored postgres.Snapshot, history bool, lang locale.Lang) (*OtherDay, error) {
	if stored.ObservedAt == nil {
		return nil, nil
	}
	day = day.UTC().Truncate(24 * time.Hour)
	shown := stored.ObservedAt.UTC().Truncate(24 * time.Hour)
	if shown.Equal(day) {
		return nil, nil
	}
	later, err := v.after(ctx, s, day, asOf, history)
	if err != nil {
		return nil, err
	}
	l := languages.Or(lang)
	word := "day.missing"
	if !history && s.History.has(day) {
		word = "day.together"
	}
	out := &OtherDay{Asked: day.Format(time.DateOnly), Shown: shown.Format(time.DateOnly), Text: otherDayText(l, s.Definition, word, day, shown)}
	if !later.IsZero() {
		out.Later = new(later.Format(time.DateOnly))
	}
	return out, nil
}

// otherDayText says that a number is about another day than the one that was asked for. The word is day.missing, or day.together if the day
// that was asked for has a value.
func otherDayText(l *locale.Language, d signals.Definition, word string, asked, shown time.Time) string {
	if d.PeriodOf(shown) == signals.PeriodDay {
		return fmt.Sprintf(l.Words[word], l.WriteDate(asked), l.WriteDate(shown))
	}
	day := l.WriteDate(asked)
	if word == "day.together" {
		day = WriteDay(l, d, asked)
	}
	return fmt.Sprintf(l.Words[word+" month"], day, WriteDay(l, d, shown))
}

// noSuchDay names the first day that a number is about, as of an instant; zero means now.
func (v *View) noSuchDay(ctx context.Context, s *Signal, day, asOf time.Time) error {
	first, err := v.after(ctx, s, day, asOf, true)
	if err != nil {
		return err
	}
	return &NoSuchDayError{Day: day.UTC().Truncate(24 * time.Hour), First: first}
}

// after returns the first day after a day that a snapshot is about, or zero, as of an instant; zero means now. With history, a point of the
// history counts, too.
func (v *View) after(ctx context.Context, s *Signal, day, asOf time.Time, history bool) (time.Time, error) {
	known := asOf
	if known.IsZero() {
		known = v.Now()
	}
	later, err := v.o.Store.ObservedAfter(ctx, s.Definition.ID, day, known)
	if err != nil || !history {
		return later, err
	}
	first, err := v.firstPoint(ctx, s, day.AddDate(0, 0, 1), asOf)
	if err != nil {
		return time.Time{}, err
	}
	if !first.IsZero() && (later.IsZero() || first.Before(later)) {
		later = first
	}
	return later, nil
}

// firstPoint returns when the first point of a history from a day on was observed, or zero, as of an instant; zero means now.
func (v *View) firstPoint(ctx context.Context, s *Signal, from, asOf time.Time) (time.Time, error) {
	if asOf.IsZero() {
		if points := s.History.Points(from); len(points) > 0 {
			return points[0].ObservedAt, nil
		}
		return time.Time{}, nil
	}
	for p, err := range v.o.Store.History(ctx, postgres.HistoryQuery{Signal: s.Definition.ID, AsOf: asOf, From: from, Limit: 1}) {
		return p.ObservedAt, err
	}
	return time.Time{}, nil
}

// has reports whether a history has a point on a day.
func (h *History) has(day time.Time) bool {
	points := h.Points(day)
	return len(points) > 0 && points[0].ObservedAt.Before(day.AddDate(0, 0, 1))
}
