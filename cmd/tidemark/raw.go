package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tidemark/api"
	"tidemark/api/view"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/sources"
	"tidemark/internal/config"
	"tidemark/internal/nearest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
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
	for _, s := range sources.All(config.Upstreams{}) {
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
	raw := &api.RawOptions{Store: db, Sources: terms, Locate: locate, Synthetic: p.settings.World == "sandbox"}
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

// locate finds where a body states a value, by the source's own knowledge of its format.
func locate(b postgres.RawBody, body []byte, id series.ID, observedAt time.Time) (view.RawPlace, bool) {
	src, known := sourceByID(b.Source)
	if !known || src.Locate == nil {
		return view.RawPlace{}, false
	}
	p, found := src.Locate(ingest.Response{Request: ingest.Request{URL: b.URL}, Body: body, FetchedAt: b.FetchedAt}, id, observedAt)
	return view.RawPlace{Part: p.Part, From: p.From, To: p.To, Offset: p.Offset, Length: p.Length, Where: p.Where}, found
}

// sourceByID returns a source of signals.
func sourceByID(id string) (ingest.Source, bool) {
	for _, s := range sources.All(config.Upstreams{}) {
		if s.ID == id {
			return s, true
		}
	}
	return ingest.Source{}, false
}
