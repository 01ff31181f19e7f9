package audit_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/internal/devchain"
)

// A live record that stopped could call itself a demonstration, whose clock stands still: its last witness would stay fresh permanently.
func TestADemonstrationsClockCountsOnlyWhereTheReaderAskedForNothing(t *testing.T) {
	t.Parallel()
	later := now.AddDate(4, 0, 0)
	signers := filepath.Join(t.TempDir(), "signers")
	if err := os.WriteFile(signers, []byte("a@example.org ssh-ed25519 AAAA\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	recordOf := func(t *testing.T, environment string) *record {
		t.Helper()
		r := newRecord(t, 12)
		r.Environment = environment
		return r
	}
	head := func(r *record) chain.Checkpoint { return chain.Checkpoint{Length: r.Length, Head: r.Head} }
	for name, tt := range map[string]struct {
		environment string
		options     func(t *testing.T, r *record) audit.Options
		clock       string
	}{
		"nothing is asked for": {"demo", func(*testing.T, *record) audit.Options { return audit.Options{} }, "server"},
		"a ledger of a demonstration is named": {"demo", func(t *testing.T, r *record) audit.Options {
			t.Helper()
			return audit.Options{Ledger: r.commit(t)}
		}, "server"},
		"the reader knows that it is one": {"demo", func(_ *testing.T, r *record) audit.Options {
			return audit.Options{Checkpoint: head(r), Environment: "demo"}
		}, "server"},
		"witnesses are required": {"demo", func(*testing.T, *record) audit.Options { return audit.Options{Witnessed: true} }, "reader"},
		"a checkpoint is known":  {"demo", func(_ *testing.T, r *record) audit.Options { return audit.Options{Checkpoint: head(r)} }, "reader"},
		"an attester is known": {"demo", func(*testing.T, *record) audit.Options {
			return audit.Options{Attester: devchain.Address(0).Hex()}
		}, "reader"},
		"signers are known": {"demo", func(t *testing.T, r *record) audit.Options {
			t.Helper()
			return audit.Options{Ledger: r.commit(t), Signers: signers}
		}, "reader"},
		"a node is trusted": {"demo", func(*testing.T, *record) audit.Options { return audit.Options{RPC: []string{"http://127.0.0.1:1"}} }, "reader"},
		"a ledger is named that cannot be read": {"demo", func(t *testing.T, _ *record) audit.Options {
			t.Helper()
			return audit.Options{Ledger: t.TempDir()}
		}, "reader"},
		"the reader knows that it is live": {"demo", func(*testing.T, *record) audit.Options { return audit.Options{Environment: "live"} }, "reader"},
		"it is live":                       {"live", func(*testing.T, *record) audit.Options { return audit.Options{} }, "reader"},
		"it is live, and the reader thinks that it is a demonstration": {"live", func(*testing.T, *record) audit.Options {
			return audit.Options{Environment: "demo"}
		}, "reader"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := recordOf(t, tt.environment)
			o := tt.options(t, r)
			o.Now = later
			report := r.audit(t, o)
			days := check(t, report, "business_days")
			if report.Clock != tt.clock || (days.Status == audit.Mismatch) != (tt.clock == "reader") {
				t.Errorf("the clock of the %s counts: %+v", report.Clock, days)
			}
			if tt.clock == "reader" && report.Verdict == chain.Witnessed {
				t.Errorf("the record stopped %s ago, and the verdict is %s", later.Sub(now), report.Verdict)
			}
			if said := check(t, report, "answer"); (said.Status == audit.Mismatch) != (o.Environment != "" && o.Environment != tt.environment) {
				t.Errorf("the environment that is known: %+v", said)
			}
		})
	}
}

// Between the first answer and the last one a demonstration's clock may run over days.
func TestADemonstrationMayGoOnWhileItIsRead(t *testing.T) {
	t.Parallel()
	first, last := newRecord(t, 6), newRecord(t, 6)
	for _, r := range []*record{first, last} {
		r.Environment = "demo"
	}
	last.announce(t, "2026-03-05")
	last.announce(t, "2026-03-06")
	last.VerifiedAt = "2026-03-06T23:30:00Z"
	handlers := []http.Handler{first.handler(t), last.handler(t)}
	asked := 0
	address := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/picks") {
			asked++
		}
		handlers[min(asked-1, 1)].ServeHTTP(w, r)
	}))
	report, err := audit.Run(t.Context(), audit.Options{URL: address, Now: now.AddDate(4, 0, 0), Environ: os.Environ()})
	if err != nil || !report.Verified {
		t.Errorf("%+v, %v", report, err)
	}
}
