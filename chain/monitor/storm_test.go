package monitor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

func TestAForkThatGrowsIsOneFinding(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind string
		lie  func(l *testLog, fork *testTree, i int)
	}{
		"the log serves a fork": {KindInconsistent, func(l *testLog, fork *testTree, i int) {
			l.tree = fork.grow(l.t, gaps(l.t, "fork", 300+10*i)...)
			l.publish()
			l.copies = nil
		}},
		"two views by turns": {KindInconsistent, func(l *testLog, fork *testTree, i int) {
			honest := l.tree
			l.tree = fork.grow(l.t, gaps(l.t, "fork", 400+i)...)
			l.publish()
			l.copies = nil
			found(l.t, l.followed)
			l.tree = honest.grow(l.t, gaps(l.t, "more", 3)...)
			l.publish()
			l.copies = nil
		}},
		"a witness holds a fork": {KindSplit, func(l *testLog, fork *testTree, i int) {
			l.grow(gaps(l.t, "more", 20)...)
			l.copies[1] = l.cosigned(fork.grow(l.t, gaps(l.t, "fork", i+1)...), l.now, l.witnesses[1])
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(t)
			m := l.monitor(t.TempDir(), "two")
			l.followed = m
			if kinds, all := found(t, m); len(kinds) > 0 {
				t.Fatalf("before the lie: %+v", all)
			}
			fork := (&testTree{root: tlog.EmptyRoot(), tiles: map[tlog.Tile][]byte{}}).grow(t, slices.Concat(l.tree.leaves[:500], gaps(t, "fork", 20))...)
			for i := range 6 {
				l.pass(time.Minute)
				c.lie(l, fork, i)
				_, all := found(t, m)
				n := 0
				for _, f := range all {
					if f.Kind == c.kind {
						n++
					}
				}
				if n != 1 {
					t.Fatalf("round %d: %d findings of %s: %+v", i, n, c.kind, all)
				}
			}
		})
	}
}

func TestALogWhoseKeyChangesIsFollowedByEitherKey(t *testing.T) {
	t.Parallel()
	l, other := newTestLog(t), newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	next, err := tlog.NewVerifier(other.vkey)
	if err != nil {
		t.Fatal(err)
	}
	m.o.Keys = []tlog.PolicyLog{{Verifier: next}}
	for i, signer := range []*tlog.Signer{l.signer, other.signer, l.signer} {
		l.signer = signer
		l.grow(gaps(t, fmt.Sprint("of ", i), 5)...)
		if kinds, all := found(t, m); len(kinds) > 0 {
			t.Errorf("signed by key %d: %+v", i, all)
		}
	}
	stranger := newTestLog(t)
	l.signer = stranger.signer
	l.publish()
	if kinds, _ := found(t, m); !slices.Contains(kinds, KindTampered) {
		t.Errorf("another key: %v", kinds)
	}
}
