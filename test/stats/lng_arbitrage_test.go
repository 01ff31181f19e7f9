package stats

import (
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/series"
)

// marginTable holds all four margins, by the names of their components. The margin that is the signal has an empty name.
const marginTable = `
create table margins as
select routes.name, d.day, d.value - (1.15 * u.value + routes.fee) - routes.shipping - routes.regas as value
from (values
    ('', 'worldbank.NGAS_EUR', 3.00, 0.90, 0.40),
    ('asia_proxy_japan_import', 'worldbank.LNG_JP', 3.00, 2.00, 0.30),
    ('europe_short_run', 'worldbank.NGAS_EUR', 0, 0.90, 0.40),
    ('asia_proxy_short_run', 'worldbank.LNG_JP', 0, 2.00, 0.30)
) as routes (name, price, fee, shipping, regas)
join quotes d on d.series = routes.price and d.day >= date '2015-04-01'
join quotes u on u.series = 'worldbank.NGAS_US' and u.day = d.day
union all
select case series when 'worldbank.NGAS_US' then 'henry_hub' when 'worldbank.NGAS_EUR' then 'europe_gas' else 'japan_lng' end, day, value
from quotes;
alter table margins add primary key (name, day);
analyze margins;
create table medians as
select m.name, m.day, count(*) as n, percentile_cont(0.5) within group (order by b.value::float8) as median
from margins m
join margins b on b.name = m.name and b.day < m.day and b.day >= (m.day - interval '60 months')::date
group by m.name, m.day
having count(*) >= 36;
create table baselines as
select m.name, m.day, m.n, m.median, 1.4826 * percentile_cont(0.5) within group (order by abs(b.value::float8 - m.median)) as scale
from medians m
join margins b on b.name = m.name and b.day < m.day and b.day >= (m.day - interval '60 months')::date
group by m.name, m.day, m.n, m.median;
alter table baselines add primary key (name, day)`

const marginTrack = `
select day, value::float8, (value - 0.75)::float8 as lo, (value + 0.75)::float8 as hi,
    median as baseline, scale, coalesce(n, 0)::int as n
from margins
left join baselines using (name, day)
where name = ''
order by day`

const marginParts = `
with newest as (
    select distinct on (name) name, day, value::float8, median as baseline, scale
    from margins
    left join baselines using (name, day)
    where name <> ''
    order by name, day desc
)
select name, day, value, baseline, scale from newest
union all
select a.name, m.day, a.value, null, null
from (values
    ('assumed_hub_share', 115), ('assumed_tolling_fee', 3.00), ('assumed_shipping_europe', 0.90), ('assumed_shipping_asia', 2.00),
    ('assumed_regasification_europe', 0.40), ('assumed_regasification_asia', 0.30)
) as a (name, value)
cross join (select max(day) as day from margins where name = '') as m`

func TestLNGArbitrageAgreesWithSQL(t *testing.T) {
	t.Parallel()
	firstOfMonth := func(day time.Time) bool { return day.Day() == 1 }
	for _, c := range []struct {
		name string
		set  func(testing.TB) series.Set
	}{
		{"recorded prices", func(tb testing.TB) series.Set { return pinkSheet(tb, "2026-03-03") }},
		{"an earlier vintage of them", func(tb testing.TB) series.Set { return pinkSheet(tb, "2024-12-03") }},
		{"made-up prices", func(testing.TB) series.Set {
			rng := rand.New(rand.NewPCG(4, 60))
			return series.Set{
				"worldbank.NGAS_US":  madeUpBetween("2009-01-01", "2040-12-31", rng, 4, 0.4, 2, firstOfMonth),
				"worldbank.NGAS_EUR": madeUpBetween("2009-01-01", "2040-12-31", rng, 10, 1.3, 2, firstOfMonth),
				"worldbank.LNG_JP":   madeUpBetween("2009-01-01", "2040-12-31", rng, 12, 0.9, 2, firstOfMonth),
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := c.set(t)
			pool := load(t, set, marginTable)
			d, at := definition(t, "lng-arbitrage"), date("2041-01-05")
			compare(t, d.Compute(set, at), query[estimate](t, pool, marginTrack, at), "baseline", "scale")
			compareParts(t, d.Components(set, at), query[part](t, pool, marginParts, at))
		})
	}
}
