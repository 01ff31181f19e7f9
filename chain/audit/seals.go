package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"tidemark/chain/tlog"
)

// The greatest files of a log that are read, in bytes.
const (
	maxInfo   = 1 << 20
	maxNote   = 64 << 10
	maxBundle = tlog.TileWidth * (2 + tlog.MaxLeaf)
)

// sealing holds the statements of a server's log about sealed picks.
type sealing struct {
	size int64
	// vouched reports whether the reader's policy knows the log.
	vouched bool
	days    tlog.SealedDays
	notes   tlog.LoggedNotes
	// cosigned is the checkpoint whose cosignatures count, and picks are the picks below it; all are the picks below the newest checkpoint.
	cosigned   *tlog.Opened
	picks, all tlog.LoggedPicks
	// forked says how the log's checkpoints contradict each other, and misshapen names the leaves that are not in their form; empty if none.
	forked    string
	misshapen []string
	// newest is the newest checkpoint, and hashes are the hashes of its leaves.
	newest *tlog.Opened
	hashes []tlog.Hash
	// datasets are the leaves about daily data sets, by their days. newestDataset is the last day; datasetTwice says which has two leaves.
	datasets                    map[string]datasetLeaf
	newestDataset, datasetTwice string
}

// rootsAt returns the roots of the log at some of its sizes.
func (l *sealing) rootsAt(sizes ...int64) map[int64]tlog.Hash {
	wanted, edge := map[int64]tlog.Hash{}, tlog.Edge{}
	for _, size := range sizes {
		wanted[size] = tlog.EmptyRoot()
	}
	for _, h := range l.hashes {
		edge.Add(h)
		if _, ok := wanted[edge.Size]; ok {
			wanted[edge.Size] = edge.Root()
		}
	}
	return wanted
}

// saidSeals holds the statements of a server about its sealed picks.
type saidSeals struct {
	// Since is the first day that it sealed. A server that names this day has a log.
	Since  *string
	Faults []saidFault
}

// saidFault is a day that failed by the server's own word.
type saidFault struct {
	Text        string `json:"text"`
	Contradicts bool   `json:"contradicts"`
}

// errNotThere is a 404.
var errNotThere = errors.New("it is not there")

// file reads a small file of the server.
func (s *server) file(ctx context.Context, path string, limit int) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("%s has not come after %s", path, s.timeout))
	defer cancel()
	address := *s.base
	address.Path += path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := s.client.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("ask %s: %w", address.Redacted(), err)
	}
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return nil, errNotThere
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the server answers %s to %s", resp.Status, path)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", address.Redacted(), err)
	}
	if len(body) > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return body, nil
}

// followLog reads the leaves up to the newest checkpoint. The witnessed checkpoint must be a part of
// them. Otherwise the log has forked, if it signed both and the leaves match the larger one. That is the fault of the log, not of the server.
func (s *server) followLog(ctx context.Context, newest, witnessed *tlog.Opened) (*sealing, error) {
	l, size := &sealing{size: newest.Size, cosigned: witnessed, newest: newest}, max(newest.Size, witnessed.Size)
	if l.forked = tlog.Forked(newest, witnessed, nil); newest.Size == witnessed.Size && l.forked != "" {
		return l, nil
	}
	if err := s.readLeaves(ctx, l, size); err != nil {
		return nil, err
	}
	roots := l.rootsAt(newest.Size, witnessed.Size)
	if l.forked = tlog.Forked(newest, witnessed, roots); l.forked != "" {
		return l, nil
	}
	for _, c := range []*tlog.Opened{witnessed, newest} {
		if roots[c.Size] != c.Root {
			return nil, fmt.Errorf("the %d leaves of the log have another root than its checkpoint: ask a mirror: this is a fault of the carrier, not of the log", c.Size)
		}
	}
	if witnessed.Size > newest.Size {
		return nil, fmt.Errorf("the newest checkpoint of the log has %d leaves, and the witnessed one %d", newest.Size, witnessed.Size)
	}
	return l, nil
}

// readLeaves reads so many leaves.
func (s *server) readLeaves(ctx context.Context, l *sealing, size int64) error {
	for n := int64(0); n*tlog.TileWidth < size; n++ {
		t := tlog.Tile{N: n, Width: int(min(tlog.TileWidth, size-n*tlog.TileWidth)), Entries: true}
		body, err := s.file(ctx, "/log/"+t.Path(), maxBundle)
		if err != nil {
			return fmt.Errorf("the leaves of the log from %d on: %w", n*tlog.TileWidth, err)
		}
		leaves, err := tlog.SplitBundle(body)
		if err != nil || len(leaves) != t.Width {
			return fmt.Errorf("the leaves of the log from %d on are not whole", n*tlog.TileWidth)
		}
		for _, text := range leaves {
			index := int64(len(l.hashes))
			l.add(index, text)
			l.hashes = append(l.hashes, tlog.LeafHash(text))
			if index < l.cosigned.Size {
				l.picks.Add(text)
			}
			l.all.Add(text)
		}
	}
	return nil
}

func (l *sealing) add(index int64, text []byte) {
	if fault := tlog.Misshapen(index, text); fault != "" {
		l.misshapen = append(l.misshapen, fault)
	}
	leaf, err := tlog.ParseLeaf(text)
	if err != nil {
		return // kinds of later versions
	}
	l.days.Add(index, leaf)
	l.notes.Add(leaf)
	l.addDataset(index, leaf)
}

// compareSeals holds the sealed picks of the log to their reveals, and the newest picks of the log to the chain. now is the record's time, which
// a demonstration states, and reader is that of the reader's clock.
func compareSeals(w *verification, l *sealing, unread error, final *answer, now, reader time.Time) Check {
	c := Check{Name: "seals", Status: Mismatch}
	if final != nil {
		for _, f := range final.Seals.Faults {
			if f.Contradicts {
				c.Detail = fmt.Sprintf("the server itself says: %.300s", f.Text)
				return c
			}
		}
	}
	if unread != nil {
		return Check{c.Name, NotChecked, unread.Error()}
	}
	if l.forked != "" {
		return Check{c.Name, NotChecked, "the log has more than one history"}
	}
	if fault := w.strayed(&l.all); fault != "" {
		c.Detail = fault
		return c
	}
	against := slices.Clone(l.misshapen)
	if ahead := l.days.Ahead(later(now, reader)); ahead != "" {
		against = append(against, ahead)
	}
	var late, waiting []string
	sealed, open := 0, 0
	leaves := fmt.Sprintf("the %d leaves of the log that the server names", l.size)
	if l.vouched {
		leaves = fmt.Sprintf("the %d leaves of the log of your policy", l.size)
	}
	for _, d := range l.days.Days(now) {
		if d.SealIndex >= 0 {
			sealed++
		}
		switch {
		case d.Contradicts:
			against = append(against, d.Text())
		case d.Fault == tlog.SealMissing:
			waiting = append(waiting, d.Text())
		case d.Fault != "":
			late = append(late, d.Text())
		case d.RevealIndex < 0:
			open++
		}
	}
	more := ""
	if len(late) > 0 {
		more = ". " + some(late)
	}
	switch {
	case len(against) > 0:
		c.Detail = some(against) + more
	case len(waiting) > 0:
		c.Status, c.Detail = Pending, strings.Join(waiting, " ")+" The log has not gone on since."+more
	case sealed == 0:
		c.Status, c.Detail = OK, "no pick was sealed in "+leaves
	default:
		c.Status, c.Detail = OK, fmt.Sprintf("%s in %s, each opened by its reveal%s%s", count(sealed, "sealed pick"), leaves, notDue(open), more)
		if len(late) > 0 { // the record stands, and whoever revealed late could wait for what came
			c.Status = Unproven
		}
	}
	return c
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// compareNotes looks for the log's days without a pick and its corrections in the server's answer. The log was read before the answer.
func compareNotes(l *sealing, final *answer) Check {
	c := Check{"notes", OK, "the server shows each day without a pick and each correction of the log, and no others"}
	if final == nil {
		return Check{c.Name, NotChecked, "the chain is broken"}
	}
	if hidden := l.notes.Hidden(final.Gaps, final.Corrections); len(hidden) > 0 {
		c.Status, c.Detail = Mismatch, some(hidden)
	} else if lacking := l.notes.Missing(final.Gaps, final.Corrections); len(lacking) > 0 {
		c.Status, c.Detail = Unproven, some(lacking)+" Nothing is witnessed until it is."
	}
	return c
}

// strayed says which pick of the log is not the chain's, empty for none. Beyond a link that is wrong nothing is compared.
func (w *verification) strayed(picks *tlog.LoggedPicks) string {
	if picks.Fault != "" {
		return picks.Fault
	}
	for i, hash := range picks.Hashes {
		head := w.heads[int64(i+1)]
		if head.Length == 0 && w.broken != nil {
			return ""
		}
		if head.Head != hash {
			return fmt.Sprintf("pick %d of the log has the hash %s, and the chain has %q there", i+1, hash, head.Head)
		}
	}
	return ""
}

// compareLogged names the first pick that is not among the leaves of the log. The log was read before the picks, so this may be an announcement
// of the last minute.
func compareLogged(w *verification, l *sealing) Check {
	shown, logged := w.verifier.Checkpoint().Length, int64(len(l.all.Hashes))
	if logged < shown {
		return Check{"logged", Unproven, fmt.Sprintf("pick %d is not in the signed log, which has %d picks: nothing is witnessed until it is, a minute after an announcement",
			logged+1, logged)}
	}
	return Check{"logged", OK, "every pick is in the signed log"}
}

// stamps says that the time stamps beside the proofs of seals are not read: they are a third party's word, and change no verdict.
func stamps(l *sealing, now time.Time) (c Check, any bool) {
	for _, d := range l.days.Days(now) {
		any = any || d.SealIndex >= 0
	}
	return Check{"stamps", NotChecked, "time stamps (RFC 3161) beside the proofs of seals are not read here: --proof FILE --timestamp FILE reads one"}, any
}

// notDue says how many reveals are not due yet.
func notDue(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" but %d that is not due yet", n)
}
