package api_test

import (
	"strings"
	"testing"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

func TestTheRegistryHasEachVersionWithItsPlaceInTheLog(t *testing.T) {
	t.Parallel()
	l := serveRecord(t, pgtest.New(t), "2026-02-12")
	sequence := l.keepLog()
	for i, m := range []postgres.Method{
		{Name: "picks", Version: "1", Status: postgres.MethodTried, SHA256: strings.Repeat("a", 64), Note: "the first"},
		{Name: "picks", Version: "2", Status: postgres.MethodTried, SHA256: strings.Repeat("b", 64), Note: "the second"},
		{Name: "picks", Version: "2", Status: postgres.MethodAdopted, SHA256: strings.Repeat("b", 64), Note: "the second"},
	} {
		if added, err := l.worker.RecordMethod(t.Context(), m); err != nil || !added {
			t.Fatal(i, added, err)
		}
	}
	// An adopted method was tried.
	again := postgres.Method{Name: "picks", Version: "2", Status: postgres.MethodTried, SHA256: strings.Repeat("b", 64), Note: "the second"}
	if added, err := l.worker.RecordMethod(t.Context(), again); err != nil || added {
		t.Error(added, err)
	}
	sequence()
	body := l.get("/api/methods")
	data := body["data"].([]any)
	if len(data) != 3 {
		t.Fatalf("%v", body)
	}
	newest := data[0].(map[string]any)
	if newest["version"] != "2" || newest["status"] != "adopted" || newest["log_index"] != 3.0 || newest["proof_url"] != l.url+"/log/proof/3.tlog-proof" {
		t.Errorf("the newest: %v", newest)
	}
	if trials := body["trials"].([]any); len(trials) != 1 || trials[0].(map[string]any)["trials"] != 2.0 {
		t.Errorf("trials: %v", trials)
	}
}
