package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"
)

// no2ByBrief is the index of nitrogen dioxide as the brief of the signal states it. It was written from the brief alone, before its author had
// seen the code or the other SQL of this folder. The words next to each step are the brief's.
const no2ByBrief = `
create table means as
select split_part(q.series, '.', 3) as region, q.day, extract(year from q.day)::int as year, extract(month from q.day)::int as month,
       q.value as mean, floor(v.value) as version -- "the number before the point"
from quotes q
join quotes v on v.series = 'temis.NO2.version' and v.day = q.day
where q.series like 'temis.NO2.%' and q.series <> 'temis.NO2.version';

-- "ln(mean of the month) - mean over the reference years of ln(mean of the same month)"; "all years before its own but 2020"; "months of the
-- same version"; "a region has an anomaly if its mean is above zero and it has at least one reference year"
create table anomalies as
select m.region, m.day, ln(m.mean) - avg(ln(r.mean)) as anomaly, count(*)::int as years
from means m
join means r on r.region = m.region and r.month = m.month and r.year < m.year and r.year <> 2020 and r.version = m.version and r.mean > 0
where m.mean > 0
group by m.region, m.day, m.mean;

-- "where at least five have three reference years or more, only those count; otherwise all with an anomaly count"
create table counting as
select a.*
from anomalies a
join (select day, count(*) filter (where years >= 3) as full_ones, count(*) as regions from anomalies group by day) d using (day)
where d.regions >= 5 and (d.full_ones < 5 or a.years >= 3);

-- "mean of the anomalies of the regions that count"; "the standard error of the mean as the spread of the regions tells it"
create table months as
select day, avg(anomaly) as log_anomaly, stddev_samp(anomaly) / sqrt(count(*)::numeric) as error, min(years) as years
from counting group by day;

-- "the sample standard deviation of the index's own earlier log anomalies, without those of 2020; it needs twelve of them that rest on three
-- reference years"; "in a month in which a region that counts has fewer than three reference years the index is shown without z-score and
-- interval"
create view index as
select m.day, 100 * exp(m.log_anomaly) as value, m.log_anomaly, m.error, m.years,
       case when m.years >= 3 then
         (select case when count(*) >= 12 then stddev_samp(e.log_anomaly) end
          from months e where e.day < m.day and extract(year from e.day) <> 2020 and e.years >= 3)
       end as scale
from months m`

// no2Estimates has "z = log anomaly of the month / scale", "difference in percent = index - 100" and "100 * exp(log anomaly ± 1.645 *
// sqrt(s^2 + r^2))".
const no2Estimates = `
select day, value::float8, (log_anomaly / scale)::float8 as z,
       (100 * exp(log_anomaly - 1.645 * sqrt(scale ^ 2 + error ^ 2)))::float8 as lo,
       (100 * exp(log_anomaly + 1.645 * sqrt(scale ^ 2 + error ^ 2)))::float8 as hi
from index order by day`

// no2Estimate is a month as the brief makes it.
type no2Estimate struct {
	Day       time.Time
	Value     float64
	Z, Lo, Hi *float64
}

// columns are made-up monthly means of all regions: with seasons, months that are missing, cells without gas, months of few regions and a new
// version of the product.
func columns(rng *rand.Rand, regions []series.ID) series.Set {
	set := series.Set{}
	for _, id := range regions {
		if strings.HasSuffix(string(id), ".version") {
			continue
		}
		level := 3 + 5*rng.Float64()
		for month := date("2018-05-01"); month.Year() < 2044; month = month.AddDate(0, 1, 0) {
			few := month.Month() == time.November && month.Year()%4 == 0 && rng.IntN(2) == 0
			if few || rng.IntN(12) == 0 {
				continue
			}
			value := level * math.Exp(0.4*math.Cos(float64(month.Month())*math.Pi/6)+0.15*rng.NormFloat64())
			if rng.IntN(40) == 0 {
				value = -value / 20
			}
			set[id] = append(set[id], series.Point{ObservedAt: series.InstantOf(month), VintageAt: series.InstantOf(month.AddDate(0, 1, 20)), Value: math.Round(value*1e4) / 1e4})
		}
	}
	for month := date("2018-05-01"); month.Year() < 2044; month = month.AddDate(0, 1, 0) {
		version := 2.3
		switch {
		case month.Year() >= 2033:
			version = 3.1
		case month.Year() >= 2024:
			version = 2.4
		}
		set["temis.NO2.version"] = append(set["temis.NO2.version"],
			series.Point{ObservedAt: series.InstantOf(month), VintageAt: series.InstantOf(month.AddDate(0, 1, 20)), Value: version})
	}
	return set
}

func TestTheIndexOfNO2IsWhatItsBriefSays(t *testing.T) {
	t.Parallel()
	d := definition(t, "tropomi-no2-economic")
	set := columns(rand.New(rand.NewPCG(19, 8)), d.Inputs)
	want := query[no2Estimate](t, load(t, set, no2ByBrief), no2Estimates, date("2044-01-01"))
	track := d.Compute(set, date("2044-03-01"))
	if len(track) != len(want) {
		t.Fatalf("%d months have an index, the brief gives %d", len(track), len(want))
	}
	scored := 0
	for i, e := range track {
		w := want[i]
		percent := w.Value - 100
		if w.Z != nil {
			scored++
		}
		for _, f := range []struct {
			name string
			got  float64
			want *float64
		}{
			{"index", e.Value, &w.Value}, {"difference in percent", e.DeltaPct(), &percent}, {"z-score", e.Z(), w.Z}, {"lower bound", e.Lo, w.Lo}, {"upper bound", e.Hi, w.Hi},
		} {
			if !e.ObservedAt.Time().Equal(w.Day) || !agree(f.got, f.want) {
				t.Fatalf("%v: the %s is %v, by the brief %s on %v", e.ObservedAt, f.name, f.got, show(f.want), w.Day)
			}
		}
	}
	if scored < 100 || scored > len(track)-40 {
		t.Fatalf("%d of %d months have a z-score: the data do not test what they should", scored, len(track))
	}
}
