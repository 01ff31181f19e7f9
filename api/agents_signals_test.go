package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// signalTools: the tools about signals answer what the API answers.
func signalTools(t *testing.T, a *agents) {
	list, text := a.call("list_signals", map[string]any{})
	if d := cmp.Diff(a.get("/api/signals"), list); d != "" || !strings.Contains(text, "crack-spread-321") {
		t.Errorf("list_signals differs from the catalog (-catalog +tool):\n%s\n%s", d, text)
	}
	one, _ := a.call("get_signal", map[string]any{"id": "crack-spread-321"})
	proofs, _ := one["proofs"].([]any)
	delete(one, "proofs")
	want := a.get(crack)
	if d := cmp.Diff(want, one); d != "" {
		t.Errorf("get_signal differs from the snapshot (-snapshot +tool):\n%s", d)
	}
	inputs := want["provenance"].(map[string]any)["inputs"].([]any)
	if len(proofs) != len(inputs) || len(inputs) == 0 {
		t.Fatalf("%d proofs for %d inputs", len(proofs), len(inputs))
	}
	for i, p := range proofs {
		p, in := p.(map[string]any), inputs[i].(map[string]any)
		if p["sha256"] != in["sha256"] || p["source"] != in["source"] || (p["log_index"] == nil) != (p["proof_url"] == nil) {
			t.Errorf("the proof %v does not belong to the input %v", p, in)
		}
	}
	at, err := time.Parse(time.RFC3339, want["as_of"].(string))
	if err != nil {
		t.Fatal(err)
	}
	then, _ := a.call("get_signal", map[string]any{"id": "crack-spread-321", "as_of": at.Format(time.RFC3339)})
	if then["as_of"] != want["as_of"] || then["value"] != want["value"] {
		t.Errorf("as of %s: %v at %v", at, then["value"], then["as_of"])
	}
	before := map[string]any{"id": "crack-spread-321", "as_of": at.Add(-time.Second).Format(time.RFC3339)}
	if r := a.result("tools/call", map[string]any{"name": "get_signal", "arguments": before}); r["isError"] != true {
		t.Errorf("before its first snapshot the signal is %v", r["structuredContent"])
	}
	for _, query := range []string{"", "&as_of=" + at.Format(time.RFC3339)} {
		args := map[string]any{"id": "crack-spread-321", "limit": 2}
		if query != "" {
			args["as_of"] = at.Format(time.RFC3339)
		}
		history, _ := a.call("get_signal_history", args)
		if d := cmp.Diff(a.get(crack+"/history?order=desc&limit=2"+query), history); d != "" {
			t.Errorf("get_signal_history%s differs (-history +tool):\n%s", query, d)
		}
	}
	if r := a.ask(http.MethodGet, crack); r.StatusCode != http.StatusOK {
		t.Error(r.Status)
	}
}
