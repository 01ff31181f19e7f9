package postgres_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/equity"
	"tidemark/internal/postgres"
)

// An incremental update must equal a full read. The cases are further, revised and late closes, another publisher, past actions, and
// actions that were announced before their date.
func TestHistoriesThatAreBroughtUpToDateAreThoseThatAreReadAnew(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	const careful equity.CIK = 1003
	ids := []equity.CIK{acme, borl, careful}
	from := newYorkDay("2026-01-07")
	said(t, db, "a", "2026-01-08T22:00:00Z", postgres.EquityLoad{
		Bars:    append(append(bars(acme, "a", "2026-01-05", "10", "11", "12", "13"), bars(borl, "a", "2026-01-05", "20", "21", "22", "23")...), bars(careful, "a", "2026-01-05", "30", "31", "32")...),
		Actions: []equity.Action{{CIK: careful, Kind: equity.Dividend, Date: newYorkDay("2026-01-10"), Cash: "1.00", Source: "a"}},
	})
	at := instant(t, "2026-01-08T23:00:00Z")
	have, err := db.HistoriesFrom(t.Context(), ids, from, newYorkDay("2026-01-08"), at)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, source, fetched string
		load                  postgres.EquityLoad
	}{
		{"a day more", "a", "2026-01-09T22:00:00Z", postgres.EquityLoad{Bars: append(bars(acme, "a", "2026-01-09", "14"), bars(careful, "a", "2026-01-09", "33")...)}},
		{"the day of what was told before, and a late close", "a", "2026-01-12T22:00:00Z", postgres.EquityLoad{Bars: append(bars(careful, "a", "2026-01-08", "32.50"), bars(borl, "a", "2026-01-12", "24")...)}},
		{"a revised close, and one before all that is read", "a", "2026-01-14T22:00:00Z", postgres.EquityLoad{Bars: append(bars(acme, "a", "2026-01-08", "13.10"), bars(acme, "a", "2026-01-06", "11.10")...)}},
		{"a late split", "a", "2026-01-16T22:00:00Z", postgres.EquityLoad{
			Bars:    bars(acme, "a", "2026-01-05", "10", "11.10", "12", "13.10", "14"),
			Actions: []equity.Action{{CIK: acme, Kind: equity.Split, Date: newYorkDay("2026-01-08"), New: 2, Old: 1, Source: "a"}},
		}},
		{"another publisher", "b", "2026-01-20T22:00:00Z", postgres.EquityLoad{Bars: bars(borl, "b", "2026-01-05", "20.50", "21.50", "22.50", "23.50", "24", "24", "24", "25", "26")}},
		{"a revision by a publisher that was not the first", "b", "2026-01-21T22:00:00Z", postgres.EquityLoad{Bars: bars(borl, "b", "2026-01-07", "99")}},
		{"a revision by the first", "a", "2026-01-21T23:00:00Z", postgres.EquityLoad{Bars: bars(borl, "a", "2026-01-07", "22.70")}},
		{"nothing", "a", "2026-01-22T22:00:00Z", postgres.EquityLoad{}},
		{"a ratio of no small terms", "a", "2026-01-23T22:00:00Z", postgres.EquityLoad{
			Bars:    bars(acme, "a", "2026-01-05", "10", "11.10", "12", "13.10", "14"),
			Actions: []equity.Action{{CIK: acme, Kind: equity.Split, Date: newYorkDay("2026-01-09"), New: 1324, Old: 1000, Source: "a"}},
		}},
		{"the filing that explains it", "submissions", "2026-01-24T22:00:00Z", postgres.EquityLoad{Filings: []equity.Filing{{
			CIK: acme, Accession: "a-1", Form: "8-K", Filed: newYorkDay("2026-01-12"), Items: []string{"2.01"}, URL: "https://sec.example/a-1",
		}}}},
	} {
		said(t, db, step.source, step.fetched, step.load)
		before := cmp.Diff(nil, have)
		next := instant(t, step.fetched).Add(1)
		to := newYorkDay(step.fetched[:10])
		want, err := db.HistoriesFrom(t.Context(), ids, from, to, next)
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.HistoriesSince(t.Context(), have, from, to, at, next)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range want[acme].Actions {
			if of := map[string]equity.ActionKind{"2026-01-23": equity.Unexplained, "2026-01-24": equity.SpinOff}[step.fetched[:10]]; a.New == 1324 && a.Kind != of {
				t.Errorf("%s: the ratio is read as %s", step.name, a.Kind)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-anew +brought up):\n%s", step.name, diff)
		}
		if cmp.Diff(nil, have) != before {
			t.Errorf("%s: what was read before has changed", step.name)
		}
		have, at = got, next
	}
}
