package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// openLog opens a checkpoint by the keys that the reader knows, or else by the one that the server names: then nobody vouches for it.
func (s *server) openLog(ctx context.Context, policy *tlog.Policy) (open func(signed []byte) (*tlog.Opened, error), err error) {
	if policy != nil {
		return policy.Open, nil
	}
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
	return func(signed []byte) (*tlog.Opened, error) { return tlog.Open(signed, key) }, nil
}

// readLog reads the whole log of a server, computes its root, follows the seals, and reads who of the reader's witnesses cosigned it. unread
// says why it could not; nil if it could.
func (s *server) readLog(ctx context.Context, policy *tlog.Policy, now time.Time) (l *sealing, unread error) {
	open, err := s.openLog(ctx, policy)
	if err != nil {
		return nil, err
	}
	read := func(path string) (*tlog.Opened, error) {
		signed, err := s.file(ctx, path, maxNote)
		if err != nil {
			return nil, fmt.Errorf("the checkpoint of the log: %w", err)
		}
		o, err := open(signed)
		if err != nil {
			return nil, fmt.Errorf("what the server serves as the checkpoint of its log is not one: %w", err)
		}
		return o, nil
	}
	// Cosignatures of the newest size may not be there yet. The older one is read first, so that it is never larger.
	witnessed, err := read("/log/checkpoint.witnessed")
	if err != nil && !errors.Is(err, errNotThere) {
		return nil, err
	}
	newest, err := read("/log/checkpoint")
	if err != nil {
		return nil, err
	}
	if witnessed == nil || policy == nil || policy.Enough(freshIn(policy, newest, now)) {
		witnessed = newest
	}
	l, err = s.followLog(ctx, newest, witnessed)
	if l != nil {
		l.vouched = policy != nil
	}
	return l, err
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

// LogOf is what the witnesses of a policy hold by a checkpoint and the picks among its leaves. The checkpoint is nil if it was not checked.
// required says that the policy is the reader's own.
func LogOf(policy *tlog.Policy, o *tlog.Opened, picks tlog.LoggedPicks, required bool) *chain.Log {
	l := &chain.Log{Required: required}
	if policy != nil {
		l.Enough = policy.Enough
		for _, w := range policy.Witnesses {
			l.Cosigners = append(l.Cosigners, chain.Cosigner{Name: w.Label})
		}
	}
	if o == nil {
		return l
	}
	l.Hashes, l.Fault = picks.Hashes, picks.Fault
	if policy != nil {
		for name, c := range policy.TimesOf(o) {
			i := slices.IndexFunc(l.Cosigners, func(c chain.Cosigner) bool { return c.Name == name })
			l.Cosigners[i].At = c.At
		}
	}
	return l
}

// log is what a report's judgement rests on of the log.
func (l *sealing) log(policy *tlog.Policy) *chain.Log {
	if l == nil {
		if policy == nil {
			return nil
		}
		return LogOf(policy, nil, tlog.LoggedPicks{}, policy.AsksWitnesses())
	}
	return LogOf(policy, l.cosigned, l.picks, policy != nil && policy.AsksWitnesses())
}

// compareLog says what the witnesses of the reader's policy hold.
func compareLog(l *sealing, unread error, policy *tlog.Policy, log *chain.Log, now time.Time) Check {
	c := Check{Name: "log", Status: NotChecked}
	switch {
	case unread != nil:
		c.Detail = unread.Error()
	case policy == nil:
		c.Detail = fmt.Sprintf("%d picks in the %d leaves, and nobody vouches for this log: its key is the server's word. Name its key and your witnesses with --policy",
			len(l.picks.Hashes), l.size)
	case !policy.Enough(freshIn(policy, l.cosigned, now)):
		c.Status = Pending
		c.Detail = fmt.Sprintf("%s of your policy cosigned the %d picks in the log in the last 26 hours, which is no quorum",
			plural(len(freshIn(policy, l.cosigned, now)), len(log.Cosigners)), len(l.picks.Hashes))
	default:
		c.Status = OK
		c.Detail = fmt.Sprintf("%s of your policy cosigned the %d picks in the log in the last 26 hours", plural(len(freshIn(policy, l.cosigned, now)), len(log.Cosigners)), len(l.picks.Hashes))
	}
	return c
}

func plural(k, n int) string { return fmt.Sprintf("%d of %d witnesses", k, n) }
