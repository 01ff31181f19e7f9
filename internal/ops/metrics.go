package ops

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// The metrics of the installation's state. Every process with an Observer reports the same values.
var (
	freshnessAge   = family("tidemark_freshness_age_seconds", "Age of the newest observation of a signal.", "signal")
	freshnessState = family("tidemark_freshness_state", "1 for the state that a signal's freshness is in, 0 for the others.", "signal", "state")
	lastSuccess    = family("tidemark_job_last_success_timestamp_seconds", "When a run of the job ended well last.", "job", "subject")
	jobFailed      = family("tidemark_job_failed", "1 where the newest run of the job that is over has failed.", "job", "subject")
	openRuns       = family("tidemark_runs_open", "Runs that have yet to end.", "status")
	oldestRun      = family("tidemark_runs_oldest_waiting_seconds", "For how long the run has waited that waits longest to be begun.")
	chainLength    = family("tidemark_chain_length", "Links of the announced chain that hold.")
	chainValid     = family("tidemark_chain_valid", "1 where the whole announced chain holds.")
	chainHead      = family("tidemark_chain_head_timestamp_seconds", "When the newest pick was announced.")
	pickMissing    = family("tidemark_pick_missing", "1 where a trading day whose pick was due has neither pick nor gap.")
	attestPending  = family("tidemark_attestation_pending", "Announced picks that no safe attestation covers.")
	attestLag      = family("tidemark_attestation_lag_seconds", "For how long the oldest announced pick has waited for an attestation.")
	attesterWei    = family("tidemark_attester_balance_wei", "What the attester's account has.")
	attesterDays   = family("tidemark_attester_runway_days", "For how many days of attestations the balance pays.")
	attesterAlarm  = family("tidemark_attester_alarm", "1 where an attestation waits for someone to look.", "status")
	ledgerOpen     = family("tidemark_ledger_unpushed", "Entries that the ledger's remote does not have.")
	ledgerDiverged = family("tidemark_ledger_diverged", "1 where the git ledger and the record disagree, or the remote refuses it.", "status")
	backfillSlots  = family("tidemark_backfill_slots", "Slots of the backfills that have yet to end.", "plan", "state")
	lastBackup     = family("tidemark_backup_last_timestamp_seconds", "When the newest recorded backup began.")
	hostShutFor    = family("tidemark_source_host_shut_seconds", "For how long an upstream's host is not to be asked.", "host")
)

func family(name, help string, labels ...string) *telemetry.Family {
	return &telemetry.Family{Name: name, Help: help, Labels: labels}
}

// Watch adds the installation's state to the metrics of a process.
func (o *Observer) Watch(m *telemetry.Metrics) {
	m.Watch(func(ctx context.Context) ([]telemetry.Reading, error) {
		s, err := o.Observe(ctx)
		if err != nil {
			return nil, err
		}
		return s.readings(), nil
	}, freshnessAge, freshnessState, lastSuccess, jobFailed, openRuns, oldestRun, chainLength, chainValid, chainHead, pickMissing,
		attestPending, attestLag, attesterWei, attesterDays, attesterAlarm, ledgerOpen, ledgerDiverged, backfillSlots, hostShutFor, lastBackup,
		logOldest, bodySigned, bodyHeld, logAside, sealFaults)
}

func (s State) readings() (list []telemetry.Reading) {
	add := func(of *telemetry.Family, value float64, labels ...string) {
		list = append(list, telemetry.Reading{Of: of, Value: value, Labels: labels})
	}
	for _, f := range s.Signals {
		if f.State != view.Unknown {
			add(freshnessAge, f.Age.Seconds(), f.Signal)
		}
		for _, state := range []string{view.Fresh, view.Stale, view.Unknown} {
			add(freshnessState, truth(f.State == state), f.Signal, state)
		}
	}
	for _, j := range s.Jobs {
		if j.LastSucceeded != nil {
			add(lastSuccess, stamp(*j.LastSucceeded), j.Job, j.Subject)
		}
		add(jobFailed, truth(j.Failed != nil), j.Job, j.Subject)
	}
	add(openRuns, float64(s.Open.Due), "due")
	add(openRuns, float64(s.Open.Queued), "queued")
	add(openRuns, float64(s.Open.Running), "running")
	add(oldestRun, since(s.Open.Oldest, s.Now))
	add(chainLength, float64(s.Chain.Length))
	add(chainValid, truth(s.Chain.Fault == ""))
	if s.Record.HeadAt != nil {
		add(chainHead, stamp(*s.Record.HeadAt))
	}
	add(pickMissing, truth(!s.PickMissing.IsZero()))
	add(attestPending, float64(s.Record.Length-s.Record.Attested))
	add(attestLag, since(s.Record.UnattestedSince, s.At))
	add(ledgerOpen, float64(s.Record.Unpushed))
	if a := s.Attester; a != nil {
		if wei, err := strconv.ParseFloat(a.BalanceWei, 64); err == nil {
			add(attesterWei, wei)
		}
		if a.RunwayDays != nil {
			add(attesterDays, float64(*a.RunwayDays))
		}
		add(attesterAlarm, truth(a.Alarm()), a.Status)
	}
	if l := s.Ledger; l != nil {
		add(ledgerDiverged, truth(l.Alarm()), l.Status)
	}
	for _, b := range s.Backfills {
		add(backfillSlots, float64(b.Slots), strconv.FormatInt(b.ID, 10), b.State)
	}
	for _, l := range s.Logs {
		add(logOldest, since(l.OldestPending, s.Now), l.Log)
		add(logAside, float64(l.Aside), l.Log)
		if l.BodySigned != nil {
			add(bodySigned, l.BodySigned.Seconds(), l.Log)
		}
		if l.BodyWitnessed != nil {
			add(bodyHeld, l.BodyWitnessed.Seconds(), l.Log)
		}
	}
	add(sealFaults, float64(len(s.SealFaults)))
	if s.BackedUpAt != nil {
		add(lastBackup, stamp(*s.BackedUpAt))
	}
	for _, h := range s.Hosts {
		add(hostShutFor, h.Wait.Seconds(), h.Host)
	}
	return list
}

// truth returns 1 for true and 0 for false.
func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// stamp returns an instant in Prometheus' form: seconds since 1970, with a fraction.
func stamp(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// since returns the seconds since something began, 0 if it has not begun.
func since(t *time.Time, now time.Time) float64 {
	if t == nil {
		return 0
	}
	return math.Max(now.Sub(*t).Seconds(), 0)
}

// needOK is the metric of what a process needs. Unlike the installation's state it is there while Postgres is not.
var needOK = family("tidemark_need_ok", "1 where something that the process needs answers and does its work.", "need", "setting")

// The metrics of a process's connections to Postgres.
var (
	poolConnections = family("tidemark_postgres_connections", "Connections to Postgres, by what they do; max is how many there may be.", "role", "state")
	poolWaits       = counterFamily("tidemark_postgres_acquire_waits_total", "How often someone had to wait for a connection.", "role")
	poolWaited      = counterFamily("tidemark_postgres_acquire_wait_seconds_total", "How long everyone together has waited for connections.", "role")
	poolAcquires    = counterFamily("tidemark_postgres_acquires_total", "How often a connection was taken.", "role")
)

func counterFamily(name, help string, labels ...string) *telemetry.Family {
	return &telemetry.Family{Name: name, Help: help, Labels: labels, Counter: true}
}

// WatchPools adds the use of connection pools to the metrics, each under its role's name.
func WatchPools(m *telemetry.Metrics, pools map[string]*postgres.DB) {
	m.Watch(func(context.Context) (list []telemetry.Reading, _ error) {
		for role, db := range pools {
			role = strings.TrimPrefix(role, "tidemark_")
			p := db.PoolStats()
			for state, n := range map[string]int32{"max": p.Max, "idle": p.Idle, "acquired": p.Acquired, "total": p.Total} {
				list = append(list, telemetry.Reading{Of: poolConnections, Value: float64(n), Labels: []string{role, state}})
			}
			list = append(list,
				telemetry.Reading{Of: poolWaits, Value: float64(p.Waits), Labels: []string{role}},
				telemetry.Reading{Of: poolWaited, Value: p.Waited.Seconds(), Labels: []string{role}},
				telemetry.Reading{Of: poolAcquires, Value: float64(p.Acquires), Labels: []string{role}})
		}
		return list, nil
	}, poolConnections, poolWaits, poolWaited, poolAcquires)
}
