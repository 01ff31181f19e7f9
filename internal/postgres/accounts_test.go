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
	b.charger = postgres.NewCharger(b.api.KeyStore)
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

// clock stops the time of accounts at an instant.
func (b *books) clock(at string) {
	b.t.Helper()
	b.exec(`create or replace function billing_now() returns timestamptz language sql volatile as $$ select '` + at + `'::timestamptz $$`)
}

// balanced checks that every balance is the sum of its balance entries. The test computes the sums itself.
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
	if _, err := rotate(first, 0); !errors.Is(err, postgres.ErrEnded) {
		t.Errorf("a text rotated in its grace: %v", err)
	}
	if err := b.api.RevokeOwn(t.Context(), first.Hash(), "asked for"); !errors.Is(err, postgres.ErrEnded) {
		t.Errorf("a text revoked the key in its grace: %v", err)
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
	if _, err := b.api.Revoke(t.Context(), k.ID, "holder", "asked for"); err == nil {
		t.Error("the API's role revoked a key without its text")
	}
	if err := b.api.RevokeOwn(t.Context(), third.Hash(), "asked for"); err != nil {
		t.Errorf("revoke: %v", err)
	}
	if err := b.api.RevokeOwn(t.Context(), third.Hash(), "asked for"); !errors.Is(err, postgres.ErrEnded) {
		t.Errorf("revoke again: %v", err)
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
	// Even the owner of the tables cannot change a balance without an entry, or change the ledger.
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
	// A dispute may make the balance negative; the key can then buy nothing.
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
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if n.Payload != fmt.Sprint(k.ID) {
			t.Errorf("%s: told of %q, want %d", what, n.Payload, k.ID)
		}
	}
	b.charge(postgres.Charge{KeyID: k.ID, Price: 1000}) // a charge sends no notification
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
	if err := b.api.RevokeOwn(t.Context(), next.Hash(), "why"); err != nil {
		t.Fatal(err)
	}
	told("revocation")
}

// The response of a commit is lost, and the operator repeats the gift with the same Ref.
func TestWhatAnOperatorGivesIsGivenOnce(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("k")
	other, _ := b.register("other")
	gift := postgres.Gift{Ref: "ticket 7", By: "op", Reason: "sorry"}
	var until [2]time.Time
	for i := range 2 {
		balance, err := b.worker.Credit(t.Context(), k.ID, 5_000_000, gift)
		if err != nil || balance != 5_000_000+accounts.Trial {
			t.Errorf("credited: %s, %v", balance, err)
		}
		if until[i], err = b.worker.Grant(t.Context(), k.ID, 24*time.Hour, gift); err != nil {
			t.Error(err)
		}
	}
	if !until[0].Equal(until[1]) {
		t.Errorf("Pro until %s, and then until %s", until[0], until[1])
	}
	for what, give := range map[string]func() error{
		"another amount": func() error { _, err := b.worker.Credit(t.Context(), k.ID, 1, gift); return err },
		"another key":    func() error { _, err := b.worker.Credit(t.Context(), other.ID, 5_000_000, gift); return err },
		"another period": func() error { _, err := b.worker.Grant(t.Context(), k.ID, time.Hour, gift); return err },
	} {
		if err := give(); !errors.Is(err, postgres.ErrGiven) {
			t.Errorf("%s under the same name: %v", what, err)
		}
	}
	gift.Ref = "ticket 8"
	if balance, err := b.worker.Credit(t.Context(), k.ID, 5_000_000, gift); err != nil || balance != 10_000_000+accounts.Trial {
		t.Errorf("credited under another name: %s, %v", balance, err)
	}
}
