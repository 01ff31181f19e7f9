// Recomputes the chain of picks in the browser, and asks a node what was attested. It believes nothing that the server says about itself:
// a check turns green only when it was made here.
const genesis = "0".repeat(64);
const rules = {
  ticker: /^(?=.{1,16}$)[A-Z0-9]+([.-][A-Z0-9]+)*$/,
  price: /^(?!0+\.0+$)(0|[1-9][0-9]*)\.[0-9]{2,4}$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
};
const publicNodes = { "eip155:8453": "https://mainnet.base.org", "eip155:84532": "https://sepolia.base.org" };
const shownRows = 400;

const $ = (id) => document.getElementById(id);
const encoder = new TextEncoder();

async function sha256(text) {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, "0")).join("");
}

// examine recomputes a chain and returns the first fault of each kind, null where there is none, with every hash as it was recomputed.
// each is told of every link.
async function examine(picks, each) {
  const found = { hashes: null, links: null, order: null, form: null, computed: [] };
  let previous = genesis, date = "";
  for (const [i, p] of picks.entries()) {
    const hash = await sha256(`${p.ticker}|${p.price}|${p.date}|${p.previous_hash}`);
    found.computed.push(hash);
    const bad = [];
    for (const [member, form] of Object.entries(rules)) {
      if (!form.test(p[member])) bad.push(["form", `the ${member} is not in its form`]);
    }
    if (p.seq !== i + 1 || !(p.date > date)) bad.push(["order", "its number or its date does not follow"]);
    if (p.previous_hash !== previous) bad.push(["links", "it does not name the hash before it"]);
    if (hash !== p.hash) bad.push(["hashes", "its hash does not match"]);
    for (const [kind, why] of bad) found[kind] ??= { seq: p.seq, why };
    await each(i, p, hash, bad);
    [previous, date] = [p.hash, p.date];
  }
  return found;
}

// item is one check of a list. state is true, false, or undefined where nothing was checked.
function item(state, text) {
  const li = document.createElement("li");
  const mark = document.createElement("span");
  mark.className = `state ${state === true ? "good" : state === false ? "" : "warn"}`;
  mark.textContent = state === true ? "ok" : state === false ? "wrong" : "not checked";
  li.dataset.state = state === true ? "ok" : state === false ? "wrong" : "open";
  li.append(mark, ` ${text}`);
  return li;
}

const verdict = (state, text) => {
  $("verdict").className = `state ${state === true ? "good" : state === false ? "" : "plain"}`;
  $("verdict").textContent = text;
};

let chain, original, last, run = 0;

async function load() {
  const answer = await fetch($("verify").dataset.chain, { headers: { Accept: "application/json" }, cache: "no-cache" });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  const text = await answer.text();
  chain = JSON.parse(text);
  original = chain.picks.map((p) => ({ ...p }));
  return text.length;
}

function row(p, hash, bad) {
  const tr = document.createElement("tr");
  tr.id = `link-${p.seq}`;
  const cells = [[p.seq], [p.date, "day"], [p.ticker], [p.price, "num"], [hash, "hash"], [bad.length ? bad.map(([, why]) => why).join("; ") : "ok"]];
  for (const [text, name = ""] of cells) {
    const td = document.createElement("td");
    td.className = name;
    td.textContent = text;
    tr.append(td);
  }
  tr.lastChild.className = bad.length ? "down" : "up";
  return tr;
}

async function check() {
  const mine = ++run;
  const began = performance.now();
  const picks = chain.picks, n = picks.length;
  verdict(undefined, "recomputing");
  $("checks").replaceChildren();
  $("links").replaceChildren();
  const found = await examine(picks, async (i, p, hash, bad) => {
    if (mine !== run) return;
    if (bad.length || n - i <= shownRows) $("links").prepend(row(p, hash, bad));
    $("progress").value = (i + 1) / n;
    if (i % 16 === 0 && !document.hidden) await new Promise(requestAnimationFrame); // let the visitor see it
  });
  if (mine !== run) return;
  last = found;
  const say = (kind, right) => item(!found[kind], found[kind] ? `Pick ${found[kind].seq}: ${found[kind].why}.` : right);
  const head = n ? found.computed[n - 1] : genesis;
  const same = chain.head_hash === head && chain.chain_length === n;
  $("checks").append(
    say("hashes", `${n} hashes recomputed, and every one matches.`),
    say("links", "Every link names the hash before it, from 64 zeros on."),
    say("order", "The numbers have no gap, and the dates ascend."),
    say("form", "Every ticker, price and date has its one canonical form."),
    item(same, same ? `The chain ends where the server says: ${n} picks.` : "The chain does not end where the server says."),
  );
  const right = same && !found.hashes && !found.links && !found.order && !found.form;
  verdict(right, right ? "valid: recomputed here" : "broken");
  $("took").textContent = `${n} hashes in ${Math.round(performance.now() - began)} ms`;
  $("checkpoint").textContent = right ? `${n}:${head}` : "the chain is broken";
}

// The words of an answer of getAttestation, after the offset that every tuple with bytes begins with.
const word = (hex, i) => hex.slice(2 + 64 * i, 66 + 64 * i);

async function rpc(url, method, params) {
  const answer = await fetch(url, {
    method: "POST", headers: { "Content-Type": "application/json" }, credentials: "omit", referrerPolicy: "no-referrer",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  if (!answer.ok) throw new Error(`the node answers ${answer.status}`);
  const { result, error } = await answer.json();
  if (error) throw new Error(`the node says: ${error.message}`);
  return result;
}

async function ask(event) {
  event.preventDefault();
  const list = $("attested"), a = chain.attestation;
  list.replaceChildren();
  if (!a.latest?.uid || !a.contract || !a.attester) {
    list.append(item(undefined, "The server names no attestation yet."));
    return;
  }
  try {
    const url = $("rpc").value;
    const id = await rpc(url, "eth_chainId", []);
    const network = `eip155:${Number.parseInt(id, 16)}`;
    list.append(item(network === a.network, `The node is of the network ${network}${network === a.network ? "" : `, not of ${a.network}`}.`));
    if (network !== a.network) return;
    const got = await rpc(url, "eth_call", [{ to: a.contract, data: `0xa3112a64${a.latest.uid.slice(2)}` }, "latest"]);
    const whole = /^0x[0-9a-f]{1024,}$/i.test(got) && word(got, 1) === a.latest.uid.slice(2).toLowerCase();
    list.append(item(whole, whole ? `The contract has the attestation ${a.latest.uid.slice(0, 14)}….` : "The contract has no such attestation."));
    if (!whole) return;
    const at = new Date(Number.parseInt(word(got, 3), 16) * 1000);
    const address = (w) => `0x${w.slice(24)}`;
    const by = address(word(got, 8));
    list.append(item(by === a.attester.toLowerCase(), `It was made by ${by}${by === a.attester.toLowerCase() ? ", the published attester" : `, not by ${a.attester}`}.`));
    const schema = word(got, 2) === a.schema_uid?.slice(2).toLowerCase();
    list.append(item(schema, schema ? "It is of the published schema." : "It is of another schema."));
    const lasts = [4, 5, 9].every((i) => /^0+$/.test(word(got, i)));
    list.append(item(lasts, lasts ? "It cannot be revoked, was not, and does not expire." : "It can be revoked, was revoked, or expires."));
    const length = Number.parseInt(word(got, 13), 16), head = word(got, 12), day = Number.parseInt(word(got, 15), 16);
    const computed = last?.computed[length - 1], date = chain.picks[length - 1]?.date;
    const agrees = !last?.links && computed === head && Number(date?.replaceAll("-", "")) === day;
    list.append(item(agrees, agrees
      ? `Its head is the hash recomputed here at length ${length}: those picks were recorded no later than ${at.toISOString().slice(0, 16).replace("T", " ")} UTC.`
      : `It says that the chain of ${length} picks ends in ${head.slice(0, 14)}…, and what was recomputed here does not.`));
  } catch (e) {
    list.append(item(undefined, `The node was not heard: ${e.message}. Try another one.`));
  }
}

function tamper(event) {
  event.preventDefault();
  const seq = Number($("seq").value), p = chain.picks[seq - 1];
  if (!p) { $("tampered").textContent = `There is no pick ${seq}.`; return; }
  const member = $("member").value;
  $("tampered").textContent = `Pick ${seq}: ${member} ${p[member]} is now ${$("value").value}, in this browser only.`;
  p[member] = $("value").value;
  check();
}

function restore() {
  chain.picks = original.map((p) => ({ ...p }));
  $("tampered").textContent = "";
  check();
}

function compare(event) {
  event.preventDefault();
  const [, length, hash] = /^\s*(\d+):([0-9a-f]{64})\s*$/.exec($("mine").value) ?? [];
  const same = hash && last?.computed[length - 1] === hash && !last.hashes && !last.links;
  $("compared").replaceChildren(item(hash ? same : undefined, !hash
    ? "A checkpoint is a length, a colon and 64 hex digits."
    : same ? `The chain still has that hash at length ${length}.` : `The chain does not have that hash at length ${length}.`));
}

async function start() {
  $("verify").hidden = false;
  if (!globalThis.crypto?.subtle) {
    verdict(undefined, "not checked");
    $("checks").append(item(undefined, "This browser recomputes only on pages served by https or by your own machine."));
    return;
  }
  try {
    await load();
  } catch (e) {
    verdict(undefined, "not checked");
    $("checks").append(item(undefined, `The chain could not be downloaded: ${e.message}.`));
    return;
  }
  $("rpc").value = chain.attestation.rpc_url ?? publicNodes[chain.attestation.network] ?? "";
  const wanted = Number(new URLSearchParams(location.search).get("seq")) || chain.picks.length;
  $("seq").value = wanted;
  $("seq").max = chain.picks.length;
  $("value").value = "999.99";
  await check();
  const marked = location.search && $(`link-${wanted}`);
  if (marked) marked.scrollIntoView({ block: "center" });
}

$("again").addEventListener("click", () => load().then(check).catch((e) => verdict(undefined, e.message)));
$("ask").addEventListener("submit", ask);
$("tamper").addEventListener("submit", tamper);
$("restore").addEventListener("click", restore);
$("compare").addEventListener("submit", compare);
start();
