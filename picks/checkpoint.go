package picks

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// checkpointVersion counts how often the reckoning has changed. A checkpoint of another version is not gone on from.
const checkpointVersion = 3

// NewestCheckpoints is the number of checkpoints of the newest sessions that Simulate and Resume return. For earlier months they return
// only the checkpoint of the last session.
const NewestCheckpoints = 10

// Checkpoint is the portfolio after the close of a session, with all earlier state that later sessions need. Resume continues from it.
// Its JSON form keeps every bit.
type Checkpoint struct {
	// Version and Rules are the computation's.
	Version int
	Rules   PortfolioRules
	// Date is the session's, Inception the portfolio's.
	Date, Inception time.Time
	// Pending are picks of sessions before that wait for a price.
	Pending []AnnouncedPick
	// Held are the open positions in the order in which they were bought, Bought how many were ever bought.
	Held   []Held
	Bought int

	Cash, Peak, Bench float64
	// NoBenchmark reports whether the benchmark had no price on the inception day. Bench and the benchmark fields of Last are then zero.
	NoBenchmark bool
	// Marked is the benchmark's last close, of MarkedOn.
	Marked   equity.Price
	MarkedOn time.Time

	Last  Snapshot
	Tally Tally
}

// Held is an open position at a checkpoint. Its fields are the fields of holding; Place is the number of positions bought before it.
type Held struct {
	Position              Position
	Place                 int
	Value, Growth, Gained float64
	Price                 float64
	Priced                time.Time
	Sessions, Silent      int
}

// Usable reports whether Resume can continue from the checkpoint under the rules.
func (c Checkpoint) Usable(rules PortfolioRules) bool {
	return c.Version == checkpointVersion && c.Rules == rules
}

// Since returns the first day of the prices, actions and filings that Resume reads.
func (c Checkpoint) Since() time.Time {
	since := c.Date
	if !c.MarkedOn.IsZero() && c.MarkedOn.Before(since) {
		since = c.MarkedOn
	}
	for _, h := range c.Held {
		if h.Priced.Before(since) {
			since = h.Priced
		}
	}
	for _, p := range c.Pending {
		if p.Date.Before(since) {
			since = p.Date
		}
	}
	return since.AddDate(0, 0, -departureDays)
}

// Companies returns companies whose prices Resume reads, in no order and possibly more than once. Resume also reads prices for the given
// picks and for the companies that bought their companies.
func (c Checkpoint) Companies() (ciks []equity.CIK) {
	for _, h := range c.Held {
		ciks = append(ciks, h.Position.Holding)
	}
	for _, p := range c.Pending {
		ciks = append(ciks, p.CIK)
	}
	return ciks
}

// checkpoint is the state after the session of a day.
func (s *simulation) checkpoint(day time.Time) Checkpoint {
	c := Checkpoint{
		Version: checkpointVersion, Rules: s.rules, Date: day, Inception: s.inception, Bought: s.bought,
		Cash: s.cash, Peak: s.peak, Bench: s.bench, Marked: s.marked.Close, MarkedOn: s.marked.Date, Last: s.out[len(s.out)-1], Tally: s.tally.clone(),
	}
	for _, p := range s.pending {
		if p.Date.Before(day) {
			c.Pending = append(c.Pending, p)
		}
	}
	for _, h := range s.held {
		if h.Open() {
			c.Held = append(c.Held, Held{
				Position: h.Position, Place: h.place, Value: h.value, Growth: h.growth, Gained: h.gained, Price: h.price, Priced: h.priced,
				Sessions: h.sessions, Silent: h.silent,
			})
		}
	}
	if math.IsNaN(c.Bench) {
		c.NoBenchmark, c.Bench, c.Last.BenchmarkReturnPct, c.Last.BenchmarkDailyReturnPct = true, 0, 0, 0
	}
	return c
}

// keep records the checkpoint of a day if it is one of those to return.
func (s *simulation) keep(day time.Time) {
	if s.recent.IsZero() {
		s.recent = calendar.Add(s.in.To, 1-NewestCheckpoints)
	}
	if len(s.out) > 0 && (!day.Before(s.recent) || calendar.Next(day).Month() != day.Month()) {
		s.checkpoints = append(s.checkpoints, s.checkpoint(day))
	}
}

// Resume is Simulate from a checkpoint on. The result has the same bits as Simulate's, provided that the inputs up to the checkpoint have
// not changed. It reads the picks of the checkpoint's session and later, and the prices and filings that Since and Companies name. past are
// all positions bought before the checkpoint, in order. Closed positions are in their final state; open ones are not read. The portfolio's
// first snapshot is the checkpoint's.
func Resume(c Checkpoint, past []Position, in PortfolioInput, rules PortfolioRules) Portfolio {
	s := simulation{
		in: in, rules: rules, cash: c.Cash, peak: c.Peak, bench: c.Bench, marked: equity.Bar{Date: c.MarkedOn, Close: c.Marked},
		inception: c.Inception, tally: c.Tally.clone(),
	}
	if c.NoBenchmark {
		s.bench, c.Last.BenchmarkReturnPct, c.Last.BenchmarkDailyReturnPct = math.NaN(), math.NaN(), math.NaN()
	}
	s.out = []Snapshot{c.Last}
	open := map[int]bool{}
	for _, h := range c.Held {
		open[h.Place] = true
		s.held = append(s.held, &holding{
			Position: h.Position, place: h.Place, value: h.Value, growth: h.Growth, gained: h.Gained, price: h.Price, priced: h.Priced,
			sessions: h.Sessions, silent: h.Silent,
		})
		last := s.held[len(s.held)-1]
		last.contributed, last.entered = []float64{100 * h.Gained}, 0
	}
	for i, q := range past[:min(len(past), c.Bought)] {
		if !open[i] {
			q.contributed, q.entered = nil, 0
			s.past = append(s.past, former{i, q})
		}
	}
	s.bought = c.Bought
	s.pending = slices.Clone(c.Pending)
	for _, p := range in.Picks {
		if !p.Date.Before(c.Date) {
			s.pending = append(s.pending, p)
		}
	}
	s.sort()
	for _, day := range calendar.Between(calendar.Next(c.Date), in.To) {
		s.step(day)
		s.keep(day)
	}
	if len(s.checkpoints) == 0 {
		s.keep(c.Date)
	}
	p := s.result()
	p.ResumedAt = c.Date
	return p
}

// sort puts the picks in the order in which they are bought.
func (s *simulation) sort() {
	slices.SortFunc(s.pending, func(a, b AnnouncedPick) int { return cmp.Or(a.Date.Compare(b.Date), cmp.Compare(a.Seq, b.Seq)) })
}

// former is a position that was closed before the simulation began, with how many were bought before it.
type former struct {
	place int
	Position
}

// Tally is the summary of all snapshots that Performance needs.
type Tally struct {
	// Newest are the returns since inception of the newest sessions, in percent, the newest last. It holds one more than the lookback of
	// the longest of the short returns.
	Newest []float64
	// Year is the year of the newest session. YearBase is the return since inception at which the year's return begins.
	Year     int
	YearBase float64
	// MaxDrawdown is the largest fall from a high at a close.
	MaxDrawdown float64
	// Daily counts the daily returns after the inception, with their mean and the sum of their squared distances from it (Welford).
	Daily    int
	Mean, M2 float64
	// TradedPct is the sum of the trades of each session. Net is the worth of one dollar of the inception under each of Costs.
	TradedPct float64
	Net       [len(Costs)]float64
	// Delisted are the sessions in which shares stopped trading without a known worth. AtLastClose and AtTotalLoss are the worth of one dollar of
	// the inception if they lose nothing then, and all.
	Delisted                 int
	AtLastClose, AtTotalLoss float64
}

// Costs are the costs of trading that returns are shown net of, in basis points of each amount bought or sold.
var Costs = [...]int{5, 10, 20}

func (t Tally) clone() Tally {
	t.Newest = slices.Clone(t.Newest)
	return t
}

// add takes a session in.
func (t *Tally) add(s Snapshot) {
	if n := len(t.Newest); n == 0 {
		t.Year, t.YearBase = s.Date.Year(), s.ReturnPct
		for i := range t.Net {
			t.Net[i] = 1
		}
		t.AtLastClose, t.AtTotalLoss = 1, 1
	} else {
		if s.Date.Year() != t.Year {
			t.Year, t.YearBase = s.Date.Year(), t.Newest[n-1]
		}
		t.Daily++
		off := s.DailyReturnPct - t.Mean
		t.Mean += off / float64(t.Daily)
		t.M2 += float64(off * (s.DailyReturnPct - t.Mean)) // rounded here: some processors fuse a product with the sum that follows
	}
	if t.Newest = append(t.Newest, s.ReturnPct); len(t.Newest) > SessionsOfMonth+1 {
		t.Newest = slices.Delete(t.Newest, 0, 1)
	}
	t.MaxDrawdown = min(t.MaxDrawdown, s.DrawdownPct)
	t.TradedPct += s.TradedPct
	for i, points := range Costs {
		cost := float64(s.TradedPct / 100 * float64(points) / 1e4) // rounded, see above
		t.Net[i] *= (1 + s.DailyReturnPct/100) * (1 - cost)
	}
	if s.StakedPct > 0 {
		t.Delisted++
	}
	t.AtLastClose *= 1 + (s.DailyReturnPct+s.LostPct)/100
	t.AtTotalLoss *= 1 + (s.DailyReturnPct+s.LostPct-s.StakedPct)/100
}

// since returns the return in percent of the last n sessions; NaN if fewer sessions exist.
func (t Tally) since(n int) float64 {
	last := len(t.Newest) - 1
	if last-n < 0 {
		return math.NaN()
	}
	return between(t.Newest[last-n], t.Newest[last])
}

// deviation is the standard deviation of the daily returns.
func (t Tally) deviation() float64 { return math.Sqrt(t.M2 / float64(t.Daily-1)) }
