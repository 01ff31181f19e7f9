// Package companies decides which companies are followed, which of them a run asks about, and what is stored of a publisher's response about
// a share. Everything is pure: the caller reads what is known, asks, and writes. Start at ToAsk for companies, at Filed for filings, and at
// Pricing for prices.
package companies

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

const (
	// history is how far back a company is asked about when it is new.
	history = 3 * 366 * 24 * time.Hour
	// A company that had no reason to be asked about for so long is asked all the same: the newest filings may have been missed.
	staleSubmissions = 30 * 24 * time.Hour
)

// Known are the companies that are followed.
type Known = map[equity.CIK]equity.Company

// Merged puts the answers of the list of all companies together: the first one's companies in its order, with the exchanges that any of
// them states.
func Merged(answers []ingest.Fetched) []equity.Company {
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

// WholeList refuses a list that lacks more of the companies that have a ticker than ever lose theirs at once.
func WholeList(list []equity.Company, known Known) error {
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
		return fmt.Errorf("the list lacks %d of the %d companies that we follow, expected all but a few", missing, have)
	}
	return nil
}

// NotListed is the finding that a list lacks companies that the universe names; none if it has all.
func NotListed(names []string) []series.Finding {
	if len(names) == 0 {
		return nil
	}
	return []series.Finding{{
		Check: "universe", Severity: series.SeverityWarn,
		Observed: fmt.Sprintf("no company of %d in the list, such as %q", len(names), names[:min(len(names), 10)]),
		Expected: "tickers and CIKs of UNIVERSE that the SEC lists",
	}}
}

// ToAsk lists the companies to ask about: new companies, companies whose tickers in the list differ from ours, and some of the companies
// that were last asked long ago. The result unlisted has the companies without a ticker in the list. The parameter asked has the time of
// the last request about each.
func ToAsk(list []equity.Company, known Known, asked map[equity.CIK]time.Time, now time.Time) (ask, unlisted []equity.CIK) {
	tickers := map[equity.CIK][]string{}
	for _, c := range list {
		tickers[c.CIK] = tickersOf(c)
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if _, ok := asked[id]; !ok || !slices.Equal(tickers[id], tickersOf(known[id])) {
			ask = append(ask, id)
		}
		if tickers[id] == nil {
			unlisted = append(unlisted, id)
		}
	}
	return append(ask, stalest(asked, ask, now)...), unlisted
}

// stalest picks some of the companies that were not asked about for a long time, the longest-waiting first. All of them are asked about in
// time, and no day asks about all.
func stalest(asked map[equity.CIK]time.Time, but []equity.CIK, now time.Time) []equity.CIK {
	var stale []equity.CIK
	for id, at := range asked {
		if at.Before(now.Add(-staleSubmissions)) && !slices.Contains(but, id) {
			stale = append(stale, id)
		}
	}
	slices.SortFunc(stale, func(a, b equity.CIK) int { return cmp.Or(asked[a].Compare(asked[b]), cmp.Compare(a, b)) })
	return stale[:min(len(stale), max(1, len(asked)/20))]
}

// NeverPriced reports whether a company has a ticker, and its prices were never asked for.
func NeverPriced(known Known, asked map[equity.CIK]time.Time) bool {
	for id, c := range known {
		if _, ok := asked[id]; !ok && len(tickersOf(c)) > 0 {
			return true
		}
	}
	return false
}

// From splits companies into old ones, which were asked about before, and fresh ones. It returns the first day of the filings to request
// for each group.
func From(ids []equity.CIK, asked map[equity.CIK]time.Time, now time.Time) (old, fresh []equity.CIK, oldFrom, freshFrom time.Time) {
	for _, id := range ids {
		if _, ok := asked[id]; ok {
			old = append(old, id)
		} else {
			fresh = append(fresh, id)
		}
	}
	// The first of the month before: the same address for weeks, so that an answer that did not change is confirmed and not sent.
	now = now.UTC()
	return old, fresh, time.Date(now.Year(), now.Month()-1, 1, 0, 0, 0, 0, time.UTC), now.Add(-history)
}

// WithoutTicker lists the companies of a response that have no ticker, and that the list of all companies has none for either: their listings
// have ended.
func WithoutTicker(a ingest.Fetched, unlisted []equity.CIK) []equity.CIK {
	var ended []equity.CIK
	for _, c := range a.Batch.Companies {
		if len(c.Listings) == 0 && slices.Contains(unlisted, c.CIK) {
			ended = append(ended, c.CIK)
		}
	}
	return ended
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

// followedForms are prefixes of the names of the forms that are kept. They bring news about a company, its figures, the end of its listing, or a
// sign that it was bought. Insiders' trades, prospectuses and similar forms are most of the filings and are left out.
var followedForms = []string{
	"8-K", "10-K", "10-Q", "20-F", "40-F", "6-K", "NT 10-", "25", "15-", "15F", "SC 13E3", "SC 14D9", "SC14D9F",
}

// FollowedForm reports whether the filings of a form are kept.
func FollowedForm(form string) bool {
	return slices.ContainsFunc(followedForms, func(f string) bool { return strings.HasPrefix(form, f) })
}
