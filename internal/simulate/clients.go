package simulate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"tidemark/accounts"
	"tidemark/internal/postgres"
)

// clients register keys and pay for requests, at an API that is sometimes killed in the middle of a request. A client without a response
// repeats the request with the same Idempotency-Key, and stores the response. The checks compare the responses with the ledger.
type clients struct {
	r    *run
	dice random
	keys []int64
	// told holds the response to each request, by the request's id.
	told map[string]string
	n    int
}

func newCustomers(r *run) *clients {
	return &clients{r: r, dice: newDice(r.Seed, "customers"), told: map[string]string{}}
}

// request runs f as a request to the API, which may be killed at one of its statements. It reports whether the API sent a response.
func (c *clients) request(ctx context.Context, what string, f func(context.Context) error) (answered bool, err error) {
	r := c.r
	if err := r.clock.advance(ctx, c.dice.between(time.Millisecond, 50*time.Millisecond)); err != nil {
		return false, err
	}
	m, at := none, 0
	if c.dice.chance(.15) {
		m, at = one(c.dice, []workFault{killedBefore, killedAfter, cut}), 1+c.dice.IntN(4)
	}
	w := start(ctx, m, at, r, f)
	_, err = w.wait()
	if w.hit != "" {
		r.result.Faults++
		r.trace.fault(r.clock.now(), "api %s statement %d %s of %s", m, at, w.hit, what)
		r.terminate()
	}
	if w.dead || errors.Is(err, postgres.ErrUnavailable) {
		return false, nil
	}
	return err == nil, err
}

// register makes a key. Repeating the request after a missing response makes no second key.
func (c *clients) register(ctx context.Context) error {
	r := c.r
	if len(c.keys) >= 20 {
		return nil
	}
	c.n++
	scope := sha256.Sum256(fmt.Appendf(nil, "register %d %d", r.Seed, c.n))
	same := func(b []byte) ([]byte, error) { return b, nil }
	once := &postgres.Once{Scope: scope, Request: scope, Seal: same, Open: same}
	var id int64
	for try := 0; ; try++ {
		// A repetition may reach a process that does not know the first request: it draws another key.
		key, err := accounts.NewKey(c.dice)
		if err != nil {
			return fmt.Errorf("draw a key: %w", err)
		}
		what := fmt.Sprintf("registration %d", c.n)
		answered, err := c.request(ctx, what, func(ctx context.Context) error {
			answer, err := r.api.Register(ctx, postgres.Registration{PublicID: fmt.Sprintf("key_%026d", 100*c.n+try), Name: "customer", Key: key}, once,
				func(made postgres.Registered) ([]byte, error) { return json.Marshal(made) })
			if err != nil {
				return err
			}
			var made postgres.Registered
			err = json.Unmarshal(answer, &made)
			id = made.ID
			return err
		})
		if err != nil {
			return err
		}
		if answered {
			break
		}
	}
	c.keys = append(c.keys, id)
	r.trace.say(r.clock.now(), "registration %d: key %d", c.n, id)
	return nil
}

// ask makes some requests with a key, at prices that soon use up its balance.
func (c *clients) ask(ctx context.Context) error {
	if len(c.keys) == 0 {
		return nil
	}
	r, key := c.r, one(c.dice, c.keys)
	charger := postgres.NewCharger(r.api.KeyStore)
	for range 1 + c.dice.IntN(4) {
		c.n++
		q := postgres.Charge{
			KeyID: key, Price: accounts.Micros(1000 * (1 + c.dice.Int64N(12))), Endpoint: "/events", RequestID: fmt.Sprintf("req_%d", c.n),
		}
		digest := sha256.Sum256([]byte(q.RequestID))
		if c.dice.chance(.7) {
			q.Digest = digest[:]
		}
		for try := 0; ; try++ {
			var got postgres.ChargeOutcome
			answered, err := c.request(ctx, q.RequestID, func(ctx context.Context) (err error) {
				got, err = charger.Charge(ctx, q)
				return err
			})
			if err != nil {
				return err
			}
			if answered {
				c.told[q.RequestID] = got.Outcome
				r.trace.say(r.clock.now(), "%s of key %d: %s, %d left", q.RequestID, key, got.Outcome, got.Balance)
				if got.Outcome == postgres.Charged {
					r.result.Charges++
				}
				break
			}
			if q.Digest == nil {
				break // without the id, the client cannot repeat the request
			}
		}
	}
	return nil
}
