package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/workers"
)

// tradingDays compares the days of the exchange's calendar with the picks and gaps. The gap of a day without a running process is recorded
// with the next pick, so the last two days are not checked.
func (c *checks) tradingDays(ctx context.Context) (string, error) {
	rows, err := c.r.own.Query(ctx, `select date, count(*) from (select date from picks union all select date from gaps) d group by date order by date`)
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	days := map[string]int{}
	var date string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&date, &n}, func() error { days[date] = n; return nil }); err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	var first *string
	if err := c.r.own.QueryRow(ctx, `select min(date) from picks`).Scan(&first); err != nil || first == nil {
		return "", err //nolint:wrapcheck // all does
	}
	begin, err := time.Parse(time.DateOnly, *first)
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	for date, n := range days {
		day, err := time.Parse(time.DateOnly, date)
		if err != nil || n > 1 || !calendar.IsTradingDay(day) {
			return fmt.Sprintf("%s has %d picks and gaps, and is a trading day: %t", date, n, calendar.IsTradingDay(day)), err
		}
	}
	until := calendar.Previous(calendar.Previous(calendar.DayOf(c.r.clock.now())))
	for _, day := range calendar.Between(begin, until.AddDate(0, 0, -1)) {
		if days[day.Format(time.DateOnly)] == 0 {
			return day.Format(time.DateOnly) + " has neither a pick nor a gap", nil
		}
	}
	return "", nil
}

func (c *checks) pickTimes(ctx context.Context) (string, error) {
	return c.first(ctx, `
		select format('pick %s of %s: recorded %s, to be announced %s, announced %s', p.seq, p.date, p.appended_at, p.announce_at, a.announced_at)
		from picks p
		left join announcements a using (seq)
		where to_char(p.appended_at at time zone 'America/New_York', 'YYYY-MM-DD') <> p.date
			or a.announced_at < p.announce_at or p.announce_at < (p.date || ' 16:00')::timestamp at time zone 'America/New_York'
			or (a.seq is null and p.announce_at < $1)
		order by p.seq`, c.r.lastTick.Add(-26*time.Hour))
}

// chain recomputes the hash of every link, and checks the order of the announcements.
func (c *checks) chain(ctx context.Context) (string, error) {
	rows, err := c.r.own.Query(ctx, `select seq, ticker, price, date, previous_hash, hash from picks order by seq`)
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	links, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (l chain.Link, err error) {
		err = r.Scan(&l.Seq, &l.Ticker, &l.Price, &l.Date, &l.PreviousHash, &l.Hash)
		return l, err
	})
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	if _, err := chain.Verify(chain.Each(links)); err != nil {
		return err.Error(), nil //nolint:nilerr // it is what was seen
	}
	return c.first(ctx, `
		select format('announcement %s is the %s.', seq, place) from (select seq, row_number() over (order by seq) as place from announcements) a
		where seq <> place`)
}

// ledger recomputes the chain of the git ledger, compares its entries with the record, and finds entries that have waited for their commit
// for more than a day.
func (c *checks) ledger(ctx context.Context) (string, error) {
	if err := c.r.program.VerifyLedger(ctx); err != nil {
		return err.Error(), nil //nolint:nilerr // it is what was seen
	}
	return c.first(ctx, `
		select format('entry %s of %s is not committed, or not pushed', id, at) from ledger_entries
		where (commit_id is null or pushed_at is null) and at < $1`, c.r.lastTick.AddDate(0, 0, -5))
}

func (c *checks) portfolioSum(ctx context.Context) (string, error) {
	return c.first(ctx, `
		select format('the positions of %s and the cash add up to %s', s.date, t.sum)
		from portfolio_state s, lateral (
			select coalesce(sum((row ->> 'weight_pct')::numeric), 0) + (s.performance ->> 'cash_pct')::numeric as sum
			from jsonb_array_elements(s.positions) row) t
		where t.sum <> 100`)
}

// rebuild recomputes the portfolio data that were stored since the last call, and about again random earlier instants. The number is
// limited, because the cost of each grows with the record.
func (c *checks) rebuild(ctx context.Context) (string, error) {
	again := 10.
	if c.last {
		again = 50
	}
	share := again / float64(max(c.instants, 1))
	newest, instants := c.rebuilt, 0
	r, err := workers.Publications{Picks: c.r.program.Picks, Log: c.r.Log}.Rebuild(ctx, func(asOf time.Time) bool {
		instants++
		newest = later(newest, asOf)
		return asOf.After(c.rebuilt) || c.dice.chance(share)
	})
	c.rebuilt, c.instants = newest, instants
	if err != nil || len(r.Differences) == 0 {
		return "", err
	}
	return fmt.Sprintf("%d of %d snapshots differ: %s", len(r.Differences), r.Snapshots, r.Differences[0]), nil
}

// feed is a position in the feed of events, and the number of events up to it.
type feed struct {
	at time.Time
	id string
	n  int
}

// events looks for events that were added before a position that a reader of the feed has already passed.
func (c *checks) events(ctx context.Context) (string, error) {
	var n int
	err := c.r.own.QueryRow(ctx, `select count(*) from portfolio_events where (recorded_at, id) <= ($1, $2)`, c.feed.at, c.feed.id).Scan(&n)
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	if n != c.feed.n {
		return fmt.Sprintf("%d events up to %s, a day ago there were %d", n, c.feed.at.Format(time.RFC3339Nano), c.feed.n), nil
	}
	err = c.r.own.QueryRow(ctx, `
		select recorded_at, id, (select count(*) from portfolio_events) from portfolio_events order by recorded_at desc, id desc limit 1`).
		Scan(&c.feed.at, &c.feed.id, &c.feed.n)
	if err != nil && err != pgx.ErrNoRows { //nolint:errorlint // it comes as it is
		return "", err //nolint:wrapcheck // all does
	}
	return "", nil
}
