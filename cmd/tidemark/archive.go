package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/workers"
)

type archiveCommand struct {
	config.Stored
	config.Archive

	Import archiveImport `cmd:"" help:"Add the exchanges of an archive folder to the fetch log and the archive."`
	Export archiveExport `cmd:"" help:"Write the fetch log and its bodies as an archive folder."`
	Begin  archiveBegin  `cmd:"" help:"Continue with the archive at ARCHIVE_URL. Use this if the archive that the database names is lost."`
}

type archiveImport struct {
	Dir            string `arg:"" type:"existingdir" help:"An archive folder."`
	WithoutHistory bool   `name:"without-history" help:"Also accept a folder without history.ndjson, such as a recording. Its answers are parsed in the order of their times. Its past may differ from the past of the installation that made it."`
}

// Run imports an archive folder. It parses nothing: see reparse.
func (c archiveImport) Run(ctx context.Context, p *program) error {
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	folder, err := archive.OpenFolder(c.Dir)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	switch of, told, err := folder.Origin(); {
	case err != nil:
		return err
	case of.World == "sandbox" && p.settings.World == "live":
		return usageError{fmt.Errorf("%s was exported from a sandbox, WORLD is live: give it its own database, with WORLD=sandbox", c.Dir)}
	case !told && !c.WithoutHistory:
		return fmt.Errorf("%s has no %s, which says what was done with its exchanges and since when each was known: nothing is imported. "+
			"Copy the whole folder again; where it never had one, import it with --without-history", c.Dir, archive.HistoryName)
	}
	done, err := archive.Import(ctx, folder, store, db, time.Time{}, func(ctx context.Context) error { return p.settle(ctx, db, c.Dir, folder) })
	if broken := (*archive.DamagedError)(nil); errors.As(err, &broken) && broken.Used {
		return err
	}
	_, _ = fmt.Fprintf(p.stdout, "%s added, with %s to be done again (turn them into observations with `tidemark reparse`)\n",
		counted(done.Exchanges, "exchange"), counted(done.Steps, "step"))
	if done.NoHistory {
		_, _ = fmt.Fprintf(p.stdout, "%s has no %s: what was done with the exchanges is not known, and `tidemark reparse` goes by their times alone\n",
			c.Dir, archive.HistoryName)
	}
	if there := done.There; len(there) > 0 {
		_, _ = fmt.Fprintf(p.stdout, "%s not added: here already\n", counted(len(there), "exchange"))
		for i, f := range there {
			if i == shownExchanges {
				_, _ = fmt.Fprintf(p.stdout, "  and %d more\n", len(there)-i)
				break
			}
			_, _ = fmt.Fprintf(p.stdout, "  %s  %s  status %d, sha256 %s  %s\n", f.FetchedAt.Format(time.RFC3339Nano), f.Source, f.Status, f.SHA256[:12], f.URL)
		}
	}
	return err
}

// shownExchanges is the maximum number of exchanges that an import names.
const shownExchanges = 20

// settle prepares a database without a world for an import. The database gets the world WORLD and the time of the imported archive.
func (p *program) settle(ctx context.Context, db *postgres.DB, dir string, folder *archive.Folder) error {
	of, _, err := folder.Origin()
	if err != nil {
		return err
	}
	_, err = db.World(ctx)
	if !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	var clock *time.Time
	if p.settings.World != "live" {
		if clock = of.ClockAt; of.World != p.settings.World {
			last, err := archive.LastFetch(dir)
			if err != nil {
				return err
			}
			clock = &last
		}
	}
	_, err = db.EnsureWorld(ctx, p.settings.World, clock)
	return err
}

type archiveExport struct {
	Dir string `arg:"" help:"The folder to make."`
}

// Run exports the fetch log as an archive folder.
func (c archiveExport) Run(ctx context.Context, p *program) error {
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	var of archive.Origin
	w, err := db.World(ctx)
	if err == nil {
		of = archive.Origin{World: w.Name, ClockAt: w.ClockAt}
	} else if !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	n, err := archive.Export(ctx, c.Dir, store, db, of)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%d exchanges written to %s\n", n, c.Dir)
	return err
}

type archiveBegin struct{}

// Run marks the archive of the settings as the archive to use from now on.
func (archiveBegin) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := p.openArchive(ctx, db)
	if err == nil {
		_, err = fmt.Fprintf(p.stdout, "%s is the archive that the database names: nothing was done\n", p.archiveURL())
		return errors.Join(err, store.Close())
	}
	if !isLost(err) {
		return err
	}
	if store, err = p.openStores(ctx, nil); err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	if err := store.Begin(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s is the archive from now on; answers that came before are not in it, and `tidemark explain` and `tidemark reparse` say which\n", p.archiveURL())
	return err
}

// openRecord opens the database as a worker, and its archive.
func (p *program) openRecord(ctx context.Context) (*postgres.DB, *archive.Store, error) {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return nil, nil, err
	}
	store, err := p.openArchive(ctx, db)
	if err != nil {
		db.Close()
		return nil, nil, err
	}
	return db, store, nil
}

type reparseCommand struct {
	config.Stored
	config.Archive
	config.Licences

	Source string `help:"Only this source. Default: all."`
}

// Run rebuilds observations from the archive, and makes the signals due that depend on them.
func (c reparseCommand) Run(ctx context.Context, p *program) error {
	db, store, err := p.openRecord(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	defer func() { _ = store.Close() }()
	if _, err := db.World(ctx); errors.Is(err, postgres.ErrNotFound) {
		return errors.New("nothing was ever fetched into this database: import an archive (`tidemark archive import DIR`) or start a worker")
	}
	companies := companySources()
	ids := append(sourceIDs(), slices.Sorted(maps.Keys(companies))...)
	if err := oneOf("--source", c.Source, ids...); err != nil {
		return err
	}
	for _, u := range p.unasked() {
		if u.Source == c.Source {
			return usageError{fmt.Errorf("--source: %s is not used: its terms must be accepted (%s)", u.Source, u.Setting)}
		}
	}
	now, err := p.worldTime(ctx, db)
	if err != nil {
		return err
	}
	return p.reparse(ctx, p.stdout, db, store, c.Source, now)
}

// reparse makes the observations of an archive again, of one source or (empty) of all. It first repeats the steps that an import brought,
// and then parses the answers that were not parsed yet. It reports to out.
func (p *program) reparse(ctx context.Context, out io.Writer, db *postgres.DB, store *archive.Store, source string, now time.Time) error {
	if err := p.rebuild(ctx, out, db, store, source); err != nil {
		return err
	}
	list, idle := p.sources(), 0
	needs := dependents(list, p.definitions())
	for _, src := range list {
		if source != "" && src.ID != source {
			continue
		}
		done, err := backfill.Reparse(ctx, db, store, src, now)
		if err != nil {
			return fmt.Errorf("reparse %s: %w", src.ID, err)
		}
		switch {
		case done.Fetches > 0:
			_, _ = fmt.Fprintf(out, "%s: %s parsed, %s added\n", src.ID, counted(done.Fetches, "answer"), counted(done.Added, "vintage"))
		case source != "":
			_, _ = fmt.Fprintf(out, "%s: nothing is left to parse\n", src.ID)
		default:
			idle++
		}
		if done.Added == 0 {
			continue
		}
		for _, id := range needs[src.ID] {
			if _, err := db.AddRun(ctx, task.Signal, id, now, "observations were parsed again"); err != nil {
				return err
			}
		}
	}
	if idle > 0 {
		_, _ = fmt.Fprintf(out, "nothing is left to parse of %s\n", counted(idle, "source"))
	}
	return nil
}

// rebuild repeats the steps that an import brought, of one source or (empty) of all.
func (p *program) rebuild(ctx context.Context, out io.Writer, db *postgres.DB, store *archive.Store, source string) error {
	list, defs := p.sources(), p.definitions()
	h := workers.History{DB: db, Archive: store, Sources: companySources(), Signals: p.signalJob(db, list, defs)}
	for _, s := range list {
		h.Sources[s.ID] = s
	}
	told := time.Time{}
	h.Report = func(done, left int64) {
		if now := p.now(); now.Sub(told) >= 10*time.Second && done > 0 {
			told = now
			p.log.InfoContext(ctx, "rebuilding what was imported", "done", done, "left", left)
		}
	}
	done, err := h.Rebuild(ctx, source)
	if done.Answers+done.Snapshots > 0 {
		_, _ = fmt.Fprintf(out, "rebuilt what was imported: %s parsed, %s added, %s computed\n",
			counted(done.Answers, "answer"), counted(done.Added, "row"), counted(done.Snapshots, "snapshot"))
	}
	if done.Forecasts > 0 {
		_, _ = fmt.Fprintf(out, "%s and grades recorded again\n", counted(done.Forecasts, "forecast"))
	}
	for _, id := range slices.Sorted(maps.Keys(done.Unknown)) {
		_, _ = fmt.Fprintf(out, "%s: %d steps are left out, because its source is not used here\n", id, done.Unknown[id])
	}
	if err != nil {
		return fmt.Errorf("rebuild what was imported (run the same again when it is repaired): %w", err)
	}
	return nil
}

// signalJob returns the job that computes signals.
func (p *program) signalJob(db *postgres.DB, list []ingest.Source, defs []signals.Definition) workers.Signals {
	byID := map[string]signals.Definition{}
	for _, d := range defs {
		byID[d.ID] = d
	}
	return workers.Signals{
		DB: db, Definitions: byID, Sources: sourcesBySignal(list, defs), CodeVersion: codeVersion(), Tracks: &signals.Tracks{},
	}
}
