package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/chain/tlog"
	"tidemark/ingest"
	"tidemark/ingest/sources"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// evidenceServer serves the evidence of the weekly petroleum stocks, made of the pages of a sandbox' publisher.
type evidenceServer struct {
	t        *testing.T
	url      string
	evidence view.Evidence
	snapshot view.SignalSnapshot
	inputs   view.Inputs
	history  view.SignalHistory // of the number, if it is not the newest
	newest   view.SignalHistory // of the newest points
	later    view.SignalHistory // of the newest points, as of an instant after the snapshot's
	bodies   map[string][]byte
	// shut are bodies that are kept back, with the leaf that proves them.
	shut map[string][]byte
	// leaves are the log of sources, which has the bodies of the list in its order.
	leaves   [][]byte
	registry view.MethodRegistry

	// set has the values that the server knows now, from the body that each series came in when it was loaded.
	loaded, now time.Time
	set         series.Set
	first       series.Set
	from        map[series.ID]string
}

// evidenceAt is when the server asked the publisher.
var evidenceAt = time.Date(2026, 5, 14, 20, 0, 0, 0, time.UTC)

// page is an answer of the publisher, and what it states.
type page struct {
	url, contentType, digest string
	body                     []byte
	readings                 []ingest.Reading
}

// pageOf asks a sandbox' publisher, and reads the answer as its source does.
func pageOf(src ingest.Source, r ingest.Request) (page, error) {
	publishers := sources.Sandbox(synth.World{Seed: 1, Now: func() time.Time { return evidenceAt }}, calendar.IsTradingDay)
	w := httptest.NewRecorder()
	publishers.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, r.URL, http.NoBody))
	sum := sha256.Sum256(w.Body.Bytes())
	p := page{url: r.URL, contentType: w.Header().Get("Content-Type"), digest: hex.EncodeToString(sum[:]), body: slices.Clip(w.Body.Bytes())}
	batch, err := src.Parse(ingest.Response{Request: r, Header: w.Header(), Body: p.body, FetchedAt: evidenceAt})
	p.readings = batch.Readings
	return p, err
}

// weeklyPages are the pages of the weekly petroleum stocks. Tests share them, and change none.
var weeklyPages = sync.OnceValues(func() (pages []page, err error) {
	src, _ := sourceByID("eia-petroleum-weekly")
	requests, err := src.Request(series.Window{})
	for _, r := range requests {
		p, failed := pageOf(src, r)
		pages, err = append(pages, p), errors.Join(err, failed)
	}
	return pages, err
})

// targetPage is the page of the backtest's target, shared likewise.
var targetPage = sync.OnceValues(func() (page, error) {
	src, _ := sourceByID("eia-petroleum-spot")
	requests, err := src.Request(series.Window{})
	if err != nil {
		return page{}, err
	}
	return pageOf(src, requests[slices.IndexFunc(requests, func(r ingest.Request) bool { return strings.Contains(r.URL, "s=RWTC&") })])
})

func newEvidenceServer(t *testing.T) *evidenceServer {
	t.Helper()
	s := &evidenceServer{t: t, bodies: map[string][]byte{}, shut: map[string][]byte{}}
	now := evidenceAt
	s.serve()
	s.registry.Data = []view.MethodVersion{{Name: "signals", Version: strings.Repeat("a", 12), SHA256: strings.Repeat("a", 64), RecordedAt: now.AddDate(-1, 0, 0)}}
	src, _ := sourceByID("eia-petroleum-weekly")
	set, from := series.Set{}, map[series.ID]string{}
	s.loaded, s.now, s.set, s.from = now, now, set, from
	pages, err := weeklyPages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		s.bodies[p.digest] = p.body
		s.evidence.Bodies = append(s.evidence.Bodies, view.EvidenceBody{
			SHA256: p.digest, Source: src.ID, URL: p.url, ContentType: p.contentType, RetrievedAt: now, Bytes: int64(len(p.body)), RawURL: s.url + "/raw/" + p.digest,
		})
		for _, v := range p.readings {
			set[v.Series] = append(set[v.Series], series.Point{ObservedAt: series.InstantOf(v.ObservedAt), VintageAt: series.InstantOf(s.knownAt(src, v)), Value: v.Value})
			from[v.Series] = p.digest
		}
	}
	for _, points := range set {
		slices.SortFunc(points, func(a, b series.Point) int { return a.ObservedAt.Time().Compare(b.ObservedAt.Time()) })
	}
	s.first = maps.Clone(set)
	s.compute()
	slices.SortStableFunc(s.evidence.Bodies, func(a, b view.EvidenceBody) int {
		return cmp.Compare(strings.Index(b.URL, "WCESTUS1"), strings.Index(a.URL, "WCESTUS1"))
	})
	s.list()
	return s
}

// serve starts the server.
func (s *evidenceServer) serve() {
	mux := http.NewServeMux()
	serve := func(pattern string, answer func() any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(answer()) })
	}
	serve("GET /api/signals/eia-weekly-petroleum", func() any { return s.snapshot })
	serve("GET /api/signals/eia-weekly-petroleum/evidence", func() any { return s.evidence })
	serve("GET /api/signals/eia-weekly-petroleum/inputs", func() any { return s.inputs })
	mux.HandleFunc("GET /api/signals/eia-weekly-petroleum/history", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("from") {
			_ = json.NewEncoder(w).Encode(s.history)
			return
		}
		if at, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("as_of")); err == nil && at.After(s.evidence.AsOf) {
			_ = json.NewEncoder(w).Encode(s.later)
			return
		}
		_ = json.NewEncoder(w).Encode(s.newest)
	})
	serve("GET /api/methods", func() any { return s.registry })
	mux.HandleFunc("GET /raw/{sha256}", s.raw)
	mux.HandleFunc("GET /log/sources/", s.serveLog)
	mux.HandleFunc("GET /log/sources/proof/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(r.PathValue("name"), ".tlog-proof")
		if index, err := strconv.Atoi(name); err == nil {
			s.prove(w, r, index)
			return
		}
		leaf := s.shut[name]
		tree := tlog.Checkpoint{Origin: "log.example", Size: 1, Root: tlog.LeafHash(leaf)}
		_, _ = w.Write(tlog.Proof{Extra: leaf, Note: []byte(tree.Body() + "\n— log.example abcd\n")}.Format())
	})
	server := httptest.NewServer(mux)
	s.t.Cleanup(server.Close)
	s.url = server.URL
}

// tree is the log of sources.
func (s *evidenceServer) tree() *tlog.Growth {
	hashes := make([]tlog.Hash, len(s.leaves))
	for i, leaf := range s.leaves {
		hashes[i] = tlog.LeafHash(leaf)
	}
	tree, err := tlog.Grow(0, tlog.EmptyRoot(), grown(nil), hashes)
	if err != nil {
		s.t.Error(err)
	}
	return tree
}

func (s *evidenceServer) note(tree *tlog.Growth) []byte {
	return []byte(tlog.Checkpoint{Origin: "log.example", Size: tree.Size, Root: tree.Root}.Body() + "\n— log.example abcd\n")
}

// prove serves the proof of a leaf of the log.
func (s *evidenceServer) prove(w http.ResponseWriter, r *http.Request, index int) {
	if index < 0 || index >= len(s.leaves) {
		http.NotFound(w, r)
		return
	}
	tree := s.tree()
	hashes, err := tlog.ProveInclusion(tree.Size, tree.Root, grown(tree.Tiles), int64(index))
	if err != nil {
		s.t.Error(err)
	}
	_, _ = w.Write(tlog.Proof{Index: int64(index), Extra: s.leaves[index], Hashes: hashes, Note: s.note(tree)}.Format())
}

// serveLog serves the checkpoint and the leaves of the log.
func (s *evidenceServer) serveLog(w http.ResponseWriter, r *http.Request) {
	if len(s.leaves) == 0 {
		http.NotFound(w, r)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/checkpoint") {
		_, _ = w.Write(s.note(s.tree()))
		return
	}
	var bundle []byte
	for _, leaf := range s.leaves {
		bundle = tlog.AppendEntry(bundle, leaf)
	}
	_, _ = w.Write(bundle)
}

// logBody appends the leaf of a body to the log.
func (s *evidenceServer) logBody(b *view.InputBody) {
	leaf, err := tlog.FormatLeaf(tlog.KindBody, b.Source, strings.Repeat("0", 64), tlog.FormatTime(b.RetrievedAt), b.SHA256, strconv.FormatInt(b.Bytes, 10), "false")
	if err != nil {
		s.t.Fatal(err)
	}
	b.LogIndex = new(int64(len(s.leaves)))
	s.leaves = append(s.leaves, leaf)
}

// grown are the tiles of a small tree.
type grown []tlog.GrownTile

func (g grown) Tiles(tiles []tlog.Tile) (out [][]byte, err error) {
	for _, t := range tiles {
		i := slices.IndexFunc(g, func(has tlog.GrownTile) bool { return has.Level == t.Level && has.N == t.N })
		if i < 0 {
			return nil, fmt.Errorf("no tile %s", t.Path())
		}
		out = append(out, g[i].Hashes)
	}
	return out, nil
}

// explain makes the evidence of an estimate, without components.
func (s *evidenceServer) explain(def signals.Definition, observed time.Time) (signals.Estimate, signals.Working) {
	e, working, _ := def.Working(s.set, s.now, series.InstantOf(observed))
	z, delta := e.Z(), e.DeltaPct()
	s.evidence.ID, s.evidence.AsOf, s.evidence.ObservedAt = def.ID, s.now, new(e.ObservedAt.Time())
	s.evidence.Numbers = view.EvidenceNumbers{
		Value: &e.Value, UncertaintyLo: &e.Lo, UncertaintyHi: &e.Hi, BaselineValue: &e.Baseline, Scale: &e.Scale, ZScore: &z, DeltaVsBaselinePct: &delta, N: e.N,
	}
	s.evidence.ValueCells, s.evidence.BaselineCells = s.cells(working.Value), s.cells(working.Baseline)
	s.evidence.IntervalCells, s.evidence.ComponentCells = s.cells(working.Interval), nil
	s.evidence.Recomputed, s.evidence.Steps = true, nil
	for _, step := range working.Steps {
		s.evidence.Steps = append(s.evidence.Steps, view.EvidenceStep{Name: step.Name, Formula: step.Formula, Note: step.Note, Result: &step.Result})
	}
	return e, working
}

func (s *evidenceServer) cells(list []signals.Cell) (out []view.EvidenceCell) {
	for _, c := range list {
		out = append(out, view.EvidenceCell{Series: string(c.Series), ObservedAt: c.ObservedAt.Time(), Value: c.Value, PublishedAt: c.VintageAt.Time(), PublishedAtAssumed: c.VintageAt.Time().Before(s.loaded), SHA256: s.from[c.Series]})
	}
	return out
}

// knownAt is when a reading of the first request became known: that was calculated, as far as it was there before.
func (s *evidenceServer) knownAt(src ingest.Source, r ingest.Reading) time.Time {
	if published := src.Published(r.Series, r.ObservedAt); published.Before(s.loaded) {
		return published
	}
	return s.loaded
}

// older makes the evidence of a point of the history, a year before the newest.
func (s *evidenceServer) older() {
	def, _ := signals.ByID("eia-weekly-petroleum")
	e, _ := s.explain(def, s.evidence.ObservedAt.AddDate(0, 0, -52*7))
	s.evidence.Newest = false
	n := s.evidence.Numbers
	p := s.version(e)
	p.Value, p.UncertaintyLo, p.UncertaintyHi = n.Value, n.UncertaintyLo, n.UncertaintyHi
	p.BaselineValue, p.ZScore, p.DeltaVsBaselinePct = n.BaselineValue, n.ZScore, n.DeltaVsBaselinePct
	s.history.Data = []view.SignalHistoryPoint{p}
	named := map[string]bool{} // evidence names the bodies of its cells alone
	for _, c := range slices.Concat(s.evidence.ValueCells, s.evidence.BaselineCells, s.evidence.IntervalCells) {
		named[c.SHA256] = true
	}
	s.evidence.Bodies = slices.DeleteFunc(s.evidence.Bodies, func(b view.EvidenceBody) bool { return !named[b.SHA256] })
}

// version is the version of a point that the history has since the server knows what it knows now.
func (s *evidenceServer) version(e signals.Estimate) (p view.SignalHistoryPoint) {
	known := e.KnownAt.Time()
	p.ObservedAt, p.KnownFrom, p.PublishedAt, p.IngestedAt = e.ObservedAt.Time(), new(s.now), known, known
	p.Value = &e.Value
	if p.PublishedAtAssumed = !known.After(s.loaded); p.PublishedAtAssumed {
		p.IngestedAt = s.loaded
	}
	return p
}

// compute makes the evidence and the snapshot of what the server knows.
func (s *evidenceServer) compute() {
	def, _ := signals.ByID("eia-weekly-petroleum")
	track := def.Compute(s.set, s.now)
	e, working := s.explain(def, track[len(track)-1].ObservedAt.Time())
	z, delta := e.Z(), e.DeltaPct()
	s.evidence.Newest = true
	s.newest.Data = nil
	for _, e := range slices.Backward(track[len(track)-10:]) {
		s.newest.Data = append(s.newest.Data, s.version(e))
	}
	s.evidence.ComponentCells = s.cells(working.Components)
	s.snapshot.UncertaintyLo, s.snapshot.UncertaintyHi = &e.Lo, &e.Hi
	s.snapshot.Components = nil
	for _, c := range def.Components(s.set, s.now) {
		part := view.Component{Name: c.Name, Label: c.Label, Unit: c.Unit, ObservedAt: new(c.ObservedAt.Time()), Value: postgres.Known(c.Value), BaselineValue: postgres.Known(c.Baseline)}
		part.DeltaVsBaselinePct, part.ZScore = postgres.Known(c.DeltaPct()), postgres.Known(c.Z())
		s.snapshot.Components = append(s.snapshot.Components, part)
	}
	s.count(def)
	s.snapshot.ID, s.snapshot.ObservedAt, s.snapshot.AsOf = def.ID, new(e.ObservedAt.Time()), new(s.now)
	s.snapshot.ServedAt, s.evidence.ServedAt = new(s.now.Add(time.Second)), new(s.now.Add(time.Second))
	s.snapshot.Freshness = view.Freshness{State: view.Fresh, MaxAgeSeconds: int64(def.Staleness / time.Second)}
	s.snapshot.License, s.evidence.License, s.inputs.License = def.License, def.License, def.License
	s.snapshot.SourceURL, s.evidence.SourceURL, s.inputs.SourceURL = def.SourceURL, def.SourceURL, def.SourceURL
	s.snapshot.Name, s.snapshot.Unit, s.snapshot.BaselineMethod, s.snapshot.Domain = def.Name, def.Unit, def.BaselineMethod, def.Domain
	s.evidence.Name, s.evidence.Unit, s.evidence.Formula, s.snapshot.Frequency = def.Name, def.Unit, def.Technique, def.Frequency
	s.snapshot.PublishedAt, s.snapshot.PublishedAtAssumed, s.snapshot.IngestedAt = new(e.KnownAt.Time()), true, new(s.loaded)
	s.snapshot.Synthetic, s.evidence.Synthetic, s.inputs.Synthetic = true, true, true
	s.snapshot.Value, s.snapshot.BaselineValue, s.snapshot.ZScore, s.snapshot.DeltaVsBaselinePct = &e.Value, &e.Baseline, &z, &delta
	s.snapshot.Provenance.CodeVersion, s.evidence.CodeVersion = new("dev"), "dev"
	s.snapshot.JSONLD.TemporalCoverage = track[0].ObservedAt.Time().Format(time.DateOnly) + "/" + e.ObservedAt.Time().Format(time.DateOnly)
	s.snapshot = view.Derived(def, s.snapshot, s.url)
	s.evidence.Environment, s.inputs.Environment, s.evidence.Disclaimer, s.inputs.Disclaimer = "demo", "demo", s.snapshot.Disclaimer, s.snapshot.Disclaimer
	s.inputs.ID, s.inputs.AsOf = def.ID, s.now
}

// list makes the list of all bodies. Each was there at the first request for its series.
func (s *evidenceServer) list() {
	s.inputs.Data, s.leaves = nil, nil
	var sums []string
	for _, b := range s.evidence.Bodies {
		in := view.InputBody{
			Source: b.Source, URL: b.URL, RetrievedAt: b.RetrievedAt, ContentType: b.ContentType, SHA256: b.SHA256, Bytes: b.Bytes, RawURL: s.url + "/raw/" + b.SHA256,
		}
		for _, use := range []struct {
			name  string
			cells []view.EvidenceCell
		}{{"value", s.evidence.ValueCells}, {"baseline", s.evidence.BaselineCells}, {"interval", s.evidence.IntervalCells}, {"components", s.evidence.ComponentCells}} {
			if slices.ContainsFunc(use.cells, func(c view.EvidenceCell) bool { return c.SHA256 == b.SHA256 }) {
				in.Uses = append(in.Uses, use.name)
			}
		}
		for id, digest := range s.from {
			if digest == b.SHA256 {
				in.AssumedSeries = append(in.AssumedSeries, string(id))
			}
		}
		if slices.ContainsFunc(s.evidence.Withdrawn, func(w view.EvidenceWithdrawal) bool { return w.SHA256 == b.SHA256 }) {
			in.Uses = append(in.Uses, "withdrawal")
		}
		in.Uses = append(in.Uses, "history")
		s.bring(&in)
		s.logBody(&in)
		s.inputs.Data, sums = append(s.inputs.Data, in), append(sums, b.SHA256)
	}
	s.inputs.Count, s.inputs.MerkleRoot = len(sums), view.MerkleRoot(sums)
	s.snapshot.Provenance.Count, s.snapshot.Provenance.MerkleRoot = s.inputs.Count, s.inputs.MerkleRoot
	s.snapshot.Provenance.Inputs = []view.ProvenanceInput{}
	for _, b := range slices.Backward(s.inputs.Data) {
		if b.Observations > 0 {
			s.snapshot.Provenance.Inputs = append(s.snapshot.Provenance.Inputs, view.ProvenanceInput{Source: b.Source, URL: b.URL, RetrievedAt: b.RetrievedAt, SHA256: b.SHA256})
		}
	}
}

// bring states how many observations in force came with a body, and when the newest was published: at the first request, that was calculated.
func (s *evidenceServer) bring(in *view.InputBody) {
	src, _ := sourceByID(in.Source)
	for id, digest := range s.from {
		if digest != in.SHA256 {
			continue
		}
		for _, p := range s.set[id] {
			at := in.RetrievedAt
			if published := src.Published(id, p.ObservedAt.Time()); published.Before(at) {
				at = published
			}
			in.Observations++
			if at.After(in.PublishedAt) {
				in.PublishedAt, in.PublishedAtAssumed = at, true
			}
		}
	}
	if in.PublishedAt.IsZero() { // it took back what another body had brought
		in.PublishedAt = in.RetrievedAt
	}
}

// count makes the record of the intervals from what was there at the first request.
func (s *evidenceServer) count(def signals.Definition) {
	basis, record := def.MeasureInterval(s.first, nil, s.loaded)
	stored := postgres.NewUncertainty(basis, record)
	s.snapshot.Uncertainty = view.UncertaintyOf(def, stored)
	arrivals, _, err := def.Arrivals(s.first, s.first, func(ids ...series.ID) (from time.Time, _ error) {
		if slices.ContainsFunc(ids, func(id series.ID) bool { return len(s.first[id]) > 0 }) {
			from = s.loaded // all was there at the first request
		}
		return from, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.snapshot.Backtest = postgres.NewBacktest(def, def.CheckedBacktest(s.first, s.loaded, arrivals).Allow(signals.Tests(1)), "dev")
}

// target adds the page of the backtest's target, and runs the backtest against it.
func (s *evidenceServer) target() {
	s.t.Helper()
	src, _ := sourceByID("eia-petroleum-spot")
	p, err := targetPage()
	if err != nil {
		s.t.Fatal(err)
	}
	s.bodies[p.digest] = p.body
	for _, v := range p.readings {
		s.first[v.Series] = append(s.first[v.Series], series.Point{ObservedAt: series.InstantOf(v.ObservedAt), VintageAt: series.InstantOf(s.knownAt(src, v)), Value: v.Value})
	}
	def, _ := signals.ByID("eia-weekly-petroleum")
	s.count(def)
	s.inputs.Data = append(s.inputs.Data, view.InputBody{
		Source: src.ID, URL: p.url, RetrievedAt: s.now, ContentType: p.contentType, SHA256: p.digest, Bytes: int64(len(p.body)), Uses: []string{"history"}, RawURL: s.url + "/raw/" + p.digest,
		PublishedAt: s.first["eia.RWTC"][len(s.first["eia.RWTC"])-1].VintageAt.Time(), PublishedAtAssumed: true,
	})
	s.logBody(&s.inputs.Data[len(s.inputs.Data)-1])
	var sums []string
	for _, b := range s.inputs.Data {
		sums = append(sums, b.SHA256)
	}
	s.inputs.Count, s.inputs.MerkleRoot = len(sums), view.MerkleRoot(sums)
	s.snapshot.Provenance.Count, s.snapshot.Provenance.MerkleRoot = s.inputs.Count, s.inputs.MerkleRoot
}

// takeBack lets the publisher take an observation of the baseline back: an hour after the page with it comes one that says "NA" in its place. The
// server knows that.
func (s *evidenceServer) takeBack() {
	s.t.Helper()
	gone, before := s.evidence.BaselineCells[2], s.evidence.Bodies[0]
	id := series.ID(gone.Series)
	src, _ := sourceByID(before.Source)
	page := s.bodies[before.SHA256]
	place, found := src.Locate(ingest.Response{Request: ingest.Request{URL: before.URL}, Body: page, FetchedAt: before.RetrievedAt}, id, gone.ObservedAt)
	if !found {
		s.t.Fatalf("the page does not state %s of %s", id, gone.ObservedAt)
	}
	digest := s.add(slices.Concat(page[:place.Offset], []byte("NA"), page[place.Offset+place.Length:]), time.Hour)
	s.now = s.evidence.Bodies[len(s.evidence.Bodies)-1].RetrievedAt
	s.set[id] = slices.DeleteFunc(slices.Clone(s.set[id]), func(p series.Point) bool { return p.ObservedAt.Time().Equal(gone.ObservedAt) })
	s.compute()
	s.evidence.Withdrawn = []view.EvidenceWithdrawal{{Series: gone.Series, ObservedAt: gone.ObservedAt, WithdrawnAt: s.now, Marker: "NA", SHA256: digest}}
	s.list()
}

// add adds a body of the crude oil page that came some time after the first.
func (s *evidenceServer) add(page []byte, after time.Duration) string {
	sum := sha256.Sum256(page)
	b := s.evidence.Bodies[0]
	b.SHA256, b.Bytes, b.RetrievedAt = hex.EncodeToString(sum[:]), int64(len(page)), b.RetrievedAt.Add(after)
	b.RawURL = s.url + "/raw/" + b.SHA256
	s.bodies[b.SHA256] = page
	s.evidence.Bodies = append(s.evidence.Bodies, b)
	return b.SHA256
}

func (s *evidenceServer) raw(w http.ResponseWriter, r *http.Request) {
	digest := r.PathValue("sha256")
	body, there := s.bodies[digest]
	switch _, shut := s.shut[digest]; {
	case shut:
		proof := "https://elsewhere.example/log/sources/proof/" + digest + ".tlog-proof"
		w.WriteHeader(http.StatusUnavailableForLegalReasons)
		_ = json.NewEncoder(w).Encode(view.Problem{Raw: &view.RawFacts{
			SHA256: digest, Bytes: int64(len(body)), Source: "eia-petroleum-weekly", Reason: "The terms forbid it.", ProofURL: &proof,
		}})
	case there:
		_, _ = w.Write(body)
	default:
		http.NotFound(w, r)
	}
}

// shutAll keeps the body of the evidence back. The leaf of the log is about a body with a hash.
func (s *evidenceServer) shutAll(sum string) {
	b := s.evidence.Bodies[0]
	leaf, err := tlog.FormatLeaf(tlog.KindBody, b.Source, strings.Repeat("0", 64), tlog.FormatTime(b.RetrievedAt), sum, strconv.FormatInt(b.Bytes, 10), "false")
	if err != nil {
		s.t.Fatal(err)
	}
	s.shut[b.SHA256] = leaf
}
