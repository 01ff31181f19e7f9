package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// x402 is the table of x402 payments, as both roles see it.
type x402 struct {
	t           *testing.T
	dsn         string
	api, worker *postgres.DB
}

func newX402(t *testing.T) *x402 {
	t.Helper()
	x := &x402{t: t, dsn: pgtest.New(t)}
	for role, db := range map[string]**postgres.DB{postgres.RoleAPI: &x.api, postgres.RoleWorker: &x.worker} {
		var err error
		if *db, err = postgres.Open(t.Context(), x.dsn, role); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*db).Close)
	}
	return x
}

var x402Tx = "0x" + strings.Repeat("ab", 32)

func x402Payment(nonce int) postgres.X402Authorization {
	return postgres.X402Authorization{
		ChainID: 84532, Asset: "0x" + strings.Repeat("a1", 20), Payer: "0x" + strings.Repeat("b2", 20), Nonce: fmt.Sprintf("0x%064x", nonce),
		PayTo: "0x" + strings.Repeat("c3", 20), Micro: 1000, ValidBefore: time.Now().Add(time.Minute), Digest: strings.Repeat("d4", 32),
		Resource: "/api/v1/x402/picks", Version: 1, Answer: strings.Repeat("e5", 32),
	}
}

func (x *x402) reserve(a postgres.X402Authorization, want string) postgres.X402Lease {
	x.t.Helper()
	p, err := x.api.ReserveX402(x.t.Context(), a, time.Minute)
	if err != nil {
		x.t.Fatal(err)
	}
	if p.Outcome != want {
		x.t.Fatalf("the outcome is %s, want %s", p.Outcome, want)
	}
	return p.Hold
}

func (x *x402) yes(ok bool, err error) {
	x.t.Helper()
	if err != nil || !ok {
		x.t.Fatalf("%t, %v", ok, err)
	}
}

// admin runs a statement as the owner of the tables.
func (x *x402) admin(sql string) error {
	x.t.Helper()
	c, err := pgx.Connect(x.t.Context(), x.dsn)
	if err != nil {
		x.t.Fatal(err)
	}
	defer func() { _ = c.Close(x.t.Context()) }()
	_, err = c.Exec(x.t.Context(), sql)
	return err
}

// expire ends the lease of every payment, as time would.
func (x *x402) expire() {
	x.t.Helper()
	if err := x.admin(`update x402_payments set lease_until = clock_timestamp() - interval '1 second'`); err != nil {
		x.t.Fatal(err)
	}
}

func (x *x402) payment() postgres.X402Payment {
	x.t.Helper()
	list, err := x.worker.X402Payments(x.t.Context(), postgres.X402Filter{Limit: 1})
	if err != nil || len(list) == 0 {
		x.t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

func TestX402OneOfManyHoldsAPayment(t *testing.T) {
	t.Parallel()
	x := newX402(t)
	counts := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			a := x402Payment(1)
			a.Resource, a.Version = fmt.Sprintf("/api/v1/x402/%d", i%9), 1+i%2
			p, err := x.api.ReserveX402(t.Context(), a, time.Minute)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[p.Outcome]++
		})
	}
	all.Wait()
	if d := cmp.Diff(map[string]int{postgres.X402Reserve: 1, postgres.X402Busy: 59}, counts); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// The traces of a killed process, step by step.
func TestX402LeftBehind(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	t.Run("before anybody was asked to settle", func(t *testing.T) {
		t.Parallel()
		x := newX402(t)
		first := x.reserve(x402Payment(1), postgres.X402Reserve)
		x.reserve(x402Payment(1), postgres.X402Busy)
		x.expire()
		second := x.reserve(x402Payment(1), postgres.X402Reserve)
		// The first caller was only frozen, and comes back: it may not settle a payment that another caller holds.
		if ok, err := x.api.SettlingX402(ctx, first, time.Minute); ok || err != nil {
			t.Errorf("the first holder settles: %t, %v", ok, err)
		}
		x.yes(x.api.SettlingX402(ctx, second, time.Minute))
	})
	t.Run("while it was settled", func(t *testing.T) {
		t.Parallel()
		x := newX402(t)
		hold := x.reserve(x402Payment(1), postgres.X402Reserve)
		x.yes(x.api.SettlingX402(ctx, hold, time.Minute))
		x.reserve(x402Payment(1), postgres.X402Busy)
		x.expire()
		other := x402Payment(1)
		other.Resource = "/api/v1/x402/sectors"
		x.reserve(other, postgres.X402Used)
		again := x.reserve(x402Payment(1), postgres.X402Unclear)
		if s, err := x.api.ClaimX402(ctx, again, time.Minute); err != nil || s.State != postgres.X402Settling {
			t.Errorf("%+v, %v", s, err)
		}
		if err := x.worker.ResolveX402(ctx, task.Fence{}, postgres.X402Resolution{Of: x.payment(), State: postgres.X402Settled, TxHash: x402Tx}); err != nil {
			t.Fatal(err)
		}
		if s, err := x.api.ClaimX402(ctx, again, time.Minute); err != nil || s.State != postgres.X402Settled || s.TxHash != x402Tx {
			t.Errorf("%+v, %v", s, err)
		}
		x.reserve(x402Payment(1), postgres.X402Busy) // it is being delivered
		if err := x.api.EndX402Lease(ctx, again, true); err != nil {
			t.Fatal(err)
		}
		x.reserve(x402Payment(1), postgres.X402Used)
	})
	t.Run("before the answer was sent", func(t *testing.T) {
		t.Parallel()
		x := newX402(t)
		hold := x.reserve(x402Payment(1), postgres.X402Reserve)
		x.yes(x.api.SettlingX402(ctx, hold, time.Minute))
		x.yes(x.api.SettledX402(ctx, hold, x402Tx, time.Minute))
		x.reserve(x402Payment(1), postgres.X402Busy)
		x.expire()
		again := x.reserve(x402Payment(1), postgres.X402Redeliver)
		x.reserve(x402Payment(1), postgres.X402Busy)
		if err := x.api.EndX402Lease(ctx, hold, true); err != nil { // a caller that does not hold it any more
			t.Fatal(err)
		}
		if x.payment().DeliveredAt != nil {
			t.Error("delivered by one who holds it no longer")
		}
		if err := x.api.EndX402Lease(ctx, again, true); err != nil {
			t.Fatal(err)
		}
		x.reserve(x402Payment(1), postgres.X402Used)
	})
}

// A settlement schedules a check of the chain, in case its caller never returns. The result of the settlement cancels the check.
func TestX402RunsThatAskTheChain(t *testing.T) {
	t.Parallel()
	x := newX402(t)
	ctx := t.Context()
	runs := func() []postgres.Run {
		t.Helper()
		list, err := x.worker.Runs(ctx, postgres.RunFilter{Job: task.X402, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	hold := x.reserve(x402Payment(1), postgres.X402Reserve)
	x.yes(x.api.SettlingX402(ctx, hold, time.Minute))
	list := runs()
	if len(list) != 1 || list[0].Subject != fmt.Sprint(hold.ID) || time.Until(*list[0].NextTryAt) < 30*time.Second {
		t.Fatalf("runs %+v", list)
	}
	// Unclear: at once.
	x.yes(x.api.UnsettledX402(ctx, hold, postgres.X402Unsettled{State: postgres.X402Unknown, Reason: "lost"}))
	if list := due(t, x.worker); len(list) != 1 {
		t.Errorf("due %v", list)
	}
	// The facilitator reports success later: the chain is checked nevertheless.
	x.yes(x.api.SettledX402(ctx, hold, x402Tx, time.Minute))
	if list := runs(); len(list) != 1 {
		t.Errorf("runs %+v", list)
	}
	// The transaction cannot be named again.
	other := x.reserve(x402Payment(2), postgres.X402Reserve)
	x.yes(x.api.SettlingX402(ctx, other, time.Minute))
	if ok, err := x.api.SettledX402(ctx, other, x402Tx, time.Minute); ok || !errors.Is(err, postgres.ErrExists) {
		t.Errorf("the transaction of another payment: %v, %v", ok, err)
	}
	// A check that a start asks for is due now. A date long ago would look as if no worker had started it (work-waits).
	if err := x.worker.CheckX402Terms(ctx); err != nil {
		t.Fatal(err)
	}
	for _, r := range runs() {
		if r.Subject == postgres.X402SubjectTerms && time.Since(*r.NextTryAt).Abs() > time.Minute {
			t.Errorf("the check of the token's contract was due at %s", r.NextTryAt)
		}
	}
}

func TestX402GuardsOfTheDatabase(t *testing.T) {
	t.Parallel()
	x := newX402(t)
	ctx := t.Context()
	hold := x.reserve(x402Payment(1), postgres.X402Reserve)
	x.yes(x.api.SettlingX402(ctx, hold, time.Minute))
	x.yes(x.api.SettledX402(ctx, hold, x402Tx, time.Minute))
	for _, sql := range []string{
		`delete from x402_payments`, `truncate x402_payments`, `update x402_payments set state = 'failed'`,
		`update x402_payments set payer = asset`, `update x402_payments set amount = 1`, `update x402_payments set attempt = 0`,
		`update x402_payments set tx_hash = '0x' || repeat('0', 64)`, `update x402_payments set state = 'reserved'`,
		`update x402_ledger set amount = 0`, `delete from x402_ledger`, `truncate x402_ledger`,
		`insert into x402_payments (chain_id, asset, payer, nonce, pay_to, amount, valid_before, digest, resource, version, answer, state, tx_hash)
		 select chain_id, asset, payer, '0x' || repeat('9', 64), pay_to, amount, valid_before, digest, resource, version, answer, 'settled', tx_hash from x402_payments`,
	} {
		if err := x.admin(sql); err == nil {
			t.Errorf("even the owner may not: %s", sql)
		}
	}
	// The API's role can call the functions, and nothing else. Neither role can write the ledger.
	for role, statements := range map[string][]string{
		postgres.RoleAPI: {
			`select from x402_payments`, `select from x402_ledger`, `insert into x402_payments (chain_id) values (1)`,
			`update x402_payments set state = 'settled'`, `delete from x402_payments`, `insert into x402_ledger (payment_id) values (1)`,
			`insert into x402_terms (chain_id) values (1)`, `update x402_terms set ok = true`, `select x402_check('terms', now())`,
			`insert into runs (job) values ('x402')`,
		},
		postgres.RoleWorker: {
			`insert into x402_payments (chain_id) values (1)`, `insert into x402_ledger (payment_id) values (1)`,
			`update x402_payments set amount = 1`, `update x402_payments set delivered_at = now()`, `select x402_release(1, 1)`,
		},
	} {
		for _, sql := range statements {
			if err := x.admin(`set role ` + role + `; ` + sql); err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("%s: %s: %v", role, sql, err)
			}
		}
	}
	if got := x.payment(); got.State != postgres.X402Settled || got.Amount != 1000 {
		t.Errorf("%+v", got)
	}
}

func TestX402Retry(t *testing.T) {
	t.Parallel()
	x := newX402(t)
	ctx := t.Context()
	hold := x.reserve(x402Payment(1), postgres.X402Reserve)
	x.yes(x.api.SettlingX402(ctx, hold, time.Minute))
	x.yes(x.api.UnsettledX402(ctx, hold, postgres.X402Unsettled{State: postgres.X402Failed, Reason: "insufficient_funds", Denied: true}))
	failed := x.payment()
	// The same nonce for something else, with another signature.
	other := x402Payment(1)
	other.Resource, other.Digest, other.Version = "/api/v1/x402/sectors", strings.Repeat("f6", 32), 2
	hold = x.reserve(other, postgres.X402Reserve)
	if got := x.payment(); got.Resource != other.Resource || got.Attempt != 2 {
		t.Errorf("%+v", got)
	}
	// An earlier check by a worker does not count.
	err := x.worker.ResolveX402(ctx, task.Fence{}, postgres.X402Resolution{Of: failed, State: postgres.X402Settled, TxHash: x402Tx})
	if err == nil {
		t.Error("a payment that has changed was resolved")
	}
	// It failed before, so it stays when it is released.
	if err := x.api.ReleaseX402(ctx, hold); err != nil {
		t.Fatal(err)
	}
	if got := x.payment(); got.State != postgres.X402Failed {
		t.Errorf("%+v", got)
	}
	// A denial that the chain contradicts.
	if err := x.worker.ResolveX402(ctx, task.Fence{}, postgres.X402Resolution{Of: x.payment(), State: postgres.X402Settled, TxHash: x402Tx}); err != nil {
		t.Fatal(err)
	}
	x.reserve(other, postgres.X402Redeliver)
	ledger, err := x.worker.X402Changes(ctx, hold.ID)
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, e := range ledger {
		states = append(states, e.State)
	}
	if d := cmp.Diff([]string{"settling", "failed", "settled"}, states); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
