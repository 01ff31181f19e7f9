package main

import (
	"fmt"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/internal/config"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// schedule returns all schedules: each source's fetches, each signal's computation and forecasts, and the jobs around the record.
func schedule(sources []ingest.Source, defs []signals.Definition, at config.Clocks) []task.Schedule {
	var list []task.Schedule
	add := func(job, subject string, c series.Cadence) {
		list = append(list, task.Schedule{Job: job, Subject: subject, Cron: c.Cron, Zone: c.Zone, CatchUp: string(c.CatchUp)})
	}
	for _, s := range sources {
		add(task.Ingest, s.ID, s.Cadence)
	}
	for _, d := range defs {
		add(task.Signal, d.ID, d.Cadence)
		if len(forecast.Of(d.ID)) > 0 {
			// After the day's reports, signals and pick.
			add(task.Forecast, d.ID, series.Cadence{Cron: "40 17 * * 1-5", Zone: "America/New_York", CatchUp: series.CatchUpLatest})
		}
	}
	add(task.Accounts, task.Daily, series.Cadence{Cron: "40 4 * * *", Zone: "UTC", CatchUp: series.CatchUpSkip})
	return append(list, recordSchedule(at)...)
}

// recordSchedule returns the schedules of the jobs around the record. A missed pick is run late, so that its day is recorded as a gap. The
// portfolio and its events are also updated after each announcement. The macro figures are due soon after the fetches from their sources.
func recordSchedule(at config.Clocks) []task.Schedule {
	const newYork = "America/New_York"
	daily := func(clock time.Duration) string {
		return fmt.Sprintf("%d %d * * MON-FRI", int(clock.Minutes())%60, int(clock.Hours()))
	}
	return []task.Schedule{
		{Job: task.Pick, Subject: task.Daily, Cron: daily(at.Pick), Zone: newYork, CatchUp: string(series.CatchUpAll)},
		{Job: task.Announce, Subject: task.Daily, Cron: daily(at.Announce), Zone: newYork, CatchUp: string(series.CatchUpLatest)},
		{Job: task.Publish, Subject: task.Portfolio, Cron: "5 21 * * MON-FRI", Zone: newYork, CatchUp: string(series.CatchUpLatest)},
		{Job: task.Publish, Subject: task.Events, Cron: "20 9,11 * * MON-FRI", Zone: newYork, CatchUp: string(series.CatchUpLatest)},
		{Job: task.Publish, Subject: task.Economy, Cron: "20 9,11,14 * * MON-FRI", Zone: newYork, CatchUp: string(series.CatchUpLatest)},
		{Job: task.Publish, Subject: task.Research, Cron: "0 6 * * SAT", Zone: "UTC", CatchUp: string(series.CatchUpLatest)},
		{Job: task.Publish, Subject: task.Digest, Cron: "0 6 * * SAT", Zone: "UTC", CatchUp: string(series.CatchUpAll)},
		{Job: task.Publish, Subject: task.Dataset, Cron: "30 5 * * *", Zone: "UTC", CatchUp: string(series.CatchUpLatest)},
		// The witnesses are due with each announcement. These schedules handle what was left then.
		{Job: task.Ledger, Subject: task.SubjectLedger, Cron: "5 21 * * MON-FRI", Zone: newYork, CatchUp: string(series.CatchUpLatest)},
		{Job: task.Attest, Subject: task.SubjectAttest, Cron: "5 21 * * MON-FRI", Zone: newYork, CatchUp: string(series.CatchUpLatest)},
	}
}

// dependents maps each source to the signals that use one of its series.
func dependents(sources []ingest.Source, defs []signals.Definition) map[string][]string {
	out := map[string][]string{}
	for _, d := range defs {
		for _, s := range sourcesOf(sources, d.Inputs) {
			out[s] = append(out[s], d.ID)
		}
	}
	return out
}

// sourcesBySignal maps each signal to the sources of all series that it and its backtest use.
func sourcesBySignal(sources []ingest.Source, defs []signals.Definition) map[string][]string {
	out := map[string][]string{}
	for _, d := range defs {
		out[d.ID] = sourcesOf(sources, d.BacktestInputs())
	}
	return out
}

// sourcesOf returns the sources of some series, each once.
func sourcesOf(sources []ingest.Source, ids []series.ID) []string {
	var out []string
	for _, s := range sources {
		if slices.ContainsFunc(s.Series, func(i series.Info) bool { return slices.Contains(ids, i.ID) }) {
			out = append(out, s.ID)
		}
	}
	return out
}
