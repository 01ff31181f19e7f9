package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/chain/timestamp"
	"tidemark/chain/tlog"
	"tidemark/chain/witness"
	"tidemark/internal/httpserve"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

// How often checkpoints are made and cosigned. A sandbox is for demonstration, so its intervals are shorter.
const (
	checkpointEvery        = 10 * time.Second
	cosignEvery            = time.Minute
	sandboxCheckpointEvery = time.Second
	sandboxCosignEvery     = 2 * time.Second
)

// After failures the time-stamp authority is asked at most so seldom.
const stampPause = 5 * time.Minute

// sequencer is the sequencer of this process, nil without a log, with its stamper, nil without a time-stamp authority.
type sequencer struct {
	*workers.Sequencer

	stamper *workers.Stamper
}

func (s sequencer) run(ctx context.Context) error {
	if s.Sequencer == nil {
		<-ctx.Done()
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Run(ctx) })
	if s.stamper != nil {
		g.Go(func() error { return s.stamper.Run(ctx) })
	}
	return g.Wait()
}

// newSequencer makes the sequencer from the settings.
func (p *program) newSequencer(db *postgres.DB, w *worldRuntime) (s sequencer, err error) {
	if p.settings.LogOrigin == "" {
		return s, nil
	}
	s.Sequencer = &workers.Sequencer{
		DB: db, Environment: p.environment(), Every: checkpointEvery, CosignEvery: cosignEvery, Log: p.log.With("role", "worker"),
		Client: witness.NewClient(http.DefaultTransport), Metrics: p.metrics, PicksEarly: p.settings.EarlyPicks(),
		Wake: w.wakeLog,
	}
	if p.settings.World == "sandbox" {
		s.Every, s.CosignEvery = sandboxCheckpointEvery, sandboxCosignEvery
	}
	if s.Keys, err = workers.ReadLogKeys(p.settings.LogKeyFile, p.settings.LogOrigin); err != nil {
		return s, usageError{err}
	}
	if p.settings.LogWitnesses != "" {
		text, err := os.ReadFile(p.settings.LogWitnesses)
		if err != nil {
			return s, usageError{fmt.Errorf("LOG_WITNESSES: %w", err)}
		}
		if s.Policy, err = tlog.ParsePolicy(text); err != nil {
			return s, usageError{fmt.Errorf("LOG_WITNESSES: %w", err)}
		}
	}
	s.Watch(p.metrics)
	if p.settings.TSAURL != "" {
		s.stamper = &workers.Stamper{
			DB: db, Every: s.Every, Pause: stampPause, Log: s.Log, Metrics: p.metrics,
			Authority: timestamp.Client{URL: p.settings.TSAURL, Now: time.Now, Transport: http.DefaultTransport},
		}
		if s.stamper.Authority.Roots, err = timestamp.ReadRoots(p.settings.TSACAFile); err != nil {
			return s, usageError{fmt.Errorf("TSA_CA_FILE: %w", err)}
		}
		s.stamper.Watch(p.metrics)
	}
	return s, nil
}

// How long an announcement of a sandbox's past waits for the quorum, and the pause before it looks again. After so many announcements in
// vain, the next ones do not wait.
const (
	pastQuorumWait = 20 * time.Second
	pastQuorumPoll = 10 * time.Millisecond
	pastQuorumVain = 3
)

// awaitQuorum waits in a sandbox's past until the witnesses hold the seals that are not revealed yet. It wakes the sequencer of this
// process; a sequencer in another process needs no wake. Witnesses that do not answer are given up.
func (r *worldRuntime) awaitQuorum(ctx context.Context, db *postgres.DB) error {
	poll := time.NewTicker(pastQuorumPoll)
	defer poll.Stop()
	end := time.NewTimer(pastQuorumWait)
	defer end.Stop()
	for !r.stepped.Following() && r.quorumsMissed.Load() < pastQuorumVain {
		if waits, err := db.SealWaits(ctx); err != nil || !waits {
			return err
		}
		select {
		case r.wakeLog <- struct{}{}:
		default: // it is awake
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			r.quorumsMissed.Add(1)
			return nil
		case <-poll.C:
		}
	}
	return nil
}

// sandboxWitnesses are the names of a sandbox's witnesses. They show the mechanism, but are not independent: one process runs them all.
var sandboxWitnesses = []string{"anna", "bert", "carl", "dora"}

// startWitnesses gives a sandbox a log if the settings name none, and prepares its witnesses. Each witness has its own key, state and
// address. The returned function serves them until its context ends.
func (p *program) startWitnesses(ctx context.Context) (serve func(context.Context) error, err error) {
	nothing := func(ctx context.Context) error { <-ctx.Done(); return nil }
	if p.settings.World != "sandbox" || p.settings.LogOrigin != "" {
		return nothing, nil
	}
	dir, err := filepath.Abs(filepath.Join(p.worldDir(), "log"))
	if err != nil {
		return nil, fmt.Errorf("STATE_DIR: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("STATE_DIR: %w", err)
	}
	// Two sandboxes are two logs, even for the same witness.
	name := sha256.Sum256([]byte(dir))
	p.settings.LogOrigin = fmt.Sprintf("sandbox.invalid/%x/log", name[:4])
	p.settings.LogKeyFile, p.settings.LogWitnesses = filepath.Join(dir, "log.key"), filepath.Join(dir, "witnesses.policy")
	if saved, err := os.ReadFile(filepath.Join(dir, "origin")); err == nil { // the folder may move, but the origin stays the same
		p.settings.LogOrigin = strings.TrimSpace(string(saved))
	} else if err := witness.WriteFile(filepath.Join(dir, "origin"), []byte(p.settings.LogOrigin+"\n")); err != nil {
		return nil, fmt.Errorf("STATE_DIR: %w", err)
	}
	if err := workers.MakeLogKeys(p.settings.LogKeyFile, p.settings.LogOrigin); err != nil {
		return nil, err
	}
	keys, err := workers.ReadLogKeys(p.settings.LogKeyFile, p.settings.LogOrigin)
	if err != nil {
		return nil, err
	}
	before := readWitnesses(p.settings.LogWitnesses)
	var policy strings.Builder
	policy.WriteString("# The witnesses of this sandbox show the mechanism. They are not independent: one process runs them all.\n")
	for _, k := range keys {
		// A key that is being replaced signed the older sizes alone.
		for _, vkey := range append([]string{k.VKey()}, k.OldVKeys()...) {
			fmt.Fprintf(&policy, "log %s %s\n", vkey, p.settings.BaseURL()+"/"+logPath(k.Log))
		}
	}
	var run []func(context.Context) error
	for _, label := range sandboxWitnesses {
		one, line, err := p.sandboxWitness(ctx, filepath.Join(dir, label), label, before[label] != "", keys)
		switch vkey := before[label]; {
		case err == nil:
			run = append(run, one)
		case vkey != "" && (errors.Is(err, witness.ErrState) || errors.Is(err, fs.ErrNotExist)):
			// It must not begin again. It stays in the policy, so that the quorum is the same, and has no address.
			p.log.ErrorContext(ctx, "a witness of this sandbox has lost its state, so it cosigns no more: the others go on", "witness", label, "err", err)
			line = fmt.Sprintf("witness %s %s\n", label, vkey)
		default:
			return nil, fmt.Errorf("the witness %s: %w", label, err)
		}
		policy.WriteString(line)
	}
	fmt.Fprintf(&policy, "group three 3 %s\nquorum three\n", strings.Join(sandboxWitnesses, " "))
	if err := witness.WriteFile(p.settings.LogWitnesses, []byte(policy.String())); err != nil {
		return nil, fmt.Errorf("STATE_DIR: %w", err)
	}
	return func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for _, one := range run {
			g.Go(func() error { return one(ctx) })
		}
		return g.Wait()
	}, nil
}

// readWitnesses returns the keys of the witnesses of a policy file, by their names; nothing without a policy.
func readWitnesses(file string) map[string]string {
	keys := map[string]string{}
	text, err := os.ReadFile(file) //nolint:gosec // a file of this installation
	if err != nil {
		return keys
	}
	if policy, err := tlog.ParsePolicy(text); err == nil {
		for _, w := range policy.Witnesses {
			keys[w.Label] = w.VKey()
		}
	}
	return keys
}

// logPath returns the path of a log below the public address.
func logPath(log string) string {
	if log == postgres.LogSources {
		return "log/sources"
	}
	return "log"
}

// sandboxWitness opens a witness of a sandbox on its own port, and returns its line of the policy. It makes one that is not known yet.
func (p *program) sandboxWitness(ctx context.Context, dir, label string, known bool, logs []*workers.LogKey) (run func(context.Context) error, line string, err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && !known {
		if _, err := witness.Init(dir, "sandbox.invalid/"+label); err != nil {
			return nil, "", err
		}
	}
	for _, k := range logs {
		if err := knowLog(dir, k); err != nil {
			return nil, "", err
		}
	}
	s, err := witness.Open(dir, p.now, p.log.With("role", "witness", "witness", label))
	if err != nil {
		return nil, "", err
	}
	s.DisableSync()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", "0"))
	if err != nil {
		return nil, "", fmt.Errorf("listen for the witness %s: %w", label, err)
	}
	port := strconv.Itoa(ln.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // a listener on tcp
	run = func(ctx context.Context) error {
		defer func() { _ = s.Close() }()
		return httpserve.Until(ctx, witnessServer(s), ln, time.Second, nil)
	}
	return run, fmt.Sprintf("witness %s %s http://127.0.0.1:%s/\n", label, s.VKey(), port), nil
}

// knowLog makes a witness know the keys of a log. While the key changes, both keys are here: together they sign the size that was signed last,
// which vouches for the new one. The oldest key comes first.
func knowLog(dir string, k *workers.LogKey) error {
	var terms witness.Terms
	if len(k.OldVKeys()) > 0 {
		size, root, err := k.Mark()
		if err != nil {
			return err
		}
		if size == 0 {
			root = tlog.EmptyRoot()
		}
		if terms.Vouched, err = k.Sign(size, root); err != nil {
			return err
		}
	}
	for _, vkey := range slices.Backward(append([]string{k.VKey()}, k.OldVKeys()...)) {
		if err := witness.Add(dir, vkey, terms); err != nil {
			return err
		}
	}
	return nil
}

// witnessServer returns a server with limits on the resources of a witness that a client can use.
func witnessServer(s *witness.Server) *http.Server {
	return &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 8 << 10,
	}
}
