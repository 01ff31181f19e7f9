package view

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/picks"
	"tidemark/signals"
)

// Comparison is the body of /api/compare: two signals as z-scores, with their correlation.
type Comparison struct {
	First  ComparedSignal `json:"first"`
	Second ComparedSignal `json:"second"`
	// Period is `week` or `month`. Each period has its newest z-score. Weeks begin on Monday.
	Period string `json:"period"`
	// Result is the correlation at the requested lag.
	Result ComparisonAtLag `json:"result"`
	// AsOf is the instant whose knowledge is compared, null for the current state.
	AsOf *time.Time `json:"as_of"`
	// Method says how the interval is computed.
	Method string `json:"method"`
	// Text says the result in the language Lang.
	Lang string `json:"lang"`
	Text string `json:"text"`
	// ByLag has the correlations at all lags.
	ByLag []ComparisonAtLag `json:"by_lag"`
	// Data are the pairs, in ascending time.
	Data        []ComparedPair `json:"data"`
	Synthetic   bool           `json:"synthetic"`
	Environment string         `json:"environment"`
	Disclaimer  string         `json:"disclaimer"`
}

// ComparedSignal is one side of a comparison.
type ComparedSignal struct {
	ID string `json:"id"`
	// Name is in the language of the comparison.
	Name       string `json:"name"`
	License    string `json:"license"`
	SourceURL  string `json:"source_url"`
	MachineURL string `json:"machine_url"`
}

// ComparisonAtLag is the correlation of two signals. The second signal is read some periods later.
type ComparisonAtLag struct {
	// Lag is in periods. A negative lag reads the second signal earlier.
	Lag int `json:"lag"`
	// N is the number of pairs. EffectiveN is the number of independent pairs that say as much, null if it is unknown.
	N          int      `json:"n"`
	EffectiveN *float64 `json:"effective_n"`
	// Correlation is Pearson's, null if there are fewer than ten pairs or no variation.
	Correlation *float64 `json:"correlation"`
	// Interval holds the correlation with the probability of its level. It is null if there are too few independent pairs.
	Interval *CorrelationInterval `json:"interval"`
}

// CorrelationInterval is an interval of a correlation.
type CorrelationInterval struct {
	Level float64 `json:"level"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// ComparedPair holds the z-scores of one period.
type ComparedPair struct {
	// Period is the first day of the first signal's period.
	Period string  `json:"period"`
	First  float64 `json:"first"`
	Second float64 `json:"second"`
}

// comparisonMethod is the method in the words of a program.
const comparisonMethod = "Pearson correlation of z-scores; Fisher interval with Student's t and the effective number of pairs n^2/(n + 2 sum pairs(k) a(k) b(k)) of the autocorrelations a and b up to the first that is not positive (Bartlett 1935)"

// ComparisonRequest selects the comparison. From and To bound the observations of both signals. A zero time sets no bound.
type ComparisonRequest struct {
	First, Second  *Signal
	Lag            int
	From, To, AsOf time.Time
	Lang           locale.Lang
}

// Compare compares two signals. The error is postgres.ErrUnavailable if the request is about the past and the database is unavailable.
func (v *View) Compare(ctx context.Context, r ComparisonRequest) (*Comparison, error) {
	monthly := r.First.Definition.Frequency == "monthly" || r.Second.Definition.Frequency == "monthly"
	first, err := v.readings(ctx, r, r.First)
	if err != nil {
		return nil, err
	}
	second, err := v.readings(ctx, r, r.Second)
	if err != nil {
		return nil, err
	}
	c := signals.Compare(first, second, monthly, r.Lag)
	out := &Comparison{
		First: v.compared(r.First, r.Lang), Second: v.compared(r.Second, r.Lang), Period: "week", Result: newComparisonAtLag(c.Chosen),
		Method: comparisonMethod, Lang: string(r.Lang), ByLag: []ComparisonAtLag{}, Data: []ComparedPair{},
		Synthetic: r.First.Snapshot.Synthetic || r.Second.Snapshot.Synthetic, Environment: v.o.environment(), Disclaimer: r.First.Snapshot.Disclaimer,
	}
	if monthly {
		out.Period = "month"
	}
	if !r.AsOf.IsZero() {
		out.AsOf = &r.AsOf
	}
	for _, a := range c.ByLag {
		out.ByLag = append(out.ByLag, newComparisonAtLag(a))
	}
	for _, p := range c.Pairs {
		out.Data = append(out.Data, ComparedPair{p.At.Format(time.DateOnly), postgres.Rounded(p.A), postgres.Rounded(p.B)})
	}
	out.Text = strings.Join(out.Sentences(), " ")
	return out, nil
}

// readings returns the z-scores of one side.
func (v *View) readings(ctx context.Context, r ComparisonRequest, s *Signal) (out []signals.Reading, err error) {
	points := s.History.Points(r.From)
	if !r.AsOf.IsZero() {
		if points, err = v.PointsAsOf(ctx, s, r.AsOf, r.From); err != nil {
			return nil, err
		}
	}
	for _, p := range points {
		if r.To.IsZero() || !p.ObservedAt.After(r.To) {
			out = append(out, signals.Reading{At: p.ObservedAt, Z: p.Z})
		}
	}
	return out, nil
}

func (v *View) compared(s *Signal, lang locale.Lang) ComparedSignal {
	return ComparedSignal{s.Definition.ID, s.NameIn(lang), s.Snapshot.License, s.Snapshot.SourceURL, v.o.machineURL(s.Definition.ID)}
}

// NameIn returns the name of the signal in a language.
func (s *Signal) NameIn(lang locale.Lang) string {
	if lang == locale.English {
		return s.Definition.Name
	}
	return languages.Or(lang).Title(picks.WriteTerm(lang, "signal."+s.Definition.ID))
}

func newComparisonAtLag(a signals.Association) ComparisonAtLag {
	out := ComparisonAtLag{Lag: a.Lag, N: a.N, EffectiveN: postgres.Statistic(a.Effective), Correlation: postgres.Statistic(a.R)}
	if lo, hi := postgres.Statistic(a.Lo), postgres.Statistic(a.Hi); lo != nil && hi != nil {
		out.Interval = &CorrelationInterval{signals.Level, *lo, *hi}
	}
	return out
}

// BoundDecimals is how many decimals a bound of a correlation needs: two, or as many as show on which side of zero it is.
func BoundDecimals(bound float64) int {
	decimals := 2
	for bound != 0 && decimals < 9 && math.Round(math.Abs(bound)*math.Pow10(decimals)) == 0 {
		decimals++
	}
	return decimals
}

// Sentences say the result in the language of the comparison: the correlation, the sample and what follows.
func (c *Comparison) Sentences() []string {
	l := languages.Or(locale.Lang(c.Lang))
	write := func(x float64, decimals int) string {
		return message.NewPrinter(l.Tag).Sprint(number.Decimal(x, number.Scale(decimals)))
	}
	signed := func(x float64, decimals int) string {
		text := write(math.Abs(x), decimals)
		switch {
		case strings.Trim(text, "0.,") == "":
			return text
		case x < 0:
			return "−" + text
		}
		return "+" + text
	}
	at := c.Result
	if at.Correlation == nil {
		return []string{l.Words["compare.none"]}
	}
	result := fmt.Sprintf(l.Words["compare.result alone"], signed(*at.Correlation, 2))
	sample := fmt.Sprintf(l.Words["compare.sample "+c.Period], write(float64(at.N), 0), write(*at.EffectiveN, 0))
	verdict := l.Words["compare.few"]
	if i := at.Interval; i != nil {
		result = fmt.Sprintf(l.Words["compare.result"], signed(*at.Correlation, 2), signed(i.Lo, BoundDecimals(i.Lo)), signed(i.Hi, BoundDecimals(i.Hi)))
		verdict = l.Words["compare.nonzero"]
		if i.Lo <= 0 && i.Hi >= 0 {
			verdict = l.Words["compare.zero"]
		}
	}
	return []string{result, sample, verdict}
}
