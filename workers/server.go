// Package workers binds each job to its function: decode the task, claim its run, call, record how it ended. No business logic is
// here; a job's file (ingest.go, signal.go) is its list of steps. Start at Server.
package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// Handler runs one attempt of a job. It may run twice, be killed anywhere and be run again, with the same final rows; everything
// it commits is conditional on t.Fence. An error is tried again later, unless it is Final.
type Handler func(ctx context.Context, t task.Task) error

// Options configure a Server. All fields are required, except fields whose zero value is documented.
type Options struct {
	DB *postgres.DB
	// RedisURL has one of the forms of package redisurl.
	RedisURL string
	Handlers map[string]Handler
	// Name tells this worker from others in the run log: host and process.
	Name string
	// Concurrency is how many tasks run at once, and Timely how many besides of those in the queue of that name, and as many of those in
	// the queue Payments. Zero means 4.
	Concurrency, Timely int
	// Poll is how often an idle worker looks for a task. Zero means 200 ms.
	Poll time.Duration
	// Bell rings when this process has put a task into the queue: an idle worker looks at once. It may be nil.
	Bell *redisurl.Bell
	// Ended is called after each attempt, once the run log has how it ended. It must return at once. It may be nil.
	Ended func()
	// Beat is the interval of the worker's heartbeats for its runs. Zero means 2 s. The scheduler's LostAfter must be a multiple.
	Beat time.Duration
	// RecordTimeout bounds each try to record how an attempt ended. A connection that hangs ends the try. Zero means 30 s.
	RecordTimeout time.Duration
	// Grace is the time that running tasks get to finish when the worker is told to stop. Zero means 3 s.
	Grace time.Duration
	// MaxWait returns the max pause before a waiting run checks again; it is called each time. In a world whose clock is faster than the
	// wall clock, a job's wait of two minutes can be days. If it is nil or returns zero, the pause is the job's own.
	MaxWait func() time.Duration
	Log     *slog.Logger
	// Metrics counts what becomes of runs. It may be nil.
	Metrics *telemetry.Metrics
	// Tracer continues the traces of tasks. It may be nil.
	Tracer *telemetry.Tracer
}

// Server is a worker process's inside.
type Server struct {
	o     Options
	redis redisurl.Redis

	mu      sync.Mutex
	running map[task.Fence]*running
	// last ends when no attempt may record anything any more. Run sets it before the first task.
	last context.Context //nolint:containedctx // it is of the server, not of a call

	ready atomic.Bool
}

// Ready reports whether the worker takes tasks.
func (s *Server) Ready() bool { return s.ready.Load() }

var (
	errStopping = errors.New("the worker is stopping")
	errTimeout  = errors.New("the attempt took longer than its job allows")
)

// New checks that every job has a handler and a policy.
func New(o Options) (*Server, error) {
	for job := range task.Policies {
		if o.Handlers[job] == nil {
			return nil, fmt.Errorf("the job %q has no handler", job)
		}
	}
	for job := range o.Handlers {
		if _, ok := task.Policies[job]; !ok {
			return nil, fmt.Errorf("the handler of %q has no policy", job)
		}
	}
	redis, err := redisurl.Parse(o.RedisURL)
	if err != nil {
		return nil, err
	}
	o.Concurrency = orElse(o.Concurrency, 4)
	o.Timely = orElse(o.Timely, 4)
	o.Poll = orElse(o.Poll, 200*time.Millisecond)
	o.Beat = orElse(o.Beat, 2*time.Second)
	o.Grace = orElse(o.Grace, 3*time.Second)
	o.RecordTimeout = orElse(o.RecordTimeout, 30*time.Second)
	return &Server{o: o, redis: redis, running: map[task.Fence]*running{}, last: context.Background()}, nil
}

func orElse[T comparable](v, zero T) T {
	var none T
	if v == none {
		return zero
	}
	return v
}

// Places is how many tasks a worker runs at once in all its queues. Each may hold a connection to Postgres.
func Places(concurrency, timely int) int { return concurrency + 2*timely + webhookWorkers }

// Run takes tasks until ctx ends. Running tasks may then continue for the grace time. After that, unfinished tasks are released, and
// another worker begins them again. Run does not wait for handlers that ignore the end of their context.
func (s *Server) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(errStopping)
	last, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	s.last = last

	servers := []*asynq.Server{
		s.server(ctx, s.o.Concurrency, task.Queues),
		s.server(ctx, s.o.Timely, map[string]int{task.Timely: 1}),
		s.server(ctx, s.o.Timely, map[string]int{task.Payments: 1}),
		s.server(ctx, webhookWorkers, map[string]int{task.Webhooks: 1}),
	}
	mux := asynq.NewServeMux()
	var handling sync.WaitGroup
	for job := range s.o.Handlers {
		mux.HandleFunc(job, func(ctx context.Context, t *asynq.Task) error {
			handling.Add(1)
			defer handling.Done()
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(work, func() { cancel(context.Cause(work)) })()
			return s.handle(ctx, t)
		})
	}

	var beating sync.WaitGroup
	defer beating.Wait()
	defer stop(errStopping)
	beating.Go(func() { s.heartbeat(work) })

	for _, srv := range servers {
		if err := s.start(ctx, srv, mux); err != nil {
			return err
		}
	}
	s.ready.Store(true)
	<-ctx.Done()
	s.ready.Store(false)
	for _, srv := range servers {
		srv.Stop()
	}
	grace := time.AfterFunc(s.o.Grace, func() { stop(errStopping) })
	defer grace.Stop()
	recorded := time.AfterFunc(s.o.Grace+recordGrace, giveUp)
	defer recorded.Stop()
	var ending sync.WaitGroup
	for _, srv := range servers {
		ending.Go(srv.Shutdown)
	}
	ending.Wait()
	over := make(chan struct{})
	go func() {
		handling.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(recordGrace + leaveGrace):
		s.o.Log.WarnContext(ctx, "tasks ignore that the worker stops, it stops without them")
	}
	return nil
}

const (
	// recordGrace is the time after Grace in which attempts may record how they ended. leaveGrace is the time after that in which their
	// handlers must return.
	recordGrace, leaveGrace = 2 * time.Second, 3 * time.Second
	// recordTries is how often an attempt tries to record how it ended, if the database does not answer. After that, the run is taken over
	// as if its worker had died.
	recordTries = 3
)

// server returns one asynq server with its own workers for some queues.
func (s *Server) server(ctx context.Context, concurrency int, queues map[string]int) *asynq.Server {
	return asynq.NewServer(redisurl.Waiter{Redis: s.redis, Bell: s.o.Bell, Queues: len(queues), Every: s.o.Poll, Done: ctx.Done()}, asynq.Config{
		Concurrency: concurrency,
		Queues:      maps.Clone(queues),
		// The library drops a handler whose context has ended, so the handlers get the end of work through another context.
		BaseContext:       func() context.Context { return context.WithoutCancel(ctx) },
		TaskCheckInterval: redisurl.LibraryPause,
		// Handlers end when work does; this is the library's own patience after that.
		ShutdownTimeout: s.o.Grace + 2*time.Second,
		Logger:          newAsynqLog(s.o.Log),
		LogLevel:        asynq.WarnLevel,
	})
}

// start waits for Redis: the library refuses to start without it, and Redis is allowed to come later.
func (s *Server) start(ctx context.Context, srv *asynq.Server, mux *asynq.ServeMux) error {
	for told := false; ; told = true {
		err := srv.Start(mux)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, asynq.ErrServerClosed) {
			return fmt.Errorf("start the worker: %w", err)
		}
		if !told {
			if class := redisurl.Transient(err); class != "" {
				s.o.Log.WarnContext(ctx, "the worker cannot reach Redis (REDIS_URL), trying again", "class", class, "err", err)
			} else {
				s.o.Log.ErrorContext(ctx, "Redis refuses the worker (REDIS_URL), trying again", "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// handle runs one delivery of a task of the queue.
func (s *Server) handle(ctx context.Context, at *asynq.Task) error {
	var t task.Task
	if err := json.Unmarshal(at.Payload(), &t); err != nil {
		return fmt.Errorf("read the payload: %w: %w", err, asynq.SkipRetry)
	}
	t.Job = at.Type()
	return s.Deliver(ctx, t)
}

// Deliver runs one delivery of a task, as Run does for tasks from the queue, and returns when the attempt is over. Its error is for
// people who inspect the queue; the run log holds the outcome.
func (s *Server) Deliver(ctx context.Context, t task.Task) error {
	h, ok := s.o.Handlers[t.Job]
	if !ok {
		return fmt.Errorf("unknown job %q: %w", t.Job, asynq.SkipRetry)
	}
	claiming, stop := context.WithTimeout(ctx, s.o.RecordTimeout)
	ok, err := s.o.DB.Claim(claiming, t.Fence, s.o.Name)
	stop()
	if err != nil {
		return err // the reconciler finds the run unstarted, or lost
	}
	if !ok {
		return nil // delivered twice, or superseded
	}
	ctx, span := s.o.Tracer.Extract(ctx, t.Trace, "run "+t.Job, slog.String("job", t.Job), slog.String("subject", t.Subject),
		slog.Time("at", t.Slot), slog.Int64("run", t.RunID), slog.Int("attempt", t.Attempt))
	ctx = telemetry.With(ctx, slog.Int64("run", t.RunID), slog.String("task", t.ID()))
	began := s.o.Metrics.Now()
	heard, lines := telemetry.Collect(ctx)
	defer s.leave(t.Fence)
	err = s.attempt(heard, h, t, lines)
	if reason, skipped := Skipped(err); skipped {
		lines.Note(slog.LevelInfo, "skipped", nil, slog.String("why", reason))
	} else {
		lines.Note(slog.LevelInfo, "ended", err, slog.Duration("took", s.o.Metrics.Now().Sub(began)))
	}
	over, outcome, err := s.record(context.WithoutCancel(ctx), t, lines, err)
	if s.o.Ended != nil {
		s.o.Ended()
	}
	s.o.Metrics.Ran(t.Job, outcome, began)
	if outcome == outcomeSucceeded {
		s.o.Log.InfoContext(ctx, "a run succeeded", "job", t.Job, "subject", t.Subject, "took", s.o.Metrics.Now().Sub(began), "at", t.Slot)
	}
	span.Set(slog.String("outcome", outcome))
	span.End(fault(outcome, err))
	if err != nil && !over {
		return fmt.Errorf("%w: %w", asynq.RevokeTask, err) // tried again under the next attempt; not to be kept as a failure
	}
	return err
}

// leave ends the heartbeat of an attempt. Until then, no worker takes the run over, although its handler may have returned.
func (s *Server) leave(f task.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, f)
}

// keepLog stores the log of an attempt, and reports whether it did. A run does not fail because its log cannot be stored.
func (s *Server) keepLog(ctx context.Context, f task.Fence, lines *telemetry.Lines) bool {
	list, more := lines.List()
	if len(list) == 0 {
		return true
	}
	kept := make([]postgres.LogLine, 0, len(list)+1)
	for _, l := range list {
		kept = append(kept, postgres.LogLine(l))
	}
	if more > 0 {
		kept = append(kept, postgres.LogLine{At: list[len(list)-1].At, Level: slog.LevelInfo.String(), Text: fmt.Sprintf("%d more lines", more)})
	}
	if err := s.o.DB.KeepLog(ctx, f, kept); err != nil {
		s.o.Log.WarnContext(ctx, "the log of a run is not kept", "err", err)
		return false
	}
	return true
}

func (s *Server) attempt(ctx context.Context, h Handler, t task.Task, lines *telemetry.Lines) (err error) {
	ctx, stop := context.WithTimeoutCause(ctx, task.Policies[t.Job].Timeout, errTimeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	s.running[t.Fence] = &running{cancel: cancel, lines: lines}
	s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			s.o.Metrics.Panicked(ctx, s.o.Log, "job", p)
			err = fmt.Errorf("%w: %v\n%s", telemetry.ErrPanic, p, debug.Stack())
		}
	}()
	err = h(ctx, t)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

// shorten bounds a pause by the patience of the world.
func (s *Server) shorten(pause time.Duration) time.Duration {
	if s.o.MaxWait != nil {
		if most := s.o.MaxWait(); most > 0 {
			return min(pause, most)
		}
	}
	return pause
}

// heartbeat reports to Postgres that this worker's runs are active, and ends runs that were given to another worker.
func (s *Server) heartbeat(ctx context.Context) {
	tick := time.NewTicker(s.o.Beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		fences := make([]task.Fence, 0, len(s.running))
		for f := range s.running {
			fences = append(fences, f)
		}
		s.mu.Unlock()
		if len(fences) == 0 {
			continue
		}
		gone, err := s.pulse(ctx, fences)
		if err != nil && ctx.Err() == nil {
			s.o.Log.WarnContext(ctx, "the worker cannot tell that it is alive", "err", err)
		}
		s.mu.Lock()
		for _, f := range gone {
			if r := s.running[f]; r != nil {
				r.cancel(postgres.ErrFenced)
			}
		}
		s.mu.Unlock()
		if err := s.o.Metrics.Guard(ctx, s.o.Log, "kept logs", func() error { s.keepLogs(ctx); return nil }); err != nil && ctx.Err() == nil {
			s.o.Log.WarnContext(ctx, "the logs of runs under way are not kept", "err", err)
		}
	}
}

// running is an attempt that is under way: how it is ended, what it has logged so far, and how much of that is kept.
type running struct {
	cancel context.CancelCauseFunc
	lines  *telemetry.Lines
	kept   int
}

// keepLogs stores the new log lines of the running attempts, so that an operator can see how far a killed worker's attempt came. Lines
// that cannot be stored now are stored with the next heartbeat.
func (s *Server) keepLogs(ctx context.Context) {
	list := s.grown()
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	for _, g := range list {
		if s.keepLog(ctx, g.fence, g.run.lines) {
			g.run.kept = g.lines // only the heartbeat looks at it
		}
	}
}

// grown is an attempt that has logged new lines: how many there are now.
type grown struct {
	fence task.Fence
	run   *running
	lines int
}

// grown lists the attempts that have logged new lines.
func (s *Server) grown() (list []grown) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for f, r := range s.running {
		if n := r.lines.Count(); n > r.kept {
			list = append(list, grown{f, r, n})
		}
	}
	return list
}

// pulse makes one heartbeat, which may hang as little as it may panic: the next one comes in time.
func (s *Server) pulse(ctx context.Context, fences []task.Fence) (gone []task.Fence, err error) {
	ctx, stop := context.WithTimeout(ctx, 2*s.o.Beat)
	defer stop()
	err = s.o.Metrics.Guard(ctx, s.o.Log, "heartbeat", func() (err error) {
		gone, err = s.o.DB.Heartbeat(ctx, fences)
		return err
	})
	return gone, err
}
