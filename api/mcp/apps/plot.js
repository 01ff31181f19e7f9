// Draws what get_signal_history answered: the values, their intervals and the baseline, and the same as a table.
const width = 640, height = 220, left = 8, right = 8, top = 16, bottom = 20;
const bounded = { next_first_print: "the next first print", revised_value: "the value after revisions", true_value: "the true value" };

await connect("tidemark-plot", (list) => {
  const points = list.data.map((p) => ({ ...p, at: Date.parse(p.observed_at) })).sort((a, b) => a.at - b.at);
  const number = new Intl.NumberFormat(host.locale, { maximumSignificantDigits: 6 });
  const shown = (v) => v === null || v === undefined ? "unknown" : number.format(v);
  const day = (at) => new Date(at).toISOString().slice(0, 10);
  const head = [element("h1", list.name), element("p", `${list.unit}${list.as_of ? `, as known on ${list.as_of.slice(0, 10)}` : ""}`, { class: "soft" })];
  const known = points.filter((p) => p.value !== null);
  if (!known.length) return main.replaceChildren(...head, element("p", "There is no value in this range."));

  const all = points.flatMap((p) => [p.value, p.uncertainty_lo, p.uncertainty_hi, p.baseline_value]).filter((v) => v !== null && v !== undefined);
  let low = Math.min(...all), high = Math.max(...all);
  if (low === high) [low, high] = [low - 1, high + 1];
  const from = points[0].at, to = points.at(-1).at;
  const x = (at) => to === from ? width / 2 : left + (at - from) / (to - from) * (width - left - right);
  const y = (v) => top + (high - v) / (high - low) * (height - top - bottom);
  const spot = (p, member) => `${x(p.at).toFixed(1)} ${y(p[member]).toFixed(1)}`;
  // path draws a member: where it is unknown the line has a gap.
  const path = (member) => {
    let d = "", pen = false;
    for (const p of points) {
      const there = p[member] !== null && p[member] !== undefined;
      if (there) d += `${pen ? "L" : "M"}${spot(p, member)}`;
      pen = there;
    }
    return d;
  };
  const ranges = points.filter((p) => p.uncertainty_lo !== null && p.uncertainty_hi !== null);
  const svg = element("svg", [
    element("title", `${list.name}: ${known.length} values from ${day(known[0].at)} to ${day(known.at(-1).at)}`),
    element("line", "", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
  ], { viewBox: `0 0 ${width} ${height}`, role: "img" });
  if (ranges.length > 1) {
    svg.append(element("path", "", { class: "band",
      d: `M${ranges.map((p) => spot(p, "uncertainty_hi")).join("L")}L${ranges.toReversed().map((p) => spot(p, "uncertainty_lo")).join("L")}Z` }));
  }
  svg.append(element("path", "", { class: "baseline", d: path("baseline_value") }), element("path", "", { class: "value", d: path("value") }));
  const newest = known.at(-1);
  svg.append(element("circle", "", { cx: x(newest.at), cy: y(newest.value), r: 3, fill: "var(--line)" }),
    element("text", shown(high), { x: left, y: top - 4 }), element("text", shown(low), { x: left, y: height - bottom - 4 }),
    element("text", day(from), { x: left, y: height - 5 }), element("text", day(to), { x: width - right, y: height - 5, "text-anchor": "end" }));

  const told = [element("p", `${day(newest.at)}: ${shown(newest.value)}, z-score ${shown(newest.z_score)}. The dashed line is the baseline.`)];
  if (ranges.length > 1) {
    const basis = list.uncertainty_basis === "measured" ? "The record of the signal says how often it held." : "It is assumed: no probability stands behind it.";
    told.push(element("p", `The band bounds ${bounded[list.uncertainty_bounds] ?? list.uncertainty_bounds}. ${basis}`, { class: "soft" }));
  }
  if (list.synthetic) told.push(element("p", "The data are made up: this is a sandbox.", { class: "soft" }));
  told.push(element("p", list.disclaimer, { class: "soft" }));
  const rows = points.toReversed().map((p) => element("tr", [element("td", day(p.at)), element("td", shown(p.value)), element("td", shown(p.z_score))]));
  const table = element("table", [element("thead", element("tr", ["Day", "Value", "z-score"].map((t) => element("th", t)))), element("tbody", rows)]);
  main.replaceChildren(...head, svg, ...told, element("details", [element("summary", `The ${points.length} points as a table`), table]));
});
