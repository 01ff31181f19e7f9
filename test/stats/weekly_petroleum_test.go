package stats

import (
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/series"
)

const weekTable = `
create table weeks as
select series, day, value, value - lag(value) over s as change, day - lag(day) over s as apart
from quotes
window s as (partition by series order by day);
alter table weeks add primary key (series, day);
analyze weeks;
create table seasons as
select s.series, s.day, count(*) as n, avg(w.value) as mean, stddev_samp(w.value) as sd, min(w.value) as low, max(w.value) as high,
    count(w.change) filter (where w.apart = 7) as changes, avg(w.change) filter (where w.apart = 7) as change_mean,
    stddev_samp(w.change) filter (where w.apart = 7) as change_sd
from weeks s
cross join generate_series(1, 5) as k
join weeks w on w.series = s.series
    and w.day between (s.day - make_interval(years => k))::date - 3 and (s.day - make_interval(years => k))::date + 3
group by s.series, s.day;
alter table seasons add primary key (series, day);
analyze seasons;
create table surprises as
select w.series, w.day, w.change - s.change_mean as surprise
from weeks w
join seasons s using (series, day)
where w.apart = 7 and s.changes >= 3;
alter table surprises add primary key (series, day);
analyze surprises`

const weekTrack = `
select w.day, w.value::float8, (w.value + tails.q[1])::float8 as lo, (w.value + tails.q[2])::float8 as hi,
    s.mean::float8 as baseline, s.sd::float8 as scale, coalesce(s.n, 0)::int as n
from weeks w
left join seasons s on s.series = w.series and s.day = w.day and s.n >= 3
left join lateral (
    select percentile_disc(array[0.05, 0.95]) within group (order by surprise) as q
    from surprises p
    where p.series = w.series and p.day > (w.day - make_interval(years => 5))::date and p.day <= w.day
    having count(*) >= 104
) as tails on true
where w.series = 'eia.WCESTUS1'
order by w.day`

// weekParts selects the other components: they belong to the newest week of crude oil, and to the newest weeks of the other series.
const weekParts = `
with newest as (
    select distinct on (series) series, day, value, change, mean, sd, low, high, change_mean, change_sd, surprise
    from weeks
    join seasons using (series, day)
    join surprises using (series, day)
    order by series, day desc
)
select 'week_change' as name, day, change::float8 as value, change_mean::float8 as baseline, change_sd::float8 as scale
from newest where series = 'eia.WCESTUS1'
union all
select 'seasonal_surprise', day, surprise::float8, 0, change_sd::float8 from newest where series = 'eia.WCESTUS1'
union all
select 'five_year_low', day, low::float8, null, null from newest where series = 'eia.WCESTUS1'
union all
select 'five_year_high', day, high::float8, null, null from newest where series = 'eia.WCESTUS1'
union all
select 'gasoline_stocks', day, value::float8, mean::float8, sd::float8 from newest where series = 'eia.WGTSTUS1'
union all
select 'distillate_stocks', day, value::float8, mean::float8, sd::float8 from newest where series = 'eia.WDISTUS1'
union all
select 'refinery_utilisation', day, value::float8, mean::float8, sd::float8 from newest where series = 'eia.WPULEUS3'`

func TestWeeklyPetroleumAgreesWithSQL(t *testing.T) {
	t.Parallel()
	friday := func(day time.Time) bool { return day.Weekday() == time.Friday }
	for _, c := range []struct {
		name string
		set  func(testing.TB) series.Set
	}{
		{"recorded weeks", weeklyPetroleum},
		{"made-up weeks", func(testing.TB) series.Set {
			rng := rand.New(rand.NewPCG(3, 52))
			return series.Set{
				"eia.WCESTUS1": madeUp(rng, 400_000, 3_500, 0, friday),
				"eia.WGTSTUS1": madeUp(rng, 220_000, 2_500, 0, friday),
				"eia.WDISTUS1": madeUp(rng, 130_000, 2_000, 0, friday),
				"eia.WPULEUS3": madeUp(rng, 90, 0.8, 1, friday),
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := c.set(t)
			pool := load(t, set, weekTable)
			d, at := definition(t, "eia-weekly-petroleum"), date("2026-05-14")
			compare(t, d.Compute(set, at), query[estimate](t, pool, weekTrack, at), "baseline", "scale", "interval")
			compareParts(t, d.Components(set, at), query[part](t, pool, weekParts, at))
		})
	}
}
