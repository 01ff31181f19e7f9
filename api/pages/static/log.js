// Reads a transparency log with a reader's policy: keys, signed checkpoints and their cosignatures, the root of the leaves, and the picks among
// them. The formats are C2SP's (tlog-policy, tlog-checkpoint, cosignature/v1) and RFC 6962's. Pure functions: verify.js fetches and shows,
// and a test runs the vectors of verdicts through this file, the Go verifier and an independent one.
const encoder = new TextEncoder(), decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// The page gives the texts, in the reader's language. What is wrong with a policy, or with the bytes of a log, is said in English.
let say = (...parts) => parts.join(" ");
export const speak = (words) => { say = words; };

const logKey = 1, witnessKey = 4;

function bytesOf(text) {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  if (base64(raw) !== text) throw new Error("base64 that is not in its one form");
  return raw;
}

async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
}

const base64 = (raw) => btoa(String.fromCharCode(...raw));
const same = (a, b) => a.length === b.length && a.every((x, i) => x === b[i]);
const number = (text) => {
  if (!/^(0|[1-9][0-9]{0,14})$/.test(text)) throw new Error(`“${text}” is not a number`);
  return Number(text);
};

// keyOf reads a public key. Its id must be its hash.
async function keyOf(vkey, type) {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? [];
  const raw = encoded ? bytesOf(encoded) : [];
  if (raw.length !== 33 || raw[0] !== type) throw new Error(`“${vkey.slice(0, 60)}” is not a key of the right type`);
  const hash = (await sha256(encoder.encode(`${name}\n`), raw)).slice(0, 4);
  if ([...hash].map((b) => b.toString(16).padStart(2, "0")).join("") !== id) throw new Error(`the id of the key of ${name} is not its hash`);
  return { name, id: hash, vkey, public: raw.slice(1) };
}

// parsePolicy reads a reader's policy: the logs and witnesses that they know, and how many of these count.
export async function parsePolicy(text) {
  const p = { logs: [], witnesses: new Map(), groups: new Map(), quorum: null };
  const defined = (name) => p.witnesses.has(name) || p.groups.has(name);
  const fresh = (name) => {
    if (name === "none" || defined(name)) throw new Error(`the policy has the name ${name} twice`);
    return name;
  };
  const twice = (list, key) => list.some((k) => same(k.public, key.public));
  for (const line of text.split("\n")) {
    const [word, ...args] = line.split(/[ \t]+/).filter(Boolean);
    if (!word || word.startsWith("#")) continue;
    if (/[\0-\x1f\x7f]/.test([word, ...args].join(""))) throw new Error("a line of the policy has a control character");
    if (word === "log" && (args.length === 1 || args.length === 2)) {
      const key = await keyOf(args[0], logKey);
      if (twice(p.logs, key)) throw new Error("the policy has a key twice");
      p.logs.push(key);
    } else if (word === "witness" && (args.length === 2 || args.length === 3)) {
      const key = await keyOf(args[1], witnessKey);
      if (twice([...p.witnesses.values()], key)) throw new Error("the policy has a key twice");
      p.witnesses.set(fresh(args[0]), key);
    } else if (word === "group" && args.length > 2) {
      const [name, threshold, ...members] = args;
      const need = threshold === "any" ? 1 : threshold === "all" ? members.length : number(threshold);
      const taken = members.some((m, i) => members.indexOf(m) !== i || [...p.groups.values()].some((g) => g.members.includes(m)));
      if (need < 1 || need > members.length || taken || !members.every(defined)) throw new Error(`the group ${name} of the policy cannot be met`);
      p.groups.set(fresh(name), { need, members });
    } else if (word === "quorum" && args.length === 1 && p.quorum === null && (args[0] === "none" || defined(args[0]))) {
      p.quorum = args[0];
    } else throw new Error(`the policy has the line “${line.slice(0, 60)}”`);
  }
  if (p.quorum === null) throw new Error("the policy has no quorum");
  return p;
}

// isMet says whether witnesses, by their names in the policy, are a quorum. A policy that asks for nobody is never met.
export function isMet(policy, names, name = policy.quorum) {
  if (policy.witnesses.has(name)) return names.has(name);
  const group = policy.groups.get(name);
  return Boolean(group) && group.members.filter((m) => isMet(policy, names, m)).length >= group.need;
}

// canVerify says whether this browser checks signatures of Ed25519.
export async function canVerify() {
  try {
    await crypto.subtle.importKey("raw", new Uint8Array(32).fill(1), { name: "Ed25519" }, false, ["verify"]);
    return true;
  } catch (e) {
    return e.name !== "NotSupportedError" && e.name !== "SyntaxError" && !/algorithm/i.test(e.message);
  }
}

async function isSigned(key, signature, message) {
  const imported = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  return crypto.subtle.verify({ name: "Ed25519" }, imported, signature, message);
}

// openNote checks a signed checkpoint. A log of the policy must have signed it. Lines of unknown keys mean nothing; a bad line of a known
// key is an error. It returns size, root and the times of the policy's witnesses by their names.
export async function openNote(note, policy) {
  const end = note.lastIndexOf("\n\n");
  const body = note.slice(0, end + 1), lines = body.split("\n");
  if (end < 0 || lines.length !== 4 || !lines[0] || !note.endsWith("\n")) throw new Error("it is not a checkpoint");
  const size = number(lines[1]), root = bytesOf(lines[2]);
  const logs = policy.logs.filter((k) => k.name === lines[0]);
  if (!logs.length) throw new Error(`the policy names no log “${lines[0].slice(0, 80)}”`);
  const times = new Map(), seen = new Set();
  let signed = false;
  const signatures = note.slice(end + 2, -1).split("\n");
  if (signatures.length > 100) throw new Error("the checkpoint has too many signatures");
  for (const line of signatures) {
    const [, name, encoded] = /^— ([^\s+]+) ([^ ]+)$/.exec(line) ?? [];
    const raw = encoded ? bytesOf(encoded) : [];
    const id = raw.slice(0, 4), who = `${name}+${id.join()}`;
    if (raw.length < 5 || seen.has(who)) throw new Error("a line is no signature, or a key signed twice");
    seen.add(who);
    const by = (key) => key.name === name && same(key.id, id);
    for (const key of logs.filter(by)) {
      if (raw.length !== 68 || !await isSigned(key.public, raw.slice(4), encoder.encode(body))) throw new Error("the log's signature is bad");
      signed = true;
    }
    for (const [label, key] of policy.witnesses) {
      if (!by(key)) continue;
      const at = raw.length === 76 ? new DataView(raw.buffer).getBigUint64(4) : 0n;
      if (at < 1n || at > 1n << 40n || !await isSigned(key.public, raw.slice(12), encoder.encode(`cosignature/v1\ntime ${at}\n${body}`))) {
        throw new Error(`the signature of ${name} is bad`);
      }
      times.set(label, Number(at) * 1000);
    }
  }
  if (!signed || root.length !== 32) throw new Error("the policy's log did not sign it");
  return { origin: lines[0], size, root, times };
}

// rootsOf returns the roots of the first leaves, by some sizes.
export async function rootsOf(leaves, ...sizes) {
  const hashes = [], roots = new Map();
  for (let i = 0; i <= leaves.length; i++) {
    if (sizes.includes(i)) {
      let root = hashes.at(-1) ?? await sha256();
      for (let n = hashes.length - 2; n >= 0; n--) root = await sha256(Uint8Array.of(1), hashes[n], root);
      roots.set(i, root);
    }
    if (i === leaves.length) return roots;
    let hash = await sha256(Uint8Array.of(0), leaves[i]);
    for (let n = i; n % 2 === 1; n = (n - 1) / 2) hash = await sha256(Uint8Array.of(1), hashes.pop(), hash);
    hashes.push(hash);
  }
}

// picksOf returns the hashes of the picks among leaves. They must stand in their order, each once, and each hash is that of the preimage beside it.
async function picksOf(leaves) {
  const hashes = [];
  for (const leaf of leaves) {
    const { kind, found } = read(leaf);
    if (kind !== "pick") continue;
    if (!found || found[1] !== String(hashes.length + 1)) return { hashes, fault: say("log order", hashes.length) };
    if (hex(await sha256(encoder.encode(found[2]))) !== found[3]) return { hashes, fault: say("log preimage", hashes.length + 1) };
    hashes.push(found[3]);
  }
  return { hashes, fault: null };
}

const instant = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z`, hash = "[0-9a-f]{64}";
const hex = (bytes) => [...bytes].map((b) => b.toString(16).padStart(2, "0")).join("");
const form = (kind, ...lines) => new RegExp(`^tidemark/${kind}/v1\n${lines.map((l) => `${l}\n`).join("")}at (${instant})\n$`);
const decimal = String.raw`-?\d{1,20}(?:\.\d{1,40})?(?:e[+-]?\d{1,2})?`;
// leafForms are the kinds of a record.
const leafForms = {
  genesis: form("genesis", "origin [^\n]+", "environment (?:live|demo)", "chain_length \\d+", `chain_head ${hash}`, "ledger_commit [^\n]+", "sealing_from ([^\n]+)"),
  seal: form("seal", "about ([^\n]+)", `commitment (${hash})`, "method [^\n]+", `reveal_by (${instant})`),
  reveal: form("reveal", "seal (\\d+)", "about ([^\n]+)", `salt (${hash})`, "content ([^\n]+)"),
  pick: form("pick", "seq (\\d+)", "preimage ([^\n]+)", `hash (${hash})`),
  gap: form("gap", "date ([^\n]+)", "reason ([^\n]+)"),
  correction: form("correction", "seq (\\d+)", "what ([^\n]+)", "evidence ([^\n]+)", "date ([^\n]+)"),
  forecast: form("forecast", "seq \\d+", "id [^\n]+", `release_at ${instant}`, ...["value", "lo", "hi", "level"].map((key) => `${key} ${decimal}`), "method [^\n]+", `hash ${hash}`),
  grade: form("grade", "seq \\d+", "id [^\n]+", `published_at ${instant}`, `value (?:none|${decimal})`, "score [^\n]+", `hash ${hash}`),
  method: form("method", "name [^\n]+", "version [^\n]+", "status (?:tried|adopted|dropped)", `sha256 ${hash}`, "note [^\n]+"),
  sources: form("sources", "size \\d+", "root [^\n]+"),
  key: form("key", "old [^\n]+", "new [^\n]+", `until ${instant}`),
  dataset: form("dataset", "date [^\n]+", `as_of ${instant}`, `sha256 ${hash}`, "files \\d+"),
};
const firstLines = Object.keys(leafForms).map((kind) => [kind, encoder.encode(`tidemark/${kind}/v1\n`)]);
const isDay = (text) => /^(?!0000)\d{4}-\d{2}-\d{2}$/.test(text) && new Date(Date.parse(`${text}T00:00:00Z`) || 0).toISOString().startsWith(text);
const secondOf = (text) => Date.parse(`${text.slice(0, 19)}Z`) || 0;
const isInstant = (text) => isDay(text.slice(0, 10)) && new Date(secondOf(text)).toISOString().startsWith(text.slice(0, 19));
const isCount = (text) => /^(0|[1-9]\d{0,18})$/.test(text) && BigInt(text) < 1n << 63n;
const isBase64 = (text) => {
  try {
    return bytesOf(text).length > 0;
  } catch {
    return false;
  }
};
const isRoot = (text) => isBase64(text) && bytesOf(text).length === 32;
const values = {
  chain_length: isCount, seq: isCount, seal: isCount, size: isCount, files: isCount, date: isDay, content: isBase64, root: isRoot,
  ...Object.fromEntries(["at", "reveal_by", "release_at", "published_at", "until", "as_of"].map((key) => [key, isInstant])),
};

// read returns the kind of a leaf, null for one that verifiers do not read, with its values: found is null where the leaf is not in its form.
function read(leaf) {
  const [kind] = firstLines.find(([, line]) => same(leaf.subarray(0, line.length), line)) ?? [null];
  let text = "";
  try {
    text = decoder.decode(leaf);
  } catch {
    return { kind, found: null };
  }
  const found = kind && leafForms[kind].exec(text), lines = text.split("\n").slice(1, -1).map((l) => [l.slice(0, l.indexOf(" ")), l.slice(l.indexOf(" ") + 1)]);
  const good = found && leaf.length <= 8192 && !/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/.test(text)
    && lines.every(([key, value]) => values[key]?.(value) ?? true);
  return { kind, found: good ? found : null };
}

// broken are the promises, the worse ones later.
const broken = ["missing", "unsealed", "doubled", "wrong"];
const mostReveal = 48 * 3600 * 1000;

// sealsOf opens the sealed picks among all leaves of a log. sealed is how many there are, opened how many have their reveal. faults are the days
// whose signed leaves prove that a promise was broken, by their dates: a reveal that is late is not among them, and neither is one that is not
// there yet while the log has no leaf of a time after its reveal_by. That one is less than 48 hours after its day begins. A leaf of a record that is
// not in its form is a fault, too. late are the days whose reveal was late, and newest is the leaf of the latest time: its number, and that time.
export async function sealsOf(leaves) {
  const days = new Map(), worse = broken, misshapen = [];
  let from = "", newest = "", last = 0;
  const dayOf = (date) => days.get(date) ?? days.set(date, { date, fault: null }).get(date);
  const blame = (d, fault) => { if (worse.indexOf(fault) > worse.indexOf(d.fault)) d.fault = fault; };
  const compare = (d) => { if (d.shown !== undefined && d.picked !== undefined && d.shown !== d.picked) blame(d, "wrong"); };
  for (const [index, leaf] of leaves.entries()) {
    const { kind, found } = read(leaf);
    if (!found) {
      if (kind) misshapen.push({ text: say("log misshapen", index) });
      continue;
    }
    if (found.at(-1) > newest) [newest, last] = [found.at(-1), index];
    if (kind === "genesis" && isDay(found[1])) [, from] = found;
    const about = { seal: found[1], reveal: found[2] }[kind] ?? "", day = about.startsWith("pick ") && isDay(about.slice(5)) ? about.slice(5) : "";
    if (kind === "seal" && day) {
      from ||= day;
      const d = dayOf(day);
      if (d.seal !== undefined) blame(d, "doubled");
      else {
        Object.assign(d, { seal: index, commitment: found[2], by: found[3] });
        d.unbounded = secondOf(d.by) - secondOf(`${day}T00:00:00`) >= mostReveal;
        if (d.unbounded) blame(d, "wrong");
      }
    }
    if (kind === "reveal" && day) {
      const d = dayOf(day), content = bytesOf(found[4]);
      if (d.reveal !== undefined) {
        blame(d, "doubled");
        continue;
      }
      const salt = Uint8Array.from(found[3].match(/../g), (b) => Number.parseInt(b, 16));
      const sum = hex(await sha256(encoder.encode("tidemark/seal/v1\n"), salt, content));
      Object.assign(d, { reveal: index, shown: hex(content), late: found[5] > d.by });
      if (d.seal === undefined || found[1] !== String(d.seal) || sum !== d.commitment) blame(d, "wrong");
      compare(d);
    }
    const date = kind === "pick" ? found[2].split("|")[2] : "";
    if (date && from && date >= from && isDay(date) && found[2].split("|").length === 4) {
      const d = dayOf(date);
      d.picked = hex(encoder.encode(found[2]));
      if (d.seal === undefined) blame(d, "unsealed");
      compare(d);
    }
  }
  const all = [...days.values()].sort((a, b) => (a.date < b.date ? -1 : 1));
  for (const d of all) if (d.seal !== undefined && d.reveal === undefined && newest > d.by) blame(d, "missing");
  return {
    sealed: all.filter((d) => d.seal !== undefined).length, opened: all.filter((d) => d.reveal !== undefined).length,
    late: all.filter((d) => d.late && !d.fault).map(({ date }) => ({ date, text: say("seal late", date) })),
    newest: newest && { index: last, at: secondOf(newest) },
    faults: [...misshapen, ...all.filter((d) => d.fault).map(({ date, fault, unbounded }) => (
      { date, fault, text: say(`seal ${fault === "wrong" && unbounded ? "unbounded" : fault}`, date) }))],
  };
}

// notesOf returns the days without a pick and the corrections among leaves.
export function notesOf(leaves) {
  const gaps = [], corrections = [];
  for (const leaf of leaves) {
    const { kind, found } = read(leaf);
    if (kind === "gap" && found) gaps.push({ date: found[1], reason: found[2] });
    if (kind === "correction" && found) corrections.push({ seq: Number(found[1]), what: found[2], evidence: found[3], date: found[4] });
  }
  return { gaps, corrections };
}

// readLog returns what the witnesses of a policy hold: the picks of a checkpoint's leaves, its seals and notes, and when each cosigned it; why says why it
// could not be checked, null where it could. Bytes that do not fit together accuse who carried them, and not the log. other is a second checkpoint of
// it, null for none. forks says how the two contradict each other: leaves with the root of the larger one fix the root of each smaller size.
export async function readLog(policy, note, leaves, other = null) {
  const cosigners = [...policy.witnesses.keys()].map((name) => ({ name, at: null }));
  const log = { hashes: [], fault: null, cosigners, enough: (names) => isMet(policy, names), why: null, forks: [] };
  try {
    const opened = await openNote(note, policy), second = other ? await openNote(other, policy) : opened;
    const [a, b] = [opened, second].sort((x, y) => x.size - y.size), roots = await rootsOf(leaves, a.size, b.size), fits = (c) => same(roots.get(c.size) ?? [], c.root);
    if (a.origin === b.origin) {
      if (a.size === b.size ? !same(a.root, b.root) : fits(b) && !fits(a)) {
        log.forks.push({ text: say("log forked", a.size, base64(a.root), b.size, base64(b.root)) });
        return { ...log, size: opened.size };
      }
    }
    if (opened.size !== leaves.length || !fits(opened)) throw new Error("the leaves are not those of the checkpoint");
    for (const c of cosigners) c.at = opened.times.get(c.name) ?? null;
    Object.assign(log, await picksOf(leaves), { size: opened.size, seals: await sealsOf(leaves), notes: notesOf(leaves) });
  } catch (e) {
    log.why = e.message;
  }
  return log;
}

// serverPolicy is a policy of what a server names of its log: its key, its witnesses, and more than half of them as the quorum.
export function serverPolicy({ vkey, witnesses }) {
  const names = witnesses.map((w) => w.name), half = Math.floor(names.length / 2) + 1;
  const quorum = names.length ? `group half ${half} ${names.join(" ")}\nquorum half` : "quorum none";
  return [`log ${vkey}`, ...witnesses.map((w) => `witness ${w.name} ${w.vkey}`), quorum].join("\n");
}

// fetchLog reads a log below an address. The newest size may wait for its cosignatures: then those of the newest witnessed size count. all are
// the hashes of the picks of the newest size.
export async function fetchLog(address, policy, now) {
  const file = async (path) => {
    const response = await fetch(address + path, { cache: path.startsWith("tile/") ? "default" : "no-cache", signal: AbortSignal.timeout(30000) });
    if (!response.ok && response.status !== 404) throw new Error(say("answered", response.status));
    return response.ok ? response : null;
  };
  const witnessed = await (await file("checkpoint.witnessed"))?.text(), newest = await (await file("checkpoint"))?.text();
  if (!newest) throw new Error(say("log absent"));
  const { size, times } = await openNote(newest, policy), most = Math.max(size, witnessed ? (await openNote(witnessed, policy)).size : 0);
  const isFresh = ([, at]) => at >= now - 26 * 3600 * 1000 && at <= now + 5 * 60 * 1000;
  const note = witnessed && !isMet(policy, new Set([...times].filter(isFresh).map(([name]) => name))) ? witnessed : newest;
  const leaves = [];
  for (let n = 0; 256 * n < most; n++) {
    const bundle = await file(bundlePath(n, most));
    if (!bundle) throw new Error(say("log incomplete"));
    leaves.push(...splitBundle(await bundle.arrayBuffer()));
  }
  const whole = await readLog(policy, newest, leaves, witnessed);
  if (whole.why !== null || whole.forks.length || note === newest) return { ...whole, all: whole };
  return { ...await readLog(policy, note, leaves.slice(0, (await openNote(note, policy)).size)), all: whole };
}

// splitBundle returns the leaves of a bundle of entries.
export function splitBundle(buffer) {
  const view = new DataView(buffer), leaves = [];
  for (let i = 0; i < buffer.byteLength;) {
    const n = view.getUint16(i);
    if (i + 2 + n > buffer.byteLength) throw new Error("a bundle of leaves is not whole");
    leaves.push(new Uint8Array(buffer, i + 2, n));
    i += 2 + n;
  }
  return leaves;
}

// bundlePath is the path of the entries from 256 n on, in a log of a size.
export function bundlePath(n, size) {
  let path = String(n % 1000).padStart(3, "0");
  for (let rest = Math.floor(n / 1000); rest; rest = Math.floor(rest / 1000)) path = `x${String(rest % 1000).padStart(3, "0")}/${path}`;
  const width = size - 256 * n;
  return `tile/entries/${path}${width < 256 ? `.p/${width}` : ""}`;
}
