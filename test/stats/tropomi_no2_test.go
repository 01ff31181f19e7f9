package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/internal/series"
)

var no2Regions = []string{"yangtze", "pearl", "benelux_ruhr", "po", "delhi", "tokyo", "houston", "new_york"}

const no2Table = `
create table columns as
select q.series, q.day, extract(year from q.day)::int as year, extract(month from q.day)::int as month, ln(q.value) as log,
    coalesce(floor(v.value), 0) as version
from quotes q
left join quotes v on v.series = 'temis.NO2.version' and v.day = q.day
where q.series <> 'temis.NO2.version' and q.value > 0;
create table anomalies as
select c.series, c.day, c.year, c.log - avg(r.log) as anomaly, count(*) as years
from columns c
join columns r on r.series = c.series and r.month = c.month and r.version = c.version and r.year < c.year and r.year <> 2020
group by c.series, c.day, c.year, c.log;
create table months as
select day, year, avg(anomaly) as mean, coalesce(var_samp(anomaly) / count(*), 0) as variance, min(years) as years
from anomalies
join (select day, count(*) as regions, count(*) filter (where years >= 3) as of_three_years from anomalies group by day) as there using (day)
where regions >= 5 and (years >= 3 or of_three_years < 5) -- as the brief says it
group by day, year`

const no2Track = `
with pasts as (
    select day, mean, variance, years,
        count(*) filter (where years >= 3 and year <> 2020) over before as n,
        stddev_samp(mean) filter (where years >= 3 and year <> 2020) over before as sd
    from months
    window before as (order by day rows between unbounded preceding and 1 preceding)
), known as (
    select day, mean, years, case when years >= 3 and n >= 12 then sd end as sd,
        case when years >= 3 and n >= 12 then 1.645 * sqrt(sd * sd + variance) end as half
    from pasts
)
select day, (100 * exp(mean))::float8 as value, (100 * exp(mean - half))::float8 as lo, (100 * exp(mean + half))::float8 as hi,
    100::float8 as baseline, (sd * (100 * exp(mean) - 100) / mean)::float8 as scale, years::int as n
from known
order by day`

const no2Parts = `
select distinct on (series) split_part(series, '.', 3) as name, day, (100 * exp(anomaly))::float8 as value, 100::float8 as baseline,
    null::float8 as scale
from anomalies
order by series, day desc`

func TestTropomiNO2AgreesWithSQL(t *testing.T) {
	t.Parallel()
	made := func(seed uint64, holes int, stepIn string) series.Set {
		rng := rand.New(rand.NewPCG(seed, 8))
		set := series.Set{}
		for r, region := range no2Regions {
			id := series.ID("temis.NO2." + region)
			for day := date("2018-05-01"); day.Before(date("2036-04-01")); day = day.AddDate(0, 1, 0) {
				winter := math.Cos(2 * math.Pi * float64(day.Month()-1) / 12)
				v := float64(40+15*r) * (1 + 0.4*winter) * math.Exp(0.15*rng.NormFloat64())
				if rng.IntN(40) == 0 {
					v = -0.3 // noise around nothing
				}
				if rng.IntN(holes) > 0 {
					set[id] = append(set[id], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 2, r)), Value: math.Round(1000*v) / 1000})
				}
			}
		}
		for day := date("2018-05-01"); stepIn != "" && day.Before(date("2036-04-01")); day = day.AddDate(0, 1, 0) {
			version := 1.03
			if !day.Before(date(stepIn)) {
				version = 2.04
			}
			if rng.IntN(50) > 0 {
				set["temis.NO2.version"] = append(set["temis.NO2.version"], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 2, 0)), Value: version})
			}
		}
		return set
	}
	for _, c := range []struct {
		name string
		set  series.Set
	}{
		{"made-up columns", made(1, 30, "")},
		{"with many months of regions missing", made(2, 4, "2018-05-01")},
		{"with a new version of the product", made(3, 30, "2023-09-01")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := load(t, c.set, no2Table)
			d, at := definition(t, "tropomi-no2-economic"), date("2036-06-01")
			compare(t, d.Compute(c.set, at), query[estimate](t, pool, no2Track, at), "scale", "interval")
			compareParts(t, d.Components(c.set, at), query[part](t, pool, no2Parts, at))
		})
	}
}
