// Recomputes a chain of picks and compares it with what witnesses hold. Pure functions: verify.js shows the outcome, and a test runs the
// same vectors through this file, the Go verifier and an independent one. The rules are in docs/hash-chain.md, "Verdicts".
export const genesis = "0".repeat(64);

// The page gives the texts, in the reader's language. Without it a reason is the name of its text with the values.
let say = (...parts) => parts.join(" ");
export const speak = (words) => { say = words; };
const forms = {
  ticker: (text) => /^(?=.{1,16}$)[A-Z0-9]([A-Z0-9.-]*[A-Z0-9])?$/.test(text),
  price: (text) => /^(?!0+\.0+$)(0|[1-9][0-9]{0,11})\.[0-9]{2,4}$/.test(text),
  date: (text) => /^(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) && new Date(Date.parse(`${text}T00:00:00Z`) || 0).toISOString().startsWith(text),
};
// A witness is fresh for 120 hours: the longest time between two trading days, and a day of delay. A time that is further ahead than five
// minutes is no time.
const freshFor = 120 * 3600 * 1000, ahead = 5 * 60 * 1000;
// A quorum of a log's witnesses is fresh for 26 hours: without news a size is cosigned again once a day.
const quorumFresh = 26 * 3600 * 1000;
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
    const malformed = Object.keys(forms).find((member) => typeof p[member] !== "string" || !forms[member](p[member]));
    if (first) fault = { kind: "after", seq: i + 1, why: say("after", first.seq) };
    else if (p.seq !== i + 1 || !(p.date > date)) fault = { kind: "order", seq: i + 1, why: say("order") };
    else if (malformed) fault = { kind: "form", seq: i + 1, why: say("not canonical", malformed) };
    else if (p.previous_hash !== previous) fault = { kind: "links", seq: i + 1, why: say("links") };
    else if (p.hash !== hash) fault = { kind: "hashes", seq: i + 1, why: say("hashes") };
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
  if (policy.attester && attester && attester.toLowerCase() !== policy.attester.toLowerCase()) return say("another attester", attester, policy.attester);
  if (length > hashes.length) return say("holds more", length, hashes.length);
  if (hashes[length - 1] !== head) return say("another hash", length);
  if (date && picks[length - 1].date !== date) return say("dates", length, date, picks[length - 1].date);
  return null;
}

// party is who stands behind a witness: the account that attested, or else the witness itself.
const party = (w) => w.attester?.toLowerCase() || w.witness;

// lastOf is the last second of a day, in UTC. While the day lasts, it is now.
function lastOf(day, now) {
  const begin = Date.parse(`${day}T00:00:00Z`), end = begin + 86399000;
  return end > now && begin <= now ? now : end;
}

// compareLog says whether the picks of a log are those of the recomputed chain: null where they are, a reason where not.
function compareLog({ all, ...log }, hashes) {
  if (all) log = all; // the newest size, where it has more picks than the one that is cosigned
  const wrong = log.hashes.findIndex((hash, i) => hash !== hashes[i]);
  if (log.fault || wrong < 0) return log.fault;
  return wrong >= hashes.length ? say("log has more", log.hashes.length, hashes.length)
    : say("log differs", wrong + 1);
}

// hiddenNotes says which days without a pick and which corrections of a log an answer does not show, each with a text.
export function hiddenNotes(answer, log) {
  const { gaps = [], corrections = [] } = (log?.all ?? log)?.notes ?? {};
  const hides = (shown, note) => !(shown ?? []).some((s) => Object.keys(note).every((k) => s[k] === note[k]));
  return [
    ...gaps.filter((g) => hides(answer.gaps, g)).map((g) => ({ text: say("hidden gap", g.date, g.reason) })),
    ...corrections.filter((c) => hides(answer.corrections, c)).map((c) => ({ text: say("hidden correction", c.seq, c.date) })),
  ];
}

// --- The exchange's calendar, by its published rule (7.2). A day is its number since 1970. A test holds it to the two other verifiers' ones. ---
const dayLength = 86400000, firstYear = 1990, lastYear = 2100;
const numberOf = (text) => Date.parse(`${text}T00:00:00Z`) / dayLength;
const textOf = (day) => new Date(day * dayLength).toISOString().slice(0, 10);
const weekday = (day) => (day + 4) % 7; // 0 is Sunday
// The closings for a whole day that no rule gives.
const oneOff = ["1994-04-27", "2001-09-11", "2001-09-12", "2001-09-13", "2001-09-14", "2004-06-11", "2007-01-02", "2012-10-29", "2012-10-30", "2018-12-05", "2025-01-09"];

// nth is the n-th day of a month that is such a weekday. The 0th one is the last of the month before.
function nth(n, wanted, year, month) {
  const first = Date.UTC(year, month - 1, 1) / dayLength;
  return first + (wanted - weekday(first) + 7) % 7 + 7 * (n - 1);
}

// easter is Easter Sunday, by Oudin's algorithm.
function easter(year) {
  const f = Math.floor, g = year % 19, c = f(year / 100);
  const h = (c - f(c / 4) - f((8 * c + 13) / 25) + 19 * g + 15) % 30;
  const i = h - f(h / 28) * (1 - f(29 / (h + 1)) * f((21 - g) / 11));
  return Date.UTC(year, 2, 28 + i - (year + f(year / 4) + i + 2 - c + f(c / 4)) % 7) / dayLength;
}

const years = new Map();

// holidays are the days of a year on which the exchange is closed, but for weekends.
function holidays(year) {
  if (years.has(year)) return years.get(year);
  const kept = (month, date) => { // a Sunday's is kept on Monday, a Saturday's on Friday
    const day = Date.UTC(year, month - 1, date) / dayLength;
    return day + ({ 0: 1, 6: -1 }[weekday(day)] ?? 0);
  };
  const list = [nth(3, 1, year, 2), easter(year) - 2, nth(0, 1, year, 6), kept(7, 4), nth(1, 1, year, 9), nth(4, 4, year, 11), kept(12, 25)];
  if (weekday(Date.UTC(year, 0, 1) / dayLength) !== 6) list.push(kept(1, 1));
  if (year >= 1998) list.push(nth(3, 1, year, 1));
  if (year >= 2022) list.push(kept(6, 19));
  years.set(year, new Set([...list, ...oneOff.map(numberOf)]));
  return years.get(year);
}

// isTradingDay says whether the exchange trades on a day.
function isTradingDay(day) {
  const year = new Date(day * dayLength).getUTCFullYear();
  return year >= firstYear && year <= lastYear && weekday(day) % 6 !== 0 && !holidays(year).has(day);
}

// closeOf is the minute of a trading day, in New York, at which the exchange closes: 13:00 or 16:00.
function closeOf(day) {
  const [year, month, date] = textOf(day).split("-").map(Number);
  const early = day === nth(4, 4, year, 11) + 1 || month === 12 && date === 24 || month === 7 && date === 3;
  return early ? 13 * 60 : 16 * 60;
}

// tradingDays are the trading days from one day to another, both included.
export function tradingDays(from, to) {
  const out = [], end = Math.min(to, numberOf(`${lastYear}-12-31`));
  for (let day = Math.max(from, numberOf(`${firstYear}-01-01`)); day <= end; day++) if (isTradingDay(day)) out.push(day);
  return out;
}

const zone = new Intl.DateTimeFormat("en-US", { timeZone: "America/New_York", hourCycle: "h23", year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" });

// inNewYork is the day and the minute of it in New York, at an instant.
export function inNewYork(time) {
  const p = Object.fromEntries(zone.formatToParts(time).map(({ type, value }) => [type, value]));
  return { day: numberOf(`${p.year}-${p.month}-${p.day}`), minute: 60 * p.hour + Number(p.minute) };
}

// compareDays says how well-formed picks and the recorded days without a pick contradict the calendar at an instant: null where they do not. Every
// trading day since the first pick has its pick or its gap, and no other day has one. A pick is made after the close of its day. The newest
// day that is over has the next trading day to be recorded.
export function compareDays(picks, gaps, now) {
  if (!Number.isFinite(now)) return say("day clock");
  const { day: today } = inNewYork(now), soon = inNewYork(now + ahead);
  const days = picks.map((p) => numberOf(p.date)), first = days[0] ?? Infinity, last = days.at(-1) ?? -Infinity, picked = new Set(days), missed = new Set();
  for (const { date } of gaps) {
    const day = typeof date === "string" && forms.date(date) ? numberOf(date) : NaN;
    if (!isTradingDay(day) || missed.has(day) || picked.has(day) || day > today) return say("day gap", String(date).slice(0, 40));
    missed.add(day);
  }
  const odd = days.findIndex((day) => !isTradingDay(day));
  if (odd >= 0) return say("day closed", odd + 1, picks[odd].date);
  if (last > today) return say("day to come", picks.length, picks.at(-1).date);
  if (last === soon.day && soon.minute < closeOf(last)) return say("day open", picks.length, picks.at(-1).date);
  const over = tradingDays(first, today - 1);
  const left = over.filter((day, i) => !picked.has(day) && !missed.has(day) && (day < last || i < over.length - 1));
  return left.length ? say("day missing", left.slice(0, 3).map(textOf).join(", ") + (left.length > 3 ? " …" : "")) : null;
}

// addedNotes says which days without a pick and which corrections an answer shows that are not in a log that was read, each with a text.
export function addedNotes(answer, log) {
  const { gaps, corrections } = (log?.all ?? log)?.notes ?? {};
  if (!gaps) return [];
  const lacks = (list, names, note) => !list.some((l) => names.every((k) => l[k] === note[k]));
  return [
    ...(answer.gaps ?? []).filter((g) => lacks(gaps, ["date", "reason"], g)).map((g) => ({ text: say("added gap", g.date, g.reason) })),
    ...(answer.corrections ?? []).filter((c) => lacks(corrections, ["seq", "what", "evidence", "date"], c)).map((c) => ({ text: say("added correction", c.seq, c.date) })),
  ];
}

// aheadOf says that a leaf of a log is of a time that has not come, as a list with its text. The log states a false time.
function aheadOf(log, now) {
  const newest = log?.seals?.newest;
  return newest && newest.at > now + ahead ? [{ text: say("log ahead", newest.index, new Date(newest.at).toISOString().slice(0, 16).replace("T", " ")) }] : [];
}

// judge returns the verdict on a recomputed chain: contradicted, witnessed or self_consistent.
// answer has picks, chain_length, head_hash and, where picks are sealed, seals, whose faults with contradicts count against the chain:
// nobody accuses himself wrongly. A witness has its name, a length of at least 1, a head, and where known date, attester and at (an
// instant), and a fault where it counts against the chain by itself. named says that the server alone names whom to ask, kept that it is the reader's own
// checkpoint: the first, and the second where it is the head that is shown now and may be a copy of it, can contradict, and are no parties and cover nothing. policy has attester, where the reader expects one, now, and clock, the reader's own where that is another one.
// log is what log.js read of the log, null where nobody asked: the hashes of its picks, its seals and notes (a broken seal and a note that the answer hides count against the chain, and so do checkpoints that are not of one history: forks), its cosigners with their times, whether some are enough,
// and required where nothing is witnessed without them. A log without a fresh quorum covers nothing. named says that the policy is the server's
// own word: then its witnesses are no parties, and their quorum covers nothing. Where the answer says that picks are sealed (seals.since) and no
// log was read, the server hides it, and nothing is witnessed. A pick that is not among the leaves of a log that was read (unlogged) leaves the
// whole not witnessed, too, and so does a day without a pick or a correction (added): each and its leaf are made together. What contradicts the calendar (days) contradicts the chain.
// In the result, each witness stands with its reason to disagree, null where it agrees. parties is the number of independent parties among
// them, agreeing how many of these hold the same and are fresh. covered is the length up to which fresh witnesses agree, held up to which any.
export function judge(answer, { hashes, fault }, witnesses, policy, log = null) {
  const { picks } = answer, n = picks.length, now = Date.parse(policy.now), clock = Date.parse(policy.clock ?? policy.now);
  const fresh = (time) => time >= now - freshFor && time <= now + ahead;
  const recent = (i) => i < n && fresh(lastOf(picks[i].date, now));
  const head = n ? hashes[n - 1] : genesis;
  const claim = answer.chain_length === n && (answer.head_hash ?? genesis) === head;
  const asked = witnesses.map((w) => {
    const reason = compareWitness(w, picks, hashes, policy);
    if (reason !== null) return { ...w, reason };
    const time = w.at ? Date.parse(w.at) : lastOf(picks[w.length - 1].date, now);
    return { ...w, reason, time: time <= now + ahead ? time : NaN, fresh: fresh(time) };
  });
  const counted = asked.filter((w) => !w.named && !(w.kept && w.length === n && w.reason === null));
  const agreeing = counted.filter((w) => w.reason === null);
  const against = new Set(counted.filter((w) => w.reason !== null).map(party));
  const logged = log ? compareLog(log, hashes) : null, length = log?.hashes.length ?? 0;
  const cosigned = (log?.cosigners ?? []).filter((c) => c.at && length && logged === null);
  const current = new Set(cosigned.filter((c) => c.at >= clock - quorumFresh && c.at <= clock + ahead).map((c) => c.name));
  const quorum = Boolean(log) && current.size > 0 && log.enough(current);
  const vouched = log && !log.named, hidden = !log && Boolean(answer.seals?.since);
  const good = new Set(agreeing.filter((w) => w.fresh && !against.has(party(w))).map(party)).size + (vouched ? current.size : 0);
  const covered = Math.max(quorum && vouched ? length : 0, ...agreeing.filter((w) => w.fresh).map((w) => w.length));
  const held = Math.max(vouched && cosigned.length ? length : 0, ...agreeing.map((w) => w.length));
  const newest = Math.max(...agreeing.map((w) => w.time).filter(Number.isFinite), ...(vouched ? cosigned : []).map((c) => c.at).filter((at) => at <= clock + ahead));
  const days = fault ? null : compareDays(picks, answer.gaps ?? [], now), whole = log?.all ?? log, added = addedNotes(answer, log);
  const unlogged = whole?.size !== undefined && whole.hashes.length < n ? whole.hashes.length + 1 : 0;
  const admitted = (answer.seals?.faults ?? []).some((f) => f.contradicts), broken = [...whole?.forks ?? [], ...whole?.seals?.faults ?? [], ...aheadOf(whole, Math.max(now, clock)), ...hiddenNotes(answer, log)];
  let verdict = "self_consistent";
  if (fault || !claim || days !== null || admitted || broken.length || asked.some((w) => w.reason !== null) || logged !== null) verdict = "contradicted";
  else if (covered > 0 && !hidden && !unlogged && !added.length && (quorum || !log?.required) && (covered === n || (recent(covered) && recent(n - 1)))) verdict = "witnessed";
  const parties = new Set(counted.map(party)).size + (vouched ? log.cosigners.length : 0);
  return { verdict, fault, claim, head, asked, agreeing: good, parties, covered, held, newest, logged, broken, quorum, current, hidden, days, unlogged, added };
}
