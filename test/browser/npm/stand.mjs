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

const levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// violations are what the rules of axe find on a page, in short. The rules run in a world of their own, where the page's policy has no say.
export async function violations(page, runOnly = levels) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate((runOnly) => globalThis.axe.run(document, { runOnly }), runOnly);
  return violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.target.join(" ")} (${n.failureSummary.split("\n").slice(1, 2).join("").trim()})`));
}

// darkViolations switches a page to the dark scheme, and says what the rules of axe that look at colours find there. The scheme may change
// colours alone: an element that moves or is hidden is said, too. So the other rules find what they find in the light scheme.
export async function darkViolations(page) {
  const boxes = () => page.evaluate(() => [...document.querySelectorAll("body *")].map((e) => {
    const { x, y, width, height } = e.getBoundingClientRect();
    return `${e.tagName} ${e.checkVisibility({ visibilityProperty: true })} ${[x, y, width, height]}`;
  }));
  const boxesIn = async (colorScheme) => { await page.emulateMedia({ colorScheme }); return boxes(); };
  let light, dark, again;
  for (let tries = 0; tries < 20; tries++) { // a page that changes by itself meanwhile is looked at again
    [light, dark, again] = [await boxesIn("light"), await boxesIn("dark"), await boxesIn("light")];
    if (light.join() === again.join()) break;
    await page.waitForTimeout(250);
  }
  await page.emulateMedia({ colorScheme: "dark" });
  if (light.length !== dark.length) return [`the dark scheme has ${dark.length} elements, the light one ${light.length}`];
  const moved = light.flatMap((box, i) => (box === dark[i] ? [] : [`${box} becomes ${dark[i]}`]));
  await page.evaluate(axe);
  const rules = await page.evaluate((levels) => globalThis.axe.getRules(levels).filter((r) => r.tags.includes("cat.color")).map((r) => r.ruleId), levels);
  assert.ok(rules.includes("color-contrast"));
  return [...moved.slice(0, 3), ...await violations(page, { type: "rule", values: rules })];
}

// tooWide says which elements reach over the right edge of the screen, where something does. What a box scrolls is inside the screen.
export const tooWide = (page) => page.evaluate(() => {
  if (document.documentElement.scrollWidth <= innerWidth) return "";
  const scrolled = (e) => { while ((e = e.offsetParent ?? e.parentElement)) if (getComputedStyle(e).overflowX !== "visible") return true; };
  const wide = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth + 1 && !scrolled(e));
  return `${document.documentElement.scrollWidth} wide in ${innerWidth}: ${wide.slice(0, 3).map((e) => e.outerHTML.slice(0, 90)).join(" ; ")}`;
});

// crowded says where a page has no room: words on words, labels of plots on each other, what stands outside of its card, a table that is cut
// off, and a cell that is a column of single words. A name of more letters than a line holds may be cut in two, and so may a hash and an address.
export const crowded = (page) => page.evaluate(() => {
  const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".hidden, .skip");
  const said = (e) => `${e.tagName.toLowerCase()} "${e.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}"`;
  const cutting = (e) => { for (let b = e.parentElement; b; b = b.parentElement) if (getComputedStyle(b).overflowX !== "visible") return b; return null; };
  const common = (a, b) => [Math.min(a.right, b.right) - Math.max(a.left, b.left), Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top)];
  const out = [];
  for (const e of document.querySelectorAll(".card *, .notice *")) {
    const card = e.closest(".card, .notice"), box = e.getBoundingClientRect(), cut = cutting(e);
    if (!seen(e) || !box.width || e.closest("svg svg") || (cut && card.contains(cut))) continue;
    const bounds = card.getBoundingClientRect();
    if (box.right > bounds.right + 1 || box.left < bounds.left - 1) out.push(`outside of its card: ${said(e)}`);
  }
  for (const e of document.querySelectorAll("main *:not(pre, textarea)")) {
    if (seen(e) && !e.closest("svg") && e.clientWidth && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible") out.push(`cut off: ${said(e)} ${e.scrollWidth} in ${e.clientWidth}`);
  }
  for (const svg of document.querySelectorAll("main svg")) {
    const texts = [...svg.querySelectorAll(":scope > text")].filter(seen).map((e) => [e, e.getBoundingClientRect()]);
    for (const [i, [e, a]] of texts.entries()) {
      for (const [other, b] of texts.slice(0, i)) {
        const [w, h] = common(a, b);
        if (w > 1 && h > 4) out.push(`labels of ${svg.id} overlap: ${said(e)}, ${said(other)}`);
      }
    }
  }
  const words = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node; (node = walk.nextNode());) {
    if (!node.data.trim() || !seen(node.parentElement) || node.parentElement.closest("svg, script, noscript, option, textarea")) continue;
    range.selectNodeContents(node);
    words.push(...[...range.getClientRects()].filter((b) => b.width > 1).map((b) => [node, b]));
  }
  words.sort((a, b) => a[1].top - b[1].top);
  for (const [i, [node, a]] of words.entries()) {
    for (let j = i + 1; j < words.length && words[j][1].top < a.bottom; j++) {
      const [other, b] = words[j], [w, h] = common(a, b);
      if (node !== other && w > 2 && h > Math.min(a.height, b.height) / 2 && cutting(node.parentElement) === cutting(other.parentElement)) {
        out.push(`words on words: ${said(node.parentElement)}, ${said(other.parentElement)}`);
      }
    }
  }
  for (const e of document.querySelectorAll("main :is(th, td, dt, dd)")) {
    if (!seen(e) || e.matches(".hash")) continue;
    const letter = parseFloat(getComputedStyle(e).fontSize);
    range.selectNodeContents(e);
    if (new Set([...range.getClientRects()].map((b) => Math.round(b.top / 8))).size > 6 && e.clientWidth - parseFloat(getComputedStyle(e).paddingRight) < 7 * letter) out.push(`a narrow column: ${said(e)}`);
    if (e.matches(".long")) continue;
    for (const node of e.childNodes) {
      for (const word of node.nodeType === Node.TEXT_NODE ? node.data.matchAll(/[\p{L}\p{M}\p{N}]+/gu) : []) {
        if (word[0].length > 18) continue;
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map((b) => Math.round(b.top))).size > 1) out.push(`${word[0]} is cut in two: ${said(e)}`);
      }
    }
  }
  return [...new Set(out)];
});

// joined are the heads of a table's columns that read as one, because less than half a letter is between their words.
export const joined = (page) => page.evaluate(() => {
  const words = (e) => {
    const range = document.createRange();
    range.selectNodeContents(e);
    return e.checkVisibility() ? [...range.getClientRects()].filter((b) => b.width > 1) : [];
  };
  return [...document.querySelectorAll("main thead th + th")].flatMap((e) => {
    const before = words(e.previousElementSibling);
    const near = words(e).some((b) => before.some((a) => Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4 && b.left - a.right < parseFloat(getComputedStyle(e).fontSize) / 2));
    return near ? [`${e.previousElementSibling.textContent} | ${e.textContent}`] : [];
  });
});

// faint are the words of a page, also those in plots, whose contrast with what is behind them is below WCAG's 4.5 (3 for large ones), and the
// lines of plots below 3. The rules of axe do not look into drawings.
export const faint = (page) => page.evaluate(() => {
  const colour = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = ([r, g, b, a], below) => [r, g, b].map((v, i) => v * a + below[i] * (1 - a));
  const light = (c) => { const [r, g, b] = c.map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const behind = (e) => {
    const list = [];
    for (; e; e = e.parentElement) list.unshift(colour(getComputedStyle(e).backgroundColor));
    return list.reduce((below, c) => over(c, below), [255, 255, 255]);
  };
  const opacity = (e) => (e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1);
  const out = new Map();
  const look = (e, text, below, least) => {
    const [r, g, b, a] = colour(text), ratio = contrast(over([r, g, b, a * opacity(e)], below), below);
    if (ratio < least) out.set(`${e.tagName}.${e.getAttribute("class")} has a contrast of ${ratio.toFixed(2)}`, e);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement;
    if (!node.data.trim() || !e.checkVisibility() || e.closest(".hidden, .skip, script, noscript, option, title, desc, :disabled")) continue;
    const style = getComputedStyle(e), svg = e.closest("svg"), rect = e.parentElement.querySelector(":scope > rect:not(.reach)");
    const big = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    look(e, svg ? style.fill : style.color, svg && rect && e.closest(".mark") ? colour(getComputedStyle(rect).fill).slice(0, 3) : behind(svg ? svg.parentElement : e), big ? 3 : 4.5);
  }
  for (const e of document.querySelectorAll(".plot :is(.line, .dot, .end, .range)")) {
    const style = getComputedStyle(e);
    look(e, style.fill === "none" ? style.stroke : style.fill, behind(e.closest(".plot").parentElement), 3);
  }
  return [...out.keys()];
});

// widths are those of a telephone, a tablet and a desk.
export const widths = [390, 768, 1280];

// shoot keeps a picture of a whole page. A page that grows while its picture is taken has it taken again.
export async function shoot(page, name) {
  for (let tries = 0; tries < 4; tries++) {
    const png = await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
    const height = await page.evaluate(() => Math.max(document.documentElement.scrollHeight, innerHeight));
    if (png.readUInt32BE(20) >= height) return;
  }
  throw new Error(`the picture ${name} ends before the page`);
}

// months and inWords write a day as the English pages do.
const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
export const inWords = (iso) => `${months[iso.slice(5, 7) - 1]} ${Number(iso.slice(8, 10))}, ${iso.slice(0, 4)}`;

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

// elsewhere are the addresses of other sites among those that a page asked for. also is an origin that a step let it ask.
export function elsewhere(asked, also) {
  const allowed = [new URL(base).origin, also];
  return asked.filter((url) => !url.startsWith("data:") && !allowed.includes(new URL(url).origin));
}

const newest = chain.picks.at(-1).ticker;

export const yesterday = new Date(Date.parse((await json(`/api/signals/${signals[0]}`)).as_of) - 86_400_000).toISOString().slice(0, 10);

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
