package simulate

import (
	"context"
	"fmt"
	"time"
)

// invariant is a condition that must hold after every day, also after faults. Its check queries the database without using the program's
// code. It returns a one-line description of a violation, or an empty text.
type invariant struct {
	name string
	// A long check is too expensive for each day, and its cost grows with the record: see thorough.
	long bool
	seen func(ctx context.Context) (string, error)
}

// violation is a broken invariant.
type violation struct{ name, seen string }

// checks holds the invariants of a run, with the data of earlier days that they need.
type checks struct {
	r    *run
	dice random
	list []invariant

	// slots is the end of the time in which each schedule's slots were checked.
	slots time.Time
	// known are checksums of the data known as of earlier instants.
	known []knowledge
	// feed is the number of events up to a position in the feed.
	feed feed
	// rebuilt is the newest instant with a recomputed portfolio, and instants the number of instants.
	rebuilt  time.Time
	instants int
	// thorough means that the whole database is checked, last that this is the last check.
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

// thorough reports whether the whole database is checked after a day: each Saturday of the first ten weeks, and the first Saturday of each
// month after them.
func thorough(from, day time.Time) bool {
	return day.Weekday() == time.Saturday && (day.Before(from.AddDate(0, 0, 70)) || day.Day() <= 7)
}

// all checks the invariants that are due after a day, and adds the content of the database to the trace.
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

// first returns the first line of a query that lists violations.
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

// sum adds the sizes of the tables to the trace. In a thorough check it also adds a checksum over every row, so that two runs of a seed
// must agree in their data and not only in their steps. Times of work and row numbers are excluded.
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
