package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/task"
)

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestSlots(t *testing.T) {
	t.Parallel()
	const skipped, newestOnly, paused = "missed, and its policy is to skip missed slots",
		"missed, and its policy is to run only the latest missed slot", "the schedule is paused"
	for _, c := range []struct {
		name    string
		catchUp string
		paused  bool
		last    string
		now     string
		want    []string // "slot trigger skip"
	}{
		{"nothing is due before the next slot", "all", false, "2026-03-02T15:30:00Z", "2026-03-03T15:29:59Z", nil},
		{"a slot on time is a cron slot", "latest", false, "2026-03-02T15:30:00Z", "2026-03-03T15:30:01Z", []string{"2026-03-03T15:30:00Z cron "}},
		{"a slot on time is run under skip too", "skip", false, "2026-03-02T15:30:00Z", "2026-03-03T15:30:01Z", []string{"2026-03-03T15:30:00Z cron "}},
		{
			"all runs every missed slot, oldest first", "all", false, "2026-03-02T15:30:00Z", "2026-03-05T12:00:00Z",
			[]string{"2026-03-03T15:30:00Z catchup ", "2026-03-04T15:30:00Z catchup "},
		},
		{
			"latest runs the newest and records the others", "latest", false, "2026-03-02T15:30:00Z", "2026-03-05T12:00:00Z",
			[]string{"2026-03-03T15:30:00Z catchup " + newestOnly, "2026-03-04T15:30:00Z catchup "},
		},
		{
			"skip records all missed slots", "skip", false, "2026-03-02T15:30:00Z", "2026-03-05T12:00:00Z",
			[]string{"2026-03-03T15:30:00Z catchup " + skipped, "2026-03-04T15:30:00Z catchup " + skipped},
		},
		{
			"skip still runs the slot that has just come", "skip", false, "2026-03-02T15:30:00Z", "2026-03-04T15:30:30Z",
			[]string{"2026-03-03T15:30:00Z catchup " + skipped, "2026-03-04T15:30:00Z cron "},
		},
		{
			"a paused schedule runs nothing", "all", true, "2026-03-02T15:30:00Z", "2026-03-03T15:30:01Z",
			[]string{"2026-03-03T15:30:00Z cron " + paused},
		},
		{"a new schedule starts with its newest slot", "latest", false, "", "2026-03-04T12:00:00Z", []string{"2026-03-03T15:30:00Z catchup "}},
		{
			"the slot keeps its local time over the spring change of New York", "all", false, "2026-03-06T15:30:00Z", "2026-03-09T20:00:00Z",
			[]string{"2026-03-07T15:30:00Z catchup ", "2026-03-08T14:30:00Z catchup ", "2026-03-09T14:30:00Z catchup "},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := task.Schedule{Job: "ingest", Subject: "x", Cron: "30 10 * * *", Zone: "America/New_York", CatchUp: c.catchUp, Paused: c.paused}
			if c.last != "" {
				last := instant(t, c.last)
				s.LastSlot = &last
			}
			parsed, err := Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, slot := range Slots(s, parsed, instant(t, c.now)) {
				got = append(got, slot.At.Format(time.RFC3339)+" "+slot.Trigger+" "+slot.Skip)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("slots (-want +got):\n%s", d)
			}
		})
	}
}

func TestALongAbsenceIsBounded(t *testing.T) {
	t.Parallel()
	last, now := instant(t, "2020-01-01T00:00:00Z"), instant(t, "2026-01-01T00:00:30Z")
	for catchUp, want := range map[string]int{"latest": maxSkipped, "skip": maxSkipped, "all": maxSlots} {
		s := task.Schedule{Job: "ingest", Subject: "x", Cron: "0 * * * *", CatchUp: catchUp, LastSlot: &last}
		parsed, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		slots := Slots(s, parsed, now)
		if len(slots) != want {
			t.Errorf("%s: %d slots, want %d", catchUp, len(slots), want)
		}
		newest := slots[len(slots)-1]
		if catchUp == "all" {
			if want := last.Add(maxSlots * time.Hour); !newest.At.Equal(want) {
				t.Errorf("all goes on from the oldest: its newest slot is %s, want %s", newest.At, want)
			}
		} else if !newest.At.Equal(now.Truncate(time.Hour)) {
			t.Errorf("%s: newest slot %s", catchUp, newest.At)
		}
	}
}

func TestScheduleFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]task.Schedule{
		"a bad expression":     {Job: "ingest", Subject: "x", Cron: "61 * * * *", CatchUp: "all"},
		"an unknown zone":      {Job: "ingest", Subject: "x", Cron: "1 * * * *", Zone: "Mars/Olympus", CatchUp: "all"},
		"an unknown catch-up":  {Job: "ingest", Subject: "x", Cron: "1 * * * *", CatchUp: "sometimes"},
		"an empty expression":  {Job: "ingest", Subject: "x", CatchUp: "all"},
		"six fields (seconds)": {Job: "ingest", Subject: "x", Cron: "0 1 * * * *", CatchUp: "all"},
	} {
		if _, err := Parse(s); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
