// The page /evidence/{signal}/{date}. It downloads each body that the number rests on, hashes it, and says whether the hash is its name. Then it
// shows each observation of the value in the bytes that it came in.
const button = document.getElementById("hash-bytes");
const status = document.getElementById("hashed");
const marks = document.getElementById("marks");

// words fills the places of a text of the page.
const words = (name, ...values) => {
  let next = 0;
  return marks.dataset[name].replace(/%(?:\[(\d)\])?s/g, (_, place) => values[place ? place - 1 : next++]);
};

// around is how many bytes of the line are shown at most on either side of a mark.
const around = 160;

// maxMarks is how many observations are marked.
const maxMarks = 8;

// say writes what came of a body. state is ok, wrong or open.
function say(row, state, text) {
  row.dataset.state = state;
  const cell = row.querySelector(".outcome");
  cell.replaceChildren();
  const mark = document.createElement("span");
  mark.className = `state ${state === "ok" ? "good" : state === "wrong" ? "" : "warn"}`;
  mark.textContent = text;
  cell.append(mark);
}

// get asks the server, and asks once more after the pause that it names where there were too many requests.
async function get(address) {
  const answer = await fetch(address);
  if (answer.status !== 429 && answer.status !== 503) return answer;
  const seconds = Math.min(Number(answer.headers.get("Retry-After")) || 5, 60);
  status.textContent = words("wait", seconds);
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  return fetch(address);
}

// check hashes a body. It returns its bytes if they are those that the page names.
async function check(row, counts) {
  const want = row.dataset.sha256;
  const answer = await get(`/raw/${want}`);
  if (!answer.ok) {
    say(row, "open", answer.status === 451 ? words("terms") : words("notServed", answer.status));
    counts.open++;
    return null;
  }
  const bytes = await answer.arrayBuffer();
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const got = Array.from(sum, (b) => b.toString(16).padStart(2, "0")).join("");
  const equal = got === want;
  say(row, equal ? "ok" : "wrong", equal ? words("equal") : words("differs", got));
  counts[equal ? "ok" : "wrong"]++;
  return equal ? bytes : null;
}

// unpacked is what a stream of packed bytes unpacks to.
async function unpacked(bytes, format) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// fileOf is a file in a zip archive, found in the archive's own list at its end.
async function fileOf(bytes, name) {
  const view = new DataView(bytes);
  let end = bytes.byteLength - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) return null;
  let at = view.getUint32(end + 16, true);
  for (let left = view.getUint16(end + 10, true); left > 0 && view.getUint32(at, true) === 0x02014b50; left--) {
    const length = view.getUint16(at + 28, true);
    if (new TextDecoder().decode(new Uint8Array(bytes, at + 46, length)) === name) {
      const head = view.getUint32(at + 42, true);
      const from = head + 30 + view.getUint16(head + 26, true) + view.getUint16(head + 28, true);
      const packed = bytes.slice(from, from + view.getUint32(at + 20, true));
      return view.getUint16(at + 10, true) === 0 ? new Uint8Array(packed) : unpacked(packed, "deflate-raw");
    }
    at += 46 + length + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return null;
}

// partOf is the part of a body that a place counts in.
function partOf(bytes, { part, from, to }) {
  if (part === "") return new Uint8Array(bytes);
  return part === "gzip" ? unpacked(bytes.slice(from, to), "gzip") : fileOf(bytes, part);
}

// markCell shows an observation in the line of its bytes. places are those that are shown: two observations from one place have one box.
async function markCell(cell, bytes, places) {
  const { series, observed, value } = cell.dataset;
  const answer = await get(`/raw/${cell.dataset.cell}/place?series=${encodeURIComponent(series)}&observed_at=${observed}`);
  if (!answer.ok) return;
  const place = await answer.json();
  const part = await partOf(bytes, place);
  if (!part) return;
  const text = (from, to) => new TextDecoder().decode(part.slice(Math.max(0, from), to));
  const end = place.offset + place.length, key = [cell.dataset.cell, place.part, place.from, place.offset].join();
  if (places.has(key)) return;
  places.add(key);
  const line = part.lastIndexOf(10, place.offset - 1) + 1, next = part.indexOf(10, end), stop = next < 0 ? part.length : next;
  const from = Math.max(line, place.offset - around), to = Math.min(stop, end + around);
  const said = text(place.offset, end);
  const figure = document.createElement("figure");
  figure.dataset.series = series;
  figure.dataset.equal = String(Number(said.replaceAll(",", "")) === Number(value));
  const caption = document.createElement("figcaption");
  caption.textContent = words("of", series.replace(/[._]/g, "$&\u200b"), cell.querySelector(".day").textContent.replaceAll("-", "\u2011"), place.where);
  const shown = document.createElement("pre");
  const mark = document.createElement("mark");
  mark.textContent = said;
  shown.tabIndex = 0;
  shown.append((from > line ? "…" : "") + text(from, place.offset), mark, text(end, to) + (to < stop ? "…" : ""));
  figure.append(caption, shown);
  marks.append(figure);
  shown.scrollLeft = mark.offsetLeft - shown.offsetLeft - (shown.clientWidth - mark.offsetWidth) / 2; // the number is in view
}

button?.addEventListener("click", async () => {
  if (!globalThis.crypto?.subtle) {
    status.textContent = words("secure");
    return;
  }
  button.disabled = true;
  marks.replaceChildren();
  const counts = { ok: 0, wrong: 0, open: 0 };
  const bodies = new Map();
  for (const row of document.querySelectorAll("[data-sha256]")) {
    try {
      const bytes = await check(row, counts);
      if (bytes) bodies.set(row.dataset.sha256, bytes);
    } catch (error) {
      say(row, "open", words("notRead", error.message));
      counts.open++;
    }
  }
  const cells = [...document.querySelectorAll('[aria-labelledby="cells"] [data-cell]')].filter((c) => bodies.has(c.dataset.cell)).slice(0, maxMarks), places = new Set();
  for (const cell of cells) {
    try {
      await markCell(cell, bodies.get(cell.dataset.cell), places);
    } catch { /* what cannot be marked was hashed all the same */ }
  }
  status.textContent = words("result", counts.ok, counts.wrong, counts.open);
  button.disabled = false;
});
