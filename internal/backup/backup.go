// Package backup writes an installation to a folder, checks such a folder, and restores the installation from it. A backup is a dump of the
// database, the raw bytes of every answer that the dump names, and the git ledger. A backup is complete or does not exist. Start at Make.
package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/ingest/archive"
	"tidemark/internal/postgres"
)

// The parts of a backup that can be left out on request.
const (
	PartArchive = "archive"
	PartLedger  = "ledger"
)

// The files of a backup. The manifest is written last.
const (
	manifestFile = "manifest.json"
	dumpFile     = "database.dump"
	bodiesFile   = "archive.sha256"
	ledgerFile   = "ledger.tar"
	archiveDir   = "archive"
	partial      = ".partial-"
)

// format is the version of the folder's layout.
const format = 1

// Manifest describes the content of a backup.
type Manifest struct {
	Format int       `json:"format"`
	World  string    `json:"world"`
	At     time.Time `json:"at"`
	// Program is the program version that wrote the backup, Schema the number of the database's last migration, Postgres the server's major
	// version.
	Program  string `json:"program"`
	Schema   int64  `json:"schema"`
	Postgres int    `json:"postgres"`
	// Roles are the database roles that the dump grants privileges to.
	Roles []string `json:"roles"`
	// Bodies is the number of answers in the archive.
	Bodies int `json:"bodies"`
	// LeftOut are the parts that were left out on request.
	LeftOut []string `json:"left_out"`
	// Files are all files except the bodies, which are named by their digests.
	Files map[string]File `json:"files"`
}

// File is one file of a backup.
type File struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Installation is the installation to back up or to restore.
type Installation struct {
	// URL is the database's address.
	URL string
	// Archive opens the store of raw bytes of a database. The database is nil before a restore. Archive is not called if the archive is
	// left out.
	Archive func(*postgres.DB) (*archive.Store, error)
	// Ledger is the folder of the git ledger.
	Ledger string
	World  string
	// Program is this program's version.
	Program string
	// Tool finds a Postgres client program for the major version of a server.
	Tool func(ctx context.Context, name string, major int) (string, error)
	// Output runs such a program and returns all that it writes. The program ends when this process does, however that ends.
	Output func(*exec.Cmd) ([]byte, error)
	Now    func() time.Time
	// Environ is the environment for git, as in gitledger.Options.
	Environ []string
}

// ErrThere reports that the folder of a new backup already exists.
var ErrThere = errors.New("it is there already")

// Make writes a backup to a new folder while the installation keeps running. The dump shows one instant. The bytes are copied after it, so
// that every answer in the dump has its bytes. leftOut names parts to leave out. The folder gets its name only after everything is written
// and on disk. Then the database records that there is a backup.
func Make(ctx context.Context, in Installation, folder string, leftOut []string) (m Manifest, err error) {
	if _, err := os.Lstat(folder); err == nil {
		return m, fmt.Errorf("back up to %s: %w", folder, ErrThere)
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return m, fmt.Errorf("back up: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(folder), filepath.Base(folder)+partial)
	if err != nil {
		return m, fmt.Errorf("back up: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(work)
		}
	}()
	db, err := postgres.Open(ctx, in.URL, postgres.RoleWorker)
	if err != nil {
		return m, err
	}
	defer db.Close()
	w, err := db.World(ctx)
	if errors.Is(err, postgres.ErrNotFound) {
		return m, errors.New("nothing ever worked with this database: there is nothing to back up. Is DATABASE_URL the one of the scheduler and the workers?")
	}
	if err != nil {
		return m, err
	}
	if w.Name != in.World {
		return m, fmt.Errorf("the database is of the world %s, and WORLD is %s", w.Name, in.World)
	}
	about, err := db.AboutServer(ctx)
	if err != nil {
		return m, err
	}
	m = Manifest{
		Format: format, World: in.World, At: in.Now().UTC().Truncate(time.Second), Program: in.Program, Schema: about.Schema, Postgres: about.Major,
		Roles: about.Roles, LeftOut: append([]string{}, leftOut...), Files: map[string]File{},
	}
	if err := in.tool(ctx, m.Postgres, "pg_dump", "--format=custom", "--no-owner", "--file="+filepath.Join(work, dumpFile)); err != nil {
		return m, err
	}
	if err := settle(filepath.Join(work, dumpFile)); err != nil {
		return m, fmt.Errorf("back up: %w", err)
	}
	if !slices.Contains(leftOut, PartArchive) {
		if m.Bodies, err = in.saveBodies(ctx, db, work); err != nil {
			return m, err
		}
	}
	if !slices.Contains(leftOut, PartLedger) {
		if err := in.saveLedger(ctx, db, work); err != nil {
			return m, err
		}
	}
	for _, name := range []string{dumpFile, bodiesFile, ledgerFile} {
		f, err := sum(filepath.Join(work, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return m, fmt.Errorf("back up: %w", err)
		}
		m.Files[name] = f
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return m, fmt.Errorf("back up: %w", err)
	}
	if err := write(filepath.Join(work, manifestFile), append(text, '\n')); err != nil {
		return m, fmt.Errorf("back up: %w", err)
	}
	if err := errors.Join(settle(work), os.Rename(work, folder), settle(filepath.Dir(folder))); err != nil {
		return m, fmt.Errorf("back up: %w", err)
	}
	if err := db.AddBackup(ctx, m.At); err != nil {
		return m, fmt.Errorf("%s is whole, but the alert about late backups does not know it: %w", folder, err)
	}
	return m, nil
}

// saveBodies copies the raw bytes of every answer that the database names. If some bytes cannot be read, the backup would be incomplete, so
// it fails.
func (in Installation) saveBodies(ctx context.Context, db *postgres.DB, work string) (n int, err error) {
	digests, err := db.BodyDigests(ctx)
	if err != nil {
		return 0, err
	}
	from, err := in.Archive(db)
	if err != nil {
		return 0, fmt.Errorf("%w (or leave the archive out of the backup on purpose with --without=archive)", err)
	}
	defer func() { _ = from.Close() }()
	to, err := archive.Open(ctx, filepath.Join(work, archiveDir))
	if err != nil {
		return 0, err
	}
	defer func() { _ = to.Close() }()
	var missing []string
	for _, d := range digests {
		body, err := from.Get(ctx, d)
		if archive.Missing(err) {
			missing = append(missing, d)
			continue
		}
		if err != nil {
			return 0, err
		}
		if _, err := to.Put(ctx, body); err != nil {
			return 0, err
		}
	}
	if len(missing) > 0 {
		return 0, fmt.Errorf("of the %d answers that the database names, %d are not in the archive or are damaged there, the first %s: "+
			"set ARCHIVE_URL or STATE_DIR to where the workers keep them, or leave the archive out on purpose with --without=archive",
			len(digests), len(missing), missing[0])
	}
	return len(digests), write(filepath.Join(work, bodiesFile), []byte(strings.Join(append(digests, ""), "\n")))
}

// saveLedger copies the git ledger of this machine, if any pick was ever written to it. A copy that is not whole is an error.
func (in Installation) saveLedger(ctx context.Context, db *postgres.DB, work string) error {
	committed, _, err := db.LedgerOpen(ctx)
	if err != nil {
		return err
	}
	const instead = "or leave the ledger out on purpose with --without=ledger: a worker makes it again from the database"
	_, err = os.Stat(in.Ledger)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && committed == 0 {
		return nil // the ledger does not exist yet
	}
	if !missing {
		file := filepath.Join(work, ledgerFile)
		if err := pack(ctx, in.Ledger, file); err != nil {
			return err
		}
		branches, err := checkLedger(ctx, file, in.Environ)
		if err != nil {
			return fmt.Errorf("the copy of %s is not whole: repair the ledger, %s: %w", in.Ledger, instead, err)
		}
		missing = branches == 0 && committed > 0
	}
	if missing {
		return fmt.Errorf("%d picks are in a git ledger, and there is none at %s: set STATE_DIR to the workers' folder, %s", committed, in.Ledger, instead)
	}
	return nil
}

// Verify reads a whole backup and returns its manifest, or an error that says what is wrong with it. environ is the environment for git.
func Verify(ctx context.Context, folder string, environ []string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(folder, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s is not a complete backup: it has no %s", folder, manifestFile)
	}
	if err != nil {
		return m, fmt.Errorf("verify the backup: %w", err)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the backup %s is damaged: %s: %w", folder, manifestFile, err)
	}
	if m.Format != format {
		return m, fmt.Errorf("the backup %s has the form %d, and this program knows %d: use the program that wrote it (%s)", folder, m.Format, format, m.Program)
	}
	if _, ok := m.Files[dumpFile]; !ok {
		return m, fmt.Errorf("the backup %s is damaged: it has no dump", folder)
	}
	for name, want := range m.Files {
		got, err := sum(filepath.Join(folder, filepath.Base(name)))
		if err != nil {
			return m, fmt.Errorf("the backup %s is damaged: %w", folder, err)
		}
		if got != want {
			return m, fmt.Errorf("the backup %s is damaged: %s has %d bytes with the SHA-256 %s, and should have %d with %s",
				folder, name, got.Bytes, got.SHA256, want.Bytes, want.SHA256)
		}
	}
	n := 0
	err = bodies(ctx, folder, m, func(string, []byte) error { n++; return nil })
	if err == nil && n != m.Bodies {
		err = fmt.Errorf("%d answers are listed, and there should be %d", n, m.Bodies)
	}
	if err != nil {
		return m, fmt.Errorf("the backup %s is damaged: %w", folder, err)
	}
	if _, ok := m.Files[ledgerFile]; ok {
		if _, err := checkLedger(ctx, filepath.Join(folder, ledgerFile), environ); err != nil {
			return m, fmt.Errorf("verify the ledger of the backup %s: %w", folder, err)
		}
	}
	return m, nil
}

// bodies calls each with every answer of a backup.
func bodies(ctx context.Context, folder string, m Manifest, each func(digest string, body []byte) error) error {
	if _, ok := m.Files[bodiesFile]; !ok {
		return nil
	}
	list, err := os.ReadFile(filepath.Join(folder, bodiesFile))
	if err != nil {
		return err
	}
	if m.Bodies > 0 { // opening the folder would create it
		if _, err := os.Stat(filepath.Join(folder, archiveDir)); err != nil {
			return err
		}
	}
	from, err := archive.Open(ctx, filepath.Join(folder, archiveDir))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	lines := bufio.NewScanner(bytes.NewReader(list))
	for lines.Scan() {
		body, err := from.Get(ctx, lines.Text())
		if err != nil {
			return err
		}
		if err := each(lines.Text(), body); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Restore restores an installation to an empty database and a state folder without a ledger. It verifies the whole backup before it writes
// anything. It only adds bytes to the archive, so a killed restore can be started again. The database is filled in one transaction.
func Restore(ctx context.Context, in Installation, folder string) (m Manifest, err error) {
	if m, err = Verify(ctx, folder, in.Environ); err != nil {
		return m, err
	}
	if m.World != in.World {
		return m, fmt.Errorf("the backup is of the world %s, and WORLD is %s", m.World, in.World)
	}
	_, ledger := m.Files[ledgerFile]
	if _, err := os.Lstat(in.Ledger); ledger && err == nil {
		return m, fmt.Errorf("%s is there already: give STATE_DIR a folder in which this world has no ledger", in.Ledger)
	}
	major, err := postgres.PrepareRestore(ctx, in.URL, m.Roles)
	if err != nil {
		return m, err
	}
	if m.Bodies > 0 {
		to, err := in.Archive(nil)
		if err != nil {
			return m, err
		}
		defer func() { _ = to.Close() }()
		if err := bodies(ctx, folder, m, func(_ string, body []byte) error {
			_, err := to.Put(ctx, body)
			return err
		}); err != nil {
			return m, err
		}
	}
	// pg_restore creates the triggers after the rows. The triggers would refuse the picks, because their days have passed.
	if err := in.fill(ctx, major, filepath.Join(folder, dumpFile), postgres.LockRestoreSQL, postgres.MoveCursorsSQL); err != nil {
		return m, err
	}
	if ledger {
		if err := unpack(filepath.Join(folder, ledgerFile), in.Ledger); err != nil {
			return m, fmt.Errorf("the database is restored, the ledger is not (a worker makes it again from the database): %w", err)
		}
	}
	return m, nil
}

// Prune removes the oldest complete backups of a world in a folder, except the newest keep. It also removes the remains of backups that
// were killed a day ago or earlier.
func Prune(folder, world string, keep int, now time.Time) (removed []string, err error) {
	list, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("look for old backups: %w", err)
	}
	type dated struct {
		path string
		at   time.Time
	}
	var whole []dated
	for _, e := range list {
		path := filepath.Join(folder, e.Name())
		if info, err := e.Info(); err == nil && e.IsDir() && strings.Contains(e.Name(), partial) && now.Sub(info.ModTime()) > 24*time.Hour {
			if err := os.RemoveAll(path); err != nil {
				return removed, fmt.Errorf("remove what a killed backup left: %w", err)
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(path, manifestFile))
		var m Manifest
		if err != nil || json.Unmarshal(text, &m) != nil || m.World != world || strings.Contains(e.Name(), partial) {
			continue // not a file of ours
		}
		whole = append(whole, dated{path, m.At})
	}
	slices.SortFunc(whole, func(a, b dated) int { return b.at.Compare(a.at) })
	for _, old := range whole[min(keep, len(whole)):] {
		// Without its manifest it does not count as a backup, even if removing the rest fails.
		if err := errors.Join(os.Remove(filepath.Join(old.path, manifestFile)), os.RemoveAll(old.path)); err != nil {
			return removed, fmt.Errorf("remove the old backup %s: %w", old.path, err)
		}
		removed = append(removed, old.path)
	}
	return removed, nil
}

func sum(path string) (f File, err error) {
	file, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer func() { _ = file.Close() }()
	h := sha256.New()
	if f.Bytes, err = io.Copy(h, file); err != nil {
		return f, fmt.Errorf("read %s: %w", path, err)
	}
	f.SHA256 = hex.EncodeToString(h.Sum(nil))
	return f, nil
}
