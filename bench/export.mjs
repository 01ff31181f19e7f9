// Exports the rows of a Parquet file again with DuckDB, from its memory: node export.mjs PACKAGES FILE ROUNDS. It prints the milliseconds of
// each round, and then the size of its file. Compression and values are those of the file.
import { createRequire } from 'node:module'
import { statSync, rmSync } from 'node:fs'

const [packages, file, rounds] = process.argv.slice(2)
const { DuckDBInstance } = createRequire(packages + '/x.js')('@duckdb/node-api')
const db = await (await DuckDBInstance.create(':memory:')).connect()
await db.run(`create table list as select * from read_parquet('${file}')`)
const out = file + '.duckdb'
for (let i = 0; i < Number(rounds) + 1; i++) {
  rmSync(out, { force: true })
  const begin = performance.now()
  await db.run(`copy list to '${out}' (format parquet, compression gzip)`)
  if (i > 0) console.log(performance.now() - begin) // the first one does not count
}
console.log(statSync(out).size)
