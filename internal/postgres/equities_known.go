package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/picks"
)

// marketCache holds the facts and prices of all companies as last read, so that the next pick only reads the data that became known since.
// Rows are only ever added, and each store notes a load with the time at which its rows became known. So the cache is complete as of its
// instant unless a load came since that was known by then: a store committed late, or an archive was imported. Then everything is read
// again. The zero value is empty. It is safe for concurrent use.
type marketCache struct {
	mu   sync.Mutex
	held *knownMarket
	// large means that the market is too large to be kept.
	large bool
	// limit replaces maxMarketRows if it is not zero.
	limit int
}

// maxMarketRows is the max number of facts and bars that the cache holds: some 100 MB. A larger universe is read again each time.
const maxMarketRows = 400_000

// marketSlack is how much older than needed the cached data may be before they are read again without it.
const marketSlack = 92 * 24 * time.Hour

// knownMarket holds the knowledge about companies at an instant. It is immutable.
type knownMarket struct {
	asOf time.Time
	// load is a load that was stored, with all loads before it, when the data were read.
	load int64
	// factsFrom is the first period end, pricesFrom the first day of trading.
	factsFrom, pricesFrom time.Time
	// companies were read. Those without data are not in facts and prices.
	companies map[equity.CIK]bool
	facts     map[equity.CIK][]equity.Fact
	prices    picks.Prices
}

// A row of rebuilding is an imported load that is not stored yet.
const marketVersionSQL = `
	select coalesce((select max(id) from loads), 0), exists (select from rebuilding where load_id is not null),
		@load > 0 and exists (select from load_fetches where load_id > @load and known_at <= @as_of)` // primary keys

// market returns the facts of companies that were filed before a day, and their prices up to that day, as known at an instant.
func (db EquityStore) market(ctx context.Context, ids []equity.CIK, day, asOf time.Time) (map[equity.CIK][]equity.Fact, picks.Prices, error) {
	held, small := db.markets.get()
	if !small {
		return db.marketAnew(ctx, ids, day, asOf)
	}
	var load int64
	var rebuilding, late bool
	err := db.reads.QueryRow(ctx, marketVersionSQL, pgx.NamedArgs{"load": held.load, "as_of": held.asOf}).Scan(&load, &rebuilding, &late)
	if err != nil {
		return nil, nil, fmt.Errorf("look up what was stored: %w", err)
	}
	switch {
	case rebuilding || asOf.Before(held.asOf):
		return db.marketAnew(ctx, ids, day, asOf)
	case late || load < held.load || !held.covers(day):
		held = &knownMarket{factsFrom: day.Add(-factsBack), pricesFrom: day.Add(-pricesBack)}
	}
	next, err := db.marketSince(ctx, held, ids, asOf)
	if err != nil {
		return nil, nil, err
	}
	next.load = load
	db.markets.put(next)
	prices, err := db.pricesUpTo(ctx, next, ids, day, asOf)
	return next.factsFiled(ids, day), prices, err
}

// marketAnew is market without the cache.
func (db EquityStore) marketAnew(ctx context.Context, ids []equity.CIK, day, asOf time.Time) (map[equity.CIK][]equity.Fact, picks.Prices, error) {
	facts, err := db.facts(ctx, ids, day.Add(-factsBack), day, asOf)
	if err != nil {
		return nil, nil, err
	}
	prices, err := db.HistoriesFrom(ctx, ids, day.Add(-pricesBack), day, asOf)
	return facts, prices, err
}

const factsSinceSQL = `
	select distinct cik from facts where known_at > @since and known_at <= @as_of` // index facts_known

// marketSince brings held up to a later instant. A company with new facts, or that was not read before, is read completely.
func (db EquityStore) marketSince(ctx context.Context, held *knownMarket, ids []equity.CIK, asOf time.Time) (*knownMarket, error) {
	next := &knownMarket{
		asOf: asOf, factsFrom: held.factsFrom, pricesFrom: held.pricesFrom,
		companies: make(map[equity.CIK]bool, len(ids)), facts: make(map[equity.CIK][]equity.Fact, len(ids)), prices: make(picks.Prices, len(ids)),
	}
	stated := map[equity.CIK]bool{}
	if len(held.companies) > 0 {
		rows, err := db.reads.Query(ctx, factsSinceSQL, pgx.NamedArgs{"since": held.asOf, "as_of": asOf})
		if err != nil {
			return nil, fmt.Errorf("read facts: %w", err)
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[equity.CIK])
		if err != nil {
			return nil, fmt.Errorf("read facts: %w", err)
		}
		for _, id := range list {
			stated[id] = true
		}
	}
	have := make(picks.Prices, len(ids))
	var factsOf, pricesOf []equity.CIK
	for _, id := range ids {
		next.companies[id] = true
		if list, ok := held.facts[id]; ok && !stated[id] {
			next.facts[id] = list
		} else if stated[id] || !held.companies[id] {
			factsOf = append(factsOf, id)
		}
		if h, ok := held.prices[id]; ok {
			have[id] = h
		} else {
			pricesOf = append(pricesOf, id)
		}
	}
	facts, err := db.facts(ctx, factsOf, next.factsFrom, endOfTime, asOf)
	if err != nil {
		return nil, err
	}
	prices, err := db.HistoriesFrom(ctx, pricesOf, next.pricesFrom, endOfTime, asOf)
	if err != nil {
		return nil, err
	}
	brought := picks.Prices{}
	if len(have) > 0 {
		if brought, err = db.HistoriesSince(ctx, have, next.pricesFrom, endOfTime, held.asOf, asOf); err != nil {
			return nil, err
		}
	}
	maps.Copy(next.facts, facts)
	maps.Copy(next.prices, prices)
	maps.Copy(next.prices, brought)
	return next, nil
}

// covers reports whether the data reach back as far as a pick of the day needs, and not much further.
func (k *knownMarket) covers(day time.Time) bool {
	slack := day.Add(-factsBack).Sub(k.factsFrom)
	return len(k.companies) > 0 && slack >= 0 && slack <= marketSlack
}

// factsFiled returns the facts that a pick of the day reads, of the companies that have any.
func (k *knownMarket) factsFiled(ids []equity.CIK, day time.Time) map[equity.CIK][]equity.Fact {
	from := day.Add(-factsBack)
	unread := func(f equity.Fact) bool { return f.End.Before(from) || !f.Filed.Before(day) }
	all := make(map[equity.CIK][]equity.Fact, len(ids))
	for _, id := range ids {
		list := k.facts[id]
		if slices.ContainsFunc(list, unread) {
			list = slices.DeleteFunc(slices.Clone(list), unread)
		}
		if len(list) > 0 {
			all[id] = slices.Clip(list)
		}
	}
	return all
}

// pricesUpTo returns the prices that a pick of the day reads. A company with a later bar is read again: it may have had another publisher.
func (db EquityStore) pricesUpTo(ctx context.Context, k *knownMarket, ids []equity.CIK, day, asOf time.Time) (picks.Prices, error) {
	from := day.Add(-pricesBack)
	all := make(picks.Prices, len(ids))
	var anew []equity.CIK
	for _, id := range ids {
		h, ok := k.prices[id]
		if n := len(h.Bars); n > 0 && h.Bars[n-1].Date.After(day) {
			anew = append(anew, id)
			continue
		}
		first, _ := slices.BinarySearchFunc(h.Bars, from, func(b equity.Bar, t time.Time) int { return b.Date.Compare(t) })
		h.Bars = slices.Clip(h.Bars[first:])
		outside := func(a equity.Action) bool { return a.Date.Before(from) || a.Date.After(day) }
		if slices.ContainsFunc(h.Actions, outside) {
			h.Actions = slices.DeleteFunc(slices.Clone(h.Actions), outside)
		}
		if ok && len(h.Bars)+len(h.Actions) > 0 {
			all[id] = h
		}
	}
	if len(anew) == 0 {
		return all, nil
	}
	some, err := db.HistoriesFrom(ctx, anew, from, day, asOf)
	maps.Copy(all, some)
	return all, err
}

// get returns the cached market, an empty one if none exists. small is false if the market is too large to be kept.
func (c *marketCache) get() (held *knownMarket, small bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		return &knownMarket{}, !c.large
	}
	return c.held, true
}

// put replaces the cached market, unless another call has brought it further. A market that is too large is not kept.
func (c *marketCache) put(k *knownMarket) {
	rows, limit := 0, maxMarketRows
	for _, list := range k.facts {
		rows += len(list)
	}
	for _, h := range k.prices {
		rows += len(h.Bars) + len(h.Actions)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.limit != 0 {
		limit = c.limit
	}
	switch {
	case rows > limit:
		c.held, c.large = nil, true
	case c.held == nil || !c.held.asOf.After(k.asOf):
		c.held = k
	}
}
