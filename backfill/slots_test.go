package backfill

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

func day(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSlotsAreTheCadencesInItsZone(t *testing.T) {
	t.Parallel()
	weekdays := series.Cadence{Cron: "0 17 * * MON-FRI", Zone: "America/New_York"}
	for _, c := range []struct {
		name          string
		cadence       series.Cadence
		from, to, now string
		want          []string
	}{
		{
			"the hour is that of New York, before and after the clocks change on 8 March 2026", weekdays, "2026-03-06", "2026-03-10", "2026-04-01T00:00:00Z",
			[]string{"2026-03-06T22:00:00Z", "2026-03-09T21:00:00Z", "2026-03-10T21:00:00Z"},
		},
		{
			"and when they change back on 1 November", weekdays, "2026-10-30", "2026-11-02", "2026-12-01T00:00:00Z",
			[]string{"2026-10-30T21:00:00Z", "2026-11-02T22:00:00Z"},
		},
		{"a weekend has none", weekdays, "2026-03-07", "2026-03-08", "2026-04-01T00:00:00Z", nil},
		{
			"a slot of today that has not come is none", weekdays, "2026-03-09", "2026-03-10", "2026-03-10T20:59:59Z",
			[]string{"2026-03-09T21:00:00Z"},
		},
		{
			"one that comes at this instant is", weekdays, "2026-03-10", "2026-03-10", "2026-03-10T21:00:00Z",
			[]string{"2026-03-10T21:00:00Z"},
		},
		{
			"midnight belongs to the day it begins",
			series.Cadence{Cron: "0 0 * * *"},
			"2026-01-01", "2026-01-02", "2026-04-01T00:00:00Z",
			[]string{"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
		},
		{
			"a day east of Greenwich begins the evening before",
			series.Cadence{Cron: "0 3 * * *", Zone: "Asia/Tokyo"},
			"2026-01-02", "2026-01-02", "2026-04-01T00:00:00Z",
			[]string{"2026-01-01T18:00:00Z"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			times, err := slots(c.cadence, day(t, c.from), day(t, c.to), now)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, at := range times {
				got = append(got, at.Format(time.RFC3339))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAPlanHasAnEnd(t *testing.T) {
	t.Parallel()
	_, err := slots(series.Cadence{Cron: "* * * * *"}, day(t, "2020-01-01"), day(t, "2026-01-01"), day(t, "2026-06-01"))
	if fault := (RequestError{}); !errors.As(err, &fault) {
		t.Errorf("three million slots: %v, want a fault of the request", err)
	}
}

func TestDifferencesNameWhatChanged(t *testing.T) {
	t.Parallel()
	was := []postgres.Fact{{What: "the program", Is: "1"}, {What: "the slots", Is: "20"}, {What: "the observations of a", Is: "5"}}
	is := []postgres.Fact{{What: "the program", Is: "2"}, {What: "the slots", Is: "20"}, {What: "the observations of b", Is: "7"}}
	want := []string{
		"the program: was 1, is 2",
		"the observations of a: was 5, is no longer part of it",
		"the observations of b: is new, 7",
	}
	if d := cmp.Diff(want, differences(was, is)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := differences(was, was); len(d) > 0 {
		t.Errorf("a world that is the same: %v", d)
	}
}

func TestProgressIsWhatTheSlotsSay(t *testing.T) {
	t.Parallel()
	running := postgres.Backfill{ID: 7, Signal: "s", Status: postgres.BackfillRunning}
	over := running
	over.FinishedAt = new(time.Unix(0, 0))
	paused := running
	paused.Status = postgres.BackfillPaused
	for _, c := range []struct {
		name   string
		b      postgres.Backfill
		counts postgres.BackfillCounts
		over   bool
		want   string
	}{
		{
			"a rate and the time it leaves", running,
			postgres.BackfillCounts{Slots: 1100, Skipped: 100, Done: 400, Failed: 1, Pending: 599, Lately: 120, Seconds: 60},
			false,
			"backfill 7 of s: running, 401 of 1000 slots (40%), 1 failed, 2.0 slots/s, 5m0s left",
		},
		{
			"no rate while none was done", running,
			postgres.BackfillCounts{Slots: 10, Pending: 10, Seconds: 3},
			false,
			"backfill 7 of s: running, 0 of 10 slots (0%)",
		},
		{
			"the sources come first", running,
			postgres.BackfillCounts{Slots: 10, Pending: 10, Asking: 1},
			false,
			"backfill 7 of s: asking the sources, 0 of 10 slots (0%)",
		},
		{
			"paused it has no pace", paused,
			postgres.BackfillCounts{Slots: 10, Done: 5, Pending: 5, Lately: 5, Seconds: 1},
			true,
			"backfill 7 of s: paused, 5 of 10 slots (50%)",
		},
		{
			"done", over,
			postgres.BackfillCounts{Slots: 10, Done: 10, Lately: 10, Seconds: 1},
			true,
			"backfill 7 of s: done, 10 of 10 slots (100%)",
		},
		{
			"what was cancelled was not done",
			postgres.Backfill{ID: 7, Signal: "s", Status: postgres.BackfillCancelled, FinishedAt: over.FinishedAt},
			postgres.BackfillCounts{Slots: 10, Done: 2, Failed: 1, Cancelled: 7},
			true,
			"backfill 7 of s: cancelled, 3 of 10 slots (30%), 1 failed, 7 cancelled",
		},
		{
			"nothing was to be done", over,
			postgres.BackfillCounts{Slots: 10, Skipped: 10},
			true,
			"backfill 7 of s: done, 0 of 0 slots",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := measure(c.b, c.counts)
			if p.String() != c.want || p.Over() != c.over {
				t.Errorf("%q, over: %t\nwant %q, over: %t", p, p.Over(), c.want, c.over)
			}
		})
	}
}

func TestACancelledBackfillSaysWhatItLeaves(t *testing.T) {
	t.Parallel()
	first, last := day(t, "2026-01-01"), day(t, "2026-01-31")
	b := postgres.Backfill{ID: 7, Signal: "s", Status: postgres.BackfillCancelled, FromDay: first, ToDay: last, Existing: ExistingSkip}
	begun := b
	begun.AppliedAt = new(time.Unix(0, 0))
	archived := begun
	archived.FromArchive, archived.Existing = true, ExistingFailed
	asOf := begun
	asOf.AsOf, asOf.Existing = new(time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)), ExistingAll
	running := begun
	running.Status = postgres.BackfillRunning
	const rest = ". 7 slots were not done. To do them: `tidemark backfill run --signal=s --from=2026-01-01 --to=2026-01-31"
	for _, c := range []struct {
		name   string
		b      postgres.Backfill
		counts postgres.BackfillCounts
		want   string
	}{
		{"one that runs", running, postgres.BackfillCounts{Slots: 10, Done: 3, Added: 3}, ""},
		{"one that was never begun", b, postgres.BackfillCounts{Slots: 10, Cancelled: 10}, "it was never begun: nothing of it is stored"},
		{
			"with snapshots", begun,
			postgres.BackfillCounts{Slots: 10, Done: 3, Added: 2, Unchanged: 1, Cancelled: 7, Running: 1},
			"2 snapshots that it made stay and are served as history: they are what the slots came to, and nothing removes what was once served; " +
				"1 run that is under way may still add some; what its sources answered is stored, too" + rest + "`",
		},
		{
			"from the archive", archived,
			postgres.BackfillCounts{Slots: 8, Done: 1, Added: 1, Cancelled: 7},
			"1 snapshot that it made stays and is served as history: it is what the slots came to, and nothing removes what was once served; " +
				"what its sources answered is stored, too" + rest + " --existing=failed --from-archive`",
		},
		{
			"as of an instant", asOf,
			postgres.BackfillCounts{Slots: 8, Done: 1, Differs: 1, Cancelled: 7},
			"it has made no snapshot; 1 result that differs from what stands is kept beside it, and not served (`tidemark backfill diff`); " +
				"what its sources answered is stored, too" + rest + " --as-of=2026-02-01T12:00:00Z`",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, measure(c.b, c.counts).Remains()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
