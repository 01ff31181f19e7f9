// DuckDB in a page of another site reads the daily data set over HTTP, in parts. The pinned version has Parquet within; newer ones load it
// as an extension from DuckDB's servers, which a test cannot rely on.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { base, json, signals } from "./stand.mjs";

// reader is a page with DuckDB: `query` returns the rows of a statement. It never reads a whole file because ranges fail.
const reader = `<!doctype html><html lang=en><title>reader</title><link rel=icon href="data:,">
<script type=importmap>{"imports": {
  "apache-arrow": "/apache-arrow/Arrow.dom.mjs", "flatbuffers": "/flatbuffers/mjs/flatbuffers.js", "tslib": "/tslib/tslib.es6.js"
}}</script>
<script type=module>
import { AsyncDuckDB, VoidLogger } from "/@duckdb/duckdb-wasm/dist/duckdb-browser.mjs";
const db = new AsyncDuckDB(new VoidLogger(), new Worker("/@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js"));
await db.instantiate(location.origin + "/@duckdb/duckdb-wasm/dist/duckdb-eh.wasm");
await db.open({ filesystem: { allowFullHTTPReads: false }, query: { castBigIntToDouble: true } });
const connection = await db.connect();
globalThis.query = async (sql) => (await connection.query(sql)).toArray().map((row) => row.toJSON());
</script>`;

const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };

let browser, site;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM });
  site = createServer((r, w) => {
    if (r.url === "/") return w.writeHead(200, { "Content-Type": "text/html" }).end(reader);
    const file = extname(r.url) ? r.url : `${r.url}.js`; // flatbuffers imports its files without their endings
    w.writeHead(200, { "Content-Type": types[extname(file)] });
    createReadStream(join("node_modules", file)).on("error", () => w.destroy()).pipe(w);
  });
  await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
});
after(async () => {
  await browser?.close();
  site?.close();
});

// sums of doubles depend on their order in the last digits.
const near = (got, want, what) => assert.ok(Math.abs(got - want) <= 1e-9 * Math.max(1, Math.abs(want)), `${what}: ${got}, want ${want}`);

test("DuckDB in a page of another site reads each table over HTTP in ranges, and finds what the API says as JSON", async () => {
  const page = await browser.newPage();
  const answers = [], complaints = [];
  page.on("response", (r) => { if (r.url().startsWith(base)) answers.push(r); });
  page.on("pageerror", (e) => complaints.push(String(e)));
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) complaints.push(m.text()); });
  try {
    await page.goto(`http://127.0.0.1:${site.address().port}/`);
    await page.waitForFunction(() => globalThis.query, null, { timeout: 60_000 });
    const ask = async (sql) => (await page.evaluate((sql) => globalThis.query(sql), sql))[0];
    const set = await json("/data/manifest.json"); // the sandbox goes on, a day's set does not change
    for (const file of set.files) {
      answers.length = 0;
      const table = `read_parquet('${base}/data/${set.date}/${file.path}')`;
      assert.equal((await ask(`select count(*) as n from ${table}`)).n, file.rows, file.name);
      if (!signals.includes(file.name)) continue;
      const got = await ask(`select count(*) as rows, count(value) as known, sum(value) as total, count(distinct observed_at) as points,
        strftime(max(observed_at)::timestamp, '%Y-%m-%dT%H:%M:%SZ') as newest from ${table}`);
      const { data } = await json(`/api/signals/${file.name}/history?vintages=all&as_of=${set.as_of}`);
      const known = data.filter((p) => p.value !== null), days = data.map((p) => p.observed_at).sort();
      assert.ok(known.length > 0, file.name);
      assert.deepEqual([got.rows, got.known, got.points, got.newest], [data.length, known.length, new Set(days).size, days.at(-1)], file.name);
      near(got.total, known.reduce((sum, p) => sum + p.value, 0), file.name);
      const reads = answers.filter((r) => r.request().method() === "GET");
      assert.ok(reads.length > 0 && reads.every((r) => r.status() === 206 && r.request().headers().range), `${file.name}: ${reads.map((r) => r.status())}`);
      const bytes = reads.reduce((sum, r) => sum + Number(r.headers()["content-length"]), 0);
      console.log(`${file.name}: ${got.rows} rows, sum ${got.total}, ${bytes} of ${file.bytes} bytes in ${reads.length} ranges`);
      // Two columns of sixteen: a long table is not read whole. DuckDB fetches at least 16 kB each time, and then 64.
      if (file.bytes > 100_000) assert.ok(bytes < file.bytes * 2 / 3, `${file.name}: ${bytes} of ${file.bytes} bytes`);
    }
    assert.deepEqual(set.files.filter((f) => signals.includes(f.name)).map((f) => f.name).sort(), signals.toSorted());
    assert.deepEqual(complaints, []);
  } finally {
    await page.close();
  }
});
