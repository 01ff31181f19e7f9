package workers

import (
	"context"

	"tidemark/internal/postgres"
	"tidemark/picks"
	"tidemark/picks/backtest"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// method returns the version of a method that this program has.
func method(name, code, note string) postgres.Method {
	return postgres.Method{Name: name, Version: code[:12], SHA256: code, Note: note}
}

// The methods whose versions are leaves of the log. Their names are those of the registry.
func picksMethod() postgres.Method {
	return method("picks", picks.SourceHash(), "the score, the weights and the rules of the stock picks: the code of package picks")
}

func signalsMethod() postgres.Method {
	return method("signals", signals.SourceHash(), "the values, intervals and backtests of all signals: the code of package signals")
}

func forecastsMethod() postgres.Method {
	return method("forecasts", forecast.SourceHash(), "the forecasts of public figures and their grades: the code of package signals/forecast")
}

// adopt records the version of a method before a result of it is published.
func adopt(ctx context.Context, db *postgres.DB, m postgres.Method) error {
	m.Status = postgres.MethodAdopted
	_, err := db.RecordMethod(ctx, m)
	return err
}

// RecordTrial records that this program's version of the signals runs on history, before its results are shown. It does nothing if the
// version is adopted or was tried before.
func RecordTrial(ctx context.Context, db *postgres.DB) error {
	return try(ctx, db, signalsMethod())
}

// RecordPicksTrial is RecordTrial for the stock picks.
func RecordPicksTrial(ctx context.Context, db *postgres.DB) error {
	return try(ctx, db, picksMethod())
}

// RecordPicksBacktest records that this program's versions of the picks and of their backtest run on history, before the results are shown. It
// returns how many versions of the picks ran on history so far, this one included.
func RecordPicksBacktest(ctx context.Context, db *postgres.DB) (trials int, err error) {
	for _, m := range []postgres.Method{
		picksMethod(),
		method("picks-backtest", backtest.SourceHash(), "how the method of the picks is judged on history: the code of package picks/backtest"),
	} {
		if err := try(ctx, db, m); err != nil {
			return 0, err
		}
	}
	all, err := db.Methods(ctx)
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, m := range all {
		if m.Name == picksMethod().Name {
			seen[m.SHA256] = true
		}
	}
	return len(seen), nil
}

func try(ctx context.Context, db *postgres.DB, m postgres.Method) error {
	m.Status = postgres.MethodTried
	_, err := db.RecordMethod(ctx, m)
	return err
}
