package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"tidemark/api"
	"tidemark/ingest/archive"
	"tidemark/ingest/sources"
	"tidemark/internal/nearest"
	"tidemark/internal/postgres"
)

// rawNone is the value of RAW_BYTES that shows no publisher's bytes.
const rawNone = "none"

// rawSources returns the terms of all sources of signals. RAW_BYTES names the sources whose bytes are shown. Without it, each source's
// licence decides.
func (p *program) rawSources() (map[string]api.RawSource, error) {
	var named []string
	for one := range strings.SplitSeq(p.settings.RawBytes, ",") {
		if one = strings.TrimSpace(one); one != "" && one != rawNone {
			named = append(named, one)
		}
	}
	if p.settings.RawBytes == rawNone {
		named = []string{rawNone}
	}
	out, ids := map[string]api.RawSource{}, []string{rawNone}
	for _, s := range sources.All(sources.Keys{}) {
		ids = append(ids, s.ID)
		out[s.ID] = api.RawSource{
			Publisher: s.Publisher, License: s.License, Shown: s.Redistributable && len(named) == 0 || slices.Contains(named, s.ID),
		}
	}
	for _, one := range named {
		if !slices.Contains(ids, one) {
			hint := ""
			if near := nearest.Of(one, ids...); near != "" {
				hint = "; did you mean " + near + "?"
			}
			return nil, usageError{fmt.Errorf("RAW_BYTES: unknown source %q%s", one, hint)}
		}
	}
	return out, nil
}

// newRaw returns the options for showing archived bytes, and a function that closes the archive. A server without the archive only shows
// hashes, and creates no folder.
func (p *program) newRaw(ctx context.Context, db *postgres.DB) (*api.RawOptions, func(), error) {
	terms, err := p.rawSources()
	if err != nil {
		return nil, nil, err
	}
	raw := &api.RawOptions{Store: db, Sources: terms, Synthetic: p.settings.World == "sandbox"}
	if p.settings.ArchiveURL == "" {
		if _, err := os.Stat(p.archiveURL()); err != nil {
			return raw, func() {}, nil //nolint:nilerr // there is no archive here
		}
	}
	newest, err := db.NewestBodies(ctx, provingBodies)
	if err != nil {
		return nil, nil, err
	}
	store, err := p.openStores(ctx, newest)
	if err != nil { // the workers report it, too; the API continues to serve
		p.log.WarnContext(ctx, "the archive cannot be opened: archived bodies are not shown", "err", err)
		return raw, func() {}, nil
	}
	raw.Get = func(ctx context.Context, sha256 string) ([]byte, error) {
		body, err := store.Get(ctx, sha256)
		if archive.Missing(err) {
			return nil, nil
		}
		return body, err
	}
	return raw, func() { _ = store.Close() }, nil
}
