package witness

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"tidemark/chain/tlog"
)

// The files of a witness's folder: its key, one file a log, and a folder of refused checkpoints.
const (
	keyFile    = "witness.key"
	lockFile   = "lock"
	logSuffix  = ".log"
	refusedDir = "refused"
	maxRefused = 1000
)

// ErrState reports that the state of a witness is missing or damaged. Its key must not be used again, because its cosignatures are
// unknown.
var ErrState = errors.New("the state of the witness is lost")

// Init makes a witness in a folder that has none: a key, and the state without logs. It returns the public key.
func Init(dir, name string) (vkey string, err error) {
	keys, err := tlog.NewWitnessKey(rand.Reader, name)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(dir, refusedDir), 0o700); err != nil {
		return "", fmt.Errorf("make a witness: %w", err)
	}
	path := filepath.Join(dir, keyFile)
	if _, err := os.Stat(path); err == nil {
		return "", fmt.Errorf("make a witness: %s is there already", path)
	}
	if err := WriteFile(path, []byte(keys.Private+"\n")); err != nil {
		return "", fmt.Errorf("make a witness: %w", err)
	}
	return keys.Public, nil
}

// logID names a log in paths: the SHA-256 of its origin.
func logID(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return hex.EncodeToString(sum[:])
}

func logFile(origin string) string { return logID(origin) + logSuffix }

// readKey reads the private key, and the origins of the logs that the witness ever knew.
func readKey(dir string) (key *tlog.Cosigner, origins []string, err error) {
	path := filepath.Join(dir, keyFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the key of the witness (`tidemark witness init` makes one): %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, nil, fmt.Errorf("%s can be read by others: chmod 600", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("the key of the witness: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if key, err = tlog.NewCosigner(lines[0]); err != nil {
		return nil, nil, err
	}
	for _, l := range lines[1:] {
		origin, ok := strings.CutPrefix(l, "log ")
		if !ok {
			return nil, nil, fmt.Errorf("%s: %q is not a log", path, l)
		}
		origins = append(origins, origin)
	}
	return key, origins, nil
}

// lock keeps a second process from the folder until the file is closed.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the folder of the witness: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { //nolint:gosec // a descriptor is small
		_ = f.Close()
		return nil, fmt.Errorf("another process runs the witness in %s", dir)
	}
	return f, nil
}

// WriteFile replaces a file such that a crash of the machine leaves the old one or the new one, and does not lose the new one after the
// return.
func WriteFile(path string, data []byte) error { return replaceFile(path, data, true) }

// replaceFile is WriteFile where sync is true. Otherwise only the end of the process, and not of the machine, loses nothing.
func replaceFile(path string, data []byte, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if !sync {
		return nil
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
