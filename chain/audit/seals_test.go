package audit_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/chain/tlog"
)

// sealedServer serves a record and the log of its sealed picks.
type sealedServer struct {
	*record

	tb     testing.TB
	leaves [][]byte
	signer *tlog.Signer
	vkey   string
	// lie changes what is served of the log; nil changes nothing.
	lie func(path string, body []byte) []byte
	// cosign adds lines to the checkpoint, nil for none. policy is the reader's.
	cosign func(body string) string
	policy *tlog.Policy
	// named are the witnesses that the server names, and options what else the reader knows.
	named   []tlog.NamedWitness
	options audit.Options
	// early returns the size and the time at which witnesses cosigned the log after a seal of a number; nil serves no proofs of seals.
	early    func(seal int64) (size int64, at time.Time)
	cosignAt func(body string, at time.Time) string
	// files are other files of the server, by their paths.
	files map[string][]byte
	// file is the path of the file in a data set, empty for chain.parquet.
	file string
}

// proofs serves the proof of each seal against an earlier size.
func (s *sealedServer) proofs(files map[string][]byte) {
	for i, l := range s.leaves {
		if s.early == nil || !bytes.HasPrefix(l, []byte("tidemark/seal/v1\n")) {
			continue
		}
		size, at := s.early(int64(i))
		tree := tlog.Edge{}
		for _, l := range s.leaves[:size] {
			tree.Add(tlog.LeafHash(l))
		}
		signed, err := s.signer.Sign(tree.Size, tree.Root())
		if err != nil {
			s.tb.Fatal(err)
		}
		signed = append(signed, s.cosignAt(tlog.SignedBody(signed), at)...)
		files[fmt.Sprintf("/log/proof/%d.tlog-proof", i)] = tlog.Proof{Index: int64(i), Extra: l, Note: signed}.Format()
	}
}

var sealSalt = bytes.Repeat([]byte{7}, 32)

func (s *sealedServer) add(kind string, values ...string) {
	s.tb.Helper()
	leaf, err := tlog.FormatLeaf(kind, values...)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.leaves = append(s.leaves, leaf)
}

func (s *sealedServer) clock(day string, minutes int) string {
	return tlog.FormatTime(evening(s.tb, day).Add(time.Duration(minutes) * time.Minute))
}

func (s *sealedServer) seal(p pick) {
	s.tb.Helper()
	s.add(tlog.KindSeal, "pick "+p.Date, tlog.Commitment(sealSalt, []byte(p.Preimage)), "picks/1", s.clock(p.Date, 10), s.clock(p.Date, -30))
}

func (s *sealedServer) reveal(p pick, minutes int) {
	s.tb.Helper()
	s.add(tlog.KindReveal, fmt.Sprint(len(s.leaves)-1), "pick "+p.Date, fmt.Sprintf("%x", sealSalt), base64.StdEncoding.EncodeToString([]byte(p.Preimage)), s.clock(p.Date, minutes))
}

func (s *sealedServer) picked(p pick) {
	s.tb.Helper()
	s.add(tlog.KindPick, fmt.Sprint(p.Seq), p.Preimage, p.Hash, s.clock(p.Date, 0))
}

// newSealedServer has a record of so many picks, all sealed but the first, and revealed. half changes the day of the last pick.
func newSealedServer(tb testing.TB, n int, half func(s *sealedServer, p pick)) *sealedServer {
	tb.Helper()
	s := &sealedServer{record: newRecord(tb, n), tb: tb}
	keys, err := tlog.NewLogKey(rand.Reader, "record.example/log")
	if err != nil {
		tb.Fatal(err)
	}
	if s.signer, err = tlog.NewSigner(keys.Private); err != nil {
		tb.Fatal(err)
	}
	s.vkey = keys.Public
	s.add(tlog.KindGenesis, s.signer.Origin(), "live", "1", s.Picks[0].Hash, "none", s.Picks[1].Date, s.clock(s.Picks[0].Date, 60))
	s.picked(s.Picks[0])
	for _, p := range s.Picks[1 : n-1] {
		s.seal(p)
		s.reveal(p, 0)
		s.picked(p)
	}
	half(s, s.Picks[n-1])
	return s
}

func (s *sealedServer) report() *audit.Report {
	s.tb.Helper()
	tree := tlog.Edge{}
	var bundle []byte
	bundles := map[string][]byte{}
	for i, l := range s.leaves {
		tree.Add(tlog.LeafHash(l))
		bundle = tlog.AppendEntry(bundle, l)
		if w := i%tlog.TileWidth + 1; w == tlog.TileWidth || i == len(s.leaves)-1 {
			bundles["/log/"+tlog.Tile{N: int64(i / tlog.TileWidth), Width: w, Entries: true}.Path()] = bundle
			bundle = nil
		}
	}
	signed, err := s.signer.Sign(tree.Size, tree.Root())
	if err != nil {
		s.tb.Fatal(err)
	}
	if s.cosign != nil {
		signed = append(signed, s.cosign(tlog.SignedBody(signed))...)
	}
	s.proofs(bundles)
	info, err := json.Marshal(map[string]any{"data": map[string]any{"log": map[string]any{"vkey": s.vkey, "witnesses": s.named}}}) // as api/v1/info answers
	if err != nil {
		s.tb.Fatal(err)
	}
	bundles["/log/checkpoint"], bundles["/api/v1/info"] = signed, info
	maps.Copy(bundles, s.files)
	rest := s.handler(s.tb)
	url := serve(s.tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bundles[r.URL.Path]
		if !ok {
			rest(w, r)
			return
		}
		if s.lie != nil {
			body = s.lie(r.URL.Path, body)
		}
		_, _ = w.Write(body)
	}))
	o := s.options
	o.URL, o.Environ, o.Now, o.Policy = "http://record.example", os.Environ(), now, s.policy
	o.Transport = public{strings.TrimPrefix(url, "http://")}
	report, err := audit.Run(s.tb.Context(), o)
	if err != nil {
		s.tb.Fatal(err)
	}
	return report
}

func TestASealedPickThatIsNotRevealedIsNamedByItsDay(t *testing.T) {
	t.Parallel()
	whole := func(s *sealedServer, p pick) { s.seal(p); s.reveal(p, 0); s.picked(p) }
	goesOn := func(s *sealedServer, p pick) { s.add(tlog.KindGap, p.Date, "x", s.clock(p.Date, 11)) }
	for name, tt := range map[string]struct {
		half   func(s *sealedServer, p pick)
		status audit.Status
		says   string
	}{
		"all are revealed":                  {whole, audit.OK, "5 sealed picks in the"},
		"one came late":                     {func(s *sealedServer, p pick) { s.seal(p); s.reveal(p, 11); s.picked(p) }, audit.Unproven, "The pick of 2026-03-04 was revealed at"},
		"one is missing, the log went on":   {func(s *sealedServer, p pick) { s.seal(p); goesOn(s, p) }, audit.Mismatch, "A pick of 2026-03-04 was sealed and had to be revealed by"},
		"announced all the same":            {func(s *sealedServer, p pick) { s.seal(p); s.picked(p); goesOn(s, p) }, audit.Mismatch, "A pick of 2026-03-04 was sealed and had to be revealed by"},
		"one is missing, the log is silent": {func(s *sealedServer, p pick) { s.seal(p) }, audit.Pending, "A pick of 2026-03-04 was sealed"},
		"another salt": {func(s *sealedServer, p pick) {
			s.seal(p)
			s.add(tlog.KindReveal, fmt.Sprint(len(s.leaves)-1), "pick "+p.Date, strings.Repeat("ab", 32), base64.StdEncoding.EncodeToString([]byte(p.Preimage)), s.clock(p.Date, 0))
		}, audit.Mismatch, "opens no seal"},
		"two reveals": {func(s *sealedServer, p pick) {
			s.seal(p)
			s.reveal(p, 0)
			s.leaves = append(s.leaves, s.leaves[len(s.leaves)-1])
		}, audit.Mismatch, "more than one seal or reveal"},
		"not sealed": {func(s *sealedServer, p pick) { s.picked(p) }, audit.Mismatch, "without a seal before it"},
		"another pick in the log than in the chain": {func(s *sealedServer, p pick) {
			p.Hash = strings.Repeat("a", 64)
			s.seal(p)
			s.reveal(p, 0)
			s.picked(p)
		}, audit.Mismatch, "the hash of pick 6 of the log is not the hash of the preimage beside it"},
		"the log and the reveal show another pick than its hash": {func(s *sealedServer, p pick) {
			p.Preimage = "EVIL" + p.Preimage
			whole(s, p)
		}, audit.Mismatch, "the hash of pick 6 of the log is not the hash of the preimage beside it"},
		"another pick in the log than in the chain, with its hash": {func(s *sealedServer, p pick) {
			p.Preimage = "EVIL" + p.Preimage
			sum := sha256.Sum256([]byte(p.Preimage))
			p.Hash = hex.EncodeToString(sum[:])
			whole(s, p)
		}, audit.Mismatch, "pick 6 of the log has the hash"},
		"a seal that need not be revealed": {func(s *sealedServer, p pick) {
			s.add(tlog.KindSeal, "pick "+p.Date, strings.Repeat("ab", 32), "picks/1", "2999-01-01T00:00:00.000000Z", s.clock(p.Date, -30))
		}, audit.Mismatch, "The seal of 2026-03-04 may be revealed until 2999-01-01 00:00:00 UTC, more than 48 hours after its day began"},
		"a seal that need not be revealed, and a gap": {func(s *sealedServer, p pick) {
			s.add(tlog.KindSeal, "pick "+p.Date, strings.Repeat("ab", 32), "picks/1", "2999-01-01T00:00:00.000000Z", s.clock(p.Date, -30))
			goesOn(s, p)
		}, audit.Mismatch, "The seal of 2026-03-04 may be revealed until"},
		"a leaf that is not in its form": {func(s *sealedServer, p pick) {
			whole(s, p)
			s.leaves = append(s.leaves, []byte("tidemark/correction/v1\nseq 3\nwhat a\tb\nevidence x\ndate 2026-03-04\nat "+s.clock(p.Date, 5)+"\n"))
		}, audit.Mismatch, "Leaf 17 of the log is not in its form: leaf of kind correction: what has a control character"},
		"the server hides the newest pick": {func(s *sealedServer, p pick) {
			whole(s, p)
			s.Picks = s.Picks[:5]
			s.rechain()
		}, audit.Mismatch, "pick 6 of the log"},
		"a file of another tree": {func(s *sealedServer, p pick) {
			whole(s, p)
			s.lie = func(path string, body []byte) []byte {
				if strings.Contains(path, "entries") {
					body = bytes.Replace(body, []byte("picks/1"), []byte("picks/2"), 1)
				}
				return body
			}
		}, audit.NotChecked, "another root"},
		"a checkpoint by another key": {func(s *sealedServer, p pick) {
			whole(s, p)
			s.vkey = newSealedServer(s.tb, 3, whole).vkey
		}, audit.NotChecked, "checkpoint of the server's log cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := newSealedServer(t, 6, tt.half).report()
			c := check(t, report, "seals")
			if c.Status != tt.status || !strings.Contains(c.Detail, tt.says) || (report.Verdict == chain.Contradicted) != (tt.status == audit.Mismatch) {
				t.Errorf("%s, %s: %s; want %s, %q", report.Verdict, c.Status, c.Detail, tt.status, tt.says)
			}
		})
	}
}

func TestALogOfManyFilesIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	s := newSealedServer(t, 6, func(s *sealedServer, p pick) {
		for n := range 600 {
			s.add(tlog.KindGap, "2026-01-02", fmt.Sprint(n), s.clock(p.Date, -60))
		}
		s.seal(p)
		s.add(tlog.KindGap, p.Date, "x", s.clock(p.Date, 11))
	})
	if c := check(t, s.report(), "seals"); c.Status != audit.Mismatch || !strings.Contains(c.Detail, "2026-03-04") {
		t.Errorf("%+v", c)
	}
}

// A server that admits a failure is believed, also where its log cannot be read.
func TestAServerThatAdmitsAFailedDayIsBelieved(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 6)
	h := r.handler(t)
	for name, tt := range map[string]struct {
		contradicts bool
		verdict     chain.Verdict
	}{"proven": {true, chain.Contradicted}, "not proven": {false, chain.SelfConsistent}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				if q.URL.Path != chainPath {
					h(w, q)
					return
				}
				var body map[string]any
				if err := json.Unmarshal(r.body(t, 1, 0), &body); err != nil {
					t.Error(err)
				}
				body["seals"] = map[string]any{"faults": []any{map[string]any{"text": "the reveal did not come", "contradicts": tt.contradicts}}}
				if q.FormValue("limit") == "1" {
					body["picks"] = body["picks"].([]any)[:1]
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(body)
			}))
			report, err := audit.Run(t.Context(), audit.Options{URL: url, Environ: os.Environ(), Now: now})
			if err != nil || report.Verdict != tt.verdict {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
}
