package payments

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
)

// Each reason for rejecting a transfer has a separate problem code, and a rejection changes nothing.
func TestEachRejectionOfATransfer(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	us, other := c.customer(), c.customer()
	contracts, err := devchain.Contracts()
	if err != nil {
		t.Fatal(err)
	}
	token := contracts["Token"]
	argument, err := token.ABI.Pack("", "USDC")
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.chain.Transact(t.Context(), 1, nil, append(token.Create, argument...))
	if err != nil {
		t.Fatal(err)
	}
	mint, err := token.ABI.Pack("mint", devchain.Address(8), big.NewInt(5_000_000))
	if err != nil {
		t.Fatal(err)
	}
	lookalike, err := c.chain.Transact(t.Context(), 1, &made.ContractAddress, mint)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := c.chain.Transfer(t.Context(), 1, devchain.Address(7).Hex(), 5_000_000)
	if err != nil {
		t.Fatal(err)
	}
	failed := c.offers(1, 1<<60)
	c.chain.Commit()
	for _, row := range []struct {
		what, tx string
		status   int
		code     string
	}{
		{"no hash", "0x1234", 400, "invalid_parameter"},
		{"not hex", "0x" + strings.Repeat("zz", 32), 400, "invalid_parameter"},
		{"a transaction that nobody has sent", "0x" + strings.Repeat("ab", 32), 404, "transfer_not_found"},
		{"one that failed", failed, 422, "payment_failed"},
		{"another token of the same name", lookalike.TxHash.Hex(), 422, "payment_wrong_token"},
		{"to another account", elsewhere, 422, "payment_wrong_recipient"},
		{"a millionth too little", c.pays(1, 4_999_999), 422, "payment_insufficient"},
	} {
		c.want(row.what, us.claims(row.tx), row.status, row.code)
		us.has(row.what, "0.20")
	}

	tx := c.pays(1, 7_250_000)
	first := us.claims(strings.ToUpper(tx[2:4]) + tx[4:])
	c.want("a hash without its 0x", first, 400, "invalid_parameter")
	first = us.claims("0x" + strings.ToUpper(tx[2:]))
	c.want("a good transfer", first, http.StatusOK, "")
	us.has("the amount is credited", "7.45")
	for member, want := range map[string]any{
		"status": "verified", "tx_hash": tx, "network": "eip155:84532", "token": "USDC", "from": strings.ToLower(devchain.Address(1).Hex()), "to": billing,
		"plan": nil, "pro_until": nil, "extended": false, "final": true,
		"amount":  map[string]any{"amount": "7.25", "currency": "USDC"},
		"balance": map[string]any{"amount": "7.45", "currency": "USD"},
	} {
		if d := cmp.Diff(want, first.data[member]); d != "" {
			t.Errorf("%s: -want +got\n%s", member, d)
		}
	}
	if again := us.claims(tx); again.status != 200 || again.body != first.body {
		t.Errorf("the same claim again: %d %s, want %s", again.status, again.body, first.body)
	}
	c.want("the claim of another key", other.claims(tx), 409, "payment_already_used")
	us.has("after claims of what was claimed", "7.45")
	other.has("after claims of what was claimed", "0.20")
	if look := us.ask(http.MethodGet, "/payments/claims/"+tx, nil); look.status != 200 || look.body != first.body {
		t.Errorf("the state of the claim: %d %s", look.status, look.body)
	}
	if look := other.ask(http.MethodGet, "/payments/claims/"+tx, nil); look.data["status"] != "rejected" || look.data["reason"] != "payment_already_used" {
		t.Errorf("the state of the other claim: %s", look.body)
	}
	c.want("the state of no claim", c.customer().ask(http.MethodGet, "/payments/claims/"+tx, nil), 404, "not_found")

	c.cut.Store(true)
	tx = c.pays(1, 5_000_000)
	away := us.claims(tx)
	c.want("no node answers", away, 503, "dependency_unavailable")
	if away.header.Get("Retry-After") == "" {
		t.Error("it is not said when to come again")
	}
	c.cut.Store(false)
	c.want("the node is back", us.claims(tx), 200, "")

	tx = c.pays(1, 5_000_000)
	c.ahead.Store(int64(8 * 24 * time.Hour))
	c.want("eight days old", us.claims(tx), 422, "payment_too_old")
	c.ahead.Store(0)
	us.has("at the end", "12.45")
}

// The first key that posts the hash before the transaction is in a block owns the transfer, even if others post it later.
func TestTheFirstClaimantHasTheTransfer(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	first, second := c.customer(), c.customer()
	tx := c.offers(1, 5_000_000)
	c.want("the first one", first.claims(tx), 404, "transfer_not_found")
	c.want("the second one", second.claims(tx), 404, "transfer_not_found")
	c.chain.Commit()
	c.want("the second one, once it is mined", second.claims(tx), 409, "payment_already_used")
	c.want("the first one, once it is mined", first.claims(tx), 200, "")
	first.has("the first one", "5.20")
	second.has("the second one", "0.20")
}

func TestOneOfFiftyKeysGetsTheTransfer(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	tx := c.pays(1, 5_000_000)
	var keys []customer
	for range 50 {
		keys = append(keys, c.customer())
	}
	answers := make([]answer, len(keys))
	var all sync.WaitGroup
	for i, k := range keys {
		all.Go(func() { answers[i] = k.claims(tx) })
	}
	all.Wait()
	won := 0
	for i, a := range answers {
		switch {
		case a.status == 200:
			won++
			keys[i].has("the winner", "5.20")
		case a.status == 409 && a.code == "payment_already_used":
			keys[i].has("a loser", "0.20")
		default:
			t.Errorf("key %d: %d %s", i, a.status, a.body)
		}
	}
	if won != 1 {
		t.Errorf("%d keys got it, want 1", won)
	}
}

// A transfer is granted with three confirmations and reversed when a reorganisation removes its block. If the transaction is then in
// another block, it is granted again.
func TestAReorganisationTakesAGrantBack(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	us := c.customer()
	c.unsafe.Store(true)
	before := c.chain.Commit()
	tx := c.pays(1, 5_000_000)
	c.want("one confirmation", us.claims(tx), 409, "payment_not_final")
	c.chain.Commit()
	c.want("two confirmations", us.claims(tx), 409, "payment_not_final")
	c.chain.Commit()
	got := us.claims(tx)
	c.want("three confirmations", got, 200, "")
	if got.data["final"] != false || got.data["confirmations"] != 3.0 {
		t.Errorf("three confirmations: %s", got.body)
	}
	us.has("granted", "5.20")

	kinds := func() (list []string) {
		t.Helper()
		lines, err := c.worker.BalanceEntries(t.Context(), us.id, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			list = append(list, l.Kind)
		}
		return list
	}
	if err := c.chain.Fork(before); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		c.chain.Commit() // the first of them has the transaction again
	}
	c.eventually("the grant to be made anew", func() bool { return cmp.Equal(kinds(), []string{"transfer", "reversal", "transfer", "trial"}) })
	us.has("granted anew", "5.20")

	us.loses(tx, before)
	us.has("taken back", "0.20")
	c.want("claimed again", us.claims(tx), 404, "transfer_not_found")
}

// Credits spent before a transfer vanished are owed, and nothing is served on credit.
func TestABalanceMayOnlyFallBelowZeroByAReversal(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	us := c.customer()
	c.unsafe.Store(true)
	before := c.chain.Commit()
	tx := c.pays(1, 5_000_000)
	c.chain.Commit()
	c.chain.Commit()
	c.want("granted", us.claims(tx), 200, "")
	charger := postgres.NewCharger(c.api.KeyStore)
	spend := func(price accounts.Micros) string {
		t.Helper()
		out, err := charger.Charge(t.Context(), postgres.Charge{KeyID: us.id, Price: price, Endpoint: "/picks", RequestID: "r"})
		if err != nil {
			t.Fatal(err)
		}
		return out.Outcome
	}
	if got := spend(5_000_000); got != postgres.Charged {
		t.Fatal(got)
	}
	us.loses(tx, before)
	us.has("taken back", "-4.80")
	if got := spend(1000); got != postgres.ChargeRefused {
		t.Errorf("a charge on a debt is %s", got)
	}
}

func TestAnAmountOfOnesOwn(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	us, other := c.customer(), c.customer()
	quote := us.ask(http.MethodGet, "/payments/quote", nil)
	c.want("a quote", quote, 200, "")
	text, _ := quote.data["amount"].(map[string]any)["amount"].(string)
	amount, err := accounts.ParseMicros(text)
	if err != nil || amount < 5_000_001 || amount > 5_009_999 || quote.data["atomic_amount"] != fmt.Sprint(int64(amount)) || quote.data["pay_to"] != billing {
		t.Fatalf("%s, %v", quote.body, err)
	}
	until, err := time.Parse(time.RFC3339, quote.data["expires_at"].(string))
	if left := time.Until(until); err != nil || left > 24*time.Hour || left < 23*time.Hour {
		t.Errorf("it is held until %s, %v", until, err)
	}
	if again := us.ask(http.MethodGet, "/payments/quote", nil); again.body != quote.body {
		t.Errorf("another quote while the first one is held: %s", again.body)
	}
	if theirs := other.ask(http.MethodGet, "/payments/quote", nil); theirs.data["atomic_amount"] == quote.data["atomic_amount"] {
		t.Errorf("two keys hold the amount %s", text)
	}
	tx := c.pays(1, int64(amount))
	c.want("another key is first", other.claims(tx), 409, "payment_reserved")
	c.want("also with the sender's signature", other.claims(tx, other.signs(1, tx)), 409, "payment_reserved")
	c.want("the key that holds it", us.claims(tx), 200, "")
	us.has("credited", (200_000 + amount).String())
}

func TestTheSendersSignature(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	us, thief := c.customer(), c.customer()
	c.unsafe.Store(true)
	tx := c.pays(1, 5_000_000)
	c.chain.Commit()
	c.chain.Commit()
	c.want("a stranger's signature", us.claims(tx, us.signs(2, tx)), 422, "sender_proof_invalid")
	c.want("the sender's signature for another key", us.claims(tx, thief.signs(1, tx)), 422, "sender_proof_invalid")
	c.want("the thief is first", thief.claims(tx), 200, "")
	thief.has("the thief", "5.20")
	c.want("the sender proves it", us.claims(tx, us.signs(1, tx)), 200, "")
	us.has("the sender", "5.20")
	thief.has("the thief, after that", "0.20")
	c.want("the thief again", thief.claims(tx), 409, "payment_already_used")

	second := c.pays(1, 6_000_000)
	c.unsafe.Store(false)
	c.want("the thief is first with what is final", thief.claims(second), 200, "")
	thief.has("the thief, with what is final", "6.20")
	c.want("a proof that comes when it is final", us.claims(second, us.signs(1, second)), 200, "")
	us.has("the sender, after both", "11.20")
	thief.has("the thief, after both", "0.20")
	c.want("the thief once more", thief.claims(second), 409, "payment_already_used")
	c.says(us, "the sender signed for this key: the transfer was another key's before", 2)
	c.says(thief, "the sender signed for another key, which has the transfer now", 2)

	third := c.pays(1, 5_500_000)
	c.want("the sender's first claim", us.claims(third, us.signs(1, third)), 200, "")
	c.want("the sender signs for another key, too", thief.claims(third, thief.signs(1, third)), 409, "payment_already_used")
	us.has("the sender, who has signed for both", "16.70")
}

// says counts what a key's ledger says.
func (c *paymentServer) says(who customer, reason string, want int) {
	c.t.Helper()
	lines, err := c.worker.BalanceEntries(c.t.Context(), who.id, 50)
	if err != nil {
		c.t.Fatal(err)
	}
	n := 0
	for _, l := range lines {
		if l.Reason != nil && *l.Reason == reason {
			n++
		}
	}
	if n != want {
		c.t.Errorf("%d lines say %q, want %d: %+v", n, reason, want, lines)
	}
}

// The sender has a week from the grant, however old the transfer was then.
func TestTheSendersSignatureWinsForAWeek(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	us, thief := c.customer(), c.customer()
	early, late := c.pays(1, 5_000_000), c.pays(1, 6_000_000)
	c.want("the thief has one", thief.claims(early), 200, "")
	c.want("and another", thief.claims(late), 200, "")
	c.ahead.Store(int64(7*24*time.Hour - time.Minute))
	c.want("within the week", us.claims(early, us.signs(1, early)), 200, "")
	c.ahead.Store(int64(7*24*time.Hour + time.Minute))
	c.want("after the week", us.claims(late, us.signs(1, late)), 422, "payment_too_old")
	us.has("the sender", "5.20")
	thief.has("the thief", "6.20")
}

// Paying an amount that was quoted to a key pays for that key, regardless of later signatures.
func TestAGrantOfAnAmountOfOnesOwnIsNotMoved(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	us, other := c.customer(), c.customer()
	quote := us.ask(http.MethodGet, "/payments/quote", nil)
	amount, err := strconv.ParseInt(quote.data["atomic_amount"].(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	tx := c.pays(1, amount)
	c.want("the key that was quoted it", us.claims(tx), 200, "")
	c.want("the sender signs for another key", other.claims(tx, other.signs(1, tx)), 409, "payment_reserved")
	c.exec(`delete from payment_quotes`) // retention deletes quotes: the grant does not depend on them
	c.want("also when the quote is forgotten", other.claims(tx, other.signs(1, tx)), 409, "payment_already_used")
	us.has("credited", (200_000 + accounts.Micros(amount)).String())
}

// exec runs SQL as the owner of the database.
func (c *paymentServer) exec(sql string) {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.dsn)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(c.t.Context())) }()
	if _, err := conn.Exec(c.t.Context(), sql); err != nil {
		c.t.Fatal(err)
	}
}

func TestClaimsOfAllKeysAreBounded(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{timeout: time.Millisecond, idle: true})
	c.exec(`create or replace function claims_most() returns int language sql immutable as $$ select 3 $$`)
	for i := range 3 {
		c.want("a claim", c.customer().claims(fmt.Sprintf("0x%064x", i)), 202, "")
	}
	us := c.customer()
	full := us.claims(fmt.Sprintf("0x%064x", 9))
	c.want("one more", full, 503, "dependency_unavailable")
	// The chain was asked about the others, and has none of them: the oldest makes room.
	c.exec(`update payment_claims set reason = 'transfer_not_found'`)
	c.want("one more, when others are known to be made up", us.claims(fmt.Sprintf("0x%064x", 9)), 202, "")
	c.want("the oldest has ended", c.customer().claims(fmt.Sprintf("0x%064x", 8)), 202, "")
	conn, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var states string
	if err := conn.QueryRow(t.Context(), `select string_agg(right(tx_hash, 1) || state, ' ' order by id) from payment_claims`).Scan(&states); err != nil {
		t.Fatal(err)
	}
	if states != "0expired 1expired 2pending 9pending 8pending" {
		t.Errorf("the claims are %s", states)
	}
}

// Anyone can make up hashes. Each is one row of the run log until it expires, and no alert; so is a claim that is granted.
func TestAClaimIsOneRowOfTheRunLog(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{timeout: time.Millisecond, idle: true})
	job, err := claimsJob(c.worker, c.node, counterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job.Now = func() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }
	conn, err := pgx.Connect(t.Context(), c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	us := c.customer()
	for n := range 5 {
		c.want("a made-up hash", us.claims(fmt.Sprintf("0x%064x", n)), 202, "")
	}
	tx := c.offers(1, 5_000_000)
	c.want("a transaction that is not mined", us.claims(tx), 202, "")
	state := func(sql string) (text string) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	}
	const rows = `select string_agg(distinct status, ' ') || ' ' || count(*) from runs where job = 'claims'`
	const step = 30 * time.Second
	for at := time.Duration(0); at <= 70*time.Minute; at += step {
		if at == 10*time.Minute {
			c.cut.Store(true) // no node answers
		}
		if at == 12*time.Minute {
			c.cut.Store(false)
			c.chain.Commit()
		}
		if err := pumpOnce(t.Context(), c.worker, job); err != nil {
			t.Fatal(err)
		}
		if at == 40*time.Minute {
			if got := state(rows); got != "due succeeded 6" {
				t.Errorf("after 40 minutes the runs are %s", got)
			}
			if late, err := c.worker.LateRuns(t.Context()); err != nil || len(late) != 0 {
				t.Errorf("a claim that waits is late: %+v, %v", late, err)
			}
		}
		c.ahead.Add(int64(step))
		_, err := conn.Exec(t.Context(), `
			update runs set created_at = created_at - $1::interval, next_try_at = next_try_at - $1::interval where status = 'due'`, step)
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := state(rows); got != "succeeded 6" {
		t.Errorf("the runs are %s", got)
	}
	if got := state(`select string_agg(distinct state, ' ' order by state) || ' ' || count(*) from payment_claims`); got != "confirmed expired 6" {
		t.Errorf("the claims are %s", got)
	}
	if looks := state(`select min(n)::text from (select count(*) as n from run_attempts join payment_claims on state = 'expired'
		join runs on runs.id = run_id and subject = tx_hash group by run_id) a`); len(looks) < 2 {
		t.Errorf("a made-up claim was looked at %s times", looks)
	}
	us.has("granted", "5.20")
}

// A claim that is posted over and over has the chain asked every two seconds at most.
func TestAClaimIsAskedOfTheChainAtMostSoOften(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{})
	tx := fmt.Sprintf("0x%064x", 7)
	us, other := c.customer(), c.customer()
	began := time.Now()
	for range 3 {
		c.want("the transaction that is not there", us.claims(tx), 404, "transfer_not_found")
		c.want("and for another key", other.claims(tx), 404, "transfer_not_found")
	}
	if took := time.Since(began); took < 8*time.Second {
		t.Errorf("six looks at the chain in %s", took)
	}
}

func TestAProofCanBeDemanded(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{needProof: true})
	us := c.customer()
	tx := c.pays(1, 5_000_000)
	c.want("without a signature", us.claims(tx), 422, "sender_proof_required")
	c.want("with a signature", us.claims(tx, us.signs(1, tx)), 200, "")
	us.has("credited", "5.20")
}

func TestProForThirtyDays(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{model: accounts.ModelPlan})
	us := c.customer()
	if plan := us.ask(http.MethodGet, "/account", nil).data["plan"]; plan != "free" {
		t.Errorf("at first it is %v", plan)
	}
	end := func(a answer) time.Time {
		t.Helper()
		c.want("a payment", a, 200, "")
		text, _ := a.data["pro_until"].(string)
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || a.data["plan"] != "pro" || a.data["balance"] != nil {
			t.Fatalf("%s, %v", a.body, err)
		}
		return at
	}
	one := us.claims(c.pays(1, 5_000_000))
	first := end(one)
	if left := time.Until(first); left > 30*24*time.Hour || left < 30*24*time.Hour-time.Minute || one.data["extended"] != false {
		t.Errorf("Pro for %s: %s", left, one.body)
	}
	if a := us.ask(http.MethodGet, "/account", nil); a.data["plan"] != "pro" {
		t.Errorf("upgraded, and not at once: %s", a.body)
	}
	two := us.claims(c.pays(1, 9_000_000))
	if second := end(two); !second.Equal(first.Add(30*24*time.Hour)) || two.data["extended"] != true {
		t.Errorf("extended from %s to %s: %s", first, second, two.body)
	}
	us.has("plans have no balance", "0.20")
}

func TestTwentyClaimsOfAKeyWait(t *testing.T) {
	t.Parallel()
	c := openCounter(t, counterOptions{timeout: time.Millisecond, idle: true})
	us := c.customer()
	for i := range 20 {
		a := us.claims(fmt.Sprintf("0x%064x", i))
		c.want("a claim without a verdict", a, 202, "")
		if at := a.header.Get("Location"); at != fmt.Sprintf("%s/api/v1/payments/claims/0x%064x", c.url, i) || a.data["status"] != "pending" {
			t.Errorf("Location %s, %s", at, a.body)
		}
	}
	c.want("one more", us.claims(fmt.Sprintf("0x%064x", 20)), 429, "rate_limited")
	c.want("the first one again", us.claims(fmt.Sprintf("0x%064x", 0)), 202, "")
	c.want("another key", c.customer().claims(fmt.Sprintf("0x%064x", 20)), 202, "")
}
