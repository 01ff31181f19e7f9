package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/postgres"
)

// books is a database of accounts with both roles connected.
type books struct {
	t       *testing.T
	url     string
	api     *postgres.DB
	worker  *postgres.DB
	charger *postgres.Charger
}

func newBooks(t *testing.T) *books {
	t.Helper()
	b := &books{t: t}
	b.api, b.url = open(t, postgres.RoleAPI)
	b.worker = as(t, b.url, postgres.RoleWorker)
	b.charger = postgres.NewCharger(b.api)
	t.Cleanup(func() { b.balanced() })
	return b
}

// query returns the rows of a query as text, as the superuser.
func (b *books) query(sql string) []string {
	b.t.Helper()
	ctx := context.WithoutCancel(b.t.Context())
	c, err := pgx.Connect(ctx, b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	rows, err := c.Query(ctx, sql)
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		values, err := r.Values()
		return strings.TrimSuffix(fmt.Sprintln(values...), "\n"), err
	})
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return lines
}

func (b *books) exec(sql string) {
	b.t.Helper()
	if err := exec(b.t, b.url, "", sql); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// clock makes the time of accounts stand still.
func (b *books) clock(at string) {
	b.t.Helper()
	b.exec(`create or replace function billing_now() returns timestamptz language sql volatile as $$ select '` + at + `'::timestamptz $$`)
}

// balanced checks that every balance is the sum of its ledger, which the test computes itself.
func (b *books) balanced() {
	b.t.Helper()
	for _, line := range b.query(`
		select k.public_id, k.balance, coalesce(sum(l.amount), 0) from keys k left join ledger l on l.key_id = k.id
		group by k.id having k.balance <> coalesce(sum(l.amount), 0)`) {
		b.t.Errorf("a balance is not the sum of its ledger: %s", line)
	}
}

var keyCount atomic.Int64

// register makes a key and returns it with its text.
func (b *books) register(name string) (postgres.Key, accounts.Key) {
	b.t.Helper()
	text, err := accounts.NewKey(rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	r := postgres.Registration{PublicID: fmt.Sprintf("key_%026d", keyCount.Add(1)), Name: name, Key: text}
	if _, err := b.api.Register(b.t.Context(), r, nil, func(postgres.Registered) ([]byte, error) { return nil, nil }); err != nil {
		b.t.Fatal(err)
	}
	k, err := b.api.KeyByHash(b.t.Context(), text.Hash())
	if err != nil {
		b.t.Fatal(err)
	}
	return k, text
}

func (b *books) charge(c postgres.Charge) postgres.ChargeOutcome {
	b.t.Helper()
	if c.Endpoint == "" {
		c.Endpoint = "/picks"
	}
	c.RequestID = "req_1"
	o, err := b.charger.Charge(b.t.Context(), c)
	if err != nil {
		b.t.Fatal(err)
	}
	return o
}

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

// Requests that meet in one statement are answered as if each had come alone, in their order.
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

	// While the key's row is held, two statements wait for it, and whoever comes now waits for one of them to end.
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
	for n := range 2 {
		wait.Go(func() { b.charge(postgres.Charge{KeyID: k.ID, Price: 5000}) })
		waiting := `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
		for deadline := time.Now().Add(10 * time.Second); b.query(waiting)[0] != fmt.Sprint(n+1); {
			if time.Now().After(deadline) {
				t.Fatal("no statement waits for the row")
			}
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
	if o := b.charge(postgres.Charge{KeyID: k.ID, Price: 5000}); o.Balance != accounts.Trial-3*5000 {
		t.Errorf("%s is left, want the price of three requests gone: nobody waited for the others", o.Balance)
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
	count(false, postgres.PlanChanged, 10, 60)
	count(true, postgres.Counted, 11, 60)
	b.clock("2026-03-05T00:00:00Z")
	count(true, postgres.Counted, 1, 86400)

	// The Pro period ends at its instant; another one is added to what is left of the first.
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

func TestProPeriodsAddUp(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("pro")
	change := func(kind, period, ref, want string) {
		t.Helper()
		b.exec(fmt.Sprintf(`insert into plan_changes (key_id, kind, period, ref, by, reason) values (%d, '%s', '%s', '%s', 'op', 'why')`, k.ID, kind, period, ref))
		if got := b.query(`select to_char(pro_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI') from keys`)[0]; got != want {
			t.Errorf("Pro until %s, want %s", got, want)
		}
	}
	b.clock("2026-01-01T12:00:00Z")
	change("transfer", "720 hours", "a", "2026-01-31 12:00")
	b.clock("2026-01-11T00:00:00Z")
	change("transfer", "720 hours", "b", "2026-03-02 12:00")
	change("reversal", "-720 hours", "b", "2026-01-31 12:00")
	b.clock("2026-06-01T00:00:00Z")
	change("grant", "24 hours", "c", "2026-06-02 00:00")
	if err := exec(t, b.url, "", fmt.Sprintf(`insert into plan_changes (key_id, kind, period, ref) values (%d, 'transfer', '720 hours', 'a')`, k.ID)); err == nil {
		t.Error("one transfer was counted twice")
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.clock("2026-03-04T12:00:00Z")
	k, first := b.register("rotator")
	rotate := func(old accounts.Key, grace time.Duration) (accounts.Key, error) {
		next, err := accounts.NewKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.api.Rotate(t.Context(), old.Hash(), next, grace, nil, func(postgres.Rotated) ([]byte, error) { return nil, nil })
		return next, err
	}
	second, err := rotate(first, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ends := func(k accounts.Key) string {
		t.Helper()
		got, err := b.api.KeyByHash(t.Context(), k.Hash())
		if err != nil {
			t.Fatal(err)
		}
		if got.EndsAt == nil {
			return "never"
		}
		return got.EndsAt.UTC().Format(time.RFC3339)
	}
	if got, want := ends(first), "2026-03-04T13:00:00Z"; got != want {
		t.Errorf("the old text ends %s, want %s", got, want)
	}
	third, err := rotate(second, 24*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ends(first), "2026-03-04T13:00:00Z"; got != want {
		t.Errorf("a later grace moved the end of the first text to %s, want %s", got, want)
	}
	b.clock("2026-03-04T13:00:00Z")
	if _, err := rotate(first, 0); !errors.Is(err, postgres.ErrEnded) {
		t.Errorf("a text rotated after its end: %v", err)
	}
	if done, err := b.api.Revoke(t.Context(), k.ID, "holder", "asked for"); err != nil || !done {
		t.Errorf("revoke: %t, %v", done, err)
	}
	if done, err := b.api.Revoke(t.Context(), k.ID, "holder", "asked for"); err != nil || done {
		t.Errorf("revoke again: %t, %v", done, err)
	}
	if _, err := rotate(third, 0); !errors.Is(err, postgres.ErrEnded) {
		t.Errorf("a revoked key was rotated: %v", err)
	}
	if o := b.charge(postgres.Charge{KeyID: k.ID, Price: 1000}); o.Outcome != postgres.KeyRevoked {
		t.Errorf("a revoked key was %s", o.Outcome)
	}
}

func TestOnceIsOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	mirror := func(in []byte) ([]byte, error) {
		out := make([]byte, len(in))
		for i, c := range in {
			out[i] = c ^ 0x5a
		}
		return out, nil
	}
	once := &postgres.Once{Scope: [32]byte{1}, Request: [32]byte{2}, Seal: mirror, Open: mirror}
	register := func(o *postgres.Once) (string, error) {
		text, err := accounts.NewKey(rand.Reader)
		if err != nil {
			return "", err
		}
		r := postgres.Registration{PublicID: fmt.Sprintf("key_%026d", keyCount.Add(1)), Name: "once", Key: text}
		answer, err := b.api.Register(t.Context(), r, o, func(postgres.Registered) ([]byte, error) { return []byte(text.Reveal()), nil })
		return string(answer), err
	}
	answers := make(chan string, 10)
	var wait sync.WaitGroup
	for range cap(answers) {
		wait.Go(func() {
			a, err := register(once)
			if err != nil {
				t.Error(err)
			}
			answers <- a
		})
	}
	wait.Wait()
	first := <-answers
	for range cap(answers) - 1 {
		if a := <-answers; a != first {
			t.Errorf("one Idempotency-Key was answered with two keys")
		}
	}
	if n := b.query(`select count(*) from keys`)[0]; n != "1" {
		t.Errorf("%s keys, want 1", n)
	}
	if n := b.query(`select count(*) from kept_answers where position('tmk_live' in encode(answer, 'escape')) > 0`)[0]; n != "0" {
		t.Error("a key is in the database as it is")
	}
	other := *once
	other.Request = [32]byte{3}
	if _, err := register(&other); !errors.Is(err, postgres.ErrRequestDiffers) {
		t.Errorf("another request under the same Idempotency-Key: %v", err)
	}
	b.exec(`update kept_answers set expires_at = now()`)
	if again, err := register(once); err != nil || again == first {
		t.Errorf("a day later it is another request: %v", err)
	}
}

func TestWhatTheAPIMayDoToAccounts(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("target")
	id := fmt.Sprint(k.ID)
	refused := []string{
		`insert into ledger (key_id, kind, amount, at, by, reason) values (` + id + `, 'credit', 5, now(), 'a', 'b')`,
		`insert into ledger (key_id, kind, amount, at, ref) values (` + id + `, 'top_up', 5000000, now(), 'a')`,
		`insert into plan_changes (key_id, kind, period, ref) values (` + id + `, 'transfer', '720 hours', 'a')`,
		`insert into keys (public_id, name, created_at) values ('key_' || repeat('a', 26), 'x', now())`,
		`insert into key_secrets (hash, key_id, prefix, created_at) values (sha256('a'), ` + id + `, 'tmk', now())`,
		`insert into usage values (` + id + `, current_date, '/a', 0, 0, now())`, `insert into paid_requests values (` + id + `, sha256('a'), now())`,
		`insert into kept_answers values (sha256('a'), sha256('b'), null, now())`, `select answer from kept_answers`, `select digest from paid_requests`,
		`update keys set balance = 5`, `update keys set pro_until = 'infinity'`, `update keys set revoked_at = null`, `update keys set name = 'y'`,
		`update ledger set amount = 5`, `update key_secrets set ends_at = null`, `update usage set requests = 0`, `update billing_settings set trial = 5`,
		`delete from ledger`, `delete from keys`, `delete from usage`, `delete from paid_requests`, `delete from kept_answers`, `delete from key_secrets`,
		`truncate ledger`, `truncate usage`, `insert into billing_settings values (true, 5)`,
		`select charge_requests(array[` + id + `], array[-5000000], array['/a'], array['r'], array[null]::bytea[], '10 minutes')`,
		`select rotate_key((select hash from key_secrets), sha256('b'), 'tmk', interval '-1 hour')`,
		`create or replace function billing_now() returns timestamptz language sql as 'select now()'`,
		`alter table ledger disable trigger all`,
	}
	for _, sql := range refused {
		if err := exec(t, b.url, postgres.RoleAPI, sql); err == nil {
			t.Errorf("the API's role may: %s", sql)
		}
	}
	// Not even the owner of the tables changes a balance past the ledger, or the ledger itself.
	for _, sql := range []string{
		`update keys set balance = balance + 5`, `update keys set pro_until = 'infinity'`, `update keys set public_id = 'key_' || repeat('b', 26)`, `delete from keys`,
		`update ledger set amount = 5 where kind = 'trial'`, `delete from ledger`, `truncate ledger cascade`, `delete from key_secrets`,
		`update key_secrets set hash = sha256('x')`, `update key_secrets set key_id = key_id`,
		`insert into keys (public_id, name, created_at, balance) values ('key_' || repeat('a', 26), 'x', now(), 5)`,
		`insert into ledger (key_id, kind, amount, at) values (` + id + `, 'trial', 5, now())`,
		`insert into ledger (key_id, kind, amount, at, endpoint, request_id) values (` + id + `, 'charge', -200001, now(), '/a', 'r')`,
		`insert into ledger (key_id, kind, amount, at, endpoint, request_id) values (` + id + `, 'charge', 5, now(), '/a', 'r')`,
		`insert into ledger (key_id, kind, amount, at) values (` + id + `, 'credit', 5, now())`,
		`insert into ledger (key_id, kind, amount, at, by, reason) values (` + id + `, 'credit', 5, now(), 'a', 'b'), (999, 'credit', 5, now(), 'a', 'b')`,
	} {
		if err := exec(t, b.url, "", sql); err == nil {
			t.Errorf("the owner may: %s", sql)
		}
	}
	// A dispute takes the balance where it must, and then nothing can be bought.
	if err := exec(t, b.url, postgres.RoleWorker, `insert into ledger (key_id, kind, amount, at, ref) values (`+id+`, 'dispute', -5000000, now(), 'e1')`); err != nil {
		t.Error(err)
	}
	if o := b.charge(postgres.Charge{KeyID: k.ID, Price: 1000}); o.Outcome != postgres.ChargeRefused || o.Balance != -4_800_000 {
		t.Errorf("after a dispute: %+v", o)
	}
	if err := exec(t, b.url, postgres.RoleWorker, `insert into ledger (key_id, kind, amount, at, ref) values (`+id+`, 'dispute', -5000000, now(), 'e1')`); err == nil {
		t.Error("one event was counted twice")
	}
}

func TestKeysThatChangeAreTold(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, text := b.register("watched")
	c, err := pgx.Connect(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if _, err := c.Exec(t.Context(), `listen keys`); err != nil {
		t.Fatal(err)
	}
	told := func(what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n.Payload != fmt.Sprint(k.ID) {
			t.Errorf("%s: told of %q, want %d", what, n.Payload, k.ID)
		}
	}
	b.charge(postgres.Charge{KeyID: k.ID, Price: 1000}) // says nothing
	next, err := accounts.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.api.Rotate(t.Context(), text.Hash(), next, 0, nil, func(postgres.Rotated) ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	told("rotation")
	b.exec(fmt.Sprintf(`insert into plan_changes (key_id, kind, period, ref) values (%d, 'transfer', '720 hours', 'a')`, k.ID))
	told("another plan")
	if _, err := b.api.Revoke(t.Context(), k.ID, "holder", "why"); err != nil {
		t.Fatal(err)
	}
	told("revocation")
}
