package main

import (
	"context"
	"errors"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/ops"
)

// pickSlack is how long after the last instant of its day a pick may take to be recorded before it is missed.
const pickSlack = 30 * time.Minute

// private is what the private listener of a process shows.
type private struct {
	role  string
	ready []ops.Check
	// degraded may be nil.
	degraded func() []string
	// worker is the database as the workers' role, nil in an API: then nothing is said of how everything stands.
	worker *postgres.DB
	// pools are the connections of the process by role.
	pools map[string]*postgres.DB
}

// servePrivate serves OPS_ADDR until ctx ends. Where that is not set it only waits.
func (p *program) servePrivate(ctx context.Context, on listeners, v private) (err error) {
	l := on["OPS_ADDR"]
	if l == nil {
		<-ctx.Done()
		return nil
	}
	ops.WatchPools(p.metrics, v.pools)
	if v.worker != nil {
		p.observer(v.worker).Watch(p.metrics)
		at, err := redisurl.Parse(p.settings.RedisURL)
		if err != nil {
			return usageError{err}
		}
		queue := ops.NewQueue(at)
		defer func() { err = errors.Join(err, queue.Close()) }()
		queue.Watch(p.metrics)
	}
	return ops.New(ops.Options{
		Role: v.role, Ready: v.ready, Degraded: v.degraded, Metrics: p.metrics, Log: p.log.With("role", v.role),
	}).Serve(ctx, l)
}

// observer looks how everything stands.
func (p *program) observer(db *postgres.DB) *ops.Observer {
	clocks, _ := p.settings.Clocks() // checked at the start
	return &ops.Observer{DB: db, Definitions: p.definitions(), Now: p.now, PickDue: clocks.Cutoff + pickSlack}
}
