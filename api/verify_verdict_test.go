package api_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

func TestTheServersVerdictCountsTheWitnessesOfItsLogByTheRulesOfEveryVerifier(t *testing.T) {
	t.Parallel()
	l := serveRecord(t, pgtest.New(t), "2026-02-12")
	l.pick("AAPL", "243.85", "2026-02-13", true)
	l.shows(1)
	verdict := func(path string) (string, map[string]any) {
		body := l.get(path)
		return body["verdict"].(string), body["judged_by"].(map[string]any)
	}
	for _, path := range []string{"/api/v1/verify/picks", "/api/v1/verify/pick/AAPL"} {
		v, by := verdict(path)
		if v != "self_consistent" || by["parties"] != 0.0 || by["quorum"] != nil || !strings.Contains(by["text"].(string), "Only this server speaks for itself") {
			t.Errorf("%s without a witness: %s, %v", path, v, by)
		}
	}

	keys, err := tlog.NewLogKey(rand.Reader, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer := &markedSigner{}
	if signer.Signer, err = tlog.NewSigner(keys.Private); err != nil {
		t.Fatal(err)
	}
	policy := "log " + keys.Public + "\n"
	var witnesses []*tlog.Cosigner
	for _, name := range []string{"anna", "bert", "carl"} {
		k, err := tlog.NewWitnessKey(rand.Reader, name+".example/w")
		if err != nil {
			t.Fatal(err)
		}
		w, err := tlog.NewCosigner(k.Private)
		if err != nil {
			t.Fatal(err)
		}
		witnesses = append(witnesses, w)
		policy += fmt.Sprintf("witness %s %s\n", name, w.VKey())
	}
	policy += "group two 2 anna bert carl\nquorum two\n"
	start := postgres.LogStart{Log: postgres.LogRecord, Origin: signer.Origin(), VKey: signer.VKey(), Environment: "demo", Policy: policy}
	if err := l.worker.BeginLog(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	sequence := func() {
		t.Helper()
		if _, err := l.worker.NumberLeaves(t.Context(), postgres.LogRecord); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.worker.IntegrateLeaves(t.Context(), postgres.LogRecord, signer); err != nil {
			t.Fatal(err)
		}
	}
	cosign := func(at time.Time, quorum bool, by ...int) {
		t.Helper()
		c, err := l.worker.NewestLogCheckpoint(t.Context(), postgres.LogRecord, false)
		if err != nil {
			t.Fatal(err)
		}
		var lines []postgres.LogCosignature
		for _, i := range by {
			line, err := witnesses[i].Cosign(tlog.SignedBody(c.Note), at)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, postgres.LogCosignature{Witness: witnesses[i].VKey(), Line: line, At: at})
		}
		if err := l.worker.AddLogCosignatures(t.Context(), postgres.LogRecord, c.Size, lines, quorum); err != nil {
			t.Fatal(err)
		}
	}
	sequence()
	cosign(*l.now.Load(), false, 0)
	l.eventually("a witness is no quorum", func() bool {
		v, by := verdict("/api/v1/verify/pick/AAPL")
		return v == "self_consistent" && by["parties"] == 3.0 && by["quorum"] == false
	})
	cosign(*l.now.Load(), true, 0, 2)
	l.eventually("a quorum", func() bool { v, _ := verdict("/api/v1/verify/pick/AAPL"); return v == "witnessed" })
	for _, path := range []string{"/api/v1/verify/picks", "/api/v1/verify/pick/AAPL"} {
		v, by := verdict(path)
		var held []string
		for _, w := range by["witnesses"].([]any) {
			if w := w.(map[string]any); w["kind"] == "log" && w["length"] == 1.0 && w["at"] != nil && w["against"] == nil {
				held = append(held, w["name"].(string))
			}
		}
		if v != "witnessed" || by["agreeing"] != 2.0 || by["parties"] != 3.0 || by["covered"] != 1.0 || by["quorum"] != true || !slices.Equal(held, []string{"anna", "carl"}) {
			t.Errorf("%s: %s, %v", path, v, by)
		}
	}

	// The next pick is not in a cosigned size: the record is witnessed, that pick is not.
	l.pick("MSFT", "423.35", "2026-02-17", true)
	sequence()
	l.shows(2)
	l.eventually("the pick that nobody holds yet", func() bool { v, _ := verdict("/api/v1/verify/pick/MSFT"); return v == "self_consistent" })
	// The quorum is four days old by then, and the policy asks for a fresh one.
	if v, by := verdict("/api/v1/verify/pick/AAPL"); v != "self_consistent" || by["quorum"] != false || !strings.Contains(by["text"].(string), "no quorum of the operator's policy") {
		t.Errorf("an old quorum: %s, %v", v, by)
	}
	cosign(*l.now.Load(), true, 1, 2)
	l.eventually("the next quorum", func() bool {
		first, _ := verdict("/api/v1/verify/pick/AAPL")
		second, _ := verdict("/api/v1/verify/pick/MSFT")
		return first == "witnessed" && second == "witnessed"
	})

	// A ledger with another history contradicts.
	if err := l.worker.SaveLedger(t.Context(), task.Fence{}, nil, postgres.LedgerState{Branch: "main", Status: postgres.LedgerDiverged, Note: "x", CheckedAt: *l.now.Load()}); err != nil {
		t.Fatal(err)
	}
	l.eventually("the ledger contradicts", func() bool {
		v, _ := verdict("/api/v1/verify/picks")
		one, _ := verdict("/api/v1/verify/pick/AAPL")
		return v == "contradicted" && one == "contradicted"
	})
}
