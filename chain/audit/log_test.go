package audit_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/chain/tlog"
)

// witnessedServer is a sealedServer whose log three witnesses may cosign. Two are the quorum of the reader's policy.
func witnessedServer(t *testing.T, ages ...time.Duration) *sealedServer {
	t.Helper()
	s := newSealedServer(t, 6, func(s *sealedServer, p pick) {
		s.seal(p)
		s.reveal(p, 0)
		s.picked(p)
	})
	text := "log " + s.vkey + "\n"
	var witnesses []*tlog.Cosigner
	for i := range 3 {
		keys, err := tlog.NewWitnessKey(rand.Reader, fmt.Sprintf("w%d.example/w", i))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tlog.NewCosigner(keys.Private)
		if err != nil {
			t.Fatal(err)
		}
		witnesses = append(witnesses, w)
		s.named = append(s.named, tlog.NamedWitness{Name: fmt.Sprintf("w%d", i), VKey: w.VKey()})
		text += fmt.Sprintf("witness w%d %s\n", i, w.VKey())
	}
	var err error
	if s.policy, err = tlog.ParsePolicy([]byte(text + "group two 2 w0 w1 w2\nquorum two\n")); err != nil {
		t.Fatal(err)
	}
	sign := func(body string, i int, at time.Time) string {
		line, err := witnesses[i].Cosign(body, at)
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	s.cosign = func(body string) (lines string) {
		for i, age := range ages {
			lines += sign(body, i, now.Add(-age))
		}
		return lines
	}
	s.cosignAt = func(body string, at time.Time) string { return sign(body, 0, at) + sign(body, 2, at) }
	return s
}

func TestTheReadersPolicySaysWhichWitnessesOfTheLogCount(t *testing.T) {
	t.Parallel()
	const fresh, old = time.Hour, 30 * time.Hour
	for name, tt := range map[string]struct {
		ages    []time.Duration
		edit    func(t *testing.T, s *sealedServer)
		verdict chain.Verdict
		k, n    int
		status  audit.Status
		says    string
	}{
		"a quorum":           {[]time.Duration{fresh, fresh}, nil, chain.Witnessed, 2, 3, audit.OK, "2 of 3 witnesses of your policy cosigned the 6 picks"},
		"a minority":         {[]time.Duration{fresh}, nil, chain.SelfConsistent, 1, 3, audit.Pending, "no quorum"},
		"an old quorum":      {[]time.Duration{old, old, old}, nil, chain.SelfConsistent, 0, 3, audit.Pending, "no quorum"},
		"a quorum of future": {[]time.Duration{-fresh, -fresh}, nil, chain.SelfConsistent, 0, 3, audit.Pending, "no quorum"},
		"no policy": {
			[]time.Duration{fresh, fresh},
			func(_ *testing.T, s *sealedServer) { s.policy = nil }, chain.SelfConsistent, 0, 0,
			audit.NotChecked, "Nobody vouches for this log: they are the server's word",
		},
		"a hidden log": {[]time.Duration{fresh, fresh}, func(_ *testing.T, s *sealedServer) {
			s.lie = func(path string, body []byte) []byte {
				if strings.HasPrefix(path, "/log/") {
					return []byte("nothing")
				}
				return body
			}
		}, chain.SelfConsistent, 0, 3, audit.NotChecked, "checkpoint"},
		"another log under the server's word": {[]time.Duration{fresh, fresh}, func(t *testing.T, s *sealedServer) {
			t.Helper()
			keys, err := tlog.NewLogKey(rand.Reader, "evil.example/log")
			if err != nil {
				t.Fatal(err)
			}
			if s.signer, err = tlog.NewSigner(keys.Private); err != nil {
				t.Fatal(err)
			}
			s.vkey = keys.Public
		}, chain.SelfConsistent, 0, 3, audit.NotChecked, `no log "evil.example/log"`},
		"a chain that was rewritten, and is in the log beside the old one": {[]time.Duration{fresh, fresh}, func(_ *testing.T, s *sealedServer) {
			s.Picks[2].Ticker = "CHEAT"
			s.rechain()
			for _, p := range s.Picks[2:] {
				s.picked(p)
			}
		}, chain.Contradicted, 0, 3, audit.OK, ""},
		"a chain that was cut": {[]time.Duration{fresh, fresh}, func(_ *testing.T, s *sealedServer) {
			s.Picks = s.Picks[:5]
			s.rechain()
		}, chain.Contradicted, 0, 3, audit.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := witnessedServer(t, tt.ages...)
			if tt.edit != nil {
				tt.edit(t, s)
			}
			r := s.report()
			c := check(t, r, "log")
			if r.Verdict != tt.verdict || r.Agreeing != tt.k || r.Parties != tt.n || c.Status != tt.status || !strings.Contains(c.Detail, tt.says) {
				t.Errorf("%s, %d of %d, %s: %s\nwant %s, %d of %d, %s: %s\n%+v", r.Verdict, r.Agreeing, r.Parties, c.Status, c.Detail,
					tt.verdict, tt.k, tt.n, tt.status, tt.says, r.Witnesses)
			}
		})
	}
}

// Who stands between the reader and an honest server adds a pick at the end, with a right hash.
func TestAPickThatIsNotInTheLogIsNamed(t *testing.T) {
	t.Parallel()
	s := witnessedServer(t, time.Hour, time.Hour)
	s.announce(t, "2026-03-05")
	r := s.report()
	if c := check(t, r, "logged"); c.Status != audit.Unproven || !strings.Contains(c.Detail, "pick 7 is not in the signed log, which has 6 picks") {
		t.Errorf("%s: %s", c.Status, c.Detail)
	}
	if r.Verdict == chain.Witnessed || r.Covered != 6 {
		t.Errorf("%s, %d picks covered", r.Verdict, r.Covered)
	}
}

// A correction that the log lacks may be the carrier's.
func TestACorrectionThatIsNotInTheLogIsNamed(t *testing.T) {
	t.Parallel()
	s := witnessedServer(t, time.Hour, time.Hour)
	s.Corrections = append(s.Corrections, map[string]any{"seq": 2, "what": "a lie", "evidence": "https://example.org/2", "date": "2026-03-04"})
	r := s.report()
	if c := check(t, r, "notes"); c.Status != audit.Unproven || !strings.Contains(c.Detail, "a correction of pick 2 of 2026-03-04, which is not in the signed log") {
		t.Errorf("%s: %s", c.Status, c.Detail)
	}
	if r.Verdict != chain.SelfConsistent || !strings.Contains(r.Unproven, "not in the signed log") {
		t.Errorf("%s: %s", r.Verdict, r.Unproven)
	}
}

// The log shows a second checkpoint beside its newest one. Where it signed both, the leaves decide whom that accuses.
func TestALogThatSignedTwoHistoriesIsContradicted(t *testing.T) {
	t.Parallel()
	other := func(s *sealedServer, leaves [][]byte) []byte {
		tree := tlog.Edge{}
		for _, l := range leaves {
			tree.Add(tlog.LeafHash(l))
		}
		signed, err := s.signer.Sign(tree.Size, tree.Root())
		if err != nil {
			t.Fatal(err)
		}
		return append(signed, s.cosign(tlog.SignedBody(signed))...)
	}
	rewrite := func(leaves [][]byte) [][]byte {
		leaves = slices.Clone(leaves)
		leaves[3] = append([]byte("x"), leaves[3]...)
		return leaves
	}
	for name, tt := range map[string]struct {
		second func(s *sealedServer) []byte
		status audit.Status
		says   string
	}{
		"a smaller size of the same history":     {func(s *sealedServer) []byte { return other(s, s.leaves[:len(s.leaves)-3]) }, audit.OK, "2 of 3 witnesses of your policy cosigned the 6 picks"},
		"a smaller size of another history":      {func(s *sealedServer) []byte { return other(s, rewrite(s.leaves)[:len(s.leaves)-3]) }, audit.Mismatch, "signed two checkpoints that are not of one history: of 14 leaves"},
		"the same size of another history":       {func(s *sealedServer) []byte { return other(s, rewrite(s.leaves)) }, audit.Mismatch, "and of 17 leaves with the root"},
		"a larger size whose leaves do not come": {func(s *sealedServer) []byte { return other(s, append(rewrite(s.leaves), []byte("more"))) }, audit.NotChecked, "the leaves of the log from 0 on"},
		"no signature of the log": {func(s *sealedServer) []byte {
			return bytes.Replace(other(s, rewrite(s.leaves)[:14]), []byte("\n14\n"), []byte("\n13\n"), 1)
		}, audit.NotChecked, "cannot be read"},
		"leaves of neither": {func(s *sealedServer) []byte {
			second := other(s, rewrite(s.leaves)[:14])
			s.lie = func(path string, body []byte) []byte {
				if strings.Contains(path, "entries") {
					return bytes.Replace(body, []byte("picks/1"), []byte("picks/2"), 1)
				}
				return body
			}
			return second
		}, audit.NotChecked, "this is a fault of the carrier, not of the log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := witnessedServer(t, time.Hour, time.Hour)
			second := tt.second(s)
			s.files = map[string][]byte{"/log/checkpoint.witnessed": second}
			r := s.report()
			c := check(t, r, "log")
			forked := tt.status == audit.Mismatch
			if c.Status != tt.status || !strings.Contains(c.Detail, tt.says) || (r.Verdict == chain.Contradicted) != forked {
				t.Errorf("%s, %s: %s; want %s: %s", r.Verdict, c.Status, c.Detail, tt.status, tt.says)
			}
			if (len(r.Forked) == 2) != forked || forked && (r.Forked[0].Note != string(second) || r.Forked[1].Size != 17) {
				t.Errorf("it shows %+v", r.Forked)
			}
		})
	}
}
