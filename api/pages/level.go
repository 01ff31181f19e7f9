package pages

import (
	"fmt"
	"slices"

	"tidemark/accounts"
	"tidemark/api/view"
)

// note says at the top of a page which part is shown, the price of the rest, and how to get it.
type note struct {
	Texts []string
	Links []navigation
}

// The endpoints whose data the pages show, by their paths below /api/v1.
const (
	pricedPicks     = "/picks"
	pricedResearch  = "/research/{ticker}"
	pricedPositions = "/portfolio/positions"
	pricedHistory   = "/portfolio/history"
	pricedSectors   = "/sectors"
	pricedRegions   = "/regions"
	pricedEvents    = "/events"
	pricedDigest    = "/digest/latest"
)

// annotate says which part of a page about endpoints a visitor sees. limits is the id of the text that describes the public part.
func (p *Pages) annotate(l *layout, r request, limits string, endpoints ...string) error {
	switch {
	case r.all && p.o.World == view.WorldSandbox:
		l.Note = &note{Texts: []string{l.T("note.sandbox")}}
		return nil
	case r.all || !r.seen.differs:
		return nil
	}
	info, _, err := data[view.Info](r.published.Info(nil))
	if err != nil {
		return err
	}
	missing := slices.ContainsFunc(endpoints, func(e string) bool { return !slices.Contains(r.seen.paid, e) })
	n := &note{}
	if missing {
		n.Texts = append(n.Texts, l.T(limits))
	}
	cost, err := costOf(info, endpoints)
	switch {
	case err != nil:
		return err
	case info.Billing.Model == accounts.ModelPlan && missing:
		n.Texts = append(n.Texts, l.T("note.plan"))
	case info.Billing.Model == accounts.ModelPlan, cost == 0 && !missing:
		n.Texts = append(n.Texts, l.T("note.seen"))
	case !missing:
		n.Texts = append(n.Texts, fmt.Sprintf(l.T("note.paid"), l.Price(cost.Shortest())))
	case cost == 0:
		n.Texts = append(n.Texts, l.T("note.nothing"))
	default:
		n.Texts = append(n.Texts, fmt.Sprintf(l.T("note.cost"), l.Price(cost.Shortest())))
	}
	if missing {
		address := "/docs#keys"
		if p.o.Dashboard {
			address = "/dashboard"
		}
		n.Links = append(n.Links, navigation{Name: l.T("get key"), Address: address})
	}
	if p.o.Dashboard {
		word := "account"
		if missing {
			word = "sign in"
		}
		n.Links = append(n.Links, navigation{Name: l.T(word), Address: "/dashboard"})
	}
	l.Note = n
	return nil
}

// costOf returns the total price of the endpoints.
func costOf(info *view.Info, endpoints []string) (sum accounts.Micros, err error) {
	for _, e := range endpoints {
		price, err := accounts.ParseMicros(info.Prices[e])
		if err != nil {
			return 0, fmt.Errorf("the price of %s: %w", e, err)
		}
		sum += price
	}
	return sum, nil
}

// public returns the numbers of the picks whose results are public.
func (r request) public(l localizer) map[int64]bool {
	list := map[int64]bool{}
	for _, k := range r.published.LatestPicks(view.PublicPicks, l.Lang).Picks {
		list[k.Seq] = true
	}
	return list
}
