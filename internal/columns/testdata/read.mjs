// Prints the rows of a file as JSON, read by an independent implementation: node read.mjs PACKAGES READER FILE. Doubles are printed as the
// hexadecimal digits of their bits, whole numbers as text, instants as microseconds since 1970 and days as YYYY-MM-DD.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const [packages, reader, file] = process.argv.slice(2)
const require = createRequire(packages + '/x.js')
const load = (name) => import(pathToFileURL(require.resolve(name)))

const bits = (n) => {
  const b = Buffer.alloc(8)
  b.writeDoubleBE(n)
  return b.toString('hex')
}
const kinds = { text: 'text', maybe_text: 'text', one: 'text', number: 'number', few_numbers: 'number', nothing: 'number', integer: 'integer',
  maybe_integer: 'integer', flag: 'bool', maybe_flag: 'bool', day: 'day', at: 'instant', maybe_at: 'instant' }
let rows
if (reader === 'duckdb') {
  const { DuckDBInstance } = require('@duckdb/node-api')
  const db = await (await DuckDBInstance.create(':memory:')).connect()
  const types = (await db.runAndReadAll(`describe select * from read_parquet('${file}')`)).getRowObjects()
  const want = { text: 'VARCHAR', number: 'DOUBLE', integer: 'BIGINT', bool: 'BOOLEAN', day: 'DATE', instant: 'TIMESTAMP WITH TIME ZONE' }
  for (const t of types) if (t.column_type !== want[kinds[t.column_name]]) throw new Error(`${t.column_name} is ${t.column_type}`)
  const of = { text: (n) => n, number: (n) => n, integer: (n) => `${n}::varchar`, bool: (n) => n, day: (n) => `strftime(${n}, '%Y-%m-%d')`, instant: (n) => `epoch_us(${n})::varchar` }
  const list = types.map((t) => of[kinds[t.column_name]](`"${t.column_name}"`)).join(', ')
  rows = (await db.runAndReadAll(`select ${list} from read_parquet('${file}')`)).getRows()
  rows = rows.map((r) => r.map((v) => typeof v === 'number' ? bits(v) : v))
} else if (reader === 'hyparquet') {
  const { parquetReadObjects } = await import(pathToFileURL(packages + '/node_modules/hyparquet/src/index.js'))
  const { compressors } = await import(pathToFileURL(packages + '/node_modules/hyparquet-compressors/src/index.js'))
  const bytes = readFileSync(file)
  const parsers = { timestampFromMicroseconds: (n) => String(n), dateFromDays: (n) => new Date(Number(n) * 864e5).toISOString().slice(0, 10) }
  const objects = await parquetReadObjects({ file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), compressors, parsers })
  rows = objects.map((o) => Object.entries(o).map(([k, v]) => v == null ? null : kinds[k] === 'number' ? bits(v) : typeof v === 'bigint' ? String(v) : v))
} else {
  const { tableFromIPC } = require('apache-arrow')
  const table = tableFromIPC(readFileSync(file))
  const names = table.schema.fields.map((f) => f.name)
  if (table.schema.metadata.get('license') !== 'none') throw new Error('the license is missing')
  const vectors = names.map((_, i) => table.getChildAt(i))
  rows = []
  const raw = (v, i) => { // an instant in microseconds, which the library would round to milliseconds
    for (const d of v.data) {
      if (i < d.length) return d.values[i]
      i -= d.length
    }
  }
  for (let i = 0; i < table.numRows; i++) {
    rows.push(names.map((n, c) => {
      const v = vectors[c].get(i)
      if (v == null) return null
      switch (kinds[n]) {
        case 'number': return bits(v)
        case 'integer': return String(v)
        case 'day': return new Date(v).toISOString().slice(0, 10)
        case 'instant': return String(raw(vectors[c], i))
        default: return v
      }
    }))
  }
}
process.stdout.write(JSON.stringify(rows))
