package devstack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// osUser is the system user that servers run as. Postgres refuses to run as root.
type osUser struct {
	name     string
	uid, gid uint32
	// switchTo means that it is not the user of this process.
	switchTo bool
}

// serverAccount returns the user for the servers: our own user, or as root the owner of existing data. As root without data, it is the
// first existing user of postgres and nobody.
func serverAccount(data string) (osUser, error) {
	if os.Geteuid() != 0 {
		return lookUp(strconv.Itoa(os.Geteuid())), nil
	}
	if info, err := os.Stat(data); err == nil {
		if owner, ok := ownerOf(info); ok && owner != 0 {
			a := lookUp(strconv.Itoa(int(owner)))
			a.switchTo = true
			return a, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			a := lookUp(u.Uid)
			a.switchTo = true
			return a, nil
		}
	}
	return osUser{}, errors.New("servers do not run as root, and this machine has neither a user postgres nor a user nobody: run as an ordinary user")
}

// lookUp describes the user with a number. A number without a name (usual in containers) has a group of the same number.
func lookUp(uid string) osUser {
	id, _ := strconv.ParseUint(uid, 10, 32)
	a := osUser{name: uid, uid: uint32(id), gid: uint32(id)}
	if u, err := user.LookupId(uid); err == nil {
		gid, _ := strconv.ParseUint(u.Gid, 10, 32)
		a.name, a.gid = u.Username, uint32(gid)
	}
	return a
}

func ownerOf(info fs.FileInfo) (uint32, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return s.Uid, true
}

// elsewhere holds the folders of servers whose user cannot enter the configured folder.
const elsewhere = "/var/lib/tidemark"

// place makes the folder dir where a can enter it, and returns its path. If a cannot enter a parent folder, such as root's home, dir
// becomes a symbolic link to a new folder under /var/lib/tidemark. That requires mayMove; without it, place returns an error.
func place(dir string, a osUser, mayMove bool) (string, error) {
	home := dir
	if link, err := os.Readlink(dir); err == nil {
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(dir), link)
		}
		home = link
	}
	barrier, err := firstClosed(home, a)
	if err != nil {
		return "", err
	}
	if barrier == "" {
		if err := makeAll(home); err != nil {
			return "", err
		}
		return filepath.EvalSymlinks(home)
	}
	if _, err := os.Lstat(dir); err == nil || !mayMove {
		return "", fmt.Errorf("user %s, as whom servers run, cannot enter %s", a.name, barrier)
	}
	if err := makeAll(filepath.Dir(dir)); err != nil {
		return "", err
	}
	if err := makeAll(elsewhere); err != nil {
		return "", fmt.Errorf("user %s, as whom servers run, cannot enter %s: %w", a.name, barrier, err)
	}
	if home, err = os.MkdirTemp(elsewhere, filepath.Base(dir)+"-"); err != nil {
		return "", err
	}
	if err := os.Chmod(home, 0o755); err != nil {
		return "", err
	}
	return home, os.Symlink(home, dir)
}

// makeAll is os.MkdirAll, but other users may enter the new folders, for any umask.
func makeAll(dir string) error {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("%s is not a folder", dir)
		}
		return nil
	}
	if err := makeAll(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Chmod(dir, 0o755)
}

// firstClosed returns the topmost folder on the path to dir, dir included, that a cannot enter, or an empty string. Folders that do not
// exist yet count as open.
func firstClosed(dir string, a osUser) (string, error) {
	if !a.switchTo {
		return "", nil
	}
	for {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			dir = real
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		dir = filepath.Dir(dir)
	}
	closed := ""
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if !mayEnter(info, a) {
			closed = dir
		}
		if dir == filepath.Dir(dir) {
			return closed, nil
		}
	}
}

// mayEnter reads the permission bits. It ignores access control lists.
func mayEnter(info fs.FileInfo, a osUser) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return true
	}
	switch mode := info.Mode().Perm(); {
	case s.Uid == a.uid:
		return mode&0o100 != 0
	case s.Gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}
