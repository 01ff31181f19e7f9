// The signals and backtests of reference.py in SQL with window functions, for DuckDB: see peer.mjs. Means and spreads are sums over frames on
// a calendar of all days. t and p-values are left out.
import { AT, CORES, inputs, require, serve, targets } from './peer.mjs'

const { DuckDBInstance } = require('@duckdb/node-api')
const db = await (await DuckDBInstance.create(':memory:', { threads: String(CORES) })).connect()
await db.run('set asof_loop_join_threshold = 0') // it expects few rows where there are ten thousand, and would compare each with each

for (const { name, day, value, known } of inputs()) {
  await db.run(`create table "${name}" (day bigint, value double, known bigint)`)
  const appender = await db.createAppender(name)
  for (let i = 0; i < day.length; i++) {
    appender.appendBigInt(BigInt(day[i]))
    appender.appendDouble(value[i])
    appender.appendBigInt(BigInt(known[i]))
    appender.endRow()
  }
  appender.closeSync()
}

// The points that became known before or with every later one.
const arrived = (name) =>
  `(select * from "${name}" qualify known <= min(known) over (order by day rows between current row and unbounded following))`

// back is how many days before a row its month and day of k years before lies; k may be an expression.
const back = (k) => `(day - date_diff('day', date '1970-01-01', (date '1970-01-01' + day::int - to_years((${k})::int))::date))`

// seasons adds baseline and scale to rows of day and v: of the values within reach days of month and day, in those of the given years that have
// at least least of them, where these are three or more.
function seasons(rows, years, reach, least) {
  const all = years.map((_, i) => i)
  const enough = (i) => `case when ${years[i]} > 0 and s${i}.n >= ${least} then`
  const pooled = (x) => all.map((i) => `${enough(i)} s${i}.${x} else 0 end`).join(' + ')
  return `
    centred as (select *, v - avg(v) over () as x, avg(v) over () as middle, year(date '1970-01-01' + day::int) as y from ${rows}),
    calendar as (select range as centre from range((select min(day) - ${reach} from centred), (select max(day) + ${reach + 1} from centred))),
    samples as (select centre, count(x) over w as n, coalesce(sum(x) over w, 0) as total, coalesce(sum(x * x) over w, 0) as squares
      from calendar left join centred on centre = day window w as (order by centre rows between ${reach} preceding and ${reach} following)),
    pooled as (select centred.*, ${['n', 'total', 'squares'].map((x) => `${pooled(x)} as ${x}`).join(', ')}, ${all.map((i) => `${enough(i)} 1 else 0 end`).join(' + ')} as matched
      from centred ${all.map((i) => `left join samples s${i} on s${i}.centre = day - ${back(years[i])}`).join(' ')}),
    track as materialized (select day, known, v, lo, hi, case when matched >= 3 then total / n + middle end as baseline,
      case when matched >= 3 then sqrt(greatest(squares - total * total / n, 0) / (n - 1)) end as scale from pooled)`
}

// weekdays counts the days from Monday to Friday from Monday 1969-12-29 to a day.
const weekdays = (day) => `(5 * ((${day} + 3) // 7) + least((${day} + 3) % 7 + 1, 5))`

const signals = {
  'crack-spread-321': (from) => `
    legs as (select day, greatest(c.known, g.known, d.known) as known, (2 * 42 * g.value + 42 * d.value - 3 * c.value) / 3 as v
      from ${from('eia.RWTC')} c join ${from('eia.EER_EPMRU_PF4_Y35NY_DPG')} g using (day) join ${from('eia.EER_EPD2DXL0_PF4_Y35NY_DPG')} d using (day)),
    steps as (select *, v - lag(v) over (order by day) as step,
      case when lead(day) over (order by day) is null then ${AT} else least(known, (day + 14) * 86400) end // 86400 as read from legs),
    spreads as (select *, case when count(step) over w = 60 then 1.645 * stddev_samp(step) over w end
      * sqrt(greatest(${weekdays('read')} - ${weekdays('day')}, 0)) as half
      from steps window w as (order by day rows between 59 preceding and current row)),
    bounded as (select day, known, v, v - half as lo, v + half as hi from spreads),
    ${seasons('bounded', [1, 2, 3, 4, 5], 15, 10)}`,
  'hormuz-transit': (from) => `
    weeks as (select day, max(known) over w as known, avg(value) over w as v, day - lag(day, 6) over (order by day) as span
      from ${from('portwatch.chokepoint6.n_total')} window w as (order by day rows between 6 preceding and current row)),
    bounded as (select day, known, v, greatest(0, (greatest(0, sqrt(7 * v + 0.375) - 3.45) ** 2 - 0.375) / 7) as lo,
      greatest(0, ((sqrt(7 * v + 0.375) + 1.7) ** 2 - 0.375) / 7) as hi from weeks where span = 6),
    ${seasons('bounded', [2019, 2020, 2021, 2022, 2023, 2024].map((y) => `(y - ${y})`), 15, 16)}`,
  'eia-weekly-petroleum': (from) => `
    changes as (select day, known, value as v, case when day - lag(day) over o = 7 then value - lag(value) over o end as change,
      ${[1, 2, 3, 4, 5].map((k) => `${back(k)} as back${k}`).join(', ')} from ${from('eia.WCESTUS1')} window o as (order by day)),
    matched as (select *, ${[1, 2, 3, 4, 5].map((k) => `first_value(v) over w${k} - v as v${k}, first_value(change) over w${k} as c${k}`).join(', ')}
      from changes window ${[1, 2, 3, 4, 5].map((k) => `w${k} as (order by day range between (back${k} + 3) preceding and (back${k} - 3) preceding)`).join(', ')}),
    stands as (select *, ${['v', 'c'].map((x) => `list_filter([${[1, 2, 3, 4, 5].map((k) => x + k)}], lambda x: x is not null) as ${x}s`).join(', ')} from matched),
    surprises as (select *, change - case when len(cs) >= 3 then list_avg(cs) end as surprise from stands),
    quantiles as (select *, count(surprise) over w as n, quantile_disc(surprise, [0.05, 0.95]) over w as q
      from surprises window w as (order by day range between (back5 - 1) preceding and current row)),
    track as materialized (select day, known, v, case when n >= 104 then v + q[1] end as lo, case when n >= 104 then v + q[2] end as hi,
      case when len(vs) >= 3 then v + list_avg(vs) end as baseline, case when len(vs) >= 3 then list_stddev_samp(vs) end as scale from quantiles)`,
}

const rank = (x, of = '') => `(rank() over (${of} order by ${x}) + (count(*) over (partition by ${of ? of.replace('partition by ', '') + ', ' : ''}${x}) - 1) / 2.0)`

const backtest = (signal, target) => `
  with ${signal(arrived)},
  aims as (select day * 86400 as begins, known, v from ${target ? `(select day, known, value as v from ${arrived(target)})` : 'track'}),
  aimed as materialized (select begins, known, v, row_number() over o as i, lead(v, 20) over o - v as happened, v - lag(v, 20) over o as moved from aims window o as (order by begins)),
  told as (select known, moved from aimed qualify lead(known) over (order by i) is distinct from known),
  reads as (select day, max(known) over (order by day) as known, case when scale > 0 then (baseline - v) / scale end as predicted from track),
  newest as (select * from reads qualify lead(known) over (order by day) is distinct from known),
  starts as (select newest.*, i, happened from newest asof join aimed on newest.known <= aimed.begins where happened is not null),
  lasts as (select * from starts qualify lead(i) over (order by day) is distinct from i),
  known_cases as (select lasts.* from lasts where predicted is not null),
  cases as materialized (select c.*, told.moved as naive, row_number() over (order by day) > count(*) over () // 2 as newer from known_cases c asof left join told on c.known >= told.known),
  whole as (select count(*) as n, corr(x, y) as ic, 100 * avg(case when predicted <> 0 and happened <> 0 then ((predicted > 0) = (happened > 0))::int end) as hits
    from (select *, ${rank('predicted')} as x, ${rank('happened')} as y from cases)),
  half as (select count(*) as n, corr(x, y) as ic from (select ${rank('predicted')} as x, ${rank('happened')} as y from cases where newer)),
  simple as (select corr(x, y) as ic from (select ${rank('naive')} as x, ${rank('happened')} as y from cases where naive is not null))
  select whole.n, whole.ic, whole.hits, half.n, half.ic, simple.ic from whole, half, simple`

await serve({
  compute: async (id, tested) => {
    const query = tested ? backtest(signals[id], targets[id]) : `with ${signals[id]((name) => `"${name}"`)} select v, lo, hi, baseline, scale from track order by day`
    await db.run(`create or replace temp table result as ${query}`)
  },
  read: async () => (await db.runAndReadAll('select columns(*)::double from result')).getColumns(),
})
