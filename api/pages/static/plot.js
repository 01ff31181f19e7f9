// Shows the point under the pointer, under a finger or under the arrow keys of a plot, over time or in a plane, beside the point. What was tapped or clicked
// stays. Dragging across the plot, or Shift with the arrow keys and then Enter, opens the stretch that was chosen, with its days in the
// address. The plot is drawn without this; the numbers come from the API, once somebody looks, or from the page.
const svgNS = "http://www.w3.org/2000/svg";

// rows reads CSV whose cells hold no commas.
function rows(text) {
  const [head, ...lines] = text.trim().split(/\r?\n/);
  const names = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((cell, i) => [names[i], cell])));
}

const day = (seconds) => new Date(seconds * 1000).toISOString().slice(0, 10);

// inWords writes a day as the pages do. Portuguese has an ordinal number for the first of a month.
const { lang } = document.documentElement;
const words = new Intl.DateTimeFormat(lang, { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
const inWords = (seconds) => words.format(new Date(seconds * 1000)).replace(/^1 (?=de )/, lang === "pt" ? "1º " : "1 ");

const months = new Intl.DateTimeFormat(lang, { month: "long", year: "numeric", timeZone: "UTC" });

const number = (cell) => (cell === "" || cell === undefined || cell === null ? NaN : Number(cell));

// valueIn is the value of a point in a panel: the first of the panel's columns that the point has.
const valueIn = (row, columns) => columns.map((name) => number(row[name])).find((v) => !Number.isNaN(v)) ?? NaN;

// inside is the box of a drawing without the rooms for its labels, which are at its sides.
function inside(svg) {
  const box = svg.getBoundingClientRect();
  const style = getComputedStyle(svg);
  const [left, right] = [parseFloat(style.paddingLeft), parseFloat(style.paddingRight)];
  return { left: box.left + left, top: box.top, width: box.width - left - right };
}

class Plot {
  constructor(figure) {
    this.figure = figure;
    const d = figure.dataset;
    const columns = d.columns.split(" ");
    this.panels = [...figure.querySelectorAll(":scope > svg[data-from]")].map((svg, i) => this.panel(svg, columns[i].split("|")));
    if (!this.panels.length) return;
    const decimals = Number(d.decimals);
    this.per = Number(d.per || 1); // how many of the source's units one of the plot's value is
    const format = new Intl.NumberFormat(lang, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    this.shown = (cell) => {
      const v = number(cell) / this.per;
      if (Number.isNaN(v)) return d.unknown ?? "unknown";
      const text = format.format(Math.abs(v));
      const sign = !/[1-9]/.test(text) ? "" : v < 0 ? "−" : d.signed ? "+" : "";
      return `${sign}${d.prefix ?? ""}${text}`;
    };
    const plural = new Intl.PluralRules(document.documentElement.lang, { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
    this.measured = (cell) => {
      if (Number.isNaN(number(cell))) return this.shown(cell);
      if (d.before) return `${d.before} ${this.shown(cell)}`;
      const unit = d.singular && plural.select(Math.abs(number(cell) / this.per)) === "one" ? d.singular : d.unit;
      return `${this.shown(cell)}${unit.endsWith("%") ? "" : " "}${unit}`.trim();
    };
    this.score = new Intl.NumberFormat(lang, { minimumFractionDigits: 2, maximumFractionDigits: 2, signDisplay: "exceptZero" });
    this.tip = document.createElement("p");
    this.tip.className = "tip";
    this.tip.setAttribute("role", "status");
    this.tip.hidden = true;
    figure.append(this.tip);
    this.at = -1;
    this.pinned = -1;
    figure.tabIndex = 0;
    figure.setAttribute("aria-label", `${d.label}. ${d.keys ?? "The arrow keys move from point to point."}${d.zoom ? ` ${d.zoomKeys ?? "Hold Shift to select a range; press Enter to open it."}` : ""}`);
    figure.addEventListener("pointermove", (e) => { if (e.pointerType !== "touch" && !this.down && !e.target.closest(".mark")) this.point(e); });
    figure.addEventListener("click", (e) => { if (this.dragged) this.dragged = false; else if (!e.target.closest("a, button")) this.point(e, true); });
    if (d.zoom) this.zoomable();
    for (const mark of figure.querySelectorAll(".mark")) this.events(mark);
    figure.addEventListener("pointerleave", (e) => {
      if (e.pointerType === "touch" || this.down || this.chosen) return;
      this.wanted = undefined;
      if (this.pinned < 0) this.clear(); else this.show(this.pinned);
    });
    figure.addEventListener("keydown", (e) => this.key(e));
    figure.addEventListener("focus", () => this.load());
    document.addEventListener("click", (e) => { if (!figure.contains(e.target)) this.clear(); });
    window.addEventListener("pagehide", () => this.clear()); // a browser that keeps the page shows it again on the way back
    window.addEventListener("resize", () => { // a telephone is turned
      if (this.told) this.told();
      else if (this.pinned < 0 || this.chosen) this.clear();
      else this.show(this.pinned);
    });
  }

  panel(svg, columns) {
    const d = svg.dataset;
    const line = document.createElementNS(svgNS, "line");
    const dot = document.createElementNS(svgNS, "circle");
    line.setAttribute("class", "cursor");
    dot.setAttribute("class", "dot");
    dot.setAttribute("r", "5");
    return { svg, columns, line, dot, from: +d.from, to: +d.to, lo: +d.lo, hi: +d.hi, top: +d.top, end: +d.end };
  }

  async read() {
    const inside = this.figure.querySelector("script[type='application/json']");
    if (inside) return JSON.parse(inside.textContent);
    const answer = await fetch(this.figure.dataset.points);
    if (!answer.ok) throw new Error(answer.statusText);
    if (!/json/.test(answer.headers.get("Content-Type"))) return rows(await answer.text());
    return (await answer.json()).data.map((pair) => ({ observed_at: pair.period, ...pair }));
  }

  load() {
    this.loading ??= this.read()
      .then((list) => {
        const { from, to } = this.panels[0];
        const { x } = this.figure.dataset; // the column of x, where that is not time
        this.points = list.map((row) => ({ row, x: x ? number(row[x]) : Date.parse(row.observed_at) / 1000 })).filter((p) => p.x >= from && p.x <= to);
      })
      .catch(() => { this.loading = undefined; });
    return this.loading;
  }

  // events shows the texts of events beside their number, under the pointer, the focus of the keyboard or a finger.
  events(mark) {
    const tell = (e) => {
      if (e?.type === "click") e.preventDefault();
      this.clear();
      this.told = tell;
      this.tip.replaceChildren(...mark.dataset.events.split(" ").map((id) => {
        const line = document.createElement("span"), event = document.getElementById(id);
        const [day, text] = event.children;
        line.className = "event";
        line.textContent = `${[...event.parentElement.children].indexOf(event) + 1}. ${day.textContent} ${text.textContent}`;
        return line;
      }));
      const [svg, strip] = [this.panels[0].svg, mark.getBoundingClientRect()];
      const { from, to } = this.panels[0];
      const box = inside(svg);
      this.place(from + ((strip.left + strip.width / 2 - box.left) / box.width) * (to - from), 0, true);
    };
    for (const type of ["pointerenter", "focus", "click"]) mark.addEventListener(type, tell);
    // A mark that another width hides loses the focus: its text stays.
    for (const type of ["pointerleave", "blur"]) mark.addEventListener(type, (e) => { if (e.pointerType !== "touch" && mark.getClientRects().length) this.clear(); });
  }

  // zoomable lets a pointer choose a stretch. A finger that moves up or down scrolls, as elsewhere: the browser then cancels the pointer.
  zoomable() {
    const { figure } = this;
    figure.addEventListener("pointerdown", (e) => {
      this.dragged = false;
      this.down = e.isPrimary && e.button === 0 && this.panels.some((p) => p.svg.contains(e.target)) ? { x: e.clientX, id: e.pointerId } : undefined;
    });
    figure.addEventListener("pointermove", (e) => {
      if (this.down?.id !== e.pointerId) return;
      if (!this.dragged && Math.abs(e.clientX - this.down.x) < (e.pointerType === "mouse" ? 6 : 16)) return;
      if (!this.dragged) figure.setPointerCapture(e.pointerId);
      this.dragged = true;
      this.choose(this.time(this.down.x), this.time(e.clientX));
    });
    figure.addEventListener("pointerup", (e) => {
      if (this.down?.id === e.pointerId && this.dragged) this.zoom();
      this.down = undefined;
    });
    figure.addEventListener("pointercancel", () => { this.down = undefined; this.dragged = false; this.clear(); });
  }

  // time is the time below a place of the screen, within the plot.
  time(clientX) {
    const { svg, from, to } = this.panels[0];
    const box = inside(svg);
    return from + Math.max(0, Math.min(1, (clientX - box.left) / box.width)) * (to - from);
  }

  // between writes two bounds in the words of the page.
  between(lo, hi) {
    const [before, middle, after] = (this.figure.dataset.span ?? "%s to %s").split("%s");
    return `${before}${lo}${middle}${hi}${after}`;
  }

  // choose marks a stretch.
  choose(a, b) {
    this.chosen = [Math.min(a, b), Math.max(a, b)];
    this.wanted = undefined;
    for (const p of this.panels) {
      p.line.remove();
      p.dot.remove();
      p.area ??= document.createElementNS(svgNS, "rect");
      p.area.setAttribute("class", "chosen");
      const [left, right] = this.chosen.map((x) => ((x - p.from) / (p.to - p.from)) * 100);
      for (const [name, value] of [["x", `${left}%`], ["width", `${right - left}%`], ["y", p.top], ["height", p.end - p.top]]) p.area.setAttribute(name, value);
      p.svg.append(p.area);
    }
    const [from, to] = this.chosen.map("months" in this.figure.dataset ? (x) => months.format(new Date(x * 1000)) : inWords);
    this.tip.textContent = from === to ? from : this.between(from, to);
    this.place((a + b) / 2, this.panels[0].top + 40);
  }

  // zoom opens the chosen stretch, unless it is too short to hold two points. Of a monthly signal, it begins with a month, as the readout says.
  async zoom() {
    let [from, to] = this.chosen.map(day);
    if ("months" in this.figure.dataset) from = `${from.slice(0, 8)}01`;
    await this.load();
    const inside = this.points?.filter((p) => day(p.x) >= from && day(p.x) <= to).length;
    if (inside < 2) { this.tip.textContent = this.figure.dataset.short ?? "Too short: it holds fewer than two points."; return; }
    const address = new URL(this.figure.dataset.zoom, location.href);
    address.searchParams.set("from", from);
    address.searchParams.set("to", to);
    address.hash = "history";
    location.assign(address);
  }

  // height is where a panel draws a value.
  height(p, y) { return p.end - ((y - p.lo) / (p.hi - p.lo)) * (p.end - p.top); }

  // apart measures how far points are from a place of the screen: along the axis of x, in a plane in both directions, or of rows up and down.
  apart(clientX, clientY) {
    const p = this.panels[0], box = inside(p.svg);
    return ({ row, x }) => {
      const across = clientX - box.left - ((x - p.from) / (p.to - p.from)) * box.width;
      const { plane } = this.figure.dataset;
      return plane ? Math.hypot(plane === "rows" ? 0 : across, clientY - box.top - this.height(p, valueIn(row, p.columns))) : Math.abs(across);
    };
  }

  async point(e, pin) {
    this.wanted = e;
    await this.load();
    if (this.wanted !== e || !this.points?.length) return;
    const apart = this.points.map(this.apart(e.clientX, e.clientY));
    let best = 0;
    for (let i = 1; i < apart.length; i++) {
      if (apart[i] <= apart[best]) best = i;
    }
    if (pin) this.pinned = best;
    this.show(best);
  }

  async key(e) {
    if (e.key === "Escape") { this.clear(); return; }
    if (e.key === "Enter" && e.target === this.figure) {
      if (!this.chosen && !this.choosing) return;
      e.preventDefault();
      await this.load(); // the keys before it may still wait for the points
      if (this.chosen) await this.zoom();
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[e.key];
    if (step === undefined) return;
    e.preventDefault();
    const stretch = e.shiftKey && this.figure.dataset.zoom;
    this.choosing ||= stretch;
    await this.load();
    if (stretch) this.choosing = false;
    if (!this.points?.length) return;
    const last = this.points.length - 1;
    const start = this.at < 0 ? last + (step < 0 ? 1 : 0) : this.at;
    this.pinned = Math.max(0, Math.min(last, start + step));
    if (stretch) {
      this.anchor ??= Math.min(last, start);
      this.at = this.pinned;
      this.choose(this.points[this.anchor].x, this.points[this.at].x);
      return;
    }
    this.show(this.pinned);
  }

  show(i) {
    this.unchoose();
    this.told = undefined; // the readout is in place of events
    this.at = i;
    const { row, x } = this.points[i];
    let high;
    for (const p of this.panels) {
      const left = `${((x - p.from) / (p.to - p.from)) * 100}%`;
      for (const [name, value] of [["x1", left], ["x2", left], ["y1", p.top], ["y2", p.end]]) p.line.setAttribute(name, value);
      p.svg.append(p.line);
      const y = valueIn(row, p.columns) / (p === this.panels[0] ? this.per : 1);
      if (Number.isNaN(y)) { p.dot.remove(); continue; }
      const at = this.height(p, y);
      high ??= p === this.panels[0] ? at : undefined;
      p.dot.setAttribute("cx", left);
      p.dot.setAttribute("cy", at);
      p.svg.append(p.dot);
    }
    this.say(row);
    this.place(x, high ?? this.panels[0].top);
  }

  // when writes the time of an observation as the page does: a day, the month of a monthly signal, or the crop of the year before a first of January.
  when(seconds) {
    const d = this.figure.dataset, date = new Date(seconds * 1000);
    if (d.crop && date.getUTCMonth() === 0 && date.getUTCDate() === 1) return d.crop.replace("%s", date.getUTCFullYear() - 1);
    return "months" in d && date.getUTCDate() === 1 ? months.format(date) : inWords(seconds);
  }

  // say fills in the readout: the point, a colon, and the value of the first panel. Then it lists what else is known of the point.
  say(row) {
    const d = this.figure.dataset;
    const strong = document.createElement("b");
    strong.textContent = row.instead ?? this.measured(row[this.panels[0].columns[0]]);
    const rest = [];
    if (!Number.isNaN(number(row.uncertainty_lo))) rest.push(`${d.interval ?? "interval"} ${row.range ?? this.between(this.shown(row.uncertainty_lo), this.shown(row.uncertainty_hi))}`);
    if (row.baseline_value) rest.push(`${d.baseline ?? "baseline"} ${this.shown(row.baseline_value)}`);
    if (row.z_score) rest.push(`z\u00a0${this.score.format(number(row.z_score)).replace("-", "−")}`);
    for (const pair of d.also?.split("|") ?? []) {
      const [, name, column] = pair.match(/^(.*):(.*)$/);
      const value = document.createElement("strong");
      value.textContent = this.measured(row[column]);
      rest.push([`${name} `, value]);
    }
    if (row.revised === "true") rest.push(d.revised ?? "revised");
    const day = document.createElement("span");
    day.textContent = row.name ?? this.when(Date.parse(row.observed_at) / 1000);
    const more = document.createElement("small");
    more.append(...rest.flatMap((part, i) => (i ? [", "] : []).concat(part)));
    this.tip.replaceChildren(day, d.name ? `: ${d.name} ` : ": ", strong, " ", more);
  }

  // place puts the readout above the point, where a finger does not hide it, and within the figure. Where there is no room above the point,
  // it stands beside it, or below. Below the strip of events it covers no heading.
  place(x, high, below) {
    const { svg, from, to } = this.panels[0];
    this.tip.hidden = false;
    const [box, whole, apart] = [inside(svg), this.figure.getBoundingClientRect(), 14];
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const at = box.left - whole.left + ((x - from) / (to - from)) * box.width;
    const point = box.top - whole.top + high;
    let [left, top] = [Math.max(0, Math.min(whole.width - width, at - width / 2)), below ? point : point - height - apart];
    if (top < 0) {
      const sides = [at - apart - width, at + apart].filter((side) => side >= 0 && side + width <= whole.width);
      [left, top] = sides.length ? [sides[0], 0] : [left, point + apart];
    }
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${top}px`;
  }

  unchoose() {
    this.chosen = this.anchor = undefined;
    for (const p of this.panels) p.area?.remove();
  }

  clear() {
    this.unchoose();
    this.wanted = this.told = undefined;
    this.at = this.pinned = -1;
    for (const p of this.panels) { p.line.remove(); p.dot.remove(); }
    this.tip.hidden = true;
  }
}

for (const figure of document.querySelectorAll(".plot[data-columns]")) new Plot(figure);

// A picture of the plot in pixels, drawn from the one that the server has drawn.
for (const button of document.querySelectorAll("[data-png]")) {
  button.addEventListener("click", () => {
    const picture = new Image();
    picture.addEventListener("load", () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = button.dataset.name;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      });
    });
    picture.src = button.dataset.png;
  });
}
