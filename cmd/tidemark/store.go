package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"tidemark/ingest/archive"
	"tidemark/internal/postgres"
)

// provingBodies is how many of the newest bodies must be looked up in an archive without a marker.
const provingBodies = 20

// openArchive opens the archive of a database. An empty archive is an error if the database names bodies. An archive that is unavailable
// now is checked again before it is written to. db is nil for an installation that is about to be restored.
func (p *program) openArchive(ctx context.Context, db *postgres.DB) (*archive.Store, error) {
	var newest []string
	if db != nil {
		var err error
		if newest, err = db.NewestBodies(ctx, provingBodies); err != nil {
			return nil, err
		}
	}
	store, err := p.openStores(ctx, newest)
	if err == nil {
		if err = store.Prove(ctx); err != nil && !isLost(err) {
			p.log.WarnContext(ctx, "the archive is away: what is fetched waits for it", "err", err)
			err = nil
		}
		if err != nil {
			err = errors.Join(err, store.Close())
		}
	}
	if err != nil {
		return nil, p.explainLost(err)
	}
	return store, nil
}

// openStores opens ARCHIVE_URL and, if set, ARCHIVE_COLD_URL.
func (p *program) openStores(ctx context.Context, newest []string) (*archive.Store, error) {
	store, err := archive.OpenHeld(ctx, p.archiveURL(), newest)
	if err != nil {
		return nil, fmt.Errorf("open the archive (ARCHIVE_URL): %w", err)
	}
	if p.settings.World == "sandbox" {
		store.DisableSync()
	}
	if p.settings.ColdURL == "" {
		return store, nil
	}
	if err := store.OpenCold(ctx, p.settings.ColdURL); err != nil {
		return nil, errors.Join(fmt.Errorf("open the archive (ARCHIVE_COLD_URL): %w", err), store.Close())
	}
	return store, nil
}

// archiveURL returns ARCHIVE_URL, or the default folder.
func (p *program) archiveURL() string {
	if p.settings.ArchiveURL != "" {
		return p.settings.ArchiveURL
	}
	return filepath.Join(p.worldDir(), "archive")
}

func isLost(err error) bool {
	_, lost := errors.AsType[*archive.LostError](err)
	return lost
}

// explainLost adds to the error of a lost archive the setting that names it, and the operator's options.
func (p *program) explainLost(err error) error {
	lost, ok := errors.AsType[*archive.LostError](err)
	switch {
	case !ok:
		return err
	case lost.Cold:
		return fmt.Errorf("ARCHIVE_COLD_URL (%s): %w Mount it, or set ARCHIVE_COLD_URL to its place. If it is lost for good: `tidemark archive begin`",
			p.settings.ColdURL, lost)
	}
	name := "ARCHIVE_URL (" + p.archiveURL() + ")"
	if p.settings.ArchiveURL == "" {
		name = "ARCHIVE_URL (not set, so " + p.archiveURL() + " in STATE_DIR)"
	}
	return fmt.Errorf("%s: %w Mount it, or set ARCHIVE_URL to where it is. If it is lost for good, copy the folder archive of a backup there, "+
		"or begin an empty one with `tidemark archive begin`", name, lost)
}
