package workers

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"tidemark/chain/timestamp"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// Stamper has the checkpoints that hold seals stamped by a time-stamp authority. Nothing waits for it: neither the sequencer nor an
// announcement. Any number of processes may run one.
type Stamper struct {
	DB        *postgres.DB
	Authority timestamp.Client
	// Every is the pause between two rounds. After a failure it is longer, up to Pause.
	Every, Pause time.Duration
	Log          *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics

	stamped, failed atomic.Int64
}

// Run works until ctx ends, and returns nil then. What fails is tried again.
func (s *Stamper) Run(ctx context.Context) error {
	wait := s.Every
	for {
		err := s.Metrics.Guard(ctx, s.Log, "time stamps", func() error { return s.Round(ctx) })
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			wait = min(2*wait, s.Pause)
			s.Log.WarnContext(ctx, "a checkpoint has no time stamp yet", "again_in", wait, "err", err)
		default:
			wait = s.Every
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// Round has each checkpoint stamped that wants it. The first failure ends it.
func (s *Stamper) Round(ctx context.Context) error {
	list, err := s.DB.WantTimestamps(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		reply, stamped, err := s.Authority.Ask(ctx, []byte(tlog.SignedBody(c.Note)))
		if err != nil {
			s.failed.Add(1)
			return err
		}
		added, err := s.DB.AddLogTimestamp(ctx, postgres.LogTimestamp{Size: c.Size, Reply: reply, At: stamped.At, Authority: stamped.Authority})
		if err != nil {
			return err
		}
		if added {
			s.stamped.Add(1)
			s.Log.InfoContext(ctx, "a checkpoint is stamped", "size", c.Size, "at", stamped.At, "authority", stamped.Authority)
		}
	}
	return nil
}

var (
	logStamped    = &telemetry.Family{Name: "tidemark_log_timestamps_total", Help: "Checkpoints that the time-stamp authority stamped.", Counter: true}
	logNotStamped = &telemetry.Family{Name: "tidemark_log_timestamp_failures_total", Help: "Requests to the time-stamp authority that brought no good time stamp.", Counter: true}
)

// Watch adds the counts of time stamps to the metrics.
func (s *Stamper) Watch(m *telemetry.Metrics) {
	m.Watch(func(context.Context) ([]telemetry.Reading, error) {
		return []telemetry.Reading{{Of: logStamped, Value: float64(s.stamped.Load())}, {Of: logNotStamped, Value: float64(s.failed.Load())}}, nil
	}, logStamped, logNotStamped)
}
