package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
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

// sealing is what a server's log says of sealed picks.
type sealing struct {
	size int64
	days tlog.SealedDays
	// seq and hash are of the newest pick in the log; seq is 0 without one.
	seq  int64
	hash string
}

// saidSeals is what a server says of its own sealed picks.
type saidSeals struct {
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

// readSeals reads the whole log of a server, computes its root, and follows the seals. unread says why it could not; nil if it could.
func (s *server) readSeals(ctx context.Context) (l *sealing, unread error) {
	info, err := s.file(ctx, "/api/v1/info", maxInfo)
	if err != nil && !errors.Is(err, errNotThere) {
		return nil, err
	}
	var said struct {
		Data struct {
			Log *struct {
				VKey string `json:"vkey"`
			} `json:"log"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal(info, &said) != nil || said.Data.Log == nil {
		return nil, errors.New("the server names no transparency log")
	}
	key, err := tlog.NewVerifier(said.Data.Log.VKey)
	if err != nil {
		return nil, fmt.Errorf("the key of the log that the server names is not one: %w", err)
	}
	signed, err := s.file(ctx, "/log/checkpoint", maxNote)
	if err != nil {
		return nil, fmt.Errorf("the checkpoint of the log: %w", err)
	}
	c, err := tlog.Open(signed, key)
	if err != nil {
		return nil, fmt.Errorf("what the server serves as the checkpoint of its log is not one: %w", err)
	}
	return s.followLog(ctx, c.Checkpoint)
}

func (s *server) followLog(ctx context.Context, c tlog.Checkpoint) (*sealing, error) {
	l, edge := &sealing{size: c.Size}, tlog.Edge{}
	for n := int64(0); n*tlog.TileWidth < c.Size; n++ {
		t := tlog.Tile{N: n, Width: int(min(tlog.TileWidth, c.Size-n*tlog.TileWidth)), Entries: true}
		body, err := s.file(ctx, "/log/"+t.Path(), maxBundle)
		if err != nil {
			return nil, fmt.Errorf("the leaves of the log from %d on: %w", n*tlog.TileWidth, err)
		}
		leaves, err := tlog.SplitBundle(body)
		if err != nil || len(leaves) != t.Width {
			return nil, fmt.Errorf("the leaves of the log from %d on are not whole", n*tlog.TileWidth)
		}
		for _, text := range leaves {
			l.add(edge.Size, text)
			edge.Add(tlog.LeafHash(text))
		}
	}
	if edge.Root() != c.Root {
		return nil, fmt.Errorf("the %d leaves of the log have another root than its checkpoint: ask a mirror, this accuses who carried them", c.Size)
	}
	return l, nil
}

func (l *sealing) add(index int64, text []byte) {
	leaf, err := tlog.ParseLeaf(text)
	if err != nil {
		return // kinds of later versions
	}
	l.days.Add(index, leaf)
	if leaf.Kind == tlog.KindPick {
		if seq, err := strconv.ParseInt(leaf.Get("seq"), 10, 64); err == nil && seq > l.seq {
			l.seq, l.hash = seq, leaf.Get("hash")
		}
	}
}

// compareSeals holds the sealed picks of the log to their reveals, and the log's picks to the chain.
func compareSeals(w *verification, l *sealing, unread error, final *answer, now time.Time) Check {
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
	if head := w.heads[l.seq]; w.broken == nil && l.seq > 0 && (head.Length == 0 || head.Head != l.hash) {
		c.Detail = fmt.Sprintf("pick %d of the log has the hash %s, and the chain has %q there", l.seq, l.hash, head.Head)
		return c
	}
	var against, late, waiting []string
	sealed, open := 0, 0
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
		c.Status, c.Detail = OK, fmt.Sprintf("no pick was sealed in the %d leaves of the log", l.size)
	default:
		c.Status, c.Detail = OK, fmt.Sprintf("%s in the %d leaves of the log, each opened by its reveal%s%s", count(sealed, "sealed pick"), l.size, notDue(open), more)
	}
	return c
}

// notDue says how many reveals are not due yet.
func notDue(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" but %d that is not due yet", n)
}
