// Package accounts is the rules of keys and money: what a key looks like, what a request costs, what a plan shows and how often, and
// how amounts are written. Everything here is pure. What is kept of keys and money, and who may change it, is in the migrations and
// internal/postgres. Start at Tariff, then read key.go.
package accounts

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Model is how the service is paid for. One is in force at a time.
type Model string

// The billing models.
const (
	// ModelBalance: each priced request is deducted from the key's prepaid balance; no plans and no daily limits.
	ModelBalance Model = "balance"
	// ModelPlan: a key is on a plan with a daily quota; no request has a price.
	ModelPlan Model = "plan"
)

// Plan is what a key has under the model in force.
type Plan string

// The plans. PlanBalance is that of every key in the balance model.
const (
	PlanBalance Plan = "balance"
	PlanFree    Plan = "free"
	PlanPro     Plan = "pro"
)

// Amounts and terms that the interface fixes.
const (
	// Trial is what a new key starts with in the balance model. The database has a copy of its own, which is the one that counts.
	Trial Micros = 200_000
	// MinTopUp is the least amount of a top-up, and of a transfer.
	MinTopUp Micros = 5_000_000
	// ProPrice buys ProDays days of the Pro plan, in units of the stablecoin.
	ProPrice Micros = 5_000_000

	// ProDays is how long the Pro plan lasts that was bought.
	ProDays = 30
	// FreePicks is how many of the latest picks the Free plan shows.
	FreePicks = 3
	// IdempotencyGet is how long an Idempotency-Key of a priced request keeps it from being paid again, IdempotencyPost how long the
	// answer to one that changes something is kept.
	IdempotencyGet  = 10 * time.Minute
	IdempotencyPost = 24 * time.Hour
	// MaxGracePeriod is the longest time for which a key that was rotated may go on.
	MaxGracePeriod = 7 * 24 * time.Hour
)

// PlanAt is the plan of a key at an instant. proUntil is when its Pro period ends, nil where it never had one; at that very instant
// the key is Free again.
func PlanAt(m Model, proUntil *time.Time, at time.Time) Plan {
	switch {
	case m == ModelBalance:
		return PlanBalance
	case proUntil != nil && at.Before(*proUntil):
		return PlanPro
	}
	return PlanFree
}

// Quota is how many requests to the data endpoints a plan allows in a UTC day; 0: any number.
func (p Plan) Quota() int {
	switch p {
	case PlanFree:
		return 10
	case PlanPro:
		return 1000
	}
	return 0
}

// Level is how much of the data an answer shows.
type Level int

// The levels.
const (
	// LevelFree is the Free plan's view: the latest FreePicks picks, the portfolio's summary, the basic list of stocks.
	LevelFree Level = iota + 1
	// LevelFull is everything: the Pro plan, the balance model, and a request paid by itself.
	LevelFull
)

// LevelFor is the level at which a plan may read an endpoint, false where it may not at all.
func (p Plan) LevelFor(e Endpoint) (Level, bool) {
	switch {
	case p != PlanFree:
		return LevelFull, true
	case e.Free:
		return LevelFree, true
	}
	return 0, false
}

// Endpoint is a data endpoint for which a key is needed.
type Endpoint struct {
	// Path is below /api/v1, a pattern of net/http.
	Path string
	// Price is what an answer costs in the balance model.
	Price Micros
	// Free tells that the Free plan has a view of it.
	Free bool
	// Fixed tells that the interface fixes the price.
	Fixed bool
}

// Tariff is the model in force with all prices. The zero value is not one: NewTariff makes it.
type Tariff struct {
	Model     Model
	endpoints []Endpoint
}

// NewTariff returns the tariff of a model over the endpoints that are given. prices are the operator's, written
// "/events=0.001,/digest/latest=0.002", for endpoints whose price the interface leaves open; empty: they cost nothing.
func NewTariff(m Model, endpoints []Endpoint, prices string) (Tariff, error) {
	if m != ModelBalance && m != ModelPlan {
		return Tariff{}, fmt.Errorf("%q is no billing model: %s or %s", m, ModelBalance, ModelPlan)
	}
	t := Tariff{Model: m, endpoints: slices.Clone(endpoints)}
	var faults []error
	for one := range strings.SplitSeq(prices, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		path, amount, _ := strings.Cut(one, "=")
		i := t.index(path)
		price, err := ParseMicros(amount)
		switch {
		case i < 0 || t.endpoints[i].Fixed:
			faults = append(faults, fmt.Errorf("%q is no endpoint whose price is open: %s", path, strings.Join(t.open(), ", ")))
		case err != nil:
			faults = append(faults, fmt.Errorf("the price of %s: %w", path, err))
		default:
			t.endpoints[i].Price = price
		}
	}
	return t, errors.Join(faults...)
}

// index is where the endpoint at a path stands, -1 where there is none.
func (t Tariff) index(path string) int {
	return slices.IndexFunc(t.endpoints, func(e Endpoint) bool { return e.Path == path })
}

// open lists the endpoints whose price an operator may set.
func (t Tariff) open() []string {
	var paths []string
	for _, e := range t.endpoints {
		if !e.Fixed {
			paths = append(paths, e.Path)
		}
	}
	return paths
}

// Endpoint returns the data endpoint at a path below /api/v1, a pattern as in its declaration, and whether there is one.
func (t Tariff) Endpoint(path string) (Endpoint, bool) {
	i := t.index(path)
	if i < 0 {
		return Endpoint{}, false
	}
	return t.endpoints[i], true
}

// Endpoints lists the data endpoints in the order in which they were given.
func (t Tariff) Endpoints() []Endpoint { return slices.Clone(t.endpoints) }

// Billable tells whether a request is charged for, or counted against the day's quota: only an answer to GET with a 2xx status is. A 304
// and HEAD give the client nothing that it did not have, and nobody pays for an error.
func Billable(method string, status int) bool {
	return method == http.MethodGet && status >= 200 && status <= 299
}

// Cost is what a request to an endpoint costs when it is answered with a status.
func (t Tariff) Cost(e Endpoint, method string, status int) Micros {
	if t.Model != ModelBalance || !Billable(method, status) {
		return 0
	}
	return e.Price
}
