// Reads a signal's whole past as Parquet with Polars, and asks what was revised, and by how much.
//
//     npm install nodejs-polars
//     node examples/polars/revisions.mjs [SIGNAL ...]
//
// TIDEMARK_URL names the server, http://127.0.0.1:8080 without it. In Python the same begins with
//     polars.read_parquet('http://127.0.0.1:8080/data/crack-spread-321.parquet')
import { createRequire } from 'node:module'
import { join } from 'node:path'

const pl = createRequire(join(process.cwd(), 'x.js'))('nodejs-polars')
const server = (process.env.TIDEMARK_URL ?? 'http://127.0.0.1:8080').replace(/\/+$/, '')
const signals = process.argv.length > 2 ? process.argv.slice(2) : ['crack-spread-321', 'hormuz-transit']
for (const id of signals) {
  const answer = await fetch(`${server}/api/signals/${id}/history?vintages=all&format=parquet`)
  if (!answer.ok) throw new Error(`${id}: ${answer.status} ${await answer.text()}`)
  const versions = pl.readParquet(Buffer.from(await answer.arrayBuffer()))
  // A version that replaced another one, against the version before it.
  const revisions = versions
    .sort(['observed_at', 'vintage', 'known_from'])
    .withColumns(pl.col('value').shift(1).over('observed_at').alias('before'))
    .filter(pl.col('revised').and(pl.col('before').isNotNull()).and(pl.col('value').isNotNull()))
    .withColumns(pl.col('value').minus(pl.col('before')).abs().alias('by'))
  const points = versions.getColumn('observed_at').nUnique()
  const most = revisions.height === 0 ? 'none' : revisions.getColumn('by').max()
  console.log(`${id}: ${versions.height} versions of ${points} points, ${revisions.height} revisions, the largest by ${most}`)
}
