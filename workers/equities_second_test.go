package workers_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/companies"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/series"
	"tidemark/picks"
	"tidemark/workers"
)

// A second publisher tells the closes that the first tells, but for one share's, which it has by two percent higher.
func TestACloseThatASecondSourceDisputesIsNotPickedAt(t *testing.T) {
	t.Parallel()
	x := newExchange(t, "top 6", "2026-03-02 07:20")
	first := x.job.Prices.Ask
	x.job.Second = workers.Prices{
		ID: "prices-second", Funds: x.job.Prices.Funds,
		Ask: func(ctx context.Context, shares []companies.Share, w series.Window, runID int64) ([]ingest.Fetched, error) {
			answers, err := first(ctx, shares, w, runID)
			for _, a := range answers {
				for i := range a.Batch.Bars {
					b := &a.Batch.Bars[i]
					b.Source = "second"
					if b.CIK == siltstone {
						price, perr := equity.PriceOf(1.02*b.Close.Float(), 2)
						if perr != nil {
							t.Error(perr)
						}
						b.Close = price
					}
				}
			}
			return answers, err
		},
	}
	x.run("2026-03-02 07:20", "edgar-companies")
	x.run("2026-03-02 16:20", "prices-yahoo")
	attempt := x.at("2026-03-02 16:40", "prices-second")
	if err := x.job.Run(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	found, err := x.db.Findings(t.Context(), attempt.RunID)
	if err != nil || len(found) != 1 || !strings.HasPrefix(found[0].Observed, "SMDSYN: the close of the day is in doubt") {
		t.Errorf("the run says %+v (%v), want what is in doubt", found, err)
	}
	if err := x.db.Succeed(t.Context(), attempt.Fence); err != nil {
		t.Fatal(err)
	}
	before := x.asked.Load()
	x.run("2026-03-02 18:40", "prices-second")
	if n := x.asked.Load() - before; n != 0 {
		t.Errorf("the second run of the evening asks %d questions, want none: every close is told", n)
	}

	day := newYork(t, "2026-03-02 00:00").Truncate(24 * time.Hour)
	daily := workers.Picks{DB: x.db}
	market, err := daily.Market(t.Context(), day, x.clock.Now().Add(time.Minute), nil)
	if err != nil {
		t.Fatal(err)
	}
	reasons := func(m picks.Market) (all []string) {
		for _, e := range picks.Rank(m, picks.DefaultRules()).Excluded {
			if e.CIK == siltstone {
				all = append(all, e.Reason)
			}
		}
		return all
	}
	if why := reasons(market); len(why) != 1 || !strings.Contains(why[0], "in doubt") || !strings.Contains(why[0], "by second") {
		t.Errorf("the share is left out because of %q, want its close in doubt", why)
	}
	// Before the second source reported it, no close was doubted. A source that says nothing about the day raises no doubt either.
	market, err = daily.Market(t.Context(), day, newYork(t, "2026-03-02 16:30"), nil)
	if err != nil || len(market.Second) != 0 || len(reasons(market)) != 0 {
		t.Errorf("as of a time before: %v, %q (%v)", market.Second, reasons(market), err)
	}
	// The next day the second source is unavailable. The day's closes are asked for again, and the picks do not wait.
	x.run("2026-03-03 16:20", "prices-yahoo")
	x.job.Second.Ask = func(context.Context, []companies.Share, series.Window, int64) ([]ingest.Fetched, error) {
		return nil, nil
	}
	late := x.at("2026-03-03 16:40", "prices-second")
	if err := x.job.Run(t.Context(), late); err == nil || !strings.Contains(err.Error(), "has no close of 2026-03-03 of 7 of 7 shares") {
		t.Errorf("a source that says nothing: %v", err)
	}
	market, err = daily.Market(t.Context(), calendar.Next(day), x.clock.Now(), nil)
	if err != nil || len(reasons(market)) != 0 {
		t.Errorf("the day after: %q (%v)", reasons(market), err)
	}
}
