// Package backup writes an installation into a folder, checks such a folder, and brings the installation back from it. A backup is a dump of
// the database, the raw bytes of every answer that the dump names, and the git ledger. It is whole or it is not there. Start at Make.
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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/ingest/archive"
	"tidemark/internal/postgres"
)

// The parts of a backup that may be left out on purpose.
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

// format is the version of the folder's form.
const format = 1

// Manifest says what a backup holds.
type Manifest struct {
	Format int       `json:"format"`
	World  string    `json:"world"`
	At     time.Time `json:"at"`
	// Program is the version that wrote it, Schema the number of the database's last migration, Postgres the server's major version.
	Program  string `json:"program"`
	Schema   int64  `json:"schema"`
	Postgres int    `json:"postgres"`
	// Roles are those that the dump grants to.
	Roles []string `json:"roles"`
	// Bodies is how many answers are in the archive.
	Bodies int `json:"bodies"`
	// LeftOut are the parts that were left out on purpose.
	LeftOut []string `json:"left_out"`
	// Files are all but the bodies, which are named by their sums.
	Files map[string]File `json:"files"`
}

// File is one file of a backup.
type File struct {
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Installation is what is backed up, or brought back.
type Installation struct {
	// URL is the database's address.
	URL string
	// Archive opens the store of raw bytes of a database; nil: of one that is about to be restored. It is not called where that is left out.
	Archive func(*postgres.DB) (*archive.Store, error)
	// Ledger is the folder of the git ledger.
	Ledger string
	World  string
	// Program is this program's version.
	Program string
	// Tool finds a client program of Postgres for a server of a major version.
	Tool func(ctx context.Context, name string, major int) (string, error)
	Now  func() time.Time
}

// ErrThere tells that the folder of a new backup is there already.
var ErrThere = errors.New("it is there already")

// Make writes a backup into a new folder, while everything goes on. The dump is of one instant, and the bytes are copied after it, so that
// every answer in the dump has its own. leftOut names parts that are not wanted. Until all is written and on the disk, nothing has the
// folder's name.
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
	if err != nil {
		return m, fmt.Errorf("the world of the database: %w", err)
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
	return m, nil
}

// saveBodies copies the raw bytes of every answer that the database names. Those that cannot be had make it half a backup, which is none.
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

// saveLedger copies the git ledger, where one was ever written to.
func (in Installation) saveLedger(ctx context.Context, db *postgres.DB, work string) error {
	committed, _, err := db.LedgerOpen(ctx)
	if err != nil {
		return err
	}
	if _, err := os.Stat(in.Ledger); errors.Is(err, fs.ErrNotExist) {
		if committed == 0 {
			return nil // there is none yet
		}
		return fmt.Errorf("%d picks are in a git ledger, and there is none at %s: set STATE_DIR to the workers' folder, "+
			"or leave the ledger out on purpose with --without=ledger: a worker makes it again from the database", committed, in.Ledger)
	}
	return pack(in.Ledger, filepath.Join(work, ledgerFile))
}

// Verify reads a whole backup and tells what it holds, or what is wrong with it.
func Verify(ctx context.Context, folder string) (m Manifest, err error) {
	text, err := os.ReadFile(filepath.Join(folder, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("%s is no whole backup: it has no %s", folder, manifestFile)
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
	return m, nil
}

// bodies reads every answer of a backup.
func bodies(ctx context.Context, folder string, m Manifest, each func(digest string, body []byte) error) error {
	if _, ok := m.Files[bodiesFile]; !ok {
		return nil
	}
	list, err := os.ReadFile(filepath.Join(folder, bodiesFile))
	if err != nil {
		return err
	}
	if m.Bodies > 0 { // to open the folder would make it
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

// Restore brings an installation back into an empty database and a state folder without a ledger. The backup is read whole before anything
// is written. Bytes are only added to the archive, so a restore that was killed is begun again; the database is filled in one step or not
// at all.
func Restore(ctx context.Context, in Installation, folder string) (m Manifest, err error) {
	if m, err = Verify(ctx, folder); err != nil {
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
	// Triggers come after the rows, which they would refuse: none of today's picks is of today then.
	if err := in.tool(ctx, major, "pg_restore", "--no-owner", "--exit-on-error", "--single-transaction", filepath.Join(folder, dumpFile)); err != nil {
		return m, err
	}
	if ledger {
		if err := unpack(filepath.Join(folder, ledgerFile), in.Ledger); err != nil {
			return m, fmt.Errorf("the database is restored, the ledger is not (a worker makes it again from the database): %w", err)
		}
	}
	return m, nil
}

// Prune removes the oldest whole backups of a world in a folder, but for the newest keep, and what killed backups left there a day ago.
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
			continue // it is nothing of ours
		}
		whole = append(whole, dated{path, m.At})
	}
	slices.SortFunc(whole, func(a, b dated) int { return b.at.Compare(a.at) })
	for _, old := range whole[min(keep, len(whole)):] {
		// Without its manifest it is no backup any more, whatever becomes of the rest.
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
