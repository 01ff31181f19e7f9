package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tidemark/chain/tlog"
	"tidemark/chain/witness"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// Sequencer gives leaves their numbers, signs checkpoints and has them cosigned. Any number of processes may run one: one of them works at
// a time.
type Sequencer struct {
	DB   *postgres.DB
	Keys []*LogKey
	// Policy names the witnesses; nil means no witnesses.
	Policy *tlog.Policy
	Client *witness.Client
	// PicksEarly lets readers who pay see a sealed pick before its announcement.
	PicksEarly bool
	// Environment is the environment that the record states.
	Environment string
	// Every is the interval of checkpoints if there are new entries. CosignEvery is the interval of requests to the witnesses.
	Every, CosignEvery time.Duration
	// StepTimeout bounds each step of a round. A connection that hangs ends the step, and the next round repeats it. Zero means 2 minutes.
	StepTimeout time.Duration
	// Wake asks for a round at once, in which the witnesses are asked although CosignEvery is not over. It may be nil.
	Wake <-chan struct{}
	Log  *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics

	mu sync.Mutex
	// witnesses is the state of each witness, by log and key.
	witnesses map[string]*cosigning
	stopped   map[string]bool
	// waits says of each log whether its last round failed.
	waits map[string]bool
	sizes map[string]int64
}

// cosigning is the sequencer's state of a witness of a log.
type cosigning struct {
	// name is the witness's.
	log, name string
	// size is its known size; cosigned is the size of its last line that is stored.
	size, cosigned int64
	asked          time.Time
	failures       int64
	refused        bool
}

const (
	// cosignAgain is the interval at which a size without new entries is cosigned again.
	cosignAgain = 24 * time.Hour
	// wokenPause is the least time between two requests to a witness, also where rounds are asked for.
	wokenPause = 100 * time.Millisecond
	// witnessTimeout bounds a request to a witness.
	witnessTimeout = 10 * time.Second
)

// Run works until ctx ends, and returns nil then. What fails is tried again.
func (s *Sequencer) Run(ctx context.Context) error {
	s.begin()
	begun := map[string]bool{}
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	for pause := s.CosignEvery; ; {
		for _, k := range s.Keys {
			err := s.Metrics.Guard(ctx, s.Log, "transparency log", func() error { return s.round(ctx, k, begun, pause) })
			switch {
			case ctx.Err() != nil:
				return nil
			case errors.Is(err, postgres.ErrLogStopped):
				s.Log.ErrorContext(ctx, "the log is stopped: nothing is signed", "log", k.Log, "err", err)
			case err != nil:
				s.Log.WarnContext(ctx, "the log waits", "log", k.Log, "err", err)
				note := s.step(ctx, func(ctx context.Context) error { return s.DB.NoteLogWaits(ctx, k.Log, err.Error()) })
				if note != nil && ctx.Err() == nil {
					s.Log.WarnContext(ctx, "that the log waits is not stored", "log", k.Log, "err", note)
				}
			}
			s.mu.Lock()
			s.stopped[k.Log] = errors.Is(err, postgres.ErrLogStopped)
			s.waits[k.Log] = err != nil && !s.stopped[k.Log]
			s.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			pause = s.CosignEvery
		case <-s.Wake:
			pause = wokenPause
		}
	}
}

// begin makes the state of a run. All logs are in the metrics from now on: a log whose first round fails is told too.
func (s *Sequencer) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.witnesses, s.stopped, s.waits, s.sizes = map[string]*cosigning{}, map[string]bool{}, map[string]bool{}, map[string]int64{}
	for _, k := range s.Keys {
		s.sizes[k.Log] = 0
	}
}

// round brings a log forward. Each witness is asked if its last request is older than a pause. A failure of the witnesses is not an error
// of the round.
func (s *Sequencer) round(ctx context.Context, k *LogKey, begun map[string]bool, pause time.Duration) error {
	if !begun[k.Log] {
		start := postgres.LogStart{Log: k.Log, Origin: k.Origin, VKey: k.VKey(), OldVKeys: k.OldVKeys(), Environment: s.Environment, PicksEarly: s.PicksEarly}
		if s.Policy != nil {
			start.Policy = s.Policy.Text
			for _, w := range s.Policy.Witnesses {
				start.Witnesses = append(start.Witnesses, postgres.LogWitness{Name: w.Name(), VKey: w.VKey()})
			}
		}
		if err := s.step(ctx, func(ctx context.Context) error { return s.DB.BeginLog(ctx, start) }); err != nil {
			return err
		}
		begun[k.Log] = true
	}
	for {
		var n, size int64
		var added bool
		err := s.step(ctx, func(ctx context.Context) (err error) {
			n, err = s.DB.NumberLeaves(ctx, k.Log)
			return err
		})
		if err != nil {
			return err
		}
		err = s.step(ctx, func(ctx context.Context) (err error) {
			size, added, err = s.DB.IntegrateLeaves(ctx, k.Log, k)
			return err
		})
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.sizes[k.Log] = max(size, s.sizes[k.Log])
		s.mu.Unlock()
		if n == 0 && !added {
			break
		}
	}
	if s.Policy == nil || s.Client == nil {
		return nil
	}
	if err := s.cosign(ctx, k, pause); err != nil && ctx.Err() == nil {
		s.Log.WarnContext(ctx, "the checkpoint is not cosigned", "log", k.Log, "err", err)
	}
	return nil
}

// step calls a part of a round with the timeout of a step.
func (s *Sequencer) step(ctx context.Context, part func(context.Context) error) error {
	timeout := s.StepTimeout
	if timeout == 0 {
		timeout = 2 * time.Minute
	}
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	return part(ctx)
}

// cosign asks the witnesses that lack the newest checkpoint, and stores their cosignatures. Reading and storing are steps of their own, so a
// slow witness leaves the time to store the cosignatures of the others.
func (s *Sequencer) cosign(ctx context.Context, k *LogKey, pause time.Duration) error {
	var newest postgres.LogCheckpoint
	err := s.step(ctx, func(ctx context.Context) (err error) {
		newest, err = s.DB.NewestLogCheckpoint(ctx, k.Log, false)
		return err
	})
	if errors.Is(err, postgres.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	verifier, err := tlog.NewVerifier(k.VKey())
	if err != nil {
		return err
	}
	opened, err := tlog.Open(newest.Note, verifier, s.Policy.Cosigners()...)
	if err != nil {
		return err
	}
	var lines []postgres.LogCosignature
	var by []*cosigning
	cosigned := slices.Clone(opened.Cosigned)
	var wg sync.WaitGroup
	for _, w := range s.Policy.Witnesses {
		c := s.of(k.Log, w)
		if w.URL == "" || !s.due(c, newest.Size, pause) {
			continue
		}
		wg.Go(func() {
			var line string
			var at time.Time
			err := s.Metrics.Guard(ctx, s.Log, "transparency log", func() (err error) {
				line, at, err = s.ask(ctx, k.Log, w, c, newest)
				return err
			})
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				c.failures++
				if refused := errors.Is(err, witness.ErrRefused); refused != c.refused || c.failures == 1 {
					s.Log.WarnContext(ctx, "a witness does not cosign", "log", k.Log, "witness", w.Name(), "size", newest.Size, "err", err)
					c.refused = refused
				}
				return
			}
			c.refused = false
			by = append(by, c)
			lines = append(lines, postgres.LogCosignature{Witness: w.VKey(), Line: line, At: at})
			cosigned = append(cosigned, tlog.Cosigned{VKey: w.VKey(), At: at, Line: line})
		})
	}
	wg.Wait()
	if len(lines) == 0 {
		return nil
	}
	err = s.step(ctx, func(ctx context.Context) error {
		return s.DB.AddLogCosignatures(ctx, k.Log, newest.Size, lines, s.Policy.AsksWitnesses() && s.Policy.Met(cosigned))
	})
	if err != nil {
		return err
	}
	// Only now: a witness whose line is not stored must be asked again.
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range by {
		c.size, c.cosigned = newest.Size, newest.Size
	}
	return nil
}

// of returns what is known of a witness.
func (s *Sequencer) of(log string, w tlog.PolicyWitness) *cosigning {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.witnesses[log+" "+w.VKey()]
	if c == nil {
		c = &cosigning{log: log, name: w.Name()}
		s.witnesses[log+" "+w.VKey()] = c
	}
	return c
}

// due reports whether a witness is asked now, and counts it as asked.
func (s *Sequencer) due(c *cosigning, size int64, pause time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now() //nolint:forbidigo // how often others are asked is a matter of the wall clock
	if now.Sub(c.asked) < pause || c.cosigned == size && now.Sub(c.asked) < cosignAgain {
		return false
	}
	c.asked = now
	return true
}

// ask requests a witness's cosignature of a checkpoint, and checks its line. If the witness has another size than expected, it is asked
// once more from that size. A witness with more than was ever signed here holds another history.
func (s *Sequencer) ask(ctx context.Context, log string, w tlog.PolicyWitness, c *cosigning, newest postgres.LogCheckpoint) (line string, at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	body := tlog.SignedBody(newest.Note)
	old := min(c.size, newest.Size)
	for range 2 {
		proof, err := tlog.ProveConsistency(newest.Size, newest.Root, s.DB.LogTileStore(ctx, log), old)
		if err != nil {
			return "", at, err
		}
		got, err := s.Client.Add(ctx, w.URL, old, proof, newest.Note)
		if conflict := (*witness.ConflictError)(nil); errors.As(err, &conflict) {
			if conflict.Size > newest.Size {
				return "", at, fmt.Errorf("%w: it has size %d, and no more than %d was signed here: is the key stolen, or the database an old one?", witness.ErrRefused, conflict.Size, newest.Size)
			}
			old = conflict.Size
			continue
		}
		if err != nil {
			return "", at, err
		}
		for _, l := range got {
			if at, err := w.CheckLine(body, l); err == nil {
				return l, at, nil
			}
		}
		return "", at, errors.New("its answer has no good line of its key")
	}
	return "", at, errors.New("it names one size and then another")
}

var (
	logSize     = &telemetry.Family{Name: "tidemark_log_size", Help: "Leaves that the newest checkpoint of a transparency log holds.", Labels: []string{"log"}}
	logStopped  = &telemetry.Family{Name: "tidemark_log_stopped", Help: "1 where a transparency log signs nothing, because the database lost what was signed.", Labels: []string{"log"}}
	logWaits    = &telemetry.Family{Name: "tidemark_log_waits", Help: "1 where the last round of a transparency log failed: leaves wait for their numbers and signature.", Labels: []string{"log"}}
	logWitness  = &telemetry.Family{Name: "tidemark_log_witness_size", Help: "Size of the last checkpoint that a witness cosigned.", Labels: []string{"log", "witness"}}
	logFailures = &telemetry.Family{Name: "tidemark_log_witness_failures_total", Help: "Requests to a witness that brought no cosignature.", Labels: []string{"log", "witness"}, Counter: true}
)

// Watch adds how the logs stand to the metrics.
func (s *Sequencer) Watch(m *telemetry.Metrics) {
	m.Watch(func(context.Context) (list []telemetry.Reading, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for log, size := range s.sizes {
			list = append(list, telemetry.Reading{Of: logSize, Value: float64(size), Labels: []string{log}},
				telemetry.Reading{Of: logStopped, Value: truth(s.stopped[log]), Labels: []string{log}},
				telemetry.Reading{Of: logWaits, Value: truth(s.waits[log]), Labels: []string{log}})
		}
		for _, c := range s.witnesses {
			list = append(list, telemetry.Reading{Of: logWitness, Value: float64(c.cosigned), Labels: []string{c.log, c.name}},
				telemetry.Reading{Of: logFailures, Value: float64(c.failures), Labels: []string{c.log, c.name}})
		}
		return list, nil
	}, logSize, logStopped, logWaits, logWitness, logFailures)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
