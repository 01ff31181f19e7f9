// Exports the rows of a Parquet file again with DuckDB, from its memory: node export.mjs PACKAGES FILE. It prints the number of the rows and
// the sums of their columns of numbers. Then it exports once for each line of its input, which names a compression, and prints the
// milliseconds and the size of its file.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'
import { statSync, rmSync } from 'node:fs'

const [packages, file] = process.argv.slice(2)
const { DuckDBInstance } = createRequire(packages + '/x.js')('@duckdb/node-api')
const db = await (await DuckDBInstance.create(':memory:')).connect()
await db.run(`create table list as select * from read_parquet('${file}')`)
const sums = ['value', 'uncertainty_lo', 'uncertainty_hi', 'baseline_value', 'z_score', 'vintage', 'epoch_us(observed_at)', 'epoch_us(ingested_at)']
const read = await db.runAndReadAll(`select count(*)::double, ${sums.map((s) => `coalesce(sum((${s})::double), 0)`).join(', ')} from list`)
console.log(read.getRows()[0].join(' '))
const out = file + '.duckdb'
for await (const compression of createInterface({ input: process.stdin })) {
  rmSync(out, { force: true })
  const begin = performance.now()
  await db.run(`copy list to '${out}' (format parquet, compression ${compression})`)
  console.log(performance.now() - begin, statSync(out).size)
}
