package chain_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"tidemark/chain"
)

// verdictCase is one case of testdata/verdicts.json, which a script makes with nothing of this program.
type verdictCase struct {
	Name   string
	Answer struct {
		Length int64  `json:"chain_length"`
		Head   string `json:"head_hash"`
		Picks  []struct {
			Seq                 int64
			Ticker, Price, Date string
			Previous            string `json:"previous_hash"`
			Hash                string
		}
		Seals struct {
			Faults []struct{ Contradicts bool }
		}
	}
	Witnesses []struct {
		Witness, Head, Date, Attester string
		Length                        int64
		At                            time.Time
	}
	Policy struct {
		Attester string
		Now      time.Time
	}
	Want struct {
		Verdict chain.Verdict
		Fault   *int64
		Covered *int64
	}
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/verdicts.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []verdictCase
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 20 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			judgeCase(t, c)
		})
	}
}

func judgeCase(t *testing.T, c verdictCase) {
	t.Helper()
	var v chain.Verifier
	var fault *int64
	heads := map[int64]chain.Checkpoint{}
	for _, p := range c.Answer.Picks {
		if v.Add(chain.Link{Seq: p.Seq, Ticker: p.Ticker, Price: p.Price, Date: p.Date, PreviousHash: p.Previous, Hash: p.Hash}) != nil {
			fault = new(v.Checkpoint().Length + 1)
			break
		}
		heads[p.Seq] = v.Checkpoint()
	}
	head := v.Checkpoint()
	admitted := false
	for _, f := range c.Answer.Seals.Faults {
		admitted = admitted || f.Contradicts
	}
	var holdings []chain.Holding
	for _, w := range c.Witnesses {
		if fault == nil || w.Length <= head.Length {
			holdings = append(holdings, chain.Holding{
				Witness: w.Witness, Checkpoint: chain.Checkpoint{Length: w.Length, Head: w.Head, Date: w.Date}, Attester: w.Attester, At: w.At,
			})
		}
	}
	j := chain.Judge(chain.Recomputed{
		Length: head.Length, Faulty: fault != nil || admitted || c.Answer.Length != head.Length || c.Answer.Head != head.Head,
		At: func(n int64) (chain.Checkpoint, bool) { c, ok := heads[n]; return c, ok },
	}, holdings, c.Policy.Attester, c.Policy.Now)
	if j.Verdict != c.Want.Verdict {
		t.Errorf("the verdict is %s, want %s; %q", j.Verdict, c.Want.Verdict, j.Against)
	}
	if c.Want.Covered != nil && j.Covered != *c.Want.Covered {
		t.Errorf("%d picks are covered, want %d", j.Covered, *c.Want.Covered)
	}
	switch {
	case (fault == nil) != (c.Want.Fault == nil):
		t.Errorf("the fault is %v, want %v", fault, c.Want.Fault)
	case fault != nil && *fault != *c.Want.Fault:
		t.Errorf("pick %d is at fault, want %d", *fault, *c.Want.Fault)
	}
}
