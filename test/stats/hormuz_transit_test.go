package stats

import (
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/series"
)

const transitTable = `
create table means as
select series, day, total / 7 as value
from (
    select series, day, sum(value) over week as total, count(*) over week as n
    from quotes
    window week as (partition by series order by day range between interval '6 days' preceding and current row)
) as weeks
where n = 7;
alter table means add primary key (series, day);
analyze means;
create table seasons as
select series, day, sum(n) as n, sum(total) / sum(n) as mean,
    sqrt((sum(squares) - sum(total) * sum(total) / sum(n)) / (sum(n) - 1)) as sd
from (
    select m.series, m.day, year, count(*) as n, sum(w.value) as total, sum(w.value * w.value) as squares
    from means m
    cross join generate_series(2019, least(2024, extract(year from m.day)::int - 1)) as year
    cross join lateral (select (m.day - make_interval(years => extract(year from m.day)::int - year))::date as centre) as c
    join means w on w.series = m.series and w.day between centre - 15 and centre + 15
    group by m.series, m.day, year
) as years
where n >= 16
group by series, day
having count(*) >= 3;
alter table seasons add primary key (series, day)`

const transitTrack = `
select m.day, m.value::float8,
    greatest(0, (power(greatest(0, sqrt(7 * value + 0.375) - 3.45), 2) - 0.375) / 7)::float8 as lo,
    greatest(0, (power(sqrt(7 * value + 0.375) + 1.7, 2) - 0.375) / 7)::float8 as hi,
    mean::float8 as baseline, sd::float8 as scale, coalesce(n, 0)::int as n
from means m
left join seasons using (series, day)
where m.series = 'portwatch.chokepoint6.n_total'
order by m.day`

const transitParts = `
(
    select 'tankers' as name, day, value::float8, mean::float8 as baseline, sd::float8 as scale
    from means
    left join seasons using (series, day)
    where series = 'portwatch.chokepoint6.n_tanker'
    order by day desc
    limit 1
)
union all
select 'previous_364_days', m.day, m.value::float8, b.value::float8, null
from means m
join means b on b.series = m.series and b.day = m.day - 364
where m.series = 'portwatch.chokepoint6.n_total' and m.day = (select max(day) from means where series = m.series)
union all
select 'days_of_bad_coverage', newest.day, (count(*) filter (where t.value > 0 and c.value = 0))::float8, null, null
from (select max(day) as day from means where series = 'portwatch.chokepoint6.n_total') as newest
join quotes t on t.series = 'portwatch.chokepoint6.n_tanker' and t.day between newest.day - 6 and newest.day
join quotes c on c.series = 'portwatch.chokepoint6.capacity_tanker' and c.day = t.day
group by newest.day
having count(*) = 7`

func TestHormuzTransitAgreesWithSQL(t *testing.T) {
	t.Parallel()
	everyDay := func(time.Time) bool { return true }
	for _, c := range []struct {
		name string
		set  func(testing.TB) series.Set
	}{
		{"recorded days", portWatch},
		{"made-up days", func(testing.TB) series.Set {
			rng := rand.New(rand.NewPCG(5, 7))
			return series.Set{
				"portwatch.chokepoint6.n_total":  madeUpBetween("2018-11-03", "2029-02-28", rng, 400, 3, 0, everyDay),
				"portwatch.chokepoint6.n_tanker": madeUpBetween("2018-11-03", "2029-02-20", rng, 200, 2, 0, everyDay),
				// without the tons that tankers carry: the coverage is not known
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := c.set(t)
			pool := load(t, set, transitTable)
			d, at := definition(t, "hormuz-transit"), date("2029-03-05")
			compare(t, d.Compute(set, at), query[estimate](t, pool, transitTrack, at), "baseline", "scale")
			compareParts(t, d.Components(set, at), query[part](t, pool, transitParts, at))
		})
	}
}
