package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// DamagedError says which bodies of a folder are missing or broken.
type DamagedError struct {
	// Bodies has an error for each, which names it and is ingest.ErrNotArchived.
	Bodies []error
	// Used reports whether the content of one of the bodies is part of the folder's past. Then nothing was imported.
	Used bool
}

func (e *DamagedError) Error() string {
	text := fmt.Sprintf("%d bodies are missing or broken, and nobody ever used what they said: all others are here", len(e.Bodies))
	if e.Used {
		text = fmt.Sprintf("%d bodies are missing or broken: nothing was imported, because the past would lack what they said. Copy them again", len(e.Bodies))
	}
	lines := []string{text}
	for _, body := range e.Bodies {
		lines = append(lines, body.Error())
	}
	return strings.Join(lines, "\n  ")
}

// Unwrap returns the errors about the bodies.
func (e *DamagedError) Unwrap() []error { return e.Bodies }

// damaged reads every body that an import would add. It returns the places in the manifest, from 1 on, of missing or broken bodies, with
// an error about all of them; nil if none exist.
func (f *Folder) damaged(ctx context.Context, ledger FetchLog, until time.Time) (map[int64]bool, *DamagedError, error) {
	at := map[int64]bool{}
	var fault DamagedError
	type body struct {
		sha256 string
		bytes  int64
	}
	whole, named := map[body]bool{}, map[body]bool{}
	var n int64
	for fetch, err := range f.Fetches() {
		if err != nil {
			return nil, nil, err
		}
		n++
		b := body{fetch.SHA256, fetch.Bytes}
		if whole[b] || !until.IsZero() && fetch.FetchedAt.After(until) {
			continue
		}
		if !named[b] {
			_, err := f.Body(ctx, fetch)
			switch {
			case err == nil:
				whole[b] = true
				continue
			case ctx.Err() != nil || !errors.Is(err, ingest.ErrNotArchived):
				return nil, nil, err
			}
			// Bodies of the fetch log's own fetches are in the archive already.
			if known, ferr := ledger.FindFetch(ctx, fetch); ferr != nil || len(known) > 0 {
				if ferr != nil {
					return nil, nil, ferr
				}
				continue
			}
			named[b] = true
			fault.Bodies = append(fault.Bodies, err)
		}
		at[n] = true
	}
	if len(at) == 0 {
		return nil, nil, nil
	}
	var err error
	fault.Used, err = f.uses(at, n)
	return at, &fault, err
}

// uses reports whether the history of a folder, whose manifest has n lines, depends on one of some exchanges. Without a history, any
// response may be used.
func (f *Folder) uses(exchanges map[int64]bool, n int64) (bool, error) {
	if _, ok, err := f.Origin(); err != nil || !ok {
		return true, err
	}
	places := make([]int64, n)
	for i := range places {
		places[i] = int64(i) + 1
	}
	for s, err := range f.steps(places) {
		if err != nil {
			return false, err
		}
		if names(s, exchanges) {
			return true, nil
		}
	}
	return false, nil
}

func names(s series.Step, exchanges map[int64]bool) bool {
	for _, a := range s.Answers {
		if exchanges[a.Fetch] {
			return true
		}
	}
	return false
}
