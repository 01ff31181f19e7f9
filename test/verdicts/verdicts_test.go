// Package verdicts checks the page's script and an independent verifier against the vectors of chain/testdata/verdicts.json. Package chain
// checks the Go verifier against the same vectors. All three must reach the same verdict.
package verdicts

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const vectors = "../../chain/testdata/verdicts.json"

type outcome struct {
	Verdict string
	Fault   *int64
	Covered *int64
}

// runPage judges every case with the file that the page /verify loads.
const runPage = `
import { readFileSync } from "node:fs";
const [script, vectors] = process.argv.slice(-2);
const { recompute, judge } = await import(script);
const out = [];
for (const c of JSON.parse(readFileSync(vectors))) {
  const j = judge(c.answer, await recompute(c.answer.picks), c.witnesses, c.policy);
  out.push({ verdict: j.verdict, fault: j.fault ? j.fault.seq : null, covered: j.covered });
}
console.log(JSON.stringify(out));
`

func TestThePageAndAnIndependentVerifierReachTheSameVerdicts(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(vectors)
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name string
		Want outcome
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "verdict.mjs")
	script, err := os.ReadFile("../../api/pages/static/verdict.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, script, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(vectors)
	if err != nil {
		t.Fatal(err)
	}
	for program, args := range map[string][]string{
		"node":    {"--input-type=module", "--eval", runPage, "--", page, path},
		"python3": {"../../examples/python/verify.py", path},
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(program); err != nil {
				t.Skipf("%s is not installed, so this verifier was not tried", program)
			}
			out, err := exec.CommandContext(t.Context(), program, args...).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var got []outcome
			if err := json.Unmarshal(out, &got); err != nil || len(got) != len(cases) {
				t.Fatalf("%d outcomes of %d cases: %v", len(got), len(cases), err)
			}
			for i, c := range cases {
				if c.Want.Covered == nil {
					got[i].Covered = nil
				}
				if diff := cmp.Diff(c.Want, got[i]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.Name, diff)
				}
			}
		})
	}
}
