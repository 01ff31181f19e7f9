package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// sourcesLog is the path of the transparency log of archived bodies.
const sourcesLog = "/log/sources/"

// maxSearchedTiles bounds the tiles that are searched for the leaves of bodies that have none by the server's word.
const maxSearchedTiles = 64

// places compares the stated number of each body's leaf with the log: its proof must be of a leaf about that body. A body without a number must not have
// a leaf near those of its neighbours, or at the end of the log.
func (o *outside) places(ctx context.Context, all view.Inputs) error {
	differed, proven := o.count("list", differ), 0
	var without []int // the bodies that have no leaf
	for i, b := range all.Data {
		if b.LogIndex == nil {
			without = append(without, i)
			continue
		}
		status, text, err := o.reader.Raw(ctx, fmt.Sprintf("%sproof/%d.tlog-proof", sourcesLog, *b.LogIndex), maxRawBody)
		if err != nil {
			return fmt.Errorf("read a proof of %s: %w", o.reader.Base(), err)
		}
		at := "inputs." + b.SHA256
		switch proof, leaf, err := leafOf(text, view.EvidenceBody{SHA256: b.SHA256, Source: b.Source, Bytes: b.Bytes}); {
		case status == http.StatusNotFound:
			o.say("list", differ, at, "the list says that leaf %d of the log is about it, and the log has no such leaf", *b.LogIndex)
		case status != http.StatusOK:
			o.say("list", missing, at, "the proof of its leaf %d is answered with %d", *b.LogIndex, status)
		case err != nil:
			o.say("list", differ, at, "the list says that leaf %d of the log is about it, and its proof does not hold: %v", *b.LogIndex, err)
		case proof.Index != *b.LogIndex || !isAbout(leaf, b):
			o.say("list", differ, at, "the list says that leaf %d of the log is about it, and the proof is of leaf %d: bytes that came at %s", *b.LogIndex, proof.Index,
				leaf.Get("fetched_at"))
		default:
			proven++
		}
	}
	size, err := o.logSize(ctx)
	if err != nil {
		return err
	}
	if size > 0 && len(without) > 0 {
		if err := o.search(ctx, size, all, without); err != nil {
			return err
		}
	}
	switch {
	case o.count("list", differ) > differed:
	case size == 0:
		o.say("list", agrees, "log_index", "the server has no log of sources")
	default:
		o.say("list", agrees, "log_index", "leaves that the list names, each proven: %d; bodies without one, and none found: %d", proven, len(without))
	}
	return nil
}

// logSize is the size of the log of sources, 0 if there is none.
func (o *outside) logSize(ctx context.Context) (int64, error) {
	status, note, err := o.reader.Raw(ctx, sourcesLog+"checkpoint", maxRawBody)
	if err != nil || status == http.StatusNotFound {
		return 0, err
	}
	if status != http.StatusOK {
		o.say("list", missing, "log_index", "the checkpoint of the log of sources is answered with %d", status)
		return 0, nil
	}
	c, err := tlog.ParseBody(tlog.SignedBody(note))
	if err != nil {
		o.say("list", differ, "log_index", "the checkpoint of the log of sources is none: %v", err)
		return 0, nil
	}
	return c.Size, nil
}

// search looks for leaves of bodies that have none by the server's word.
func (o *outside) search(ctx context.Context, size int64, all view.Inputs, without []int) error {
	last := (size - 1) / tlog.TileWidth
	var tiles []int64
	near := func(i int) {
		if i >= 0 && i < len(all.Data) && all.Data[i].LogIndex != nil {
			n := *all.Data[i].LogIndex / tlog.TileWidth
			tiles = append(tiles, n, n+1)
		}
	}
	for _, i := range without {
		near(i - 1)
		near(i + 1)
	}
	tiles = slices.DeleteFunc(append(tiles, last), func(n int64) bool { return n < 0 || n > last })
	slices.Sort(tiles)
	tiles = slices.Compact(tiles)
	for _, n := range tiles[max(0, len(tiles)-maxSearchedTiles):] {
		t := tlog.Tile{N: n, Width: int(min(tlog.TileWidth, size-n*tlog.TileWidth)), Entries: true}
		status, bundle, err := o.reader.Raw(ctx, sourcesLog+t.Path(), maxRawBody)
		if err != nil {
			return fmt.Errorf("read the log of %s: %w", o.reader.Base(), err)
		}
		leaves, err := tlog.SplitBundle(bundle)
		if status != http.StatusOK || err != nil {
			o.say("list", missing, "log_index", "the leaves of the log from %d on are answered with %d", n*tlog.TileWidth, status)
			return nil
		}
		for k, text := range leaves {
			leaf, err := tlog.ParseLeaf(text)
			if err != nil {
				continue // kinds of later versions
			}
			for _, i := range without {
				if b := all.Data[i]; isAbout(leaf, b) {
					o.say("list", differ, "inputs."+b.SHA256, "the list says that no leaf of the log is about it, and leaf %d is", n*tlog.TileWidth+int64(k))
				}
			}
		}
	}
	return nil
}

// isAbout reports whether a leaf is about a body, as it came the first time.
func isAbout(leaf tlog.Leaf, b view.InputBody) bool {
	return leaf.Get("sha256") == b.SHA256 && leaf.Get("fetched_at") == tlog.FormatTime(b.RetrievedAt)
}

// named compares the bodies that the snapshot names with the list: the newest that hold observations in force.
func (o *outside) named(all view.Inputs, snapshot view.SignalSnapshot) {
	want := []view.ProvenanceInput{}
	for _, b := range slices.Backward(all.Data) {
		if b.Observations > 0 && len(want) < view.MaxProvenance {
			want = append(want, view.ProvenanceInput{Source: b.Source, URL: b.URL, RetrievedAt: b.RetrievedAt, SHA256: b.SHA256})
		}
	}
	if at := differs(want, snapshot.Provenance.Inputs); at != "" {
		o.say("list", differ, "provenance.inputs", "the bodies that the snapshot names are not the newest of the list: %s", at)
	}
}

// concluded compares the conclusions of the stated backtest with its own numbers. That is possible without the bytes, too. It also compares
// the number of tests that the backtest allows for with the versions of the method in the server's registry.
func (o *outside) concluded(ctx context.Context, stated postgres.Backtest, asOf time.Time) error {
	if at := differsBy(stated.Concluded(), stated, lastDigit); at != "" {
		o.say("record", differ, "backtest", "it does not follow from its own numbers: %s", at)
	}
	var registry view.MethodRegistry
	if err := o.reader.JSON(ctx, "/api/methods", maxEvidenceAnswer, &registry); err != nil {
		return fmt.Errorf("read the registry of methods: %w", err)
	}
	var before, until, ever int // versions of code, which are named by the first digits of their hash
	seen := map[string]bool{}
	for _, m := range slices.Backward(registry.Data) { // the oldest first
		if m.Name != "signals" || len(m.Version) != 12 || !strings.HasPrefix(m.SHA256, m.Version) || seen[m.SHA256] {
			continue
		}
		seen[m.SHA256] = true
		ever++
		if !m.RecordedAt.After(asOf) {
			until++
		}
		if !m.RecordedAt.After(stated.ComputedAt) {
			before++
		}
	}
	// It was made between the two instants. The version that made it counts also where it was recorded later.
	low, high := max(1, before), max(1, min(until+1, ever))
	if n := stated.Trials.Trials; n < signals.Tests(low) || n > signals.Tests(high) {
		o.say("record", differ, "backtest.trials", "the server allows for %d tests, and its registry had %d to %d versions then: %d to %d tests", n, low, high,
			signals.Tests(low), signals.Tests(high))
	}
	return nil
}
