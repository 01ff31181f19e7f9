package payments

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
)

// With these variables a test starts its own binary again as a worker that checks claims.
const (
	envClerkDSN  = "TIDEMARK_TEST_CLERK_DSN"
	envClerkNode = "TIDEMARK_TEST_CLERK_NODE"
)

// clerk is a worker process that does nothing but look at claims.
func clerk(ctx context.Context) error {
	db, err := postgres.Open(ctx, os.Getenv(envClerkDSN), postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	job, err := claimsJob(db, os.Getenv(envClerkNode), counterOptions{})
	if err != nil {
		return err
	}
	return pump(ctx, db, job)
}

// hire starts a clerk, which the test kills.
func (c *paymentServer) hire() *exec.Cmd {
	c.t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(c.t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), envClerkDSN+"="+c.dsn, envClerkNode+"="+c.node)
	cmd.Stderr = c.t.Output()
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// A worker that is killed when it has judged a claim and moved the balance, and has not committed, has moved nothing. The next one
// grants it, once.
func TestAWorkerThatIsKilledBetweenVerdictAndGrant(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{idle: true, timeout: time.Millisecond})
	us := c.customer()
	tx := c.pays(1, 5_000_000)
	c.want("nobody has looked yet", us.claims(tx), 202, "")

	// Another, uncommitted grant of the same transfer: a second grant waits for it at the last step before its commit.
	conn, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for _, sql := range []string{
		`begin`, `set local session_replication_role = replica`,
		`insert into payment_transfers (claim_id, key_id, chain_id, tx_hash, log_index, sender, amount, block_number, block_hash, block_time,
			confirmations, proven, gives, state, granted_at)
		select c.id, c.key_id, c.chain_id, c.tx_hash, 0, '0x' || repeat('0', 40), 5000000, 1, '0x' || repeat('0', 64), now(), 1, false, 'balance',
			'provisional', now()
		from payment_claims c`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	watcher, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watcher.Close(context.WithoutCancel(t.Context())) }()
	waiting := func() (n int) {
		err := watcher.QueryRow(t.Context(), `
			select count(*) from pg_stat_activity
			where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into payment_transfers%'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	worker := c.hire()
	c.eventually("the worker to come to the last step", func() bool { return waiting() == 1 })
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	if _, err := conn.Exec(t.Context(), `rollback`); err != nil {
		t.Fatal(err)
	}
	c.eventually("its session to end", func() bool { return waiting() == 0 })
	us.has("after the kill", "0.20")

	c.hire()
	c.eventually("the claim to be granted", func() bool {
		if _, err := c.worker.Reclaim(t.Context(), 2*time.Second); err != nil { // as the scheduler does
			t.Fatal(err)
		}
		return us.claims(tx).status == 200
	})
	us.has("granted", "5.20")
	lines, err := c.worker.BalanceEntries(t.Context(), us.id, 10)
	if err != nil || len(lines) != 2 {
		t.Errorf("%v, %v", lines, err)
	}
	if balance, err := c.chain.TokenBalance(devchain.Address(8).Hex()); err != nil || balance == 0 {
		t.Errorf("the account that is paid has %d, %v", balance, err)
	}
}
