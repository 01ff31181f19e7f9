package simulate

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
)

//go:embed clock.sql
var clockSQL string

//go:embed sessions.sql
var sessionsSQL string

// template is the database that is copied for each run. system is the database to connect to while making a copy.
const template, system = "tidemark", "postgres"

// Server is a throwaway Postgres. Each run has its own database there.
type Server struct {
	server *devstack.Server
	dir    string
}

// StartServer starts a private Postgres without durability in a new folder, with all migrations applied. It searches binDirs for the
// Postgres programs before the usual folders. cacheDir keeps downloads. Stop removes the folder.
func StartServer(ctx context.Context, binDirs []string, cacheDir string, log *slog.Logger) (s *Server, err error) {
	dir, err := os.MkdirTemp("", "tidemark-simulate-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the simulation: %w", err)
	}
	s = &Server{dir: dir}
	defer func() {
		if err != nil {
			_ = s.Stop(context.WithoutCancel(ctx))
		}
	}()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server's user enters it
		return nil, fmt.Errorf("make a folder for the simulation: %w", err)
	}
	s.server, err = devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir: dir, Throwaway: true, BinDirs: binDirs, CacheDir: cacheDir, Log: log,
		Settings: map[string]string{
			// A socket is faster than a network connection.
			"unix_socket_directories": s.sockets(),
			// Automatic work would run at a different moment each time. Each run vacuums its own database, once a simulated week.
			"autovacuum": "off",
			"jit":        "off",
			// Nothing here waits for the disk.
			"synchronous_commit": "off", "checkpoint_timeout": "1h", "max_wal_size": "4GB",
			// Plans must not depend on the number of free parallel workers.
			"max_parallel_workers_per_gather": "0",
		},
	})
	if err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, s.server.URL(), log); err != nil {
		return nil, err
	}
	return s, s.as(ctx, template, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, clockSQL+sessionsSQL)
		return err
	})
}

// Stop stops the server and removes its folder.
func (s *Server) Stop(ctx context.Context) error {
	var err error
	if s.server != nil {
		err = s.server.Stop(ctx)
	}
	if rerr := os.RemoveAll(s.dir); err == nil && rerr != nil {
		err = fmt.Errorf("remove the simulation's server: %w", rerr)
	}
	return err
}

// create creates the database of a run and returns its address.
func (s *Server) create(ctx context.Context, name string) (string, error) {
	err := s.as(ctx, system, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()+" template "+template)
		return err
	})
	return s.address(name), err
}

// drop removes the database of a run, even if sessions are connected to it.
func (s *Server) drop(ctx context.Context, name string) error {
	return s.as(ctx, system, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)")
		return err
	})
}

func (s *Server) as(ctx context.Context, database string, f func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, s.address(database))
	if err != nil {
		return fmt.Errorf("connect to the simulation's server: %w", err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	if err := f(c); err != nil {
		return fmt.Errorf("set the simulation's server up: %w", err)
	}
	return nil
}

// maxSocket is the longest folder path for a socket on some systems: the limit without the socket's name and the terminating zero.
const maxSocket = 104 - len("/.s.PGSQL.65535") - 1

// sockets returns the folder of the server's sockets. It is the data folder, where the server's user can write. It is empty if the path is
// too long.
func (s *Server) sockets() string {
	dir := filepath.Join(s.dir, "data")
	if len(dir) > maxSocket {
		return ""
	}
	return dir
}

// address returns the address of a database of the server. Its sessions use the simulation's clock.
func (s *Server) address(database string) string {
	u, err := url.Parse(s.server.URL())
	if err != nil {
		return s.server.URL() // the program itself made this URL
	}
	u.Path = "/" + database
	q := u.Query()
	if dir := s.sockets(); dir != "" {
		q.Set("host", dir)
		q.Set("port", u.Port())
		u.Host = ""
	}
	q.Set("search_path", "simulation,pg_catalog,public")
	u.RawQuery = q.Encode()
	return u.String()
}
