package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/api/view"
)

func tariff(t *testing.T, m accounts.Model) accounts.Tariff {
	t.Helper()
	out, err := NewEarlyTariff(m, "")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The prices and the Free plan's view match the interface's tables. They stand here again on purpose: other tests derive them from the
// declarations.
func TestEveryRowOfTheTables(t *testing.T) {
	t.Parallel()
	rows := []struct {
		path, price string
		free        bool
	}{
		{"/picks", "0.005", true},
		{"/picks/latest", "0.001", true},
		{"/picks/early", "0.25", false},
		{"/research/{ticker}", "0.01", false},
		{"/portfolio", "0.002", true},
		{"/portfolio/positions", "0.003", false},
		{"/portfolio/history", "0.005", false},
		{"/sectors", "0.001", false},
		{"/regions", "0.001", false},
		{"/stocks", "0.005", true},
		{"/events", "0", false},
		{"/economic-events", "0", false},
		{"/digest/latest", "0", false},
	}
	balance, plan := tariff(t, accounts.ModelBalance), tariff(t, accounts.ModelPlan)
	var paths, declared []string
	for _, row := range rows {
		paths = append(paths, row.path)
	}
	for _, e := range All() {
		declared = append(declared, e.Path)
	}
	if diff := cmp.Diff(paths, declared); diff != "" {
		t.Errorf("the rows here are not those of list.go (-rows +declared):\n%s", diff)
	}
	for _, row := range rows {
		e, ok := balance.Endpoint(row.path)
		if !ok {
			t.Errorf("%s has no price", row.path)
			continue
		}
		if got := balance.Cost(e, "GET", 200).Shortest(); got != row.price {
			t.Errorf("%s costs %s, want %s", row.path, got, row.price)
		}
		if got := plan.Cost(e, "GET", 200); got != 0 {
			t.Errorf("%s costs %s under plans", row.path, got)
		}
		for _, free := range []struct {
			method string
			status int
		}{{"HEAD", 200}, {"GET", 304}, {"GET", 400}, {"GET", 402}, {"GET", 404}, {"GET", 500}, {"GET", 503}, {"POST", 200}} {
			if got := balance.Cost(e, free.method, free.status); got != 0 {
				t.Errorf("%s %s answered %d costs %s", free.method, row.path, free.status, got)
			}
		}
		level, ok := accounts.PlanFree.LevelFor(e)
		if ok != row.free || ok && level != accounts.LevelFree {
			t.Errorf("the Free plan sees %s: %t at level %d, want %t", row.path, ok, level, row.free)
		}
		for _, p := range []accounts.Plan{accounts.PlanPro, accounts.PlanBalance} {
			if level, ok := p.LevelFor(e); !ok || level != accounts.LevelFull {
				t.Errorf("%s sees %s: %t at level %d", p, row.path, ok, level)
			}
		}
	}
	for p, want := range map[accounts.Plan]int{accounts.PlanFree: 10, accounts.PlanPro: 1000, accounts.PlanBalance: 0} {
		if got := p.Quota(); got != want {
			t.Errorf("%s: %d requests a day, want %d", p, got, want)
		}
	}
	for name, pair := range map[string][2]string{
		"trial": {accounts.Trial.String(), "0.20"}, "least top-up": {accounts.MinTopUp.String(), "5.00"}, "Pro": {accounts.ProPrice.Shortest(), "5"},
		"days of Pro": {fmt.Sprint(accounts.ProDays), "30"}, "picks of the Free plan": {fmt.Sprint(accounts.FreePicks), "3"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s, want %s", name, pair[0], pair[1])
		}
	}
}

func TestWhatADeclarationForgetsIsNamed(t *testing.T) {
	t.Parallel()
	whole := func() Endpoint {
		e, _ := Of("/picks/latest")
		return e
	}
	for want, change := range map[string]func(*Endpoint){
		" lacks Path":                        func(e *Endpoint) { e.Path = "" },
		" lacks ID":                          func(e *Endpoint) { e.ID = "" },
		" lacks Summary":                     func(e *Endpoint) { e.Summary = "" },
		" lacks Description":                 func(e *Endpoint) { e.Description = "" },
		" lacks Result":                      func(e *Endpoint) { e.Result = "" },
		" lacks Body":                        func(e *Endpoint) { e.Body = Body{} },
		"has 0 of List, One":                 func(e *Endpoint) { e.One = nil },
		"has 2 of List, One":                 func(e *Endpoint) { e.List = (*view.PublicationsState).Picks },
		"has Paged or Whole in Params":       func(e *Endpoint) { e.Params |= Paged },
		"has File, which only a list":        func(e *Endpoint) { e.File = "latest" },
		"lacks Paged or Whole in Params":     func(e *Endpoint) { e.One, e.List = nil, (*view.PublicationsState).Picks },
		"lacks File":                         func(e *Endpoint) { e.One, e.List, e.Params = nil, (*view.PublicationsState).Picks, Paged },
		"lacks Absent, which a single":       func(e *Endpoint) { e.Absent = "" },
		"lacks AbsentCode, which":            func(e *Endpoint) { e.AbsentCode = "" },
		"lacks Sold, which an endpoint with": func(e *Endpoint) { e.Sold = "" },
		"has Sold, which only an endpoint":   func(e *Endpoint) { e.Fixed = false },
		"two endpoints have":                 func(e *Endpoint) { e.Path = "/picks" },
		"have PortfolioSu":                   func(e *Endpoint) { e.Path, e.ID, e.Body.Schema = "/new", "getNew", "PortfolioSummary" },
	} {
		e := whole()
		change(&e)
		list := append(slices.DeleteFunc(All(), func(e Endpoint) bool { return e.Path == "/picks/latest" }), e)
		if err := check(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the fault is %v, want one with %q", err, want)
		}
	}
	if err := check(All()); err != nil {
		t.Error(err)
	}
}
