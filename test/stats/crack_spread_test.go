package stats

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"
)

const crackTable = `
create table spread as
select c.day, greatest(c.known, g.known, d.known) as known, (2 * 42 * g.value + 42 * d.value - 3 * c.value) / 3 as value
from quotes c
join quotes g on g.day = c.day and g.series = 'eia.EER_EPMRU_PF4_Y35NY_DPG'
join quotes d on d.day = c.day and d.series = 'eia.EER_EPD2DXL0_PF4_Y35NY_DPG'
where c.series = 'eia.RWTC';
alter table spread add primary key (day);
analyze spread`

// crackTrack wants the instant of the snapshot's day, and the days of the season on either side. Only years with ten values and more in the
// window enter; three of five are needed.
const crackTrack = `
with steps as (
    select day, known, value, value - lag(value) over (order by day) as change, lead(day) over (order by day) is null as newest
    from spread
), walks as (
    select day, case when count(change) over last_60 = 60 then stddev_samp(change) over last_60 end as step,
        case when newest then @at::date else least(known, day + 14) end as read_on
    from steps
    window last_60 as (order by day rows between 59 preceding and current row)
), bands as (
    select day, 1.645 * step * sqrt((
        select count(*) from generate_series(day + 1, read_on, interval '1 day') as passed where extract(isodow from passed) < 6
    )::numeric) as half
    from walks
), years as (
    select s.day, k, count(*) as n, sum(w.value) as total, sum(w.value * w.value) as squares
    from spread s
    cross join generate_series(1, 5) as k
    join spread w on w.day between (s.day - make_interval(years => k))::date - @reach and (s.day - make_interval(years => k))::date + @reach
    group by s.day, k
), season as (
    select day, sum(n) as n, sum(total) / sum(n) as mean,
        sqrt((sum(squares) - sum(total) * sum(total) / sum(n)) / (sum(n) - 1)) as sd
    from years
    where n >= 10
    group by day
    having count(*) >= 3
)
select s.day, s.value::float8, (s.value - half)::float8 as lo, (s.value + half)::float8 as hi,
    mean::float8 as baseline, sd::float8 as scale, coalesce(n, 0)::int as n
from spread s
left join bands using (day)
left join season using (day)
order by s.day`

// crackParts are the newest day's legs, each against its own season, and the spread against the 252 values before it.
const crackParts = `
with newest as (
    select max(day) as day from spread
), before as (
    select value from spread order by day desc offset 1 limit 252
)
select case series
        when 'eia.RWTC' then 'wti_cushing'
        when 'eia.EER_EPMRU_PF4_Y35NY_DPG' then 'gasoline_ny_harbor'
        else 'ulsd_ny_harbor'
    end as name,
    day, value::float8, case when years >= 3 then mean end::float8 as baseline, case when years >= 3 then sd end::float8 as scale
from (
    select series, day, value, count(distinct k) filter (where n >= 10) as years, avg(w) filter (where n >= 10) as mean,
        stddev_samp(w) filter (where n >= 10) as sd
    from (
        select q.series, q.day, q.value, k, w.value as w, count(*) over (partition by q.series, k) as n
        from newest
        join quotes q using (day)
        cross join generate_series(1, 5) as k
        join quotes w on w.series = q.series
            and w.day between (q.day - make_interval(years => k))::date - @reach and (q.day - make_interval(years => k))::date + @reach
    ) as near
    group by series, day, value
) as legs
union all
select 'previous_252_days', s.day, s.value::float8, avg(b.value)::float8, stddev_samp(b.value)::float8
from newest
join spread s using (day)
cross join before b
group by s.day, s.value`

// crackReach are the days of the season on either side, as readers are told.
func crackReach(t *testing.T, technique string) string {
	t.Helper()
	_, rest, _ := strings.Cut(technique, "within ")
	days, _, ok := strings.Cut(rest, " calendar days")
	if _, err := strconv.Atoi(days); !ok || err != nil {
		t.Fatalf("the technique of the crack spread does not say how far its season reaches: %s", technique)
	}
	return days
}

func TestCrackSpreadAgreesWithSQL(t *testing.T) {
	t.Parallel()
	trading := func(day time.Time) bool { return day.Weekday() != time.Saturday && day.Weekday() != time.Sunday }
	made := func(seed uint64) func(testing.TB) series.Set {
		return func(testing.TB) series.Set {
			rng := rand.New(rand.NewPCG(seed, 321))
			return series.Set{
				"eia.RWTC":                       madeUp(rng, 60, 1.2, 2, trading),
				"eia.EER_EPMRU_PF4_Y35NY_DPG":    madeUp(rng, 1.8, 0.04, 3, trading),
				"eia.EER_EPD2DXL0_PF4_Y35NY_DPG": madeUp(rng, 2.1, 0.04, 3, trading),
			}
		}
	}
	for _, c := range []struct {
		name string
		set  func(testing.TB) series.Set
		at   time.Time
	}{
		{"recorded prices", spotPrices, date("2025-12-31")},
		{"made-up prices", made(1), date("2015-03-14")},
		{"other made-up prices", made(2), date("2015-05-01")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := c.set(t)
			pool := load(t, set, crackTable)
			d := definition(t, "crack-spread-321")
			sql := strings.NewReplacer("@reach", crackReach(t, d.Technique)).Replace
			compare(t, d.Compute(set, c.at), query[estimate](t, pool, sql(crackTrack), c.at), "baseline", "scale", "interval")
			compareParts(t, d.Components(set, c.at), query[part](t, pool, sql(crackParts), c.at))
		})
	}
}
