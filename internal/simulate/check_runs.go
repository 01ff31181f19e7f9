package simulate

import (
	"context"
	"time"
)

// horizon is the time after its instant within which a slot must be in the run log, if the schedulers run. They may be killed, and their
// clocks may be off.
const horizon = 10 * time.Second

// missingRuns looks for slots of the schedules, computed from their cron expressions, that are missing in the run log.
func (c *checks) missingRuns(ctx context.Context) (string, error) {
	until := c.r.lastTick.Add(-horizon)
	var jobs, subjects []string
	var at []time.Time
	for _, s := range c.r.program.Schedules {
		for t := c.r.crons[s.Job+" "+s.Subject].Next(c.slots); !t.IsZero() && !t.After(until); t = c.r.crons[s.Job+" "+s.Subject].Next(t) {
			jobs, subjects, at = append(jobs, s.Job), append(subjects, s.Subject), append(at, t.UTC())
		}
	}
	c.slots = later(c.slots, until)
	return c.first(ctx, `
		select format('%s %s has no run for %s', t.job, t.subject, t.at)
		from unnest($1::text[], $2::text[], $3::timestamptz[]) as t (job, subject, at)
		left join runs r on r.job = t.job and r.subject = t.subject and r.slot = t.at
		where r.id is null`, jobs, subjects, at)
}

func (c *checks) stuckRuns(ctx context.Context) (string, error) {
	return c.first(ctx, `
		select format('%s %s of %s is %s since %s, attempt %s, next try %s: %s', job, subject, slot, status, created_at, attempt, next_try_at, error)
		from runs
		where status in ('due', 'queued', 'running') and slot < $1 and created_at < $1 order by slot`, c.r.clock.now().Add(-26*time.Hour))
}

// failedRuns returns the first failed run that counts as a violation. A pick may fail before the record has begun, because data may be
// missing then.
func (c *checks) failedRuns(ctx context.Context) (string, error) {
	return c.first(ctx, `
		select format('%s %s of %s failed after %s attempts: %s', job, subject, slot, attempt, left(error, 600))
		from runs
		where status = 'failed' and job not in ('ingest', 'equities')
			and not (job = 'pick' and slot < coalesce((select min(appended_at) from picks), 'infinity'))
		order by slot`)
}

func (c *checks) missingSnapshots(ctx context.Context) (string, error) {
	return c.first(ctx, `
		select format('the run of %s for %s has succeeded, and there is no snapshot of it', r.subject, r.slot)
		from runs r
		left join snapshots s on s.signal = r.subject and s.at = r.slot
		where r.job = 'signal' and r.status = 'succeeded' and s.signal is null and r.slot > $1`, c.r.clock.now().AddDate(0, 0, -3))
}
