package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
)

// command runs a command on the database, and returns its exit status and output.
func (l *ledger) command(args ...string) (status int, out string) {
	l.t.Helper()
	var buffer bytes.Buffer
	status = run(l.t.Context(), append(args, "--world=sandbox", "--database-url="+l.url, "--state-dir="+l.t.TempDir(), "--log-level=error"), &buffer, &buffer)
	return status, buffer.String()
}

func TestPaymentsCommands(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	ctx := t.Context()
	c, err := devchain.Start(devchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	node := []string{"--base-rpc-url=" + c.URL(), fmt.Sprintf("--base-chain-id=%d", devchain.DefaultChainID)}
	api, err := postgres.Open(ctx, l.url, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	// Two settlements whose responses were lost, and one settlement that the facilitator invented.
	var holds []postgres.X402Lease
	for n := range 3 {
		p, err := api.ReserveX402(ctx, postgres.X402Authorization{
			ChainID: devchain.DefaultChainID, Asset: strings.ToLower(devchain.TokenAddress.Hex()), Payer: strings.ToLower(devchain.Address(4).Hex()),
			Nonce: fmt.Sprintf("0x%064x", n), PayTo: strings.ToLower(devchain.Address(8).Hex()), Micro: 5000, ValidBefore: time.Now().Add(time.Minute),
			Digest: strings.Repeat("d4", 32), Resource: "/api/v1/x402/picks", Version: 1, Answer: strings.Repeat("e5", 32),
		}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		holds = append(holds, p.Hold)
		if ok, err := api.SettlingX402(ctx, p.Hold, time.Minute); err != nil || !ok {
			t.Fatal(ok, err)
		}
		u := postgres.X402Unsettled{State: postgres.X402Unknown, Reason: "the facilitator's answer was lost"}
		if ok, err := api.UnsettledX402(ctx, p.Hold, u); err != nil || !ok {
			t.Fatal(ok, err)
		}
	}
	status, out := l.command("payments")
	if status != 0 || strings.Count(out, "unknown") != 3 || !strings.Contains(out, "0.005") || !strings.Contains(out, "eip155:84532") {
		t.Errorf("list: %d\n%s", status, out)
	}
	if status, out := l.command("payments", "reconcile"); status != 2 || !strings.Contains(out, "BASE_RPC_URL") {
		t.Errorf("reconcile without a node: %d\n%s", status, out)
	}
	if status, out := l.command(append(node, "payments", "reconcile")...); status != 0 || !strings.Contains(out, "3 are open") {
		t.Errorf("reconcile: %d\n%s", status, out)
	}
	if err := c.Skip(5 * time.Minute); err != nil {
		t.Fatal(err)
	}
	made := "0x" + strings.Repeat("ab", 32)
	if status, out := l.command("payments", "resolve", fmt.Sprint(holds[2].ID), "settled", "--tx="+made, "--reason=the bank says so"); status != 0 {
		t.Errorf("resolve: %d\n%s", status, out)
	}
	status, out = l.command(append(node, "payments", "reconcile")...)
	if status != 1 || strings.Count(out, "was unknown, is failed") != 2 || !strings.Contains(out, "1 differ") || !strings.Contains(out, made) {
		t.Errorf("reconcile: %d\n%s", status, out)
	}
	if status, out := l.command("payments", "list", "--ledger"); status != 0 || strings.Count(out, "\n") != 1+3*3 || !strings.Contains(out, "the bank says so") {
		t.Errorf("ledger: %d\n%s", status, out)
	}
	for _, args := range [][]string{
		{"payments", "resolve", fmt.Sprint(holds[2].ID), "failed", "--reason=x"},
		{"payments", "resolve", "999", "failed", "--reason=x"},
		{"payments", "resolve", fmt.Sprint(holds[0].ID), "settled", "--reason=x"},
		{"payments", "resolve", fmt.Sprint(holds[0].ID), "failed", "--reason= "},
	} {
		if status, out := l.command(args...); status == 0 {
			t.Errorf("%v: %s", args, out)
		}
	}
}
