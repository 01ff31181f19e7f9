// Package devstack finds or starts the two servers that Tidemark needs, Postgres and Redis, for `tidemark up` and for tests. It handles
// folders, users, ports and signals of real processes, and imports nothing of this module. Servers listen on 127.0.0.1 only, keep all files
// in one folder each, and never outlive this process. Start at Start; Server is a running server.
package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options configure Start. The zero value of each field is valid except StateDir's.
type Options struct {
	// StateDir is the folder for the servers' data, passwords and logs, in the subfolders postgres and redis. It is made if missing. Two
	// processes cannot run servers on one StateDir. As root, servers run as another user. If that user cannot enter StateDir, the two
	// folders are symbolic links to folders under /var/lib/tidemark, and the log says so.
	StateDir string
	// DatabaseURL and RedisURL name running servers. They are used without any start or check.
	DatabaseURL, RedisURL string
	// BinDirs are folders searched for server binaries before PATH and the usual folders.
	BinDirs []string
	// OnlyBinDirs excludes PATH and the usual folders.
	OnlyBinDirs bool
	// CacheDir holds a downloaded Postgres, for machines without one. Empty means the folder cache below StateDir.
	CacheDir string
	// Unsynced makes a new Postgres leave it to the system when writes reach the disk, until Stack.Sync. A killed server loses nothing. A
	// crash of the machine may damage the data; the next Start then returns an error. It has no effect on existing data, or if the system
	// does not name its starts.
	Unsynced bool
	// Log receives one line for each start. It may be nil.
	Log *slog.Logger

	// throwaway is for tests: PostgresOptions.Throwaway.
	throwaway bool
}

// Stack is a Postgres and a Redis to work with.
type Stack struct {
	// DatabaseURL and RedisURL are the addresses of the servers, with their passwords.
	DatabaseURL, RedisURL string
	// Postgres and Redis are the servers that were started, nil if a URL was given. Redis is also nil if the in-process replacement runs.
	Postgres, Redis *Server

	fixtureIn *miniRedis
	died      chan error
	log       *slog.Logger
}

// Start finds or starts both servers and returns once both answer. Started servers run until Stop; ctx limits only the start.
//
// Postgres is the server of DatabaseURL, else a private one with the binaries of this machine, else with binaries that are downloaded once.
// Redis is the server of RedisURL, else a private redis-server that keeps its content. If there is no redis-server, it is an in-process
// replacement that loses its content. As root, the servers run as an unprivileged user. Errors name the setting to change. Nothing is left
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
		Unsynced:    o.Unsynced,
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

// Sync ends what Options.Unsynced began: the private Postgres writes all of its data to the disk, and syncs each commit from now on. It does
// nothing for other servers. It may be repeated after an error.
func (s *Stack) Sync(ctx context.Context) error {
	if s.Postgres == nil {
		return nil
	}
	return s.Postgres.enableSync(ctx)
}

// Died returns a channel that receives an error when a started server has ended unexpectedly. The error names the server and quotes the end
// of its log. Server.Restart then starts the server again on the same port and data. Keep does that automatically.
func (s *Stack) Died() <-chan error { return s.died }

const (
	// maxRestarts is the maximum number of consecutive restarts of a server that does not run for healthyAfter. More mean that it has a
	// permanent fault.
	maxRestarts  = 5
	healthyAfter = 30 * time.Second
	// minRoom is how many bytes of room on its disk a server needs to start: Postgres writes its log in files of 16 MB.
	minRoom = 32 << 20
	// roomEvery is the pause between two looks at the room.
	roomEvery = 2 * time.Second
	// restartPause is the pause between two attempts to start a server.
	restartPause = time.Second
	// notice is the level of good news. A person sees it above a progress bar, too.
	notice = slog.LevelInfo + 2
)

// Keep restarts a server that has ended unexpectedly, on the same port and data, and logs it. It also logs that the disk is full. It returns nil when ctx ends. It returns an
// error if the disk is full. It also returns an error if a server ended or could not be started more than five times, without running for
// half a minute in between.
func (s *Stack) Keep(ctx context.Context) error {
	deaths, since := map[*Server]int{}, map[*Server]time.Time{}
	look := time.NewTicker(roomEvery)
	defer look.Stop()
	full := false
	for {
		var why error
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			if dir := s.folder(); dir != "" {
				if room, known := roomIn(dir); known {
					full = s.noteRoom(ctx, dir, room, full)
				}
			}
			continue
		case why = <-s.Died():
		}
		for _, server := range []*Server{s.Postgres, s.Redis} {
			for server != nil && ctx.Err() == nil && len(server.PIDs()) == 0 {
				if time.Since(since[server]) > healthyAfter {
					deaths[server] = 0
				}
				if room, known := roomIn(server.home.dir); known && room < minRoom {
					return fmt.Errorf("%s has ended: the disk of %s has %d MB left. Make room, or choose a folder on another disk with STATE_DIR",
						server.name, server.home.dir, room/1e6)
				}
				if deaths[server]++; deaths[server] > maxRestarts {
					return fmt.Errorf("%s was started %d times and ended each time: %w", server.name, maxRestarts, why)
				}
				short, _, _ := strings.Cut(why.Error(), "\n") // without the end of its log
				s.log.WarnContext(ctx, "a private server has ended, starting it again", "server", server.name, "time", deaths[server], "err", short,
					"log", server.home.logPath())
				if why = server.Restart(ctx); why == nil {
					since[server] = time.Now()
					s.log.Log(ctx, notice, "a private server runs again", "server", server.name, "port", server.Port())
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

// folder returns the folder of a private server, "" if there is none.
func (s *Stack) folder() string {
	for _, server := range []*Server{s.Postgres, s.Redis} {
		if server != nil {
			return server.home.dir
		}
	}
	return ""
}

// noteRoom says once that the disk of a folder is full while the servers live, and once that it is not any more. full is what it returned
// before.
func (s *Stack) noteRoom(ctx context.Context, dir string, room uint64, full bool) bool {
	switch now := room < minRoom; {
	case now && !full:
		s.log.ErrorContext(ctx, "the disk is full, make room: the private servers wait for it", "folder", dir, "left", fmt.Sprintf("%d MB", room/1e6))
		return true
	case full && room >= 2*minRoom: // not at once, so that the two lines do not alternate
		s.log.Log(ctx, notice, "the disk has room again", "folder", dir, "left", fmt.Sprintf("%d MB", room/1e6))
		return false
	}
	return full
}

// Stop stops the servers that Start started, both at once, within five seconds. It does not touch servers that were given. A second call
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
