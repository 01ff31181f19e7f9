package view

import (
	"maps"
	"math"
	"slices"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/sharpe"
)

// MethodRegistry is the body of /api/methods: every version of every method that ran on history.
type MethodRegistry struct {
	// Data are the versions, the newest first.
	Data []MethodVersion `json:"data"`
	// Trials counts the versions of each method.
	Trials []MethodTrials `json:"trials"`
	// StockRecord judges the record of the stock picks by that number of trials; null before the model portfolio has two sessions.
	StockRecord *StockRecord `json:"stock_record"`
	HowToVerify string       `json:"how_to_verify"`
	Environment string       `json:"environment"`
	Disclaimer  string       `json:"disclaimer"`
}

// MethodVersion is one version of a method.
type MethodVersion struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Status is tried (it ran on history), adopted (from then on it makes what is published) or dropped.
	Status string `json:"status"`
	// SHA256 is of the code without comments that makes the version.
	SHA256 string `json:"sha256"`
	Note   string `json:"note"`
	// RecordedAt is before any result of the version was shown.
	RecordedAt time.Time `json:"recorded_at"`
	// LogIndex is the number of its leaf in the transparency log, ProofURL the file that proves it offline. Both are null while no signed size
	// of the log has it.
	LogIndex *int64  `json:"log_index"`
	ProofURL *string `json:"proof_url"`
}

// MethodTrials is how many versions of a method were tried.
type MethodTrials struct {
	Name   string `json:"name"`
	Trials int    `json:"trials"`
}

// StockRecord judges the daily returns of the model portfolio in excess of a benchmark that holds as much cash. Ratios are of one day and never annualised;
// numbers are null if they cannot be known.
type StockRecord struct {
	Days        int      `json:"days"`
	SharpeRatio *float64 `json:"sharpe_ratio"`
	Skew        *float64 `json:"skew"`
	Kurtosis    *float64 `json:"kurtosis"`
	// ProbabilisticSharpeRatio is the probability that the true ratio is above 0 (Bailey and López de Prado, 2012).
	ProbabilisticSharpeRatio *float64 `json:"probabilistic_sharpe_ratio"`
	// Trials is the number of versions of the method picks in the registry.
	Trials int `json:"trials"`
	// ExpectedMaxSharpeRatio is the ratio that the best of so many trials without skill is expected to reach over that many days.
	ExpectedMaxSharpeRatio *float64 `json:"expected_max_sharpe_ratio"`
	// DeflatedSharpeRatio is the probability that the true ratio is above that (Bailey and López de Prado, 2014).
	DeflatedSharpeRatio *float64 `json:"deflated_sharpe_ratio"`
	// MinTrackRecordDays is how many such days show with 95% confidence that the ratio is above 0; null if it is not above.
	MinTrackRecordDays *float64 `json:"min_track_record_days"`
}

// NewMethodRegistry builds the response. published may be nil.
func (v *View) NewMethodRegistry(methods []postgres.Method, published *PublicationsState) MethodRegistry {
	o := Options{World: v.o.World}
	out := MethodRegistry{
		Data: make([]MethodVersion, len(methods)), Trials: []MethodTrials{}, HowToVerify: v.o.PublicURL + "/method",
		Environment: o.environment(), Disclaimer: o.disclaimer(v.o.World == WorldSandbox),
	}
	trials := map[string]int{}
	seen := map[[2]string]bool{}
	for i, m := range methods {
		out.Data[i] = MethodVersion{
			Name: m.Name, Version: m.Version, Status: m.Status, SHA256: m.SHA256, Note: m.Note, RecordedAt: m.At.UTC(), LogIndex: m.LogIndex,
			ProofURL: proofURL(v.o.PublicURL, m.LogIndex),
		}
		if version := [2]string{m.Name, m.SHA256}; !seen[version] {
			seen[version] = true
			trials[m.Name]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(trials)) {
		out.Trials = append(out.Trials, MethodTrials{name, trials[name]})
	}
	if published != nil {
		out.StockRecord = published.stockRecord(max(1, trials["picks"]))
	}
	return out
}

// stockRecord judges the record as the best of a number of trials. The trials' own returns are not kept. So their ratios are assumed to
// vary like the ratios of trials without skill over as many days: by 1/(n-1).
func (st *PublicationsState) stockRecord(trials int) *StockRecord {
	var excess []float64
	for i := 1; i < len(st.history); i++ {
		if s := st.history[i]; s.BenchmarkDailyReturnPct != nil {
			invested := 1 - st.history[i-1].CashPct/100
			excess = append(excess, (s.DailyReturnPct-float64(invested**s.BenchmarkDailyReturnPct))/100)
		}
	}
	if len(excess) < 2 {
		return nil
	}
	s := sharpe.Measure(excess)
	expected := sharpe.ExpectedMax(trials, 1/float64(s.N-1))
	return &StockRecord{
		Days: s.N, SharpeRatio: ratio(s.Ratio), Skew: ratio(s.Skew), Kurtosis: ratio(s.Kurtosis),
		ProbabilisticSharpeRatio: ratio(sharpe.Probabilistic(s, 0)), Trials: trials, ExpectedMaxSharpeRatio: ratio(expected),
		DeflatedSharpeRatio: ratio(sharpe.Probabilistic(s, expected)), MinTrackRecordDays: ratio(math.Ceil(sharpe.MinTrackRecord(s, 0, 0.95))),
	}
}

// ratio returns a number with four decimals, nil if it is not finite.
func ratio(f float64) *float64 {
	f = math.Round(f*1e4) / 1e4
	return finite(&f)
}
