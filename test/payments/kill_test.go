package payments

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/base"
	"tidemark/internal/devchain"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/test/program"
	"tidemark/workers"
)

// The moments at which the API process is killed, as its facilitator sees them.
const (
	verifyAsked    = "before the payment is verified"
	verifyAnswered = "after the payment is verified"
	settleAsked    = "before the payment is settled"
	settleDone     = "after it is settled, before the facilitator says so"
	settleAnswered = "after the facilitator says so"
)

// settlements is a seller on its own development chain, with a facilitator that reports each moment of a payment.
type settlements struct {
	*fixture

	chain *devchain.Chain
	db    *postgres.DB
	job   workers.X402
	// had is the seller's first balance.
	had int64

	mu sync.Mutex
	// at is called at each moment. The facilitator drops its connection there when it returns false.
	at func(moment string) bool
}

// follow sets what happens at the moments.
func (m *settlements) follow(at func(moment string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

func (m *settlements) moment(name string) {
	m.mu.Lock()
	at := m.at
	m.mu.Unlock()
	if at != nil && !at(name) {
		panic(http.ErrAbortHandler)
	}
}

func openSettlements(t *testing.T) *settlements {
	t.Helper()
	c, err := devchain.Start(devchain.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	facilitator, err := devchain.NewFacilitator(c, 9)
	if err != nil {
		t.Fatal(err)
	}
	m := &settlements{chain: c, fixture: &fixture{t: t, dsn: pgtest.New(t), payTo: devchain.Address(8).Hex()}}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		moments := map[string][3]string{"/verify": {verifyAsked, "", verifyAnswered}, "/settle": {settleAsked, settleDone, settleAnswered}}[r.URL.Path]
		m.moment(moments[0])
		// A separate context: the facilitator finishes a request even if the client dies.
		answer := httptest.NewRecorder()
		facilitator.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), r.Method, r.URL.Path, bytes.NewReader(body)))
		m.moment(moments[1])
		w.Header().Set("Content-Length", strconv.Itoa(answer.Body.Len()))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
		_ = http.NewResponseController(w).Flush()
		m.moment(moments[2])
	}))
	t.Cleanup(between.Close)
	m.facilitator = between.URL
	m.had = m.balance()
	if m.db, err = postgres.Open(t.Context(), m.dsn, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.db.Close)
	node, err := base.Dial(devchain.DefaultChainID, c.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	m.job = workers.X402{DB: m.db, Chain: node, Now: time.Now}
	m.start()
	return m
}

func (m *settlements) balance() int64 {
	m.t.Helper()
	n, err := m.chain.TokenBalance(m.payTo)
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

// passLeases ends the wait for processes that are dead, as time does.
func (m *settlements) passLeases() {
	m.t.Helper()
	c, err := pgx.Connect(m.t.Context(), m.dsn)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = c.Close(m.t.Context()) }()
	if _, err := c.Exec(m.t.Context(), `update x402_payments set lease_until = clock_timestamp() where delivered_at is null`); err != nil {
		m.t.Fatal(err)
	}
}

// reconcile runs the job for every payment, and returns them.
func (m *settlements) reconcile() []postgres.X402Payment {
	m.t.Helper()
	list := m.payments()
	for _, p := range list {
		if err := m.job.Run(m.t.Context(), task.Task{Job: task.X402, Subject: strconv.FormatInt(p.ID, 10)}); err != nil {
			m.t.Fatal(err)
		}
	}
	return m.payments()
}

func (m *settlements) payments() []postgres.X402Payment {
	m.t.Helper()
	list, err := m.db.X402Payments(m.t.Context(), postgres.X402Filter{Limit: 1000})
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

// agree checks that the ledger and the chain tell of the same money, and that the ledger tells of each settlement once.
func (m *settlements) agree() (settled int64) {
	m.t.Helper()
	ledger, err := m.db.X402Changes(m.t.Context(), 0)
	if err != nil {
		m.t.Fatal(err)
	}
	times := map[int64]int{}
	for _, e := range ledger {
		if e.State == postgres.X402Settled {
			settled += e.Amount
			times[e.PaymentID]++
		}
	}
	for id, n := range times {
		if n != 1 {
			m.t.Errorf("payment %d is settled %d times in the ledger", id, n)
		}
	}
	if got := m.balance() - m.had; got != settled {
		m.t.Errorf("the seller got %d micro-dollars on the chain, and %d by the ledger", got, settled)
	}
	return settled
}

func TestKillBetweenAnyTwoSteps(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{verifyAsked, verifyAnswered, settleAsked, settleDone, settleAnswered} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			m := openSettlements(t)
			const path, price = "/picks", 5000
			paid := payment(t, m.chain, 1+len(moment)%2, m.payTo, price, 1)
			var once sync.Once
			m.follow(func(at string) (goOn bool) {
				goOn = true
				if at == moment {
					once.Do(func() {
						m.kill()
						// The facilitator drops a request that it had not handled before the kill.
						goOn = at == settleDone || at == verifyAnswered || at == settleAnswered
					})
				}
				return goOn
			})
			first, _ := m.buy(path, paid)
			_ = m.cmd.Wait()
			m.follow(nil)
			m.start()
			m.passLeases()

			// A worker asks the chain; then the client repeats its request with the same payment, as it was told to.
			m.reconcile()
			second, body := m.buy(path, paid)
			if second == http.StatusServiceUnavailable {
				// The facilitator was asked to settle, and the chain has not seen the payment. It still may, until the payment expires.
				if moment != settleAsked && moment != verifyAnswered {
					t.Errorf("repeated: %d %s", second, body)
				}
				if err := m.chain.Skip(3 * time.Minute); err != nil {
					t.Fatal(err)
				}
				m.reconcile()
				if got := m.agree(); got != 0 {
					t.Errorf("%d micro-dollars were settled", got)
				}
				if s := m.payments()[0]; s.State != postgres.X402Failed {
					t.Errorf("payment %+v", s)
				}
				return
			}
			// It is charged once, and the data are had: by the first request, or by the second.
			if first != http.StatusOK && second != http.StatusOK {
				t.Errorf("answers %d and %d %s", first, second, body)
			}
			if got := m.agree(); got != price {
				t.Errorf("%d micro-dollars were settled, want %d", got, price)
			}
			program.Until(t, program.Timeout, "the payment is delivered", func() (bool, string) {
				list := m.payments()
				return len(list) == 1 && list[0].DeliveredAt != nil, "it is not"
			})
			if status, body := m.buy(path, paid); status != http.StatusPaymentRequired {
				t.Errorf("once more: %d %s", status, body)
			}
			if got := m.agree(); got != price {
				t.Errorf("%d micro-dollars were settled, want %d", got, price)
			}
		})
	}
}

// The same payment 200 times at once, over all addresses and in both headers, on a real chain.
func TestOnePaymentBuysOneAnswerOnTheChain(t *testing.T) {
	t.Parallel()
	m := openSettlements(t)
	headers := [2][2]string{payment(t, m.chain, 1, m.payTo, 5000, 7), payment(t, m.chain, 2, m.payTo, 5000, 7)}
	var paths []string
	for path := range prices {
		paths = append(paths, path)
	}
	counts := map[int]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			status, _ := m.buy(paths[i%len(paths)], headers[i/len(paths)%2])
			mu.Lock()
			defer mu.Unlock()
			counts[status]++
		})
	}
	all.Wait()
	// 429: more from one address than may be under way.
	if counts[200] != 1 || counts[200]+counts[402]+counts[409]+counts[429] != 200 {
		t.Errorf("answers by status: %v, want one 200", counts)
	}
	if got := m.agree(); got != 5000 {
		t.Errorf("%d micro-dollars were settled, want 5000", got)
	}
}

// Every address, in both versions, for exactly its price.
func TestEveryAddressIsPaidWithItsPrice(t *testing.T) {
	t.Parallel()
	m := openSettlements(t)
	want, nonce := int64(0), byte(0)
	for version := 1; version <= 2; version++ {
		for path, price := range prices {
			nonce++
			if status, body := m.buy(path, payment(t, m.chain, version, m.payTo, price, nonce)); status != http.StatusOK {
				t.Errorf("%s, version %d: %d %s", path, version, status, body)
			}
			want += price
			if got := m.balance() - m.had; got != want {
				t.Fatalf("after %s the seller has %d micro-dollars more, want %d", path, got, want)
			}
		}
	}
	m.agree()
}
