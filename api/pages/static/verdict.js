// Recomputes a chain of picks and compares it with what witnesses hold. Pure functions: verify.js shows the outcome, and a test runs the
// same vectors through this file, the Go verifier and an independent one. The rules are in docs/hash-chain.md, "Verdicts".
export const genesis = "0".repeat(64);
const forms = {
  ticker: /^(?=.{1,16}$)[A-Z0-9]+([.-][A-Z0-9]+)*$/,
  price: /^(?!0+\.0+$)(0|[1-9][0-9]*)\.[0-9]{2,4}$/,
  date: /^\d{4}-\d{2}-\d{2}$/,
};
// A witness is fresh for 120 hours: the longest time between two trading days, and a day of delay.
const freshFor = 120 * 3600 * 1000;
const encoder = new TextEncoder();

// linkHash returns the hash of a pick that follows a hash.
export async function linkHash(pick, previous) {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(`${pick.ticker}|${pick.price}|${pick.date}|${previous}`));
  return [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, "0")).join("");
}

// rehash returns picks whose numbers and hashes are made anew from their values, as somebody would who rewrites a chain.
export async function rehash(picks) {
  let previous = genesis;
  const out = [];
  for (const [i, p] of picks.entries()) {
    const hash = await linkHash(p, previous);
    out.push({ ...p, seq: i + 1, previous_hash: previous, hash });
    previous = hash;
  }
  return out;
}

// recompute returns the hash of every pick, each made from the recomputed hash before it, and the first fault, null where there is none.
// It calls each with a pick's index, hash and fault. Every pick after a fault is at fault, too: its hash rests on the wrong one.
export async function recompute(picks, each = () => {}) {
  const hashes = [];
  let previous = genesis, date = "", first = null;
  for (const [i, p] of picks.entries()) {
    const hash = await linkHash(p, previous);
    let fault = null;
    const malformed = Object.keys(forms).find((member) => !forms[member].test(p[member]));
    if (first) fault = { kind: "after", seq: i + 1, why: `rests on pick ${first.seq}` };
    else if (p.seq !== i + 1 || !(p.date > date)) fault = { kind: "order", seq: i + 1, why: "its number or its date does not follow" };
    else if (malformed) fault = { kind: "form", seq: i + 1, why: `its ${malformed} is not in the canonical form` };
    else if (p.previous_hash !== previous) fault = { kind: "links", seq: i + 1, why: "it does not name the hash before it" };
    else if (p.hash !== hash) fault = { kind: "hashes", seq: i + 1, why: "its hash does not match" };
    first ??= fault;
    hashes.push(hash);
    await each(i, hash, fault);
    [previous, date] = [hash, p.date];
  }
  return { hashes, fault: first };
}

// compareWitness says whether a witness holds the same as the recomputed chain: null where it does, a reason where it does not.
export function compareWitness(witness, picks, hashes, policy) {
  const { length, head, date, attester, fault } = witness;
  if (fault) return fault;
  if (policy.attester && attester && attester.toLowerCase() !== policy.attester.toLowerCase()) return `it is by ${attester}, and you expect ${policy.attester}`;
  if (length > hashes.length) return `it holds ${length} picks, and the server shows ${hashes.length}`;
  if (hashes[length - 1] !== head) return `after ${length} picks it holds another hash`;
  if (date && picks[length - 1].date !== date) return `it dates pick ${length} ${date}, and the server ${picks[length - 1].date}`;
  return null;
}

// judge returns the verdict on a recomputed chain: contradicted, witnessed or self_consistent. answer has picks, chain_length, head_hash
// and, where picks are sealed, seals, whose faults with contradicts count against the chain: nobody accuses himself wrongly; a witness has a length of at least 1, a head, and where known date, attester and at (an instant), and a fault where it counts against the chain by itself; policy has attester, where
// the reader expects one, and now. In the result, each witness stands with its reason to disagree, null where it agrees; covered is the
// length up to which fresh witnesses agree.
export function judge(answer, { hashes, fault }, witnesses, policy) {
  const { picks } = answer, n = picks.length, now = Date.parse(policy.now);
  const head = n ? hashes[n - 1] : genesis;
  const claim = answer.chain_length === n && (answer.head_hash ?? genesis) === head;
  const asked = witnesses.map((w) => ({ ...w, reason: compareWitness(w, picks, hashes, policy) }));
  const agreeing = asked.filter((w) => w.reason === null);
  const covered = Math.max(0, ...agreeing.map((w) => w.length));
  const newest = Math.max(...agreeing.map((w) => Date.parse(w.at ?? `${picks[w.length - 1].date}T23:59:59Z`)));
  const fresh = (time) => time >= now - freshFor;
  const admitted = (answer.seals?.faults ?? []).some((f) => f.contradicts);
  let verdict = "self_consistent";
  if (fault || !claim || admitted || agreeing.length < asked.length) verdict = "contradicted";
  else if (covered > 0 && fresh(newest) && (covered === n || fresh(Date.parse(`${picks[covered].date}T23:59:59Z`)))) verdict = "witnessed";
  return { verdict, fault, claim, head, asked, agreeing: agreeing.length, covered, newest };
}
