package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/quality"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Equities is the job that follows companies: their identities, their filings, and the prices of their shares. Its subjects are three
// sources.
//
// The list of all companies has the new members of the universe and changed tickers; the list of the newest filings shows which companies
// have filed. Only those companies are then requested singly: their submissions, and the figures of their reports. After the close, each
// share's missing bars are requested. So a day costs a few requests, and the next attempt repeats only the failed ones.
type Equities struct {
	DB     *postgres.DB
	Engine *ingest.Engine
	// Now is the world's clock.
	Now      func() time.Time
	Universe Universe
	// Companies and Current are the two sources that tell whom to ask about. Without an ID they are not run.
	Companies, Current ingest.Source
	// Submissions and Facts are asked about companies.
	Submissions, Facts func([]equity.CIK) ingest.Source
	Prices             Prices
	// Second is another publisher whose closes are compared with the first's; the zero value means none.
	Second Prices
}

const (
	// history is how far back a company is asked about when it is new.
	history = 3 * 366 * 24 * time.Hour
	// A company that had no reason to be asked about for so long is asked all the same: the newest filings may have been missed.
	staleSubmissions = 30 * 24 * time.Hour
	// longAbsence is since when the list of the newest filings no longer has all that was filed: it reaches back a business day.
	longAbsence = 4 * 24 * time.Hour
)

// Run brings one of the sources up to date.
func (e Equities) Run(ctx context.Context, t task.Task) error {
	switch t.Subject {
	case "":
	case e.Companies.ID:
		return e.companies(ctx, t)
	case e.Current.ID:
		return e.current(ctx, t)
	case e.Prices.ID:
		return e.prices(ctx, t)
	case e.Second.ID:
		return e.second(ctx, t)
	}
	return Permanent(fmt.Errorf("unknown source %q of companies", t.Subject))
}

// companies reads the list of all companies, adds new members of the universe, and requests each company whose tickers in the list differ
// from ours.
func (e Equities) companies(ctx context.Context, t task.Task) error {
	answers, trouble := e.Engine.Collect(ctx, e.Companies, series.Window{}, t.RunID)
	if len(answers) == 0 {
		return trouble
	}
	list := merged(answers)
	known, err := e.DB.Companies(ctx, e.Now())
	if err != nil {
		return err
	}
	if err := e.wholeList(list, known); err != nil {
		return errors.Join(trouble, err)
	}
	if err := e.admit(ctx, t, answers, list, known); err != nil {
		return errors.Join(trouble, err)
	}
	tickers := map[equity.CIK][]string{}
	for _, c := range list {
		tickers[c.CIK] = tickersOf(c)
	}
	asked, err := e.DB.AskedEquities(ctx, e.Submissions(nil).ID)
	if err != nil {
		return errors.Join(trouble, err)
	}
	var ask, unlisted []equity.CIK
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if _, ok := asked[id]; !ok || !slices.Equal(tickers[id], tickersOf(known[id])) {
			ask = append(ask, id)
		}
		if tickers[id] == nil {
			unlisted = append(unlisted, id)
		}
	}
	ask = append(ask, e.stalest(asked, ask)...)
	return errors.Join(trouble, e.makePricesDue(ctx, t, known), e.refresh(ctx, t, ask, unlisted))
}

// wholeList refuses a list that lacks more of the companies that have a ticker than ever lose theirs at once.
func (e Equities) wholeList(list []equity.Company, known map[equity.CIK]equity.Company) error {
	in := map[equity.CIK]bool{}
	for _, c := range list {
		in[c.CIK] = true
	}
	have, missing := 0, 0
	for id, c := range known {
		if len(tickersOf(c)) == 0 {
			continue
		}
		if have++; !in[id] {
			missing++
		}
	}
	if missing > max(5, have/20) {
		return &ingest.Error{Kind: ingest.Layout, Source: e.Companies.ID, Err: fmt.Errorf(
			"the list lacks %d of the %d companies that we follow, expected all but a few", missing, have)}
	}
	return nil
}

// admit stores the universe's companies that are not known yet, and adds them to known.
func (e Equities) admit(ctx context.Context, t task.Task, answers []ingest.Fetched, list []equity.Company, known map[equity.CIK]equity.Company) error {
	chosen, missing := e.Universe.Choose(list)
	newcomers := slices.DeleteFunc(chosen, func(c equity.Company) bool { _, old := known[c.CIK]; return old })
	if len(missing) > 0 {
		shown := missing[:min(len(missing), 10)]
		if err := e.DB.AddFindings(ctx, t.Fence, []postgres.Finding{{
			Check: "universe", Severity: string(quality.Warn), Observed: fmt.Sprintf("no company of %d in the list, such as %q", len(missing), shown),
			Expected: "tickers and CIKs of UNIVERSE that the SEC lists",
		}}); err != nil {
			return err
		}
	}
	if len(newcomers) == 0 {
		return nil
	}
	ids := make([]equity.CIK, len(newcomers))
	for i, c := range newcomers {
		ids[i] = c.CIK
	}
	if _, err := e.DB.StoreEquities(ctx, t.Fence, choose(answers, postgres.EquityChoice{Newcomers: ids})); err != nil {
		return err
	}
	for _, c := range newcomers {
		known[c.CIK] = c
	}
	return nil
}

// merged puts the list's answers together: the first one's companies in its order, with the exchanges that any of them states.
func merged(answers []ingest.Fetched) []equity.Company {
	type listing struct {
		cik    equity.CIK
		ticker string
	}
	exchanges := map[listing]string{}
	for _, a := range answers {
		for _, c := range a.Batch.Companies {
			for _, l := range c.Listings {
				k := listing{c.CIK, l.Ticker}
				exchanges[k] = cmp.Or(exchanges[k], l.Exchange)
			}
		}
	}
	list := slices.Clone(answers[0].Batch.Companies)
	for i, c := range list {
		list[i].Listings = slices.Clone(c.Listings)
		for n, l := range c.Listings {
			list[i].Listings[n].Exchange = exchanges[listing{c.CIK, l.Ticker}]
		}
	}
	return list
}

// tickersOf lists the tickers that a company has now, in the order of the alphabet.
func tickersOf(c equity.Company) []string {
	var list []string
	for _, l := range c.Listings {
		if l.To.IsZero() {
			list = append(list, l.Ticker)
		}
	}
	slices.Sort(list)
	return list
}

// stalest picks some of the companies that were not requested for a long time, the longest-waiting first. All of them are requested in
// time, and no day requests all.
func (e Equities) stalest(asked map[equity.CIK]time.Time, but []equity.CIK) []equity.CIK {
	var stale []equity.CIK
	for id, at := range asked {
		if at.Before(e.Now().Add(-staleSubmissions)) && !slices.Contains(but, id) {
			stale = append(stale, id)
		}
	}
	slices.SortFunc(stale, func(a, b equity.CIK) int { return cmp.Or(asked[a].Compare(asked[b]), cmp.Compare(a, b)) })
	return stale[:min(len(stale), max(1, len(asked)/20))]
}

// makePricesDue has the prices asked at once where a company has a ticker and never was asked for.
func (e Equities) makePricesDue(ctx context.Context, t task.Task, known map[equity.CIK]equity.Company) error {
	if e.Prices.ID == "" {
		return nil
	}
	asked, err := e.DB.AskedEquities(ctx, e.Prices.ID)
	if err != nil {
		return err
	}
	for id, c := range known {
		if _, ok := asked[id]; !ok && len(tickersOf(c)) > 0 {
			return e.DB.MakeDue(ctx, t.Fence, task.Equities, e.Prices.ID, e.Now().UTC().Truncate(time.Microsecond))
		}
	}
	return nil
}

// current reads the newest filings of all companies and requests our companies that have filed.
func (e Equities) current(ctx context.Context, t task.Task) error {
	known, err := e.DB.Companies(ctx, e.Now())
	if err != nil || len(known) == 0 {
		return err
	}
	last, ok, err := e.DB.LastSucceeded(ctx, t.Job, t.Subject, t.Slot)
	if err != nil {
		return err
	}
	if ok && t.Slot.Sub(last) > longAbsence {
		return e.refresh(ctx, t, slices.Sorted(maps.Keys(known)), nil)
	}
	if !ok {
		last = t.Slot
	}
	// A day more than needed: a company's own list may have been behind when it was asked.
	from := last.AddDate(0, 0, -1)
	answers, trouble := e.Engine.Collect(ctx, e.Current, series.Window{From: from}, t.RunID)
	filed, err := e.unknownFilings(ctx, answers, known)
	if err != nil {
		return errors.Join(trouble, err)
	}
	return errors.Join(trouble, e.refresh(ctx, t, filed, nil))
}

// unknownFilings lists the companies of ours that have a filing in the answers that is not known.
func (e Equities) unknownFilings(ctx context.Context, answers []ingest.Fetched, known map[equity.CIK]equity.Company) ([]equity.CIK, error) {
	type filing struct {
		cik       equity.CIK
		accession string
	}
	seen := map[filing]bool{}
	ids := map[equity.CIK]bool{}
	var first, last time.Time
	for _, a := range answers {
		for _, f := range a.Batch.Filings {
			if _, ours := known[f.CIK]; !ours || !followedForm(f.Form) {
				continue
			}
			seen[filing{f.CIK, f.Accession}], ids[f.CIK] = true, true
			if first.IsZero() || f.Filed.Before(first) {
				first = f.Filed
			}
			if f.Filed.After(last) {
				last = f.Filed
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := e.DB.FilingsOf(ctx, slices.Collect(maps.Keys(ids)), first, last, e.Now())
	if err != nil {
		return nil, err
	}
	for _, f := range stored {
		delete(seen, filing{f.CIK, f.Accession})
	}
	clear(ids)
	for f := range seen {
		ids[f.cik] = true
	}
	return slices.Sorted(maps.Keys(ids)), nil
}
