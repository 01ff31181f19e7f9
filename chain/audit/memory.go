package audit

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tidemark/chain/tlog"
)

// Memory has the last checkpoint of each log that a reader has seen, and which log a server had. A log that shrinks or forks later contradicts
// it, and a server cannot hide a log that it once had.
type Memory struct {
	// Logs are signed checkpoints by the name of their log and the id of its key, as "origin+0123abcd". Files of older versions have the
	// origin alone.
	Logs map[string]string `json:"logs"`
	// Servers are names of logs by the server's address.
	Servers map[string]string `json:"servers"`
}

// SeenLog is one checkpoint of a log.
type SeenLog struct {
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	// Root is in base64.
	Root string `json:"root"`
	// Note is the signed checkpoint.
	Note string `json:"checkpoint"`
}

func newSeenLog(c tlog.Checkpoint, note []byte) *SeenLog {
	return &SeenLog{c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]), string(note)}
}

// LogReport is the log that an audit read, and what the reader knew of it before.
type LogReport struct {
	// Served is the newest checkpoint; null if the log was not read.
	Served *SeenLog `json:"served"`
	// Kept is the reader's checkpoint that contradicts it, or else the newest that they kept; null without one.
	Kept *SeenLog `json:"kept"`
	// Named reports whether the log's key and witnesses are the server's word.
	Named bool `json:"named"`
}

// sandboxOrigin begins the origins of sandboxes: each is made again, with another key under the same name.
const sandboxOrigin = "sandbox.invalid/"

// ReadMemory reads a file that Save wrote. A missing file is an empty memory.
func ReadMemory(file string) (*Memory, error) {
	m := &Memory{}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("what was kept of earlier verifications: %w", err)
	}
	if m.Logs == nil {
		m.Logs = map[string]string{}
	}
	if m.Servers == nil {
		m.Servers = map[string]string{}
	}
	return m, nil
}

// Save writes the memory. What another verification wrote meanwhile stays, unless it is older.
func (m *Memory) Save(file string) error {
	other, err := ReadMemory(file)
	if err != nil {
		return err
	}
	for name, note := range m.Logs {
		if sizeOf(note) >= sizeOf(other.Logs[name]) {
			other.Logs[name] = note
		}
	}
	maps.Copy(other.Servers, m.Servers)
	text, err := json.MarshalIndent(other, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep the checkpoint: %w", err)
	}
	temporary, err := os.CreateTemp(dir, ".verified-*")
	if err != nil {
		return fmt.Errorf("keep the checkpoint: %w", err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(append(text, '\n'))
	if closed := temporary.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("keep the checkpoint: %w", err)
	}
	return nil
}

func sizeOf(note string) int64 {
	c, err := tlog.ParseBody(tlog.SignedBody([]byte(note)))
	if err != nil {
		return -1
	}
	return c.Size
}

// last returns the kept checkpoints of a log, the smallest first. Only a key that the rules name counts for the log: anyone can sign under its
// name with another one.
func (m *Memory) last(rules *logRules, newest *tlog.Opened) (list []*SeenLog) {
	for _, name := range slices.Sorted(maps.Keys(m.Logs)) {
		if origin, _, _ := strings.Cut(name, "+"); origin != newest.Origin {
			continue
		}
		if o, err := rules.Open([]byte(m.Logs[name])); err == nil && o.Origin == newest.Origin {
			list = append(list, newSeenLog(o.Checkpoint, o.Note))
		}
	}
	slices.SortStableFunc(list, func(a, b *SeenLog) int { return cmp.Compare(a.Size, b.Size) })
	return list
}

// note keeps the newest checkpoint of a server's log.
func (m *Memory) note(server string, newest *tlog.Opened) {
	m.Logs[fmt.Sprintf("%s+%08x", newest.Origin, newest.KeyHash)] = string(newest.Note)
	if !strings.HasPrefix(newest.Origin, sandboxOrigin) {
		m.Servers[server] = newest.Origin
	}
}

// against says why the log contradicts a checkpoint that the reader kept; empty if it does not.
func (s *SeenLog) against(l *sealing) string {
	if s.Size > l.size {
		return fmt.Sprintf("the log had %d leaves when you saw it last, and shows %d", s.Size, l.size)
	}
	root := l.rootsAt(s.Size)[s.Size]
	if base64.StdEncoding.EncodeToString(root[:]) != s.Root {
		return fmt.Sprintf("the first %d leaves of the log had another root when you saw it last", s.Size)
	}
	return ""
}

// remember compares the log with the checkpoint that the reader kept of it. If they agree, the newer one is kept for the next time. missing
// reports whether a log that the server had is not there.
func (r *Report) remember(o Options, rules *logRules, l *sealing) (c Check, missing bool) {
	c, r.Log = Check{Name: "log_memory", Status: NotChecked}, &LogReport{Named: rules != nil && rules.named}
	report, had := r.Log, ""
	if o.Memory != nil {
		had = o.Memory.Servers[r.URL]
	}
	if l == nil {
		switch {
		case had != "":
			c.Status, c.Detail = Unproven, fmt.Sprintf("when you saw this server last it had the log %s, and no log could be read now, so nothing is witnessed", had)
		case len(o.Note) > 0:
			c.Status, c.Detail = Unproven, "you have a checkpoint of a log, and no log could be read now, so nothing is witnessed"
		}
		return c, had != "" || len(o.Note) > 0
	}
	report.Served = newSeenLog(l.newest.Checkpoint, l.newest.Note)
	kept, err := o.kept(rules, l.newest)
	if err != nil {
		c.Status, c.Detail = Unproven, fmt.Sprintf("your checkpoint is not one of this log, so nothing is witnessed: %v", err)
		return c, true
	}
	if len(kept) == 0 {
		c.Status, c.Detail = OK, fmt.Sprintf("you see the log %s for the first time", l.newest.Origin)
	}
	for _, k := range kept {
		if report.Kept == nil || k.Size > report.Kept.Size {
			report.Kept = k
		}
		c.Status, c.Detail = OK, fmt.Sprintf("the log continues the %d leaves that you saw last", report.Kept.Size)
	}
	for _, k := range kept {
		if why := k.against(l); why != "" {
			report.Kept, c.Status, c.Detail = k, Mismatch, why
			return c, false
		}
	}
	if rules.named && had != "" && had != l.newest.Origin {
		c.Status, c.Detail = Unproven, fmt.Sprintf("when you saw this server last it had the log %s, and now %s, so nothing is witnessed", had, l.newest.Origin)
		return c, true
	}
	if o.Memory != nil {
		o.Memory.note(r.URL, l.newest)
	}
	return c, false
}

// kept are the checkpoints that the reader has of a log.
func (o Options) kept(rules *logRules, newest *tlog.Opened) (list []*SeenLog, err error) {
	if o.Memory != nil {
		list = o.Memory.last(rules, newest)
	}
	if len(o.Note) == 0 {
		return list, nil
	}
	k, err := rules.Open(o.Note)
	if err != nil {
		return nil, err
	}
	if k.Origin != newest.Origin {
		return nil, fmt.Errorf("it is of %s", k.Origin)
	}
	return append(list, newSeenLog(k.Checkpoint, o.Note)), nil
}
