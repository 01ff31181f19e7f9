package main

import (
	"tidemark/ingest"
	"tidemark/series"
	"tidemark/signals"
	"tidemark/workers/task"
)

// schedule lists everything that is due by the clock: each source's fetches and each signal's computation. Jobs without an owner
// would stand here too.
func schedule(sources []ingest.Source, defs []signals.Definition) []task.Schedule {
	var list []task.Schedule
	add := func(job, subject string, c series.Cadence) {
		list = append(list, task.Schedule{Job: job, Subject: subject, Cron: c.Cron, Zone: c.Zone, CatchUp: string(c.CatchUp)})
	}
	for _, s := range sources {
		add(task.Ingest, s.ID, s.Cadence)
	}
	for _, d := range defs {
		add(task.Signal, d.ID, d.Cadence)
	}
	return list
}

// dependents maps each source to the signals that take one of its series.
func dependents(sources []ingest.Source, defs []signals.Definition) map[string][]string {
	source := map[series.ID]string{}
	for _, s := range sources {
		for _, i := range s.Series {
			source[i.ID] = s.ID
		}
	}
	out := map[string][]string{}
	for _, d := range defs {
		seen := map[string]bool{}
		for _, id := range d.Inputs {
			if s := source[id]; s != "" && !seen[s] {
				seen[s] = true
				out[s] = append(out[s], d.ID)
			}
		}
	}
	return out
}
