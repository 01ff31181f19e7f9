package ops

import (
	"context"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
)

const (
	// logWaiting is how long leaves may wait for their numbers, and rounds of the sequencer may fail, before it is told.
	logWaiting = 3 * time.Minute
	// bodySoon is how long after its fetch a body must be in a signed size.
	bodySoon = time.Minute
	// sealTold is how long a fault of a sealed pick is reported to the operator. Public responses report it permanently.
	sealTold = 30 * 24 * time.Hour
	// sealChunk is how many leaves are read at once.
	sealChunk = 4096
)

// The metrics of the transparency logs that every process with an Observer reports.
var (
	logOldest  = family("tidemark_log_oldest_pending_seconds", "For how long the oldest leaf of a transparency log has waited for its number.", "log")
	bodySigned = family("tidemark_log_body_signed_seconds", "The longest time from a fetch to a signed size of the transparency log with its body, in the last hour.", "log")
	bodyHeld   = family("tidemark_log_body_witnessed_seconds", "The longest time from a fetch to a size with its body that a quorum of the witnesses cosigned, in the last hour.", "log")
	logAside   = family("tidemark_log_aside", "Leaves of a transparency log that could not be numbered, and that nobody has seen to.", "log")
	sealFaults = family("tidemark_seal_faults", "Sealed picks of the last 30 days that were not revealed in time and as sealed.")
)

// sealed follows the leaves of the record from where it last stopped, and returns the faults of recent sealed picks.
func (o *Observer) sealed(ctx context.Context, at time.Time) (faults []tlog.SealedDay, err error) {
	heads, err := o.DB.LogHeads(ctx)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, h := range heads {
		for h.Log == postgres.LogRecord && o.sealedTo < h.Entries {
			leaves, err := o.DB.LogLeaves(ctx, h.Log, o.sealedTo, min(h.Entries, o.sealedTo+sealChunk))
			if err != nil {
				return nil, err
			}
			if len(leaves) == 0 {
				break
			}
			for _, text := range leaves {
				if leaf, err := tlog.ParseLeaf(text); err == nil { // a leaf of another form says nothing about seals
					o.seals.Add(o.sealedTo, leaf)
				}
				o.sealedTo++
			}
		}
	}
	since := at.Add(-sealTold).Format(time.DateOnly)
	for _, d := range o.seals.Days(at) {
		if d.Fault != "" && d.Date >= since {
			faults = append(faults, d)
		}
	}
	return faults, nil
}

// logConditions lists the faults of the logs, and of the sealed picks.
func logConditions(s State, add func(severity, kind, subject, format string, args ...any)) {
	for _, l := range s.Logs {
		switch {
		case l.Stopped != "":
			add(postgres.AlertError, "log", l.Log, "The log %s signs nothing: %s. See docs/transparency-log.md.", l.Log, line(&l.Stopped))
		case l.Waits != "" && l.WaitsSince != nil && s.Now.Sub(*l.WaitsSince) > logWaiting:
			add(postgres.AlertError, "log", l.Log, "The log %s grows no more since %s: %s. See `tidemark log`.", l.Log, instant(l.WaitsSince), line(&l.Waits))
		case l.OldestPending != nil && s.Now.Sub(*l.OldestPending) > logWaiting && s.Now.Sub(s.Began) > startTime:
			add(postgres.AlertError, "log", l.Log,
				"%d leaves wait for a number in the log %s, the oldest since %s. Does a worker run, with LOG_ORIGIN and LOG_KEY_FILE? See `tidemark log`.",
				l.Pending, l.Log, instant(l.OldestPending))
		}
		if d := l.BodySigned; d != nil && *d > bodySoon {
			add(postgres.AlertWarning, "log-late", l.Log, "A body was in a signed size of the log %s only %s after its fetch, in the last hour; the goal is %s.",
				l.Log, d.Round(time.Second), bodySoon)
		}
		if l.NeverEarly {
			add(postgres.AlertWarning, "log-early", l.Log, "PICKS_EARLY=yes shows no pick early: no witness cosigns its seal. Set LOG_WITNESSES, or PICKS_EARLY=no.")
		}
		if l.Aside > 0 {
			add(postgres.AlertError, "log-aside", l.Log,
				"%d leaves could not be numbered and are not in the log %s, the first is %s. See `tidemark log aside`.", l.Aside, l.Log, line(&l.AsideKey))
		}
	}
	for _, d := range s.SealFaults {
		add(postgres.AlertError, "seal", d.Date, "%s Every reader of the log sees it, for ever. See docs/transparency-log.md.", d.Text())
	}
}
