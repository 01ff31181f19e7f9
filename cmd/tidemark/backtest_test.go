package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tidemark/internal/postgres"
	"tidemark/picks"
	"tidemark/picks/backtest"
)

func TestABacktestOfThePicksOnTheCommandLine(t *testing.T) {
	t.Parallel()
	e := newEditorClaimService(t, "2026-03-02")
	out := e.says(0, []string{
		"12 to 12 companies a day", "14 trials of the method so far", "a choice among 14 weightings is overfitted", "RANK CORRELATION WITH THE RETURN OF", "month 1, momentum alone", "50 random portfolios",
		"no  at least 24 months that do not overlap", "Nothing shows that the scores say anything", "0 that were scored have stopped",
	}, "picks", "backtest", "--random=50")
	if strings.Contains(out, "NaN") {
		t.Errorf("an unknown number is printed:\n%s", out)
	}
	// Both versions and the variants were in the registry before anything was printed; a second run adds none.
	again := e.says(0, nil, "picks", "backtest", "--random=50")
	if again != out {
		t.Errorf("a second run says something else:\n%s\n%s", out, again)
	}
	tried := func(m postgres.Method) bool {
		return m.Status == postgres.MethodTried && (m.Name == "picks" && m.SHA256 == picks.SourceHash() || m.Name == "picks-backtest" && m.SHA256 == backtest.SourceHash())
	}
	if list, err := e.db.Methods(t.Context()); err != nil || len(list) != 2+13 || !tried(list[13]) || !tried(list[14]) || list[0].Version != picks.SourceHash()[:12]+".risk-times-1.2" {
		t.Errorf("the registry has %+v (%v)", list, err)
	}

	var r struct {
		From, To, Digest string
		Days             int
		RankIC           []struct {
			Month, N int
			Mean     *float64
		} `json:"rank_ic"`
		Tests       []struct{ Name string }
		ScoresFound *bool `json:"scores_found"`
		Picks       struct{ Trials int }
	}
	text := e.says(0, nil, "picks", "backtest", "--random=50", "--json", "--to=2026-02-27")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if r.To != "2026-02-27" || r.Days < 8 || len(r.Digest) != 64 || len(r.RankIC) != 5 || r.RankIC[0].N < 1 || len(r.Tests) != 5 || r.ScoresFound == nil {
		t.Errorf("as JSON: %+v\n%s", r, text)
	}
	if last := r.RankIC[len(r.RankIC)-1]; last.Month != 12 || last.Mean != nil {
		t.Errorf("the twelfth month after is not over and has a figure:\n%s", text)
	}

	// Other days are another look at history: a trial of the method and of each variant, counted once.
	if r.Picks.Trials != 28 {
		t.Errorf("after a look at other days there are %d trials, want 28", r.Picks.Trials)
	}
	for range 2 {
		e.says(0, []string{"42 trials of the method so far"}, "picks", "backtest", "--random=50", "--to=2026-02-27", "--every=4")
	}
	list, err := e.db.Methods(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(m postgres.Method) bool {
		return m.Status == postgres.MethodTried && m.Version == picks.SourceHash()[:12]+".to-2026-02-27.every-4"
	}) {
		t.Errorf("the registry has %+v (%v)", list, err)
	}

	e.says(2, []string{"--every"}, "picks", "backtest", "--every=0")
	e.says(2, []string{"--random"}, "picks", "backtest", "--random=-1")
	e.says(1, []string{"at least ten companies can be scored"}, "picks", "backtest", "--from=2026-03-02", "--to=2026-01-05")
}
