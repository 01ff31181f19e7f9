package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresOptions describe one private Postgres. Only Dir is required.
type PostgresOptions struct {
	// Dir is the folder for all files of the server. Another start on it finds the data again. As root, the server's user must be able to
	// enter it, which is not true of t.TempDir.
	Dir string
	// Port is the port to listen on. Zero means the last port, else a free one.
	Port int
	// Throwaway gives up durability against a crash of the machine (not of the server) for speed, for tests.
	Throwaway bool
	// Unsynced is as in Options.
	Unsynced bool
	// Settings are further settings of the server by name. They override ours.
	Settings map[string]string
	// Follows is the URL of the server that this one is a replica of. A new folder begins with a copy of that server. The server must let
	// its superuser replicate (wal_level, max_wal_senders), and its password is also the replica's. Empty means an independent server.
	Follows string
	// BinDirs, OnlyBinDirs: as in Options.
	BinDirs     []string
	OnlyBinDirs bool
	// CacheDir holds downloaded binaries, for machines without Postgres. Empty means that nothing is downloaded, and a start without
	// binaries returns ErrNotInstalled.
	CacheDir string
	// Log receives one line for each start. It may be nil.
	Log *slog.Logger

	died chan error
	// mayMove allows a link to another folder if the server's user cannot enter Dir.
	mayMove bool
	// repository is the download source of binaries. Empty means the public one.
	repository string
}

// The superuser and the database of a private Postgres.
const postgresUser, postgresDatabase = "tidemark", "tidemark"

// postgresSettings fit a developer's machine of two cores. Statements here are short: compiling one (jit) takes longer than carrying it out.
var postgresSettings = map[string]string{
	"listen_addresses":        "127.0.0.1",
	"unix_socket_directories": "",
	"max_connections":         "200",
	"shared_buffers":          "128MB",
	"jit":                     "off",
	"synchronous_commit":      "on",
	"password_encryption":     "scram-sha-256",
	"timezone":                "UTC",
	"log_timezone":            "UTC",
	"log_destination":         "stderr",
	"logging_collector":       "off",
	"lc_messages":             "C",
}

// throwawaySettings are the additional settings for Throwaway. They also put shared memory into files of the folder. A killed server leaves
// its files in /dev/shm until the server is started again, so it must not use them.
var throwawaySettings = map[string]string{
	"dynamic_shared_memory_type": "mmap",

	"fsync":            "off",
	"full_page_writes": "off",
	"wal_level":        "minimal",
	"max_wal_senders":  "0",
}

// StartPostgres runs a Postgres on o.Dir and returns once it answers. It listens on 127.0.0.1. Its superuser tidemark has a random password
// that is stored in the folder. In a new folder, it has an empty database tidemark, which its URL names. A server that an earlier process
// left on the folder is stopped first. ctx limits only the start. Nothing is left running after an error.
func StartPostgres(ctx context.Context, o PostgresOptions) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.died == nil {
		o.died = make(chan error, 1)
	}
	h, err := openHome(ctx, o.Dir, o.mayMove, o.Log)
	if err != nil {
		return nil, err
	}
	s, err := o.start(ctx, h)
	if err != nil {
		h.unlock()
		return nil, err
	}
	return s, nil
}

func (o PostgresOptions) start(ctx context.Context, h *stateDir) (*Server, error) {
	want, err := dataVersion(h.data())
	if err != nil {
		return nil, unusable(h.dir, err)
	}
	if err := h.checkSynced(bootTime()); err != nil {
		return nil, err
	}
	bin, err := o.binaries(ctx, h, want)
	if err != nil {
		return nil, err
	}
	s := &Server{home: h, log: o.Log, died: o.died, kind: kind{
		name:    "Postgres",
		program: "postgres",
		path:    filepath.Join(bin.dir, "postgres"),
		version: bin.version,
		stop:    syscall.SIGINT,
		stopNow: syscall.SIGQUIT,
		pidFile: "postmaster.pid",
		command: func(ctx context.Context, port int) *exec.Cmd {
			return exec.CommandContext(ctx, filepath.Join(bin.dir, "postgres"), o.arguments(h.data(), port)...)
		},
		answer: func(ctx context.Context, port int) error {
			return ensureDatabase(ctx, postgresURL(port, h.keep.Password, "postgres"))
		},
		url: func(port int) string { return postgresURL(port, h.keep.Password, postgresDatabase) },
	}}
	switch {
	case want != 0:
	case o.Follows != "":
		err = s.copy(ctx, filepath.Join(bin.dir, "pg_basebackup"), o.Follows)
	default:
		err = s.initialise(ctx, filepath.Join(bin.dir, "initdb"), o)
	}
	if err != nil {
		return nil, err
	}
	if h.unsynced() {
		if err := h.mark(bootID()); err != nil {
			return nil, err
		}
	}
	if err := s.start(ctx, o.Port); err != nil {
		return nil, err
	}
	return s, nil
}

// binaries chooses the programs for data of the version want. If the machine has none, it downloads them.
func (o PostgresOptions) binaries(ctx context.Context, h *stateDir, want int) (postgresBinaries, error) {
	chosen, found := findPostgres(ctx, o.BinDirs, o.OnlyBinDirs, want)
	if chosen == nil && o.CacheDir != "" {
		b, err := download(ctx, o, h.account, want)
		if err != nil {
			return b, err
		}
		chosen = &b
	}
	switch {
	case chosen == nil && len(found) > 0:
		return postgresBinaries{}, fmt.Errorf("PostgreSQL %s in %s is too old: install version %d or newer, or set DATABASE_URL", found[0].version, found[0].dir, oldestPostgres)
	case chosen == nil:
		return postgresBinaries{}, fmt.Errorf("PostgreSQL: %w", ErrNotInstalled)
	case want != 0 && chosen.major != want:
		return postgresBinaries{}, fmt.Errorf("the data in %s was made by PostgreSQL %d, but this machine has PostgreSQL %s (%s): install version %d, or move the folder away to begin again, or choose another with the setting STATE_DIR",
			h.dir, want, chosen.version, chosen.dir, want)
	}
	return *chosen, nil
}

func (o PostgresOptions) arguments(data string, port int) []string {
	settings := maps.Clone(postgresSettings)
	if o.Throwaway {
		maps.Copy(settings, throwawaySettings)
	}
	maps.Copy(settings, o.Settings)
	args := []string{"-D", data, "-p", strconv.Itoa(port)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// dataVersion returns the major version that made the data folder, zero if the folder does not exist.
func dataVersion(data string) (int, error) {
	content, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(data); err == nil {
			return 0, fmt.Errorf("%s is not the data of a Postgres: it has no PG_VERSION", data)
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("read the version of %s: %w", data, err)
	}
	return version, nil
}

// initialise makes the data folder completely or not at all. initdb works in a folder with another name, which an interrupted run leaves
// behind.
func (s *Server) initialise(ctx context.Context, initdb string, o PostgresOptions) error {
	h := s.home
	fresh := h.data() + ".new"
	if err := stopStale(fresh, s.program, "", 0); err != nil {
		return err
	}
	if err := os.RemoveAll(fresh); err != nil {
		return unusable(h.dir, err)
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return unusable(h.dir, err)
	}
	password := filepath.Join(h.dir, "password.new")
	defer func() { _ = os.Remove(password) }()
	if err := os.WriteFile(password, []byte(h.keep.Password+"\n"), 0o600); err != nil {
		return unusable(h.dir, err)
	}
	if err := errors.Join(h.give(fresh), h.give(password)); err != nil {
		return unusable(h.dir, err)
	}
	args := []string{
		"-D", fresh, "-U", postgresUser, "--pwfile=" + password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--no-locale", "--no-instructions",
	}
	unsynced := o.Unsynced && bootID() != ""
	if o.Throwaway || unsynced {
		args = append(args, "--no-sync")
	}
	if err := s.initdb(ctx, initdb, args); err != nil {
		return err
	}
	if unsynced {
		if err := disableSync(fresh); err != nil {
			return unusable(h.dir, err)
		}
	}
	if err := os.Rename(fresh, h.data()); err != nil {
		return unusable(h.dir, err)
	}
	return nil
}

// copy makes the data folder as a copy of another server, which this server then follows, completely or not at all.
func (s *Server) copy(ctx context.Context, basebackup, from string) error {
	h := s.home
	primary, err := url.Parse(from)
	if err != nil {
		return errors.New("the server to follow has no URL that can be read")
	}
	h.keep.Password, _ = primary.User.Password()
	if err := h.save(); err != nil {
		return unusable(h.dir, err)
	}
	fresh := h.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return unusable(h.dir, err)
	}
	if err := os.Mkdir(fresh, 0o700); err != nil {
		return unusable(h.dir, err)
	}
	if err := h.give(fresh); err != nil {
		return unusable(h.dir, err)
	}
	args := []string{"-D", fresh, "-d", from, "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"}
	if err := s.initdb(ctx, basebackup, args); err != nil {
		return err
	}
	if err := os.Rename(fresh, h.data()); err != nil {
		return unusable(h.dir, err)
	}
	return nil
}

func (s *Server) initdb(ctx context.Context, program string, args []string) error {
	log, err := s.home.openLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return unusable(s.home.dir, err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	s.home.prepare(cmd)
	p, err := spawn(cmd, syscall.SIGKILL)
	if err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("make the database's files: %w", ctx.Err())
	}
	if p.err != nil {
		return s.explain(fmt.Errorf("make the database's files with %s: %w", program, p.err), from)
	}
	return nil
}

func postgresURL(port int, password, database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(postgresUser, password),
		Host:     fmt.Sprintf("127.0.0.1:%d", port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// cannotConnectNow is the error code of a server that starts, recovers or stops.
const cannotConnectNow = "57P03"

// ensureDatabase connects to a server's maintenance database and creates our database if it does not exist. It succeeds once the server is
// ready.
func ensureDatabase(ctx context.Context, maintenance string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, maintenance)
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && refusal.Code != cannotConnectNow {
		return fmt.Errorf("connect: %w: %w", errRefused, err)
	}
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var there bool
	const exists = `select exists (select from pg_database where datname = $1)`
	if err := conn.QueryRow(ctx, exists, postgresDatabase).Scan(&there); err != nil || there {
		return err
	}
	_, err = conn.Exec(ctx, `create database `+pgx.Identifier{postgresDatabase}.Sanitize())
	return err
}
