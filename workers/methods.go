package workers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

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

// The methods whose versions are leaves of the log. Their names come from the registry.
func picksMethod() postgres.Method {
	return method("picks", picks.SourceHash(), "the score, the weights and the rules of the stock picks: the code of package picks and of all that it imports")
}

func signalsMethod() postgres.Method {
	return method("signals", signals.SourceHash(), "the values, intervals and backtests of all signals: the code of package signals and of all that it imports")
}

func forecastsMethod() postgres.Method {
	return method("forecasts", forecast.SourceHash(), "the forecasts of public figures and their grades: the code of package signals/forecast and of all that it imports")
}

// earlier are the trials of a method that ran before there was a registry.
func earlier(name string) (list []postgres.Method) {
	for _, t := range signals.EarlierTrials() {
		if t.Method == name {
			status := map[bool]string{true: postgres.MethodTried, false: postgres.MethodDropped}[t.Taken]
			list = append(list, postgres.Method{Name: name, Version: t.ID, Status: status, SHA256: t.SHA256(), Note: t.Note()})
		}
	}
	return list
}

// adopt records the version of a method before a result of it is published, and the trials that came before it.
func adopt(ctx context.Context, db *postgres.DB, m postgres.Method) error {
	m.Status = postgres.MethodAdopted
	_, err := db.RecordMethod(ctx, m, earlier(m.Name)...)
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

// RecordPicksBacktest records that this program's versions of the picks, their variants and their backtest run on history, before the results
// are shown. It returns how many versions and variants of the picks ran on history so far, these included. window names the days that are looked
// at, such as "from-2020-01-02.every-10"; empty: the usual ones. Each look at other days is a trial of the method and of each variant.
func RecordPicksBacktest(ctx context.Context, db *postgres.DB, window string) (trials int, err error) {
	list := []postgres.Method{
		picksMethod(),
		method("picks-backtest", backtest.SourceHash(), "how the method of the picks is judged on history: the code of package picks/backtest and of all that it imports"),
	}
	list = append(list, picksVariants()...)
	if window != "" {
		for _, m := range append([]postgres.Method{picksMethod()}, picksVariants()...) {
			list = append(list, ofWindow(m, window))
		}
	}
	for _, m := range list {
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

// picksVariants are the other weightings that a backtest of the picks tries: versions of the method, each named by the code and its weights.
func picksVariants() (list []postgres.Method) {
	code := picks.SourceHash()
	for _, v := range picks.DefaultRules().Variants() {
		sum := sha256.Sum256([]byte(code + " " + v.Name))
		list = append(list, postgres.Method{
			Name: picksMethod().Name, Version: code[:12] + "." + v.Name, SHA256: hex.EncodeToString(sum[:]),
			Note: "a variant of " + code[:12] + " with other weights; only the backtest runs it. The SHA-256 is of the code's, a space and the variant's name",
		})
	}
	return list
}

// ofWindow is the trial of a version or a variant on other days than the usual ones.
func ofWindow(m postgres.Method, window string) postgres.Method {
	sum := sha256.Sum256([]byte(m.SHA256 + " " + window))
	return postgres.Method{
		Name: m.Name, Version: m.Version + "." + window, SHA256: hex.EncodeToString(sum[:]),
		Note: m.Version + " on other days than the usual ones; only the backtest runs it. The SHA-256 is of that of " + m.Version + ", a space and the days",
	}
}

func try(ctx context.Context, db *postgres.DB, m postgres.Method) error {
	m.Status = postgres.MethodTried
	_, err := db.RecordMethod(ctx, m, earlier(m.Name)...)
	return err
}
