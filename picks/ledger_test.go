package picks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// stormyMarket draws two years of raw prices of n companies with all possible events: splits, dividends, halts and a change of ticker; a
// delisting at a known and one at an unknown value; mergers for cash, for shares and for both; and a company that silently stops trading. A
// pick is announced in almost every session.
func stormyMarket(seed uint64, n int) PortfolioInput {
	rng := rand.New(rand.NewPCG(seed, 3))
	from, to := day("2024-01-02"), day("2025-12-31")
	in := PortfolioInput{Companies: map[equity.CIK]equity.Company{}, Prices: Prices{}, To: to}
	in.Benchmark = History{Bars: walkBars(rng, 0, from, to, 400, 0.0003, 0.01)}
	in.Benchmark.Actions = []equity.Action{dividend("2024-06-21", "1.75"), dividend("2024-12-20", "1.97"), dividend("2025-06-20", "1.76")}
	sessions := calendar.Between(from, to)
	for i := range n {
		cik := equity.CIK(i + 1)
		in.Companies[cik] = equity.Company{
			CIK: cik, Name: fmt.Sprintf("Company %c", 'A'+rune(i%26)), SIC: synthSICs[i%len(synthSICs)], Location: []string{"CA", "NY", "L2", "M0", "A6"}[i%5],
			Listings: []equity.Listing{{Ticker: fmt.Sprintf("T%02d", i), Exchange: []string{"XNYS", "XNAS"}[i/2%2]}},
		}
		h := History{Bars: walkBars(rng, cik, from, to, 20+100*rng.Float64(), 0.0008*rng.NormFloat64(), 0.01+0.02*rng.Float64())}
		ratio := 1.0
		for j, s := range sessions {
			switch {
			case rng.IntN(250) == 0:
				k := []float64{2, 3, 0.25, 1.5}[rng.IntN(4)]
				h.Actions = append(h.Actions, equity.Action{Kind: equity.Split, Date: s, New: k, Old: 1})
				ratio *= k
				fallthrough // with a dividend of the same date
			case j%63 == i%63:
				h.Actions = append(h.Actions, equity.Action{Kind: equity.Dividend, Date: s, Cash: "0.31"})
			}
			price, err := equity.PriceOf(max(h.Bars[j].Close.Float()/ratio, 1), 2)
			if err != nil {
				panic(err)
			}
			h.Bars[j].Close = price
		}
		h.Bars = slices.DeleteFunc(h.Bars, func(equity.Bar) bool { return rng.IntN(60) == 0 })
		in.Prices[cik] = h
	}
	ended := func(cik equity.CIK, a equity.Action) {
		h := in.Prices[cik]
		h.Actions = append(slices.DeleteFunc(h.Actions, func(b equity.Action) bool { return !b.Date.Before(a.Date) }), a)
		h.Bars = h.Bars[:h.upTo(a.Date.AddDate(0, 0, -1))]
		in.Prices[cik] = h
	}
	ended(1, equity.Action{Kind: equity.Delisting, Date: day("2024-05-14"), Cash: "0.50"})
	ended(2, equity.Action{Kind: equity.Delisting, Date: day("2024-07-09")})
	ended(3, equity.Action{Kind: equity.Merger, Date: day("2024-09-10"), Cash: "55.00"})
	ended(4, equity.Action{Kind: equity.Merger, Date: day("2024-10-01"), Successor: 10, New: 1, Old: 2})
	ended(5, equity.Action{Kind: equity.Merger, Date: day("2024-11-06"), Cash: "12.00", Successor: 11, New: 3, Old: 4})
	silent := in.Prices[6]
	silent.Bars = silent.Bars[:silent.upTo(day("2025-02-04"))]
	in.Prices[6] = silent
	// So does this one, which said so: its shares were taken off the exchange.
	gone := in.Prices[8]
	gone.Bars = gone.Bars[:gone.upTo(day("2025-03-20"))]
	in.Prices[8] = gone
	in.Departures = map[equity.CIK][]equity.Filing{8: {{CIK: 8, Form: "25-NSE", Filed: day("2025-03-21")}}}
	c := in.Companies[7]
	c.Listings = []equity.Listing{{Ticker: "NEW", Exchange: "XNYS", From: day("2025-03-03")}, {Ticker: "OLD", Exchange: "XNYS", To: day("2025-03-02")}}
	in.Companies[7] = c

	// Each of those is picked a few sessions before its end.
	sure := map[time.Time]equity.CIK{}
	for i, end := range []string{"2024-05-14", "2024-07-09", "2024-09-10", "2024-10-01", "2024-11-06", "2025-02-04", "2025-02-20", "2025-03-20"} {
		sure[calendar.Add(day(end), -7-i)] = equity.CIK(i + 1)
	}
	last := map[equity.CIK]int{}
	for j, s := range sessions[20:] {
		if rng.IntN(25) == 0 {
			continue // a missed day
		}
		cik := equity.CIK(1 + rng.IntN(n))
		for range 200 {
			_, gone := in.Prices[cik].end(time.Time{}, s)
			if at, seen := last[cik]; !gone && (!seen || j-at > 60) {
				break
			}
			cik = equity.CIK(1 + rng.IntN(n))
		}
		if c, ok := sure[s]; ok {
			cik = c
		}
		last[cik] = j
		in.Picks = append(in.Picks, AnnouncedPick{Seq: len(in.Picks) + 1, Date: s, CIK: cik})
	}
	return in
}

// ledger is the portfolio kept as a broker keeps one: numbers of shares and an account of cash, dividends bought into, every order
// written down. It shares nothing with the code but the rules.
type ledger struct {
	cash   float64
	lots   []*priceFixture
	values []float64
	traded []float64 // on each day, as a part of the value
}

type priceFixture struct {
	seq           int
	cik           equity.CIK
	shares, price float64
	date          time.Time // of price
	flow          float64   // received minus paid
	age, silent   int
	open, trades  bool
}

// kept is what is left of a share that stopped trading without a known worth: 70 cents of the dollar from the NYSE, 45 from Nasdaq.
func (*ledger) kept(in PortfolioInput, cik equity.CIK) float64 {
	return map[string]float64{"XNYS": 0.70, "XNAS": 0.45}[in.Companies[cik].Listings[0].Exchange]
}

func keepLedger(in PortfolioInput, rules PortfolioRules) *ledger {
	l := &ledger{cash: 1}
	queue := slices.Clone(in.Picks)
	month := time.Month(0)
	for _, d := range calendar.Between(calendar.Next(in.Picks[0].Date), in.To) {
		closing := func(cik equity.CIK) (float64, bool) {
			for _, b := range in.Prices[cik].Bars {
				if b.Date.Equal(d) {
					return b.Close.Float(), true
				}
			}
			return 0, false
		}
		worth := func() float64 {
			v := l.cash
			for _, x := range l.lots {
				if x.open {
					v += x.shares * x.price
				}
			}
			return v
		}
		traded := 0.0
		order := func(amount float64) { traded += math.Abs(amount) }
		sell := func(x *priceFixture, shares float64) {
			l.cash += shares * x.price
			x.flow += shares * x.price
			x.shares -= shares
		}
		for _, x := range l.lots {
			if !x.open {
				continue
			}
			x.age++
			x.trades = false
			price, traded := closing(x.cik)
			var end *equity.Action
			paid := 0.0
			for _, a := range in.Prices[x.cik].Actions {
				if !a.Date.After(x.date) || a.Date.After(d) {
					continue
				}
				if a.Kind == equity.Merger || a.Kind == equity.Delisting {
					end = &a
				}
			}
			switch {
			case end != nil && end.Successor != 0:
				fresh, ok := closing(end.Successor)
				if !ok {
					x.silent++
					continue
				}
				l.cash += x.shares * end.Cash.Float()
				x.flow += x.shares * end.Cash.Float()
				x.shares *= end.New / end.Old
				x.cik, x.price, x.date, x.silent, x.trades = end.Successor, fresh, d, 0, true
				continue
			case end != nil:
				if end.Cash != "" {
					x.price = end.Cash.Float()
				} else if end.Kind == equity.Delisting {
					x.price *= l.kept(in, x.cik)
				}
				sell(x, x.shares)
				x.open = false
				continue
			case !traded:
				x.silent++
				continue
			}
			// Splits of a date come before its dividends, in any order of the records.
			for _, s := range calendar.Between(x.date.AddDate(0, 0, 1), d) {
				for _, kind := range []equity.ActionKind{equity.Split, equity.Dividend} {
					for _, a := range in.Prices[x.cik].Actions {
						if !a.Date.Equal(s) || a.Kind != kind {
							continue
						}
						if kind == equity.Split {
							x.shares *= a.New / a.Old
						} else {
							paid += x.shares * a.Cash.Float()
						}
					}
				}
			}
			x.shares += paid / price
			x.price, x.date, x.silent, x.trades = price, d, 0, true
		}
		for _, x := range l.lots {
			said := len(in.Departures[x.cik]) > 0 && x.silent >= 3 && x.date.Equal(day("2025-03-20"))
			if x.open && (said || x.silent >= rules.SilentDays || x.trades && x.age >= rules.HoldingDays) {
				if !said && x.silent < rules.SilentDays {
					order(x.shares * x.price)
				} else {
					x.price *= l.kept(in, x.cik)
				}
				sell(x, x.shares)
				x.open, x.trades = false, false
			}
		}
		var later []AnnouncedPick
	orders:
		for _, p := range queue {
			if !p.Date.Before(d) {
				later = append(later, p)
				continue
			}
			n := 0
			for _, x := range l.lots {
				if x.open && x.cik == p.CIK {
					x.age = 0
					continue orders
				}
				if x.open {
					n++
				}
			}
			price, ok := closing(p.CIK)
			if !ok {
				if calendar.Add(p.Date, 1+rules.SilentDays).After(d) {
					later = append(later, p)
				}
				continue
			}
			if n == rules.MaxPositions {
				i := slices.IndexFunc(l.lots, func(x *priceFixture) bool { return x.open && x.trades })
				order(l.lots[i].shares * l.lots[i].price)
				sell(l.lots[i], l.lots[i].shares)
				l.lots[i].open = false
				n--
			}
			amount := worth() * math.Min(1/float64(n+1), rules.MaxWeight)
			if amount > l.cash {
				liquid := 0.0
				for _, x := range l.lots {
					if x.open && x.trades {
						liquid += x.shares * x.price
					}
				}
				part := math.Min(1, (amount-l.cash)/liquid)
				for _, x := range l.lots {
					if x.open && x.trades {
						order(x.shares * part * x.price)
						sell(x, x.shares*part)
					}
				}
				amount = math.Min(amount, l.cash)
			}
			order(amount)
			l.cash -= amount
			l.lots = append(l.lots, &priceFixture{seq: p.Seq, cik: p.CIK, shares: amount / price, price: price, date: d, flow: -amount, open: true, trades: true})
		}
		queue = later
		if len(l.lots) == 0 {
			continue
		}
		if month != 0 && month != d.Month() {
			open, fixed, free := 0, 0.0, 0
			for _, x := range l.lots {
				if !x.open {
					continue
				}
				open++
				if x.trades {
					free++
				} else {
					fixed += x.shares * x.price
				}
			}
			v := worth()
			each := math.Min(v*math.Min(1/float64(open), rules.MaxWeight), (v-fixed)/float64(free))
			for _, x := range l.lots {
				if x.open && x.trades {
					order(x.shares*x.price - each)
					sell(x, x.shares-each/x.price)
				}
			}
		}
		month = d.Month()
		l.values = append(l.values, worth())
		l.traded = append(l.traded, traded/worth())
	}
	return l
}
