package view

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/internal/postgres"
	"tidemark/internal/sharpe"
)

// methods are versions of the picks, the newest first. The second was tried and then adopted.
func methods(versions int) (list []postgres.Method) {
	for i := range versions {
		sha := strings.Repeat(string("0123456789abcdef"[i%16]), 64)
		list = append(list, postgres.Method{Name: "picks", Version: sha[:12], Status: postgres.MethodTried, SHA256: sha})
	}
	return append(list, postgres.Method{Name: "picks", Version: list[0].Version, Status: postgres.MethodAdopted, SHA256: list[0].SHA256},
		postgres.Method{Name: "signals", Version: "1", Status: postgres.MethodAdopted, SHA256: strings.Repeat("a", 64)})
}

func TestTheStockRecordIsDeflatedByTheNumberOfTrials(t *testing.T) {
	t.Parallel()
	st := &PublicationsState{}
	r := rand.New(rand.NewPCG(1, 2))
	var excess []float64
	st.history = append(st.history, postgres.PortfolioSnapshot{CashPct: 40}) // the inception
	for range 250 {
		daily, benchmark := r.NormFloat64()+0.15, r.NormFloat64()/10
		st.history = append(st.history, postgres.PortfolioSnapshot{DailyReturnPct: daily, BenchmarkDailyReturnPct: &benchmark, CashPct: 40})
		excess = append(excess, (daily-0.6*benchmark)/100)
	}
	st.history = append(st.history, postgres.PortfolioSnapshot{DailyReturnPct: 50}) // a day without a benchmark says nothing
	v := &View{o: Options{PublicURL: "https://tidemark.example", World: WorldSandbox}}
	last := 2.0
	for _, trials := range []int{1, 2, 10} {
		got := v.NewMethodRegistry(methods(trials), st)
		rec := got.StockRecord
		if rec == nil || rec.Days != 250 || rec.Trials != trials || got.Trials[0] != (MethodTrials{"picks", trials}) || got.Trials[1] != (MethodTrials{"signals", 1}) {
			t.Fatalf("%d trials: %+v, %+v", trials, rec, got.Trials)
		}
		want := sharpe.Deflated(sharpe.Measure(excess), trials, 1.0/249)
		if math.Abs(*rec.DeflatedSharpeRatio-want) > 1e-4 || *rec.DeflatedSharpeRatio >= last {
			t.Errorf("%d trials: deflated to %v, want %v, and less than %v", trials, *rec.DeflatedSharpeRatio, want, last)
		}
		last = *rec.DeflatedSharpeRatio
	}
}

func TestWithoutARecordNoRatioIsGiven(t *testing.T) {
	t.Parallel()
	v := &View{o: Options{PublicURL: "https://tidemark.example", World: WorldSandbox}}
	same := 1.0
	oneDay, equal := &PublicationsState{}, &PublicationsState{}
	oneDay.history = []postgres.PortfolioSnapshot{{BenchmarkDailyReturnPct: &same}}
	equal.history = []postgres.PortfolioSnapshot{{}, {DailyReturnPct: 1, BenchmarkDailyReturnPct: &same}, {DailyReturnPct: 1, BenchmarkDailyReturnPct: &same}}
	for name, st := range map[string]*PublicationsState{"no publications": nil, "one day": oneDay} {
		if got := v.NewMethodRegistry(nil, st); got.StockRecord != nil || len(got.Data) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := v.NewMethodRegistry(nil, equal).StockRecord; got == nil || got.SharpeRatio != nil || got.DeflatedSharpeRatio != nil || got.MinTrackRecordDays != nil {
		t.Errorf("equal days: %+v", got)
	}
}
