package ops

import (
	"fmt"
	"time"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// Limits are the thresholds of alerts. Zero fields mean the stated values.
type Limits struct {
	// RunwayDays is the number of days of attestations that the balance must pay for. Zero means 14.
	RunwayDays int
	// Waiting is the maximum time that work may wait before it begins. Zero means 15 minutes.
	Waiting time.Duration
	// Attested is the maximum time that an announced pick may wait for its attestation. Zero means 24 hours.
	Attested time.Duration
	// BackupAge is the maximum age of the newest backup. Zero means 26 hours.
	BackupAge time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.RunwayDays == 0 {
		l.RunwayDays = 14
	}
	if l.Waiting == 0 {
		l.Waiting = 15 * time.Minute
	}
	if l.Attested == 0 {
		l.Attested = 24 * time.Hour
	}
	if l.BackupAge == 0 {
		l.BackupAge = 26 * time.Hour
	}
	return l
}

// startTime is the time after a start, or after a sandbox has reached the present, in which work that waited can begin, and picks can be
// attested. It is shorter than Alerter.ResolveDelay, so a restart does not resolve an open alert.
const startTime = 45 * time.Second

// Conditions lists the faults in a state. It depends on the state alone.
func Conditions(s State, l Limits) (list []postgres.Alert) {
	l = l.withDefaults()
	add := func(severity, kind, subject, format string, args ...any) {
		list = append(list, postgres.Alert{Kind: kind, Subject: subject, Severity: severity, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range s.Signals {
		if f.State == view.Stale && f.Status != signals.StatusDeprecated {
			add(postgres.AlertWarning, "signal-stale", f.Signal,
				"%s is stale: its newest observation is of %s, %s ago, where %s are tolerated. See `tidemark runs --job=ingest` and the publisher's page.",
				f.Signal, f.ObservedAt.Format(time.DateOnly), age(f.Age), age(f.Limit))
		}
	}
	failed := map[string]bool{}
	for _, j := range s.Jobs {
		if name := j.Job + " " + j.Subject; j.Failed != nil {
			failed[name] = true
			add(postgres.AlertError, "job-failed", name,
				"The run of %s for %s has failed: %s. See `tidemark runs %d`; `tidemark schedule run %s` tries it again.",
				name, instant(j.FailedSlot), line(j.Error), *j.Failed, name)
		}
	}
	for _, t := range s.Troubled {
		if name := t.Job + " " + t.Subject; t.Lasting && !failed[name] {
			failed[name] = true
			add(postgres.AlertError, "job-failed", name,
				"Attempt %d of %d of the run of %s for %s has failed, and that is not expected to pass by itself: %s. It is tried again. See `tidemark runs %d`.",
				t.Failures, t.MaxAttempts, name, instant(t.Slot), line(&t.Error), t.Run)
		}
	}
	for _, r := range s.Late {
		name := r.Job + " " + r.Subject
		if failed[name] {
			continue
		}
		failed[name] = true
		usual, why := "", ""
		if r.Usual != nil {
			usual = fmt.Sprintf(", and nearly all of the last ones took %s at most", age(*r.Usual))
		}
		if r.Error != nil {
			why = ": " + line(r.Error)
		}
		add(postgres.AlertWarning, "job-late", name, "The run of %s for %s is not done after %s%s%s. See `tidemark runs %d`.",
			name, instant(r.Slot), age(s.Now.Sub(r.Since)), usual, why, r.Run)
		// The time in which the installation was stopped does not count. An alert that was raised before stays open.
		list[len(list)-1].Quiet = s.Began.After(r.Since) && s.Now.Sub(s.Began) <= r.Allowed
	}
	if !s.PickMissing.IsZero() {
		day := s.PickMissing.Format(time.DateOnly)
		add(postgres.AlertError, "pick-missing", day,
			"%s has neither a pick nor a recorded gap. Look at `tidemark runs --job=pick`: a pick can be made on its own day only.", day)
	}
	if s.Chain.Fault != "" {
		add(postgres.AlertError, "chain-invalid", "",
			"The chain of picks does not hold behind link %d: %s. Somebody changed the database: restore it from a backup, and keep this one to look at.",
			s.Chain.Length, s.Chain.Fault)
	}
	logConditions(s, add)
	if g := s.Ledger; g != nil && g.Alarm() {
		add(postgres.AlertError, "ledger", g.Status, "The git ledger is %s: %s. See `tidemark ledger verify` and docs/outside-records.md.", g.Status, g.Note)
	}
	if a := s.Attester; a != nil {
		if a.Alarm() {
			add(postgres.AlertError, "attester", a.Status, "The attester's state is %s: %s. See `tidemark chain` and docs/outside-records.md.", a.Status, a.Note)
		}
		if a.RunwayDays != nil && *a.RunwayDays < l.RunwayDays {
			add(postgres.AlertWarning, "attester-gas", "", "The attester's balance of %s pays for %d more days of gas. Send it some ether: %s on eip155:%d.",
				Ether(a.BalanceWei), *a.RunwayDays, a.Attester.Attester, a.ChainID)
		}
		if since := s.Record.UnattestedSince; a.Status != postgres.AttesterOff && since != nil && s.At.Sub(*since) > l.Attested && s.Now.Sub(s.Began) > startTime {
			add(postgres.AlertWarning, "attestation-late", "", "%d announced picks wait for an attestation, the oldest since %s. See `tidemark chain`.",
				s.Record.Length-s.Record.Attested, instant(since))
		}
	}
	if s.Unpaid > 0 {
		add(postgres.AlertError, "payment-missing", "",
			"%d payments that the facilitator called settled are not on the chain, the first is %d. See `tidemark payments`, and ask the facilitator.",
			s.Unpaid, s.FirstUnpaid)
	}
	if o := s.Open; o.Oldest != nil && s.Now.Sub(*o.Oldest) > l.Waiting && s.Now.Sub(s.Began) > startTime {
		add(postgres.AlertError, "work-waits", "", "%d runs wait to be begun, the oldest since %s. Are Redis and a worker there, and are workers enough?",
			o.Late, instant(o.Oldest))
	}
	if b := s.BackedUpAt; b != nil && s.Now.Sub(*b) > l.BackupAge {
		add(postgres.AlertError, "backup-late", "",
			"The newest backup began %s ago, on %s. See the log of `tidemark backup` (with systemd: journalctl -u tidemark-backup). If you make them less often, set ALERT_BACKUP_HOURS.",
			age(s.Now.Sub(*b)), instant(b))
	}
	return list
}
