package view

import (
	"slices"
	"strings"
	"sync"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// PublicationsState is the published data around the picks at one moment. It is immutable, except for its cache of responses.
type PublicationsState struct {
	o           PublicationsOptions
	environment string
	disclaimer  string

	published
	// priced are the picks with their results, newest first.
	priced []pricedPick
	// bySeq and byTicker find the newest pick and the newest card of a company, by any ticker in its picks and cards.
	bySeq    map[int64]*pricedPick
	byCIK    map[equity.CIK]*pricedPick
	byTicker map[string]equity.CIK
	cards    map[equity.CIK]*postgres.Research
	// pricedAt is when the newest price of any pick was made. portfolioAt is the close of the portfolio's last session.
	pricedAt, portfolioAt time.Time

	answers answers
	// evaluated is computed for the first response that shows it.
	evaluated func() evaluated
}

// pricedPick is a pick with its result. Percentages are rounded for display, nil if unknown.
type pricedPick struct {
	postgres.Pick

	day                          time.Time
	lastPrice                    string
	lastAt                       time.Time
	returnPct, benchmark, excess *float64
	// bought is the bar of the first close after the announcement, and entry its date. They are empty before that close.
	bought equity.Bar
	entry  *string
	// fromEntry, benchmarkFromEntry and excessFromEntry are the results since that close.
	fromEntry, benchmarkFromEntry, excessFromEntry *float64
	// assumed is the return that is assumed after the last close of shares that stopped trading without a known worth, zero for none.
	assumed float64
	// closed is when the portfolio sold the pick. It is nil while the portfolio holds it or has not bought it yet.
	closed   *time.Time
	attested string
}

func newPublicationsState(o PublicationsOptions, d published) *PublicationsState {
	world := Options{World: o.World}
	st := &PublicationsState{
		o: o, environment: world.environment(), disclaimer: world.disclaimer(o.World == WorldSandbox), published: d,
		bySeq: map[int64]*pricedPick{}, byCIK: map[equity.CIK]*pricedPick{}, byTicker: map[string]equity.CIK{}, cards: map[equity.CIK]*postgres.Research{},
	}
	if d.portfolio != nil {
		st.portfolioAt, _ = calendar.Close(d.portfolio.Date)
	}
	exits, assumed := map[int64]time.Time{}, map[int64]float64{}
	if d.portfolio != nil {
		for _, p := range d.portfolio.Positions {
			if p.ExitDate != nil {
				exits[int64(p.Seq)], assumed[int64(p.Seq)] = closeOf(*p.ExitDate), p.AssumedPct
			}
		}
	}
	for _, p := range slices.Backward(d.picks) {
		one := st.price(p, assumed[p.Seq])
		one.attested = postgres.AttestationPending
		if a, covered := postgres.Covering(d.attested, p.Seq); covered {
			one.attested = a.Status()
		}
		if at, sold := exits[p.Seq]; sold {
			one.closed = &at
		}
		if one.lastAt.After(st.pricedAt) {
			st.pricedAt = one.lastAt
		}
		st.priced = append(st.priced, one)
	}
	for i := range st.priced {
		p := &st.priced[i]
		st.bySeq[p.Seq] = p
		if st.byCIK[p.CIK] == nil {
			st.byCIK[p.CIK] = p
		}
		if _, taken := st.byTicker[p.Ticker]; !taken {
			st.byTicker[p.Ticker] = p.CIK
		}
	}
	// The keys of a list ascend by bytes, but the database sorts letters in its own order.
	slices.SortFunc(d.stocks, func(a, b postgres.Stock) int { return strings.Compare(stockKey(a), stockKey(b)) })
	for i := range d.research { // a card's ticker is newer than the ticker of an old pick
		c := &d.research[i]
		st.cards[c.CIK] = c
		st.byTicker[c.Ticker] = c.CIK
	}
	st.evaluated = sync.OnceValue(st.evaluate)
	return st
}

// closeOf returns the close, in UTC, of the session with a date YYYY-MM-DD.
func closeOf(date string) time.Time {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil { // the database contains only valid dates
		return time.Time{}
	}
	if at, trading := calendar.Close(day); trading {
		return at.UTC()
	}
	return day
}

// price computes the results of a pick up to the newest known close, including splits and dividends. One result starts at the close of its
// day, a price that no reader could pay. The other starts at the first close after its announcement. The benchmark's returns are between
// the same closes. assumedPct is the return that the portfolio assumes after the last close of shares that stopped trading, zero for none.
func (st *PublicationsState) price(p postgres.Pick, assumedPct float64) pricedPick {
	out := pricedPick{Pick: p, assumed: assumedPct / 100}
	day, err := time.Parse(time.DateOnly, p.Date)
	price, perr := equity.ParsePrice(p.Price)
	if err != nil || perr != nil { // the database contains no such price
		return out
	}
	out.day = day
	r := st.returnSince(out, price, day)
	out.lastPrice, out.lastAt = string(r.LastPrice), closeOf(r.LastDate.Format(time.DateOnly))
	out.returnPct = shown(&r.Pct)
	out.benchmark, out.excess = st.against(&r, day)
	if last := calendar.LastClosed(*p.AnnouncedAt); last.After(day) {
		day = last // announced late
	}
	if bar, ok := st.prices.Entry(p.CIK, day, picks.DefaultPortfolioRules()); ok {
		out.bought, out.entry = bar, new(bar.Date.Format(time.DateOnly))
		r := st.returnSince(out, bar.Close, bar.Date)
		out.fromEntry = shown(&r.Pct)
		out.benchmarkFromEntry, out.excessFromEntry = st.against(&r, bar.Date)
	}
	return out
}

// returnSince returns the return of a pick's shares up to their newest close. If they stopped trading, it includes the loss that is assumed
// after that close.
func (st *PublicationsState) returnSince(p pricedPick, price equity.Price, day time.Time) picks.Return {
	r := st.prices.ReturnSince(p.CIK, price, day, farFuture)
	r.Pct = 100 * ((1+r.Pct/100)*(1+p.assumed) - 1)
	return r
}

// against returns the benchmark's return from the close of a day to the end of a return, and how far the return is above it. Both are nil if
// the benchmark has no close of one of the days.
func (st *PublicationsState) against(r *picks.Return, day time.Time) (benchmark, excess *float64) {
	bench, ok := st.prices[equity.Benchmark].BarOn(day)
	if !ok {
		return nil, nil
	}
	b := st.prices.ReturnSince(equity.Benchmark, bench.Close, day, r.LastDate)
	if !b.LastDate.Equal(r.LastDate) {
		return nil, nil
	}
	return shown(&b.Pct), shownDifference(&r.Pct, &b.Pct)
}

// farFuture is later than every price.
var farFuture = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// shown returns a percentage rounded for display, or nil if it is unknown.
func shown(pct *float64) *float64 {
	if pct == nil || *pct != *pct {
		return nil
	}
	rounded := picks.Round2(*pct)
	return &rounded
}

// shownDifference returns the percentage points by which one percentage exceeds another, nil if one is unknown. It is the difference of the
// numbers as they are shown, so that readers who subtract find the same.
func shownDifference(a, b *float64) *float64 {
	more, less := shown(a), shown(b)
	if more == nil || less == nil {
		return nil
	}
	difference := *more - *less
	return shown(&difference)
}

// meta returns the metadata of a response. known are the instants at which its data became known, and the newest of them counts.
func (st *PublicationsState) meta(known ...time.Time) (PublicationMeta, time.Time) {
	newest := slices.MaxFunc(append(known, time.Time{}), time.Time.Compare)
	m := PublicationMeta{Environment: st.environment, Disclaimer: st.disclaimer}
	if !newest.IsZero() {
		at := newest.UTC()
		m.AsOf = &at
	}
	return m, newest
}

// Company returns the company with a ticker: the company of the newest card with it, or else of the newest pick.
func (st *PublicationsState) Company(ticker string) (equity.CIK, bool) {
	cik, ok := st.byTicker[strings.ToUpper(ticker)]
	return cik, ok
}

// answers caches finished responses of a state. It is safe for concurrent use.
type answers struct {
	mu   sync.Mutex
	list map[string]answered
}

type answered struct {
	doc  *Document
	next string
}

// maxAnswers bounds the cached responses of a state. Beyond that, responses are built for each request.
const maxAnswers = 512

// getOrBuild returns the cached response with a name, or builds it.
func (a *answers) getOrBuild(name string, build func() (*Document, string, error)) (*Document, string, error) {
	a.mu.Lock()
	kept, ok := a.list[name]
	a.mu.Unlock()
	if ok {
		return kept.doc, kept.next, nil
	}
	doc, next, err := build()
	if err != nil {
		return nil, "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		a.list = map[string]answered{}
	}
	if len(a.list) < maxAnswers {
		a.list[name] = answered{doc, next}
	}
	return doc, next, nil
}
