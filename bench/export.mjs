// Exports the rows of a Parquet file again with DuckDB, from its memory: node export.mjs PACKAGES FILE OTHER. Of both files it prints the number of
// the rows, the sums of their columns of numbers, and how many have each text. Then it exports once for each line of its input, which names a compression, and prints the
// milliseconds and the size of its file.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { statSync, rmSync } from 'node:fs'

const [packages, ...files] = process.argv.slice(2)
const { DuckDBInstance } = createRequire(packages + '/x.js')('@duckdb/node-api')
const db = await (await DuckDBInstance.create(':memory:')).connect()
const sums = ['value', 'uncertainty_lo', 'uncertainty_hi', 'baseline_value', 'z_score', 'vintage', 'epoch_us(observed_at)', 'epoch_us(ingested_at)']
const counts = ['bounds', 'basis', 'nullif(published_at_assumed, false)', 'nullif(revised, false)']
for (const file of files) {
  await db.run(`create or replace table list as select * from read_parquet('${file}')`)
  const read = await db.runAndReadAll(`select count(*)::double, ${sums.map((s) => `coalesce(sum((${s})::double), 0)`).join(', ')},
    ${counts.map((c) => `count(${c})::double`).join(', ')} from list`)
  console.log(read.getRows()[0].join(' '))
}
const out = files[0] + '.duckdb'
for await (const compression of createInterface({ input: process.stdin })) {
  rmSync(out, { force: true })
  const begin = performance.now()
  await db.run(`copy list to '${out}' (format parquet, compression ${compression})`)
  console.log(performance.now() - begin, statSync(out).size)
}
