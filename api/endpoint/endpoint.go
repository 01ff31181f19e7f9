// Package endpoint declares the data endpoints: their names, prices, parameters and responses. Routes, prices, payment by request, the
// OpenAPI description and llms.txt are derived from it. Start at list.go: a new endpoint needs one entry there, and its method in api/view.
package endpoint

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/picks"
)

// Params is a set of the parameters that an endpoint reads.
type Params uint

// The parameters, in the order of the OpenAPI description.
const (
	Ticker   Params = 1 << iota // {ticker} in the path
	Dates                       // from, to
	Company                     // ticker, sector, region
	Status                      // status
	Picked                      // picked
	Severity                    // min_severity
	Feed                        // since, after
	Lang                        // lang
	Paged                       // limit, cursor, format
	Whole                       // like Paged, but without a limit it returns all rows
)

// names are the parameters' names in the OpenAPI description, by bit position.
var names = [][]string{
	{"ticker_path"},
	{"from_date", "to_date"},
	{"ticker", "sector", "region"},
	{"status"},
	{"picked"},
	{"min_severity"},
	{"since", "after"},
	{"lang"},
	{"limit", "cursor", "format"},
	{"limit_whole", "cursor", "format"},
}

// queries are the names of the query parameters, by bit position.
var queries = [][]string{
	nil,
	{"from", "to"},
	{"ticker", "sector", "region"},
	{"status"},
	{"picked"},
	{"min_severity"},
	{"since", "after"},
	{"lang"},
	{"limit", "cursor", "format"},
	{"limit", "cursor", "format"},
}

// Query returns the names of the parameters in the query of a request.
func (p Params) Query() []string { return p.of(queries) }

// Has reports whether p contains all parameters of q.
func (p Params) Has(q Params) bool { return p&q == q }

// Names returns the names of the parameters in the OpenAPI description.
func (p Params) Names() []string { return p.of(names) }

// of returns the names of p's parameters from a list by bit position.
func (p Params) of(list [][]string) []string {
	var all []string
	for i, group := range list {
		if p.Has(1 << i) {
			all = append(all, group...)
		}
	}
	return all
}

// Body is the JSON content of a response: a schema's name and its Go type.
type Body struct {
	Schema string
	Type   reflect.Type
}

func body[T any](schema string) Body { return Body{schema, reflect.TypeFor[T]()} }

// Item identifies the object of a request for a single object.
type Item struct {
	Lang picks.Lang
	// Ticker is the ticker in the path. It is empty if the path has none.
	Ticker string
}

// Endpoint is a data endpoint, GET /api/v1 plus its path. It requires a key.
type Endpoint struct {
	// Endpoint is the path, a pattern of net/http below /api/v1, with the price and the plans that can read it.
	accounts.Endpoint
	// ID, Summary, Description and Result (of the response) are texts of the OpenAPI description.
	ID, Summary, Description, Result string
	Params                           Params
	// Body is the response body. FreeBody is the body for the Free plan, if it differs.
	Body     Body
	FreeBody *Body
	// List returns a page of a list. The cursor of the next page is empty on the last page. One returns a single object, or nil if it does
	// not exist. Live is One for an object that is read for each request and never kept. An endpoint has exactly one of the three functions.
	List func(*view.PublicationsState, view.ListQuery) (doc *view.Document, cursor string, err error)
	One  func(*view.PublicationsState, Item) (*view.Document, error)
	Live func(context.Context, *view.PublicationsState, Item) (*view.Document, error)
	// Early marks an endpoint that shows what is not announced yet. It exists only where the operator says so (PICKS_EARLY).
	Early bool
	// File is the name of a list as a file, without its extension.
	File string
	// Absent says why the object does not exist. AbsentCode is the problem's code.
	Absent, AbsentCode string
	// Sold describes in a few words what is sold by request. Empty means that the endpoint is not sold by request.
	Sold string
}

// fault names the missing or surplus member of a declaration. It is empty for a good one.
func (e Endpoint) fault() string {
	isList := e.List != nil
	for _, text := range []struct {
		name string
		is   bool
	}{
		{"Path", e.Path != ""},
		{"ID", e.ID != ""},
		{"Summary", e.Summary != ""},
		{"Description", e.Description != ""},
		{"Result", e.Result != ""},
		{"Body", e.Body.Type != nil && e.Body.Schema != ""},
	} {
		if !text.is {
			return "lacks " + text.name
		}
	}
	if n := count(isList, e.One != nil, e.Live != nil); n != 1 {
		return fmt.Sprintf("has %d of List, One and Live, and needs one", n)
	}
	if e.Early && (e.Live == nil || e.OnFreePlan || e.Price <= accounts.Trial) {
		return "shows what is not announced: it must be Live, not on the Free plan, and cost more than the trial balance"
	}
	for _, part := range []struct {
		name       string
		is, needed bool
		why        string
	}{
		{"Paged or Whole in Params", e.Params&(Paged|Whole) != 0, isList, "a list has"},
		{"File", e.File != "", isList, "a list has"},
		{"Absent", e.Absent != "", !isList, "a single object has"},
		{"AbsentCode", e.AbsentCode != "", !isList, "a single object has"},
		{"Sold", e.Sold != "", e.Fixed, "an endpoint with a price of the interface has"},
	} {
		switch {
		case part.needed && !part.is:
			return fmt.Sprintf("lacks %s, which %s", part.name, part.why)
		case part.is && !part.needed:
			return fmt.Sprintf("has %s, which only %s", part.name, part.why)
		}
	}
	return ""
}

// count returns how many of some conditions hold.
func count(conditions ...bool) (n int) {
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// check validates a list of declarations.
func check(list []Endpoint) error {
	seen := map[string]bool{}
	for _, e := range list {
		if fault := e.fault(); fault != "" {
			return fmt.Errorf("the endpoint %s %s %s", e.ID, e.Path, fault)
		}
		for _, name := range []string{e.ID, e.Path, e.Body.Schema} {
			if seen[name] {
				return fmt.Errorf("two endpoints have %s", name)
			}
			seen[name] = true
		}
	}
	return nil
}

var all = func() []Endpoint {
	list := list()
	if err := check(list); err != nil {
		panic(err) // at program start, before anything is served
	}
	return list
}()

// All returns the data endpoints in the order of the interface's table.
func All() []Endpoint { return slices.Clone(all) }

// Of returns the endpoint with a path below /api/v1, and whether it exists. path is a pattern, as in the endpoint's declaration.
func Of(path string) (Endpoint, bool) {
	i := slices.IndexFunc(all, func(e Endpoint) bool { return e.Path == path })
	if i < 0 {
		return Endpoint{}, false
	}
	return all[i], true
}

// NewTariff returns the tariff of a billing model for the data endpoints of an installation that shows nothing early. prices are the
// operator's prices, in the form of accounts.NewTariff.
func NewTariff(m accounts.Model, prices string) (accounts.Tariff, error) {
	return newTariff(m, prices, false)
}

// NewEarlyTariff is NewTariff for an installation that shows sealed picks early to readers who pay.
func NewEarlyTariff(m accounts.Model, prices string) (accounts.Tariff, error) {
	return newTariff(m, prices, true)
}

func newTariff(m accounts.Model, prices string, early bool) (accounts.Tariff, error) {
	var priced []accounts.Endpoint
	for _, e := range all {
		if early || !e.Early {
			priced = append(priced, e.Endpoint)
		}
	}
	return accounts.NewTariff(m, priced, prices)
}
