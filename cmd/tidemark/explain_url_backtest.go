package main

import (
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// backtest runs the stated backtest again on the history that the bytes make, and compares every number of it. The number of tests that it
// allows for is the server's, see concluded.
func (o *outside) backtest(stated postgres.Backtest, history map[series.ID][]series.Observation, all view.Inputs) {
	first, at := firsts(history), stated.ComputedAt
	result := o.def.CheckedBacktest(first, at, o.arrivals(first, history, all)).Allow(stated.Trials.Trials)
	ours := postgres.NewBacktest(o.def, result, stated.CodeVersion)
	if at := differsBy(ours, stated, lastDigit); at != "" {
		o.say("record", differ, "backtest", "the server's differs from ours: %s", at)
		return
	}
	if at := differsBy(stated, ours, lastDigit); at != "" { // what the server adds
		o.say("record", differ, "backtest", "the server's differs from ours: %s, to the server", at)
		return
	}
	o.say("record", agrees, "backtest", "%d cases, rank correlation %s, look_ahead_safe %t", ours.N, decimal(ours.RankIC), ours.LookAheadSafe)
}

// arrivals says how the history became known, as the worker that runs the backtest does.
func (o *outside) arrivals(first series.Set, history map[series.ID][]series.Observation, all view.Inputs) signals.Arrivals {
	now := series.Set{}
	for id, list := range history {
		now[id] = newest(list)
	}
	out, changed, _ := o.def.Arrivals(first, now, func(ids ...series.ID) (from time.Time, _ error) { // which never fails
		for _, id := range ids {
			var assumed time.Time
			for _, v := range history[id] {
				if v.Assumed && v.VintageAt.After(assumed) {
					assumed = v.VintageAt
				}
			}
			if assumed.IsZero() {
				continue
			}
			for _, t := range []time.Time{assumed, o.loaded(all, id)} {
				if t.After(from) {
					from = t
				}
			}
		}
		return from, nil
	})
	out.Vintages = map[series.ID][]series.Observation{}
	for _, id := range changed {
		out.Vintages[id] = history[id]
	}
	return out
}

// newest are the values in force of each observation.
func newest(list []series.Observation) (out []series.Point) {
	for i, v := range list {
		if last := i+1 == len(list) || !list[i+1].ObservedAt.Equal(v.ObservedAt); last && v.Marker == "" {
			out = append(out, v.Point())
		}
	}
	return out
}

// firstBody is the SHA-256 of the first body that states a series, loaded when it came.
func (o *outside) firstBody(all view.Inputs, id series.ID) (sha256 string) {
	sha256, _ = o.firstCame(all, id)
	return sha256
}

func (o *outside) loaded(all view.Inputs, id series.ID) time.Time {
	_, at := o.firstCame(all, id)
	return at
}

func (o *outside) firstCame(all view.Inputs, id series.ID) (sha256 string, at time.Time) {
	for _, b := range all.Data {
		if sha256 != "" && !b.RetrievedAt.Before(at) {
			continue
		}
		for _, r := range o.asCame(b.SHA256, b.RetrievedAt).Readings {
			if r.Series == id {
				sha256, at = b.SHA256, b.RetrievedAt
				break
			}
		}
	}
	return sha256, at
}
