package world_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/ingest/world"
)

// bubbleStart is the time at which every synctest bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestEveryClockTellsUTCToTheMicrosecond(t *testing.T) {
	t.Parallel()
	odd := time.Date(2026, 3, 2, 10, 30, 0, 123456789, time.FixedZone("New York", -5*3600))
	following := world.NewStepped(odd)
	following.Follow()
	for name, c := range map[string]world.Clock{
		"wall": world.Wall{}, "fixed": world.Fixed(odd), "stepped": world.NewStepped(odd), "following": following,
	} {
		now := c.Now()
		if now.Location() != time.UTC || now.Nanosecond()%1000 != 0 {
			t.Errorf("%s clock: %s, want UTC in microseconds", name, now)
		}
	}
	if got, want := world.Fixed(odd).Now(), time.Date(2026, 3, 2, 15, 30, 0, 123456000, time.UTC); got != want {
		t.Errorf("fixed clock: %s, want %s", got, want)
	}
}

func TestASteppedClockOnlyGoesForward(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		past := bubbleStart.AddDate(0, -6, 0)
		c := world.NewStepped(past)
		is := func(what string, want time.Time) {
			t.Helper()
			if got := c.Now(); !got.Equal(want) {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		is("at first", past)
		<-time.After(time.Hour) // the bubble's
		is("an hour of the wall later", past)
		c.AdvanceTo(past.AddDate(0, 1, 0))
		is("advanced", past.AddDate(0, 1, 0))
		c.AdvanceTo(past)
		is("told to go back", past.AddDate(0, 1, 0))
		c.Follow()
		is("following", bubbleStart.Add(time.Hour))
		<-time.After(time.Minute)
		is("a minute of the wall later", bubbleStart.Add(time.Hour+time.Minute))
		c.AdvanceTo(past)
		is("told to go back again", bubbleStart.Add(time.Hour+time.Minute))
	})
}

func TestAClockAheadOfTheWallWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ahead := bubbleStart.Add(10 * time.Minute)
		c := world.NewStepped(ahead)
		c.Follow()
		for range 3 {
			if got := c.Now(); !got.Equal(ahead) {
				t.Errorf("%s, want %s until the wall clock is there", got, ahead)
			}
			<-time.After(time.Minute)
		}
		<-time.After(time.Hour)
		if got, want := c.Now(), bubbleStart.Add(time.Hour+3*time.Minute); !got.Equal(want) {
			t.Errorf("%s, want the wall clock's %s", got, want)
		}
	})
}

func TestASteppedClockNeverRunsBackUnderConcurrency(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := world.NewStepped(start)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range 200 {
				c.AdvanceTo(start.Add(time.Duration((i*7+worker)%200) * time.Second))
				if i == 150 && worker == 0 {
					c.Follow()
				}
			}
		})
		wg.Go(func() {
			last := c.Now()
			for range 500 {
				now := c.Now()
				if now.Before(last) {
					t.Errorf("%s after %s", now, last)
				}
				last = now
			}
		})
	}
	wg.Wait()
}
