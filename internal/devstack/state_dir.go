package devstack

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// stateDir is the folder of one server:
//
//	lock         held while a process runs the server
//	server.json  port and password, readable by us alone
//	server.log   what the server prints
//	data/        the server's own, owned by its user
type stateDir struct {
	// dir is absolute, with symbolic links resolved.
	dir     string
	account osUser
	keep    savedState
	locked  *os.File
}

// savedState is the content of server.json.
type savedState struct {
	Port     int    `json:"port"`
	Password string `json:"password"`
	// Unsynced is the start of the machine since which writes may not be on the disk, empty if all are. See unsynced.go.
	Unsynced string `json:"unsynced,omitempty"`
}

// openHome makes or finds the folder, takes its lock, and reads or makes its password. mayMove is passed to place.
func openHome(ctx context.Context, dir string, mayMove bool, log *slog.Logger) (*stateDir, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder %s: %w", dir, err)
	}
	h := &stateDir{dir: dir}
	if h.account, err = serverAccount(filepath.Join(dir, "data")); err != nil {
		return nil, err
	}
	if h.dir, err = place(dir, h.account, mayMove); err != nil {
		return nil, unusable(dir, err)
	}
	if link, err := os.Readlink(dir); err == nil {
		log.InfoContext(ctx, "servers keep their data elsewhere", "folder", link, "instead_of", dir, "user", h.account.name)
	}
	if err := h.lock(); err != nil {
		return nil, err
	}
	if err := h.load(); err != nil {
		h.unlock()
		return nil, unusable(dir, err)
	}
	return h, nil
}

// unusable returns the error for a folder that cannot be made, read or written.
func unusable(dir string, err error) error {
	return fmt.Errorf("cannot work in the folder %s: %w (the setting STATE_DIR names another)", dir, err)
}

func (h *stateDir) data() string    { return filepath.Join(h.dir, "data") }
func (h *stateDir) logPath() string { return filepath.Join(h.dir, "server.log") }
func (h *stateDir) keepPath() string {
	return filepath.Join(h.dir, "server.json")
}

// lock locks the folder for this process, once. The kernel releases the lock when the process ends for any reason.
func (h *stateDir) lock() error {
	if h.locked != nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(h.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return unusable(h.dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := make([]byte, 20)
		n, _ := f.Read(holder)
		_ = f.Close()
		return fmt.Errorf("the folder %s is in use by another tidemark (process %s): stop it, or choose another folder with the setting STATE_DIR",
			h.dir, strings.TrimSpace(string(holder[:n])))
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	if err != nil {
		_ = f.Close()
		return unusable(h.dir, fmt.Errorf("lock it: %w", err))
	}
	h.locked = f
	return nil
}

// unlock releases the folder. Closing the file is not enough: a process that is being started meanwhile has it open until its exec.
func (h *stateDir) unlock() {
	if h.locked != nil {
		_ = syscall.Flock(int(h.locked.Fd()), syscall.LOCK_UN)
		_ = h.locked.Close()
		h.locked = nil
	}
}

// load reads server.json, or makes a password if the file does not exist yet.
func (h *stateDir) load() error {
	content, err := os.ReadFile(h.keepPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(h.data()); err == nil {
			return errors.New("it has data but no server.json, which holds the password: put it back, or remove the folder to begin again")
		}
		h.keep.Password = rand.Text()
		return h.save()
	case err != nil:
		return err
	}
	if err := json.Unmarshal(content, &h.keep); err != nil || h.keep.Password == "" {
		return fmt.Errorf("%s is damaged: put it back, or remove the folder to begin again", h.keepPath())
	}
	return nil
}

// save writes server.json completely or not at all.
func (h *stateDir) save() error {
	content, err := json.Marshal(h.keep)
	if err != nil {
		return err
	}
	temporary := h.keepPath() + ".new"
	if err := os.WriteFile(temporary, append(content, '\n'), 0o600); err != nil {
		return err
	}
	// Root may run the servers of another user, and that user must be able to run them again.
	if info, err := os.Stat(h.dir); err == nil && os.Geteuid() == 0 {
		if owner, ok := ownerOf(info); ok {
			if err := os.Chown(temporary, int(owner), -1); err != nil {
				return err
			}
		}
	}
	return os.Rename(temporary, h.keepPath())
}

func (h *stateDir) keepPort(port int) error {
	if h.keep.Port == port {
		return nil
	}
	h.keep.Port = port
	if err := h.save(); err != nil {
		return unusable(h.dir, err)
	}
	return nil
}

// prepare makes cmd run as the server's user, in the server's folder, with an environment without our settings.
func (h *stateDir) prepare(cmd *exec.Cmd) {
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + h.dir, "LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if h.account.switchTo {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: h.account.uid, Gid: h.account.gid}
	}
}

// give changes the owner of path to the server's user.
func (h *stateDir) give(path string) error {
	if !h.account.switchTo {
		return nil
	}
	return os.Chown(path, int(h.account.uid), int(h.account.gid))
}

// logLimit is the maximum size of a log, in bytes. openLog renames a larger log, and keeps one earlier log.
const logLimit = 16 << 20

// openLog opens the log for appending.
func (h *stateDir) openLog() (*os.File, error) {
	if info, err := os.Stat(h.logPath()); err == nil && info.Size() > logLimit {
		if err := os.Rename(h.logPath(), h.logPath()+".old"); err != nil {
			return nil, unusable(h.dir, err)
		}
	}
	f, err := os.OpenFile(h.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, unusable(h.dir, err)
	}
	return f, nil
}

// tail returns the last lines of a file from an offset on, at most limit. It reads only the last 16 KiB.
func tail(path string, from int64, limit int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size <= from {
		return nil
	}
	content := make([]byte, min(size-from, 16<<10))
	n, err := f.ReadAt(content, size-int64(len(content)))
	if err != nil && n == 0 {
		return nil
	}
	lines := strings.Split(string(bytes.TrimSpace(content[:n])), "\n")
	return lines[max(0, len(lines)-limit):]
}
