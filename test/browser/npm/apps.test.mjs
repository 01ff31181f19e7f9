// The pages of MCP Apps in the host's half of the project that defines them: its AppBridge speaks with each frame and with the server.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, getToolUiResourceUri, McpUiResourceMetaSchema, McpUiToolMetaSchema, RESOURCE_MIME_TYPE } from "@modelcontextprotocol/ext-apps/app-bridge";
import { base, violations } from "./stand.mjs";

let browser, client, tools, hostPage;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM });
  client = new Client({ name: "host", version: "1" }, { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [RESOURCE_MIME_TYPE] } } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/api/mcp`)));
  ({ tools } = await client.listTools());
  hostPage = createServer((_, w) => w.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><html lang=en><title>host</title><main></main>"));
  await new Promise((ready) => hostPage.listen(0, "127.0.0.1", ready));
});
after(async () => {
  await browser?.close();
  await client?.close();
  hostPage?.close();
});

// show opens the page of a tool in a frame without rights, connects the bridge to it, and sends it a result, or what change makes of it.
async function show(name, args, { change = (r) => r, serverTools = {}, locale = "en" } = {}, look) {
  const tool = tools.find((t) => t.name === name);
  assert.equal(McpUiToolMetaSchema.safeParse(tool._meta.ui).success, true, `${name}: ${JSON.stringify(tool._meta)}`);
  const { contents: [content] } = await client.readResource({ uri: getToolUiResourceUri(tool) });
  assert.equal(content.mimeType, RESOURCE_MIME_TYPE);
  assert.equal(McpUiResourceMetaSchema.safeParse(content._meta.ui).success, true, JSON.stringify(content._meta));

  const page = await browser.newPage();
  const asked = [], complaints = [];
  page.on("request", (r) => asked.push(r.url()));
  page.on("console", (m) => { if (m.type() === "error") complaints.push(m.text()); });
  page.on("pageerror", (e) => complaints.push(String(e)));
  await page.goto(`http://127.0.0.1:${hostPage.address().port}/`);
  asked.length = 0;

  const transport = { start: async () => {}, close: async () => transport.onclose?.(),
    send: (message) => page.evaluate((m) => document.querySelector("iframe").contentWindow.postMessage(m, "*"), message) };
  await page.exposeFunction("hear", (message) => transport.onmessage?.(message));
  // The client's calls are made through the bridge, as in a host, so that they can be counted.
  const calls = [], counted = Object.create(client, { request: { value: (r, ...more) => { calls.push(r); return client.request(r, ...more); } } });
  const bridge = new AppBridge(counted, { name: "host", version: "1" }, serverTools ? { serverTools } : {}, { hostContext: { theme: "dark", locale } });
  const sizes = [];
  bridge.onsizechange = (size) => sizes.push(size);
  const initialized = new Promise((resolve) => { bridge.oninitialized = resolve; });
  await bridge.connect(transport);
  await page.evaluate((html) => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = "app";
    frame.style.cssText = "width:700px;height:900px";
    frame.srcdoc = html;
    addEventListener("message", (e) => { if (e.source === frame.contentWindow) globalThis.hear(e.data); });
    document.querySelector("main").append(frame);
  }, content.text);
  await initialized;
  await bridge.sendToolInput({ arguments: args });
  const result = change(structuredClone(await client.callTool({ name, arguments: args })));
  await bridge.sendToolResult(result);
  try {
    await look({ frame: page.frameLocator("iframe"), result: result.structuredContent, page, calls });
    assert.ok(sizes.length > 0 && sizes.at(-1).height > 0, "the frame says how high it is");
    await bridge.teardownResource({});
    assert.deepEqual(complaints, [], `${name}: what the browser complains of`);
    assert.deepEqual(asked.filter((url) => !url.startsWith("about:")), [], `${name}: the frame asks the network`);
  } finally {
    await page.close();
  }
}

test("the plot shows each point, and says what its interval is", async () => {
  await show("get_signal_history", { id: "crack-spread-321", limit: 60 }, { locale: "de" }, async ({ frame, result, page }) => {
    await frame.locator("svg path.value").waitFor();
    assert.equal(await frame.getByRole("heading").innerText(), result.name);
    const known = result.data.filter((p) => p.value !== null);
    const d = await frame.locator("path.value").getAttribute("d");
    assert.equal(d.match(/[ML]/g).length, known.length);
    // The highest value is drawn highest, the newest at the right.
    const spots = [...d.matchAll(/[ML]([\d.]+) ([\d.]+)/g)].map(([, x, y]) => ({ x: Number(x), y: Number(y) }));
    const values = known.toReversed().map((p) => p.value);
    assert.equal(spots[values.indexOf(Math.max(...values))].y, Math.min(...spots.map((s) => s.y)));
    assert.ok(spots.every((s, i) => i === 0 || s.x >= spots[i - 1].x));
    const text = await frame.locator("main").innerText();
    assert.match(text, result.uncertainty_basis === "measured" ? /how often it held/ : /no probability/);
    assert.match(text, /made up/);
    assert.ok(text.includes(new Intl.NumberFormat("de", { maximumSignificantDigits: 6 }).format(known[0].value)), text);
    await frame.locator("summary").click();
    assert.equal(await frame.locator("tbody tr").count(), result.data.length);
    const inside = page.frames().find((f) => f !== page.mainFrame());
    assert.deepEqual((await violations(inside)).slice(0, 5), []);
  });
});

test("a value that is unknown is a gap of the plot", async () => {
  const change = (r) => { r.structuredContent.data[5].value = null; return r; };
  await show("get_signal_history", { id: "crack-spread-321", limit: 20 }, { change }, async ({ frame }) => {
    await frame.locator("svg path.value").waitFor();
    const d = await frame.locator("path.value").getAttribute("d");
    assert.deepEqual([d.match(/M/g).length, d.match(/L/g).length], [2, 17]);
  });
});

test("what the tool refuses is said", async () => {
  await show("get_signal_history", { id: "brent" }, {}, async ({ frame }) => {
    await frame.getByText("Unknown signal").waitFor();
  });
});

test("the verifier recomputes the whole chain, and asks the host for what is missing", async () => {
  await show("get_verification_chain", { limit: 2 }, {}, async ({ frame, result, calls }) => {
    await frame.getByRole("heading", { name: "Chain of picks: self-consistent" }).waitFor();
    assert.ok(result.picks.length === 2 && result.chain_length > 2);
    const text = await frame.locator("main").innerText();
    assert.match(text, new RegExp(`${result.chain_length} hashes recomputed`));
    assert.match(text, /No witness was asked/);
    assert.ok(text.includes(result.head_hash), text);
    assert.equal(calls.filter((c) => c.method === "tools/call").length, 1);
  });
});

test("without the rest of the chain the verifier says so", async () => {
  await show("get_verification_chain", { limit: 2 }, { serverTools: null }, async ({ frame }) => {
    await frame.getByText("does not let the frame ask for the rest").waitFor();
  });
});

for (const [what, change, said] of [
  ["a price", (picks) => { picks[2].price = "1.23"; }, /Pick 3 .*its hash does not match/],
  ["a removed pick", (picks) => { picks.splice(3, 1); }, /Pick 4 .*does not follow/],
  ["a cut end", (picks) => { picks.pop(); }, /does not end where the server says/],
]) {
  test(`the verifier finds ${what}`, async () => {
    await show("get_verification_chain", {}, { change: (r) => { change(r.structuredContent.picks); return r; } }, async ({ frame }) => {
      await frame.getByRole("heading", { name: "Chain of picks: contradicted" }).waitFor();
      assert.match(await frame.locator("main").innerText(), said);
    });
  });
}
