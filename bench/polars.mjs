// The signals and backtests of reference.py as lazy frames of polars: see peer.mjs. Means and spreads are differences of running sums on a
// calendar of all days. t and p-values are left out.
import { AT, CORES, inputs, require, serve, targets } from './peer.mjs'

process.env.POLARS_MAX_THREADS = String(CORES) // read when the library is loaded
const pl = require('nodejs-polars')
const { col, lit, when } = pl

const frames = {}
for (const { name, day, value, known } of inputs()) {
  frames[name] = pl.DataFrame({ day, value, known }).withColumns(col('day').cast(pl.Int64), col('known').cast(pl.Int64))
}
const loaded = (name) => frames[name].lazy()

// The points that became known before or with every later one.
const arrived = (name) => loaded(name).filter(col('known').ltEq(col('known').cumMin(true)))

const whole = (x, by) => x.div(by).floor().cast(pl.Int64)
const leapDays = (y) => whole(y, 4).sub(whole(y, 100)).add(whole(y, 400))
const isLeap = (y) => y.modulo(4).eq(0).and(y.modulo(100).neq(0).or(y.modulo(400).eq(0)))
const date = () => col('day').cast(pl.Int32).cast(pl.Date)

// dated adds year, month and day of the month.
const dated = (frame) =>
  frame.withColumns(date().dt.year().cast(pl.Int64).alias('y'), date().dt.month().cast(pl.Int64).alias('m'), date().dt.day().cast(pl.Int64).alias('d'))

// yearsBefore is the day with the same month and day k years earlier, the 28th for a 29 February that is not there.
function yearsBefore(k) {
  const last = when(col('m').ltEq(2)).then(col('y').sub(1)).otherwise(col('y'))
  const missing = col('m').eq(2).and(col('d').eq(29)).and(isLeap(col('y').sub(k)).not())
  return col('day').sub(lit(365).mul(k)).sub(leapDays(last)).add(leapDays(last.sub(k))).sub(when(missing).then(lit(1)).otherwise(lit(0))).cast(pl.Int64)
}

// seasons adds baseline and scale to rows of day and v: of the values within reach days of month and day, in those of the given years that have
// at least least of them, where these are three or more.
function seasons(frame, years, reach, least) {
  const rows = dated(frame).withColumns(col('v').sub(col('v').mean()).alias('x'), col('v').mean().alias('middle'))
  const days = rows
    .select(pl.intRange(col('day').min().sub(reach), col('day').max().add(reach + 1)).alias('centre'))
    .join(rows.select(col('day'), lit(1).alias('one'), col('x')), { leftOn: 'centre', rightOn: 'day', how: 'left' })
  const around = (x) => {
    const sums = x.fillNull(0).cumSum()
    return sums.shift(-reach).sub(sums.shift(reach + 1).fillNull(0))
  }
  const samples = days.select(col('centre'), around(col('one')).alias('n'), around(col('x')).alias('sum'), around(col('x').mul(col('x'))).alias('square'))
  let out = rows.withColumns(...years.map((k, i) => yearsBefore(k).alias('centre' + i)))
  years.forEach((_, i) => {
    out = out.join(samples.select(col('centre'), ...['n', 'sum', 'square'].map((x) => col(x).alias(x + i))), { leftOn: 'centre' + i, rightOn: 'centre', how: 'left' })
  })
  const enough = years.map((k, i) => col('n' + i).gtEq(least).and(typeof k === 'number' ? lit(true) : k.gt(0)))
  const pooled = (x) => pl.sumHorizontal(years.map((_, i) => when(enough[i]).then(x === 'one' ? lit(1) : col(x + i)).otherwise(lit(0))))
  return out
    .withColumns(pooled('n').alias('n'), pooled('sum').alias('sum'), pooled('square').alias('square'), pooled('one').alias('matched'))
    .withColumns(
      when(col('matched').gtEq(3)).then(col('sum').div(col('n')).add(col('middle'))).otherwise(lit(null)).alias('baseline'),
      when(col('matched').gtEq(3))
        .then(pl.maxHorizontal([col('square').sub(col('sum').mul(col('sum')).div(col('n'))), lit(0)]).div(col('n').sub(1)).pow(0.5))
        .otherwise(lit(null))
        .alias('scale'),
    )
}

// weekdays counts the days from Monday to Friday from Monday 1969-12-29 to a day.
const weekdays = (day) => whole(day.add(3), 7).mul(5).add(pl.minHorizontal([day.add(3).modulo(7).add(1), lit(5)]))

const atLeast = (x) => pl.maxHorizontal([x, lit(0)])
const fiveYears = [1, 2, 3, 4, 5]

const signals = {
  'crack-spread-321': (from) => {
    const leg = (name, as) => from(name).select(col('day'), col('value').alias(as), col('known').alias('known_' + as))
    const spread = leg('eia.RWTC', 'c')
      .join(leg('eia.EER_EPMRU_PF4_Y35NY_DPG', 'g'), { on: 'day', how: 'inner' })
      .join(leg('eia.EER_EPD2DXL0_PF4_Y35NY_DPG', 'd'), { on: 'day', how: 'inner' })
      .select(
        col('day'),
        pl.maxHorizontal([col('known_c'), col('known_g'), col('known_d')]).alias('known'),
        col('g').mul(84).add(col('d').mul(42)).sub(col('c').mul(3)).div(col('c').mul(0).add(3)).alias('v'), // by a constant it multiplies by 1/3, which parts equal outcomes
      )
      .withColumns(
        col('v').sub(col('v').shift(1)).rollingStd({ windowSize: 60 }).alias('step'),
        whole(when(col('day').eq(col('day').max())).then(lit(AT)).otherwise(pl.minHorizontal([col('known'), col('day').add(14).mul(86400)])), 86400).alias('read'),
      )
      .withColumns(col('step').mul(1.645).mul(atLeast(weekdays(col('read')).sub(weekdays(col('day')))).pow(0.5)).alias('half'))
      .withColumns(col('v').sub(col('half')).alias('lo'), col('v').add(col('half')).alias('hi'))
    return seasons(spread, fiveYears, 15, 10)
  },
  'hormuz-transit': (from) => {
    const root = col('v').mul(7).add(0.375).pow(0.5)
    const bound = (x) => atLeast(x.pow(2).sub(0.375).div(7))
    const weeks = from('portwatch.chokepoint6.n_total')
      .select(
        col('day'),
        col('known').rollingMax({ windowSize: 7 }).alias('known'),
        col('value').rollingMean({ windowSize: 7 }).alias('v'),
        col('day').sub(col('day').shift(6)).alias('span'),
      )
      .filter(col('span').eq(6))
      .withColumns(bound(atLeast(root.sub(3.45))).alias('lo'), bound(root.add(1.7)).alias('hi'))
    return seasons(weeks, [2019, 2020, 2021, 2022, 2023, 2024].map((y) => col('y').sub(y)), 15, 16)
  },
  'eia-weekly-petroleum': (from) => {
    const before = col('day').sub(col('day').shift(1)).eq(7)
    const changes = dated(from('eia.WCESTUS1').select(col('day'), col('known'), col('value').alias('v'))).withColumns(
      when(before).then(col('v').sub(col('v').shift(1))).otherwise(lit(null)).alias('change'),
    )
    let matched = changes.withColumns(...fiveYears.map((k) => yearsBefore(k).add(3).cast(pl.Int64).alias('end' + k)))
    for (const k of fiveYears) {
      const then = changes.select(col('day').alias('day' + k), col('v').alias('v' + k), col('change').alias('change' + k))
      matched = matched.joinAsof(then, { leftOn: 'end' + k, rightOn: 'day' + k, strategy: 'backward', coalesce: false, checkSortedness: false })
    }
    const found = (x) => fiveYears.map((k) => when(col('day' + k).gtEq(col('end' + k).sub(6))).then(x(k)).otherwise(lit(null)))
    const levels = found((k) => col('v' + k).sub(col('v')))
    const moves = found((k) => col('change' + k))
    const number = (all) => pl.sumHorizontal(all.map((x) => x.isNotNull().cast(pl.Int64)))
    const stands = matched
      .withColumns(
        number(levels).alias('levels'),
        pl.sumHorizontal(levels).alias('level'),
        pl.sumHorizontal(levels.map((x) => x.pow(2))).alias('square'),
        when(number(moves).gtEq(3)).then(col('change').sub(pl.sumHorizontal(moves).div(number(moves)))).otherwise(lit(null)).alias('surprise'),
        date().alias('date'),
      )
    const window = stands.groupByRolling({ indexColumn: 'date', period: '5y' }).agg(
      col('surprise').count().cast(pl.Int64).alias('n'),
      col('surprise').quantile(0.05, 'lower').alias('low'),
      col('surprise').quantile(0.95, 'lower').alias('below'), // of 20 values the one below rank 0.95 * 19, of 21 the one above 0.95 * 20
      col('surprise').quantile(0.95, 'higher').alias('above'),
    )
    const known = (n, least, x) => when(n.gtEq(least)).then(x).otherwise(lit(null))
    const levelled = atLeast(col('square').sub(col('level').mul(col('level')).div(col('levels')))).div(col('levels').sub(1))
    return stands.join(window, { on: 'date', how: 'left' }).withColumns(
      known(col('n'), 104, col('v').add(col('low'))).alias('lo'),
      known(col('n'), 104, col('v').add(when(col('n').modulo(20).eq(0)).then(col('below')).otherwise(col('above')))).alias('hi'),
      known(col('levels'), 3, col('v').add(col('level').div(col('levels')))).alias('baseline'),
      known(col('levels'), 3, levelled.pow(0.5)).alias('scale'),
    )
  },
}

const others = (x) => x.neq(x.shift(-1)).fillNull(true)
const relation = (a, b) => pl.pearsonCorr(a.rank('average'), b.rank('average'))

function backtest(signal, target) {
  const track = signal(arrived).cache()
  const aims = (target ? arrived(target).select(col('day'), col('known'), col('value').alias('v')) : track.select('day', 'known', 'v')).withColumns(
    col('day').mul(86400).cast(pl.Int64).alias('begins'),
    col('v').shift(-20).sub(col('v')).alias('happened'),
    col('v').sub(col('v').shift(20)).alias('naive'),
  )
  const told = aims.filter(others(col('known'))).select(col('known'), col('naive'))
  const cases = track
    .select(col('known').cumMax().alias('known'), when(col('scale').gt(0)).then(col('baseline').sub(col('v')).div(col('scale'))).otherwise(lit(null)).alias('predicted'))
    .filter(others(col('known')))
    .joinAsof(aims.select(col('begins'), col('happened')), { leftOn: 'known', rightOn: 'begins', strategy: 'forward', coalesce: false, checkSortedness: false })
    .filter(col('happened').isNotNull())
    .filter(others(col('begins')))
    .filter(col('predicted').isNotNull())
    .joinAsof(told, { on: 'known', strategy: 'backward', checkSortedness: false })
    .withColumns(pl.intRange(lit(0), pl.len()).gtEq(whole(pl.len(), 2)).alias('newer'))
  const predicted = col('predicted')
  const happened = col('happened')
  const right = predicted.gt(0).eq(happened.gt(0)).cast(pl.Float64)
  const some = (x, which) => x.filter(which)
  return cases.select(
    predicted.count().alias('n'),
    relation(predicted, happened).alias('ic'),
    some(right, predicted.neq(0).and(happened.neq(0))).mean().mul(100).alias('hits'),
    some(predicted, col('newer')).count().alias('n_newer'),
    relation(some(predicted, col('newer')), some(happened, col('newer'))).alias('ic_newer'),
    relation(some(col('naive'), col('naive').isNotNull()), some(happened, col('naive').isNotNull())).alias('ic_naive'),
  )
}

// The plans are made once, before any clock starts: making one takes longer than carrying it out.
const plans = Object.fromEntries(
  Object.entries(targets).map(([id, target]) => [id, [signals[id](loaded).select('v', 'lo', 'hi', 'baseline', 'scale'), backtest(signals[id], target)]]),
)

await serve({
  compute: (id, tested) => plans[id][Number(tested)].collectSync(),
  read: (result) => result.columns.map((name) => [...result.getColumn(name)]),
})
