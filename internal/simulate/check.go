package simulate

import (
	"context"
	"fmt"
	"time"
)

// invariant is something that holds after every day, whatever went wrong. Its check asks the database by itself, not the program: it says
// in one line what it saw that must not be, or nothing.
type invariant struct {
	name string
	// A long one costs too much for each day, and more as the record grows: see thorough.
	long bool
	seen func(ctx context.Context) (string, error)
}

// violation is an invariant that was not held.
type violation struct{ name, seen string }

// checks are the invariants of a run, with what they remember of the days before.
type checks struct {
	r    *run
	dice random
	list []invariant

	// slots is up to when each schedule's slots were looked for.
	slots time.Time
	// known are checksums of what was known as of earlier instants.
	known []knowledge
	// feed is how many events there were up to a place in their feed.
	feed feed
	// rebuilt is the newest instant of which the portfolio was reckoned again, and instants how many there were.
	rebuilt  time.Time
	instants int
	// thorough tells that all of the database is gone through, last that it is for the last time.
	thorough, last bool
}

func newChecks(r *run) *checks {
	c := &checks{r: r, dice: newDice(r.Seed, "checks"), slots: r.From}
	c.list = []invariant{
		{name: "every slot of every schedule has its run", seen: c.missingRuns},
		{name: "no run stays open for more than a day", seen: c.stuckRuns},
		{name: "no run of a job that asks no upstream fails for good", seen: c.failedRuns},
		{name: "every computed slot has its snapshot", seen: c.missingSnapshots},
		{name: "every trading day since the first pick has one pick or one gap", seen: c.tradingDays},
		{name: "no pick is backdated, announced early or left unannounced", seen: c.pickTimes},
		{name: "the chain verifies", seen: c.chain},
		{name: "the record and the git ledger agree", long: true, seen: c.ledger},
		{name: "what was known as of an instant stays the same", seen: c.knowledge},
		{name: "nothing is recorded twice", long: true, seen: c.twice},
		{name: "a snapshot is computed again bit for bit", seen: c.recompute},
		{name: "the portfolio adds up to 100", seen: c.portfolioSum},
		{name: "the portfolio is rebuilt bit for bit", long: true, seen: c.rebuild},
		{name: "a balance is the sum of its ledger, and no charge makes it negative", seen: c.balances},
		{name: "who was answered has paid once, who was refused nothing", seen: c.charges},
		{name: "events are unique, and new ones come behind the old", seen: c.events},
	}
	return c
}

// thorough tells whether all of the database is gone through after a day: each Saturday of the first ten weeks and the first of each month
// after them.
func thorough(from, day time.Time) bool {
	return day.Weekday() == time.Saturday && (day.Before(from.AddDate(0, 0, 70)) || day.Day() <= 7)
}

// all checks the invariants that are due after a day, and adds what the database holds to the trace.
func (c *checks) all(ctx context.Context, day time.Time, last bool) (*violation, error) {
	c.thorough, c.last = last || thorough(c.r.From, day), last
	for _, i := range c.list {
		if i.long && !c.thorough {
			continue
		}
		seen, err := i.seen(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", i.name, err)
		}
		if seen != "" {
			return &violation{name: i.name, seen: seen}, nil
		}
	}
	return nil, c.sum(ctx)
}

// first returns the first line of a query that lists what must not be.
func (c *checks) first(ctx context.Context, sql string, args ...any) (string, error) {
	rows, err := c.r.own.Query(ctx, sql, args...)
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	defer rows.Close()
	seen, n := "", 0
	for ; rows.Next(); n++ {
		if n == 0 {
			if err := rows.Scan(&seen); err != nil {
				return "", err //nolint:wrapcheck // all does
			}
		}
	}
	if n > 1 {
		seen += fmt.Sprintf(" (and %d more)", n-1)
	}
	return seen, rows.Err() //nolint:wrapcheck // all does
}

// sum adds to the trace how much the database holds, and in a thorough check what: a checksum over every row, so that two runs of a seed
// are held to each other in all that they leave and not only in what was done. Times of work and numbers of rows are not part of it.
func (c *checks) sum(ctx context.Context) error {
	var observations, snapshots, picks, gaps, events, charges int
	err := c.r.own.QueryRow(ctx, `
		select (select count(*) from observations), (select count(*) from snapshots), (select count(*) from picks),
			(select count(*) from gaps), (select count(*) from portfolio_events), (select count(*) from ledger)`).
		Scan(&observations, &snapshots, &picks, &gaps, &events, &charges)
	if err != nil {
		return fmt.Errorf("count what the database holds: %w", err)
	}
	r := c.r
	r.result.Observations, r.result.Picks, r.result.Gaps = observations, picks, gaps
	r.trace.say(r.clock.now(), "%d observations, %d snapshots, %d picks, %d gaps, %d events, %d lines of the accounts",
		observations, snapshots, picks, gaps, events, charges)
	if !c.thorough {
		return nil
	}
	var hash string
	err = c.r.own.QueryRow(ctx, `
		select concat_ws(' ',
			(select sum(hash_record_extended(row(series, observed_at, vintage_at, value, marker, assumed), 0)) from observations),
			(select sum(hash_record_extended(row(signal, at, status, observed_at, value, lo, hi, baseline, z_score), 0)) from snapshots),
			(select sum(hash_record_extended(row(hash, appended_at), 0)) from picks),
			(select sum(hash_record_extended(row(id, occurred_at, recorded_at), 0)) from portfolio_events),
			(select sum(hash_record_extended(row(key_id, kind, amount, at, request_id), 0)) from ledger),
			(select sum(hash_record_extended(row(url, status, fetched_at, sha256), 0)) from fetches))`).
		Scan(&hash)
	if err != nil {
		return fmt.Errorf("sum up what the database holds: %w", err)
	}
	r.trace.say(r.clock.now(), "all of it: %s", hash)
	return nil
}
