package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tidemark/internal/series"
)

// cornTable goes stage by stage: trends and their errors, then the weights and blends that follow from them, then the blends' errors.
// Student's t is a table of the 95 % quantiles, worked out from the closed forms for whole degrees of freedom in fifty digits.
const cornTable = `
create table student (degrees int primary key, t float8 not null);
insert into student values
    (5, 2.015048373333024), (6, 1.943180280515303), (7, 1.894578605090007), (8, 1.859548037530898), (9, 1.833112932656237),
    (10, 1.812461122811676), (11, 1.795884818704044), (12, 1.782287555649320), (13, 1.770933395986873), (14, 1.761310135774892),
    (15, 1.753050355692574), (16, 1.745883676276250), (17, 1.739606726075073), (18, 1.734063606617539), (19, 1.729132811521370),
    (23, 1.713871527747048);
create function type6(errors float8[], p float8) returns float8 language sql immutable as $$
    select errors[j] + (rank - j) * (errors[j + 1] - errors[j])
    from (select p * (cardinality(errors) + 1) as rank, floor(p * (cardinality(errors) + 1))::int as j) as r
$$;
create table finals as
select extract(year from day)::int as year, known, value::float8 from quotes where series = 'nass.IA.CORN.YIELD.FINAL';
create table forecasts as
select extract(year from day)::int as year, extract(month from day)::int as month, day, value::float8
from quotes where series = 'nass.IA.CORN.YIELD.FORECAST';
create table trends as
select year, intercept + slope * year as value, slope,
    t * sqrt((syy - sxy * sxy / sxx) / 23 * (1 + 1 / 25.0 + (year - middle) * (year - middle) / sxx)) as half
from (select generate_series(min(year), max(year) + 1) as year from finals) as years
cross join lateral (
    select count(*) as n, regr_intercept(value, x) as intercept, regr_slope(value, x) as slope,
        regr_sxx(value, x) as sxx, regr_syy(value, x) as syy, regr_sxy(value, x) as sxy, avg(x)::float8 as middle
    from (select f.year::float8 as x, f.value from finals f where f.year < years.year order by f.year desc limit 25) as last_25
) as line
join student on degrees = 23
where n = 25;
create table trend_errors as
select year, f.value - t.value as error, (f.value - t.value) / t.value as share from finals f join trends t using (year);
create table trend_pasts as
select year, count(error) as n, avg(error * error) as square, array_agg(share order by share) filter (where share is not null) as shares
from (select year from trends union select year from forecasts) as years
left join lateral (
    select e.error, e.share from trend_errors e where e.year < years.year order by e.year desc limit 25
) as last_25 on true
group by year;
create table blends as
select f.year, f.month, f.day, f.value as forecast, coalesce(w.weight, 0.5) as weight,
    case when t.value is null then f.value else t.value + coalesce(w.weight, 0.5) * (f.value - t.value) end as value
from forecasts f
left join trends t using (year)
left join trend_pasts p using (year)
left join lateral (
    select case when count(*) >= 5 and p.n >= 5 then p.square / (p.square + avg(error * error)) end as weight
    from (
        select o.value - e.value as error
        from forecasts e join finals o using (year)
        where e.month = f.month and e.year < f.year
        order by e.year desc
        limit 25
    ) as last_25
) as w on true;
create table bands as
select b.year, b.month,
    case when n >= 20 then type6(errors, 0.05) when n >= 5 then -s.t * sqrt(square) else -t.half end as below,
    case when n >= 20 then type6(errors, 0.95) when n >= 5 then s.t * sqrt(square) else t.half end as above
from blends b
left join trends t using (year)
cross join lateral (
    select count(*) as n, array_agg(error order by error) as errors, avg(error * error) as square
    from (
        select o.value - e.value as error
        from blends e join finals o using (year)
        where e.month = b.month and e.year < b.year
        order by e.year desc
        limit 25
    ) as last_25
) as past
left join student s on s.degrees = n`

const cornTrack = `
with points as (
    select t.year, make_date(t.year, 5, 1) as day, t.value,
        t.value + case when p.n >= 20 then t.value * type6(p.shares, 0.05) else -t.half end as lo,
        t.value + case when p.n >= 20 then t.value * type6(p.shares, 0.95) else t.half end as hi
    from trends t
    join trend_pasts p using (year)
    join finals f on f.year = t.year - 1
    where make_date(t.year, 5, 1) <= @at::date
    union all
    select year, day, value, value + below, value + above from blends join bands using (year, month)
    union all
    select year, make_date(year + 1, 1, 1), value, null, null from finals
)
select p.day, p.value, p.lo, p.hi, t.value as baseline,
    case when e.n >= 20 then sqrt(e.square) end as scale, case when t.value is null then 0 else 25 end as n
from points p
left join trends t using (year)
left join trend_pasts e using (year)
order by p.day`

const cornParts = `
with newest as (
    select b.year, b.day, b.forecast, b.weight, t.value as trend, t.slope, case when e.n >= 20 then sqrt(e.square) end as scale
    from blends b
    join trends t using (year)
    join trend_pasts e using (year)
    order by b.day desc
    limit 1
)
select 'trend_25_years' as name, day, trend as value, null::float8 as baseline, null::float8 as scale from newest
union all
select 'trend_slope', day, slope, null, null from newest
union all
select 'nass_forecast', day, forecast, trend, scale from newest
union all
select 'forecast_share', day, 100 * weight, null, null from newest
union all
(select 'newest_final', make_date(year, 1, 1), value, null, null from finals order by year desc limit 1)`

func TestIowaCornYieldAgreesWithSQL(t *testing.T) {
	t.Parallel()
	made := func(testing.TB) series.Set {
		rng := rand.New(rand.NewPCG(6, 25))
		set := series.Set{}
		for year := 1880; year <= 2030; year++ {
			trend := 40 + 1.1*float64(year-1880)
			yield := math.Round(10*(trend+0.08*trend*rng.NormFloat64())) / 10
			for month := 8; month <= 11; month++ {
				if year >= 1955 && rng.IntN(12) > 0 { // now and then a report is cancelled
					set[cornForecast] = append(set[cornForecast], series.Point{
						ObservedAt: series.InstantOf(date(fmt.Sprintf("%d-%02d-01", year, month))), VintageAt: series.InstantOf(date(fmt.Sprintf("%d-%02d-12", year, month))),
						Value: math.Round(yield + float64(12-month)*3*rng.NormFloat64()),
					})
				}
			}
			if year < 2030 && year != 1901 && year != 1990 { // two finals are missing
				set[cornFinal] = append(set[cornFinal], crop(year, yield))
			}
		}
		return set
	}
	for _, c := range []struct {
		name, at string
		set      func(testing.TB) series.Set
		parts    bool
	}{
		{"recorded yields of Iowa, without forecasts", "2012-06-01", iowaCorn, false},
		{"recorded yields and forecasts of Illinois", "2025-09-20", illinoisCorn, true},
		{"made-up yields", "2030-11-20", made, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set, at := c.set(t), date(c.at)
			pool := load(t, set, cornTable)
			d := definition(t, "iowa-corn-yield")
			compare(t, d.Compute(set, at), query[estimate](t, pool, cornTrack, at), "baseline", "scale", "interval")
			if c.parts {
				compareParts(t, d.Components(set, at), query[part](t, pool, cornParts, at))
			}
		})
	}
}
