package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// logRules say which log is read, and whose witnesses count.
type logRules struct {
	// Policy is nil if the server's policy of its log cannot be read.
	*tlog.Policy

	// named reports whether the policy is the server's word: then its quorum must be there, and vouches for nothing.
	named bool
}

// errNoLog says that a server names no log.
var errNoLog = errors.New("the server names no transparency log")

// logRules returns the reader's policy, or else the policy that the server names: see tlog.NamedPolicy. It returns nil if the server names no log.
func (s *server) logRules(ctx context.Context, policy *tlog.Policy) (*logRules, error) {
	if policy != nil {
		return &logRules{Policy: policy}, nil
	}
	info, err := s.file(ctx, "/api/v1/info", maxInfo)
	if errors.Is(err, errNotThere) {
		return nil, errNoLog
	}
	if err != nil {
		return &logRules{named: true}, err
	}
	var said struct {
		Data struct {
			Log *struct {
				VKey      string              `json:"vkey"`
				Witnesses []tlog.NamedWitness `json:"witnesses"`
			} `json:"log"`
		} `json:"data"`
	}
	if err := Decode(info, &said); err != nil {
		return &logRules{named: true}, err
	}
	if said.Data.Log == nil {
		return nil, errNoLog
	}
	named, err := tlog.NamedPolicy(said.Data.Log.VKey, said.Data.Log.Witnesses)
	return &logRules{named, true}, err
}

// readLog reads the whole log of a server, computes its root, follows the seals, and finds the policy's witnesses that cosigned it. The
// result unread says why the log could not be read; it is nil if the log was read. The result rules is nil if the server names no log.
func (s *server) readLog(ctx context.Context, o Options) (l *sealing, rules *logRules, unread error) {
	rules, err := s.logRules(ctx, o.Policy)
	if err != nil {
		return nil, rules, err
	}
	read := func(path string) (*tlog.Opened, error) {
		signed, err := s.file(ctx, path, maxNote)
		if err != nil {
			return nil, fmt.Errorf("the checkpoint of the log: %w", err)
		}
		o, err := rules.Open(signed)
		if err != nil {
			return nil, fmt.Errorf("the checkpoint of the server's log cannot be read: %w", err)
		}
		return o, nil
	}
	// Cosignatures of the newest size may not be there yet. The older one is read first, so that it is never larger.
	witnessed, err := read("/log/checkpoint.witnessed")
	if err != nil && !errors.Is(err, errNotThere) {
		return nil, rules, err
	}
	newest, err := read("/log/checkpoint")
	for try := 0; err == nil && try < staleTries && o.isBehind(rules, newest); try++ {
		select { // a cache or a replica may be behind for a moment
		case <-ctx.Done():
			return nil, rules, ctx.Err()
		case <-time.After(stalePause):
		}
		newest, err = read("/log/checkpoint")
	}
	if err != nil {
		return nil, rules, err
	}
	if witnessed == nil {
		witnessed = newest
	}
	l, err = s.followLog(ctx, newest, witnessed)
	if l == nil {
		return nil, rules, err
	}
	l.vouched = !rules.named
	if l.forked == "" && rules.Enough(freshIn(rules.Policy, newest, o.Now)) {
		l.cosigned, l.picks = newest, l.all
	}
	return l, rules, nil
}

// A checkpoint that is older than the reader's is read again, as often and after such a pause.
const (
	staleTries = 2
	stalePause = 2 * time.Second
)

// isBehind reports whether a checkpoint is older than a checkpoint that the reader kept.
func (o Options) isBehind(rules *logRules, newest *tlog.Opened) bool {
	kept, err := o.kept(rules, newest)
	return err == nil && slices.ContainsFunc(kept, func(k *SeenLog) bool { return k.Size > newest.Size })
}

// freshIn names the witnesses that cosigned a checkpoint lately.
func freshIn(policy *tlog.Policy, o *tlog.Opened, now time.Time) (names []string) {
	for name, c := range policy.TimesOf(o) {
		if !c.At.Before(now.Add(-chain.QuorumFresh)) && !c.At.After(now.Add(chain.Ahead)) {
			names = append(names, name)
		}
	}
	return names
}

// log returns the facts of the log that a report's judgement rests on; nil if neither the reader nor the server names a log. A log that the
// server names and that was not read leaves nothing witnessed.
func (r *logRules) log(l *sealing, final *answer) *chain.Log {
	if r == nil {
		return nil
	}
	asks := r.Policy != nil && r.AsksWitnesses()
	var log *chain.Log
	if l == nil {
		log = tlog.LogOf(r.Policy, nil, tlog.LoggedPicks{}, asks || r.named)
	} else {
		log = tlog.LogOf(r.Policy, l.cosigned, l.picks, asks)
		log.Newest = int64(len(l.all.Hashes))
		log.Lacks = final != nil && len(l.notes.Missing(final.Gaps, final.Corrections)) > 0
	}
	log.Named = r.named
	return log
}

// compareLog says what the witnesses of the reader's policy hold, or of the server's.
func compareLog(l *sealing, unread error, rules *logRules, now time.Time) Check {
	c := Check{Name: "log", Status: NotChecked}
	if unread != nil {
		c.Detail = unread.Error()
		if rules != nil && rules.named {
			c.Detail = "the server names a log that could not be read, so nothing is witnessed: " + c.Detail
		}
		return c
	}
	if l.forked != "" {
		return Check{c.Name, Mismatch, l.forked}
	}
	fresh := freshIn(rules.Policy, l.cosigned, now)
	whose := "of your policy"
	if rules.named {
		whose = "that the server names"
	}
	said := fmt.Sprintf("%s %s cosigned the %d picks in the log in the last 26 hours", plural(len(fresh), len(rules.Witnesses)), whose, len(l.picks.Hashes))
	switch {
	case rules.named && !rules.AsksWitnesses():
		c.Detail = fmt.Sprintf("%d picks in the %d leaves, and nobody vouches for this log: the server names no witnesses. Name your own with --policy",
			len(l.picks.Hashes), l.size)
	case !rules.Enough(fresh):
		c.Status, c.Detail = Pending, said+", which is no quorum"
	case rules.named:
		c.Detail = said + ". Nobody vouches for this log: they are the server's word and count for nothing. Name the log's key and your witnesses with --policy"
	default:
		c.Status, c.Detail = OK, said
	}
	return c
}

func plural(k, n int) string { return fmt.Sprintf("%d of %d witnesses", k, n) }
