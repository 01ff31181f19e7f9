// Drives the pages of a service with PAGES=free, as visitors without and with a key do.
import { test } from "node:test";
import assert from "node:assert/strict";
import { base, chain, darkViolations, everyPage, json, nameOf, shoot, text, violations, visit } from "./stand.mjs";

// What is for visitors with a key is said at the top of these, with what the whole costs.
const partly = ["/picks", "/portfolio", "/events", "/digest", `/picks/${chain.picks[0].date}`];

test("a page that is not whole says what it shows, what the rest costs, and how to get it", async () => {
  for (const path of partly) {
    await visit(path, {}, async (page) => {
      const notice = page.locator("#level");
      assert.match(await notice.innerText(), /With a key the whole page (is free|costs 0\.\d+ USD\. Loading it again within ten minutes is free)\./, path);
      assert.match(await notice.getByRole("link", { name: "Get a key" }).getAttribute("href"), /\/dashboard/);
      assert.match(await notice.getByRole("link", { name: "Sign in" }).getAttribute("href"), /\/dashboard/);
    });
  }
});

test("the latest five picks have their returns, older ones stand as the chain has them", async () => {
  await visit("/picks", {}, async (page) => {
    const latest = await page.getByRole("group", { name: "Picks", exact: true }).locator("tbody tr").allInnerTexts();
    assert.equal(latest.length, 5);
    assert.ok(latest.slice(1).every((row) => /\d\.\d\d%/.test(row)), latest.join("\n"));
    const older = await page.getByRole("group", { name: "Older picks, in the chain" }).locator("tbody tr").allInnerTexts();
    assert.equal(older.length, chain.picks.length - 5);
    older.forEach((row, i) => {
      const { seq, ticker, hash } = chain.picks[chain.picks.length - 6 - i];
      assert.ok(row.includes(ticker) && row.includes(hash) && row.includes(String(seq)) && !row.includes("%"), row);
    });
  });
});

test("a visitor with a key sees the whole page, pays it once, and not again for a reload", async () => {
  const { data: { api_key: key } } = await json("/api/v1/auth/register", { name: "reader" });
  const balance = async () => (await (await fetch(`${base}/api/v1/account`, { headers: { Authorization: `Bearer ${key}` } })).json()).data.balance.amount;
  await visit("/dashboard", {}, async (page) => {
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#key-prefix").waitFor();
    const before = Number(await balance());
    await page.goto("/picks");
    assert.match(await text(page, "#level"), /You see this page with your key\. It costs 0\.005 USD; loading it again within ten minutes is free\./);
    const rows = await page.getByRole("group", { name: "Picks", exact: true }).locator("tbody tr").allInnerTexts();
    assert.ok(rows.length > 5 && rows.slice(1).every((row) => /\d\.\d\d%/.test(row)), rows.join("\n"));
    const once = Number(await balance());
    assert.ok(Math.abs(before - once - 0.005) < 1e-9, `from ${before} to ${once}`);
    await page.reload();
    assert.equal(Number(await balance()), once, "a reload costs nothing");
  });
});

test("every page with less on it is accessible in both colour schemes and fits a small telephone", async () => {
  const faults = [];
  for (const path of everyPage) {
    await visit(path, {}, async (page) => {
      await shoot(page, `free-${nameOf(path)}-1280`);
      await page.evaluate(() => { for (const d of document.querySelectorAll("details")) d.open = true; });
      await page.setViewportSize({ width: 360, height: 740 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      if (wide > 360) faults.push(`${path} is ${wide} pixels wide on a telephone of 360`);
      faults.push(...(await violations(page)).map((v) => `${path}: ${v}`), ...(await darkViolations(page)).map((v) => `${path}, dark: ${v}`));
    });
  }
  assert.deepEqual(faults, []);
});
