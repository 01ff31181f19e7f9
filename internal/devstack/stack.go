// Package devstack finds or starts the two servers that Tidemark stands on, Postgres and Redis, for `tidemark up` and for tests.
// It deals with real processes and with nothing of this module: folders, users, ports, signals. Servers listen on 127.0.0.1 only,
// keep all they have in one folder each, and never outlive this process. Start at Start; Server is what runs.
package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"
)

// Options say what Start may use. The zero value of each field is a choice, so only StateDir is needed.
type Options struct {
	// StateDir is the folder that keeps the servers' data, passwords and logs: a folder postgres and one redis below it. It is
	// made if missing. Two processes cannot run servers on one StateDir. As root, servers run as another user; where that user cannot
	// enter StateDir, the two folders are symbolic links to places under /var/lib/tidemark, and the log says so.
	StateDir string
	// DatabaseURL and RedisURL name servers that run already. They are used as they are; nothing is started or checked.
	DatabaseURL, RedisURL string
	// BinDirs are folders searched for server binaries before PATH and the usual folders.
	BinDirs []string
	// OnlyBinDirs leaves PATH and the usual folders out.
	OnlyBinDirs bool
	// CacheDir keeps a downloaded Postgres, where the machine has none. Empty: a folder cache below StateDir.
	CacheDir string
	// Log gets one line for each thing that is started. Nil: nowhere.
	Log *slog.Logger

	// throwaway is for tests: PostgresOptions.Throwaway.
	throwaway bool
}

// Stack is a Postgres and a Redis to work with.
type Stack struct {
	// DatabaseURL and RedisURL reach the servers, with their passwords.
	DatabaseURL, RedisURL string
	// Postgres and Redis are the servers that were started: nil where a URL was given, and Redis is nil where its stand-in runs.
	Postgres, Redis *Server

	fixtureIn *miniRedis
	died      chan error
	log       *slog.Logger
}

// Start finds or starts both servers and returns once both answer. What it starts runs until Stop; ctx bounds the start alone.
// Postgres is the one named by DatabaseURL, else a private one from the binaries of this machine, else from binaries that are
// downloaded once. Redis is the one named by RedisURL, else a private redis-server that keeps its content, else a stand-in inside
// this process that does not. As root the servers run as an unprivileged user. Errors name the setting to change. Nothing is left
// running after an error.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Stack{DatabaseURL: o.DatabaseURL, RedisURL: o.RedisURL, died: make(chan error, 2), log: o.Log}
	if s.DatabaseURL == "" {
		if err := s.startPostgres(ctx, o); err != nil {
			return nil, err
		}
	}
	if s.RedisURL == "" {
		if err := s.startRedis(ctx, o); err != nil {
			return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
		}
	}
	return s, nil
}

func (s *Stack) startPostgres(ctx context.Context, o Options) error {
	cache := o.CacheDir
	if cache == "" {
		cache = filepath.Join(o.StateDir, "cache")
	}
	p, err := StartPostgres(ctx, PostgresOptions{
		Dir:         filepath.Join(o.StateDir, "postgres"),
		BinDirs:     o.BinDirs,
		OnlyBinDirs: o.OnlyBinDirs,
		CacheDir:    cache,
		Throwaway:   o.throwaway,
		Log:         o.Log,
		died:        s.died,
		mayMove:     true,
	})
	if err != nil {
		return fmt.Errorf("start Postgres: %w", err)
	}
	s.Postgres, s.DatabaseURL = p, p.URL()
	return nil
}

func (s *Stack) startRedis(ctx context.Context, o Options) error {
	r, err := StartRedis(ctx, RedisOptions{
		Dir:         filepath.Join(o.StateDir, "redis"),
		AppendOnly:  true,
		BinDirs:     o.BinDirs,
		OnlyBinDirs: o.OnlyBinDirs,
		Log:         o.Log,
		died:        s.died,
		mayMove:     true,
	})
	if errors.Is(err, ErrNotInstalled) {
		s.fixtureIn, err = startFixtureIn()
		if err != nil {
			return fmt.Errorf("start the stand-in for Redis: %w", err)
		}
		s.RedisURL = s.fixtureIn.url
		o.Log.WarnContext(ctx, "no redis-server on this machine: a stand-in inside this process takes its place and loses its content at exit")
		return nil
	}
	if err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	s.Redis, s.RedisURL = r, r.URL()
	return nil
}

// Died tells when a server that Start started has ended without being asked to. The error names the server and quotes the end of
// its log. After it, Server.Restart brings the server back on the same port and data. Keep does so by itself.
func (s *Stack) Died() <-chan error { return s.died }

const (
	// maxRestarts is how often in a row a server is started again that does not run for healthyAfter. Then something is wrong with it.
	maxRestarts  = 5
	healthyAfter = 30 * time.Second
	// restartPause is between two tries to start a server that does not come up.
	restartPause = time.Second
)

// Keep starts a server again that has ended by itself, on the same port and data, and says so in the log. It returns nil when ctx ends, and
// an error when a server ended, or could not be started, more than five times without running for half a minute in between.
func (s *Stack) Keep(ctx context.Context) error {
	deaths, since := map[*Server]int{}, map[*Server]time.Time{}
	for {
		var why error
		select {
		case <-ctx.Done():
			return nil
		case why = <-s.Died():
		}
		for _, server := range []*Server{s.Postgres, s.Redis} {
			for server != nil && ctx.Err() == nil && len(server.PIDs()) == 0 {
				if time.Since(since[server]) > healthyAfter {
					deaths[server] = 0
				}
				if deaths[server]++; deaths[server] > maxRestarts {
					return fmt.Errorf("%s was started %d times and ended each time: %w", server.name, maxRestarts, why)
				}
				s.log.WarnContext(ctx, "a private server has ended, starting it again", "server", server.name, "time", deaths[server], "err", why)
				if why = server.Restart(ctx); why == nil {
					since[server] = time.Now()
					s.log.InfoContext(ctx, "a private server runs again", "server", server.name, "port", server.Port())
					break
				}
				since[server] = time.Now()
				select {
				case <-ctx.Done():
				case <-time.After(restartPause):
				}
			}
		}
	}
}

// Stop ends what Start started, both servers at once, within five seconds. It leaves servers that were given alone. A second call
// does nothing.
func (s *Stack) Stop(ctx context.Context) error {
	var wg sync.WaitGroup
	var errs [2]error
	for i, server := range []*Server{s.Postgres, s.Redis} {
		if server != nil {
			wg.Go(func() { errs[i] = server.Stop(ctx) })
		}
	}
	if s.fixtureIn != nil {
		s.fixtureIn.stop()
	}
	wg.Wait()
	return errors.Join(errs[:]...)
}
