package audit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/audit"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

func TestARecordThatHoldsWithBothWitnesses(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 12, "2026-02-27")
	r.Corrections = append(r.Corrections, map[string]any{"seq": 3.0, "what": "the price was 12.30", "evidence": "https://example.org/<a>", "date": "2026-03-03"})
	r.commit(t)
	r.attest(t, startChain(t), 0, 1, 5, 11)
	report := r.audit(t, audit.Options{})
	for _, c := range report.Checks {
		if c.Status != audit.OK && c.Detail != "the server names no transparency log" {
			t.Errorf("%s: %s: %s", c.Name, c.Status, c.Detail)
		}
	}
	if !report.Verified || report.Length != 11 || report.Head != r.Head || len(report.Checks) != 8 {
		t.Errorf("the report is %+v", report)
	}
	known := r.audit(t, audit.Options{Checkpoint: chain.Checkpoint{Length: 5, Head: r.Picks[4].Hash}})
	if c := check(t, known, "checkpoint"); c.Status != audit.OK {
		t.Errorf("checkpoint: %s: %s", c.Status, c.Detail)
	}
}

func TestWhatIsMissingIsSaidAndIsNoMismatch(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 6)
	report := r.audit(t, audit.Options{})
	if !report.Verified {
		t.Errorf("the report is %+v", report)
	}
	for _, name := range []string{"git", "attestations"} {
		if c := check(t, report, name); c.Status != audit.NotChecked {
			t.Errorf("%s: %s: %s", name, c.Status, c.Detail)
		}
	}
	r.commit(t)
	r.attest(t, startChain(t), 0, 4)
	r.announce(t, "2026-03-05")
	report = r.audit(t, audit.Options{Now: now.Add(9 * time.Hour)})
	if !report.Verified {
		t.Errorf("the report is %+v", report)
	}
	for name, says := range map[string]string{"git": "yet to get 1 more", "attestations": "3 more wait"} {
		if c := check(t, report, name); c.Status != audit.Pending || !strings.Contains(c.Detail, says) {
			t.Errorf("%s: %s: %s", name, c.Status, c.Detail)
		}
	}
}

// An attacker with the whole record can make another chain that is just as consistent. Only the witnesses and a reader's own checkpoint
// reveal it.
func TestARewrittenRecordIsToldByItsWitnesses(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 12, "2026-02-27")
	r.Corrections = append(r.Corrections, map[string]any{"seq": 3.0, "what": "the price was 12.30", "evidence": "https://example.org/a", "date": "2026-03-03"})
	ledger := r.commit(t)
	c := startChain(t)
	r.attest(t, c, 0, 4, 11)
	for _, tt := range []struct {
		name, check, says string
		edit              func(r *record)
	}{
		{"a price", "git", "pick 7 is", func(r *record) { r.Picks[6].Price = "99.99"; r.rechain() }},
		{"a price, to the attestation", "attestations", "after 11 picks", func(r *record) { r.Picks[6].Price = "99.99"; r.rechain() }},
		{"the newest pick", "git", "pick 11 is", func(r *record) { r.Picks[10].Ticker = "ZZZ"; r.rechain() }},
		{"a pick dropped", "git", "pick 3 is", func(r *record) { r.Picks = append(r.Picks[:2], r.Picks[3:]...); r.rechain() }},
		{"the newest pick dropped", "git", "the ledger has 11 picks, the server shows 10", func(r *record) {
			r.Picks = r.Picks[:10]
			r.rechain()
		}},
		{"the newest pick dropped, to the attestation", "attestations", "it is of 11 picks, and the server shows 10", func(r *record) {
			r.Picks = r.Picks[:10]
			r.rechain()
		}},
		{"all picks dropped", "git", "the ledger has 11 picks, the server shows 0", func(r *record) {
			r.Picks, r.HeadDate = r.Picks[:0], nil
			r.rechain()
		}},
		{"a pick put in for a gap", "git", "pick 8 is", func(r *record) {
			p := r.Picks[7]
			p.Date, p.Ticker = "2026-02-27", "WIN"
			r.Picks = append(r.Picks[:7:7], append([]pick{p}, r.Picks[7:]...)...)
			r.Gaps = r.Gaps[:0]
			r.rechain()
		}},
		{"a gap's reason", "git", "the ledger has the gap of 2026-02-27", func(r *record) { r.Gaps[0]["reason"] = "a holiday of ours" }},
		{"a gap dropped", "business_days", "2026-02-27", func(r *record) { r.Gaps = r.Gaps[:0] }},
		{"a gap dropped, to the ledger", "git", "does not show it", func(r *record) { r.Gaps = r.Gaps[:0] }},
		{"a gap added", "git", "the ledger does not have it", func(r *record) {
			r.Gaps = append(r.Gaps, map[string]any{"date": "2026-02-03", "reason": "before all"})
		}},
		{"a correction dropped", "git", "the correction of pick 3", func(r *record) { r.Corrections = r.Corrections[:0] }},
		{"a correction changed", "git", "the correction of pick 3", func(r *record) { r.Corrections[0]["what"] = "nothing" }},
		{"a correction added", "git", "does not have it", func(r *record) {
			r.Corrections = append(r.Corrections, map[string]any{"seq": 1.0, "what": "a", "evidence": "b", "date": "2026-03-02"})
		}},
		{"the environment", "git", `environment is "live"`, func(r *record) { r.Environment = "demo" }},
		{"another commit", "git", "does not have", func(r *record) { r.Git["commit"] = strings.Repeat("ab", 20) }},
		{"another attester", "attestations", "the newest attestation is of 0 picks", func(r *record) {
			r.Attestation["attester"] = devchain.Address(3).Hex()
			r.Attestation["latest"] = nil
		}},
		{"another contract", "attestations", "EAS on this network is", func(r *record) { r.Attestation["contract"] = devchain.TokenAddress.Hex() }},
		{"another schema", "attestations", "names the schema", func(r *record) { r.Attestation["schema_uid"] = "0x" + strings.Repeat("12", 32) }},
		{"a block of the attestation", "attestations", "it is in block", func(r *record) { latest(r)["block_number"] = 1 }},
		{"a transaction of the attestation", "attestations", "was made by the transaction", func(r *record) {
			latest(r)["tx_hash"] = "0x" + strings.Repeat("12", 32)
		}},
		{"an attestation that is not there", "attestations", "the contract does not have it", func(r *record) {
			latest(r)["uid"] = "0x" + strings.Repeat("12", 32)
		}},
		{"an attested length", "attestations", "it is of 11 picks, not of 10", func(r *record) { latest(r)["seq"] = 10 }},
		{"a later first block", "attestations", "which is not in the list", func(r *record) {
			r.Attestation["start_block"] = latest(r)["block_number"]
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			edited := r.copy(t)
			tt.edit(edited)
			report := edited.audit(t, audit.Options{Ledger: ledger})
			got := check(t, report, tt.check)
			if report.Verified || got.Status != audit.Mismatch || !strings.Contains(got.Detail, tt.says) {
				t.Errorf("%s: %s: %s, want a mismatch that says %q", got.Name, got.Status, got.Detail, tt.says)
			}
		})
	}
	t.Run("a reader's checkpoint", func(t *testing.T) {
		t.Parallel()
		cut := newRecord(t, 12, "2026-02-27")
		cut.Picks = cut.Picks[:9]
		cut.rechain()
		report := cut.audit(t, audit.Options{Checkpoint: chain.Checkpoint{Length: 11, Head: r.Head}})
		if c := check(t, report, "checkpoint"); report.Verified || c.Status != audit.Mismatch {
			t.Errorf("%s: %s", c.Status, c.Detail)
		}
	})
	t.Run("the attester that is known from elsewhere", func(t *testing.T) {
		t.Parallel()
		report := r.audit(t, audit.Options{Attester: devchain.Address(5).Hex()})
		if c := check(t, report, "attestations"); report.Verified || c.Status != audit.Mismatch {
			t.Errorf("%s: %s", c.Status, c.Detail)
		}
	})
}

// A ledger's first commit may say who attests: that is a place which the server cannot change any more.
func TestTheAttesterThatTheLedgerNames(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 1)
	bare := r.commit(t)
	r.attest(t, startChain(t), 0, 1)
	r.Git["commit"] = nil // it is another one below
	for name, tt := range map[string]struct {
		account int
		want    audit.Status
	}{"the same": {0, audit.OK}, "another": {1, audit.Mismatch}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clone := filepath.Join(t.TempDir(), "clone")
			git(t, ".", "clone", "--quiet", bare, clone)
			page := "# Ledger\n\nAttester: `" + devchain.Address(tt.account).Hex() + "`\n"
			if err := os.WriteFile(filepath.Join(clone, "README.md"), []byte(page), 0o600); err != nil {
				t.Fatal(err)
			}
			git(t, clone, "commit", "--quiet", "--all", "--amend", "--no-edit")
			report := r.copy(t).audit(t, audit.Options{Ledger: clone})
			if c := check(t, report, "git"); c.Status != audit.OK {
				t.Errorf("git: %s: %s", c.Status, c.Detail)
			}
			if c := check(t, report, "attestations"); c.Status != tt.want {
				t.Errorf("attestations: %s: %s", c.Status, c.Detail)
			}
		})
	}
}

func git(tb testing.TB, dir string, args ...string) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_COMMITTER_NAME=m", "GIT_COMMITTER_EMAIL=m@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func latest(r *record) map[string]any { return r.Attestation["latest"].(map[string]any) }

// One key could attest two chains and show each reader one of them. The list of all its attestations shows both.
func TestASecondLineOfAttestationsIsFound(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	shown, hidden := newRecord(t, 6), newRecord(t, 6)
	hidden.Picks[2].Ticker = "ZZZ"
	hidden.rechain()
	shown.attest(t, c, 0, 3, 6)
	p := hidden.Picks[3]
	attestRaw(t, c, 0, chain.Checkpoint{Length: p.Seq, Head: p.Hash, Date: p.Date})
	report := shown.audit(t, audit.Options{})
	if got := check(t, report, "attestations"); got.Status != audit.Mismatch || !strings.Contains(got.Detail, "two lines") {
		t.Errorf("%s: %s", got.Status, got.Detail)
	}
}

// attestRaw attests a head that refers to nothing, past the attester's own caution, by a call written out word by word.
func attestRaw(tb testing.TB, c *devchain.Chain, account int, head chain.Checkpoint) {
	tb.Helper()
	s, err := base.NewStatement(head, base.Statement{}.PreviousHead)
	if err != nil {
		tb.Fatal(err)
	}
	word := func(n byte) []byte { return append(make([]byte, 31), n) }
	uid := base.SchemaUID(base.Schema)
	call := []byte{0xf1, 0x73, 0x25, 0xe7} // attest((bytes32,(address,uint64,bool,bytes32,bytes,uint256)))
	for _, w := range [][]byte{word(32), uid[:], word(64), word(0), word(0), word(0), word(0), word(192), word(0), word(128), s.Encode()} {
		call = append(call, w...)
	}
	if _, err := c.Transact(tb.Context(), account, &devchain.EASAddress, call); err != nil {
		tb.Fatal(err)
	}
}

func TestNodesThatCannotTellAreSaid(t *testing.T) {
	t.Parallel()
	r := newRecord(t, 3)
	c := startChain(t)
	r.attest(t, c, 0, 3)
	for name, tt := range map[string]struct {
		rpc, network, says string
	}{
		"nobody there":    {"http://127.0.0.1:1", "eip155:84532", base.ErrUnavailable.Error()},
		"another chain":   {c.URL(), "eip155:8453", base.ErrWrongChain.Error()},
		"no http address": {"ws://127.0.0.1:1", "eip155:84532", "http or https"},
		"an outside node": {"", "eip155:84532", "--rpc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := r.copy(t)
			r.Attestation["network"] = tt.network
			o := audit.Options{}
			if tt.rpc != "" {
				o.RPC = []string{tt.rpc}
			} else {
				r.Attestation["rpc_url"] = "https://node.example"
			}
			report := r.audit(t, o)
			if got := check(t, report, "attestations"); !report.Verified || got.Status != audit.NotChecked || !strings.Contains(got.Detail, tt.says) {
				t.Errorf("%s: %s, want it to say %q", got.Status, got.Detail, tt.says)
			}
		})
	}
}

func TestBusinessDays(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		v, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		name   string
		now    time.Time
		edit   func(r *record)
		status audit.Status
		says   string
	}{
		{"every day has its pick", now, func(*record) {}, audit.OK, "every trading day"},
		{"today has not been announced", at("2026-03-05T22:59:00Z"), func(*record) {}, audit.OK, ""},
		{"today was announced", at("2026-03-05T23:01:00Z"), func(r *record) { r.announce(t, "2026-03-05") }, audit.OK, ""},
		{"a pick of today at the close", at("2026-03-05T21:00:00Z"), func(r *record) { r.announce(t, "2026-03-05") }, audit.OK, ""},
		{"a pick of today before the close", at("2026-03-05T20:54:59Z"), func(r *record) { r.announce(t, "2026-03-05") }, audit.Mismatch, "session is not over"},
		{"a pick of tomorrow", now, func(r *record) { r.announce(t, "2026-03-06") }, audit.Mismatch, "has not come yet"},
		{"nothing of yesterday yet", at("2026-03-06T15:00:00Z"), func(*record) {}, audit.Pending, "2026-03-05"},
		{"nothing of the day before yesterday", at("2026-03-07T15:00:00Z"), func(*record) {}, audit.Mismatch, "2026-03-05"},
		{"a gap on the newest day", at("2026-03-07T15:00:00Z"), func(r *record) { r.gap("2026-03-05") }, audit.Pending, "2026-03-06"},
		{"a day left out before the newest pick", now, func(r *record) { r.drop(3) }, audit.Mismatch, "1 trading day without a pick"},
		{"a day left out and recorded", now, func(r *record) { date := r.Picks[3].Date; r.drop(3); r.gap(date) }, audit.OK, "(1 gap)"},
		{"a gap on a day with a pick", now, func(r *record) { r.gap(r.Picks[3].Date) }, audit.Mismatch, "there is a pick of that day"},
		{"a gap on a Sunday", now, func(r *record) { r.gap("2026-03-01") }, audit.Mismatch, "weekend"},
		{"a gap twice", now, func(r *record) { date := r.Picks[3].Date; r.drop(3); r.gap(date); r.gap(date) }, audit.Mismatch, "twice"},
		{"a gap to come", now, func(r *record) { r.gap("2026-03-09") }, audit.Mismatch, "before it has come"},
		{"a pick on Presidents' Day", now, func(r *record) {
			for i := range r.Picks {
				if r.Picks[i].Date == "2026-02-17" {
					r.Picks[i].Date = "2026-02-16"
				}
			}
			r.rechain()
			r.gap("2026-02-17")
		}, audit.Mismatch, "closed"},
		{"a demonstration by its own clock", at("2030-01-01T00:00:00Z"), func(r *record) { r.Environment = "demo" }, audit.OK, "own clock"},
		{"no pick at all", now, func(r *record) { r.Picks, r.HeadDate = r.Picks[:0], nil; r.rechain() }, audit.OK, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRecord(t, 30)
			tt.edit(r)
			got := check(t, r.audit(t, audit.Options{Now: tt.now}), "business_days")
			if got.Status != tt.status || !strings.Contains(got.Detail, tt.says) {
				t.Errorf("%s: %s, want %s that says %q", got.Status, got.Detail, tt.status, tt.says)
			}
		})
	}
}

func (r *record) gap(date string) {
	r.Gaps = append(r.Gaps, map[string]any{"date": date, "reason": "no price"})
}

// drop takes a pick out and makes the rest a chain again.
func (r *record) drop(i int) {
	r.Picks = append(r.Picks[:i:i], r.Picks[i+1:]...)
	r.rechain()
}
