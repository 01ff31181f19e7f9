package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

const caseTable = `
create table estimates (day date not null, known timestamptz not null, z float8);
create table target (day date primary key, known timestamptz not null, value float8 not null)`

const priceTable = `
create table prices as
select day, known, value, row_number() over (order by day) as i from target;
alter table prices add primary key (i);
create unique index on prices (day);
create index on prices (known, i);
analyze prices`

// caseQuery pairs estimates with outcomes and ranks them: @steps rows of the target ahead, with the z-score times @sign.
const caseQuery = `
with read as (
    select distinct on (usable) usable, z
    from (select day, z, max(known) over (order by day) as usable from estimates) as e
    order by usable, day desc
), cases as (
    select distinct on (s.i) s.day as started, e.day as ended, @sign * r.z as predicted, e.value - s.value as happened, (
        select l.value - b.value
        from (select i, value from prices where known <= r.usable order by known desc, i desc limit 1) as l
        join prices b on b.i = l.i - @steps
    ) as naive
    from read r
    cross join lateral (select i, day, value from prices where day >= r.usable order by day limit 1) as s
    join prices e on e.i = s.i + @steps
    order by s.i, r.usable desc
), numbered as (
    select started, ended, predicted, happened,
        rank() over (order by predicted) + count(*) over (partition by predicted) / 2.0 as x,
        rank() over (order by happened) + count(*) over (partition by happened) / 2.0 as y
    from cases
    where predicted is not null
), naives as (
    select rank() over (order by naive) + count(*) over (partition by naive) / 2.0 as x,
        rank() over (order by happened) + count(*) over (partition by happened) / 2.0 as y
    from cases
    where predicted is not null and naive is not null
)
select count(*)::int as n, min(started) as first, max(ended) as last, corr(x, y) as rank_ic,
    100.0 * count(*) filter (where predicted * happened > 0) / count(*) filter (where predicted * happened <> 0) as hit_rate,
    (select corr(x, y) from naives) as naive
from numbered`

type caseSum struct {
	N              int
	First, Last    time.Time
	RankIC         *float64
	HitRate, Naive *float64
}

// afterSlot leaves out what became known after something later: the readers of the later one did not have it.
func afterSlot(points []series.Point) []series.Point {
	earliest := make([]int64, len(points)+1) // of the vintages from a point on
	earliest[len(points)] = math.MaxInt64
	for i := len(points) - 1; i >= 0; i-- {
		earliest[i] = min(earliest[i+1], points[i].VintageAt.Time().Unix())
	}
	return slices.DeleteFunc(slices.Clone(points), func(p series.Point) bool {
		i, _ := slices.BinarySearchFunc(points, p, func(a, b series.Point) int { return a.ObservedAt.Time().Compare(b.ObservedAt.Time()) })
		return p.VintageAt.Time().Unix() > earliest[i+1]
	})
}

// The pairing of signals with the outcomes, and the correlation of their ranks, worked out a second time in SQL.
func TestBacktestsAgreeWithSQL(t *testing.T) {
	t.Parallel()
	wti := func(tb testing.TB, set series.Set) series.Set {
		set["eia.RWTC"] = dailyPrices(tb, "wti-daily")
		return set
	}
	weekdays := func(day time.Time) bool { return day.Weekday() != time.Saturday && day.Weekday() != time.Sunday }
	for _, c := range []struct {
		name, id string
		steps    int
		set      func(testing.TB) series.Set
		target   series.ID // empty: the signal itself
	}{
		{"recorded crack spread", "crack-spread-321", 20, spotPrices, ""},
		{"recorded crude oil stocks", "eia-weekly-petroleum", 20, func(tb testing.TB) series.Set { return wti(tb, weeklyPetroleum(tb)) }, "eia.RWTC"},
		{"recorded gas prices", "lng-arbitrage", 3, func(tb testing.TB) series.Set { return pinkSheet(tb, "2026-03-03") }, "worldbank.NGAS_EUR"},
		{"recorded transits", "hormuz-transit", 20, func(tb testing.TB) series.Set { return wti(tb, portWatch(tb)) }, "eia.RWTC"},
		{"made-up prices, some of them late", "crack-spread-321", 20, func(testing.TB) series.Set {
			rng := rand.New(rand.NewPCG(7, 321))
			set := series.Set{
				"eia.RWTC":                       madeUp(rng, 60, 1.2, 2, weekdays),
				"eia.EER_EPMRU_PF4_Y35NY_DPG":    madeUp(rng, 1.8, 0.04, 3, weekdays),
				"eia.EER_EPD2DXL0_PF4_Y35NY_DPG": madeUp(rng, 2.1, 0.04, 3, weekdays),
			}
			for _, points := range set {
				for i := range points {
					points[i].VintageAt = points[i].ObservedAt.AddDate(0, 0, 2)
					if i%60 == 0 {
						points[i].VintageAt = points[i].ObservedAt.AddDate(0, 0, 3+rng.IntN(60))
					}
				}
			}
			return set
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set, d, at := c.set(t), definition(t, c.id), date("2026-12-31")
			arrived := series.Set{}
			for id, points := range set {
				arrived[id] = afterSlot(points)
			}
			track := d.Compute(arrived, at)
			target := arrived[c.target]
			if c.target == "" {
				for _, e := range track {
					target = append(target, series.Point{ObservedAt: e.ObservedAt, VintageAt: e.KnownAt, Value: e.Value})
				}
			}
			got, want := d.RunBacktest(set, at, signals.Arrivals{}), sumCases(t, track, target, c.steps)
			if got.N != want.N || !got.From.Equal(want.First) || !got.To.Equal(want.Last) || got.N < 50 {
				t.Errorf("%d cases from %v to %v, SQL has %d from %v to %v", got.N, got.From, got.To, want.N, want.First, want.Last)
			}
			for what, pair := range map[string]struct {
				got  float64
				want *float64
			}{
				"rank correlation": {got.RankIC, want.RankIC}, "hit rate": {got.HitRatePct, want.HitRate}, "naive forecast": {got.NaiveRankIC, want.Naive},
			} {
				if !agree(pair.got, pair.want) {
					t.Errorf("%s %v, SQL has %s", what, pair.got, show(pair.want))
				}
			}
			if !got.LookAheadSafe() {
				t.Error("a case looked ahead")
			}
			t.Logf("%d cases, rank correlation %.3f (%.3f to %.3f), out of sample %.3f (%.3f to %.3f), hits %.1f %%, naive %.3f, adjusted p %.3f",
				got.N, got.RankIC, got.Lo, got.Hi, got.OutOfSample.RankIC, got.OutOfSample.Lo, got.OutOfSample.Hi, got.HitRatePct, got.NaiveRankIC, got.AdjustedP)
		})
	}
}

// sumCases loads a track and its target and asks SQL. All four signals count against themselves: their sign is -1.
func sumCases(t *testing.T, track signals.Track, target []series.Point, steps int) caseSum {
	t.Helper()
	pool := database(t, caseTable)
	var estimates, prices [][]any
	for _, e := range track {
		var z any
		if !math.IsNaN(e.Z()) {
			z = e.Z()
		}
		estimates = append(estimates, []any{e.ObservedAt.Time(), e.KnownAt.Time(), z})
	}
	for _, p := range target {
		prices = append(prices, []any{p.ObservedAt.Time(), p.VintageAt.Time(), p.Value})
	}
	for table, load := range map[string]struct {
		columns []string
		rows    [][]any
	}{
		"estimates": {[]string{"day", "known", "z"}, estimates},
		"target":    {[]string{"day", "known", "value"}, prices},
	} {
		if _, err := pool.CopyFrom(t.Context(), pgx.Identifier{table}, load.columns, pgx.CopyFromRows(load.rows)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pool.Exec(t.Context(), priceTable); err != nil {
		t.Fatal(err)
	}
	rows, err := pool.Query(t.Context(), caseQuery, pgx.NamedArgs{"sign": -1.0, "steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[caseSum])
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// The publisher's own forecast is compared with the blend over the same years. The result says who wins, also where that is not the signal.
func TestTheForecastsOfNASSAloneAreCompared(t *testing.T) {
	t.Parallel()
	d := definition(t, "iowa-corn-yield")
	stages := 0
	whole := postgres.NewBacktest(d, d.RunBacktest(illinoisCorn(t), date("2025-06-01"), signals.Arrivals{}), "test")
	if *whole.Wins != signals.WinsSource {
		t.Errorf("%s wins the backtest, and NASS alone was nearer in every month", *whole.Wins)
	}
	for _, s := range whole.Skill {
		if s.Stage == "trend" {
			if s.SourceRMSE != nil || s.Wins != nil {
				t.Errorf("%+v", s)
			}
			continue
		}
		stages++
		if share := fmt.Sprintf("%.1f", *s.SourceRMSE); !strings.Contains(d.Brief, share) || *s.Wins != "source" {
			t.Errorf("%s: %s of NASS alone, %s wins: the brief says otherwise", s.Stage, share, *s.Wins)
		}
		t.Logf("%s: %d years, the blend %.2f, NASS alone %.2f: %s wins", s.Stage, s.N, *s.RMSE, *s.SourceRMSE, *s.Wins)
		if (*s.SourceRMSE <= *s.RMSE) != (*s.Wins == "source") {
			t.Errorf("%s: %v and %v, and %s wins", s.Stage, *s.RMSE, *s.SourceRMSE, *s.Wins)
		}
	}
	if stages != 4 {
		t.Errorf("%d stages have a forecast of NASS, want 4", stages)
	}
}

// Momentum has a sign, and its opposite is a rule just as simple: of the crack spread it relates more to what comes than the signal does.
func TestTheOppositeOfMomentumBeatsTheCrackSpread(t *testing.T) {
	t.Parallel()
	r := definition(t, "crack-spread-321").RunBacktest(wednesdays(spotPrices(t)), date("2025-12-30"), signals.Arrivals{})
	for _, ic := range []float64{r.RankIC, r.BestRuleIC} {
		if share := fmt.Sprintf("%.3f", ic); !strings.Contains(definition(t, "crack-spread-321").Brief, share) {
			t.Errorf("the brief does not state %s", share)
		}
	}
	t.Logf("the signal %.3f, the naive forecast %.3f, the best rule %.3f: %s wins; p %.3f", r.RankIC, r.NaiveRankIC, r.BestRuleIC, r.Wins(), r.P)
	if r.Wins() != signals.WinsRule || !strings.HasPrefix(r.BestRule, "the opposite of") || r.BestRuleIC != -r.NaiveRankIC {
		t.Errorf("%+v", r)
	}
}
