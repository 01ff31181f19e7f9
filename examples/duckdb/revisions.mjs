// Reads a signal's whole past as Parquet with DuckDB, and asks in SQL what was revised.
//
//     npm install @duckdb/node-api
//     node examples/duckdb/revisions.mjs [SIGNAL ...]
//
// TIDEMARK_URL names the server, http://127.0.0.1:8080 without it. In the shell of DuckDB, with its extension httpfs, the same query runs
// on the address itself:
//     select * from read_parquet('http://127.0.0.1:8080/data/crack-spread-321.parquet')
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { DuckDBInstance } = createRequire(join(process.cwd(), 'x.js'))('@duckdb/node-api')
const server = (process.env.TIDEMARK_URL ?? 'http://127.0.0.1:8080').replace(/\/+$/, '')
const signals = process.argv.length > 2 ? process.argv.slice(2) : ['crack-spread-321', 'hormuz-transit']
const dir = mkdtempSync(join(tmpdir(), 'tidemark-'))
const db = await (await DuckDBInstance.create(':memory:')).connect()
try {
  for (const id of signals) {
    const answer = await fetch(`${server}/api/signals/${id}/history?vintages=all&format=parquet`)
    if (!answer.ok) throw new Error(`${id}: ${answer.status} ${await answer.text()}`)
    const file = join(dir, `${id}.parquet`)
    writeFileSync(file, Buffer.from(await answer.arrayBuffer()))
    // A version that replaced another one, against the version before it.
    const [row] = (await db.runAndReadAll(`
      with versions as (
        select observed_at, known_from, value, revised, lag(value) over (partition by observed_at order by vintage, known_from) as before
        from read_parquet('${file}'))
      select count(*)::int as versions, count(distinct observed_at)::int as points, (count(*) filter (revised and before is not null))::int as revisions,
        strftime(min(observed_at) at time zone 'UTC', '%Y-%m-%d') as first, strftime(max(observed_at) at time zone 'UTC', '%Y-%m-%d') as last
      from versions`)).getRowObjects()
    console.log(`${id}: ${row.versions} versions of ${row.points} points from ${row.first} to ${row.last}, ${row.revisions} revisions`)
  }
} finally {
  rmSync(dir, { recursive: true })
}
