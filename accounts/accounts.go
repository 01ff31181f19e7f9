// Package accounts defines the rules of keys and money: key formats, request prices, the contents and quotas of plans, and the notation of
// amounts. Everything here is pure. The migrations and internal/postgres define how keys and money are stored and who may change them.
// Start at Tariff, then read key.go.
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

// Plan is the plan of a key. Which plans exist depends on the model in force.
type Plan string

// The plans. Every key has PlanBalance in the balance model.
const (
	PlanBalance Plan = "balance"
	PlanFree    Plan = "free"
	PlanPro     Plan = "pro"
)

// Amounts and terms that the interface fixes.
const (
	// Trial is the starting balance of a new key in the balance model. The database has its own copy, which is authoritative.
	Trial Micros = 200_000
	// MinTopUp is the minimum amount of a top-up and of a transfer.
	MinTopUp Micros = 5_000_000
	// ProPrice buys ProDays days of the Pro plan, in units of the stablecoin.
	ProPrice Micros = 5_000_000

	// ProDays is how long a purchase of the Pro plan lasts.
	ProDays = 30
	// FreePicks is how many of the latest picks the Free plan shows.
	FreePicks = 3
	// IdempotencyGet is how long an Idempotency-Key protects a priced request from a second charge. IdempotencyPost is how long the
	// response to a request that changes something is stored.
	IdempotencyGet  = 10 * time.Minute
	IdempotencyPost = 24 * time.Hour
	// MaxGracePeriod is the longest time that the old text of a rotated key can stay valid.
	MaxGracePeriod = 7 * 24 * time.Hour
)

// PlanAt returns the plan of a key at an instant. proUntil is the end of its Pro period, nil if it never had one. The end is exclusive: at
// proUntil the key is Free again.
func PlanAt(m Model, proUntil *time.Time, at time.Time) Plan {
	switch {
	case m == ModelBalance:
		return PlanBalance
	case proUntil != nil && at.Before(*proUntil):
		return PlanPro
	}
	return PlanFree
}

// Quota returns how many requests to the data endpoints a plan allows in a UTC day. Zero means no limit.
func (p Plan) Quota() int {
	switch p {
	case PlanFree:
		return 10
	case PlanPro:
		return 1000
	}
	return 0
}

// Level is how much of the data a response shows.
type Level int

// The levels.
const (
	// LevelFree is the view of the Free plan: the latest FreePicks picks, the portfolio's summary and the basic list of stocks.
	LevelFree Level = iota + 1
	// LevelFull shows everything. It applies to the Pro plan, the balance model and single paid requests.
	LevelFull
)

// LevelFor returns the level at which a plan can read an endpoint, and false if it cannot read it at all.
func (p Plan) LevelFor(e Endpoint) (Level, bool) {
	switch {
	case p != PlanFree:
		return LevelFull, true
	case e.OnFreePlan:
		return LevelFree, true
	}
	return 0, false
}

// Endpoint is a data endpoint that requires a key.
type Endpoint struct {
	// Path is a pattern of net/http, below /api/v1.
	Path string
	// Price is the cost of a response in the balance model.
	Price Micros
	// OnFreePlan reports whether the Free plan can read the endpoint, at LevelFree.
	OnFreePlan bool
	// Fixed reports whether the interface fixes the price, so that an operator cannot set it.
	Fixed bool
}

// Tariff is the model in force with all prices. Its zero value is not valid: use NewTariff.
type Tariff struct {
	Model     Model
	endpoints []Endpoint
}

// NewTariff returns the tariff of a model for the given endpoints. prices are the operator's prices, such as
// "/events=0.001,/digest/latest=0.002", for endpoints whose price is not fixed. An endpoint without a price costs nothing.
func NewTariff(m Model, endpoints []Endpoint, prices string) (Tariff, error) {
	if m != ModelBalance && m != ModelPlan {
		return Tariff{}, fmt.Errorf("%q is not a billing model: use %s or %s", m, ModelBalance, ModelPlan)
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
			faults = append(faults, fmt.Errorf("%q is not an endpoint with an open price: %s", path, strings.Join(t.open(), ", ")))
		case err != nil:
			faults = append(faults, fmt.Errorf("the price of %s: %w", path, err))
		default:
			t.endpoints[i].Price = price
		}
	}
	return t, errors.Join(faults...)
}

// index returns the index of the endpoint with a path, or -1.
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

// Endpoint returns the data endpoint with a path below /api/v1, and whether it exists. path is a pattern, as in the endpoint's declaration.
func (t Tariff) Endpoint(path string) (Endpoint, bool) {
	i := t.index(path)
	if i < 0 {
		return Endpoint{}, false
	}
	return t.endpoints[i], true
}

// Endpoints returns the data endpoints in the order in which NewTariff received them.
func (t Tariff) Endpoints() []Endpoint { return slices.Clone(t.endpoints) }

// Billable reports whether a request is charged, or counted against the daily quota. Only a GET with a 2xx response is. A 304 or a HEAD
// gives the client nothing new, and errors are free.
func Billable(method string, status int) bool {
	return method == http.MethodGet && status >= 200 && status <= 299
}

// Cost returns the price of a request to an endpoint that is answered with a status.
func (t Tariff) Cost(e Endpoint, method string, status int) Micros {
	if t.Model != ModelBalance || !Billable(method, status) {
		return 0
	}
	return e.Price
}
