// Drives the pages as visitors do, in a real browser.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, chain, crowded, darkViolations, elsewhere, everyPage, faint, inWords, joined, json, nameOf, research, shoot, signals, text, tooWide, violations, visit, widths, yesterday } from "./stand.mjs";

test("home says what there is, is light and does not shift", async () => {
  await visit("/", {}, async (page) => {
    assert.equal(await page.locator(".signal").count(), signals.length);
    assert.equal(await page.locator(".signal svg.spark").count(), signals.length);
    assert.match(await text(page, "main"), new RegExp(chain.picks.at(-1).ticker));
    assert.match(await text(page, "main"), /chain verified/);
    await page.mouse.wheel(0, 4000);
    const { bytes, shift } = await page.evaluate(async () => {
      const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
      const shift = await new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => { for (const e of list.getEntries()) sum += e.value; }).observe({ type: "layout-shift", buffered: true });
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
      });
      return { bytes: entries.filter((e) => e.initiatorType !== "img").reduce((n, e) => n + e.decodedBodySize, 0), shift };
    });
    assert.ok(bytes < 100_000, `home weighs ${bytes} bytes before compression`);
    assert.ok(shift < 0.01, `home shifts by ${shift}`);
  });
});

for (const id of signals) {
  test(`${id} shows the point under the pointer, and goes from range to range`, async () => {
    const { value, observed_at: at, frequency } = await json(`/api/signals/${id}`);
    const when = frequency === "monthly" ? inWords(at).replace(/ 1,/, "") : inWords(at);
    await visit(`/signals/${id}`, {}, async (page) => {
      assert.equal(Number(await page.locator(".value data").getAttribute("value")), value);
      const plot = page.locator("#plot-value");
      await plot.scrollIntoViewIfNeeded(); // the pointer is moved, and nothing scrolls to it
      const box = await plot.boundingBox();
      await page.mouse.move(box.x + box.width - 1, box.y + 80);
      await page.locator(".tip b").waitFor();
      const readout = await text(page, ".tip >> nth=0");
      assert.ok(readout.startsWith(`${when}: `), `${readout}, want the newest point, ${at}`);
      assert.equal(await plot.locator(".cursor").count(), 1);
      await page.mouse.move(box.x + 1, box.y + 80);
      await page.waitForFunction((now) => document.querySelector(".tip").textContent !== now, readout);
      await page.mouse.move(0, 0);
      await page.locator(".tip").first().waitFor({ state: "hidden" });
      // With the keyboard alone.
      await page.locator("#plot-history").focus();
      await page.keyboard.press("ArrowLeft");
      await page.locator(".tip b").waitFor();
      assert.ok((await text(page, ".tip >> nth=0")).startsWith(`${when}: `));

      const before = await plot.getAttribute("data-from");
      await page.getByRole("link", { name: "all", exact: true }).click();
      await page.waitForURL(/range=all/);
      assert.ok(Number(await plot.getAttribute("data-from")) < Number(before), "everything begins earlier than the first range");
    });
  });
}

// misplaced says what is wrong with the place of a readout: it belongs into the box of its figure, near its point, and not on it.
function misplaced(tip, dot, box) {
  const within = (a, b) => a.x >= b.x - 1 && a.y >= b.y - 1 && a.x + a.width <= b.x + b.width + 1 && a.y + a.height <= b.y + b.height + 1;
  if (!within(tip, box)) return `the readout at ${JSON.stringify(tip)} is not within ${JSON.stringify(box)}`;
  const [x, y] = [dot.x + dot.width / 2, dot.y + dot.height / 2];
  const apart = Math.hypot(Math.max(tip.x - x, x - tip.x - tip.width, 0), Math.max(tip.y - y, y - tip.y - tip.height, 0));
  return apart > 0 && apart < 60 ? "" : `the readout is ${apart} pixels from its point`;
}

for (const id of signals) {
  test(`${id} has the readout and the dot of each point within its plot, in each language, on a telephone and on a desk`, async () => {
    for (const lang of ["en", "es", "pt", "hi"]) {
      for (const width of [390, 1280]) {
        await visit(`/signals/${id}?range=5y&lang=${lang}`, { viewport: { width, height: 900 } }, async (page) => {
          const plot = page.locator("#plot-value");
          await plot.scrollIntoViewIfNeeded();
          const at = `${id} in ${lang} at ${width} px`;
          const shown = Number((await plot.locator("text.label:not(.second)").last().textContent()).replace(/[^\d.,]/g, "").replace(lang === "es" || lang === "pt" ? /[.]/g : /,/g, "").replace(",", "."));
          await page.locator("#plot-history").focus();
          await page.keyboard.press("End");
          await page.locator(".tip b").waitFor();
          const said = Number((await text(page, ".tip b")).match(/\d[\d.,]*/)[0].replace(lang === "es" || lang === "pt" ? /[.]/g : /,/g, "").replace(",", "."));
          assert.equal(said, shown, `${at}: the newest value`);
          const box = await plot.boundingBox();
          for (const share of [0.2, 0.5, 0.97]) {
            await page.mouse.move(box.x + box.width * share, box.y + 120);
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
            if (!await plot.locator(".dot").count()) continue; // a point whose value is unknown
            const [tip, dot, figure, area] = await page.evaluate(() => // all at one moment, because the page may still move
              [".tip", "#plot-value .dot", "#plot-history", "#plot-value"].map((part) => document.querySelector(part).getBoundingClientRect().toJSON()));
            assert.equal(misplaced(tip, dot, figure), "", at);
            assert.ok(dot.y >= area.y && dot.y + dot.height <= area.y + area.height, `${at}: the dot at ${JSON.stringify(dot)} is not in the plot at ${JSON.stringify(area)}`);
          }
          assert.equal(await plot.locator(".dot").count(), 1, at);
        });
      }
    }
  });
}

test("the line that embeds a plot shows all of it with at most a tenth of it blank, and a tap there shows a value", async () => {
  const found = [];
  for (const [id, query] of [["eia-weekly-petroleum", "range=5y"], ["crack-spread-321", `as_of=${yesterday}`], ["hormuz-transit", "range=1y"], ["iowa-corn-yield", "range=all"], ["lng-arbitrage", "range=5y"], ["tropomi-no2-economic", "range=5y"]]) {
    for (const lang of ["en", "es", "pt", "hi"]) {
      let embed;
      await visit(`/signals/${id}?${query}&lang=${lang}`, {}, async (page) => { embed = await page.locator("pre code", { hasText: "<iframe" }).textContent(); });
      const address = new URL(embed.match(/src="([^"]*)"/)[1].replaceAll("&amp;", "&"));
      assert.ok(!/script/i.test(embed));
      await visit("/terms", { viewport: { width: 320, height: 900 } }, async (page) => { // a page of another site, with nothing but the line
        const line = embed.replace(/src="[^"]*"/, `src="${address.pathname}${address.search.replaceAll("&", "&amp;")}"`).replace(' loading="lazy"', "");
        await page.route("**/host", (route) => route.fulfill({ contentType: "text/html", body: `<!doctype html><body style="margin:0">${line}` }));
        await page.goto("/host");
        const frame = page.frames()[1];
        await frame.locator("main").waitFor();
        for (const width of [240, 260, 320, 390, 768, 1200]) {
          await page.setViewportSize({ width, height: 900 });
          const [inside, needed] = await frame.evaluate(() => [innerHeight, Math.ceil(document.querySelector("main").getBoundingClientRect().bottom)]);
          if (needed > inside || needed < .9 * inside) found.push(`${id} ${lang} at ${width}: ${needed} in ${inside}`);
        }
      });
      if (id !== "eia-weekly-petroleum") continue;
      await visit(address.pathname + address.search, { viewport: { width: 390, height: 700 } }, async (page) => {
        const box = await page.locator("#plot-value").boundingBox();
        await page.mouse.click(box.x + box.width / 2, box.y + 100);
        await page.locator(".tip b").waitFor();
        assert.equal(misplaced(await page.locator(".tip").first().boundingBox(), await page.locator("#plot-value .dot").boundingBox(), await page.locator(".plot").boundingBox()), "");
      });
    }
  }
  assert.deepEqual(found, []);
});

test("a tap shows a value, and it stays", async () => {
  await visit(`/signals/${signals[0]}`, { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
    await page.locator("#plot-value").scrollIntoViewIfNeeded();
    const box = await page.locator("#plot-value").boundingBox();
    await page.touchscreen.tap(box.x + box.width / 2, box.y + 80);
    await page.locator(".tip b").waitFor();
    const tip = await page.locator(".tip").first().boundingBox();
    const dot = await page.locator("#plot-value .dot").boundingBox();
    assert.equal(misplaced(tip, dot, await page.locator("#plot-history").boundingBox()), "");
    assert.ok(tip.x >= 0 && tip.x + tip.width <= 390, "the readout is on the screen");
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.notEqual(await text(page, ".tip >> nth=0"), "");
  });
});

// bounds are the days in the address of a page.
const bounds = (page) => ["from", "to"].map((name) => new URL(page.url()).searchParams.get(name));

// drag presses the mouse in a plot and moves it to the right.
async function drag(page, plot) {
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 110, { steps: 5 });
  await plot.locator(".chosen").waitFor();
}

test("a stretch of a plot is opened by dragging, by a finger, by the keyboard and without a script, and the way back leads back", async () => {
  const path = `/signals/${signals[0]}`;
  const shown = async (page) => {
    const [from, to] = bounds(page);
    assert.ok(from < to, `${from} to ${to}`);
    assert.deepEqual([await page.getByLabel("From", { exact: true }).inputValue(), await page.getByLabel("To", { exact: true }).inputValue()], [from, to]);
    const drawn = await page.locator("#plot-value").evaluate((svg) => [svg.dataset.from, svg.dataset.to].map((s) => new Date(s * 1000).toISOString().slice(0, 10)));
    assert.ok(drawn[0] >= from && drawn[1] <= to, `${drawn} is not within ${from} and ${to}`);
    assert.ok((await page.getByRole("link", { name: "CSV" }).first().getAttribute("href")).endsWith(`&from=${from}&to=${to}`));
  };
  await visit(path, {}, async (page) => {
    const plot = page.locator("#plot-value");
    await plot.scrollIntoViewIfNeeded();
    await drag(page, plot);
    await page.mouse.up();
    await page.waitForURL(/from=/);
    await shown(page);
    await page.goBack();
    await page.waitForURL((url) => !url.searchParams.has("from"));
    await page.locator("#plot-history").focus();
    for (const key of ["ArrowLeft", "Shift+PageUp", "Enter"]) await page.keyboard.press(key);
    await page.waitForURL(/from=/);
    await shown(page);
  });
  await visit(path, { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
    const plot = page.locator("#plot-value");
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    const screen = await page.context().newCDPSession(page);
    const touch = (type, ...at) => screen.send("Input.dispatchTouchEvent", { type, touchPoints: at.map(([x, y]) => ({ x: box.x + box.width * x, y: box.y + y })) });
    await touch("touchStart", [0.2, 100]);
    for (const x of [0.3, 0.5, 0.8]) await touch("touchMove", [x, 104]);
    await touch("touchEnd");
    await page.waitForURL(/from=/);
    await shown(page);
  });
  await visit(path, { javaScriptEnabled: false }, async (page) => {
    await page.getByRole("link", { name: "Closer" }).click();
    await page.waitForURL(/from=/);
    await shown(page);
    const [from, to] = bounds(page);
    await page.getByRole("link", { name: "Wider" }).click();
    await page.waitForURL((url) => url.searchParams.get("from") < from);
    await page.getByLabel("From", { exact: true }).fill(from);
    await page.getByLabel("To", { exact: true }).fill(to);
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL((url) => url.searchParams.get("from") === from && url.searchParams.get("to") === to);
    await shown(page);
  });
});

test("the form of a named range holds its days, and shows the same range if they are left as they are", async () => {
  await visit(`/signals/${signals[0]}?range=all`, { javaScriptEnabled: false }, async (page) => {
    const drawn = await page.locator("#plot-value").evaluate((svg) => [svg.dataset.from, svg.dataset.to].map((s) => new Date(s * 1000).toISOString().slice(0, 10)));
    const shown = () => Promise.all(["From", "To"].map((name) => page.getByLabel(name, { exact: true }).inputValue()));
    const [from, to] = await shown();
    assert.ok(from === drawn[0] && to <= drawn[1] && to > from, `${[from, to]} in the form, ${drawn} in the plot, which may end with a forecast`);
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL((url) => url.search === "?range=all" && url.hash === "#history");
    assert.deepEqual(await shown(), [from, to]);
    assert.equal(await page.getByRole("link", { name: "all", exact: true }).getAttribute("aria-current"), "true");
    await page.getByLabel("To", { exact: true }).fill(from.replace(/^\d+/, (year) => Number(year) + 1));
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL((url) => url.searchParams.has("to") && !url.searchParams.has("range"));
    assert.equal(await page.getByRole("link", { name: "all", exact: true }).getAttribute("aria-current"), null);
  });
});

test("the portfolio is in the visitor's language, with its numbers, and the menu of a telephone is one line in each", async () => {
  const english = /\b(return|drawdown|cash|weight|bought|unknown|costs|sessions|best|worst|year|day|week)\b/i;
  for (const [lang, percent] of [["es", /\d,\d\d\u00a0%/], ["pt", /\d,\d\d%/], ["hi", /\d\.\d\d%/]]) {
    await visit("/picks", { locale: lang, extraHTTPHeaders: { "Accept-Language": lang }, viewport: { width: 390, height: 844 } }, async (page) => {
      const tops = await page.locator("header nav li").evaluateAll((list) => [...new Set(list.map((e) => Math.round(e.getBoundingClientRect().top)))]);
      assert.equal(tops.length, 1, `the menu in ${lang} has ${tops.length} lines`);
      await page.locator("header nav a[href^='/portfolio']").click();
      await page.waitForURL(/portfolio/);
      assert.equal(await page.locator("html").getAttribute("lang"), lang);
      await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
      const said = (await text(page, "main")).replace(/^.*(synthetic|SPY).*$/gm, "").replace(/English|PAGES=full/g, "");
      assert.doesNotMatch(said, english, `${lang}: ${said.match(english)?.[0]}`);
      assert.match(said, percent);
      await page.locator("#plot-return").scrollIntoViewIfNeeded();
      const box = await page.locator("#plot-return").boundingBox();
      await page.mouse.move(box.x + box.width - 2, box.y + 80);
      await page.locator(".tip b").waitFor();
      assert.doesNotMatch(await text(page, ".tip >> nth=0"), english);
      assert.match(await text(page, ".tip >> nth=0"), percent);
    });
  }
});

test("with letters of twice their size no page of a telephone is wider than the screen, and the labels of a plot overlap neither each other nor its lines", async () => {
  for (const path of [`/signals/${signals[0]}`, "/signals/crack-spread-321?range=all", "/docs", "/docs?lang=pt", "/docs?lang=hi", "/portfolio", "/compare?first=hormuz-transit&second=crack-spread-321"]) {
    await visit(path, { viewport: { width: 390, height: 844 } }, async (page) => {
      await page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than the screen`);
      const over = await page.locator(".plot > svg[data-from]").evaluateAll((list) => list.flatMap((svg) => {
        const dates = [...svg.querySelectorAll(":scope > text[text-anchor]:not(.label)")].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect());
        const lowest = Math.max(...dates.map((b) => b.bottom));
        const row = dates.filter((b) => lowest - b.bottom < 2).sort((a, b) => a.left - b.left);
        return row.slice(1).filter((b, i) => b.left < row[i].right).map(() => svg.id);
      }));
      assert.deepEqual(over, [], path);
      const [placed, within] = await page.locator(".plot > svg[class^=room]").evaluateAll((list) => {
        const labels = list.flatMap((svg) => [...svg.querySelectorAll(":scope > text[x='0'][dx]")].map((e) => [e, svg]));
        return [labels.length, labels.filter(([e, svg]) => {
          const [label, box] = [e.getBoundingClientRect(), svg.getBoundingClientRect()];
          return label.right <= box.left + parseFloat(getComputedStyle(svg).paddingLeft) && label.left >= box.left - 1;
        }).length];
      });
      assert.equal(within, placed, `${path}: so many of the labels of values stand between the edge and the shapes`);
      if (!path.startsWith("/docs")) assert.ok(placed >= 3, `${path} has ${placed} labels of values`);
    });
  }
});

test("the numbers of events grow with the letters of the page, and stand apart in their marks", async () => {
  for (const width of [390, 1280]) {
    await visit("/signals/crack-spread-321?range=all", { viewport: { width, height: 844 } }, async (page) => {
      const read = () => page.locator(".marks .mark:visible").evaluateAll((list) => list.map((m) => {
        const [rect, label] = [m.querySelector("rect:not(.reach)"), m.querySelector("text")].map((e) => e.getBoundingClientRect());
        const strip = m.closest(".marks").getBoundingClientRect();
        return { size: parseFloat(getComputedStyle(m.querySelector("text")).fontSize), left: rect.left, right: rect.right, holds: label.left >= rect.left && label.right <= rect.right && rect.top >= strip.top && rect.bottom <= strip.bottom };
      }));
      assert.ok((await read()).every((m) => m.size === 12 && m.holds));
      await page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
      const ends = await page.locator(".plot").first().evaluate((plot) => [".label", ".key b"].map((q) => [...plot.querySelectorAll(q)].filter((e) => e.checkVisibility()).length));
      assert.deepEqual(ends, width === 390 ? [0, 2] : [2, 0], `${width}: the last values stand right of the plot, or in its legend`);
      const marks = await read();
      assert.ok(marks.length > 1 && marks.every((m) => m.size >= (width === 390 ? 14 : 20) && m.holds), JSON.stringify(marks));
      assert.deepEqual(marks.slice(1).filter((m, i) => m.left < marks[i].right), [], `${width}: no mark is on another`);
    });
  }
});

test("on paper a card that is long goes on on the next page, and no row of a table is cut", async () => {
  for (const path of ["/docs", `/picks/${chain.picks.at(-1).date}`, `/signals/${signals[0]}`]) {
    await visit(path, { viewport: { width: 700, height: 990 } }, async (page) => {
      await page.emulateMedia({ media: "print" });
      const kept = (selector) => page.locator(selector).evaluateAll((list) => list.filter((e) => e.checkVisibility() && e.getBoundingClientRect().height > 300 && getComputedStyle(e).breakInside !== "auto").map((e) => `${e.tagName}.${e.className}`));
      assert.deepEqual(await kept("main :is(.card, table, .grid, section, .prose):not(.plot)"), [], path);
      for (const whole of ["tr", ".plot", "h2"]) {
        assert.deepEqual(await page.locator(`main ${whole}`).evaluateAll((list) => list.filter((e) => getComputedStyle(e).breakInside !== "avoid").length), 0, `${path}: ${whole}`);
      }
    });
  }
});

test("events of a plot are told beside their number, and listed with their sources", async () => {
  const path = "/signals/crack-spread-321?from=2020-01-01&to=2020-12-31";
  const first = /March 11, 2020: The World Health Organization .* pandemic\./, told = new RegExp(`${first.source}.*April 12, 2020:`, "s");
  await visit(path, {}, async (page) => {
    const mark = page.locator(".mark:visible").first();
    await mark.hover();
    await page.locator(".tip .event").first().waitFor();
    assert.match(await text(page, ".tip >> nth=0"), first);
    await page.mouse.move(0, 0);
    await page.locator(".tip").first().waitFor({ state: "hidden" });
    await page.locator("#plot-history").focus();
    await page.keyboard.press("Tab"); // the first mark is the next stop
    await page.locator(".tip .event").first().waitFor();
    assert.match(await text(page, ".tip >> nth=0"), first);
    assert.match(await text(page, ".tip >> nth=0"), new RegExp(`^${(await page.locator(".mark:visible text").first().textContent()).match(/^\d+/)}\\. March`));
    await page.keyboard.press("ArrowLeft"); // the readout is in place of the events, also when the window gets another size
    await page.locator(".tip b").waitFor();
    await page.setViewportSize({ width: 900, height: 900 });
    await page.waitForFunction(() => document.querySelector("#plot-history").getBoundingClientRect().width < 900);
    await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
    assert.equal(await page.locator(".tip .event").count(), 0);
    assert.match(await text(page, ".numbers"), /^1–\d+\s+Events in this view$/);
  });
  await visit(path, { viewport: { width: 768, height: 900 } }, async (page) => { // a narrower plot joins marks, the one that has the focus among them
    await page.locator(".mark:visible").first().focus();
    await page.locator(".tip .event").first().waitFor();
    await page.setViewportSize({ width: 390, height: 900 });
    await page.waitForFunction(() => document.querySelector("#plot-history").getBoundingClientRect().width < 390);
    await page.evaluate(() => new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); }));
    assert.match(await text(page, ".tip >> nth=0"), first);
  });
  await visit(path, { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
    await page.locator(".mark:visible").first().tap();
    await page.locator(".tip .event").first().waitFor();
    const tip = await page.locator(".tip").first().boundingBox();
    assert.ok(tip.x >= 0 && tip.x + tip.width <= 390 && tip.y >= 0, JSON.stringify(tip));
  });
  await visit(path, { javaScriptEnabled: false }, async (page) => {
    await page.locator(".mark:visible").first().click();
    await page.waitForURL(/#event-pandemic/);
    assert.match(await text(page, ".events"), told);
    for (const source of await page.locator(".events a").all()) assert.match(await source.getAttribute("href"), /^https:\/\//);
  });
});

test("a plot shows the next forecast as a fan, its grades, and what was first published", async () => {
  await visit("/signals/hormuz-transit?range=3m", {}, async (page) => {
    const { data } = await json("/api/signals/hormuz-transit/forecasts");
    const graded = data.filter((f) => f.grade);
    const drawn = (selector) => page.locator(`#plot-value path.${selector}`).count();
    assert.equal(await drawn("band.fan"), 2);
    assert.equal(await page.locator("#plot-value path.range").evaluateAll((list) => list.reduce((n, p) => n + p.getAttribute("d").split("M").length - 1, 0)), graded.length);
    const held = graded.filter((f) => f.grade.hits["80"]).length;
    assert.match(await text(page, "#plot-history ~ p:has(a[href$=forecasts])"), new RegExp(`with 80% probability\\. ${held} of the ${graded.length} graded`));
    if (await page.getByText("from what was first published").count()) assert.ok(await drawn("ghost") > 0);
  });
  // One figure of three, each a change that is added to the week before.
  const { data } = await json("/api/signals/eia-weekly-petroleum/forecasts?limit=500");
  const graded = data.filter((f) => f.target.figure === data.at(-1).target.figure && f.grade?.hits);
  for (const from of [graded.at(-1).target.period, graded.at(-3).target.period]) {
    const shown = graded.filter((f) => f.target.period >= from);
    await visit(`/signals/eia-weekly-petroleum?from=${from}`, {}, async (page) => {
      assert.match(await text(page, "#plot-history ~ p:has(a[href$=forecasts])"), new RegExp(`${shown.filter((f) => f.grade.hits["80"]).length} of the ${shown.length} graded`));
    });
  }
});

test("a value too early for a baseline has none, and not an unknown one", async () => {
  await visit("/signals/hormuz-transit?from=2019-01-07&to=2019-03-01", {}, async (page) => {
    await page.locator("summary", { hasText: "as a table" }).first().click();
    const cells = await page.locator("details[open] td:is([data-head=z], [data-head=Baseline])").allInnerTexts();
    assert.ok(cells.length > 20 && cells.every((c) => c.replace(/\s+/g, " ").trim() === "– not applicable"), cells.join("|"));
  });
});

test("the plot of a brief and those of a backtest tell their values under a finger, the pointer and the arrow keys", async () => {
  const corn = await json("/api/signals/iowa-corn-yield"), crack = await json("/api/signals/crack-spread-321");
  const score = (v) => Math.abs(v).toFixed(2);
  const plots = [
    ["/signals/crack-spread-321/brief", "figure:has(#plot-value)", /^\w+ \d+, \d{4}: .*\d/, /^\w+ \d+, \d{4}: .*\d/],
    ["/signals/crack-spread-321", "figure:has(#plot-backtest)", new RegExp(`^All .*cases: [+−]?${score(crack.backtest.rank_ic)}\\s+interval .*\\d to .*\\d`), /^Out of sample, /],
    ["/signals/iowa-corn-yield", "figure:has(#plot-skill)", new RegExp(`^.+: [+−]?${score(corn.backtest.forecast_skill[0].skill)}`), /^.+: [+−]?\d/],
  ];
  for (const [path, selector, first, second] of plots) {
    await visit(path, { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
      const figure = page.locator(selector), plot = figure.locator(":scope > svg"), tip = figure.locator(".tip");
      await plot.scrollIntoViewIfNeeded();
      const box = await plot.boundingBox();
      await page.touchscreen.tap(box.x + box.width - 30, box.y + 30);
      await tip.locator("b").waitFor();
      const tapped = await tip.innerText();
      assert.match(tapped, first, path);
      const [said, dot, whole] = await figure.evaluate((f) => [".tip", ".dot"].map((part) => f.querySelector(part).getBoundingClientRect().toJSON()).concat(f.getBoundingClientRect().toJSON()));
      assert.equal(misplaced(said, dot, whole), "", path);
      await figure.focus();
      await page.keyboard.press(selector.includes("value") ? "ArrowLeft" : "ArrowRight");
      await page.waitForFunction(([selector, before]) => document.querySelector(`${selector} .tip`).innerText !== before, [selector, tapped]);
      assert.match(await tip.innerText(), second, path);
      await page.keyboard.press("Escape");
      await tip.waitFor({ state: "hidden" });
      await page.mouse.move(box.x + 40, box.y + 30);
      await tip.locator("b").waitFor();
    });
    await visit(path, { javaScriptEnabled: false }, async (page) => {
      assert.deepEqual([await page.locator(selector).count(), await page.locator(`${selector} .tip`).count()], [1, 0], `${path} without a script`);
    });
  }
});

test("a plot of forecasts shows each of them under a finger, the pointer and the arrow keys, and the only published figure as a dot", async () => {
  for (const id of signals) {
    const { data } = await json(`/api/signals/${id}/forecasts`);
    const [first] = new Set(data.map((f) => f.target.figure)), own = data.filter((f) => f.target.figure === first).reverse();
    await visit(`/signals/${id}/forecasts`, { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
      const figure = page.locator("figure.plot").first(), plot = figure.locator(":scope > svg"), tip = figure.locator(".tip");
      await plot.scrollIntoViewIfNeeded();
      const box = await plot.boundingBox();
      await page.touchscreen.tap(box.x + box.width - 2, box.y + 80);
      await tip.locator("b").waitFor();
      const tapped = await tip.innerText();
      assert.match(tapped, own.at(-1).grade ? /\d/ : / not yet\s+Central 80% .*\d to .*\d, median of the forecast .*\d/, id);
      const [said, dot, whole] = await figure.evaluate((f) => [".tip", ".dot"].map((part) => f.querySelector(part).getBoundingClientRect().toJSON()).concat(f.getBoundingClientRect().toJSON()));
      assert.equal(misplaced(said, dot, whole), "", id);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      assert.equal(await tip.innerText(), tapped, "it stays");
      await page.keyboard.press("Home");
      await page.waitForFunction((before) => document.querySelector("figure.plot .tip").innerText !== before, tapped);
      const { grade } = own[0], record = page.locator("section.card").first().locator("tbody tr").last();
      if (grade?.outcome !== undefined) assert.ok((await tip.innerText()).includes(await record.locator("td").first().textContent()), `${id}: ${await tip.innerText()}`);
      await page.keyboard.press("Escape");
      await tip.waitFor({ state: "hidden" });
      const known = own.filter((f) => f.grade?.outcome !== undefined);
      if (known.length !== 1) return;
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        const lone = await plot.locator("path.line.lone:not(.second)").evaluate((e) => { const s = getComputedStyle(e); return [e.getAttribute("d").match(/h0/g).length, s.strokeLinecap, parseFloat(s.strokeWidth), s.strokeDasharray]; });
        assert.deepEqual(lone, [1, "round", 6, "none"], `${id}, ${colorScheme}`);
        assert.deepEqual(await faint(page), [], `${id}, ${colorScheme}`);
      }
    });
  }
});

test("a browser that keeps a page shows it on the way back from a zoom without what was dragged, and what is printed has no form", async () => {
  await visit(`/signals/${signals[0]}`, {}, async (page) => {
    const plot = page.locator("#plot-value");
    await plot.scrollIntoViewIfNeeded();
    await drag(page, plot);
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })));
    assert.equal(await page.locator(".chosen").count(), 0);
    assert.ok(await page.locator("#plot-history .tip").isHidden());
    await page.mouse.up();
  });
  for (const path of ["/", "/picks", "/portfolio", `/signals/${signals[0]}`, "/verify", "/docs", "/compare"]) {
    await visit(path, { viewport: { width: 794, height: 1123 } }, async (page) => {
      if (path === "/verify") await concluded(page, untouched);
      await page.emulateMedia({ media: "print" });
      const left = await page.evaluate(() => [...document.querySelectorAll("button, input, select, .tabs, pre")].filter((e) => e.checkVisibility() && (!e.matches("pre") || e.scrollWidth > e.clientWidth + 1)).map((e) => e.outerHTML.slice(0, 90)));
      assert.deepEqual(left, [], `${path} in print`);
      const notice = await page.getByText("Synthetic data: this is a demonstration.").first().boundingBox();
      assert.ok(notice.y < 60 && notice.height > 5, `${path}: the notice on the first sheet is at ${JSON.stringify(notice)}`);
      assert.ok(await page.locator(".site nav").isHidden(), `${path}: the menu is printed`);
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      assert.deepEqual(await faint(page), [], `${path} in print, of a dark screen`);
    });
  }
});

test("two signals are compared with a form, without a script and in another language, as the API does", async () => {
  await visit("/compare", { javaScriptEnabled: false }, async (page) => {
    await page.getByLabel("First signal").selectOption("hormuz-transit");
    await page.getByLabel("Second signal", { exact: true }).selectOption("crack-spread-321");
    await page.getByLabel("Lag of the second signal (weeks)").fill("2");
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(/second=crack-spread-321/);
    const { text: said } = await json("/api/compare?first=hormuz-transit&second=crack-spread-321&lag=2");
    assert.equal((await page.locator("#result p").allInnerTexts()).join(" "), said);
    assert.match(said, /as much information as \d+ independent weeks/);
    for (const plot of ["#plot-compare", "#plot-scatter", "#plot-lags"]) assert.equal(await page.locator(plot).count(), 1, plot);
    await page.getByRole("link", { name: "Português" }).click();
    await page.waitForURL(/lang=pt/);
    assert.match(await text(page, "#result"), /semanas independentes/);
    assert.equal(await page.locator("#lag").inputValue(), "2");
  });
  await visit("/compare?lang=es", { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
    await page.locator("#plot-compare").scrollIntoViewIfNeeded();
    const box = await page.locator("#plot-compare").boundingBox();
    await page.touchscreen.tap(box.x + box.width / 2, box.y + 80);
    await page.locator("#plot-both .tip b").waitFor();
    const { first, data } = await json(await page.getByRole("link", { name: "JSON", exact: true }).last().getAttribute("href"));
    const [when, value] = (await text(page, "#plot-both .tip")).split(`: ${first.name} `);
    assert.match(when, /^\d+ de [a-z]+ de \d{4}$/);
    assert.match(value, /^[+−]?\d+,\d\d z/);
    await page.keyboard.press("Escape");
    // The scatter shows the point that was tapped, not the nearest by x alone, and the plot by lag each lag.
    const read = async (figure, [left, top]) => {
      await figure.scrollIntoViewIfNeeded();
      const box = await figure.locator(":scope > svg").boundingBox();
      await page.touchscreen.tap(box.x + left, box.y + top);
      await figure.locator(".tip b").waitFor();
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      return figure.locator(".tip").innerText();
    };
    const z = (v) => v.toFixed(2).replace("-", "−").replace(".", ",").replace(/^(?=[1-9]|0,\d*[1-9])/, "+").replace(/^−(?=0,00$)/, "");
    const scatter = page.locator("figure:has(#plot-scatter)"), point = data.reduce((high, p) => (p.second > high.second ? p : high));
    const place = await scatter.locator(":scope > svg").evaluate((svg, { first: x, second: y }) => {
      const d = svg.dataset, room = parseFloat(getComputedStyle(svg).paddingLeft), width = svg.getBoundingClientRect().width - room;
      return [room + ((x - d.from) / (d.to - d.from)) * width, d.end - ((y - d.lo) / (d.hi - d.lo)) * (d.end - d.top)];
    }, point);
    const said = await read(scatter, place);
    assert.ok(said.includes(` ${z(point.second)} z`) && said.includes(z(point.first)), `${said}: want ${JSON.stringify(point)}`);
    const [tip, dot, whole] = await scatter.evaluate((f) => [".tip", ".dot"].map((part) => f.querySelector(part).getBoundingClientRect().toJSON()).concat(f.getBoundingClientRect().toJSON()));
    assert.equal(misplaced(tip, dot, whole), "");
    const lags = page.locator("figure:has(#plot-lags)");
    await read(lags, [place[0], 80]);
    await page.keyboard.press("Home");
    await page.waitForFunction(() => /−12/.test(document.querySelector("figure:has(#plot-lags) .tip").innerText));
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => /−11/.test(document.querySelector("figure:has(#plot-lags) .tip").innerText));
    await page.keyboard.press("Escape");
    await lags.locator(".tip").waitFor({ state: "hidden" });
  });
  await visit("/compare", {}, async (page) => {
    const fold = page.locator("section:has(#plot-scatter) details");
    await fold.locator("summary").click();
    const { data } = await json(await fold.getByRole("link", { name: "JSON" }).getAttribute("href"));
    assert.equal(await fold.locator("tbody tr").count(), Math.min(24, data.length));
    assert.match(await fold.locator("tbody tr").first().innerText(), new RegExp(data.at(-1).period));
    assert.match(await fold.getByRole("link", { name: "JSON" }).getAttribute("href"), /^\/api\/compare\?/);
    const box = await page.locator("#plot-scatter").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + 100);
    await page.locator("figure:has(#plot-scatter) .tip b").waitFor();
    await page.mouse.move(0, 0);
    await page.locator("figure:has(#plot-scatter) .tip").waitFor({ state: "hidden" });
  });
});

test("a readout has the day, the month or the crop year in the words of the page", async () => {
  for (const [lang, first] of [["en", /^\d{4} crop: /], ["es", /^campaña de \d{4}: /], ["pt", /^safra de \d{4}: /], ["hi", /^\d{4} की फ़सल: /]]) {
    await visit(`/signals/iowa-corn-yield?range=all&lang=${lang}`, {}, async (page) => {
      await page.locator("#plot-history").focus();
      await page.keyboard.press("Home");
      await page.locator(".tip b").waitFor();
      assert.match(await text(page, ".tip >> nth=0"), first);
    });
  }
  for (const [lang, month] of [["en", /^[A-Z][a-z]+ \d{4}: /], ["es", /^[a-z]+ de \d{4}: /], ["pt", /^[a-zç]+ de \d{4}: /], ["hi", /^[^\d ]+ \d{4}: /]]) {
    await visit(`/signals/tropomi-no2-economic?range=all&lang=${lang}`, {}, async (page) => {
      await page.locator("#plot-history").focus();
      await page.keyboard.press("Home");
      await page.locator(".tip b").waitFor();
      assert.match(await text(page, ".tip >> nth=0"), month, "the value of a month");
    });
  }
  const { observed_at: at } = await json("/api/signals/hormuz-transit");
  for (const lang of ["en", "es", "pt", "hi"]) {
    await visit(`/signals/hormuz-transit?lang=${lang}`, {}, async (page) => {
      const day = await page.locator(`time[datetime^="${at.slice(0, 10)}"]`).first().innerText();
      await page.locator("#plot-history").focus();
      await page.keyboard.press("End");
      await page.locator(".tip b").waitFor();
      assert.ok((await text(page, ".tip >> nth=0")).includes(day), `${await text(page, ".tip >> nth=0")}: want ${day}`);
    });
  }
});

test("the portfolio of the home page shows all of its days, each under a finger, the pointer and the arrow keys", async () => {
  let data;
  await visit("/portfolio", {}, async (page) => { data = JSON.parse(await page.locator("#plot-portfolio script").textContent()); });
  assert.ok(data.length > 10, "the portfolio has some weeks");
  await visit("/", { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
    const figure = page.locator("#plot-portfolio"), tip = figure.locator(".tip");
    const drawn = await figure.locator("path.line").evaluateAll((list) => list.map((p) => p.getAttribute("d").match(/[ML]/g).length));
    assert.deepEqual(drawn, [data.length, data.length]);
    await figure.scrollIntoViewIfNeeded();
    const box = await figure.locator(":scope > svg").boundingBox();
    await page.touchscreen.tap(box.x + box.width / 2, box.y + 60);
    await tip.locator("b").waitFor();
    const tapped = await tip.innerText();
    assert.match(tapped, /^[A-Z][a-z]+ \d+, \d{4}: Portfolio [+−]?[0-9.]+%.*SPY/s);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    assert.equal(await tip.innerText(), tapped, "it stays");
    await page.keyboard.press("Home");
    for (const { observed_at: date } of data) {
      await page.waitForFunction((day) => document.querySelector("#plot-portfolio .tip").innerText.startsWith(`${day}: `), inWords(date));
      await page.keyboard.press("ArrowRight");
    }
    await page.keyboard.press("Escape");
    await tip.waitFor({ state: "hidden" });
  });
});

test("the calendar lists what is expected, and is a file for calendar programs", async () => {
  await visit("/", { javaScriptEnabled: false }, async (page) => {
    await page.getByRole("link", { name: "Calendar", exact: true }).click();
    await page.waitForURL(/calendar/);
    const due = await page.locator(".releases li").allInnerTexts();
    assert.ok(due.length >= signals.length, due.join("\n"));
    const file = await (await fetch(`${base}${await page.getByRole("link", { name: "Download the file" }).getAttribute("href")}`)).text();
    assert.equal(file.match(/BEGIN:VEVENT/g).length, due.length);
  });
});

test("the plot of the portfolio shows the point under a finger, the pointer and the arrow keys", async () => {
  await visit("/portfolio", { hasTouch: true, viewport: { width: 390, height: 844 } }, async (page) => {
    await page.locator("#plot-return").scrollIntoViewIfNeeded();
    const box = await page.locator("#plot-return").boundingBox();
    await page.touchscreen.tap(box.x + box.width / 2, box.y + 80);
    await page.locator(".tip b").waitFor();
    const tapped = await text(page, ".tip >> nth=0");
    assert.match(tapped, /^[A-Z][a-z]+ \d+, \d{4}: Portfolio [+−]?[0-9.]+%.*SPY/s);
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction((before) => document.querySelector(".tip").innerText !== before, tapped);
    await page.keyboard.press("Escape");
    await page.locator(".tip").first().waitFor({ state: "hidden" });
  });
});

test("what matters of a table is on the screen of a telephone", async () => {
  for (const [path, cell] of [["/picks", "tbody tr:nth-child(3) td.num:visible"], ["/verify", "#links tr:first-child .here"]]) {
    await visit(path, { viewport: { width: 390, height: 844 } }, async (page) => {
      if (path === "/verify") await concluded(page, untouched);
      const box = await page.locator(cell).first().boundingBox();
      assert.ok(box.x >= 0 && box.x + box.width <= 390, `${path}: ${JSON.stringify(box)}`);
    });
  }
});

test("no column of the record, or of the skill by stage, is left out on a telephone", async () => {
  for (const width of [320, 390]) {
    for (const path of ["/portfolio", "/picks?lang=pt", "/signals/iowa-corn-yield?lang=es"]) {
      await visit(path, { viewport: { width, height: 844 } }, async (page) => {
        const cells = await page.evaluate(() => [...document.querySelectorAll(".lines td[data-head]:not(:empty)")].map((cell) => {
          const box = cell.getBoundingClientRect();
          return { head: cell.dataset.head, shown: box.width > 0 && box.left >= 0 && box.right <= innerWidth };
        }));
        assert.ok(cells.length > 20, `${path} has ${cells.length} cells`);
        assert.deepEqual(cells.filter((cell) => !cell.shown), [], `${path} of ${width} pixels`);
      });
    }
  }
});

test("no table is cut off on the narrowest telephone, nor the record on a tablet, in any language", async () => {
  const narrow = ["/portfolio", "/digest", "/signals/iowa-corn-yield", ...signals.map((id) => `/evidence/${id}/latest`)];
  for (const lang of ["en", "es", "pt", "hi"]) {
    for (const [width, path] of [...narrow.map((path) => [320, path]), [768, "/picks"]]) {
      await visit(`${path}?lang=${lang}`, { viewport: { width, height: 844 } }, async (page) => {
        const cut = await page.evaluate(() => {
          for (const details of document.querySelectorAll("main details")) details.open = true;
          return [...document.querySelectorAll("main .scroll:has(> table)")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => `${e.textContent.trim().slice(0, 60)}: ${e.scrollWidth} in ${e.clientWidth}`);
        });
        assert.deepEqual(cut, [], `${path} in ${lang}, ${width} pixels wide`);
      });
    }
  }
});

test("a visitor makes a key with one button, without a script, and copies it with another", async () => {
  await visit("/dashboard", { javaScriptEnabled: false }, async (page) => {
    await page.getByRole("button", { name: "Create key" }).click();
    assert.match(await text(page, "#new-key"), /^tmk_/);
  });
  await visit("/dashboard", { permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
    await page.getByRole("button", { name: "Create key" }).click();
    const key = (await text(page, "#new-key")).trim();
    await page.locator("#new-key-title ~ p .copy").click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
  });
});

test("a copy that the browser refuses leaves the text selected, and the button says so", async () => {
  await visit("/docs", {}, async (page) => {
    await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new DOMException("refused", "NotAllowedError")); });
    const box = page.locator(".copybox").first();
    await box.locator(".copy").click();
    await box.getByRole("button", { name: "Selected: press Ctrl+C" }).waitFor();
    const selected = await page.evaluate(() => getSelection().toString().trim());
    assert.equal(selected, (await box.locator("pre").innerText()).trim());
  });
});

test("a pick stays as it was announced, and its page leads to the method", async () => {
  const { date, ticker } = chain.picks[0];
  await visit(`/picks/${date}`, {}, async (page) => {
    assert.match(await text(page, "#announced"), /As announced on/);
    assert.match(await text(page, "main"), new RegExp(`${ticker}\\|`));
    await page.getByRole("link", { name: "How a pick is made" }).click();
    await page.waitForURL(/\/method/);
    assert.match(await text(page, "main"), /gross profitability/);
  });
});

test("nothing jumps while the chain is verified", async () => {
  for (const width of [390, 1280]) {
    await visit("/verify", { viewport: { width, height: 900 } }, async (page) => {
      await concluded(page, untouched);
      const shift = await page.evaluate(() => new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => { for (const e of list.getEntries()) sum += e.value; }).observe({ type: "layout-shift", buffered: true });
        requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
      }));
      assert.ok(shift < 0.02, `/verify shifts by ${shift} at ${width} pixels`);
    });
  }
});

test("a signal is shown as it was known on a day, without a script", async () => {
  const id = signals.includes("crack-spread-321") ? "crack-spread-321" : signals[0];
  const newest = await json(`/api/signals/${id}`);
  const day = new Date(Date.parse(newest.as_of) - 5 * 86_400_000).toISOString().slice(0, 10);
  const then = await json(`/api/signals/${id}?as_of=${day}`);
  await visit(`/signals/${id}`, { javaScriptEnabled: false }, async (page) => {
    await page.getByLabel("As known on").fill(day);
    await page.getByRole("button", { name: "Show" }).click();
    await page.waitForURL(new RegExp(`as_of=${day}`));
    assert.equal(Number(await page.locator(".value data").getAttribute("value")), then.value);
    assert.match(await text(page, "[role=status]"), new RegExp(new Date(day).toLocaleDateString("en-US", { dateStyle: "long", timeZone: "UTC" })));
    assert.equal(await page.locator("#plot-value").count(), 1);
    await page.getByRole("link", { name: "Back to what is known now" }).click();
    await page.waitForURL((url) => !url.searchParams.has("as_of"));
    assert.equal(Number(await page.locator(".value data").getAttribute("value")), newest.value);
  });
});

for (const id of signals) {
  test(`the number of ${id} leads to the bytes that it rests on, hashed and marked here`, async () => {
    await visit(`/evidence/${id}/latest`, { viewport: { width: 390, height: 844 } }, async (page) => {
      const steps = await page.locator('[aria-labelledby="formula"] tbody tr').count();
      assert.ok(steps >= 4, `${steps} steps`);
      const cells = await page.locator('[aria-labelledby="cells"] [data-cell]').count();
      const shown = await page.locator("[data-sha256]").count();
      assert.ok(cells > 0 && shown > 0, `${cells} cells, ${shown} bodies`);
      await page.click("#hash-bytes");
      await page.waitForFunction(() => /not compared/.test(document.getElementById("hashed").textContent));
      assert.equal(await text(page, "#hashed"), `${shown} equal, 0 different, 0 not compared.`);
      const marked = await page.locator("#marks figure").evaluateAll((list) => list.map((f) => ({
        series: f.dataset.series, equal: f.dataset.equal, mark: f.querySelector("mark").textContent, box: f.textContent, lines: f.querySelector("pre").textContent.split("\n").length,
        seen: ["left", "right"].every((side) => {
          const [at, box] = ["mark", "pre"].map((name) => f.querySelector(name).getBoundingClientRect());
          return at[side] >= box.left && at[side] <= box.right;
        }),
      })));
      assert.equal(new Set(marked.map((m) => m.box)).size, marked.length, "two boxes show the same");
      for (const m of marked) assert.ok(m.seen && m.lines === 1, JSON.stringify(m));
      assert.ok(marked.length > 0, "nothing is marked");
      for (const m of marked) { // a mean over a region is of many cells of its grid: the first ones are marked
        assert.ok(m.mark.length > 0 && (m.equal === "true" || m.series.startsWith("temis.")), JSON.stringify(m));
      }
      // The browser computes the hash itself: a byte that changed on the way is found.
      await page.route("**/raw/*", async (route) => {
        const answer = await route.fetch();
        const body = await answer.body();
        body[0] ^= 1;
        await route.fulfill({ response: answer, body });
      });
      await page.click("#hash-bytes");
      await page.waitForFunction((n) => document.getElementById("hashed").textContent.includes(`${n} different`), shown);
    });
  });
}

test("research is there in four languages", async () => {
  await visit(research, {}, async (page) => {
    for (const [name, lang, word] of [["Español", "es", /Precio/], ["Português", "pt", /Preço/], ["हिन्दी", "hi", /भाव/], ["English", "en", /Price/]]) {
      await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
      await page.locator(`html[lang=${lang}]`).waitFor();
      await page.waitForLoadState();
      assert.match(await text(page, "main"), word);
    }
    await page.goto(`${research}?lang=hi`);
    const font = await page.evaluate(() => {
      // Letters that no font has are drawn as boxes of one width.
      const c = document.createElement("canvas").getContext("2d");
      c.font = getComputedStyle(document.body).font;
      return new Set([..."कखगज"].map((l) => c.measureText(l).width)).size;
    });
    assert.ok(font > 1, "there are letters for Hindi");
  });
});

// english are the texts of a page with words of English, but for what is marked as English, code, and names that publishers gave.
const english = (page) => page.evaluate(() => {
  const out = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    if (n.parentElement.closest("[lang=en], code, pre, cite, script, noscript, textarea, .hash, .inputs, a[rel~=external]")) continue;
    if (/(?<![\p{L}_])(the|of|and|with|are|was|from|not)(?![\p{L}_])/u.test(n.data)) out.push(n.data.trim().slice(0, 120));
  }
  return out;
});

// concluded waits for a verdict of the page /verify, after its witnesses were asked.
const concluded = async (page, verdict) => {
  await page.locator(`#verdict[data-verdict=${verdict}]`).waitFor();
  await page.locator("#attested li[data-state]").first().waitFor();
  await page.locator("#logged li[data-state]").first().waitFor();
};
const attested = Boolean(chain.attestation.latest?.uid);
const untouched = "self_consistent"; // nobody whom the server names counts

// ask asks the node that the server names, which is not asked on load.
const ask = async (page) => {
  await page.locator("#ask button").click();
  await page.locator("#attested [data-state=ok]").nth(3).waitFor();
};

// trust names the server's node as the visitor's own.
const trust = async (page) => {
  await page.getByLabel("Node (JSON-RPC)").fill(chain.attestation.rpc_url);
  await page.getByRole("button", { name: "Ask the node" }).click();
  await page.getByText("You named this node").waitFor();
};

test("the browser recomputes the chain, and reads the log on load", async () => {
  await visit("/verify", {}, async (page) => {
    await concluded(page, untouched);
    assert.equal(await page.locator("#checks [data-state=ok]").count(), 4);
    assert.match(await text(page, "#checks"), /Each trading day of the exchange since the first pick/);
    // Between the end of a session and the announcement, the pick of the day is sealed and not yet revealed.
    const [, sealed, opened = sealed] = (await text(page, "#checks")).match(/Sealed picks in the log: (\d+)\. (?:Each was opened here by its reveal|Opened here by their reveals: (\d+))/);
    assert.equal(Number(opened), chain.picks.length);
    assert.ok(sealed - opened <= 1, `${sealed} sealed, ${opened} opened`);
    assert.equal(await page.locator("#links tr").count(), Math.min(chain.picks.length, 400));
    assert.equal(await page.locator("#links td.down").count(), 0);
    assert.equal(await page.locator("#verify :is(.good, .up)").count(), 0, "green without a witness");
    assert.equal(await text(page, "#checkpoint"), `${chain.chain_length}:${chain.head_hash}`);
    if (attested) {
      await ask(page);
      await concluded(page, untouched);
      assert.match(await text(page, "#attested"), /(from 20\d\d-\d\d-\d\d .* UTC to|all of) 20\d\d-/);
      assert.match(await text(page, "#whosenode"), /server names this node\. It is asked, and it does not count/);
      assert.match(await text(page, "#checks"), /The server's own list of witnesses holds the same and does not count/);
      await trust(page);
      await concluded(page, "witnessed");
      assert.equal(await page.locator("#checks [data-state=ok]").count(), 5);
      assert.match(await text(page, "#verdict"), /^witnessed by 1 of 1$/);
      assert.equal(await page.locator("#checks .good").count(), 1, "only what the witness confirms is green");
      assert.equal(await page.locator("#links td.here.up:has-text('ok')").first().locator("..").locator("td").first().innerText(),
        (await text(page, "#meaning")).match(/up to pick (\d+)/)?.[1] ?? String(chain.chain_length));
      await page.getByLabel("Node (JSON-RPC)").fill("");
      await page.getByRole("button", { name: "Ask the node" }).click();
      await concluded(page, untouched);
    }
    const compare = async (checkpoint) => {
      await page.getByLabel("Compare one that you kept").fill(checkpoint);
      await page.getByRole("button", { name: "Compare" }).click();
    };
    await compare(`${chain.chain_length}:${chain.head_hash}`); // a copy of what is shown is no witness
    assert.equal(await page.locator("#compared [data-state=open]").count(), 1);
    await concluded(page, untouched);
    await compare(`${chain.chain_length - 1}:${chain.picks.at(-2).hash}`);
    assert.equal(await page.locator("#compared [data-state=ok]").count(), 1);
    await concluded(page, "witnessed");
    await compare(`1:${chain.picks[0].hash}`);
    assert.equal(await page.locator("#compared [data-state=ok]").count(), 1);
    await concluded(page, untouched);
    await page.getByLabel("Compare one that you kept").fill(`1:${"ab".repeat(32)}`);
    await page.getByRole("button", { name: "Compare" }).click();
    await concluded(page, "contradicted");
    assert.match(await text(page, "#conflicts"), /your checkpoint/);
  });
});

test("a chain that nobody else was asked about is not green", async () => {
  const alone = async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    body.attestation.latest = null;
    await route.fulfill({ response, json: body });
  };
  await visit("/verify", {}, async (page) => {
    await page.route("**/api/v1/verify/picks", alone);
    await page.route("**/api/v1/info", (route) => route.fulfill({ json: { data: { log: null } } }));
    await page.reload();
    await concluded(page, "self_consistent");
    assert.ok(!(await page.locator("#verdict").getAttribute("class")).includes("good"), "self-consistent is not green");
    assert.match(await text(page, "#meaning"), /log was not read/);
  });
});

test("the browser sees what the visitor tampers with, and the witnesses catch a rewritten chain", async () => {
  await visit("/verify?seq=2", {}, async (page) => {
    await concluded(page, untouched);
    if (attested) await ask(page);
    await page.getByLabel("New value").fill("1.00");
    await page.getByRole("button", { name: "Tamper" }).click();
    await concluded(page, "contradicted");
    assert.match(await text(page, "#checks"), /Pick 2: its hash does not match/);
    assert.match(await text(page, "#link-2"), /does not match/);
    assert.equal(await page.locator("#links td.down").count(), chain.picks.length - 1, "everything after a cheat is wrong, too");
    assert.match(await text(page, "#link-3"), /rests on pick 2/);
    assert.match(await text(page, "#checkpoint"), /nothing to keep/);
    assert.ok(await page.getByText("Keep this line today").isHidden());

    await page.getByRole("button", { name: "Now rehash everything after it" }).click();
    await page.locator("#checks [data-state=ok]", { hasText: "hashes recomputed" }).waitFor();
    assert.equal(await page.locator("#links td.down").count(), 0, "a rewritten chain agrees with itself");
    await concluded(page, attested ? "contradicted" : "self_consistent");
    if (attested) {
      assert.ok(await page.locator("#conflicts tr").count() > 0, "the page shows who holds what");
      const [, , , held, here] = await page.locator("#conflicts tr").first().locator("td").allInnerTexts();
      assert.notEqual(held, here);
    }
    await page.getByRole("button", { name: "Restore" }).click();
    await concluded(page, untouched);
  });
});

test("the witnesses of the log count by the visitor's policy, and catch what the attestations are not asked about", async () => {
  const without = async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    body.attestation.latest = null;
    await route.fulfill({ response, json: body });
  };
  await visit("/verify", {}, async (page) => {
    await page.route("**/api/v1/verify/picks", without);
    await page.reload();
    await page.getByText("have the root that the log signed").waitFor();
    await concluded(page, "self_consistent"); // the server's own witnesses count for nothing
    assert.match(await text(page, "#meaning"), /paste your policy/);

    // A line end that the field changes does not make the server's policy the visitor's.
    await page.route("**/api/v1/info", async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      body.data.log.vkey += "\r";
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    await page.getByText("have the root that the log signed").waitFor();
    await concluded(page, "self_consistent");
    await page.unroute("**/api/v1/info");
    await page.reload();
    await page.getByText("have the root that the log signed").waitFor();

    const policy = await page.locator("#policy").inputValue();
    const check = async (rules, verdict) => {
      await page.locator("#policy").fill(rules);
      await page.getByRole("button", { name: "Check the log" }).click();
      await page.locator("#logged li[data-state]").first().waitFor();
      await concluded(page, verdict);
    };
    await check(`# as I know it\n${policy}`, "witnessed");
    assert.match(await text(page, "#verdict"), /^witnessed by [34] of 4$/);
    assert.match(await text(page, "#meaning"), /not independent/);
    assert.doesNotMatch(await text(page, "#meaning"), /server's own/);
    await check(policy.replace(/^group.*\n/m, "").replace(/^quorum.*/m, "quorum none"), "self_consistent");
    await check(policy.replace(/^log \S+/m, "log evil.example/log+474f2135+AWjJ"), "self_consistent");
    assert.match(await text(page, "#meaning"), /quorum of your policy/);
    await check(policy, "self_consistent");
    await check(`# as I know it\n${policy}`, "witnessed");

    await page.getByRole("button", { name: "Tamper" }).click();
    await page.getByRole("button", { name: "Now rehash everything after it" }).click();
    await concluded(page, "contradicted");
    assert.match(await text(page, "#conflicts"), /the log, cosigned by/);
  });
});

test("the chain is recomputed, and tampered with, in the visitor's language", async () => {
  const said = {
    es: { tamper: "Cambiar", fault: "Selección 2: su hash no coincide.", row: "se apoya en la selección 2", kept: "No hay nada que guardar" },
    pt: { tamper: "Alterar", fault: "Seleção 2: seu hash não confere.", row: "se apoia na seleção 2", kept: "Não há nada a guardar" },
    hi: { tamper: "बदलें", fault: "चयन 2: इसका हैश मेल नहीं खाता।", row: "चयन 2 पर टिका है", kept: "सहेजने को कुछ नहीं है" },
  };
  for (const [lang, want] of Object.entries(said)) {
    await visit(`/verify?lang=${lang}&seq=2`, {}, async (page) => {
      await concluded(page, untouched);
      assert.deepEqual(await english(page), [], `${lang}: English on the page`);
      if (attested) await ask(page);
      await page.locator("#value").fill("1.00");
      await page.getByRole("button", { name: want.tamper, exact: true }).click();
      await concluded(page, "contradicted");
      assert.ok((await text(page, "#checks")).includes(want.fault), await text(page, "#checks"));
      assert.match(await text(page, "#link-3"), new RegExp(want.row));
      assert.match(await text(page, "#checkpoint"), new RegExp(want.kept));
      assert.deepEqual(await english(page), [], `${lang}: English on the page`);
    });
  }
});

// No page in a language has a sentence of English, but where it says so of the sentence.
test("a page in a visitor's language is in this language", async () => {
  const paths = [
    "/", ...signals.flatMap((id) => [`/signals/${id}`, `/signals/${id}/forecasts`, `/signals/${id}/revisions`, `/evidence/${id}/latest`, `/embed/${id}`]),
    "/picks", `/picks/${chain.picks[0].date}`, "/portfolio", "/events", "/economic-events", "/digest", "/compare", "/calendar", "/dashboard", research,
    "/status", "/terms", "/method", "/docs", "/changelog", "/problems/not-found", ...signals.map((id) => `/signals/${id}/brief`),
  ];
  const wrong = { "/nothing-here": 404, "/picks/2001-01-01": 404, [`/signals/${signals[0]}?as_of=1999-01-01`]: 404, [`/signals/${signals[0]}?range=7q`]: 400 };
  for (const lang of ["es", "pt", "hi"]) {
    for (const path of paths) {
      await visit(`${path}?lang=${lang}`, {}, async (page) => {
        assert.equal(await page.getAttribute("html", "lang"), lang, path);
        assert.deepEqual(await english(page), [], `${path} in ${lang}: English on the page`);
        if (lang === "hi") { // a sentence of Hindi ends with a danda; नं. is short for number, and the parts of a citation end with dots in each language
          await page.evaluate(() => { for (const e of document.querySelectorAll("[lang=en], cite")) e.hidden = true; });
          const dots = (await text(page, "main")).match(/\S*[\u0900-\u097F]\.(?=\s|$)/gu) ?? [];
          assert.deepEqual(dots.filter((word) => word !== "नं."), [], `${path} in Hindi: sentences that end with a dot`);
        }
      });
    }
    for (const [path, status] of Object.entries(wrong)) {
      await visit(`${path}${path.includes("?") ? "&" : "?"}lang=${lang}`, { status, expected: /status of 4/ }, async (page) => {
        assert.equal(await page.getAttribute("html", "lang"), lang, path);
        assert.deepEqual(await english(page), [], `${path} in ${lang}: English on the page`);
      });
    }
  }
});

// The bytes of who stands between an honest server and the reader: a pick more at the end, with a right hash, of a day that the exchange has.
test("a pick that is appended on the way is not witnessed, and one of a day that has not come is contradicted", { skip: !attested }, async () => {
  const appended = (day) => async (route) => {
    const response = await route.fetch(), body = await response.json();
    const pick = { ...body.picks.at(-1), seq: body.chain_length + 1, ticker: "ACME", date: day, previous_hash: body.head_hash };
    pick.hash = createHash("sha256").update(`${pick.ticker}|${pick.price}|${pick.date}|${pick.previous_hash}`).digest("hex");
    Object.assign(body, { picks: [...body.picks, pick], chain_length: pick.seq, head_hash: pick.hash, head_date: day });
    await route.fulfill({ response, json: body });
  };
  const later = (days) => new Date(Date.parse(chain.verified_at) + days * 86400000).toISOString().slice(0, 10);
  await visit("/verify", {}, async (page) => {
    await page.route("**/api/v1/verify/picks", appended(later(5)));
    await page.reload();
    await concluded(page, "contradicted");
    assert.match(await text(page, "#checks"), new RegExp(`Pick ${chain.chain_length + 1} is of ${later(5)}`));
  });
});

// A day is left out, and the chain is made anew, so that it agrees with itself.
test("a day that is left out is named, though nobody else is asked", async () => {
  const without = async (route) => {
    const response = await route.fetch(), body = await response.json();
    const left = body.picks.splice(Math.floor(body.picks.length / 2), 1)[0].date;
    let previous = "0".repeat(64);
    for (const [i, p] of body.picks.entries()) {
      Object.assign(p, { seq: i + 1, previous_hash: previous });
      previous = p.hash = createHash("sha256").update(`${p.ticker}|${p.price}|${p.date}|${previous}`).digest("hex");
    }
    Object.assign(body, { chain_length: body.picks.length, head_hash: previous, gaps: body.gaps.filter((g) => g.date !== left) });
    body.attestation.latest = null;
    await route.fulfill({ response, json: body });
  };
  await visit("/verify", {}, async (page) => {
    await page.route("**/api/v1/verify/picks", without);
    await page.route("**/api/v1/info", (route) => route.fulfill({ json: { data: { log: null } } }));
    await page.reload();
    await concluded(page, "contradicted");
    assert.match(await text(page, "#checks"), new RegExp(`without a record of that: ${chain.picks[Math.floor(chain.picks.length / 2)].date}`));
  });
});

test("a log that the server hides leaves nothing witnessed", { skip: !attested }, async () => {
  await visit("/verify", { expected: /status of 404/ }, async (page) => {
    await page.route("**/log/checkpoint*", (route) => route.fulfill({ status: 404, body: "" }));
    await page.reload();
    await page.getByText("The log is not checked").waitFor();
    await trust(page);
    await concluded(page, "self_consistent");
    assert.match(await text(page, "#meaning"), /not cosigned lately by more than half of the witnesses that the server names/);
    await page.goto("/verify?lang=es");
    await page.getByText("El registro no se ha comprobado: el servidor no tiene registro.").waitFor();
  });
});

test("the page's scripts reach the verdict of every vector in this browser", async () => {
  const vectors = JSON.parse(readFileSync(process.env.VECTORS));
  await visit("/verify", {}, async (page) => {
    const got = await page.evaluate(async (cases) => {
      const { verdict, log: logScript } = document.getElementById("verify").dataset;
      const { judge, recompute } = await import(verdict), { parsePolicy, readLog } = await import(logScript);
      const bytes = (encoded) => Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
      const out = [];
      for (const c of cases) {
        const log = c.log && { ...await readLog(await parsePolicy(c.log.policy), c.log.note, c.log.leaves.map(bytes), c.log.other), required: c.log.required, named: c.log.named };
        const j = judge(c.answer, await recompute(c.answer.picks), c.witnesses, c.policy, log);
        out.push({ verdict: j.verdict, fault: j.fault?.seq ?? null, covered: j.fault ? null : j.covered, parties: j.fault ? null : [j.agreeing, j.parties] });
      }
      return out;
    }, vectors);
    assert.ok(vectors.length > 150, `${vectors.length} vectors`);
    for (const [i, { name, want }] of vectors.entries()) assert.deepEqual(got[i], want, name);
  });
});

test("an attestation that the server does not name counts, too", { skip: !attested }, async () => {
  const named = (change) => async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    change(body.attestation.latest);
    await route.fulfill({ response, json: body });
  };
  await visit("/verify", {}, async (page) => {
    await page.route("**/api/v1/info", (route) => route.fulfill({ json: { data: { log: null } } }));
    // The server says that its newest attestation is in a later block than it is, so that those between are not asked for.
    await page.route("**/api/v1/verify/picks", named((latest) => { latest.block_number += 1_000_000; }));
    await page.reload();
    await trust(page);
    await page.getByText("Whether there is a newer one is not known").waitFor();
    await concluded(page, "self_consistent");
    await page.unroute("**/api/v1/verify/picks");
    // The node knows of a newer attestation by the same account.
    await page.route(chain.attestation.rpc_url, async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      if (route.request().postDataJSON()?.method === "eth_getLogs") body.result.push({ data: `0x${"12".repeat(32)}` });
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    await trust(page);
    await concluded(page, "contradicted");
    assert.match(await text(page, "#attested"), /has no attestation 0x1212/);
  });
});

test("a node at another address, even of the same host, is not asked before the visitor asks it", { skip: !attested }, async () => {
  await visit("/verify", {}, async (page) => {
    const node = new URL(chain.attestation.rpc_url), asked = [];
    assert.equal(node.hostname, new URL(base).hostname, "the node has another port of the page's host");
    page.on("request", (request) => { if (new URL(request.url()).host === node.host) asked.push(request.url()); });
    await page.reload();
    await page.getByText("have the root that the log signed").waitFor();
    await concluded(page, untouched);
    assert.match(await text(page, "#attested"), new RegExp(`Not asked yet: the server names the node ${chain.attestation.rpc_url.replaceAll(".", "\\.")}`));
    assert.deepEqual(asked, []);
    assert.match(await text(page, "#checks"), /No witness of your choice was asked/); // those of the server's policy were
    await ask(page);
    assert.notEqual(asked.length, 0);
    assert.match(await text(page, "#whosenode"), /It is asked, and it does not count/);

    // A node of the page's own origin is asked on load.
    await page.route("**/api/v1/verify/picks", async (route) => {
      const response = await route.fetch(), body = await response.json();
      body.attestation.rpc_url = new URL("/node", base).href;
      await route.fulfill({ response, json: body });
    });
    await page.route("**/node", (route) => route.fulfill({ json: { error: { message: "it sleeps" } } }));
    await page.reload();
    await page.getByText("the node says: it sleeps").waitFor();
  });
});

test("a contract of the server's making is not taken for EAS", { skip: !attested }, async () => {
  await visit("/verify", {}, async (page) => {
    await page.route("**/api/v1/verify/picks", async (route) => {
      const response = await route.fetch(), body = await response.json();
      body.attestation.contract = `0x${"12".repeat(20)}`;
      await route.fulfill({ response, json: body });
    });
    await page.reload();
    await trust(page);
    await concluded(page, "contradicted");
    assert.match(await text(page, "#attested"), /contract is not EAS/);
  });
});

test("on a telephone /verify keeps no room for what no check says, and /docs breaks no name between letters", async () => {
  await visit("/verify", { viewport: { width: 390, height: 844 } }, async (page) => {
    await concluded(page, untouched);
    await page.waitForFunction(() => document.getElementById("attested").style.minHeight === "0px");
    const spare = await page.evaluate(() => ["attested", "logged", "links"].map((id) => {
      const list = document.getElementById(id), box = list.closest(".tall") ?? list, last = list.lastElementChild;
      return box.scrollHeight > box.clientHeight || !last ? 0 : box.getBoundingClientRect().bottom - last.getBoundingClientRect().bottom;
    }));
    assert.ok(Math.max(...spare) < 48, `spare room: ${spare}`);
    const strip = await page.evaluate(() => document.getElementById("took").getBoundingClientRect().top - document.getElementById("meaning").getBoundingClientRect().bottom);
    assert.ok(strip < 20 && /\d/.test(await text(page, "#took")), `a strip of ${strip} pixels is blank below the verdict`);
  });
  await visit("/docs", { viewport: { width: 390, height: 844 } }, async (page) => {
    await page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
    const lines = await page.locator(".option").evaluateAll((list) => list.map((e) => e.getClientRects().length));
    assert.ok(lines.length > 0 && Math.max(...lines) === 1, `options on ${lines} lines`);
  });
  await visit("/docs", { viewport: { width: 390, height: 844 } }, async (page) => {
    const broken = await page.evaluate(() => [...document.querySelectorAll("th.code code")].flatMap((code) => [...code.childNodes]).filter((node) => {
      const parts = node.textContent.matchAll(/[A-Za-z0-9]+/g), range = document.createRange();
      return node.nodeType === Node.TEXT_NODE && [...parts].some((part) => {
        range.setStart(node, part.index);
        range.setEnd(node, part.index + part[0].length);
        return new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1;
      });
    }).map((node) => node.textContent));
    assert.deepEqual(broken, []);
  });
});

test("another attester than the visitor expects contradicts", { skip: !attested }, async () => {
  await visit("/verify", {}, async (page) => {
    await concluded(page, untouched);
    await trust(page);
    await concluded(page, "witnessed");
    await page.getByLabel("Expected attester").fill(`0x${"12".repeat(20)}`);
    await page.getByLabel("Expected attester").blur();
    await concluded(page, "contradicted");
    await page.getByLabel("Expected attester").fill(chain.attestation.attester.toUpperCase().replace("X", "x"));
    await page.getByLabel("Expected attester").blur();
    await concluded(page, "witnessed");
  });
});

test("a server that lies is found out, and a node that is unavailable proves nothing", async () => {
  const serve = (change) => async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    change(body);
    await route.fulfill({ response, json: body });
  };
  const refused = /net::ERR_CONNECTION_REFUSED/; // what the browser complains of when it asks that node
  await visit("/verify", { expected: refused }, async (page) => {
    await concluded(page, untouched);
    // The first price was changed, and the server says that the chain is valid.
    await page.route("**/api/v1/verify/picks", serve((body) => { body.picks[0].price = "1.23"; }));
    await page.reload();
    await concluded(page, "contradicted");
    assert.match(await text(page, "#checks"), /Pick 1: its hash does not match/);
    // The chain was cut. It agrees with itself, and the attestations hold more picks.
    await page.unroute("**/api/v1/verify/picks");
    await page.route("**/api/v1/verify/picks", serve((body) => {
      body.picks.length -= 3;
      body.chain_length -= 3;
      body.head_hash = body.picks.at(-1).hash;
    }));
    await page.reload();
    await concluded(page, "contradicted"); // by the log
    if (attested) {
      await ask(page);
      assert.match(await text(page, "#conflicts"), /attestation 0x[\s\S]*it holds \d+ picks, and the server shows/);
    }

    await page.unroute("**/api/v1/verify/picks");
    await page.reload();
    await concluded(page, untouched);
    await page.getByLabel("Node (JSON-RPC)").fill("http://127.0.0.1:65535");
    await page.getByRole("button", { name: "Ask the node" }).click();
    await page.getByText("The node could not be asked").waitFor();
    await concluded(page, "self_consistent"); // the witnesses that the server names count for nothing
  });
});

test("the severity of events is a filter", async () => {
  await visit("/events", {}, async (page) => {
    await page.getByRole("link", { name: "notable or higher", exact: true }).click();
    await page.waitForURL(/min_severity=3/);
    const seen = await page.locator(".feed .state").allInnerTexts();
    assert.ok(seen.every((s) => ["notable", "high", "critical"].includes(s)), seen.join());
  });
});

test("a hash in a table has room on a telephone", async () => {
  await visit(`/evidence/${signals[0]}/latest`, { viewport: { width: 390, height: 844 } }, async (page) => {
    const widths = await page.locator("th .hash").evaluateAll((list) => list.map((e) => e.getBoundingClientRect().width));
    assert.ok(widths.length > 0 && Math.min(...widths) >= 100, widths.join());
  });
  for (const lang of ["es", "hi"]) {
    await visit(`/evidence/${signals[0]}/latest?lang=${lang}`, { viewport: { width: 390, height: 844 } }, async (page) => {
      const air = await page.locator(".bodies tbody th").evaluateAll((list) => list.map((e) => e.nextElementSibling.getBoundingClientRect().left - e.querySelector(".hash").getBoundingClientRect().right));
      assert.ok(air.length > 0 && Math.min(...air) >= 8, `${lang}: the sources stand ${air} pixels beside the hashes`);
    });
  }
});

test("the menu begins where the page does, on a telephone and on a tablet", async () => {
  for (const [width, lang] of [[390, "en"], [768, "en"], [768, "pt"], [1280, "hi"]]) {
    await visit(`/?lang=${lang}`, { viewport: { width, height: 844 } }, async (page) => {
      const [brand, first] = await page.evaluate(() => {
        const range = document.createRange();
        range.selectNodeContents(document.querySelector("header nav a"));
        return [document.querySelector(".brand").getBoundingClientRect(), range.getBoundingClientRect()].map((b) => ({ left: b.left, bottom: b.bottom }));
      });
      assert.ok(first.bottom <= brand.bottom || Math.abs(first.left - brand.left) <= 1, `${lang}, ${width}: the menu begins at ${first.left}, the name at ${brand.left}`);
    });
  }
});

test("the documents have contents, code in five languages with this server's answers, and a button that tries each example", async () => {
  await visit("/docs", { javaScriptEnabled: false }, async (page) => {
    for (const link of await page.getByRole("navigation", { name: "Contents" }).getByRole("link").all()) {
      assert.equal(await page.locator(await link.getAttribute("href")).count(), 1, await link.innerText());
    }
    for (const [name, sign] of [["Python", "import json, urllib.request"], ["Go", "package main"], ["TypeScript", "const answer = await fetch("], ["R", "library(jsonlite)"], ["curl", "curl '"]]) {
      await page.getByRole("navigation", { name: "Language of the examples" }).getByRole("link", { name: `${name} code`, exact: true }).click();
      await page.waitForURL(name === "curl" ? /docs$/ : new RegExp(`code=${name.toLowerCase()}`));
      assert.ok((await page.locator("pre.code").first().innerText()).startsWith(sign), name);
    }
    assert.ok(await page.locator("pre.answer:not(.tried)").count() >= 5, "the answers stand on the page");
    assert.match(await page.locator("pre.answer").first().innerText(), /"observed_at"|"id"/);
  });
  const { data: { api_key: key } } = await json("/api/v1/auth/register", { name: "docs" });
  await visit("/docs", {}, async (page) => {
    const tries = page.locator("form.try");
    assert.ok(await tries.count() >= 5);
    for (let i = 0; i < await tries.count(); i++) {
      const form = tries.nth(i);
      if (await form.getByLabel("API key").count()) await form.getByLabel("API key").fill(key);
      await form.getByRole("button", { name: "Try it" }).click();
      const shown = page.locator(`#${await form.getAttribute("data-output")}`);
      await page.waitForFunction((e) => e.textContent !== "", await shown.elementHandle());
      assert.match(await shown.innerText(), /^200 .*\d+ ms/, await form.getAttribute("data-address"));
    }
  });
});

test("the documents in another language have its button to try an example, and each word within its box at 390 pixels", async () => {
  for (const [lang, name] of [["es", "Probar"], ["pt", "Testar"], ["hi", "आज़माएँ"]]) {
    await visit(`/docs?lang=${lang}`, { viewport: { width: 390, height: 844 }, expected: /ERR_FAILED/ }, async (page) => {
      const form = page.locator("form.try").first();
      await form.getByRole("button", { name }).click();
      const shown = page.locator(`#${await form.getAttribute("data-output")}`);
      await page.waitForFunction((e) => e.textContent !== "", await shown.elementHandle());
      assert.match(await shown.innerText(), /^200 .*\d+ ms/, lang);
      const out = await page.locator("main :is(p, li, h1, h2, h3, dt, dd, td, th, a, button, label, summary)").evaluateAll((list) => list
        .filter((e) => e.checkVisibility() && !e.closest(".scroll, .hidden, pre") && (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline" || e.getBoundingClientRect().right > innerWidth + 1))
        .map((e) => e.outerHTML.slice(0, 90)));
      assert.deepEqual(out, [], `${lang}: out of the box`);
      await page.route("**/api/signals/**", (route) => route.abort());
      await form.getByRole("button", { name }).click();
      await page.waitForFunction((e) => !/^200 /.test(e.textContent), await shown.elementHandle());
      const failed = await page.locator("[data-failed]").getAttribute("data-failed");
      assert.ok((await shown.innerText()).startsWith(failed.replace("%s", "")), await shown.innerText());
    });
  }
});

test("every page keeps its budget: 40 KB before the data of plots, nothing from elsewhere, and no cookie", async () => {
  const { gzipSync } = await import("node:zlib");
  for (const path of [...everyPage, ...signals.map((id) => `/embed/${id}`), "/dashboard"]) {
    await visit(path, { expected: /.*/ }, async (page, asked) => {
      assert.deepEqual(elsewhere(asked), [], path);
      assert.deepEqual((await page.context().cookies()).map((c) => c.name), [], `${path} sets a cookie`);
      const files = [path, ...new Set(asked.filter((url) => new URL(url).pathname.startsWith("/static/")))];
      let bytes = 0;
      for (const url of files) {
        const body = await (await fetch(new URL(url, base))).text();
        bytes += gzipSync(body).length;
      }
      assert.ok(bytes <= 40_960, `${path} weighs ${bytes} bytes`);
    });
  }
});

test("no number and no day of the figures that a pick was announced with is cut in two on a telephone", async () => {
  await visit(`/picks/${chain.picks[0].date}`, { viewport: { width: 390, height: 844 } }, async (page) => {
    const cut = await page.locator(".research tbody td").evaluateAll((cells) => cells.flatMap((cell) => {
      const range = document.createRange();
      const node = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).nextNode();
      return [...(node?.data ?? "").matchAll(/\S*\d\S*/g)].flatMap((word) => {
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        return range.getClientRects().length > 1 ? [word[0]] : [];
      });
    }));
    assert.deepEqual(cut, []);
  });
});

test("no table is cut off, no word in one is cut in two and no two heads read as one at any width, also in what opens, and no page is wider than the screen", async () => {
  // The longest names decide, so every pick is looked at.
  for (const path of [...everyPage, "/signals/iowa-corn-yield?lang=hi", ...chain.picks.slice(1).map(({ date }) => `/picks/${date}`)]) {
    for (const width of widths) {
      await visit(path, { viewport: { width, height: 844 }, expected: /.*/ }, async (page) => {
        await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
        const cut = await page.evaluate(() => [...document.querySelectorAll("table:not(:has(td.hash))")].flatMap((table) => {
          let box = table;
          while (box && (box.scrollWidth <= box.clientWidth + 1 || getComputedStyle(box).overflowX === "visible")) box = box.parentElement;
          return box ? [`${[...table.querySelectorAll("thead th")].map((th) => th.textContent).join(" | ")}: ${box.scrollWidth} in ${box.clientWidth}`] : [];
        }));
        assert.deepEqual(cut, [], `${path} at ${width}`);
        const squeezed = await page.evaluate(() => [...document.querySelectorAll("table td, table th")].flatMap((cell) => {
          const node = cell.firstChild;
          if (node?.nodeType !== Node.TEXT_NODE || cell.matches(".hash, .long, .mono")) return [];
          const range = document.createRange();
          return [...node.data.matchAll(/[\p{L}\p{M}]+|\d{4}-\d\d-\d\d/gu)].flatMap((word) => {
            if (word[0].length > 24) return []; // a tag of a filing is longer than a line of a telephone
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1 ? [word[0]] : [];
          });
        }));
        assert.deepEqual(squeezed, [], `${path} at ${width}: words and days that a narrow column cuts in two`);
        assert.deepEqual(await joined(page), [], `${path} at ${width}: heads that read as one`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is wider than ${width}`);
      });
    }
  }
});

// ofEachSignal are the pages that depend most on what a signal's names and numbers are.
const ofEachSignal = signals.flatMap((id) => [`/signals/${id}?range=all`, `/signals/${id}/forecasts`, `/signals/${id}/revisions`, `/evidence/${id}/latest`]);

test("with letters of twice their size no page is wider than the screen, nothing stands on something else, and nothing is cut off, at any width", async () => {
  const faults = [];
  for (const path of [...new Set([...everyPage, ...ofEachSignal, ...signals.map((id) => `/embed/${id}`), "/dashboard"])]) {
    await visit(path, { expected: /.*/ }, async (page) => {
      if (path === "/verify") await concluded(page, untouched);
      await page.evaluate(() => {
        document.documentElement.style.fontSize = "200%";
        for (const d of document.querySelectorAll("details")) d.open = true;
      });
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await tooWide(page);
        if (wide) faults.push(`${path} at ${width} is ${wide}`);
        const cut = await page.evaluate(() => [...document.querySelectorAll("h1, h2, h3, label, button, .button, .state, dt, dd, .tabs a, nav a, .finding, .notice, .lines .day")]
          .filter((e) => e.checkVisibility() && !e.closest(".skip, .hidden") && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 && (e.matches(".day") || getComputedStyle(e).overflowX !== "visible"))
          .map((e) => e.outerHTML.slice(0, 90)));
        faults.push(...cut.map((e) => `${path} at ${width} cuts off ${e}`), ...(await crowded(page)).map((f) => `${path} at ${width}: ${f}`));
      }
    });
  }
  assert.deepEqual(faults, []);
});

test("every word of a page, and every line of a plot, can be told from what is behind it, light and dark", async () => {
  const faults = [];
  for (const path of [...new Set([...everyPage, ...ofEachSignal, ...signals.map((id) => `/embed/${id}`), "/dashboard"])]) {
    await visit(path, { expected: /.*/ }, async (page) => {
      if (path === "/verify") await concluded(page, untouched);
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
        faults.push(...(await faint(page)).map((f) => `${path}, ${colorScheme}: ${f}`));
      }
    });
  }
  assert.deepEqual(faults, []);
});

test("without a script every page stands whole at every width: it says what it is about, shows nothing that does nothing, and fits", async () => {
  const faults = [];
  for (const path of [...new Set([...everyPage, ...ofEachSignal, "/dashboard"])]) {
    await visit(path, { javaScriptEnabled: false, expected: /.*/ }, async (page) => {
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        const wide = await tooWide(page);
        if (wide) faults.push(`${path} at ${width} is ${wide}`);
        const { title, said, idle } = await page.evaluate(() => ({
          title: document.querySelector("h1")?.innerText.trim() ?? "", said: document.querySelector("main").innerText.length,
          idle: [...document.querySelectorAll("button, input:not([type=hidden]), select, textarea, progress, a, .outcome")].filter((e) => e.checkVisibility() && (
            e.matches("progress, .outcome") || (e.matches("button") && (e.type !== "submit" || !e.form)) || (e.matches("a") && !e.href)
            || (e.matches("input, select, textarea") && ![...e.form?.elements ?? []].some((b) => b.type === "submit" && b.checkVisibility()))
          )).map((e) => e.outerHTML.slice(0, 90)),
        }));
        if (!title || said < 200) faults.push(`${path} at ${width} says only ${said} letters below ${JSON.stringify(title)}`);
        faults.push(...idle.map((e) => `${path} at ${width} has an idle ${e}`));
      }
    });
  }
  assert.deepEqual(faults, []);
});

test("the keyboard alone reaches whatever a page offers, in the order of the page, and sees where it is", async () => {
  const faults = [];
  const twice = [...signals.slice(1).map((id) => `/signals/${id}`), "/problems/precondition-failed", "/problems/range-not-satisfiable"]; // as others are
  for (const path of everyPage.filter((p) => !/lang=|from=/.test(p) && !twice.includes(p))) {
    await visit(path, { expected: /.*/ }, async (page) => {
      if (path === "/verify") await concluded(page, untouched);
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        const offered = await page.evaluate(() => {
          const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
            .filter((e) => e.tabIndex >= 0 && !e.disabled && e.type !== "hidden" && e.checkVisibility({ visibilityProperty: true }));
          globalThis.met = [];
          globalThis.unseen = [];
          globalThis.note ??= addEventListener("focusin", ({ target }) => {
            const at = globalThis.stops.indexOf(target), style = getComputedStyle(target);
            globalThis.met.push(at);
            if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) globalThis.unseen.push(at);
          }) ?? true;
          globalThis.stops = stops;
          document.activeElement.blur();
          stops[0].focus(); // another step shows that the first press of the key leads here
          return stops.length;
        });
        let met, unseen;
        for (let pressed = 0; pressed < 3 * offered; pressed += 10) { // a field for a date has several stops
          for (let i = 0; i < 10; i++) await page.keyboard.press("Tab");
          [met, unseen] = await page.evaluate(() => [globalThis.met, globalThis.unseen]);
          if (met.includes(offered - 1)) break;
        }
        met.length = Math.min(met.length, met.indexOf(offered - 1) + 1 || met.length); // the browser begins again
        faults.push(...unseen.map((at) => `${path} at ${width}: the focus is not seen at stop ${at}`));
        const inOrder = met.every((at, i) => at === i);
        if (!inOrder || met.length !== offered) faults.push(`${path} at ${width}: of ${offered} stops the keyboard meets ${met.length}, ${met.slice(0, 5)} to ${met.slice(-5)}`);
      }
    });
  }
  assert.deepEqual(faults, []);
});

test("the first stop of the keyboard skips to the content", async () => {
  await visit("/", {}, async (page) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.hash === "#main");
  });
});

test("the holder of a key signs in, sees how it stands, rotates it and signs out", async () => {
  const { data: { api_key: key } } = await json("/api/v1/auth/register", { name: "browser" });
  const answers = async (key) => (await fetch(`${base}/api/v1/account`, { headers: { Authorization: `Bearer ${key}` } })).status;
  await visit("/dashboard", {}, async (page) => {
    const faults = [];
    const look = async (name) => {
      for (const [width, colorScheme] of [[1280, "light"], [390, "light"], [1280, "dark"]]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        await shoot(page, `dashboard-${name}-${width}${colorScheme === "dark" ? "-dark" : ""}`);
        faults.push(...await violations(page));
      }
    };
    await look("sign-in");
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#key-name").waitFor();
    assert.match(await text(page, "#key-name"), /browser/);
    assert.ok(!(await page.content()).includes(key), "the page does not hold the key");
    const [cookie, ...more] = await page.context().cookies();
    assert.deepEqual(more, [], "the session's cookie is the only one");
    assert.ok(cookie.httpOnly && cookie.sameSite === "Strict", "no script and no other site gets at the session");
    await look("key");
    await page.getByRole("button", { name: "Rotate the key" }).click();
    const fresh = (await text(page, "#new-key")).trim();
    assert.notEqual(fresh, key);
    assert.equal(await answers(fresh), 200);
    assert.equal(await answers(key), 401);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    assert.deepEqual(faults, []);
  });
});

test("a key is topped up by a transfer: an amount of its own with a wallet, and the text that its sender signs", async () => {
  const { data: { api_key: key, key_id: id } } = await json("/api/v1/auth/register", { name: "transfer" });
  const { data: { network, caip2, asset, pay_to: payTo } } = await json("/api/v1/x402/info");
  const number = caip2.split(":")[1];
  const faults = [];
  // The panel works without a script: it is forms, and one link for a wallet.
  for (const javaScriptEnabled of [true, false]) {
    await visit("/dashboard", { javaScriptEnabled, expected: /status of 404|status of 202/ }, async (page) => {
      await page.getByLabel("API key").fill(key);
      await page.getByRole("button", { name: "Sign in" }).click();
      const panel = page.getByRole("region", { name: `With ${asset.symbol}` });
      await panel.waitFor();
      assert.match(await panel.innerText(), new RegExp(`Send at least 5 ${asset.symbol} on Base Sepolia \\(${caip2}\\) to`), `the network is ${network}`);
      assert.equal((await text(page, "#pay-to")).trim().toLowerCase(), payTo.toLowerCase());
      assert.match(await panel.innerText(), /A unique amount shows whose transfer it is; without one, claim the transfer right after sending it, or sign for it\./);
      assert.equal(await page.locator("#wallet").count(), 0, "a wallet is offered with an amount");
      assert.equal(await page.locator("#sign-text").count(), 0, "there is nothing to sign before a claim");

      await panel.getByRole("button", { name: "Get a unique amount" }).click();
      const amount = (await text(page, "#quoted")).trim();
      assert.match(amount, /^\d+\.\d{2,6}$/);
      assert.match(await panel.innerText(), /Send exactly .* until .* A transfer of this amount is yours alone\./s);
      const micros = BigInt(amount.split(".")[0]) * 1_000_000n + BigInt(amount.split(".")[1].padEnd(6, "0"));
      assert.equal((await page.getByRole("link", { name: "Open a wallet" }).getAttribute("href")).toLowerCase(),
        `ethereum:${asset.address}@${number}/transfer?address=${payTo}&uint256=${micros}`.toLowerCase());
      if (javaScriptEnabled) faults.push(...await violations(page));

      const tx = `0x${(javaScriptEnabled ? "ab" : "cd").repeat(32)}`;
      await panel.getByLabel("Transaction hash").fill(tx);
      await panel.getByRole("button", { name: "Claim the transfer" }).click();
      await page.locator("#sign-text").waitFor();
      assert.equal((await text(page, "#sign-text")).trim(), `claim ${tx} for key ${id} on chain ${number}`);
      assert.match(await panel.innerText(), /Was the transfer yours, and has another key claimed it\? For seven days the sender's signature moves it here\./);
      assert.equal(await panel.getByLabel("Transaction hash").inputValue(), tx);
      if (javaScriptEnabled) faults.push(...await violations(page));

      await panel.getByLabel("Signature").fill(`0x${"11".repeat(65)}`);
      await panel.getByRole("button", { name: "Claim the transfer" }).click();
      await page.locator("#notice.bad").waitFor();
      if (javaScriptEnabled) await shoot(page, "dashboard-transfer-1280");
    });
  }
  assert.deepEqual(faults, []);
});

test("every page is accessible in both colour schemes, fits a small telephone, and has its picture taken", async () => {
  const faults = [];
  for (const path of everyPage) {
    await visit(path, {}, async (page) => {
      if (path === "/verify") await concluded(page, untouched);
      const look = async (width, colorScheme) => {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        await shoot(page, `${nameOf(path)}-${width}${colorScheme === "dark" ? "-dark" : ""}`);
      };
      await look(1280, "light");
      await look(390, "light");
      await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
      await page.setViewportSize({ width: 360, height: 740 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > 360) faults.push(`${path} is ${wide} pixels wide on a telephone of 360`);
      faults.push(...(await violations(page)).map((v) => `${path}: ${v}`));
      faults.push(...(await darkViolations(page)).map((v) => `${path}, dark: ${v}`));
      await look(1280, "dark");
    });
  }
  assert.deepEqual(faults, []);
});

test("a browser that must wait for the stream of changes comes again by itself", async () => {
  const streams = new AbortController();
  try {
    for (let n = 0; n < 32; n++) await fetch(`${base}/api/stream`, { signal: streams.signal }); // as many as an address can have
    await visit("/", {}, async (page) => {
      const state = await page.evaluate(() => new Promise((done) => {
        const source = new EventSource("/api/stream");
        source.onerror = () => { done(source.readyState); source.close(); };
      }));
      assert.equal(state, 0, "it connects again, and is not closed");
    });
  } finally {
    streams.abort();
  }
});
