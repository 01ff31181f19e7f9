package series_test

import (
	"testing"
	"time"

	"tidemark/internal/series"
)

// TestInstantsAreTimes compares instants with the times that they are made of.
func TestInstantsAreTimes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000001Z", "1866-08-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z",
		"2024-02-29T12:30:00.25Z", "2026-11-26T22:34:00+05:30", "9999-12-31T23:59:59.999999Z",
	} {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		i := series.InstantOf(at)
		if back := i.Time(); !back.Equal(at) || back.Location() != time.UTC {
			t.Errorf("%s became %s", text, back)
		}
		if i.IsZero() != at.IsZero() {
			t.Errorf("%s: zero is %t", text, i.IsZero())
		}
		if got, want := i.Days(), int(at.UTC().Truncate(24*time.Hour).Unix()/86400); got != want {
			t.Errorf("%s is day %d, want %d", text, got, want)
		}
		if got, want := i.AddDate(0, -1, 1).Time(), at.UTC().AddDate(0, -1, 1); !at.IsZero() && at.Year() > 1 && !got.Equal(want) {
			t.Errorf("%s: a month before and a day is %s, want %s", text, got, want)
		}
		if got, want := i.String(), at.UTC().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s is written %s", want, got)
		}
		if got := series.InstantOfMicroseconds(at.UnixMicro()); got != i {
			t.Errorf("%s by its microseconds is %s", text, got)
		}
	}
	if got := series.InstantOf(time.Date(2026, 1, 1, 0, 0, 0, 1999, time.UTC)); got != series.DateOf(2026, time.January, 1)+1 {
		t.Errorf("what is smaller than a microsecond is not dropped: %s", got)
	}
}
