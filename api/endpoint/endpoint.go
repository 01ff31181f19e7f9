// Package endpoint declares the data endpoints: what each is called, what it costs, which parameters it reads, what it answers with.
// Routes, prices, payment by request, the OpenAPI description and llms.txt follow from it. Start at list.go: a new endpoint is one
// entry there, and its method in api/view.
package endpoint

import (
	"fmt"
	"reflect"
	"slices"

	"tidemark/accounts"
	"tidemark/api/view"
	"tidemark/picks"
)

// Params is a set of the parameters that an endpoint reads.
type Params uint

// The parameters, in the order in which the description lists them.
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
	Whole                       // the same, and all rows where no limit is given
)

// names are the parameters' names in the OpenAPI description, by the bit's place.
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

// Has tells whether all parameters of q are in p.
func (p Params) Has(q Params) bool { return p&q == q }

// Names lists the parameters by their names in the OpenAPI description.
func (p Params) Names() []string {
	var all []string
	for i, group := range names {
		if p.Has(1 << i) {
			all = append(all, group...)
		}
	}
	return all
}

// Body is what an answer holds as JSON: a schema's name and its Go type.
type Body struct {
	Schema string
	Type   reflect.Type
}

func body[T any](schema string) Body { return Body{schema, reflect.TypeFor[T]()} }

// Item is what a request for one thing names.
type Item struct {
	Lang picks.Lang
	// Ticker is the one in the path, empty where the path has none.
	Ticker string
}

// Endpoint is a data endpoint: GET /api/v1 and its path, for which a key is needed.
type Endpoint struct {
	// Endpoint is the path, a pattern of net/http below /api/v1, with what an answer costs and who may read it.
	accounts.Endpoint
	// ID, Summary, Description and Result (of the answer) are texts of the OpenAPI description.
	ID, Summary, Description, Result string
	Params                           Params
	// Body is the answer's. FreeBody is that of the Free plan where it differs.
	Body     Body
	FreeBody *Body
	// List makes a page of a list; the cursor of the next is empty on the last. One makes the one thing that there is, nil where there is
	// none. An endpoint has one of the two.
	List func(*view.PublicationsState, view.ListQuery) (doc *view.Document, cursor string, err error)
	One  func(*view.PublicationsState, Item) (*view.Document, error)
	// File is what a list is called as a file, without its extension.
	File string
	// Absent says why there is no such thing, and AbsentCode is the problem's code.
	Absent, AbsentCode string
	// Sold says in a few words what is sold where the answer is paid for by request. Empty: it is not sold so.
	Sold string
}

// fault says what is missing in the declaration of an endpoint, empty where nothing is.
func (e Endpoint) fault() string {
	isList := e.List != nil
	paged := e.Params&(Paged|Whole) != 0
	switch {
	case e.Path == "" || e.ID == "" || e.Summary == "" || e.Description == "" || e.Result == "":
		return "needs a path, an ID, a summary, a description and a result"
	case e.Body.Type == nil || e.Body.Schema == "":
		return "needs a body with the name of a schema"
	case isList == (e.One != nil):
		return "needs List or One, and not both"
	case isList != paged || isList != (e.File != ""):
		return "is a list exactly where it has pages and a file's name"
	case isList == (e.Absent != "") || isList == (e.AbsentCode != ""):
		return "needs a text and a code for what is absent exactly where it is no list"
	case e.Fixed != (e.Sold != ""):
		return "is sold by request exactly where the interface fixes its price"
	}
	return ""
}

// check finds what is wrong with a list of declarations.
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
		panic(err) // before anything is served
	}
	return list
}()

// All lists the data endpoints in the order of the interface's table.
func All() []Endpoint { return slices.Clone(all) }

// Of returns the endpoint at a path below /api/v1, a pattern as in its declaration, and whether there is one.
func Of(path string) (Endpoint, bool) {
	i := slices.IndexFunc(all, func(e Endpoint) bool { return e.Path == path })
	if i < 0 {
		return Endpoint{}, false
	}
	return all[i], true
}

// NewTariff returns the tariff of a billing model over all data endpoints. prices are the operator's, as accounts.NewTariff reads them.
func NewTariff(m accounts.Model, prices string) (accounts.Tariff, error) {
	var priced []accounts.Endpoint
	for _, e := range all {
		priced = append(priced, e.Endpoint)
	}
	return accounts.NewTariff(m, priced, prices)
}
