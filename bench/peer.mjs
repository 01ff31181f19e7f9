// What the peers in Node have in common: node PEER.mjs PACKAGES FOLDER AT CORES. FOLDER has the inputs as reference.py describes them. For each
// line of standard input the peer computes what reference.py computes for it, and answers with the seconds of processor time and the
// seconds that went by. "all" computes everything once.
import { createRequire } from 'node:module'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const [packages, folder, at, cores] = process.argv.slice(2)

export const require = createRequire(packages + '/x.js')
export const AT = Number(at)
export const CORES = Number(cores)

// targets are the series that each signal is held to. Without one it is held to itself.
export const targets = { 'crack-spread-321': '', 'hormuz-transit': 'eia.RWTC', 'eia-weekly-petroleum': 'eia.RWTC' }

const column = (name, type) => {
  const bytes = readFileSync(`${folder}/${name}`)
  return Array.from(new type(bytes.buffer, bytes.byteOffset, bytes.length / 8), Number)
}

// inputs are columns of days, values and the seconds when they became known.
export const inputs = () =>
  readdirSync(folder)
    .filter((f) => f.endsWith('.days'))
    .map((f) => f.slice(0, -'.days'.length))
    .map((name) => ({
      name,
      day: column(name + '.days', BigInt64Array),
      value: column(name + '.values', Float64Array),
      known: column(name + '.known', BigInt64Array),
    }))

// serve answers. compute leaves its result where the library keeps one, and read makes columns of it; only compute is timed.
export async function serve({ compute, read }) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, what] = line.trim().split(' ').reverse()
    const asked = name === 'all' ? Object.keys(targets).flatMap((id) => [[id, false], [id, true]]) : [[name, what === 'backtest']]
    const used = process.cpuUsage()
    const begin = performance.now()
    let result
    for (const [id, tested] of asked) result = await compute(id, tested)
    const elapsed = (performance.now() - begin) / 1e3
    const { user, system } = process.cpuUsage(used)
    if (name !== 'all') write(name, await read(result))
    console.log((user + system) / 1e6, elapsed)
  }
}

// write puts columns side by side, with NaN for what is unknown.
function write(name, columns) {
  const out = new Float64Array(columns.length * columns[0].length)
  columns.forEach((column, c) => column.forEach((x, i) => (out[i * columns.length + c] = x ?? NaN)))
  writeFileSync(`${folder}/${name}.out`, Buffer.from(out.buffer))
}
