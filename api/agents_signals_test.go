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
	newest := map[string]any{} // the proofs of the newest bodies, by signal
	for _, s := range list["signals"].([]any) {
		s := s.(map[string]any)
		newest[s["id"].(string)] = s["proof"]
		delete(s, "proof")
	}
	if d := cmp.Diff(a.get("/api/signals"), list); d != "" || !strings.Contains(text, "crack-spread-321") {
		t.Errorf("list_signals differs from the catalog (-catalog +tool):\n%s\n%s", d, text)
	}
	one, _ := a.call("get_signal", map[string]any{"id": "crack-spread-321"})
	proofs, _ := one["proofs"].([]any)
	evidence, _ := one["evidence"].(map[string]any)
	delete(one, "proofs")
	delete(one, "evidence")
	want := a.get(crack)
	if d := cmp.Diff(want, one); d != "" {
		t.Errorf("get_signal differs from the snapshot (-snapshot +tool):\n%s", d)
	}
	inputs := want["provenance"].(map[string]any)["inputs"].([]any)
	if len(proofs) != len(inputs) || len(inputs) == 0 {
		t.Fatalf("%d proofs for %d inputs", len(proofs), len(inputs))
	}
	evidenceLinks(t, a, want, evidence)
	for i, p := range proofs {
		p, in := p.(map[string]any), inputs[i].(map[string]any)
		if p["sha256"] != in["sha256"] || p["source"] != in["source"] || (p["log_index"] == nil) != (p["proof_url"] == nil) ||
			p["raw_url"] != a.base+"/raw/"+in["sha256"].(string) {
			t.Errorf("the proof %v does not belong to the input %v", p, in)
		}
	}
	if d := cmp.Diff(proofs[0], newest["crack-spread-321"]); d != "" {
		t.Errorf("the proof in the list differs (-get_signal +list_signals):\n%s", d)
	}
	at, err := time.Parse(time.RFC3339, want["as_of"].(string))
	if err != nil {
		t.Fatal(err)
	}
	then, _ := a.call("get_signal", map[string]any{"id": "crack-spread-321", "as_of": at.Format(time.RFC3339)})
	if then["as_of"] != want["as_of"] || then["value"] != want["value"] {
		t.Errorf("as of %s: %v at %v", at, then["value"], then["as_of"])
	}
	before := map[string]any{"id": "crack-spread-321", "as_of": at.AddDate(0, 0, -2).Format(time.RFC3339)}
	if r := a.result("tools/call", map[string]any{"name": "get_signal", "arguments": before}); r["isError"] != true {
		t.Errorf("before its first snapshot the signal is %v", r["structuredContent"])
	}
	for _, query := range []string{"", "&as_of=" + at.Format(time.RFC3339)} {
		args := map[string]any{"id": "crack-spread-321", "limit": 2}
		if query != "" {
			args["as_of"] = at.Format(time.RFC3339)
		}
		history, _ := a.call("get_signal_history", args)
		if d := cmp.Diff([]any{evidence, proofs}, []any{history["evidence"], history["proofs"]}); d != "" {
			t.Errorf("get_signal_history%s has other proofs (-get_signal +get_signal_history):\n%s", query, d)
		}
		delete(history, "evidence")
		delete(history, "proofs")
		for _, row := range history["data"].([]any) { // what the head says of all intervals stands in no row, and in each of the API's
			row := row.(map[string]any)
			if len(row) != 12 || row["bounds"] != nil || row["basis"] != nil {
				t.Errorf("a row for agents is %v", row)
			}
			if row["bounds"], row["basis"] = nil, nil; row["uncertainty_lo"] != nil {
				row["bounds"], row["basis"] = history["uncertainty_bounds"], history["uncertainty_basis"]
			}
		}
		if d := cmp.Diff(a.get(crack+"/history?order=desc&limit=2"+query), history); d != "" {
			t.Errorf("get_signal_history%s differs (-history +tool):\n%s", query, d)
		}
	}
	if r := a.ask(http.MethodGet, crack); r.StatusCode != http.StatusOK {
		t.Error(r.Status)
	}
}

// evidenceLinks: a snapshot leads an agent to its evidence as a page and as JSON, and to why it moved. The addresses are answered.
func evidenceLinks(t *testing.T, a *agents, snapshot, links map[string]any) {
	t.Helper()
	get := func(name string) map[string]any {
		address, _ := links[name].(string)
		return a.get(strings.TrimPrefix(address, a.base))
	}
	page, _ := links["page_url"].(string)
	if page != a.base+"/evidence/crack-spread-321/2026-03-02" {
		t.Errorf("the page of the evidence is %q", page)
	}
	if e := get("url"); e["id"] != "crack-spread-321" || e["as_of"] != snapshot["as_of"] || e["numbers"].(map[string]any)["value"] != snapshot["value"] {
		t.Errorf("%s is the evidence %v of %v", links["url"], e["numbers"], snapshot["value"])
	}
	earlier := full()
	earlier.At, earlier.Value = earlier.At.AddDate(0, 0, -1), new(21.5)
	a.save(earlier)
	if c := get("changes_url"); c["data"].(map[string]any)["to"].(map[string]any)["as_of"] != snapshot["as_of"] {
		t.Errorf("%s explains %v", links["changes_url"], c)
	}
}

// changesAndForecasts: the tools about why a signal moved and about forecasts answer what the API answers.
func changesAndForecasts(t *testing.T, a *agents) {
	for query, arguments := range map[string]map[string]any{
		"": {}, "?from=2026-03-02": {"from": "2026-03-02"}, "?to=2026-03-04T11:00:00Z&lang=hi": {"to": "2026-03-04T11:00:00Z", "language": "hi"},
	} {
		arguments["id"] = "crack-spread-321"
		got, text := a.call("explain_change", arguments)
		want := a.get(crack + "/changes" + query)
		if d := cmp.Diff(want, got); d != "" || !strings.Contains(text, want["data"].(map[string]any)["text"].(string)) {
			t.Errorf("explain_change%s differs (-changes +tool):\n%s\n%s", query, d, text)
		}
	}
	got, text := a.call("get_forecast", map[string]any{"id": "crack-spread-321"})
	card, _ := got["scorecard_url"].(string)
	if list, ok := got["data"].([]any); !ok || len(list) != 0 || !strings.Contains(text, "No figure of crack-spread-321 was forecast yet") {
		t.Errorf("without a forecast: %v\n%s", got, text)
	}
	a.get(strings.TrimPrefix(card, a.base))
}
