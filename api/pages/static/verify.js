// The page /verify. It downloads the chain of picks, recomputes it in the browser, asks a node of the L2 for every attestation, and shows
// who holds the same. The rules are in verdict.js. Nothing that the server says of itself turns a check green, and nobody whom it names counts.
const publicNodes = { "eip155:8453": "https://mainnet.base.org", "eip155:84532": "https://sepolia.base.org" };
// EAS is part of these networks, at one address: another contract there is of the server's making.
const eas = "0x4200000000000000000000000000000000000021";
const shownRows = 400;
// The page follows the attestations from the newest back to the first, but not further than this.
const mostAttestations = 1000;

const $ = (id) => document.getElementById(id);
const { genesis, hiddenNotes, judge, recompute, rehash, speak } = await import($("verify").dataset.verdict);
const { canVerify, fetchLog, parsePolicy, serverPolicy, speak: speakOfLog } = await import($("verify").dataset.log);

// words are the texts of the page's language. say fills the places of one; many says a count in the form of one or of more.
const words = JSON.parse(document.querySelector('script[type="application/json"]').textContent);
const say = (id, ...values) => {
  let next = 0;
  return words[id].replace(/%(?:\[(\d)\])?s/g, (_, place) => values[place ? place - 1 : next++]);
};
const many = (id, n, ...values) => say(n === 1 ? `${id} one` : id, n, ...values);
speak(say);
speakOfLog(say);

let chain, original, last, run = 0;
let attested = [], kept = [], log = null, proposed = "", proposedNode = "";

// element makes an element with a class and a text.
function element(name, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

// option is an option of a command and its value.
function option(text) {
  const [name, value] = text.split(" "), e = element("span", "whole");
  e.append(element("span", "option", name), ` ${value}`);
  return e;
}

// written is a text as a page shows it: a command is code, no name of an option, day or time is cut, and an address breaks after its slashes.
function written(text) {
  const nodes = (part) => part.split(/(--[a-z]+ [A-Z]+|\d{4}-\d\d-\d\d|\d\d:\d\d UTC|\w\/(?=\w))/).flatMap((s, i) =>
    i % 2 === 0 ? [s] : s.endsWith("/") ? [s, element("wbr")] : [s.startsWith("--") ? option(s) : element("span", "day", s)]);
  return text.split(/(tidemark verify(?: --[a-z]+ [A-Z]+)*)/).flatMap((part, i) => {
    if (i % 2 === 0) return nodes(part);
    const code = element("code");
    code.append(...nodes(part));
    return [code];
  });
}

// item is one check of a list. state is true, false, or undefined where nothing was checked. Only what witnesses confirm is green: what this page
// found right by itself is plain.
function item(state, text, confirmed = false) {
  const li = element("li");
  li.dataset.state = state === true ? "ok" : state === false ? "wrong" : "open";
  li.append(element("span", `state ${state === true ? (confirmed ? "good" : "plain") : state === false ? "" : "warn"}`,
    say(state === true ? "ok" : state === false ? "wrong" : "open")), " ", ...written(text));
  return li;
}

function conclusion(state, text) {
  $("verdict").className = `state ${state}`;
  $("verdict").textContent = text;
}

const minute = (time) => !Number.isFinite(time) ? say("unknown time") : `${new Date(time).toISOString().slice(0, 16).replace("T", " ")} UTC`;
const shorten = (hash) => `${hash.slice(0, 14)}…`;

async function load() {
  const response = await fetch($("verify").dataset.chain, { headers: { Accept: "application/json" }, cache: "no-cache" });
  if (!response.ok) throw new Error(say("answered", response.status));
  chain = await response.json();
  original = structuredClone(chain);
}

// row shows a link before it is recomputed. mark fills in what came of it, in place, so that nothing moves.
function row(p) {
  const tr = element("tr");
  tr.id = `link-${p.seq}`;
  for (const [text, name] of [[p.seq], ["…", "here"], [p.date, "day"], [p.ticker], [p.price, "num"], [p.hash, "mono"]]) {
    tr.append(element("td", name, text));
  }
  return tr;
}

function mark(tr, hash, fault) {
  tr.children[1].className = fault ? "here down" : "here";
  tr.children[1].textContent = fault ? fault.why : say("ok");
  tr.lastChild.textContent = hash;
}

// ownNode is the node that the reader names, empty for none. Another one is the server's word.
const ownNode = () => $("rpc").value.trim();

// isOurs reports whether an address is of the page's own origin. Whoever runs another one learns who reads the page, so only the reader asks it.
function isOurs(url) {
  try {
    return new URL(url).origin === location.origin;
  } catch {
    return false;
  }
}

// The reader's policy: whom they expect to attest, and when "fresh" is. A demonstration has a clock of its own, which counts for readers who name
// nothing that they trust: otherwise a record that stopped could call itself a demonstration.
function policy() {
  const attester = $("attester").value.trim() || null, now = new Date().toISOString();
  const theirs = chain.environment === "demo" && !attester && !ownNode() && !kept.length && (!log || log.named);
  return { attester, now: theirs ? chain.verified_at : now, clock: now, theirs }; // the log's witnesses have no other clock
}

// check recomputes the chain and shows each link.
async function check() {
  const mine = ++run;
  const began = performance.now();
  const picks = chain.picks, n = picks.length;
  conclusion("plain", say("recomputing"));
  const rows = new Map(picks.slice(-shownRows).reverse().map((p) => [p.seq, row(p)]));
  $("links").replaceChildren(...rows.values());
  $("took").textContent = "";
  const result = await recompute(picks, async (i, hash, fault) => {
    if (mine !== run) return;
    let tr = rows.get(picks[i].seq);
    if (!tr && fault && fault.kind !== "after") $("links").append(tr = row(picks[i]));
    if (tr) mark(tr, hash, fault);
    $("progress").value = (i + 1) / n;
    if (i % 16 === 0 && !document.hidden) await new Promise(requestAnimationFrame); // let the visitor see it
  });
  if (mine !== run) return;
  last = result;
  $("progress").value = 1; // also where there is no link
  $("took").textContent = many("took", n, Math.round(performance.now() - began));
  conclude();
}

// conclude shows the verdict on the chain as it was recomputed last.
function conclude() {
  const n = chain.picks.length;
  const rules = policy(), j = judge(chain, last, [...attested, ...kept], rules, log);
  const { fault } = j;
  const against = j.asked.filter((w) => w.reason !== null);
  if (j.logged !== null) {
    const { hashes } = log.all ?? log, names = log.cosigners.filter((c) => c.at).map((c) => c.name);
    const wrong = Math.max(0, hashes.findIndex((hash, i) => hash !== last.hashes[i]));
    against.unshift({ witness: say("log cosigned", names.join(", ") || say("nobody")), reason: j.logged, length: wrong + 1, head: hashes[wrong] ?? "" });
  }
  const alone = j.parties === 0, parties = many("parties", j.parties);
  const named = alone && (j.asked.length > 0 || (log?.named && !log.fault && log.cosigners.some((c) => c.at)));
  const list = [
    item(!fault, fault ? `${say("fault", fault.seq, fault.why)} ${n > fault.seq ? say("rest", n - fault.seq) : ""}` : say("recomputed", n)),
    item(j.claim, j.claim ? say("ends", many("picks", n)) : say("ends elsewhere")),
    ...(fault ? [] : [item(j.days === null, j.days ?? say("days whole"))]),
    against.length ? item(false, say("differ", against.length)) : alone ? item(undefined, say(named ? "alone named" : "alone"))
      : item(true, say("agree", parties, j.held, minute(j.newest)), j.verdict === "witnessed"),
  ];
  for (const f of j.broken) list.push(item(false, say("log signed", f.text)));
  for (const n of j.added) list.push(item(undefined, n.text));
  for (const f of chain.seals?.faults ?? []) list.push(item(false, say("server itself", words[`seal ${f.fault}`] ? say(`seal ${f.fault}`, f.date) : f.text)));
  const seals = (log?.all ?? log)?.seals;
  for (const late of seals?.late ?? []) list.push(item(undefined, late.text));
  if (seals?.sealed && !j.broken.length) {
    list.push(item(true, say(seals.opened === seals.sealed ? "opened all" : "opened", seals.sealed, seals.opened)));
  } else if (chain.seals?.days && !chain.seals.faults.length && !j.broken.length) {
    list.push(item(undefined, say("sealed", many("picks", chain.seals.days), "tidemark verify")));
  }
  if (seals?.sealed) list.push(item(undefined, say("stamps", "tidemark verify --proof FILE --timestamp FILE")));
  if (rules.theirs) list.push(item(undefined, say("demo", minute(Date.parse(chain.verified_at)))));
  $("checks").replaceChildren(...list);
  for (const tr of $("links").rows) tr.cells[1].classList.toggle("up", j.verdict === "witnessed" && tr.cells[0].textContent <= j.covered);
  conclusion(...{
    contradicted: ["", say("verdict contradicted")], witnessed: ["good", say("verdict witnessed", j.agreeing, j.parties)], self_consistent: ["plain", say("verdict self")],
  }[j.verdict]);
  $("verdict").dataset.verdict = j.verdict;
  const means = [{
    contradicted: say("means contradicted"),
    witnessed: j.covered === n ? say("means whole") : say("means up to", j.covered),
    self_consistent: say(log?.required && !j.quorum ? `means ${log.named ? "named" : "quorum"}` : j.unlogged ? "means unlogged" : j.added.length ? "means added"
      : j.hidden ? "means hidden" : alone && (j.quorum || named) ? "means server's" : alone ? "means alone" : "means old", j.unlogged),
  }[j.verdict]];
  if (j.verdict === "witnessed" && log?.named) means.push(say("own policy"));
  if (j.verdict === "witnessed" && chain.environment === "demo") means.push(say("beside"));
  $("meaning").textContent = means.join(" ");
  $("conflict").hidden = !against.length;
  $("conflicts").replaceChildren(...against.slice(0, 5).map((w) => {
    const tr = element("tr");
    tr.append(element("td", "", w.witness), element("td", "down", w.reason), element("td", "num", w.length), element("td", "hash", w.head),
      element("td", "hash", last.hashes[w.length - 1] ?? say("no pick")));
    $("conflict").querySelectorAll("th").forEach((th, i) => { tr.cells[i].dataset.head = th.textContent; });
    return tr;
  }));
  $("keep").hidden = j.verdict === "contradicted";
  $("checkpoint").textContent = j.verdict === "contradicted" ? say("nothing to keep") : `${n}:${j.head}`;
  $("checkpoint").classList.toggle("nothing", j.verdict === "contradicted");
}

// word returns a 32-byte word of the response of getAttestation.
const word = (hex, i) => hex.slice(2 + 64 * i, 66 + 64 * i);
const number = (hex) => Number.parseInt(hex, 16);
const isZero = (hex) => /^0+$/.test(hex);

async function rpc(url, method, params) {
  const response = await fetch(url, {
    method: "POST", headers: { "Content-Type": "application/json" }, credentials: "omit", referrerPolicy: "no-referrer", redirect: "error",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), signal: AbortSignal.timeout(15000),
  });
  if (!response.ok) throw new Error(say("node answered", response.status));
  const { result, error } = await response.json();
  if (error) throw new Error(say("node says", error.message));
  if (typeof result !== "string" && !Array.isArray(result)) throw new Error(say("node not RPC"));
  return result;
}

// Nodes answer for 10,000 blocks of logs at once. An attestation that is 500,000 blocks old is not fresh anyway.
const logSpan = 9999, mostBlocks = 500000;
const attestedEvent = "0x8bf46bf4cfd674fa735a3d63ec1c9ad4153f033c290341f3a588b75685141b35";

// later returns the ids of the attester's attestations from the block of the newest that the server names, the newest first. Without this, a
// server could name an old one as its newest. That one must be among them, because the block is the server's word.
async function later(url, a) {
  const head = number(await rpc(url, "eth_blockNumber", [])), uids = [];
  if (!(a.latest.block_number >= 0) || head - a.latest.block_number > mostBlocks) throw new Error(say("newest old"));
  for (let from = a.latest.block_number; from <= head; from += logSpan) {
    const hex = (n) => `0x${n.toString(16)}`;
    const topics = [attestedEvent, null, `0x${a.attester.slice(2).toLowerCase().padStart(64, "0")}`, a.schema_uid];
    const logs = await rpc(url, "eth_getLogs", [{ address: a.contract, topics, fromBlock: hex(from), toBlock: hex(Math.min(from + logSpan - 1, head)) }]);
    uids.push(...logs.map((l) => String(l.data).slice(2, 66).toLowerCase()));
  }
  if (!uids.includes(a.latest.uid.slice(2).toLowerCase())) throw new Error(say("not in block"));
  return uids.slice(uids.indexOf(a.latest.uid.slice(2).toLowerCase())).reverse();
}

// attestation reads one attestation from the contract, null where there is none in the form of ours.
async function attestation(url, a, uid) {
  const got = await rpc(url, "eth_call", [{ to: a.contract, data: `0xa3112a64${uid}` }, "latest"]);
  if (!/^0x[0-9a-f]{1024,}$/i.test(got) || word(got, 1).toLowerCase() !== uid.toLowerCase()) return null;
  const day = String(number(word(got, 15)));
  return {
    witness: say("attestation", shorten(`0x${uid}`)), uid, refersTo: word(got, 6), schema: word(got, 2), lasts: [4, 5, 9].every((i) => isZero(word(got, i))),
    length: number(word(got, 13)), head: word(got, 12).toLowerCase(), date: `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}`,
    attester: `0x${word(got, 8).slice(24).toLowerCase()}`, at: new Date(number(word(got, 3)) * 1000).toISOString(),
  };
}

// ask reads all attestations from a node: each names the one before it. The node of the server's choice is asked where the reader names none: it can
// contradict, and does not count. On load it is asked only if it is of the page's own origin.
async function ask() {
  const list = $("attested"), a = chain.attestation, url = ownNode() || proposedNode, named = !ownNode();
  attested = [];
  $("whosenode").textContent = say(named ? "node server" : "node yours");
  if (!a.latest?.uid || !a.contract || !a.attester) {
    list.replaceChildren(item(undefined, say("no attestation")));
    return;
  }
  if (publicNodes[a.network] && a.contract.toLowerCase() !== eas) {
    attested = [{ witness: say("the contract"), length: a.latest.seq, head: "", fault: say("not EAS", eas), named }];
    list.replaceChildren(item(false, say("not EAS", eas)));
    return;
  }
  list.replaceChildren(element("li", "quiet", say("asking")));
  const found = [];
  let hidden = null;
  try {
    const network = `eip155:${number(await rpc(url, "eth_chainId", []))}`;
    if (network !== a.network) {
      list.replaceChildren(item(undefined, say("network", network, a.network)));
      return;
    }
    let newest = a.latest.uid.slice(2);
    try {
      [newest] = await later(url, a);
    } catch (e) {
      hidden = e.message;
    }
    for (let uid = newest; !isZero(uid) && found.length < mostAttestations;) {
      const one = await attestation(url, a, uid);
      if (!one) {
        const missing = say("missing", shorten(`0x${uid}`));
        if (found.length || a.latest.status === "confirmed") attested = [{ witness: say("the contract"), length: a.latest.seq, head: "", fault: missing, named }];
        list.replaceChildren(item(false, missing));
        return;
      }
      found.push(one);
      uid = one.refersTo;
      list.replaceChildren(element("li", "quiet", many("read", found.length)));
    }
  } catch (e) {
    list.replaceChildren(item(undefined, say("not asked", e.message)));
    return;
  }
  const by = new Set(found.map((x) => x.attester)), first = minute(Date.parse(found.at(-1).at)), newest = minute(Date.parse(found[0].at));
  const own = by.size === 1 && by.has(a.attester.toLowerCase());
  const schema = found.every((x) => x.schema === a.schema_uid?.slice(2).toLowerCase());
  const lasting = found.every((x) => x.lasts);
  const ascending = found.every((x, i) => i === 0 || (x.length < found[i - 1].length && x.at <= found[i - 1].at));
  list.replaceChildren(
    item(true, found.length > 1 && first === newest ? say("has at", found.length, first) : many("has", found.length, first, newest)),
    item(own, own ? say("by one", a.attester) : say("by others", [...by].join(", "), a.attester)),
    item(schema && lasting, say(schema && lasting ? "schema" : "no schema")),
    item(ascending, say(ascending ? "ascending" : "not ascending")),
  );
  if (hidden !== null) {
    // They are compared, and none is fresh: what the server does not name may be newer.
    list.append(item(undefined, say("newer", hidden)));
    for (const x of found) x.at = new Date(0).toISOString();
  }
  const good = own && schema && lasting && ascending;
  attested = found.map((x) => ({ ...x, named, ...(good ? {} : { fault: say("not as said") }) }));
}

// propose fills in the policy that the server names.
async function propose() {
  const response = await fetch($("verify").dataset.info, { headers: { Accept: "application/json" } });
  const named = response.ok ? (await response.json()).data?.log : null;
  $("policy").value = named ? serverPolicy(named) : "";
  proposed = $("policy").value.trim(); // as the field has it, which changes line ends: else the server's policy could pass for the reader's
}

// askLog reads the whole log by the reader's policy, and who cosigned it.
async function askLog() {
  const list = $("logged"), text = $("policy").value.trim(), named = text === proposed;
  list.replaceChildren(element("li", "quiet", say("reading")));
  const without = (why) => {
    log = text ? { hashes: [], fault: null, cosigners: [], enough: () => false, required: true, named } : null; // a log that is not shown
    list.replaceChildren(item(undefined, why));
  };
  $("whose").textContent = say(named ? "whose server" : "whose yours");
  if (!text) return without(say("no log"));
  if (!await canVerify()) return without(say("no Ed25519", "tidemark verify --policy"));
  let rules;
  try {
    rules = await parsePolicy(text);
    log = { ...await fetchLog($("verify").dataset.leaves, rules, Date.now()), required: rules.quorum !== "none", named };
    if (log.why) throw new Error(log.why);
  } catch (e) {
    without(say("log not checked", e.message));
    return;
  }
  if (log.all.hashes.length > original.picks.length || hiddenNotes(original, log).length) { // a pick or a note came meanwhile, or the server hides it
    await load();
    await check();
  }
  const fresh = judge(chain, last, [], policy(), log).current;
  list.replaceChildren(
    item(true, say("leaves", log.all.size, log.hashes.length)),
    ...log.cosigners.map((c) => item(fresh.has(c.name) || undefined,
      c.at ? say(fresh.has(c.name) ? "cosigned" : "cosigned stale", c.name, minute(c.at)) : say("not cosigned", c.name))),
  );
}

// tamper replaces a member of a pick, in this browser only.
function tamper(event) {
  event.preventDefault();
  const seq = Number($("seq").value), p = chain.picks[seq - 1];
  if (!p) { $("tampered").textContent = say("no such", seq); return; }
  const member = $("member").value;
  $("tampered").textContent = say("tampered", seq, $("member").selectedOptions[0].text, p[member], $("value").value);
  p[member] = $("value").value;
  $("rehash").disabled = false;
  check();
}

// rewrite is the second act of a cheat: all hashes are made anew, and the server claims the new head.
async function rewrite() {
  chain.picks = await rehash(chain.picks);
  chain.chain_length = chain.picks.length;
  chain.head_hash = chain.picks.at(-1)?.hash ?? genesis;
  $("tampered").textContent += ` ${say("rewritten")}`;
  check();
}

function restore() {
  chain = structuredClone(original);
  $("tampered").textContent = "";
  $("rehash").disabled = true;
  check();
}

function compare(event) {
  event.preventDefault();
  const [, length, head] = /^\s*(\d{1,9}):([0-9a-f]{64})\s*$/.exec($("mine").value) ?? [];
  if (!head || length < 1) {
    kept = [];
    $("compared").replaceChildren(item(undefined, say("form")));
    return;
  }
  kept = [{ witness: say("your checkpoint"), length: Number(length), head, kept: true }];
  const same = last.hashes[length - 1] === head, copy = same && Number(length) === last.hashes.length;
  $("compared").replaceChildren(item(copy ? undefined : same, say(copy ? "copy" : same ? "still" : "no longer", length)));
  conclude();
}

// settle gives back the room that was kept for what a check says. It does so only below the window, where nobody sees anything move.
function settle() {
  for (const kept of [$("attested"), $("logged"), $("links").closest(".tall")]) {
    if (kept.getBoundingClientRect().top > innerHeight) kept.style.minHeight = "0";
  }
}

async function start() {
  if (!globalThis.crypto?.subtle) {
    conclusion("plain", say("unchecked"));
    $("checks").append(item(undefined, say("secure")));
    return;
  }
  try {
    await load();
  } catch (e) {
    conclusion("plain", say("unchecked"));
    $("checks").append(item(undefined, say("not downloaded", e.message)));
    return;
  }
  proposedNode = chain.attestation.rpc_url ?? publicNodes[chain.attestation.network] ?? "";
  $("rpc").placeholder = proposedNode;
  const params = new URLSearchParams(location.search);
  const wanted = Number(params.get("seq")) || chain.picks.length;
  $("seq").value = wanted;
  $("seq").max = chain.picks.length;
  $("value").value = "999.99";
  await check();
  const logs = propose().then(askLog).catch((e) => $("logged").replaceChildren(item(undefined, say("log not read", e.message)))).then(conclude);
  if (params.has("seq")) $(`link-${wanted}`)?.scrollIntoView({ block: "center" });
  if (ownNode() || isOurs(proposedNode)) { // a browser keeps what the reader wrote
    await ask();
    conclude();
  } else $("attested").replaceChildren(item(undefined, proposedNode ? say("node elsewhere", proposedNode) : say("no node")));
  await logs;
  settle();
}

const again = async () => { await load(); await check(); };
$("again").addEventListener("click", () => again().catch((e) => conclusion("plain", e.message)));
$("ask").addEventListener("submit", async (event) => { event.preventDefault(); await ask(); conclude(); });
$("asklog").addEventListener("submit", async (event) => { event.preventDefault(); await askLog(); conclude(); });
$("attester").addEventListener("change", conclude);
$("tamper").addEventListener("submit", tamper);
$("rehash").addEventListener("click", rewrite);
$("restore").addEventListener("click", restore);
$("compare").addEventListener("submit", compare);
start();
