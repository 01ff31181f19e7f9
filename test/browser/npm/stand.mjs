// What the tests of the pages share: one browser, and how a page is opened and looked at.
import { after, before } from "node:test";
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const base = process.env.TIDEMARK_URL;
const shots = process.env.SCREENSHOTS;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
before(async () => {
  mkdirSync(shots, { recursive: true });
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
  });
});
after(() => browser?.close());

// visit opens a page in a context of its own and hands it over, with the list of all that it asks for. Whatever the browser complains of, a refused policy too, fails the test,
// but for what is expected.
export async function visit(path, { expected, status = 200, ...options }, look) {
  const context = await browser.newContext({ baseURL: base, viewport: { width: 1280, height: 900 }, ...options });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const complaints = [], asked = [];
    context.on("request", (r) => asked.push(r.url()));
    const complain = (text) => { if (!expected?.test(text)) complaints.push(text); };
    page.on("console", (m) => { if (m.type() === "error") complain(m.text()); });
    page.on("pageerror", (e) => complain(String(e)));
    const answer = await page.goto(path, { waitUntil: "load" });
    assert.equal(answer.status(), status, path);
    await look(page, asked);
    assert.deepEqual(complaints, [], `${path}: what the browser complains of`);
  } finally {
    await context.close();
  }
}

// violations are what the rules of axe find on a page, in short. The rules run in a world of their own, where the page's policy has no say.
export async function violations(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  }));
  return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} (${n.failureSummary.split("\n").slice(1, 2).join("").trim()})`));
}

// tooWide says which elements reach over the right edge of the screen, where something does. What a box scrolls is inside the screen.
export const tooWide = (page) => page.evaluate(() => {
  if (document.documentElement.scrollWidth <= innerWidth) return "";
  const scrolled = (e) => { while ((e = e.offsetParent ?? e.parentElement)) if (getComputedStyle(e).overflowX !== "visible") return true; };
  const wide = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !scrolled(e));
  return `${document.documentElement.scrollWidth} wide in ${innerWidth}: ${wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 90)).join(" ; ")}`;
});

// widths are those of a telephone, a tablet and a desk.
export const widths = [390, 768, 1280];

// shoot keeps a picture of a whole page.
export const shoot = (page, name) => page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });

// text is what an element says.
export const text = (page, selector) => page.locator(selector).innerText();

// json is an answer to GET, or to POST where there is something to send.
export async function json(path, body) {
  const answer = await fetch(base + path, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${path}: ${answer.status}`);
  return answer.json();
}

export const signals = (await json("/api/signals")).signals.map((s) => s.id);
export const chain = await json("/api/v1/verify/picks");

// elsewhere are the addresses of other sites among those that a page asked for. The page /verify may ask one: the node of the network that holds the attestations. It asks
// it on load, because a visitor who has to press a button first would see a verdict that nobody but the server supports.
export function elsewhere(path, asked) {
  const allowed = [new URL(base).origin];
  if (path.startsWith("/verify") && chain.attestation.rpc_url) allowed.push(new URL(chain.attestation.rpc_url).origin);
  return asked.filter((url) => !url.startsWith("data:") && !allowed.includes(new URL(url).origin));
}

const newest = chain.picks.at(-1).ticker;

const yesterday = new Date(Date.parse((await json(`/api/signals/${signals[0]}`)).as_of) - 86_400_000).toISOString().slice(0, 10);

// everyPage are the addresses of all kinds of pages.
export const everyPage = [
  "/", ...signals.slice(0, 3).map((id) => `/signals/${id}`), `/signals/${signals[0]}/brief`, `/signals/${signals[0]}/revisions`, `/signals/${signals[0]}/forecasts`, `/evidence/${signals[0]}/latest`, `/signals/${signals[0]}?range=all&as_of=${yesterday}`, "/signals/crack-spread-321?from=2020-01-01&to=2020-12-31",
  "/picks", "/picks?lang=pt", `/picks/${chain.picks[0].date}`, `/picks/${chain.picks[0].date}?lang=es`, "/method", "/calendar", "/compare", "/compare?first=hormuz-transit&second=crack-spread-321&lag=2&lang=es", `/research/${newest}`, `/research/${newest}?lang=hi`, "/portfolio", "/portfolio?lang=es", "/portfolio?lang=hi", "/events", "/events?min_severity=3&lang=es",
  "/economic-events", "/economic-events?lang=hi", "/digest", "/verify", "/docs", "/status", "/changelog", "/terms",
  "/problems/insufficient-balance", "/problems/precondition-failed", "/problems/range-not-satisfiable",
];
export const research = `/research/${newest}`;

// nameOf is a file name for an address.
export const nameOf = (path) => path.replace(/[^a-z0-9]+/gi, "-").replace(/^-|-$/g, "") || "home";
