package view

import (
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// Inputs lists every archived body that a snapshot rests on, with its purpose. A body brought a value of the inputs or of the backtest's
// target, in force or replaced since, or it withdrew such a value.
type Inputs struct {
	ID   string    `json:"id"`
	AsOf time.Time `json:"as_of"`
	// Count is the number of bodies. MerkleRoot is the root of the tree of RFC 6962 over their SHA-256 sums, 32 bytes a leaf, in this order.
	Count       int         `json:"count"`
	MerkleRoot  string      `json:"merkle_root"`
	Data        []InputBody `json:"data"`
	License     string      `json:"license"`
	SourceURL   string      `json:"source_url"`
	Synthetic   bool        `json:"synthetic"`
	Environment string      `json:"environment"`
	Disclaimer  string      `json:"disclaimer"`
}

// InputBody is an archived body of a publisher.
type InputBody struct {
	Source string `json:"source"`
	URL    string `json:"url"`
	// PublishedAt is when the newest of its observations became known. RetrievedAt is when its bytes came.
	PublishedAt time.Time `json:"published_at"`
	// PublishedAtAssumed reports that the publication was not observed: the observation was already there at the first request for its series.
	PublishedAtAssumed bool `json:"published_at_assumed"`
	// AssumedSeries are the series of the signal that this body brought for the first time, so that the publication of its values was not
	// observed. It also came with values whose publication was observed, if other series are among its observations.
	AssumedSeries []string `json:"assumed_series"`
	// RetrievedAgain are the later times at which the same bytes came and brought or withdrew a value: what their publisher had changed in
	// between was again as before.
	RetrievedAgain []time.Time `json:"retrieved_again"`
	RetrievedAt    time.Time   `json:"retrieved_at"`
	ContentType    string      `json:"content_type"`
	SHA256         string      `json:"sha256"`
	Bytes          int64       `json:"bytes"`
	// Observations is how many observations in force came with it.
	Observations int `json:"observations"`
	// Uses say what rests on it: value, baseline, interval, components, withdrawal (it took an observation back) and history. The record of the
	// intervals and the backtest are the history: they go through every first value and every later one.
	Uses []string `json:"uses"`
	// LogIndex is the number of its leaf in the transparency log of sources. It is null while no signed size of the log has it.
	LogIndex *int64 `json:"log_index"`
	// RawURL is where the bytes are, if the publisher's license lets us pass them on.
	RawURL string `json:"raw_url"`
}

// MaxProvenance is how many bodies a snapshot names, the newest that hold observations in force.
const MaxProvenance = 20

// Inputs returns the list of all bodies behind a snapshot as of an instant, which is zero for the newest snapshot. The error is
// postgres.ErrNotFound if there is no such snapshot.
func (v *View) Inputs(ctx context.Context, s *Signal, at time.Time) (*Document, error) {
	out := Inputs{
		ID: s.Definition.ID, Data: []InputBody{}, License: s.Snapshot.License, SourceURL: s.Snapshot.SourceURL, Synthetic: s.Snapshot.Synthetic,
		Environment: s.Snapshot.Environment, Disclaimer: s.Snapshot.Disclaimer,
	}
	err := v.acquireQuery(ctx, func(ctx context.Context) error {
		stored, err := v.end(ctx, s, at, false)
		if err != nil {
			return err
		}
		list, err := v.o.Store.BodiesAsOf(ctx, s.Definition, stored.At)
		if err != nil {
			return err
		}
		uses, err := v.uses(ctx, s, stored)
		if err != nil {
			return err
		}
		out.AsOf, out.Count, out.MerkleRoot = stored.At.UTC(), len(list), merkleRoot(list)
		for _, b := range list {
			out.Data = append(out.Data, InputBody{
				Source: b.Source, URL: b.URL, PublishedAt: b.PublishedAt, PublishedAtAssumed: b.PublishedAssumed, RetrievedAt: b.FetchedAt, SHA256: b.SHA256, Bytes: b.Bytes,
				AssumedSeries: b.AssumedSeries, RetrievedAgain: append([]time.Time{}, b.Again...), ContentType: b.ContentType,
				Observations: b.Observations, Uses: usesOf(b, uses), LogIndex: b.LogIndex, RawURL: v.rawURL(b.SHA256),
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	body, err := Encode(out)
	if err != nil {
		return nil, err
	}
	return NewDocument(TypeJSON, CachePublic, body, time.Time{}), nil
}

// What rests on a body.
const (
	useValue      = "value"
	useBaseline   = "baseline"
	useInterval   = "interval"
	useComponents = "components"
	useWithdrawal = "withdrawal"
	useHistory    = "history"
)

// uses returns which bodies brought the cells of a snapshot's numbers, as the SHA-256 sums by use.
func (v *View) uses(ctx context.Context, s *Signal, stored postgres.Snapshot) (map[string]map[string]bool, error) {
	out := map[string]map[string]bool{}
	if stored.ObservedAt == nil {
		return out, nil
	}
	in, err := v.o.Store.InputsOf(ctx, s.Definition, stored.At)
	if err != nil {
		return nil, err
	}
	_, working, ok := s.Definition.Working(in, stored.At, series.InstantOf(*stored.ObservedAt))
	if !ok {
		return out, nil
	}
	bodies := map[int64]EvidenceBody{}
	for use, cells := range map[string][]signals.Cell{
		useValue: working.Value, useBaseline: working.Baseline, useInterval: working.Interval, useComponents: working.Components,
	} {
		found, err := v.evidenceCells(ctx, cells, bodies)
		if err != nil {
			return nil, err
		}
		out[use] = map[string]bool{}
		for _, c := range found {
			out[use][c.SHA256] = true
		}
	}
	return out, nil
}

// usesOf lists what rests on a body.
func usesOf(b postgres.Body, of map[string]map[string]bool) []string {
	list := []string{}
	for _, use := range []string{useValue, useBaseline, useInterval, useComponents} {
		if of[use][b.SHA256] {
			list = append(list, use)
		}
	}
	if b.Withdraws {
		list = append(list, useWithdrawal)
	}
	return append(list, useHistory)
}

// merkleRoot is the root over the SHA-256 sums of bodies, in their order.
func merkleRoot(list []postgres.Body) string {
	sums := make([]string, len(list))
	for i, b := range list {
		sums[i] = b.SHA256
	}
	return MerkleRoot(sums)
}

// MerkleRoot returns the root of the tree of RFC 6962 whose leaves are the 32 bytes of SHA-256 sums in hexadecimal. A text that is not a sum counts
// as an empty leaf.
func MerkleRoot(sums []string) string {
	var e tlog.Edge
	for _, sum := range sums {
		leaf, err := hex.DecodeString(sum)
		if err != nil {
			leaf = nil
		}
		e.Add(tlog.LeafHash(leaf))
	}
	root := e.Root()
	return hex.EncodeToString(root[:])
}

// provenance returns where a snapshot's numbers came from. The bodies come from BodiesAsOf.
func (o Options) provenance(id string, stored *postgres.Snapshot, bodies []postgres.Body) Provenance {
	if len(bodies) == 0 && stored != nil { // the snapshot names its newest inputs itself
		for _, in := range stored.Inputs {
			if !slices.ContainsFunc(bodies, func(b postgres.Body) bool { return b.SHA256 == in.SHA256 }) {
				bodies = append(bodies, postgres.Body{Source: in.Source, URL: in.URL, FetchedAt: in.FetchedAt.UTC(), SHA256: in.SHA256})
			}
		}
	}
	p := Provenance{Count: len(bodies), MerkleRoot: merkleRoot(bodies), Inputs: []ProvenanceInput{}}
	for _, b := range slices.Backward(bodies) {
		if len(p.Inputs) == MaxProvenance {
			break
		}
		if b.Observations == 0 && b.FetchID != 0 { // replaced since, or of the backtest's target
			continue
		}
		p.Inputs = append(p.Inputs, ProvenanceInput{Source: b.Source, URL: b.URL, RetrievedAt: b.FetchedAt, SHA256: b.SHA256})
	}
	if stored == nil {
		p.URL = o.inputsURL(id, nil)
	} else {
		p.URL = o.inputsURL(id, &stored.At)
		p.CodeVersion = new(stored.CodeVersion)
		if stored.RunID != nil {
			p.RunID = new("run_" + strconv.FormatInt(*stored.RunID, 10))
		}
	}
	return p
}

// inputsURL returns the address of the list of all bodies behind a snapshot as of an instant, or behind the newest one.
func (o Options) inputsURL(id string, asOf *time.Time) string {
	address := o.machineURL(id) + "/inputs"
	if asOf != nil {
		address += "?as_of=" + asOf.UTC().Format(time.RFC3339Nano)
	}
	return address
}
