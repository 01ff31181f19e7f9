// Package verdicts runs three verifiers over the same cases: the Go verifier of package chain, the script of the page /verify, and an
// independent one in Python. All three must reach the verdicts of chain/testdata/verdicts.json, and the same verdict on random cases.
package verdicts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

const vectors = "../../chain/testdata/verdicts.json"

// outcome is a verdict, the first pick at fault, the length that fresh witnesses hold, and k and n of "k of n parties". Covered and Parties
// are null if a pick is at fault: beyond it verifiers may stop.
type outcome struct {
	Verdict string
	Fault   *int64
	Covered *int64
	Parties []int
}

type link struct {
	Seq      int64  `json:"seq"`
	Ticker   string `json:"ticker"`
	Price    string `json:"price"`
	Date     string `json:"date"`
	Previous string `json:"previous_hash"`
	Hash     string `json:"hash"`
}

type claims struct {
	Length int64   `json:"chain_length"`
	Head   *string `json:"head_hash"`
	Picks  []link  `json:"picks"`
	Seals  *seals  `json:"seals,omitempty"`
	// Gaps and Corrections may be absent.
	Gaps        []gap        `json:"gaps,omitempty"`
	Corrections []correction `json:"corrections,omitempty"`
}

func (c claims) chainGaps() (gaps []chain.Gap) {
	for _, g := range c.Gaps {
		gaps = append(gaps, chain.Gap(g))
	}
	return gaps
}

type gap struct {
	Date   string `json:"date"`
	Reason string `json:"reason"`
}

type correction struct {
	Seq      int64  `json:"seq"`
	What     string `json:"what"`
	Evidence string `json:"evidence"`
	Date     string `json:"date"`
}

type seals struct {
	Since  *string     `json:"since,omitempty"`
	Faults []sealFault `json:"faults"`
}

type sealFault struct {
	Contradicts bool `json:"contradicts"`
}

type witness struct {
	Witness  string     `json:"witness"`
	Length   int64      `json:"length"`
	Head     string     `json:"head"`
	Date     string     `json:"date,omitempty"`
	Attester string     `json:"attester,omitempty"`
	At       *time.Time `json:"at,omitempty"`
	// Named says that the server alone names whom to ask, Kept that it is the reader's own checkpoint.
	Named bool `json:"named,omitempty"`
	Kept  bool `json:"kept,omitempty"`
}

type policy struct {
	Attester *string   `json:"attester"`
	Now      time.Time `json:"now"`
	// Clock is the reader's own, where a demonstration has another one.
	Clock time.Time `json:"clock,omitzero"`
}

// readLog is a log as a server shows it, and the reader's policy.
type readLog struct {
	Policy   string   `json:"policy"`
	Note     string   `json:"note"`
	Leaves   [][]byte `json:"leaves"`
	Required bool     `json:"required"`
	// Other is a second checkpoint that the server shows; empty for none.
	Other string `json:"other,omitempty"`
	// Named says that the policy is the server's word.
	Named bool `json:"named"`
}

// testCase is one case of verdicts.json, which a script makes with nothing of this program.
type testCase struct {
	Name      string    `json:"name"`
	Answer    claims    `json:"answer"`
	Witnesses []witness `json:"witnesses"`
	Policy    policy    `json:"policy"`
	Log       *readLog  `json:"log,omitempty"`
	Want      outcome   `json:"-"`
}

// judge is the Go verifier's outcome.
func (c *testCase) judge() outcome {
	// The rest is what package audit does with a server's answers.
	var v chain.Verifier
	var days chain.Days
	var fault *int64
	heads := map[int64]chain.Checkpoint{}
	for _, p := range c.Answer.Picks {
		if v.Add(chain.Link{Seq: p.Seq, Ticker: p.Ticker, Price: p.Price, Date: p.Date, PreviousHash: p.Previous, Hash: p.Hash}) != nil {
			fault = new(v.Checkpoint().Length + 1)
			break
		}
		heads[p.Seq] = v.Checkpoint()
		days.Add(p.Seq, p.Date)
	}
	head, claimed, attester := v.Checkpoint(), chain.Genesis, ""
	if c.Answer.Head != nil {
		claimed = *c.Answer.Head
	}
	if c.Policy.Attester != nil {
		attester = *c.Policy.Attester
	}
	faulty := fault != nil || c.Answer.Length != head.Length || claimed != head.Head
	if c.Answer.Seals != nil {
		for _, f := range c.Answer.Seals.Faults {
			faulty = faulty || f.Contradicts
		}
	}
	if wrong, _ := days.Compare(c.Answer.chainGaps(), c.Policy.Now); fault == nil && wrong != "" {
		faulty = true
	}
	var holdings []chain.Holding
	for _, w := range c.Witnesses {
		h := chain.Holding{Witness: w.Witness, Checkpoint: chain.Checkpoint{Length: w.Length, Head: w.Head, Date: w.Date}, Attester: w.Attester, Named: w.Named, Kept: w.Kept}
		if w.At != nil {
			h.At = *w.At
		}
		holdings = append(holdings, h)
	}
	logged := c.Answer.Seals != nil && c.Answer.Seals.Since != nil
	log, broken := c.log()
	faulty = faulty || broken
	j := chain.Judge(chain.Recomputed{Length: head.Length, Faulty: faulty, Logged: logged, At: func(n int64) (chain.Checkpoint, bool) {
		c, ok := heads[n]
		return c, ok
	}}, holdings, chain.Reader{Attester: attester, Now: c.Policy.Now, Clock: c.Policy.Clock, Log: log})
	return outcome{string(j.Verdict), fault, &j.Covered, []int{j.Agreeing, j.Parties}}.comparable()
}

// log is the content of the case's log. broken reports whether its leaves prove a broken promise of a seal, have a wrong form, or contain a
// note that the answer hides. It is also true if its checkpoints are of two histories.
func (c *testCase) log() (log *chain.Log, broken bool) {
	if c.Log == nil {
		return nil, false
	}
	policy, err := tlog.ParsePolicy([]byte(c.Log.Policy))
	if err != nil {
		panic(err)
	}
	var edge tlog.Edge
	var picks tlog.LoggedPicks
	var days tlog.SealedDays
	var notes tlog.LoggedNotes
	roots, misshapen := map[int64]tlog.Hash{0: edge.Root()}, false
	for i, leaf := range c.Log.Leaves {
		misshapen = misshapen || tlog.Misshapen(int64(i), leaf) != ""
		if l, err := tlog.ParseLeaf(leaf); err == nil {
			days.Add(int64(i), l)
			notes.Add(l)
		}
		edge.Add(tlog.LeafHash(leaf))
		roots[edge.Size] = edge.Root()
		picks.Add(leaf)
	}
	o, err := policy.Open([]byte(c.Log.Note))
	forked := false
	if other, bad := policy.Open([]byte(c.Log.Other)); err == nil && c.Log.Other != "" {
		if err = bad; bad == nil {
			forked = tlog.Forked(o, other, roots) != ""
		}
	}
	if forked || err != nil || o.Size != edge.Size || o.Root != edge.Root() {
		o, picks, days, notes = nil, tlog.LoggedPicks{}, tlog.SealedDays{}, tlog.LoggedNotes{}
		misshapen = false
	}
	var corrections []chain.Correction
	for _, k := range c.Answer.Corrections {
		corrections = append(corrections, chain.Correction(k))
	}
	latest := c.Policy.Now
	if c.Policy.Clock.After(latest) {
		latest = c.Policy.Clock
	}
	broken = forked || misshapen || days.Ahead(latest) != "" || len(notes.Hidden(c.Answer.chainGaps(), corrections)) > 0
	for _, d := range days.Days(c.Policy.Now) {
		broken = broken || d.Contradicts
	}
	log = tlog.LogOf(policy, o, picks, c.Log.Required)
	log.Lacks = len(notes.Missing(c.Answer.chainGaps(), corrections)) > 0
	log.Named = c.Log.Named
	return log, broken
}

// comparable leaves out what verifiers need not agree on.
func (o outcome) comparable() outcome {
	if o.Fault != nil {
		o.Covered, o.Parties = nil, nil
	}
	return o
}

// runPage judges every case with the file that the page /verify loads.
const runPage = `
import { readFileSync } from "node:fs";
const [script, vectors] = process.argv.slice(-2);
const { recompute, judge } = await import(script);
const { parsePolicy, readLog } = await import(script.replace("verdict.mjs", "log.mjs"));
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const out = [];
for (const c of JSON.parse(readFileSync(vectors))) {
  const log = c.log ? { ...await readLog(await parsePolicy(c.log.policy), c.log.note, c.log.leaves.map(bytes), c.log.other), required: c.log.required, named: c.log.named } : null;
  const j = judge(c.answer, await recompute(c.answer.picks), c.witnesses, c.policy, log);
  out.push({ verdict: j.verdict, fault: j.fault ? j.fault.seq : null, covered: j.covered, parties: [j.agreeing, j.parties] });
}
console.log(JSON.stringify(out));
`

// others runs the page's script and the independent verifier over a file of cases.
func others(t *testing.T, cases string, compare func(t *testing.T, got []outcome)) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"verdict", "log"} {
		script, err := os.ReadFile("../../api/pages/static/" + name + ".js")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".mjs"), script, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "verdict.mjs")
	cases, err := filepath.Abs(cases)
	if err != nil {
		t.Fatal(err)
	}
	for program, args := range map[string][]string{
		"node":    {"--input-type=module", "--eval", runPage, "--", page, cases},
		"python3": {"../../examples/python/verify.py", cases},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is not installed, so this verifier was not tried", program)
			}
			cmd := exec.CommandContext(t.Context(), program, args...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var got []outcome
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			for i := range got {
				got[i] = got[i].comparable()
			}
			compare(t, got)
		})
	}
}

// readCases reads a file of cases with their outcomes.
func readCases(t *testing.T, file string) []testCase {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var cases []testCase
	var wants []struct{ Want outcome }
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &wants); err != nil {
		t.Fatal(err)
	}
	for i, w := range wants {
		cases[i].Want = w.Want
	}
	return cases
}

func TestThreeVerifiersReachTheVerdictsOfTheVectors(t *testing.T) {
	t.Parallel()
	cases := readCases(t, vectors)
	if len(cases) < 175 {
		t.Fatalf("%d cases", len(cases))
	}
	check := func(t *testing.T, got []outcome) {
		t.Helper()
		if len(got) != len(cases) {
			t.Fatalf("%d outcomes of %d cases", len(got), len(cases))
		}
		for i, c := range cases {
			if diff := cmp.Diff(c.Want, got[i]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.Name, diff)
			}
		}
	}
	var own []outcome
	for i := range cases {
		own = append(own, cases[i].judge())
	}
	check(t, own)
	others(t, vectors, check)
}
