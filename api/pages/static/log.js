// Reads a transparency log with a reader's policy: keys, signed checkpoints and their cosignatures, the root of the leaves, and the picks among
// them. The formats are C2SP's (tlog-policy, tlog-checkpoint, cosignature/v1) and RFC 6962's. Pure functions: verify.js fetches and shows,
// and a test runs the vectors of verdicts through this file, the Go verifier and an independent one.
const encoder = new TextEncoder(), decoder = new TextDecoder();

// The page gives the texts, in the reader's language. What is wrong with a policy, or with the bytes of a log, is said in English.
let say = (...parts) => parts.join(" ");
export const speak = (words) => { say = words; };

const logKey = 1, witnessKey = 4;

function bytesOf(text) {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  if (btoa(String.fromCharCode(...raw)) !== text) throw new Error("base64 that is not in its one form");
  return raw;
}

async function sha256(...parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
}

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
  return { size, root, times };
}

// rootOf returns the root of a tree of leaves.
export async function rootOf(leaves) {
  const hashes = [];
  for (const [i, leaf] of leaves.entries()) {
    let hash = await sha256(Uint8Array.of(0), leaf);
    for (let n = i; n % 2 === 1; n = (n - 1) / 2) hash = await sha256(Uint8Array.of(1), hashes.pop(), hash);
    hashes.push(hash);
  }
  let root = hashes.pop() ?? await sha256();
  while (hashes.length) root = await sha256(Uint8Array.of(1), hashes.pop(), root);
  return { root, same: (other) => same(root, other) };
}

// picksOf returns the hashes of the picks among leaves. They must stand in their order, each once.
export function picksOf(leaves) {
  const hashes = [];
  for (const leaf of leaves) {
    const text = decoder.decode(leaf);
    if (!text.startsWith("tidemark/pick/v1\n")) continue;
    const [, seq, hash] = /^tidemark\/pick\/v1\nseq (\d+)\npreimage [^\n]+\nhash ([0-9a-f]{64})\nat [^\n]+\n$/.exec(text) ?? [];
    if (seq !== String(hashes.length + 1)) return { hashes, fault: say("log order", hashes.length) };
    hashes.push(hash);
  }
  return { hashes, fault: null };
}

const instant = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z`, hash = "[0-9a-f]{64}";
const form = (kind, ...lines) => new RegExp(`^tidemark/${kind}/v1\n${lines.map((l) => `${l}\n`).join("")}at (${instant})\n$`);
const leafForms = {
  genesis: form("genesis", "origin [^\n]+", "environment (?:live|demo)", "chain_length \\d+", `chain_head ${hash}`, "ledger_commit [^\n]+", "sealing_from ([^\n]+)"),
  seal: form("seal", "about pick ([^\n]+)", `commitment (${hash})`, "method [^\n]+", `reveal_by (${instant})`),
  reveal: form("reveal", "seal (\\d+)", "about pick ([^\n]+)", `salt (${hash})`, "content ([A-Za-z0-9+/]+=*)"),
  pick: form("pick", "seq \\d+", "preimage ([^\n]+)", `hash ${hash}`),
};
const timed = form("(?:genesis|seal|reveal|pick|gap|forecast|grade|correction|method|sources|key|dataset)", "(?:[^\n]+\n)*[^\n]+");
const isDay = (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(Date.parse(`${text}T00:00:00Z`) || 0).toISOString().startsWith(text);
// broken are the promises, the worse ones later.
const broken = ["missing", "unsealed", "doubled", "wrong"];

// sealsOf opens the sealed picks among all leaves of a log. sealed is how many there are, opened how many have their reveal. faults are the days
// whose signed leaves prove that a promise was broken, by their dates: a reveal that is late is not among them, and neither is one that is not
// there yet while the log has no leaf of a time after its reveal_by.
export async function sealsOf(leaves) {
  const days = new Map(), worse = broken;
  let from = "", newest = "";
  const dayOf = (date) => days.get(date) ?? days.set(date, { date, fault: null }).get(date);
  const blame = (d, fault) => { if (worse.indexOf(fault) > worse.indexOf(d.fault)) d.fault = fault; };
  const compare = (d) => { if (d.shown !== undefined && d.picked !== undefined && d.shown !== d.picked) blame(d, "wrong"); };
  for (const [index, leaf] of leaves.entries()) {
    const text = decoder.decode(leaf), at = timed.exec(text)?.[1] ?? "";
    if (at > newest) newest = at;
    const [kind, found] = Object.entries(leafForms).map(([k, f]) => [k, f.exec(text)]).find(([, m]) => m) ?? [];
    if (kind === "genesis" && isDay(found[1])) [, from] = found;
    if (kind === "seal" && isDay(found[1])) {
      from ||= found[1];
      const d = dayOf(found[1]);
      if (d.seal !== undefined) blame(d, "doubled");
      else Object.assign(d, { seal: index, commitment: found[2], by: found[3] });
    }
    if (kind === "reveal" && isDay(found[2])) {
      const d = dayOf(found[2]), content = bytesOf(found[4]);
      if (d.reveal !== undefined) {
        blame(d, "doubled");
        continue;
      }
      const salt = Uint8Array.from(found[3].match(/../g), (b) => Number.parseInt(b, 16));
      const sum = [...await sha256(encoder.encode("tidemark/seal/v1\n"), salt, content)].map((b) => b.toString(16).padStart(2, "0")).join("");
      Object.assign(d, { reveal: index, shown: decoder.decode(content) });
      if (d.seal === undefined || found[1] !== String(d.seal) || sum !== d.commitment) blame(d, "wrong");
      compare(d);
    }
    const date = kind === "pick" ? found[1].split("|")[2] : "";
    if (date && from && date >= from && isDay(date) && found[1].split("|").length === 4) {
      const d = dayOf(date);
      [, d.picked] = found;
      if (d.seal === undefined) blame(d, "unsealed");
      compare(d);
    }
  }
  const all = [...days.values()].sort((a, b) => (a.date < b.date ? -1 : 1));
  for (const d of all) if (d.seal !== undefined && d.reveal === undefined && newest > d.by) blame(d, "missing");
  return {
    sealed: all.filter((d) => d.seal !== undefined).length, opened: all.filter((d) => d.reveal !== undefined).length,
    faults: all.filter((d) => d.fault).map((d) => ({ date: d.date, fault: d.fault, text: say(`seal ${d.fault}`, d.date) })),
  };
}

const gapLeaf = form("gap", "date ([^\\n]+)", "reason ([^\\n]+)"), correctionLeaf = form("correction", "seq (\\d+)", "what ([^\\n]+)", "evidence ([^\\n]+)", "date ([^\\n]+)");

// notesOf returns the days without a pick and the corrections among leaves.
export function notesOf(leaves) {
  const gaps = [], corrections = [];
  for (const leaf of leaves) {
    const text = decoder.decode(leaf), gap = gapLeaf.exec(text), c = correctionLeaf.exec(text);
    if (gap && isDay(gap[1])) gaps.push({ date: gap[1], reason: gap[2] });
    if (c && isDay(c[4])) corrections.push({ seq: Number(c[1]), what: c[2], evidence: c[3], date: c[4] });
  }
  return { gaps, corrections };
}

// readLog returns what the witnesses of a policy hold: the picks of a checkpoint's leaves, its seals and notes, and when each cosigned it; why says why it
// could not be checked, null where it could. Bytes that do not fit together accuse who carried them, and not the log.
export async function readLog(policy, note, leaves) {
  const cosigners = [...policy.witnesses.keys()].map((name) => ({ name, at: null }));
  const log = { hashes: [], fault: null, cosigners, enough: (names) => isMet(policy, names), why: null };
  try {
    const opened = await openNote(note, policy);
    if (opened.size !== leaves.length || !(await rootOf(leaves)).same(opened.root)) throw new Error("the leaves are not those of the checkpoint");
    for (const c of cosigners) c.at = opened.times.get(c.name) ?? null;
    Object.assign(log, picksOf(leaves), { size: opened.size, seals: await sealsOf(leaves), notes: notesOf(leaves) });
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
    if (!response.ok && response.status !== 404) throw new Error(`the server answered ${response.status}`);
    return response.ok ? response : null;
  };
  const witnessed = await (await file("checkpoint.witnessed"))?.text(), newest = await (await file("checkpoint"))?.text();
  if (!newest) throw new Error("the server has no log");
  const { size, times } = await openNote(newest, policy);
  const isFresh = ([, at]) => at >= now - 26 * 3600 * 1000 && at <= now + 5 * 60 * 1000;
  const note = witnessed && !isMet(policy, new Set([...times].filter(isFresh).map(([name]) => name))) ? witnessed : newest;
  const leaves = [];
  for (let n = 0; 256 * n < size; n++) {
    const bundle = await file(bundlePath(n, size));
    if (!bundle) throw new Error("leaves of the log are missing");
    leaves.push(...splitBundle(await bundle.arrayBuffer()));
  }
  const whole = await readLog(policy, newest, leaves);
  if (whole.why !== null || note === newest) return { ...whole, all: whole };
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
