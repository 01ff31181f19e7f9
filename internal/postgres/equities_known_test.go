package postgres_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/picks"
)

// anyOrder compares candidates whose facts come in no order.
var anyOrder = []cmp.Option{cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b equity.Fact) bool {
	return fmt.Sprint(a.Tag, a.Unit, a.End, a.Start, a.Accession) < fmt.Sprint(b.Tag, b.Unit, b.End, b.Start, b.Accession)
})}

// sameAnew compares what a process that has read candidates before reads now with what a new process reads.
func sameAnew(t *testing.T, db *postgres.DB, url, what string, day, asOf time.Time) []picks.Candidate {
	t.Helper()
	got, err := db.Candidates(t.Context(), day, asOf)
	if err != nil {
		t.Fatal(err)
	}
	anew, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	defer anew.Close()
	want, err := anew.Candidates(t.Context(), day, asOf)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, anyOrder...); diff != "" {
		t.Fatalf("%s, on %s as of %s (-anew +kept):\n%s", what, day.Format(time.DateOnly), asOf.Format(time.RFC3339), diff)
	}
	return got
}

// Filings, restatements, closes, splits, other publishers and companies come in an order that a seed decides, some of them stored after they
// were known, some by another process. A pick must read the same as a process without a memory, also of an earlier day or instant.
func TestAPickReadsWhatANewProcessWouldRead(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{1, 2, 3} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			db, url := open(t, postgres.RoleWorker)
			other := as(t, url, postgres.RoleWorker)
			r := rand.New(rand.NewPCG(seed, 15)) //nolint:gosec // a test
			now := instant(t, "2026-01-05T21:00:00Z")
			known := 3
			var asked []time.Time
			for step := range 40 {
				now = now.Add(time.Duration(1+r.IntN(40)) * time.Hour)
				if r.IntN(12) == 0 {
					known++
				}
				at := now
				late := len(asked) > 0 && r.IntN(4) == 0
				if late {
					at = asked[len(asked)-1].Add(-time.Duration(r.IntN(50)) * time.Minute)
				}
				by := db
				if r.IntN(3) == 0 {
					by = other
				}
				what, load := anything(r, step, known, at)
				source := "facts"
				if len(load.Bars) > 0 {
					source = load.Bars[0].Source
				}
				said(t, by, source, at.Format(time.RFC3339), load)
				day, asOf := newYorkDay(now.Format(time.DateOnly)), now
				switch r.IntN(8) {
				case 0:
					day = day.AddDate(0, 0, -1-r.IntN(3))
				case 1:
					day = day.AddDate(0, -4, 0)
				case 2:
					asOf = asOf.Add(-30 * time.Hour)
				}
				sameAnew(t, db, url, fmt.Sprintf("step %d: %s, late %t", step, what, late), day, asOf)
				asked = append(asked, now)
			}
			if list := sameAnew(t, db, url, "at the end", newYorkDay(now.Format(time.DateOnly)), now); len(list) != known {
				t.Errorf("%d companies, want %d", len(list), known)
			}
		})
	}
}

// anything is what a publisher may say about some of the known companies at an instant.
func anything(r *rand.Rand, step, known int, at time.Time) (what string, l postgres.EquityLoad) {
	for i := range known {
		l.Companies = append(l.Companies, company(equity.CIK(1001+i), fmt.Sprint("Company ", i), fmt.Sprint("T", i)))
	}
	one := equity.CIK(1001 + r.IntN(known))
	today := newYorkDay(at.Format(time.DateOnly))
	switch r.IntN(6) {
	case 0:
		what = "a report"
		year := 2018 + r.IntN(8)
		l.Facts = []equity.Fact{fact(one, fmt.Sprintf("%d-12-31", year), today.AddDate(0, 0, -r.IntN(3)).Format(time.DateOnly), fmt.Sprint("r-", step), float64(r.IntN(1000)))}
	case 1:
		what = "a fact that is stated in another way by the same filing"
		for cik := range known {
			l.Facts = append(l.Facts, fact(equity.CIK(1001+cik), "2024-12-31", "2025-02-10", "restated", float64(r.IntN(3))))
		}
	case 2:
		what = "the closes of all"
		for cik := range known {
			l.Bars = append(l.Bars, bars(equity.CIK(1001+cik), "a", today.Format(time.DateOnly), fmt.Sprint(10+r.IntN(5)))...)
		}
	case 3:
		what = "closes of some days, with a revision"
		l.Bars = bars(one, "a", today.AddDate(0, 0, -3).Format(time.DateOnly), "7", fmt.Sprint(8+r.IntN(2)), "9")
	case 4:
		what = "closes by another publisher"
		l.Bars = bars(one, "b", today.AddDate(0, 0, -r.IntN(3)).Format(time.DateOnly), "20.50")
	default:
		what = "a split"
		l.Bars = bars(one, "a", today.AddDate(0, 0, -4).Format(time.DateOnly), "7", "8", "9", "10")
		l.Actions = []equity.Action{{CIK: one, Kind: equity.Split, Date: today.AddDate(0, 0, -2), New: float64(2 + r.IntN(2)), Old: 1, Source: "a"}}
	}
	return what, l
}

// While the steps of an imported archive are repeated, their data are known from the past on, and each step is read as soon as it is stored.
func TestAPickReadsWhatAnImportBrings(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	list := postgres.EquityLoad{Companies: []equity.Company{company(acme, "Acme", "ACM")}, Facts: []equity.Fact{fact(acme, "2024-12-31", "2025-02-10", "a-25", 100)}}
	said(t, db, "facts", "2026-01-05T12:00:00Z", list)
	day, asOf := newYorkDay("2026-01-08"), instant(t, "2026-01-08T22:00:00Z")
	sameAnew(t, db, url, "before", day, asOf)
	var steps []series.Step
	loads := map[int64]postgres.EquityLoad{}
	for i, at := range []string{"2026-01-06T12:00:00Z", "2026-01-07T12:00:00Z"} {
		l := answer(t, db, "facts", at, postgres.EquityLoad{Facts: []equity.Fact{fact(acme, fmt.Sprintf("%d-12-31", 2022+i), "2025-02-10", "imported", 7)}})
		loads[l.Fetch.ID] = l
		steps = append(steps, series.Step{Source: "facts", Answers: []series.StepAnswer{{Fetch: l.Fetch.ID, KnownAt: l.Fetch.FetchedAt}}})
	}
	added, err := db.AddSteps(t.Context(), func(yield func(series.Step, error) bool) {
		for _, s := range steps {
			if !yield(s, nil) {
				return
			}
		}
	}, nil)
	if err != nil || added != 2 {
		t.Fatalf("%d steps are added, want 2: %v", added, err)
	}
	for n := range 2 {
		sameAnew(t, db, url, fmt.Sprintf("%d steps are repeated", n), day, asOf)
		next, err := db.NextStep(t.Context(), 0, "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.StoreEquitiesAgain(t.Context(), next.ID, []postgres.EquityLoad{loads[next.Fetches[0].ID]}); err != nil {
			t.Fatal(err)
		}
	}
	got := sameAnew(t, db, url, "after", day, asOf)
	if n := len(got[0].Facts); n != 3 {
		t.Errorf("%d facts, want 3: %v", n, slices.Collect(func(yield func(float64) bool) {
			for _, f := range got[0].Facts {
				if !yield(f.Value) {
					return
				}
			}
		}))
	}
}
