// Shows the point under the pointer, or under the arrow keys, of a plot over time. The plot is drawn without this; the numbers come from
// the API as they are, once somebody looks.
const figures = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });
const svgNS = "http://www.w3.org/2000/svg";

// rows reads CSV whose cells hold no commas.
function rows(text) {
  const [head, ...lines] = text.trim().split(/\r?\n/);
  const names = head.split(",");
  return lines.map((line) => Object.fromEntries(line.split(",").map((cell, i) => [names[i], cell])));
}

const number = (cell) => (cell === "" || cell === undefined ? NaN : Number(cell));
const shown = (cell) => (Number.isNaN(number(cell)) ? "unknown" : figures.format(number(cell)));

class Plot {
  constructor(figure, readout) {
    this.figure = figure;
    this.readout = readout;
    this.panels = [...figure.querySelectorAll(":scope > svg")].map((svg, i) => this.panel(svg, i === 0 ? "value" : "z_score"));
    if (!this.panels.length) return;
    this.at = -1;
    figure.tabIndex = 0;
    figure.setAttribute("aria-label", "History. The arrow keys go from point to point.");
    figure.addEventListener("pointermove", (e) => this.point(e));
    figure.addEventListener("pointerdown", (e) => this.point(e));
    // A finger leaves after each tap: what it touched stays.
    figure.addEventListener("pointerleave", (e) => { if (e.pointerType !== "touch") this.clear(); });
    figure.addEventListener("keydown", (e) => this.key(e));
    figure.addEventListener("focus", () => this.load());
  }

  panel(svg, column) {
    const d = svg.dataset;
    const line = document.createElementNS(svgNS, "line");
    const dot = document.createElementNS(svgNS, "circle");
    line.setAttribute("class", "cursor");
    dot.setAttribute("class", "dot");
    dot.setAttribute("r", "5");
    return { svg, column, line, dot, from: +d.from, to: +d.to, lo: +d.lo, hi: +d.hi, top: +d.top, end: +d.end };
  }

  load() {
    this.loading ??= fetch(this.figure.dataset.points)
      .then((answer) => (answer.ok ? answer.text() : Promise.reject(new Error(answer.statusText))))
      .then((text) => {
        const { from, to } = this.panels[0];
        this.points = rows(text)
          .map((row) => ({ row, x: Date.parse(row.observed_at) / 1000 }))
          .filter((p) => p.x >= from && p.x <= to);
      })
      .catch(() => { this.loading = undefined; });
    return this.loading;
  }

  async point(e) {
    const { svg, from, to } = this.panels[0];
    const box = svg.getBoundingClientRect();
    const x = from + ((e.clientX - box.left) / box.width) * (to - from);
    this.wanted = x;
    await this.load();
    if (this.wanted !== x || !this.points?.length) return;
    let best = 0;
    for (let i = 1; i < this.points.length; i++) {
      if (Math.abs(this.points[i].x - x) <= Math.abs(this.points[best].x - x)) best = i;
    }
    this.show(best);
  }

  async key(e) {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20, Home: -Infinity, End: Infinity }[e.key];
    if (step === undefined) return;
    e.preventDefault();
    await this.load();
    if (!this.points?.length) return;
    const last = this.points.length - 1;
    const start = this.at < 0 ? last + (step < 0 ? 1 : 0) : this.at;
    this.show(Math.max(0, Math.min(last, start + step)));
  }

  show(i) {
    this.at = i;
    const { row, x } = this.points[i];
    for (const p of this.panels) {
      const left = `${((x - p.from) / (p.to - p.from)) * 100}%`;
      for (const [name, value] of [["x1", left], ["x2", left], ["y1", p.top], ["y2", p.end]]) p.line.setAttribute(name, value);
      p.svg.append(p.line);
      const y = number(row[p.column]);
      if (Number.isNaN(y)) { p.dot.remove(); continue; }
      p.dot.setAttribute("cx", left);
      p.dot.setAttribute("cy", p.end - ((y - p.lo) / (p.hi - p.lo)) * (p.end - p.top));
      p.svg.append(p.dot);
    }
    const strong = document.createElement("b");
    strong.textContent = `${shown(row.value)} ${this.figure.dataset.unit}`;
    const rest = [];
    if (row.uncertainty_lo) rest.push(`interval ${shown(row.uncertainty_lo)} to ${shown(row.uncertainty_hi)}`);
    if (row.baseline_value) rest.push(`baseline ${shown(row.baseline_value)}`);
    if (row.z_score) rest.push(`z ${number(row.z_score).toFixed(2)}`);
    if (row.revised === "true") rest.push("revised");
    this.readout.replaceChildren(`${row.observed_at.slice(0, 10)}: `, strong, rest.length ? `, ${rest.join(", ")}` : "");
  }

  clear() {
    this.wanted = undefined;
    this.at = -1;
    for (const p of this.panels) { p.line.remove(); p.dot.remove(); }
    this.readout.replaceChildren();
  }
}

for (const figure of document.querySelectorAll(".plot[data-points]")) {
  new Plot(figure, document.getElementById("readout"));
}
