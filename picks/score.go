package picks

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// Market is all that a pick is made from: what was known on its day after the close.
type Market struct {
	// Day is the pick's date, a trading day.
	Day time.Time
	// Candidates in any order. Facts filed on Day or later and bars after Day change nothing.
	Candidates []Candidate
	// Second holds the closes of Day by a second publisher; nil if none exist.
	Second map[equity.CIK]SecondClose
	// Signals are the states of our own signals on Day.
	Signals []SignalState
	// Past are the earlier picks in any order. Those of Day or later are not read.
	Past []PastPick
}

// Candidate is one company with its filings and the prices of its shares.
type Candidate struct {
	Company equity.Company
	Facts   []equity.Fact
	History History
}

// PastPick is an earlier pick.
type PastPick struct {
	Date   time.Time
	CIK    equity.CIK
	Sector Sector
}

// Rules are the numbers of the method. DefaultRules has those in force.
type Rules struct {
	// The weights of the groups; they add up to one.
	QualityWeight, ValueWeight, MomentumWeight, RiskWeight float64
	// ClipTail is the share of the universe on either end of a metric that is set to the value at its border.
	ClipTail float64
	// MinPeers is how many companies a sector needs to be compared within.
	MinPeers int
	// MissingPenalty is subtracted from the mean to get the value of an unknown metric.
	MissingPenalty float64
	// MinKnown is the share of the metrics that must be known.
	MinKnown float64
	// MinPrice and MinTurnover (a day, median of three months) and MinMarketValue are in US dollars.
	MinPrice, MinTurnover, MinMarketValue float64
	// CloseTolerance is how far the closes of the day by two publishers may be apart, as a fraction of the first.
	CloseTolerance float64
	// MaxReportAge is how long ago the newest fiscal year may have ended.
	MaxReportAge time.Duration
	// RepeatDays is how many trading days must pass before a pick is repeated. If fewer than three times as many companies are scored, the
	// number is a third of the number of companies, rounded up.
	RepeatDays int
	// Of SectorWindow picks in a row at most SectorMax are of one sector.
	SectorWindow, SectorMax int
}

// DefaultRules are the rules in force: section "Score" of docs/method-picks.md.
func DefaultRules() Rules {
	return Rules{
		QualityWeight: 0.35, ValueWeight: 0.30, MomentumWeight: 0.25, RiskWeight: 0.10,
		ClipTail: 0.025, MinPeers: 5, MissingPenalty: 0.25, MinKnown: 0.6,
		MinPrice: 5, MinTurnover: 5e6, MinMarketValue: 2e9, CloseTolerance: 0.005, MaxReportAge: 520 * 24 * time.Hour,
		RepeatDays: 60, SectorWindow: 20, SectorMax: 5,
	}
}

// Score is one company's score on a day, with all that it was made of.
type Score struct {
	CIK                    equity.CIK
	Ticker, Name, Exchange string
	SIC                    int
	Sector                 Sector
	Region                 Region
	Country                string
	// Price is the official unadjusted close of the day.
	Price equity.Price

	Metrics []Metric
	// Groups holds the four parts, each a mean of z-scores.
	Groups map[Group]float64
	Tilt   Tilt
	// Total is the weighted sum of the groups and the tilt, rounded to six decimals: the last bits of a sum, which differ between
	// processors, never decide.
	Total float64
	// Rank is 1 for the best.
	Rank int

	Book                                          *Financials
	FScore                                        FScore
	Revenue, GrossProfit, OperatingIncome, Income Figure
	CashFlow, Spending                            Figure
	Assets, Equity, Debt                          Figure
	MarketValue, EnterpriseValue                  Figure
	// Funds from operations, provisions for credit losses, and the combined ratio are read where the line of business has them.
	Funds, Provisions, CombinedRatio Figure
	Volatility                       float64
	SectorMomentum                   float64
	// PriceOnly reports whether the source of its prices states no dividends. SpunOff reports whether the company gave away the shares of another
	// in the months of the momentum, which counts them.
	PriceOnly, SpunOff bool
	company            equity.Company
}

// Exclusion is a company that was not scored or not picked, and why.
type Exclusion struct {
	CIK    equity.CIK
	Ticker string
	Reason string
}

// Ranking is the outcome of a day.
type Ranking struct {
	Day time.Time
	// Scores are all companies that could be scored, best first; equal totals by ticker.
	Scores []Score
	// Excluded are the companies that could not be scored, by ticker.
	Excluded []Exclusion
	// Passed are those ranked above the pick that a rule kept from being it, best first.
	Passed []Exclusion
	// Pick is the pick; nil if none exists. NoPick then says why.
	Pick   *Score
	NoPick string
	// Chosen reports whether the pick is an editor's and not the method's.
	Chosen bool
	// Variations are the picks that the method would make with the weight of one group a fifth smaller or larger; none without a pick.
	Variations []Variation
}

// Why a company is not scored, where the reason has no numbers in it.
var (
	errNotListed  = errors.New("not listed on a covered exchange")
	errShell      = errors.New("a blank check company")
	errNoIndustry = errors.New("the SEC states no industry")
	errTwice      = errors.New("listed twice among the candidates")
	errNoDollars  = errors.New("no balance sheet under US rules in US dollars")
	errNoYear     = errors.New("no annual report")
	errNoIncome   = errors.New("net income unknown")
	errNoShares   = errors.New("number of shares unknown")
	errYoung      = errors.New("less than a year of prices")
	errGaps       = errors.New("gaps in the prices")
)

// exchanges are those whose companies are covered: their primary listings close with the calendar of package calendar.
var exchanges = []string{"XNYS", "XNAS", "XASE"}

// Rank scores all candidates and makes the pick of the day. It is a pure function: equal markets give equal rankings, regardless of the
// order of candidates, facts and past picks.
func Rank(m Market, rules Rules) Ranking {
	r := Ranking{Day: m.Day}
	if !calendar.IsTradingDay(m.Day) {
		r.NoPick = "not a trading day"
		return r
	}
	candidates := slices.Clone(m.Candidates)
	slices.SortStableFunc(candidates, func(a, b Candidate) int { return cmp.Compare(a.Company.CIK, b.Company.CIK) })
	se := sessionsBefore(m.Day)
	for i, c := range candidates {
		s := newScore(c.Company, m.Day)
		s.PriceOnly = !c.History.CountsDividends()
		err := s.admit()
		if i > 0 && candidates[i-1].Company.CIK == c.Company.CIK {
			err = errTwice
		}
		if err == nil {
			err = s.measure(c, m.Day, se, rules)
		}
		if err == nil {
			err = s.enough(rules)
		}
		if doubt := m.Second[s.CIK].Disputes(s.Price, rules.CloseTolerance); err == nil && doubt != "" {
			err = errors.New(doubt)
		}
		if err != nil {
			r.Excluded = append(r.Excluded, Exclusion{s.CIK, s.Ticker, err.Error()})
			continue
		}
		r.Scores = append(r.Scores, s)
	}
	compare(r.Scores, rules)
	for i := range r.Scores {
		r.Scores[i].group(rules)
	}
	standardiseGroups(r.Scores)
	for i := range r.Scores {
		r.Scores[i].total(m.Signals, rules)
	}
	slices.SortFunc(r.Scores, func(a, b Score) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Ticker, b.Ticker), cmp.Compare(a.CIK, b.CIK))
	})
	slices.SortFunc(r.Excluded, func(a, b Exclusion) int { return cmp.Or(cmp.Compare(a.Ticker, b.Ticker), cmp.Compare(a.CIK, b.CIK)) })
	for i := range r.Scores {
		r.Scores[i].Rank = i + 1
	}
	r.choose(m.Past, rules)
	r.Variations = r.vary(m.Past, rules)
	return r
}

func newScore(c equity.Company, day time.Time) Score {
	listing, _ := c.Listing(day)
	s := Score{
		CIK: c.CIK, Ticker: listing.Ticker, Name: c.Name, Exchange: listing.Exchange, SIC: c.SIC,
		Sector: SectorOf(c.SIC), Region: RegionOf(c.Location), Country: CountryOf(c.Location), company: c,
	}
	for _, g := range metricGroups {
		s.Metrics = append(s.Metrics, Metric{
			ID: g.id, Group: g.group, Applies: applies(g.id, s.SIC), Value: math.NaN(), Clipped: math.NaN(), Z: math.NaN(), Worst: math.NaN(),
		})
	}
	return s
}

func (s *Score) admit() error {
	switch {
	case s.Ticker == "" || !slices.Contains(exchanges, s.Exchange):
		return errNotListed
	case s.SIC == 0:
		return errNoIndustry
	case industryOf(s.SIC).id == "shells":
		return errShell
	default:
		return nil
	}
}

// enough returns an error if too few metrics are known for a meaningful score.
func (s *Score) enough(rules Rules) error {
	known, all := 0, 0
	for _, m := range s.Metrics {
		if m.Applies {
			all++
			if m.Known() {
				known++
			}
		}
	}
	if float64(known) < float64(rules.MinKnown*float64(all)) {
		return fmt.Errorf("%d of %d metrics known", known, all)
	}
	return nil
}

// total puts the score together.
func (s *Score) group(rules Rules) {
	sum, count := map[Group]float64{}, map[Group]float64{}
	for _, m := range s.Metrics {
		switch {
		case !m.Applies:
			continue
		case m.Known():
			sum[m.Group] += m.Z
		default:
			sum[m.Group] += min(-rules.MissingPenalty, orZero(m.Worst))
		}
		count[m.Group]++
	}
	s.Groups = map[Group]float64{}
	for g, n := range count {
		s.Groups[g] = sum[g] / n
	}
}

// total adds the groups and the tilt up.
func (s *Score) total(signals []SignalState, rules Rules) {
	s.Tilt = tiltOf(ExposuresOf(s.SIC), signals)
	s.Total = s.sum(rules.weights())
}

// scoreGroups are the groups of a score, in the order of the texts.
var scoreGroups = []Group{Quality, Value, Momentum, Risk}

func (r Rules) weights() map[Group]float64 {
	return map[Group]float64{Quality: r.QualityWeight, Value: r.ValueWeight, Momentum: r.MomentumWeight, Risk: r.RiskWeight}
}

// sum is the total under some weights, rounded to six decimals.
func (s *Score) sum(weights map[Group]float64) float64 {
	total := 0.0
	for _, g := range scoreGroups {
		total += float64(weights[g] * s.Groups[g])
	}
	return math.Round((total+s.Tilt.Total)*1e6) / 1e6
}

// orZero is a number, zero for none.
func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// choose picks the best company that no rule excludes.
func (r *Ranking) choose(past []PastPick, rules Rules) {
	object := r.objection(past, rules)
	for i := range r.Scores {
		s := &r.Scores[i]
		if reason := object(s); reason != "" {
			r.Passed = append(r.Passed, Exclusion{s.CIK, s.Ticker, reason})
			continue
		}
		r.Pick = s
		return
	}
	r.NoPick = "no company could be scored"
	if len(r.Scores) > 0 {
		r.NoPick = "every company scored was picked lately or is in a sector that was picked often"
	}
}

// smallUniverse is the part of a small universe that is used up before a pick may be repeated: a third. Sixty companies then fill a
// portfolio whose positions have at most a twentieth each, and the picks still come from the upper half of the ranking.
const smallUniverse = 3

// objection returns a function that returns the objection of the earlier picks to a company; empty if none exists.
func (r *Ranking) objection(past []PastPick, rules Rules) func(*Score) string {
	earlier := slices.DeleteFunc(slices.Clone(past), func(p PastPick) bool { return !p.Date.Before(r.Day) })
	slices.SortFunc(earlier, func(a, b PastPick) int { return cmp.Or(b.Date.Compare(a.Date), cmp.Compare(a.CIK, b.CIK)) })
	oldest := calendar.Add(r.Day, -min(rules.RepeatDays, (len(r.Scores)+smallUniverse-1)/smallUniverse))
	recent := map[equity.CIK]time.Time{}
	for _, p := range earlier {
		if _, newer := recent[p.CIK]; !newer && !p.Date.Before(oldest) {
			recent[p.CIK] = p.Date
		}
	}
	bySector := map[Sector]int{}
	for _, p := range earlier[:min(len(earlier), rules.SectorWindow-1)] {
		bySector[p.Sector]++
	}
	return func(s *Score) string {
		if date, repeated := recent[s.CIK]; repeated {
			return "picked on " + date.Format(time.DateOnly)
		}
		if n := bySector[s.Sector]; n >= rules.SectorMax {
			return fmt.Sprintf("%d of the last %d picks are in %s", n, rules.SectorWindow-1, s.Sector)
		}
		return ""
	}
}

// Choose returns the ranking with an editor's pick instead of the method's. The same rules hold: the company must be among the scored
// ones, and the earlier picks, given in any order, must not object to it.
func (r Ranking) Choose(ticker string, past []PastPick, rules Rules) (Ranking, error) {
	i := slices.IndexFunc(r.Scores, func(s Score) bool { return s.Ticker == ticker })
	if i < 0 {
		if j := slices.IndexFunc(r.Excluded, func(e Exclusion) bool { return e.Ticker == ticker }); j >= 0 {
			return r, fmt.Errorf("%s cannot be scored: %s", ticker, r.Excluded[j].Reason)
		}
		return r, fmt.Errorf("%s is not in the universe", ticker)
	}
	if reason := r.objection(past, rules)(&r.Scores[i]); reason != "" {
		return r, fmt.Errorf("%s: %s", ticker, reason)
	}
	r.Pick, r.NoPick, r.Passed, r.Chosen = &r.Scores[i], "", nil, true
	r.Variations = nil
	return r, nil
}
