package audit_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/audit"
)

// A reader without a policy, who kept a checkpoint of the picks this morning: it is the one party that counts.
func TestALogThatTheServerNamesVouchesForNothingAndCannotBeHidden(t *testing.T) {
	t.Parallel()
	const fresh, old = time.Hour, 30 * time.Hour
	hide := func(prefix string, with string) func(*sealedServer) {
		return func(s *sealedServer) {
			s.lie = func(path string, body []byte) []byte {
				if strings.HasPrefix(path, prefix) {
					return []byte(with)
				}
				return body
			}
		}
	}
	for name, tt := range map[string]struct {
		ages    []time.Duration
		edit    func(s *sealedServer)
		alone   bool
		verdict chain.Verdict
		k, n    int
		says    string
	}{
		"the witnesses that it names cosigned":  {[]time.Duration{fresh, fresh}, nil, false, chain.Witnessed, 1, 1, "they are the server's word and count for nothing"},
		"nobody else was asked":                 {[]time.Duration{fresh, fresh, fresh}, nil, true, chain.SelfConsistent, 0, 0, "they are the server's word and count for nothing"},
		"a minority of those that it names":     {[]time.Duration{fresh}, nil, false, chain.SelfConsistent, 1, 1, "no quorum"},
		"they cosigned long ago":                {[]time.Duration{old, old, old}, nil, false, chain.SelfConsistent, 1, 1, "no quorum"},
		"it names no witnesses":                 {nil, func(s *sealedServer) { s.named = nil }, false, chain.Witnessed, 1, 1, "the server names no witnesses"},
		"it names one witness twice":            {[]time.Duration{fresh, fresh}, func(s *sealedServer) { s.named[1] = s.named[0] }, false, chain.SelfConsistent, 1, 1, "could not be read"},
		"the log is hidden":                     {[]time.Duration{fresh, fresh}, hide("/log/", "nothing"), false, chain.SelfConsistent, 1, 1, "could not be read, so nothing is witnessed"},
		"what it says of itself cannot be read": {[]time.Duration{fresh, fresh}, hide("/api/v1/info", "nothing"), false, chain.SelfConsistent, 1, 1, "could not be read"},
		"it denies its log, which sealed picks": {[]time.Duration{fresh, fresh}, func(s *sealedServer) {
			hide("/api/v1/info", `{"data":{"log":null}}`)(s)
			s.Seals = &saidSeals{Since: s.Picks[1].Date}
		}, false, chain.SelfConsistent, 1, 1, "names no transparency log"},
		"it has no log, and never sealed a pick": {[]time.Duration{fresh, fresh}, hide("/api/v1/info", `{"data":{"log":null}}`), false, chain.Witnessed, 1, 1, "names no transparency log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := witnessedServer(t, tt.ages...)
			s.policy = nil
			if before := s.Picks[len(s.Picks)-2]; !tt.alone {
				s.options.Checkpoint = chain.Checkpoint{Length: before.Seq, Head: before.Hash}
			}
			if tt.edit != nil {
				tt.edit(s)
			}
			r := s.report()
			if c := check(t, r, "log"); r.Verdict != tt.verdict || r.Agreeing != tt.k || r.Parties != tt.n || !strings.Contains(c.Detail, tt.says) {
				t.Errorf("%s, %d of %d: %s\nwant %s, %d of %d: %s", r.Verdict, r.Agreeing, r.Parties, c.Detail, tt.verdict, tt.k, tt.n, tt.says)
			}
		})
	}
}

// A head that was copied from the server a moment ago proves nothing; yesterday's proves that the chain goes on from it.
func TestACheckpointThatIsTheHeadShownNowIsNoParty(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		back, parties int
		verdict       chain.Verdict
		says          string
	}{
		"the head that is shown now": {1, 0, chain.SelfConsistent, "it does not count"},
		"the head of the day before": {2, 1, chain.Witnessed, "nothing up to there was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := witnessedServer(t, time.Hour, time.Hour)
			s.policy = nil
			kept := s.Picks[len(s.Picks)-tt.back]
			s.options.Checkpoint = chain.Checkpoint{Length: kept.Seq, Head: kept.Hash}
			r := s.report()
			if c := check(t, r, "checkpoint"); r.Verdict != tt.verdict || r.Parties != tt.parties || c.Status != audit.OK || !strings.Contains(c.Detail, tt.says) {
				t.Errorf("%s of %d parties, %s: %s", r.Verdict, r.Parties, c.Status, c.Detail)
			}
		})
	}
}

// A server can name a log that it does not have, with another key. Its checkpoint proves nothing against the log of that name.
func TestACheckpointOfAnotherKeyIsNoEvidenceAgainstALog(t *testing.T) {
	t.Parallel()
	liar, honest := witnessedServer(t, time.Hour, time.Hour), witnessedServer(t, time.Hour, time.Hour)
	file := filepath.Join(t.TempDir(), "verified.json")
	look := func(s *sealedServer) *audit.Report {
		var err error
		if s.options.Memory, err = audit.ReadMemory(file); err != nil {
			t.Fatal(err)
		}
		r := s.report()
		if err := s.options.Memory.Save(file); err != nil {
			t.Fatal(err)
		}
		return r
	}
	liar.leaves = append(liar.leaves, []byte("tidemark/later/v9\nx y\n"))
	if r := look(liar); r.Log.Served == nil || r.Log.Served.Origin != "record.example/log" {
		t.Fatalf("the other log: %+v", r.Log)
	}
	for range 2 {
		r := look(honest)
		if c := check(t, r, "log_memory"); r.Verdict != chain.Witnessed || c.Status != audit.OK {
			t.Errorf("%s, %s: %s", r.Verdict, c.Status, c.Detail)
		}
	}
	honest.leaves = honest.leaves[:14]
	if r := look(honest); r.Verdict != chain.Contradicted {
		t.Errorf("the honest one shrank, and it is %s", r.Verdict)
	}
}

func TestALogThatShrinksOrForksContradictsWhatTheReaderSaw(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		edit    func(s *sealedServer)
		verdict chain.Verdict
		status  audit.Status
		says    string
	}{
		"the same":  {func(*sealedServer) {}, chain.Witnessed, audit.OK, "continues the 17 leaves"},
		"it grew":   {func(s *sealedServer) { s.leaves = append(s.leaves, []byte("tidemark/later/v9\nx y\n")) }, chain.Witnessed, audit.OK, "continues the 17 leaves"},
		"it shrank": {func(s *sealedServer) { s.leaves = s.leaves[:14] }, chain.Contradicted, audit.Mismatch, "the log had 17 leaves when you saw it last, and shows 14"},
		"it forked": {func(s *sealedServer) {
			s.leaves = append(s.leaves[:16:16], []byte("tidemark/later/v9\nx y\n"), s.leaves[16])
		}, chain.Contradicted, audit.Mismatch, "the first 17 leaves of the log had another root"},
		"it is not served": {func(s *sealedServer) { s.lie = func(string, []byte) []byte { return nil } }, chain.SelfConsistent, audit.Unproven, "no log could be read now"},
	} {
		for _, from := range []string{"memory", "a file"} {
			t.Run(name+" by "+from, func(t *testing.T) {
				t.Parallel()
				s := witnessedServer(t, time.Hour, time.Hour)
				file := filepath.Join(t.TempDir(), "deep", "verified.json")
				memory := func() *audit.Memory {
					m, err := audit.ReadMemory(file)
					if err != nil {
						t.Fatal(err)
					}
					return m
				}
				s.options.Memory = memory()
				first := s.report()
				if first.Verdict != chain.Witnessed || first.Log.Served == nil || first.Log.Kept != nil {
					t.Fatalf("before: %s, %+v", first.Verdict, first.Log)
				}
				if err := s.options.Memory.Save(file); err != nil {
					t.Fatal(err)
				}
				if s.options.Memory = memory(); from == "a file" {
					s.options.Memory, s.options.Note = nil, []byte(first.Log.Served.Note)
				}
				tt.edit(s)
				r := s.report()
				c := check(t, r, "log_memory")
				if from == "a file" && c.Status == audit.Unproven {
					tt.says = "no log could be read now"
				}
				if r.Verdict != tt.verdict || c.Status != tt.status || !strings.Contains(c.Detail, tt.says) {
					t.Errorf("%s, %s: %s\nwant %s, %s: %s", r.Verdict, c.Status, c.Detail, tt.verdict, tt.status, tt.says)
				}
				if tt.verdict == chain.Contradicted && (r.Log.Kept == nil || r.Log.Kept.Note != first.Log.Served.Note || r.Log.Served.Note == first.Log.Served.Note) {
					t.Errorf("side by side: %+v", r.Log)
				}
				if from == "memory" && tt.verdict == chain.Contradicted { // what was seen first is not forgotten
					if err := s.options.Memory.Save(file); err != nil {
						t.Fatal(err)
					}
					if kept := slices.Collect(maps.Values(memory().Logs)); !slices.Equal(kept, []string{first.Log.Served.Note}) {
						t.Errorf("kept after the contradiction: %q", kept)
					}
				}
			})
		}
	}
}

func TestASealThatNoQuorumHeldBeforeItsRevealIsNamed(t *testing.T) {
	t.Parallel()
	minutesBefore := func(s *sealedServer, seal int64, minutes int) time.Time {
		for i, p := range s.Picks[1:] {
			if seal == int64(2+3*i) {
				return evening(t, p.Date).Add(-time.Duration(minutes) * time.Minute)
			}
		}
		t.Fatalf("leaf %d is no seal", seal)
		return time.Time{}
	}
	for name, tt := range map[string]struct {
		early  func(s *sealedServer, seal int64) (int64, time.Time)
		status audit.Status
		says   string
	}{
		"each in time": {func(s *sealedServer, i int64) (int64, time.Time) { return i + 1, minutesBefore(s, i, 20) }, audit.OK, "a quorum of your policy cosigned each of 5 sealed picks"},
		"a size that has the reveal already": {func(s *sealedServer, i int64) (int64, time.Time) {
			if i == 5 {
				return i + 2, minutesBefore(s, i, 20)
			}
			return i + 1, minutesBefore(s, i, 20)
		}, audit.Unproven, "of 5 sealed picks, 1 were not cosigned by a quorum of your policy before the reveal, so only the server says that the decision came first: 2026-02-27"},
		"cosigned after the reveal": {func(s *sealedServer, i int64) (int64, time.Time) { return i + 1, minutesBefore(s, i, -1) }, audit.Unproven, "of 5 sealed picks, 5 were not"},
		"a size without the seal":   {func(s *sealedServer, i int64) (int64, time.Time) { return i, minutesBefore(s, i, 20) }, audit.Unproven, "of 5 sealed picks, 5 were not"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := witnessedServer(t, time.Hour, time.Hour)
			s.early = func(seal int64) (int64, time.Time) { return tt.early(s, seal) }
			r := s.report()
			c := check(t, r, "seal_order")
			if r.Verdict != chain.Witnessed || c.Status != tt.status || !strings.Contains(c.Detail, tt.says) {
				t.Errorf("%s, %s: %s\nwant %s: %s", r.Verdict, c.Status, c.Detail, tt.status, tt.says)
			}
		})
	}
}
