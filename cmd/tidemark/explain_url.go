package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/chain/audit"
	"tidemark/chain/tlog"
	"tidemark/ingest"
	"tidemark/internal/series"
	"tidemark/signals"
)

// What comes of a comparison with a server's word.
const (
	agrees  = "agree"
	differ  = "differ"
	hidden  = "withheld" // the licence keeps the bytes back: only their hash is known
	missing = "missing"  // the server does not serve them, for another reason
)

// comparison is one of them.
type comparison struct {
	// Of is body, value, baseline, interval, component, withdrawn, number, record or list.
	Of     string `json:"of"`
	Status string `json:"status"`
	Name   string `json:"name"`
	Detail string `json:"detail"`
}

// outside is the examination of a server's evidence, from outside.
type outside struct {
	reader *audit.Reader
	def    signals.Definition
	stated view.Evidence
	// parsed are the readings of each body that was downloaded, by its SHA-256, and covered what it claims to hold all of.
	parsed  map[string][]ingest.Reading
	covered map[string][]ingest.Coverage
	// vintages are the earlier values that bodies state themselves.
	vintages map[string][]series.Observation
	// came are the readings of bodies that the list has at other times than the evidence: a parser may read more of the same bytes later.
	came map[arrival]ingest.Batch
	// readings is how many there are.
	readings int
	// withdrawn are the observations that their publishers took back.
	withdrawn map[observation]bool
	// place returns where a body states a reading of the value.
	place map[string]func(id series.ID, at time.Time) string
	// components are ours.
	components []signals.Component
	// drawn counts the bodies that say that a sandbox made them.
	drawn int
	// withheld are the bodies that the licence keeps back.
	withheld map[string]bool
	found    []comparison
	// knownAt is when the newest input of the number became known, by the cells. made has that of each point of the track, by its time of
	// observation in microseconds, if all bytes were read.
	knownAt time.Time
	made    map[int64]time.Time
	// point is the number's version in force in the history. own are all its versions, if it is not the newest. earlier are versions as of the
	// instant that the reader named.
	point        *view.SignalHistoryPoint
	own, earlier []view.SignalHistoryPoint
}

var (
	errOtherwise = errors.New("the evidence does not hold: see what differs")
	errTooMany   = errors.New("more values than are read")
	errUnread    = errors.New("not all bytes could be read, so not all was compared")
)

// fromOutside downloads the evidence of a number and its bytes from a server, hashes and parses them, and computes the number again. It
// trusts nothing that the server says except the bytes.
func (c explainCommand) fromOutside(ctx context.Context, p *program, def signals.Definition) error {
	reader, err := audit.NewReader(c.URL, maxEvidenceBytes)
	if err != nil {
		return err
	}
	o := outside{
		reader: reader, def: def,
		parsed: map[string][]ingest.Reading{}, covered: map[string][]ingest.Coverage{}, vintages: map[string][]series.Observation{}, came: map[arrival]ingest.Batch{}, withdrawn: map[observation]bool{},
		place: map[string]func(series.ID, time.Time) string{}, withheld: map[string]bool{},
	}
	query := url.Values{}
	if c.Date != "" {
		query.Set("date", c.Date)
	}
	if !c.AsOf.IsZero() {
		query.Set("as_of", c.AsOf.UTC().Format(time.RFC3339Nano))
	}
	path := "/api/signals/" + def.ID
	if !c.AsOf.IsZero() { // before the evidence, whose snapshot is then no older than these versions
		if o.earlier, err = o.versionsAsOf(ctx, path, c.AsOf, time.Time{}); err != nil {
			return err
		}
	}
	if err := o.reader.JSON(ctx, path+"/evidence?"+query.Encode(), maxEvidenceAnswer, &o.stated); err != nil {
		return fmt.Errorf("read the evidence of %s at %s: %w", def.ID, c.URL, err)
	}
	if err := o.acceptable(); err != nil {
		return fmt.Errorf("the evidence of %s: %w", c.URL, err)
	}
	for _, b := range o.stated.Bodies {
		if err := o.body(ctx, b); err != nil {
			return err
		}
	}
	o.cells("value", o.stated.ValueCells)
	o.cells("baseline", o.stated.BaselineCells)
	o.cells("interval", o.stated.IntervalCells)
	o.cells("component", o.stated.ComponentCells)
	for _, w := range o.stated.Withdrawn {
		o.withdrawal(w)
	}
	o.numbers()
	if err := o.lists(ctx, path); err != nil {
		return err
	}
	if err := o.report(p.stdout, c.JSON); err != nil {
		return err
	}
	switch {
	case o.count("", differ) > 0:
		return errOtherwise
	case o.count("", missing) > 0:
		return errUnread
	}
	return nil
}

// acceptable refuses evidence of nothing, and of more than an honest server states.
func (o *outside) acceptable() error {
	if o.stated.ID != o.def.ID || o.stated.ObservedAt == nil || len(o.stated.ValueCells) == 0 {
		return fmt.Errorf("it states no observations behind %s", o.def.ID)
	}
	if n, cells := len(o.stated.Bodies), len(o.allCells())+len(o.stated.Withdrawn); n > maxEvidenceBodies || cells > maxEvidenceCells {
		return fmt.Errorf("it states %d bodies and %d observations behind %s: more than %d and %d are not read", n, cells, o.def.ID,
			maxEvidenceBodies, maxEvidenceCells)
	}
	return nil
}

// allCells are all stated cells; some may be in it several times.
func (o *outside) allCells() []view.EvidenceCell {
	return slices.Concat(o.stated.ValueCells, o.stated.BaselineCells, o.stated.IntervalCells, o.stated.ComponentCells)
}

func (o *outside) say(of, status, name, format string, args ...any) {
	o.found = append(o.found, comparison{of, status, name, fmt.Sprintf(format, args...)})
}

// count counts the comparisons of a kind with a status. An empty kind means all.
func (o *outside) count(of, status string) (n int) {
	for _, c := range o.found {
		if (of == "" || c.Of == of) && c.Status == status {
			n++
		}
	}
	return n
}

// body downloads a body, hashes it and parses it.
func (o *outside) body(ctx context.Context, b view.EvidenceBody) error {
	if len(b.SHA256) != 64 || strings.Trim(b.SHA256, "0123456789abcdef") != "" {
		o.say("body", differ, b.SHA256, "this is no SHA-256")
		return nil
	}
	status, bytes, err := o.reader.Raw(ctx, "/raw/"+b.SHA256, maxRawBody)
	if err != nil {
		return fmt.Errorf("read a body of %s: %w", o.reader.Base(), err)
	}
	switch status {
	case http.StatusOK:
	case http.StatusUnavailableForLegalReasons:
		return o.keptBack(ctx, b, bytes)
	default:
		o.say("body", missing, b.SHA256, "the server answers %d", status)
		return nil
	}
	sum := sha256.Sum256(bytes)
	if got := hex.EncodeToString(sum[:]); got != b.SHA256 {
		o.say("body", differ, b.SHA256, "the bytes of %s have the SHA-256 %s", b.URL, got)
		return nil
	}
	if int64(len(bytes)) != b.Bytes {
		o.say("body", differ, b.SHA256, "it has %d bytes, and %d are stated", len(bytes), b.Bytes)
		return nil
	}
	if drawnBySandbox(bytes) {
		o.drawn++
	}
	src, known := sourceByID(b.Source)
	if !known {
		o.say("body", differ, b.SHA256, "this program knows no source %q", b.Source)
		return nil
	}
	batch, n, err := o.parse(src, b, bytes)
	if errors.Is(err, errTooMany) {
		return err
	}
	if err != nil {
		o.say("body", differ, b.SHA256, "our parser does not read it: %v", err)
		return nil
	}
	o.parsed[b.SHA256], o.covered[b.SHA256], o.vintages[b.SHA256] = batch.Readings, batch.Covers, batch.Vintages
	o.say("body", agrees, b.SHA256, "%d bytes of %s, %d readings", len(bytes), b.Source, n)
	if !slices.ContainsFunc(o.stated.ValueCells, func(c view.EvidenceCell) bool { return c.SHA256 == b.SHA256 }) {
		return nil
	}
	o.place[b.SHA256] = func(id series.ID, at time.Time) string {
		if src.Locate == nil {
			return ""
		}
		place, _ := src.Locate(ingest.Response{Request: ingest.Request{URL: b.URL}, Body: bytes, FetchedAt: b.RetrievedAt}, id, at)
		return place.Where
	}
	return nil
}

// parse reads a body as it came at a time, and keeps the readings of the method's series. n is how many the body has.
func (o *outside) parse(src ingest.Source, b view.EvidenceBody, bytes []byte) (batch ingest.Batch, n int, err error) {
	batch, err = ingest.Parse(src, series.Fetch{
		Source: b.Source, URL: b.URL, Status: http.StatusOK, Header: map[string]string{"Content-Type": b.ContentType}, FetchedAt: b.RetrievedAt,
		SHA256: b.SHA256, Bytes: b.Bytes,
	}, bytes)
	if err != nil {
		return batch, 0, err
	}
	n = len(batch.Readings)
	batch.Readings = slices.DeleteFunc(batch.Readings, func(r ingest.Reading) bool { return !slices.Contains(o.def.BacktestInputs(), r.Series) })
	if o.readings += len(batch.Readings); o.readings > maxEvidenceReadings {
		return batch, n, fmt.Errorf("the bodies of %s state %w: %d", o.reader.Base(), errTooMany, maxEvidenceReadings)
	}
	return batch, n, nil
}

// keptBack takes in the server's word on a body that a licence keeps back, and the proof that its log names the hash.
func (o *outside) keptBack(ctx context.Context, b view.EvidenceBody, answer []byte) error {
	o.withheld[b.SHA256] = true
	var problem view.Problem
	if err := audit.Decode(answer, &problem); err != nil || problem.Raw == nil {
		o.say("body", differ, b.SHA256, "the server keeps it back and does not describe it")
		return nil
	}
	facts := problem.Raw
	if facts.SHA256 != b.SHA256 || facts.Bytes != b.Bytes || facts.Source != b.Source {
		o.say("body", differ, b.SHA256, "kept back, and described as %d bytes of %s with the SHA-256 %s", facts.Bytes, facts.Source, facts.SHA256)
		return nil
	}
	if facts.ProofURL == nil {
		o.say("body", hidden, b.SHA256, "%d bytes of %s: %s It is in no log: nothing proves the hash", b.Bytes, b.Source, facts.Reason)
		return nil
	}
	// The proof is read at the address that the reader gave: a server may name any other.
	at, err := url.Parse(*facts.ProofURL)
	if err != nil {
		o.say("body", differ, b.SHA256, "the address of its proof is none")
		return nil
	}
	status, text, err := o.reader.Raw(ctx, at.EscapedPath(), maxRawBody)
	if err != nil {
		return fmt.Errorf("read a proof of %s: %w", o.reader.Base(), err)
	}
	if status != http.StatusOK {
		o.say("body", missing, b.SHA256, "kept back, and its proof is answered with %d", status)
		return nil
	}
	proof, _, err := leafOf(text, b)
	if err != nil {
		o.say("body", differ, b.SHA256, "kept back, and its proof does not hold: %v", err)
		return nil
	}
	tree, _ := tlog.ParseBody(tlog.SignedBody(proof.Note)) // leafOf read it
	o.say("body", hidden, b.SHA256, "%d bytes of %s: %s Leaf %d of %s names the hash; who signed that log, tidemark verify --proof tells",
		b.Bytes, b.Source, facts.Reason, proof.Index, tree.Origin)
	return nil
}

// leafOf checks that a proof is of a leaf about a body, and that its tree holds the leaf.
func leafOf(text []byte, b view.EvidenceBody) (proof tlog.Proof, leaf tlog.Leaf, err error) {
	if proof, err = tlog.ParseProof(text); err != nil {
		return proof, leaf, err
	}
	if leaf, err = tlog.ParseLeaf(proof.Extra); err != nil {
		return proof, leaf, err
	}
	if leaf.Get("sha256") != b.SHA256 || leaf.Get("source") != b.Source || leaf.Get("bytes") != strconv.FormatInt(b.Bytes, 10) {
		return proof, leaf, errors.New("its leaf is about another body")
	}
	checkpoint, err := tlog.ParseBody(tlog.SignedBody(proof.Note))
	if err != nil {
		return proof, leaf, err
	}
	return proof, leaf, proof.Check(checkpoint, tlog.LeafHash(proof.Extra))
}

// cells holds the stated values of cells against the readings of the bytes.
func (o *outside) cells(of string, stated []view.EvidenceCell) {
	for _, c := range stated {
		name := fmt.Sprintf("%s of %s", c.Series, c.ObservedAt.UTC().Format(time.DateOnly))
		if c.Superseded {
			name += ", as it was before"
		}
		readings, read := o.parsed[c.SHA256]
		switch {
		case read:
		case o.withheld[c.SHA256]:
			o.say(of, hidden, name, "%s, as the server says: the bytes are kept back", c.Figure())
			continue
		case slices.ContainsFunc(o.stated.Bodies, func(b view.EvidenceBody) bool { return b.SHA256 == c.SHA256 }):
			o.say(of, missing, name, "its body was not read")
			continue
		default:
			o.say(of, differ, name, "its body %s is not among those that the server names", c.SHA256)
			continue
		}
		i := slices.IndexFunc(readings, func(r ingest.Reading) bool {
			return string(r.Series) == c.Series && r.ObservedAt.Equal(c.ObservedAt) && r.Marker == ""
		})
		switch {
		case i < 0:
			o.say(of, differ, name, "the server says %s, and the bytes do not state it", c.Figure())
		case !nearly(readings[i].Value, c.Value) && o.shortened(c, readings[i].Value):
			o.say(of, agrees, name, "%s, and the bytes %v: the server stored it with fewer digits", c.Figure(), readings[i].Value)
		case !nearly(readings[i].Value, c.Value):
			o.say(of, differ, name, "the server says %s, and the bytes %v", c.Figure(), readings[i].Value)
		default:
			where := ""
			if of == "value" {
				where = o.place[c.SHA256](readings[i].Series, c.ObservedAt)
			}
			o.say(of, agrees, name, "%s, %s", c.Figure(), where)
		}
	}
}

// shortened reports whether a stated value equals the value in the bytes with fewer decimals, and no further from it than what counts as no
// revision. An older program may have kept fewer.
func (o *outside) shortened(c view.EvidenceCell, bytes float64) bool {
	_, fraction, _ := strings.Cut(c.Figure(), ".")
	scale := math.Pow10(len(fraction))
	for _, b := range o.stated.Bodies {
		if src, known := sourceByID(b.Source); known && b.SHA256 == c.SHA256 {
			return math.Abs(bytes-c.Value) < src.Rounding(series.ID(c.Series)) && nearly(math.Round(bytes*scale)/scale, c.Value)
		}
	}
	return false
}

// servedDigits is the relative difference that the rounding of served numbers makes.
const servedDigits = 1e-10

func nearly(a, b float64) bool {
	return math.Abs(a-b) <= servedDigits*max(1, math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

// lists compares the evidence with the snapshot and with the list of all bodies.
func (o *outside) lists(ctx context.Context, path string) error {
	query := "?as_of=" + url.QueryEscape(o.stated.AsOf.UTC().Format(time.RFC3339Nano))
	var snapshot view.SignalSnapshot
	if err := o.reader.JSON(ctx, path+query, maxEvidenceAnswer, &snapshot); err != nil {
		return fmt.Errorf("read the snapshot: %w", err)
	}
	var all view.Inputs
	if err := o.reader.JSON(ctx, path+"/inputs"+query, maxEvidenceAnswer, &all); err != nil {
		return fmt.Errorf("read the list of all bodies: %w", err)
	}
	beside, err := o.served(ctx, path, snapshot)
	if err != nil {
		return err
	}
	numbers := o.stated.Numbers
	for _, n := range []struct {
		name    string
		in, out *float64
	}{
		{"value", numbers.Value, beside.Value},
		{"uncertainty_lo", numbers.UncertaintyLo, beside.UncertaintyLo},
		{"uncertainty_hi", numbers.UncertaintyHi, beside.UncertaintyHi},
		{"baseline_value", numbers.BaselineValue, beside.BaselineValue},
		{"z_score", numbers.ZScore, beside.ZScore},
		{"delta_vs_baseline_pct", numbers.DeltaVsBaselinePct, beside.DeltaVsBaselinePct},
	} {
		if decimal(n.in) != decimal(n.out) {
			o.say("list", differ, n.name, "the evidence says %s, and the %s %s", decimal(n.in), o.servedAs(), decimal(n.out))
		}
	}
	sums := make([]string, len(all.Data))
	for i, b := range all.Data {
		sums[i] = b.SHA256
	}
	root := view.MerkleRoot(sums)
	if root != all.MerkleRoot || root != snapshot.Provenance.MerkleRoot || len(sums) != all.Count || len(sums) != snapshot.Provenance.Count {
		o.say("list", differ, "provenance", "%d bodies have the root %s; the list says %d and %s, the snapshot %d and %s", len(sums), root,
			all.Count, all.MerkleRoot, snapshot.Provenance.Count, snapshot.Provenance.MerkleRoot)
	}
	for _, b := range o.stated.Bodies {
		if !slices.Contains(sums, b.SHA256) {
			o.say("list", differ, b.SHA256, "it is not in the list of the bodies that the signal rests on")
		}
	}
	o.beside(all, snapshot)
	o.named(all, snapshot)
	if o.count("list", differ) == 0 {
		o.say("list", agrees, "provenance", "%d bodies, root %s, and the %s has the same numbers", len(sums), root, o.servedAs())
	}
	if o.stated.Newest {
		o.sameComponents(snapshot.Components)
	}
	if err := o.record(ctx, all, snapshot); err != nil {
		return err
	}
	if err := o.versions(ctx, path, snapshot); err != nil {
		return err
	}
	return o.places(ctx, all)
}

// served returns the second place where the numbers are served: the snapshot, or its history if they were never its newest ones.
func (o *outside) served(ctx context.Context, path string, snapshot view.SignalSnapshot) (view.SignalHistoryPoint, error) {
	var point view.SignalHistoryPoint
	if o.stated.Newest {
		point.Value, point.UncertaintyLo, point.UncertaintyHi = snapshot.Value, snapshot.UncertaintyLo, snapshot.UncertaintyHi
		point.BaselineValue, point.ZScore, point.DeltaVsBaselinePct = snapshot.BaselineValue, snapshot.ZScore, snapshot.DeltaVsBaselinePct
		return point, nil
	}
	var err error
	if o.own, err = o.versionsAsOf(ctx, path, o.stated.AsOf, *o.stated.ObservedAt); err != nil {
		return point, err
	}
	if o.point = inForce(o.own, *o.stated.ObservedAt); o.point == nil {
		o.say("list", differ, "observed_at", "the evidence is of a point of the history, and the history has none about %s", instant(o.stated.ObservedAt))
		return point, nil
	}
	return *o.point, nil
}

// servedAs names the second place where the numbers are served.
func (o *outside) servedAs() string {
	if o.stated.Newest {
		return "snapshot"
	}
	return "history"
}

// Limits of a server's responses: a body, any other response, and all together. Evidence of years has some hundred bodies.
const (
	maxRawBody        = 64 << 20
	maxEvidenceAnswer = 16 << 20
	maxEvidenceBytes  = 512 << 20
	maxEvidenceBodies = 5_000
	maxEvidenceCells  = 20_000
	// maxEvidenceReadings bounds what the parsers read of all bodies.
	maxEvidenceReadings = 2_000_000
)
