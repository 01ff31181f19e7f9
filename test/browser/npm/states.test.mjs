// Takes the picture of every page in every state: at three widths, light and dark, without a script, and with text twice as large. What a
// picture would show as broken is asserted too: nothing is wider than the screen, and axe finds nothing.
import { test } from "node:test";
import assert from "node:assert/strict";
import { chain, elsewhere, everyPage, json, nameOf, shoot, signals, tooWide, violations, visit, widths } from "./stand.mjs";

const [signal] = signals;
const { date, ticker } = chain.picks[0];
const newest = chain.picks.at(-1);

// pointed moves the pointer to a place of a plot and waits for the readout.
const pointed = (plot) => async (page) => {
  await page.locator(plot).scrollIntoViewIfNeeded();
  const box = await page.locator(plot).boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + 80);
  await page.locator(".tip b").waitFor();
};

// concluded waits until the chain and its witnesses were asked.
const concluded = async (page) => {
  for (const list of ["#attested", "#logged"]) await page.locator(`${list} li[data-state]`).first().waitFor();
};

// States that an address alone does not have: what a visitor did before, or what goes wrong.
const states = [
  ...everyPage.map((path) => ({ path, ready: path === "/verify" ? concluded : undefined })),
  ...signals.map((id) => ({ path: `/signals/${id}?range=all` })),
  ...signals.map((id) => ({ path: `/embed/${id}` })),
  ...["es", "pt", "hi"].flatMap((lang) => [
    { path: `/signals/${signal}?lang=${lang}` }, { path: `/picks/${newest.date}?lang=${lang}` }, { path: `/digest?lang=${lang}` }, { path: `/events?lang=${lang}` },
    { path: `/?lang=${lang}` }, { path: `/signals/eia-weekly-petroleum?range=5y&lang=${lang}` }, { path: `/signals/eia-weekly-petroleum/forecasts?lang=${lang}` },
    { path: `/signals/${signal}/revisions?lang=${lang}` }, { path: `/evidence/crack-spread-321/latest?lang=${lang}` }, { path: `/calendar?lang=${lang}` },
    { path: `/verify?lang=${lang}`, ready: concluded }, { path: `/dashboard?lang=${lang}` },
    { path: `/status?lang=${lang}` }, { path: `/terms?lang=${lang}` }, { path: `/method?lang=${lang}` }, { path: `/signals/${signal}/brief?lang=${lang}` },
    { path: `/docs?lang=${lang}` }, { path: `/nothing-here?lang=${lang}`, status: 404 }, { path: `/signals/${signal}?range=7q&lang=${lang}`, status: 400 },
  ]),
  { path: `/picks/${newest.date}` },
  { path: `/research/${ticker}` },
  { path: "/docs?code=python" },
  { path: "/dashboard" },
  { path: "/picks?status=closed" },
  { path: "/events?min_severity=5" },
  { path: "/compare?first=hormuz-transit&second=iowa-corn-yield&lag=12" },
  { path: "/nothing-here", status: 404 },
  { path: "/research/ZZZZ", status: 404 },
  { path: `/picks/2001-01-01`, status: 404 },
  { path: `/signals/${signal}?as_of=1999-01-01`, status: 404 },
  { path: `/signals/${signal}?range=7q`, status: 400 },
  { path: `/compare?first=${signal}&second=${signal}`, status: 400 },
  { name: "signal-readout", path: `/signals/${signal}`, ready: pointed("#plot-value"), scripted: true },
  { name: "portfolio-readout", path: "/portfolio", ready: pointed("#plot-return"), scripted: true },
  { name: "compare-readout", path: "/compare?first=hormuz-transit&second=crack-spread-321&lang=hi", ready: pointed("#plot-compare"), scripted: true },
  { name: "signal-event", path: "/signals/crack-spread-321?from=2020-01-01&to=2020-12-31", scripted: true, ready: async (page) => {
    await page.locator(".mark:visible").first().focus();
    await page.locator(".tip .event").first().waitFor();
  } },
  { name: "evidence-hashed", path: `/evidence/${signal}/latest`, scripted: true, ready: async (page) => {
    await page.click("#hash-bytes");
    await page.waitForFunction(() => /not compared/.test(document.getElementById("hashed").textContent));
  } },
  ...(chain.attestation.latest ? ["en", "es", "pt", "hi"] : []).map((lang) => ({
    name: `verify-asked-${lang}`, path: `/verify?lang=${lang}`, scripted: true, also: new URL(chain.attestation.rpc_url).origin, ready: async (page) => {
      await concluded(page);
      await page.locator("#ask button").click();
      await page.locator("#attested [data-state=ok]").nth(3).waitFor();
    },
  })),
  { name: "verify-tampered", path: "/verify", scripted: true, ready: async (page) => {
    await concluded(page);
    await page.getByRole("button", { name: "Tamper" }).click();
    await page.locator("#verdict[data-verdict=contradicted]").waitFor();
  } },
  { name: "docs-tried", path: "/docs", scripted: true, ready: async (page) => {
    await page.locator("form.try button").first().click();
    await page.waitForFunction(() => [...document.querySelectorAll(".tried code")].some((e) => e.textContent !== ""));
  } },
  { name: "dashboard-refused", path: "/dashboard", ready: async (page) => {
    await page.getByLabel("API key").fill(`tmk_${"A".repeat(41)}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#notice.bad").waitFor();
  } },
  { name: "dashboard-created", path: "/dashboard", ready: async (page) => {
    await page.getByRole("button", { name: "Create key" }).click();
    await page.locator("#new-key").waitFor();
  } },
  { name: "dashboard-key", path: "/dashboard", ready: async (page) => {
    const { data: { api_key: key } } = await json("/api/v1/auth/register", { name: "A reader with a long name for one key" });
    await page.getByLabel("API key").fill(key);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.locator("#key-name").waitFor();
  } },
];

const only = process.env.STATES && new RegExp(process.env.STATES);

for (const { name, path, status, ready, scripted, also } of states) {
  const file = name ?? nameOf(path);
  if (only && !only.test(file)) continue;
  test(`${name ?? path} has its picture taken in every form`, async () => {
    const faults = [];
    const look = async (page, form) => {
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))); // a readout follows its point
        const wide = await tooWide(page);
        if (wide) faults.push(`${form} is ${wide}`);
        await shoot(page, `${file}-${width}${form && `-${form}`}`);
      }
    };
    const axe = async (page, form) => faults.push(...(await violations(page)).map((v) => `${form}: ${v}`));
    const expected = /./; // an answer with another status than 200 is a complaint, too, and the other suite looks for complaints
    await visit(path, { status, expected, viewport: { width: 768, height: 900 } }, async (page, asked) => {
      await ready?.(page);
      faults.push(...elsewhere(asked, also).map((url) => `asks elsewhere: ${url}`));
      const cookies = (await page.context().cookies()).map((c) => c.name).filter(() => !path.startsWith("/dashboard"));
      faults.push(...cookies.map((c) => `sets the cookie ${c}`));
      await look(page, "");
      await axe(page, "light");
      await page.emulateMedia({ colorScheme: "dark" });
      await look(page, "dark");
      await axe(page, "dark");
      await page.emulateMedia({ colorScheme: "light" });
      await page.evaluate(() => { document.documentElement.style.fontSize = "200%"; });
      await look(page, "large");
    });
    if (!scripted) {
      await visit(path, { status, expected, javaScriptEnabled: false }, async (page) => {
        if (!path.startsWith("/verify")) await ready?.(page);
        for (const width of widths) {
          await page.setViewportSize({ width, height: 900 });
          await shoot(page, `${file}-${width}-noscript`);
        }
      });
    }
    assert.deepEqual(faults, []);
  });
}
