package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/postgres"
)

func TestChargesEndWhereTheBalanceDoes(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("spender")
	var charged, refused atomic.Int64
	var wait sync.WaitGroup
	for range 500 {
		wait.Go(func() {
			o, err := b.charger.Charge(t.Context(), postgres.Charge{KeyID: k.ID, Price: 5000, Endpoint: "/picks", RequestID: "r"})
			switch {
			case err != nil:
				t.Error(err)
			case o.Outcome == postgres.Charged:
				charged.Add(1)
			case o.Outcome == postgres.ChargeRefused:
				refused.Add(1)
			default:
				t.Errorf("outcome %s", o.Outcome)
			}
		})
	}
	wait.Wait()
	if charged.Load() != 40 || refused.Load() != 460 {
		t.Errorf("0.20 at 0.005: %d charged and %d refused, want 40 and 460", charged.Load(), refused.Load())
	}
	a, err := b.api.Account(t.Context(), k.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := postgres.Account{Balance: 0, RequestsToday: 40, RequestsMonth: 40, CostToday: 200_000, CostMonth: 200_000}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("account (-want +got):\n%s", diff)
	}
	if got := b.query(`select count(*), sum(amount)::bigint from ledger where kind = 'charge'`); got[0] != "40 -200000" {
		t.Errorf("lines of charges: %v", got)
	}
}

// Requests that share a statement get the same answers as separate requests, in their order.
func TestARefusedRequestIsNotInTheWayOfACheaperOne(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	one, _ := b.register("one")
	two, _ := b.register("two")
	got := b.query(fmt.Sprintf(`
		select outcome, balance from charge_requests(array[%[1]d, %[2]d, %[1]d, %[1]d, 999, %[1]d], array[150000, 200000, 100000, 50000, 1, 0],
			array['/a', '/a', '/a', '/b', '/a', '/events'], array['1', '2', '3', '4', '5', '6'], array[null, null, null, null, null, null]::bytea[],
			interval '10 minutes')`, one.ID, two.ID))
	want := []string{"charged 50000", "charged 0", "refused 50000", "charged 0", "unknown <nil>", "charged 0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestAnIdempotencyKeyPaysOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.clock("2026-03-04T12:00:00Z")
	k, _ := b.register("retrier")
	other, _ := b.register("other")
	digest, another := make([]byte, 32), append(make([]byte, 31), 1)
	ask := func(key int64, digest []byte, outcome string, balance accounts.Micros) {
		t.Helper()
		o := b.charge(postgres.Charge{KeyID: key, Price: 10_000, Digest: digest})
		if want := (postgres.ChargeOutcome{Outcome: outcome, Balance: balance}); o != want {
			t.Errorf("%+v, want %+v", o, want)
		}
	}
	ask(k.ID, digest, postgres.Charged, 190_000)
	ask(k.ID, digest, postgres.PaidBefore, 190_000)
	ask(k.ID, another, postgres.Charged, 180_000)
	ask(other.ID, digest, postgres.Charged, 190_000)
	b.clock("2026-03-04T12:09:59Z")
	ask(k.ID, digest, postgres.PaidBefore, 180_000)
	b.clock("2026-03-04T12:10:00Z")
	ask(k.ID, digest, postgres.Charged, 170_000)
	ask(k.ID, digest, postgres.PaidBefore, 170_000)

	var paid atomic.Int64
	var wait sync.WaitGroup
	shared := append(make([]byte, 31), 2)
	for range 50 {
		wait.Go(func() {
			o, err := b.charger.Charge(t.Context(), postgres.Charge{KeyID: k.ID, Price: 10_000, Endpoint: "/picks", RequestID: "r", Digest: shared})
			if err != nil {
				t.Error(err)
			} else if o.Outcome == postgres.Charged {
				paid.Add(1)
			}
		})
	}
	wait.Wait()
	if paid.Load() != 1 {
		t.Errorf("50 at once under one Idempotency-Key paid %d times", paid.Load())
	}
}

func TestARequestThatIsGivenUpIsNotCharged(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("impatient")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.charger.Charge(gone, postgres.Charge{KeyID: k.ID, Price: 5000, Endpoint: "/picks", RequestID: "r"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}

	// While the key's row is locked, a statement waits for it, and later callers wait for that statement.
	c, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select from keys for update`); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() { b.charge(postgres.Charge{KeyID: k.ID, Price: 5000}) })
	waiting := `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
	for deadline := time.Now().Add(time.Minute); b.query(waiting)[0] == "0"; {
		if time.Now().After(deadline) {
			t.Fatal("no statement waits for the row")
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var impatient sync.WaitGroup
	for range 20 {
		impatient.Go(func() {
			if _, err := b.charger.Charge(ctx, postgres.Charge{KeyID: k.ID, Price: 5000, Endpoint: "/picks", RequestID: "r"}); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
		})
	}
	stop()
	impatient.Wait()
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if o := b.charge(postgres.Charge{KeyID: k.ID, Price: 5000}); o.Balance != accounts.Trial-2*5000 {
		t.Errorf("%s is left, want the price of two requests gone: nobody waited for the others", o.Balance)
	}
}

func TestOneBadQuestionDoesNotSpoilTheOthers(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("good")
	var wait sync.WaitGroup
	for i := range 30 {
		wait.Go(func() {
			q := postgres.Charge{KeyID: k.ID, Price: 1000, Endpoint: "/picks", RequestID: "r"}
			if i%10 == 0 {
				q.Price = -1000
			}
			o, err := b.charger.Charge(t.Context(), q)
			if bad := i%10 == 0; bad != (err != nil) || !bad && o.Outcome != postgres.Charged {
				t.Errorf("price %s: %+v, %v", q.Price, o, err)
			}
		})
	}
	wait.Wait()
}

func TestQuotasOfTheDay(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.clock("2026-03-04T23:59:00Z")
	k, _ := b.register("planned")
	count := func(pro bool, outcome string, used int64, left int) {
		t.Helper()
		o, err := b.charger.Count(t.Context(), postgres.Request{KeyID: k.ID, Endpoint: "/picks/latest", Pro: pro})
		if err != nil {
			t.Fatal(err)
		}
		if want := (postgres.RequestOutcome{Outcome: outcome, Used: used, SecondsLeft: left}); o != want {
			t.Errorf("%+v, want %+v", o, want)
		}
	}
	for i := range int64(10) {
		count(false, postgres.Counted, i+1, 60)
	}
	count(false, postgres.QuotaExhausted, 10, 60)
	count(true, postgres.PlanChanged, 10, 60)
	b.exec(fmt.Sprintf(`insert into plan_changes (key_id, kind, period, ref) values (%d, 'transfer', '720 hours', 'a')`, k.ID))
	count(false, postgres.Counted, 11, 60) // served under the Free plan a moment before
	count(true, postgres.Counted, 12, 60)
	b.clock("2026-03-05T00:00:00Z")
	count(true, postgres.Counted, 1, 86400)

	// The Pro period ends at its instant; a new one is added to the rest of the first.
	b.clock("2026-04-03T23:58:59.999Z")
	count(true, postgres.Counted, 1, 61)
	b.clock("2026-04-03T23:59:00Z")
	count(true, postgres.PlanChanged, 1, 60)
	count(false, postgres.Counted, 2, 60)
	for i := range 8 {
		count(false, postgres.Counted, int64(i+3), 60)
	}
	count(false, postgres.QuotaExhausted, 10, 60)
}
