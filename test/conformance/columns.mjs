// Compares the formats of lists: node columns.mjs PACKAGES URL KEY PATH... Each list is read as CSV and JSON, as Parquet by DuckDB and by
// hyparquet, and as Arrow. All must have the same rows. CSV does not tell an unknown text from an empty one, the others must.
import { createRequire } from 'node:module'
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'

const [packages, url, key, ...lists] = process.argv.slice(2)
const require = createRequire(packages + '/x.js')
const { DuckDBInstance } = require('@duckdb/node-api')
const { tableFromIPC } = require('apache-arrow')
const { parquetReadObjects } = await import(pathToFileURL(packages + '/node_modules/hyparquet/src/index.js'))
const { compressors } = await import(pathToFileURL(packages + '/node_modules/hyparquet-compressors/src/index.js'))
const db = await (await DuckDBInstance.create(':memory:')).connect()
const dir = mkdtempSync(join(tmpdir(), 'columns-'))
process.on('exit', () => rmSync(dir, { recursive: true }))

const get = async (path, format) => {
  const address = url + path + (path.includes('?') ? '&' : '?') + 'format=' + format
  const a = await fetch(address, { headers: { authorization: 'Bearer ' + key } })
  if (!a.ok) throw new Error(`${address}: ${a.status}`)
  return Buffer.from(await a.arrayBuffer())
}

const csv = (text) => {
  const rows = []
  let row = [], cell = '', quoted = false
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') { cell += '"'; i++ } else if (c === '"') quoted = false
      else cell += c
    } else if (c === '"') quoted = true
    else if (c === ',') { row.push(cell); cell = '' } else if (c === '\r' && text[i + 1] === '\n') {
      rows.push([...row, cell]); row = []; cell = ''; i++
    } else cell += c
  }
  return rows
}

const micros = (text) => {
  const [, seconds, , fraction] = text.match(/^(.{19})(\.(\d+))?Z$/)
  return String(BigInt(Date.parse(seconds + 'Z')) * 1000n + BigInt((fraction ?? '').padEnd(6, '0').slice(0, 6)))
}
// same compares a cell of CSV or a member of JSON with a value of a type.
const same = (cell, value, type) => {
  if (cell == null || cell === '') return value === null || value === '' && cell === ''
  if (value === null) return false
  switch (type) {
    case 'DOUBLE': return Number(cell) === value
    case 'BIGINT': return String(cell) === value
    case 'BOOLEAN': return String(cell) === String(value)
    case 'TIMESTAMP WITH TIME ZONE': return micros(cell) === value
    case 'DATE': return cell === value
  }
  return cell === value || cell === "'" + value && /^[=+\-@\t\r]/.test(value)
}
const must = (ok, what) => {
  if (!ok) throw new Error(what)
}

// together reads a list in all forms. The sandbox goes on meanwhile: it reads again until the list did not change between the first answer
// and the last.
const together = async (path) => {
  for (let tries = 0; tries < 50; tries++) {
    const table = (await get(path, 'csv')).toString()
    const list = [table, await get(path, 'parquet'), await get(path, 'arrow'), JSON.parse(await get(path, 'json'))]
    if (table === (await get(path, 'csv')).toString()) return list
  }
  throw new Error(`${path} never stands still`)
}

// rowOf gives an object of JSON the members of its row in a table. Only forecasts have members within members.
const rowOf = (o) => {
  if (!o.target) return o
  const p = Object.fromEntries(o.quantiles.map((q) => [q.p, q.value])), g = o.grade
  const row = { ...o, ...o.target, p05: p[0.05], p10: p[0.1], p25: p[0.25], p50: p[0.5], p75: p[0.75], p90: p[0.9], p95: p[0.95] }
  for (const name of ['outcome', 'published_at', 'graded_at', 'crps', 'pit']) row[name] = g?.[name] ?? null
  for (const hit of [50, 80, 90]) row['hit_' + hit] = g?.hits?.[hit] ?? null
  return { ...row, crps_naive_1: g?.crps_naive?.[0] ?? null, crps_naive_2: g?.crps_naive?.[1] ?? null, flags: g ? g.flags.join(' ') : null,
    grade_log_index: g?.log_index ?? null, grade_line: g?.line ?? null, grade_hash: g?.hash ?? null }
}

// The data set's tables of the same list have the same bytes in their columns: each row of the newest set is a row of the list as of its instant.
const manifest = await (await fetch(url + '/data/manifest.json')).json()
for (const { path, name } of (manifest.files ?? []).map((f) => ({ path: f.path, name: f.path.replace(/\.parquet$/, '') }))) {
  if (!lists.some((l) => l.startsWith(`/api/signals/${name}/history?vintages=all`))) continue
  const file = join(dir, 'set-' + path)
  writeFileSync(file, Buffer.from(await (await fetch(`${url}/data/${manifest.date}/${path}`)).arrayBuffer()))
  const list = JSON.parse(await get(`/api/signals/${name}/history?vintages=all&as_of=${manifest.as_of}`, 'json')).data
  const rows = (await db.runAndReadAll(`select epoch_us(observed_at)::varchar, value, uncertainty_lo, uncertainty_hi, bounds, basis from read_parquet('${file}')`)).getRows()
  must(rows.length === list.length && rows.length > 0, `/data/${path} has ${rows.length} rows, and the list ${list.length}`)
  rows.forEach((row, i) => {
    const p = list[i]
    const want = [micros(p.observed_at), p.value, p.uncertainty_lo, p.uncertainty_hi, p.bounds, p.basis]
    must(JSON.stringify(row) === JSON.stringify(want), `/data/${path}: row ${i} is ${JSON.stringify(row)}, and ${JSON.stringify(want)} in JSON`)
  })
  console.log(`/data/${path}: ${rows.length} rows as in the list`)
}

// The data set's forecasts have every quantile, outcome and score as a number of its own, equal to that of the list of forecasts.
if (manifest.files?.some((f) => f.path === 'forecasts.parquet')) {
  const file = join(dir, 'set-forecasts')
  writeFileSync(file, Buffer.from(await (await fetch(`${url}/data/${manifest.date}/forecasts.parquet`)).arrayBuffer()))
  const rows = (await db.runAndReadAll(`select * from read_parquet('${file}')`)).getRowObjects()
  const known = new Map()
  for (const id of new Set(rows.map((r) => r.signal))) {
    const { data } = JSON.parse(await get(`/api/signals/${id}/forecasts?limit=500`, 'json'))
    data.forEach((f) => known.set(f.id, f))
  }
  let graded = 0
  for (const row of rows) {
    const f = known.get(row.id)
    must(f, `/data/forecasts.parquet has ${row.id}, and the list does not`)
    const names = f.quantiles.map(({ p }) => 'p' + p.toFixed(3).slice(2, 4) + (p.toFixed(3).endsWith('0') ? '' : '_' + p.toFixed(3).slice(4)))
    must(names.length === 23 && names[1] === 'p02_5' && names[11] === 'p50', `the quantiles are ${names}`)
    const pairs = names.map((n, i) => [n, f.quantiles[i].value])
    pairs.push(['name', f.target.name], ['unit', f.target.unit], ['label', f.label])
    if (row.graded_at !== null) {
      graded++
      pairs.push(['outcome', f.grade.outcome], ['crps', f.grade.crps], ['crps_naive_1', f.grade.crps_naive[0] ?? null], ['crps_naive_2', f.grade.crps_naive[1] ?? null])
    } else pairs.push(['outcome', null], ['crps', null], ['grade_line', null], ['flags', null])
    for (const [n, want] of pairs) must(row[n] === want, `/data/forecasts.parquet: ${n} of ${row.id} is ${row[n]}, and ${want} in JSON`)
  }
  must(rows.length === manifest.files.find((f) => f.path === 'forecasts.parquet').rows, `/data/forecasts.parquet has ${rows.length} rows`)
  console.log(`/data/forecasts.parquet: ${rows.length} forecasts as in the lists, ${graded} of them graded`)
}

for (const path of lists) {
  const [table, bytes, arrow, json] = await together(path)
  const [head, ...want] = csv(table)
  const file = join(dir, `list-${lists.indexOf(path)}.parquet`) // DuckDB remembers files by their names
  writeFileSync(file, bytes)
  const types = (await db.runAndReadAll(`describe select * from read_parquet('${file}')`)).getRowObjects()
  must(types.map((t) => t.column_name).join() === head.join(), `${path}: the columns ${types.map((t) => t.column_name)} are not ${head}`)
  const of = types.map(({ column_name: n, column_type: t }) => t === 'BIGINT' ? `"${n}"::varchar` : t === 'DATE' ? `strftime("${n}", '%Y-%m-%d')` : t.startsWith('TIMESTAMP') ? `epoch_us("${n}")::varchar` : `"${n}"`)
  const duck = (await db.runAndReadAll(`select ${of} from read_parquet('${file}')`)).getRows()
  const parsers = { timestampFromMicroseconds: (n) => String(n), dateFromDays: (n) => new Date(Number(n) * 864e5).toISOString().slice(0, 10) }
  const light = (await parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), compressors, parsers }))
    .map((o) => head.map((n) => o[n] == null ? null : typeof o[n] === 'bigint' ? String(o[n]) : o[n]))
  const batch = tableFromIPC(arrow)
  const vectors = head.map((_, c) => batch.getChildAt(c))
  const raw = (v, i) => {
    for (const d of v.data) {
      if (i < d.length) return String(d.values[i])
      i -= d.length
    }
  }
  const ipc = Array.from({ length: batch.numRows }, (_, i) => types.map(({ column_type: t }, c) => {
    const v = vectors[c].get(i)
    return v == null ? null : t === 'BIGINT' ? String(v) : t.startsWith('TIMESTAMP') ? raw(vectors[c], i) : t === 'DATE' ? new Date(v).toISOString().slice(0, 10) : v
  }))
  const objects = (json.data ?? json.picks).map(rowOf)
  const known = head.filter((n) => objects.length === 0 || n in objects[0])
  must(known.length > head.length / 2 && (!path.includes('/forecasts') || known.length === head.length), `${path}: JSON has only ${known} of ${head}`)
  for (const [reader, got] of Object.entries({ DuckDB: duck, hyparquet: light, Arrow: ipc })) {
    must(got.length === want.length && want.length === objects.length, `${path}: ${reader} reads ${got.length} rows of ${want.length}`)
    for (let r = 0; r < want.length; r++) {
      for (let c = 0; c < head.length; c++) {
        const what = `${path}: ${reader}: row ${r} has ${JSON.stringify(got[r][c])} as ${head[c]} (${types[c].column_type})`
        must(same(want[r][c], got[r][c], types[c].column_type), `${what}, and ${JSON.stringify(want[r][c])} in CSV`)
        if (head[c] in objects[r]) must(same(objects[r][head[c]], got[r][c], types[c].column_type), `${what}, and ${JSON.stringify(objects[r][head[c]])} in JSON`)
      }
    }
  }
  const n = Math.max(1, want.length)
  console.log(`${path}: ${want.length} equal rows of ${head.length} columns, ${known.length} of them in JSON; bytes a row: CSV ${(table.length / n).toFixed(1)}, CSV with gzip ${(gzipSync(table).length / n).toFixed(1)}, Parquet ${(bytes.length / n).toFixed(1)}, Arrow ${(arrow.length / n).toFixed(1)}`)
  if (want.length >= 500 && path.includes('/history')) must(bytes.length <= table.length / 4, `${path}: Parquet has ${bytes.length} bytes, and CSV ${table.length}`)
}
