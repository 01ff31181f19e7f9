package witness

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

// Add makes a witness know a log, from its beginning. A log that it knows is left as it is.
func Add(dir, vkey string) error {
	v, err := tlog.NewVerifier(vkey)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, logFile(v.Name()))
	have, err := os.ReadFile(path)
	there := err == nil
	if there && !strings.HasPrefix(string(have), vkey+"\n") {
		return fmt.Errorf("the log %s is known with another key", v.Name())
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("add a log: %w", err)
	}
	// Every log known before has a line in the key's file: starting it again would cosign a second history.
	key, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return fmt.Errorf("add a log: %w", err)
	}
	line := "log " + v.Name() + "\n"
	switch known := strings.Contains(string(key), "\n"+line); {
	case known && there:
		return nil
	case known:
		return fmt.Errorf("%w: %s was known, and its file is not there", ErrState, v.Name())
	case !there:
		// The file first: a crash between the two leaves a log that can be added again.
		if err := WriteFile(path, []byte(vkey+"\n")); err != nil {
			return fmt.Errorf("add a log: %w", err)
		}
	}
	if err := WriteFile(filepath.Join(dir, keyFile), append(key, line...)); err != nil {
		return fmt.Errorf("add a log: %w", err)
	}
	return nil
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

// readLog reads the file of a log: its key, and the last cosigned checkpoint, if it ever cosigned.
func readLog(dir, origin string, key *tlog.Cosigner) (*state, error) {
	text, err := os.ReadFile(filepath.Join(dir, logFile(origin)))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrState, origin, err)
	}
	vkey, note, ok := bytes.Cut(text, []byte("\n"))
	v, err := tlog.NewVerifier(string(vkey))
	if !ok || err != nil || v.Name() != origin {
		return nil, fmt.Errorf("%w: the file of %s is damaged", ErrState, origin)
	}
	s := &state{log: v, vkey: string(vkey), root: tlog.EmptyRoot()}
	if len(note) == 0 {
		return s, nil
	}
	o, err := tlog.Open(note, v, key)
	if err != nil || len(o.Cosigned) != 1 {
		return nil, fmt.Errorf("%w: the file of %s is damaged", ErrState, origin)
	}
	s.size, s.root, s.at, s.note = o.Size, o.Root, o.Cosigned[0].At, note
	return s, nil
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
