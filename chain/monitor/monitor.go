// Package monitor follows a transparency log from outside, ours or another, and reports its faults. These are a changed history, other
// histories at its witnesses, files outside the signed tree, leaves that break the rules of the record, missing leaves, and silence. It
// keeps its memory in a folder and needs no database. Start at Monitor.
package monitor

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// The kinds of findings.
const (
	// KindInconsistent: the log signed two checkpoints that are not of one history.
	KindInconsistent = "inconsistent"
	// KindSplit: a witness holds another history than the log serves.
	KindSplit = "split-view"
	// KindRule: a signed leaf breaks a rule of the record.
	KindRule = "rule"
	// KindTampered: what is served does not belong to the signed tree. That accuses who carried it.
	KindTampered = "tampered"
	// KindStopped: nothing new, or no fresh quorum, for too long.
	KindStopped = "stopped"
	// KindMissing: the server shows something that the log lacks, or a sealed pick was not revealed in time.
	KindMissing = "missing"
	// KindRecord: the git ledger, the attestations or the server's own answers contradict the log's picks.
	KindRecord = "record"
	// KindStale: an older checkpoint is served than was seen before.
	KindStale = "stale"
	// KindLate: a fetched body was not in the log for more than a minute.
	KindLate = "late"
	// KindUnavailable: a server is unavailable.
	KindUnavailable = "away"
	// KindUnknown: the log has leaves of kinds, or forecasts of figures, that this program does not know.
	KindUnknown = "unknown"
	// KindState: the monitor's memory is short.
	KindState = "state"
)

// Kinds are all kinds of findings.
var Kinds = []string{
	KindInconsistent, KindSplit, KindRule, KindTampered, KindStopped, KindMissing, KindRecord, KindStale, KindLate, KindUnavailable, KindUnknown, KindState,
}

// Finding is an observation that the operator must check.
type Finding struct {
	Kind string
	// Subject tells findings of one kind apart. Text says what is wrong in a sentence.
	Subject, Text string
	// Warning reports whether the finding proves nothing against any party.
	Warning bool
}

// Options says what is followed.
type Options struct {
	// Log is the log, with the address of its files, and Policy names its witnesses.
	Log    tlog.PolicyLog
	Policy *tlog.Policy
	// Keys are further keys of the log, which sign while its key changes.
	Keys []tlog.PolicyLog
	// Dir is the folder of the monitor's memory.
	Dir string
	// Transport does the HTTP. Nil: http.DefaultTransport.
	Transport http.RoundTripper
	Now       func() time.Time
	// Cadence is how old the newest quorum may be or, where the policy asks no witness, the newest growth. Zero: 26 hours.
	Cadence time.Duration
	// AnswerTimeout is how long one answer may take, to its end. Zero: 30 seconds.
	AnswerTimeout time.Duration
	// PartTimeout is how long a part of a round may take: the log's files, or the server's lists. The next round continues there. Zero: 5
	// minutes.
	PartTimeout time.Duration
	// Reread is how many files of the old tree are read again each round. Zero: 256.
	Reread int
	// Server is the address of the server whose picks and forecasts the log must have, empty for none.
	Server string
	// Audit compares the server's record, its ledger and its attestations with the end of the log's picks, and returns the contradictions.
	// The environment, live or demo, comes from the first leaf of the log. Audit may be nil.
	Audit func(ctx context.Context, picks chain.Checkpoint, environment string) ([]string, error)
	// TradingDays returns the days between two, which count, on which a record has a pick or a gap. Nil: no day must have one.
	TradingDays func(from, to string) []string
	// AuditEvery is the pause between audits. Zero: 15 minutes.
	AuditEvery time.Duration
}

// Status is how a log stands, for metrics.
type Status struct {
	Origin string
	Size   int64
	// Quorum is the time of the newest quorum; zero if none was seen. Looked is the time of the last round that could read the log.
	Quorum, Looked, Began time.Time
	// Findings counts the open findings by their kinds.
	Findings map[string]int
}

// Monitor follows one log. Its rounds run in sequence; Status may be called concurrently with them.
type Monitor struct {
	o      Options
	client *http.Client
	state  *state
	// ahead is the part of a checkpoint that was read before it could not be followed further; nil if nothing.
	ahead *ahead

	audited    time.Time
	auditFound []Finding

	mu     sync.Mutex
	status Status
}

// youngFor is for how long a monitor says that its memory is young.
const youngFor = 24 * time.Hour

// New opens the memory of a log.
func New(o Options) (*Monitor, error) {
	if o.Cadence == 0 {
		o.Cadence = 26 * time.Hour
	}
	if o.AnswerTimeout == 0 {
		o.AnswerTimeout = 30 * time.Second
	}
	if o.PartTimeout == 0 {
		o.PartTimeout = 5 * time.Minute
	}
	if o.Reread == 0 {
		o.Reread = 256
	}
	if o.AuditEvery == 0 {
		o.AuditEvery = 15 * time.Minute
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, evidenceDir), 0o700); err != nil {
		return nil, fmt.Errorf("make the monitor's folder: %w", err)
	}
	s, err := readState(o.Dir, o.Log.Name(), o.Now().UTC())
	if err != nil {
		return nil, err
	}
	m := &Monitor{o: o, client: newClient(o.Transport), state: s}
	m.status = Status{Origin: s.Origin, Size: s.Size, Began: s.Began, Findings: map[string]int{}}
	return m, nil
}

// Status is how the log stood after the last round.
func (m *Monitor) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := m.status
	out.Findings = maps.Clone(out.Findings)
	return out
}

// Round looks once and returns all that is wrong now. An error says that the monitor cannot keep its own memory.
func (m *Monitor) Round(ctx context.Context) ([]Finding, error) {
	r := &round{Monitor: m, ctx: ctx, now: m.o.Now().UTC()}
	if err := r.look(); err != nil {
		return nil, err
	}
	if err := m.state.save(m.o.Dir); err != nil {
		return nil, err
	}
	kept, err := evidenceOf(m.o.Dir, m.state.Origin)
	if err != nil {
		return nil, err
	}
	for _, e := range kept {
		r.found = append(r.found, Finding{Kind: e.kind, Subject: filepath.Base(e.file), Text: e.text + ". The evidence is " + e.file + ": the alert is open until it is moved away."})
	}
	if age := r.now.Sub(m.state.Began); age < youngFor {
		text := "The memory of this monitor begins at " + m.state.Began.Format(time.RFC3339) + ": what was served before was not compared"
		if m.state.Lost {
			text += ". There was a state before, and it is lost or damaged"
		} else {
			text += ". Was this not its first start, then its state is lost"
		}
		r.find(KindState, "", !m.state.Lost, "%s.", text)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.status.Size = m.state.Size
	if r.reached {
		m.status.Looked = r.now
	}
	if r.quorum.After(m.status.Quorum) {
		m.status.Quorum = r.quorum
	}
	m.status.Findings = map[string]int{}
	for _, f := range r.found {
		m.status.Findings[f.Kind]++
	}
	return r.found, nil
}

// round is one look.
type round struct {
	*Monitor

	ctx     context.Context //nolint:containedctx // it lives for the round
	now     time.Time
	found   []Finding
	reached bool
	quorum  time.Time
}

func (r *round) find(kind, subject string, warning bool, format string, args ...any) {
	r.found = append(r.found, Finding{Kind: kind, Subject: subject, Warning: warning, Text: fmt.Sprintf(format, args...)})
}

// prove keeps a contradiction that the log signed, once: about is its name within its kind. A fork that grows, or that is cosigned again,
// is the same contradiction.
func (r *round) prove(kind, about, text string, parts ...[]byte) error {
	return keep(r.o.Dir, r.state.Origin, kind, about, text, parts...)
}

// open opens a checkpoint that any key of the log has signed.
func (r *round) open(signed []byte, witnesses ...*tlog.Cosigner) (*tlog.Opened, error) {
	return tlog.OpenAny(signed, append([]tlog.PolicyLog{r.o.Log}, r.o.Keys...), witnesses...)
}

func (r *round) look() error {
	// The witnesses come first: the log signed their checkpoints before the monitor reads its own.
	held := r.askWitnesses()
	prefix := trimmed(r.o.Log.URL)
	second := r.askWitnessed(prefix)
	note, err := r.get(r.ctx, prefix+"/checkpoint", maxNote)
	if err != nil {
		r.find(KindUnavailable, "log", true, "The log %s cannot be read: %v.", r.state.Origin, err)
		r.silence(held, nil)
		return nil
	}
	opened, err := r.open(note, r.o.Policy.Cosigners()...)
	if err != nil {
		r.find(KindTampered, "checkpoint", false, "What the log %s serves as its checkpoint is not one: %v.", r.state.Origin, err)
		r.silence(held, nil)
		return nil
	}
	r.reached = true
	ctx, stop := r.part("its answers")
	defer stop()
	f := &files{ctx: ctx, get: r.get, prefix: prefix, size: opened.Size, kept: map[tlog.Tile][]byte{}}
	whole, err := r.follow(f, opened)
	if err != nil {
		return err
	}
	if whole {
		if err := r.compare(f, opened, held); err != nil {
			return err
		}
		if err := r.compareWitnessed(f, opened, second); err != nil {
			return err
		}
		r.state.Rules.Seen = r.now
		r.reread(f)
		if f.unavailable != nil {
			r.find(KindUnavailable, "files", true, "Not all files of the log %s that were due in this round could be read: %v.", r.state.Origin, f.unavailable)
		}
	}
	r.silence(held, opened)
	if whole {
		if err := r.reveals(); err != nil {
			return err
		}
		r.content()
	}
	r.server()
	r.audit()
	return nil
}

// part returns the context of a part of a round. A server that sends each answer just in time would hold the round for as long as it has
// answers.
func (r *round) part(what string) (ctx context.Context, stop context.CancelFunc) {
	return context.WithTimeoutCause(r.ctx, r.o.PartTimeout, fmt.Errorf("%s took more than %s together; the next round continues", what, r.o.PartTimeout))
}

// follow brings the memory to a checkpoint, and reports whether it is there.
func (r *round) follow(f *files, o *tlog.Opened) (whole bool, err error) {
	s := r.state
	switch {
	case o.Size == s.Size && o.Root == s.Root:
		s.Note = o.Note
		return true, nil
	case o.Size == s.Size:
		return false, r.prove(KindInconsistent, "", fmt.Sprintf("The log %s signed two roots of size %d", s.Origin, s.Size), s.Note, o.Note)
	case o.Size < s.Size:
		return false, r.shrunk(f, o)
	}
	a := r.ahead
	r.ahead = nil
	if a == nil || a.size != s.Size || a.root != s.Root || a.edge.Size > o.Size {
		a = &ahead{size: s.Size, root: s.Root, edge: s.Edge.Clone(), rules: s.Rules.clone()}
	}
	seen := r.now
	if s.Size == 0 {
		seen = time.Time{}
	}
	for a.edge.Size < o.Size {
		leaves, err := f.leaves(a.edge.Size, min(o.Size, a.edge.Size+chunk))
		if err != nil {
			if f.unavailable != nil {
				r.ahead = a
			}
			return false, r.unread(f, o, err)
		}
		for _, leaf := range leaves {
			if fault := a.rules.add(a.edge.Size, leaf, seen); fault != "" && len(a.broken) < maxFaults {
				a.broken = append(a.broken, fmt.Sprintf("Leaf %d of %s: %s", a.edge.Size, s.Origin, fault))
			}
			a.edge.Add(tlog.LeafHash(leaf))
		}
	}
	if a.edge.Root() != o.Root {
		return false, r.unread(f, o, fmt.Errorf("the leaves up to %d have another root than the checkpoint", o.Size))
	}
	for _, fault := range a.broken {
		if err := r.prove(KindRule, fault, fault, o.Note); err != nil {
			return false, err
		}
	}
	if a.rules.UnknownLeafKinds > s.Rules.UnknownLeafKinds {
		s.UnknownAt = r.now
	}
	if a.rules.UnknownFigures > s.Rules.UnknownFigures {
		s.FiguresUnknownAt = r.now
	}
	if a.rules.Late > s.Rules.Late {
		s.LateAt = r.now
	}
	s.Note, s.Size, s.Root, s.Edge, s.GrownAt, s.Rules = o.Note, o.Size, o.Root, a.edge, r.now, a.rules
	return true, nil
}

// ahead holds the leaves that were read beyond the memory's size. They count for nothing until a signed root confirms them.
type ahead struct {
	// size and root are the size and root of the memory that it continues.
	size int64
	root tlog.Hash
	// edge is the edge of the leaves that were read; rules and broken are the findings about them.
	edge   tlog.Edge
	rules  rules
	broken []string
}

const (
	// chunk is how many leaves are held at once: a log may have long ones.
	chunk = tlog.TileWidth
	// maxFaults is how many leaves that break a rule, or entries that are missing, are said of one round.
	maxFaults = 20
)

// unread records why a checkpoint could not be followed: the log signed another history, or its files do not match the tree.
func (r *round) unread(f *files, o *tlog.Opened, why error) error {
	if f.unavailable != nil {
		read := r.state.Size
		if r.ahead != nil {
			read = r.ahead.edge.Size
		}
		r.find(KindUnavailable, "log", true, "The log %s cannot be read: %v. Of its %d leaves %d were read.", r.state.Origin, f.unavailable, o.Size, read)
		return nil
	}
	proof, err := tlog.ProveConsistency(o.Size, o.Root, f, r.state.Size)
	if err == nil && tlog.CheckConsistency(proof, o.Size, o.Root, r.state.Size, r.state.Root) != nil {
		return r.prove(KindInconsistent, "", fmt.Sprintf("The log %s signed size %d, which does not continue the size %d that it signed before",
			r.state.Origin, o.Size, r.state.Size), r.state.Note, o.Note)
	}
	r.find(KindTampered, "tree", false, "The files of %s are not those of the tree that it signed: %v.", r.state.Origin, why)
	return nil
}

// shrunk judges a checkpoint that is smaller than the one before: an old one of this history is only stale.
func (r *round) shrunk(f *files, o *tlog.Opened) error {
	s := r.state
	f.size = s.Size
	proof, err := tlog.ProveConsistency(s.Size, s.Root, f, o.Size)
	switch {
	case err == nil && tlog.CheckConsistency(proof, s.Size, s.Root, o.Size, o.Root) != nil:
		return r.prove(KindInconsistent, "", fmt.Sprintf("The log %s signed size %d, which is not what size %d continued", s.Origin, o.Size, s.Size), s.Note, o.Note)
	case err == nil:
		r.find(KindStale, "", true, "The log %s serves size %d, and size %d was signed before.", s.Origin, o.Size, s.Size)
	default:
		r.find(KindStopped, "shrunk", false, "The log %s serves size %d, size %d was signed before, and the files that connect them are not there: %v.",
			s.Origin, o.Size, s.Size, err)
	}
	return nil
}

// reread reads old files again, some each round, and holds them to the tree.
func (r *round) reread(f *files) {
	bundles := (r.state.Size + tlog.TileWidth - 1) / tlog.TileWidth
	for range min(int64(r.o.Reread), bundles) {
		n := r.state.Next % bundles
		from := n * tlog.TileWidth
		leaves, err := f.leaves(from, min(r.state.Size, from+tlog.TileWidth))
		if err == nil {
			err = tlog.CheckLeaves(r.state.Size, r.state.Root, f, from, hashesOf(leaves))
		}
		if err != nil {
			if f.unavailable == nil {
				r.find(KindTampered, "tree", false, "The files of %s from leaf %d on are not those of the tree that it signed: %v.", r.state.Origin, from, err)
			}
			return // the same files are read first the next time
		}
		r.state.Next = (n + 1) % bundles
	}
}
