package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Postgres writes data that can be made again several times as fast if no commit waits for the disk. Its setting is in a file of the data
// folder, and not on the command line, so that Stack.Sync can change it while the server runs. While writes may not be on the disk,
// server.json names the start of the machine. After another start of the machine, the data may be damaged.

const (
	// alteredFile is the file of the data folder that `alter system` writes, and syncOff its line.
	alteredFile = "postgresql.auto.conf"
	syncOff     = "fsync = 'off'\n"
	// syncTimeout limits the sync at a stop.
	syncTimeout = 2 * time.Minute
	// writtenBack is the time within which a system has written everything to the disk without a request: Linux begins after 30 s.
	writtenBack = 2 * time.Minute
)

// disableSync prepares a data folder that no server has used yet.
func disableSync(data string) error {
	f, err := os.OpenFile(filepath.Join(data, alteredFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(syncOff)
	return errors.Join(err, f.Close())
}

// unsynced reports whether the server of this folder leaves its writes to the system.
func (h *stateDir) unsynced() bool {
	content, err := os.ReadFile(filepath.Join(h.data(), alteredFile))
	return err == nil && bytes.Contains(content, []byte(syncOff))
}

// checkSynced returns an error if the machine was started again before the writes of an earlier start were on the disk. boot is when it started.
func (h *stateDir) checkSynced(boot time.Time) error {
	if _, err := os.Stat(h.data()); err != nil || h.keep.Unsynced == "" || h.keep.Unsynced == bootID() || h.writtenBefore(boot) {
		return nil
	}
	return fmt.Errorf("the machine stopped while the data in %s were made, and some of them may not have reached the disk: remove the folder that STATE_DIR names to begin again, or choose another",
		h.data())
}

// writtenBefore reports whether the server stopped in order so long before the machine started again that the system had written
// everything. Postgres removes its lock and writes pg_control last.
func (h *stateDir) writtenBefore(boot time.Time) bool {
	if _, err := os.Stat(filepath.Join(h.data(), "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	control, err := os.Stat(filepath.Join(h.data(), "global", "pg_control"))
	return err == nil && control.ModTime().Add(writtenBack).Before(boot)
}

// mark saves the start of the machine since which writes may not be on the disk.
func (h *stateDir) mark(boot string) error {
	if h.keep.Unsynced == boot {
		return nil
	}
	h.keep.Unsynced = boot
	if err := h.save(); err != nil {
		return unusable(h.dir, err)
	}
	return nil
}

// enableSync makes each commit wait for the disk from now on, and writes all earlier data to the disk. It does nothing if that is so already.
func (s *Server) enableSync(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.home.keep.Unsynced == "" {
		return nil
	}
	if s.home.unsynced() {
		if err := s.reset(ctx); err != nil {
			return fmt.Errorf("let Postgres sync its commits: %w", err)
		}
	}
	return s.syncAll(ctx)
}

// reset removes the line of disableSync, and lets the running server know.
func (s *Server) reset(ctx context.Context) error {
	c, err := pgx.Connect(ctx, s.URL())
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	for _, sql := range []string{`alter system reset fsync`, `select pg_reload_conf()`, `checkpoint`} {
		if _, err := c.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// syncAll writes what the system holds of the data folder to the disk. The server may run.
func (s *Server) syncAll(ctx context.Context) error {
	if err := s.initdb(ctx, filepath.Join(filepath.Dir(s.path), "initdb"), []string{"-D", s.home.data(), "--sync-only"}); err != nil {
		return err
	}
	return s.home.mark("")
}

// leaveSynced writes the data of a server that was stopped to the disk, so that the machine may be started again. After an error, server.json
// still names this start of the machine.
func (s *Server) leaveSynced(ctx context.Context) {
	if s.home.locked == nil || s.home.keep.Unsynced == "" {
		return
	}
	ctx, stop := context.WithTimeout(ctx, syncTimeout)
	defer stop()
	s.log.Log(ctx, notice, "writing the data to the disk", "folder", s.home.data())
	if err := s.syncAll(ctx); err != nil {
		s.log.WarnContext(ctx, "the data may not be on the disk yet: leave the machine on for two more minutes", "server", s.name, "err", err)
	}
}
