#!/usr/bin/env python3
"""An independent verifier of a chain of picks and of proofs of the transparency log. It shares no code with Tidemark and needs Python alone.

    verify.py CASES                          every case of a file like chain/testdata/verdicts.json, as a list: verdict, fault, covered, parties
    verify.py --url URL [--policy FILE]      the chain of a server, recomputed, its log, and by the witnesses of your policy (C2SP tlog-policy) that
                                             cosigned it; without a policy the server names the log and its witnesses: what the log says can
                                             contradict the chain, and nobody counts, so at best it is self-consistent
    verify.py --proof FILE --policy FILE     a .tlog-proof file (C2SP), by the keys of your policy; no network is used

Exit status: 0 for witnessed, 1 for contradicted, 2 where nothing was checked (no server, no such file, bytes that do not fit), 3 for a proof without
a fresh quorum. With --url: 0 for self-consistent without a policy, and 3 with one, also if the log could not be checked.
"""
import argparse
import base64
import hashlib
import json
import re
import sys
import time
import urllib.error
import urllib.request
from datetime import date, datetime, timedelta, timezone

FRESH = timedelta(hours=120)
CLOCKS = timedelta(minutes=5)
TICKER = re.compile(r"[A-Z0-9]([A-Z0-9.-]*[A-Z0-9])?", re.ASCII)
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
PRICE = re.compile(r"(0|[1-9][0-9]{0,11})\.[0-9]{2,4}", re.ASCII)


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def last_of(day, now):
    """Returns the last second of a day in UTC, or now while the day lasts. What is no day was never."""
    try:
        begin = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc)
    except ValueError:
        return datetime.min.replace(tzinfo=timezone.utc)
    return now if begin.date() == now.astimezone(timezone.utc).date() else begin + timedelta(hours=23, minutes=59, seconds=59)


def is_well_formed(pick):
    ticker, price, date = (pick[name] for name in ("ticker", "price", "date"))
    if not all(isinstance(text, str) for text in (ticker, price, date)) or not DATE.fullmatch(date):
        return False
    try:
        datetime.strptime(date, "%Y-%m-%d")
    except ValueError:
        return False
    return bool(TICKER.fullmatch(ticker) and len(ticker) <= 16 and PRICE.fullmatch(price) and price.strip("0.") != "")


def recompute(picks):
    """Returns the hash of each pick, made from the recomputed hash before it, and the number of the first pick at fault or None."""
    hashes, fault = [], None
    for n, pick in enumerate(picks, start=1):
        before = hashes[-1] if hashes else "0" * 64
        text = f'{pick["ticker"]}|{pick["price"]}|{pick["date"]}|{before}'
        hashes.append(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest())
        follows = pick["seq"] == n and (n == 1 or pick["date"] > picks[n - 2]["date"])
        linked = pick["previous_hash"] == before and pick["hash"] == hashes[-1]
        if fault is None and not (follows and linked and is_well_formed(pick)):
            fault = n
    return hashes, fault


# --- the calendar of the New York Stock Exchange, from its rules for holidays, and the clocks of New York as they are since 2007 ---

YEARS = range(1990, 2101)
SPECIAL_CLOSINGS = {date.fromisoformat(day) for day in (
    "1994-04-27 2001-09-11 2001-09-12 2001-09-13 2001-09-14 2004-06-11 2007-01-02 2012-10-29 2012-10-30 2018-12-05 2025-01-09").split()}
MONDAY, THURSDAY, SATURDAY, SUNDAY = 0, 3, 5, 6
DAY = timedelta(days=1)


def weekday_from(day, wanted):
    """Returns the first day from a day on that is such a weekday."""
    return day + (wanted - day.weekday()) % 7 * DAY


def good_friday(year):
    """Easter is by Knuth's form of Clavius' computation, with its golden number and epact."""
    golden, century = year % 19 + 1, year // 100 + 1
    leap, moon = 3 * century // 4 - 12, (8 * century + 5) // 25 - 5
    epact = (11 * golden + 20 + moon - leap) % 30
    if epact == 24 or epact == 25 and golden > 11:
        epact += 1
    full = 44 - epact if epact <= 23 else 74 - epact
    sunday = full + 7 - (5 * year // 4 - leap - 10 + full) % 7
    return date(year, 3, 1) + (sunday - 3) * DAY


def holidays(year):
    fixed = [date(year, 7, 4), date(year, 12, 25)] + ([date(year, 6, 19)] if year >= 2022 else [])
    if date(year, 1, 1).weekday() != SATURDAY:
        fixed.append(date(year, 1, 1))
    out = {day + {SATURDAY: -DAY, SUNDAY: DAY}.get(day.weekday(), 0 * DAY) for day in fixed}
    mondays = [date(year, 2, 15), date(year, 5, 25), date(year, 9, 1)] + ([date(year, 1, 15)] if year >= 1998 else [])
    return out | {weekday_from(day, MONDAY) for day in mondays} | {good_friday(year), weekday_from(date(year, 11, 22), THURSDAY)}


def is_trading_day(day):
    return day.year in YEARS and day.weekday() < SATURDAY and day not in SPECIAL_CLOSINGS and day not in holidays(day.year)


def trading_days(start, end):
    """Returns the trading days from one day to another, both included."""
    start, end = max(start, date(YEARS[0], 1, 1)), min(end, date(YEARS[-1], 12, 31))
    return [day for day in (start + n * DAY for n in range((end - start).days + 1)) if is_trading_day(day)]


def new_york(at):
    """Returns what New York's clocks show at an instant: summer time is from the second Sunday of March to the first of November."""
    at = at.astimezone(timezone.utc).replace(tzinfo=None)
    begin = datetime.combine(weekday_from(date(at.year, 3, 8), SUNDAY), datetime.min.time()) + timedelta(hours=7)
    end = datetime.combine(weekday_from(date(at.year, 11, 1), SUNDAY), datetime.min.time()) + timedelta(hours=6)
    return at - timedelta(hours=4 if begin <= at < end else 5)


def close_of(day):
    """Returns the hour at which the exchange closes on a trading day, in New York."""
    short = (day.month, day.day) in ((7, 3), (12, 24)) or day == weekday_from(date(day.year, 11, 22), THURSDAY) + DAY
    return 13 if short else 16


def against_calendar(picks, gaps, now):
    """Says how well-formed picks, and the days that are recorded to have none, contradict the calendar; None where they do not.

    Every trading day since the first pick has its pick or its gap, and no other day has one. A pick is made after the close of its day. The
    newest day that is over has the next trading day to be recorded.
    """
    today, picked, missed = new_york(now).date(), [date.fromisoformat(p["date"]) for p in picks], set()
    for gap in gaps:
        text = gap.get("date")
        day = date.fromisoformat(text) if isinstance(text, str) and is_day(text) else None
        if day is None or not is_trading_day(day) or day in missed or day in picked or day > today:
            return f"{text!r:.40} is recorded as a day without a pick, and cannot be one"
        missed.add(day)
    for n, day in enumerate(picked, start=1):
        if not is_trading_day(day):
            return f"pick {n} is of {day}, when the exchange was closed"
    if not picked:
        return None
    soon = new_york(now + CLOCKS)
    if picked[-1] > today:
        return f"pick {len(picked)} is of {picked[-1]}, which has not come yet"
    if picked[-1] == soon.date() and soon.hour < close_of(picked[-1]):
        return f"pick {len(picked)} is of {picked[-1]}, whose session is not over"
    over = trading_days(picked[0], today - DAY)
    known = missed.union(picked)
    waits = over[-1:] if over and over[-1] > picked[-1] else []
    left = [str(day) for day in over if day not in known and day not in waits]
    return "without a pick and without a recorded gap: " + ", ".join(left[:3]) + (" ..." if left[3:] else "") if left else None


def party_of(witness):
    """Returns who stands behind a witness: an account that attests is one party, however often it does."""
    return (witness.get("attester") or "").lower() or witness["witness"]


def disagrees(witness, picks, hashes, expected):
    n = witness["length"]
    account = witness.get("attester")
    if expected and account and expected.lower() != account.lower():
        return True
    if not 1 <= n <= len(hashes) or hashes[n - 1] != witness["head"]:
        return True
    return (witness.get("date") or picks[n - 1]["date"]) != picks[n - 1]["date"]


def shown_notes(answer):
    """Returns the days without a pick and the corrections of an answer."""
    return [(n["date"], n["reason"]) for n in answer.get("gaps") or []] + [
        (n["date"], n["seq"], n["what"], n["evidence"]) for n in answer.get("corrections") or []]


class Log:
    """What the witnesses of a policy hold: the picks among the leaves of a checkpoint. Bytes that do not fit are not checked."""

    def __init__(self, policy, note, leaves, required, named=False, other=None):
        """named: the policy is the server's own word. Its witnesses are then no parties, and their quorum covers nothing.

        other: a second checkpoint of the log. Where the two are not of one history, forked says so.
        """
        self.forked = None
        self.newest, self.leaves = self, leaves
        self.policy, self.required, self.named = Policy(policy), required, named
        self.hashes, self.fault, self.times, self.broken, self.notes, self.fits, self.sealed = [], False, {}, {}, [], False, False
        self.late, self.last = [], None
        try:
            origin, size, root, cosigned = open_note(note, self.policy)
            if other:
                self.forked = fork_of((origin, size, root), open_note(other, self.policy)[:3], leaves)
                if self.forked:
                    return
            if size != len(leaves) or root_of(leaves) != root:
                raise NotChecked("the leaves are not those of the checkpoint")
        except NotChecked:
            return
        self.times, self.fits = cosigned, True
        for leaf in leaves:
            kind, found = parsed(leaf)
            if kind != "pick" or self.fault:
                continue
            if found and found[1] == str(len(self.hashes) + 1) and hashlib.sha256(found[2].encode()).hexdigest() == found[3]:
                self.hashes.append(found[3])
            else:
                self.fault = True
        self.broken, self.late, self.last = broken_seals(leaves)
        self.notes = notes_of(leaves)
        self.sealed = any(leaf.startswith(b"tidemark/seal/v1\n") for leaf in leaves)

    def contradicts(self, hashes):
        newest = self.newest  # the newest size, where it has more leaves than the one that is cosigned
        return newest.fault or newest.hashes != hashes[:len(newest.hashes)]

    def added(self, answer):
        """Returns the days without a pick and the corrections that an answer shows, and that the log does not have."""
        return [note for note in shown_notes(answer) if note not in self.newest.notes] if self.newest.fits else []

    def ahead(self, now):
        """Returns the number and the time of a leaf whose time has not come, None without one: the log states a false time."""
        last = self.newest.last
        return last if last and last[1] > now + CLOCKS else None

    def hidden(self, answer):
        """Returns the days without a pick and the corrections of the log that an answer does not show."""
        return [note for note in self.newest.notes if note not in shown_notes(answer)]

    def fresh(self, now):
        """Returns the witnesses that cosigned lately."""
        return {w for w, at in self.times.items() if self.hashes and now - QUORUM_FRESH <= at <= now + AHEAD}


def fork_of(one, other, leaves):
    """Says how two signed checkpoints of one log contradict each other, None where they do not.

    Leaves with the root of the larger one fix the root of each smaller size. Where they have it not, they accuse who carried them.
    """
    (origin, small, small_root), (of, large, large_root) = sorted((one, other), key=lambda c: c[1])
    if origin != of:
        return None
    if small == large:
        forked = small_root != large_root
    else:
        forked = large <= len(leaves) and root_of(leaves[:large]) == large_root and root_of(leaves[:small]) != small_root
    if not forked:
        return None
    roots = [base64.b64encode(root).decode() for root in (small_root, large_root)]
    return (f"{origin} signed two checkpoints that are not of one history: of {small} leaves with the root {roots[0]}, "
            f"and of {large} leaves with the root {roots[1]}")


def is_day(text):
    try:
        return bool(DATE.fullmatch(text)) and bool(datetime.strptime(text, "%Y-%m-%d"))
    except ValueError:
        return False


class SealedDay:
    """What the leaves say about the sealed pick of a day."""

    def __init__(self):
        self.seal = self.reveal = self.commitment = self.reveal_by = self.shown = self.picked = self.fault = None
        self.unbounded = self.late = False

    def blame(self, fault):
        worse = [None, "missing", "unsealed", "doubled", "wrong"]
        self.fault = max(self.fault, fault, key=worse.index)

    def compare(self):
        if self.shown is not None and self.picked is not None and self.shown != self.picked:
            self.blame("wrong")


def broken_seals(leaves):
    """Returns the days whose leaves prove that the promise of a seal was broken, each with its fault; the days that were revealed late; and
    the number and the time of the leaf of the latest time, None without one.

    A late reveal is not among them. Neither is a missing one while the log has no leaf of a time after its reveal_by. That one is less than
    48 hours after its day begins. A leaf of a record that is not in its form is a fault, too, under its number.
    """
    days, begin, newest, last, misshapen = {}, "", "", None, {}
    for index, leaf in enumerate(leaves):
        kind, found = parsed(leaf)
        if not found:
            if kind:
                misshapen[f"leaf {index}"] = "not in its form"
            continue
        if found[found.re.groups] > newest:
            newest = found[found.re.groups]
            last = index, second_of(newest).replace(tzinfo=timezone.utc)
        of = {"seal": 1, "reveal": 2}.get(kind)
        about = found[of][5:] if of and found[of].startswith("pick ") and is_day(found[of][5:]) else None
        if kind == "genesis" and is_day(found[1]):
            begin = found[1]
        elif kind == "seal" and about:
            begin = begin or about
            day = days.setdefault(about, SealedDay())
            if day.seal is None:
                day.seal, day.commitment, day.reveal_by = index, found[2], found[3]
                if second_of(found[3]) - datetime.fromisoformat(about) >= MOST_REVEAL:
                    day.unbounded = True
                    day.blame("wrong")
            else:
                day.blame("doubled")
        elif kind == "reveal" and about:
            day = days.setdefault(about, SealedDay())
            if day.reveal is not None:
                day.blame("doubled")
                continue
            day.reveal, day.shown = index, base64_of(found[4])
            day.late = day.reveal_by is not None and found[5] > day.reveal_by
            opened = hashlib.sha256(b"tidemark/seal/v1\n" + bytes.fromhex(found[3]) + day.shown).hexdigest()
            if day.seal is None or found[1] != str(day.seal) or opened != day.commitment:
                day.blame("wrong")
            day.compare()
        elif kind == "pick":
            parts = found[2].split("|")
            if len(parts) != 4 or not is_day(parts[2]) or not begin or parts[2] < begin:
                continue
            day = days.setdefault(parts[2], SealedDay())
            day.picked = found[2].encode()
            if day.seal is None:
                day.blame("unsealed")
            day.compare()
    for day in days.values():
        if day.seal is not None and day.reveal is None and newest > day.reveal_by:
            day.blame("missing")
    broken = misshapen | {date: f"{day.fault}: it may be revealed until {day.reveal_by}" if day.unbounded else day.fault
                          for date, day in sorted(days.items()) if day.fault}
    return broken, [date for date, day in sorted(days.items()) if day.late and not day.fault], last


def notes_of(leaves):
    """Returns the days without a pick and the corrections among leaves."""
    out = []
    for leaf in leaves:
        kind, found = parsed(leaf)
        if kind == "gap" and found:
            out.append((found[1], found[2]))
        elif kind == "correction" and found:
            out.append((found[4], int(found[1]), found[2], found[3]))
    return out


def unlogged(answer, log):
    """Returns the number of the first pick that is not among the leaves of a log that was read, 0 where all are."""
    held = len(log.newest.hashes) if log is not None and log.newest.fits else len(answer["picks"])
    return held + 1 if held < len(answer["picks"]) else 0


def judge(answer, witnesses, policy, log=None):
    """Returns the verdict, the number of the first pick at fault, the length that fresh witnesses hold, and k and n of "k of n"."""
    picks, now = answer["picks"], instant(policy["now"])
    hashes, fault = recompute(picks)
    head = hashes[-1] if hashes else "0" * 64
    claims_hold = answer["chain_length"] == len(picks) and (answer["head_hash"] or "0" * 64) == head
    claims_hold = claims_hold and (fault or against_calendar(picks, answer.get("gaps") or [], now) is None)
    admitted = any(f["contradicts"] for f in (answer.get("seals") or {}).get("faults", []))

    def is_fresh(at):
        return now - FRESH <= at <= now + CLOCKS

    def is_recent(pick):
        return is_fresh(last_of(pick["date"], now))

    parties, against, fresh, covered = set(), set(), set(), 0
    for witness in witnesses:
        party, differs = party_of(witness), disagrees(witness, picks, hashes, policy.get("attester"))
        if witness.get("named") or witness.get("kept") and not differs and witness["length"] == len(picks):
            admitted = admitted or differs  # whom the server names, and a copy of the head that it shows, can contradict and vouch for nothing
            continue
        parties.add(party)
        if differs:
            against.add(party)
            continue
        at = witness.get("at")
        if is_fresh(instant(at) if at else last_of(picks[witness["length"] - 1]["date"], now)):
            fresh.add(party)
            covered = max(covered, witness["length"])
    cosigned, quorum, logged = set(), False, False
    clock = max(now, instant(policy.get("clock") or policy["now"]))
    if log is not None:
        parties.update(("cosigner", label) for label in log.policy.witnesses if not log.named)
        logged = log.contradicts(hashes)
        admitted = admitted or bool(log.newest.forked) or bool(log.newest.broken) or bool(log.hidden(answer)) or log.ahead(clock) is not None
        if not logged:
            cosigned = log.fresh(instant(policy.get("clock") or policy["now"]).timestamp())
            quorum = bool(cosigned) and log.policy.quorum != "none" and log.policy.is_met(cosigned)
        if quorum and not log.named:
            covered = max(covered, len(log.hashes))
    hidden = log is None and bool((answer.get("seals") or {}).get("since"))
    verdict = "self_consistent"
    if fault or not claims_hold or admitted or against or logged:
        verdict = "contradicted"
    elif covered and not hidden and not unlogged(answer, log) and not (log and log.added(answer)) and (quorum or log is None or not log.required) and (covered == len(picks) or is_recent(picks[covered]) and is_recent(picks[-1])):
        verdict = "witnessed"
    counted = set() if log is not None and log.named else cosigned
    return verdict, fault, covered, [len(fresh - against) + len(counted), len(parties)]


# --- proofs of the log: RFC 6962's tree, signed notes, cosignature/v1, tlog-proof and tlog-policy of C2SP ---

QUORUM_FRESH = 26 * 3600
AHEAD = 5 * 60
MOST_REVEAL = timedelta(hours=48)
INSTANT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z"
HASH, VALUE = "[0-9a-f]{64}", "[^\n]+"


def leaf_form(kind, *lines):
    return re.compile(f"tidemark/{kind}/v1\n" + "".join(f"{line}\n" for line in lines) + f"at ({INSTANT})\n", re.ASCII)


DECIMAL = r"-?[0-9]{1,20}(?:\.[0-9]{1,40})?(?:e[+-]?[0-9]{1,2})?"
# The kinds of a record.
LEAVES = {
    "genesis": leaf_form("genesis", f"origin {VALUE}", "environment (?:live|demo)", "chain_length [0-9]+", f"chain_head {HASH}", f"ledger_commit {VALUE}",
                         f"sealing_from ({VALUE})"),
    "seal": leaf_form("seal", f"about ({VALUE})", f"commitment ({HASH})", f"method {VALUE}", f"reveal_by ({INSTANT})"),
    "reveal": leaf_form("reveal", "seal ([0-9]+)", f"about ({VALUE})", f"salt ({HASH})", f"content ({VALUE})"),
    "pick": leaf_form("pick", "seq ([0-9]+)", f"preimage ({VALUE})", f"hash ({HASH})"),
    "gap": leaf_form("gap", f"date ({VALUE})", f"reason ({VALUE})"),
    "correction": leaf_form("correction", "seq ([0-9]+)", f"what ({VALUE})", f"evidence ({VALUE})", f"date ({VALUE})"),
    "forecast": leaf_form("forecast", "seq [0-9]+", f"id {VALUE}", f"release_at {INSTANT}", *(f"{key} {DECIMAL}" for key in ("value", "lo", "hi", "level")),
                          f"method {VALUE}", f"hash {HASH}"),
    "grade": leaf_form("grade", "seq [0-9]+", f"id {VALUE}", f"published_at {INSTANT}", f"value (?:none|{DECIMAL})", f"score {VALUE}", f"hash {HASH}"),
    "method": leaf_form("method", f"name {VALUE}", f"version {VALUE}", "status (?:tried|adopted|dropped)", f"sha256 {HASH}", f"note {VALUE}"),
    "sources": leaf_form("sources", "size [0-9]+", f"root {VALUE}"),
    "key": leaf_form("key", f"old {VALUE}", f"new {VALUE}", f"until {INSTANT}"),
    "dataset": leaf_form("dataset", f"date {VALUE}", f"as_of {INSTANT}", f"sha256 {HASH}", "files [0-9]+"),
}


def second_of(text):
    """Returns the second of an instant of a leaf, or raises ValueError."""
    return datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")


def is_instant(text):
    try:
        return bool(second_of(text))
    except ValueError:
        return False


def is_count(text):
    return bool(re.fullmatch("0|[1-9][0-9]{0,18}", text, re.ASCII)) and int(text) < 1 << 63


def is_base64(text):
    try:
        return bool(base64_of(text))
    except NotChecked:
        return False


VALUES = {"date": is_day, "content": is_base64, "root": lambda text: is_base64(text) and len(base64_of(text)) == 32}
VALUES |= dict.fromkeys(("chain_length", "seq", "seal", "size", "files"), is_count)
VALUES |= dict.fromkeys(("at", "reveal_by", "release_at", "published_at", "until", "as_of"), is_instant)


def parsed(leaf):
    """Returns the kind of a leaf, None for one that is not of a record, and its values, None where it is not in its form."""
    kind = next((k for k in LEAVES if leaf.startswith(f"tidemark/{k}/v1\n".encode())), None)
    try:
        text = leaf.decode("utf-8")
    except UnicodeDecodeError:
        return kind, None
    found = LEAVES[kind].fullmatch(text) if kind else None
    if not found or len(leaf) > 8192 or re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]", text):
        return kind, None
    values = [line.partition(" ")[::2] for line in text.split("\n")[1:-1]]
    return kind, found if all(VALUES.get(key, bool)(value) for key, value in values) else None


LOG_KEY, WITNESS_KEY = 1, 4

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


class NotChecked(Exception):
    """The bytes do not fit together. That accuses who carried them, and not the log."""


def x_of(y, sign):
    """Returns the x of a point of edwards25519, or None where there is none."""
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - xx) % P or (x == 0 and sign):
        return None
    return P - x if x & 1 != sign else x


def add(a, b):
    (x1, y1, z1, t1), (x2, y2, z2, t2) = a, b
    p, q = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    r, s = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = q - p, s - r, s + r, q + p
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    out = (0, 1, 1, 0)
    while n:
        if n & 1:
            out = add(out, point)
        point = add(point, point)
        n >>= 1
    return out


def decoded(raw):
    n = int.from_bytes(raw, "little")
    y, sign = n & (2**255 - 1), n >> 255
    x = x_of(y, sign) if y < P else None
    return None if x is None else (x, y, 1, x * y % P)


BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = (x_of(BASE_Y, 0), BASE_Y, 1, x_of(BASE_Y, 0) * BASE_Y % P)


def is_signed(public, message, signature):
    """Ed25519, as RFC 8032 has it."""
    key, r, s = decoded(public), decoded(signature[:32]), int.from_bytes(signature[32:], "little")
    if key is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % L
    left, right = times(s, BASE), add(r, times(h, key))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def base64_of(text):
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise NotChecked(f"{text[:40]!r} is not base64") from error
    if base64.b64encode(raw).decode() != text:
        raise NotChecked(f"{text[:40]!r} is not base64 in its one form")
    return raw


def number(text):
    if not re.fullmatch("0|[1-9][0-9]{0,18}", text, re.ASCII):
        raise NotChecked(f"{text[:40]!r} is not a number")
    return int(text)


def is_key_name(name):
    return name != "" and not re.search(r"[\s+\x85]", name)


def key_of(vkey, kind):
    """Returns the name, the id and the bytes of a public key."""
    name, _, rest = vkey.partition("+")
    stated, _, encoded = rest.partition("+")
    raw = base64_of(encoded)
    key_id = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
    if not is_key_name(name) or len(raw) != 33 or raw[0] != kind or stated != key_id.hex():
        raise NotChecked(f"{vkey[:60]!r} is not a key of the right type")
    return name, key_id, raw[1:]


class Policy:
    """The reader's keys, and how many witnesses count."""

    def __init__(self, text):
        self.logs, self.witnesses, self.groups, self.quorum = [], {}, {}, None
        for line in text.split("\n"):
            words = re.split("[ \t]+", line.strip(" \t"))
            if words[0] and not words[0].startswith("#") and re.search("[\0-\x1f\x7f]", "".join(words)):
                raise NotChecked("a line of the policy has a control character")
            if not words[0] or words[0].startswith("#"):
                continue
            if words[0] == "log" and len(words) in (2, 3):
                self.logs.append(key_of(words[1], LOG_KEY))
                if len({k[2] for k in self.logs}) < len(self.logs):
                    raise NotChecked("a key of the policy stands twice")
            elif words[0] == "witness" and len(words) in (3, 4):
                self.witnesses[self.fresh(words[1])] = key_of(words[2], WITNESS_KEY)
            elif words[0] == "group" and len(words) > 3:
                need = {"any": 1, "all": len(words) - 3}.get(words[2]) or number(words[2])
                if not 1 <= need <= len(words) - 3 or any(m not in self.witnesses and m not in self.groups for m in words[3:]):
                    raise NotChecked("a group of the policy cannot be met")
                if len(set(words[3:])) < len(words) - 3 or any(set(words[3:]) & set(g[1]) for g in self.groups.values()):
                    raise NotChecked("a member of the policy counts twice")
                self.groups[self.fresh(words[1])] = (need, words[3:])
            elif words[0] == "quorum" and len(words) == 2 and self.quorum is None and self.has(words[1]):
                self.quorum = words[1]
            else:
                raise NotChecked(f"the policy has the line {line[:60]!r}")
        if self.quorum is None:
            raise NotChecked("the policy has no quorum")
        if len({k[2] for k in self.witnesses.values()}) < len(self.witnesses):
            raise NotChecked("a key of the policy stands twice")

    def has(self, name):
        return name == "none" or name in self.witnesses or name in self.groups

    def fresh(self, name):
        if self.has(name):
            raise NotChecked(f"the policy has the name {name!r} twice")
        return name

    def is_met(self, cosigned, name=None):
        name = name or self.quorum
        if name in self.witnesses:
            return name in cosigned
        need, members = self.groups.get(name, (1, []))
        return sum(self.is_met(cosigned, m) for m in members) >= need


def open_note(note, policy):
    """Returns origin, size and root of a signed checkpoint, and the times of the policy's witnesses by their names."""
    body, found, signatures = note.rpartition("\n\n")
    body += "\n"
    lines = body.split("\n")
    if not found or len(lines) != 4 or not signatures.endswith("\n"):
        raise NotChecked("the checkpoint is not one")
    origin, size, root = lines[0], number(lines[1]), base64_of(lines[2])
    signed, times_of, seen = False, {}, set()
    logs = [k for k in policy.logs if k[0] == origin]
    if not logs:
        raise NotChecked(f"the policy names no log {origin!r}")
    if signatures.count("\n") > 100:
        raise NotChecked("the checkpoint has too many signatures")
    for line in signatures[:-1].split("\n"):
        dash, name, encoded = (line.split(" ") + ["", ""])[:3]
        raw = base64_of(encoded)
        if dash != "\u2014" or len(raw) < 5 or not is_key_name(name) or line.count(" ") != 2 or (name, raw[:4]) in seen:
            raise NotChecked(f"the line {line[:60]!r} is no signature, or a key signed twice")
        seen.add((name, raw[:4]))
        for log in logs:
            if (name, raw[:4]) == log[:2]:
                if len(raw) != 68 or not is_signed(log[2], body.encode(), raw[4:]):
                    raise NotChecked("the log's signature is bad")
                signed = True
        for label, witness in policy.witnesses.items():
            if (name, raw[:4]) == witness[:2]:
                at = int.from_bytes(raw[4:12], "big")
                if len(raw) != 76 or not 1 <= at <= 1 << 40 or not is_signed(witness[2], f"cosignature/v1\ntime {at}\n{body}".encode(), raw[12:]):
                    raise NotChecked(f"the signature of {name} is bad")
                times_of[label] = at
    if not signed or len(root) != 32:
        raise NotChecked("the log did not sign it")
    return origin, size, root, times_of


def root_from(index, size, leaf, hashes):
    """Returns the root that a leaf and its path make, as RFC 9162 (2.1.3.2) has it."""
    if index >= size:
        raise NotChecked(f"a log of {size} leaves has no leaf {index}")
    node, last, out = index, size - 1, hashlib.sha256(b"\0" + leaf).digest()
    for h in hashes:
        if last == 0:
            raise NotChecked("the proof is too long")
        if node & 1 or node == last:
            out = hashlib.sha256(b"\1" + h + out).digest()
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            out = hashlib.sha256(b"\1" + out + h).digest()
        node, last = node >> 1, last >> 1
    if last:
        raise NotChecked("the proof is too short")
    return out


def root_of(leaves):
    """Returns the root of a tree of leaves, as RFC 6962 has it."""
    if len(leaves) < 2:
        return hashlib.sha256(b"\0" + leaves[0] if leaves else b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root_of(leaves[:half]) + root_of(leaves[half:])).digest()


def check_proof(text, policy, now):
    """Returns the verdict on a .tlog-proof, and its leaf."""
    head, found, note = text.partition("\n\n")
    lines = head.split("\n")
    if not found or lines[0] != "c2sp.org/tlog-proof@v1":
        raise NotChecked("it is not a proof")
    if len(lines) < 3 or not lines[1].startswith("extra ") or not lines[2].startswith("index "):
        raise NotChecked("it does not have the leaf and its index")
    leaf, index = base64_of(lines[1][6:]), number(lines[2][6:])
    hashes = [base64_of(h) for h in lines[3:]]
    if len(hashes) > 63 or any(len(h) != 32 for h in hashes):
        raise NotChecked("its hashes are not hashes")
    _, size, root, times_of = open_note(note, policy)
    if root_from(index, size, leaf, hashes) != root:
        raise NotChecked(f"the leaf is not number {index} of the log")
    if any(at > now + AHEAD for at in times_of.values()):
        raise NotChecked("a witness cosigned in the future")
    fresh = {label for label, at in times_of.items() if at >= now - QUORUM_FRESH}
    is_witnessed = policy.quorum != "none" and policy.is_met(fresh)
    return ("witnessed" if is_witnessed else "self_consistent"), leaf


def read(path):
    with open(path, "rb") as file:
        text = file.read(1 << 16)
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotChecked("it is not text") from error


def main_proof(proof, policy):
    try:
        verdict, leaf = check_proof(read(proof), Policy(read(policy)), time.time())
    except NotChecked as error:
        print(f"not checked: {error}")
        return 2
    print(leaf.decode("utf-8", "replace"))
    print(verdict)
    return 0 if verdict == "witnessed" else 3


def get(url):
    with urllib.request.urlopen(url, timeout=60) as response:
        return response.read(1 << 28)


def read_leaves(url, size):
    """Returns the leaves of a log, from its bundles of 256."""
    leaves = []
    for n in range((size + 255) // 256):
        path, rest, width = f"{n % 1000:03}", n // 1000, size - 256 * n
        while rest:
            path, rest = f"x{rest % 1000:03}/{path}", rest // 1000
        bundle = get(f"{url}/log/tile/entries/{path}" + (f".p/{width}" if width < 256 else ""))
        while bundle:
            end = 2 + int.from_bytes(bundle[:2], "big")
            leaves.append(bundle[2:end])
            bundle = bundle[end:]
    return leaves


def named_policy(url):
    """Returns the policy that a server names: its log's key, its witnesses, and more than half of them. None where it names no log."""
    try:
        said = json.loads(get(url + "/api/v1/info"))["data"].get("log")
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return None
    if said is None:
        return None
    names = [w["name"] for w in said["witnesses"]]
    lines = [f'log {said["vkey"]}'] + [f'witness {w["name"]} {w["vkey"]}' for w in said["witnesses"]]
    quorum = [f"group half {len(names) // 2 + 1} " + " ".join(names), "quorum half"] if names else ["quorum none"]
    return "\n".join(lines + quorum) + "\n"


def read_log(url, rules, named):
    """Returns the log of a server. Where the newest size waits for its cosignatures, those of the newest witnessed size count."""
    policy = Policy(rules)
    try:
        witnessed = get(url + "/log/checkpoint.witnessed").decode("utf-8")
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        witnessed = None  # no size has a quorum
    newest = get(url + "/log/checkpoint").decode("utf-8")
    (_, whole, _, cosigned) = open_note(newest, policy)
    size = open_note(witnessed, policy)[1] if witnessed else 0
    out = Log(rules, newest, read_leaves(url, max(whole, size)), policy.quorum != "none", named, other=witnessed)
    if not out.fits and not out.forked:
        raise NotChecked("the leaves of the log are not those of its checkpoint")
    if not out.fits or not witnessed or policy.is_met({w for w, at in cosigned.items() if time.time() - QUORUM_FRESH <= at <= time.time() + AHEAD}):
        return out
    older = Log(rules, witnessed, out.leaves[:size], policy.quorum != "none", named)
    older.newest = out
    return older


def main_url(url, policy):
    """Judges the chain of a server, by the witnesses of the reader's policy, or else of the server's."""
    log, unread, rules = None, None, None
    if policy:
        try:
            rules = read(policy)
            Policy(rules)
        except NotChecked as error:
            print(f"the policy cannot be read: {error}")
            return 2
    try:
        rules = rules or named_policy(url)
        log = read_log(url, rules, not policy) if rules else None
    except (NotChecked, OSError, ValueError, KeyError, TypeError, AttributeError) as error:  # what the server names may be anything
        log, unread = Log(rules if policy else "quorum none", "", [], True, not policy), error  # nothing is witnessed then
    answer = json.loads(get(url + "/api/v1/verify/picks"))
    now = clock = datetime.now(timezone.utc)
    if answer.get("environment") == "demo" and not policy:
        now = instant(answer["verified_at"])  # a demonstration's own clock, where the reader states no requirement
    verdict, fault, covered, (k, n) = judge(answer, [], {"now": now.isoformat(), "clock": clock.isoformat()}, log)
    print(f"{verdict} ({k} of {n}): {len(answer['picks'])} picks, {covered} of them held by fresh witnesses"
          + (f", pick {fault} is at fault" if fault else ""))
    days = None if fault else against_calendar(answer["picks"], answer.get("gaps") or [], now)
    if days:
        print(f"the exchange's calendar: {days}")
    if verdict == "self_consistent" and unlogged(answer, log):
        print(f"pick {unlogged(answer, log)} is not in the signed log: nothing is witnessed until it is, a minute after an announcement")
    if unread:
        print(f"the log is not checked: {unread}")
    elif log and log.named:
        print("the log is read, and its key and witnesses are the server's word, so they count for nothing: --policy names yours")
    for day in log.newest.late if log else []:
        print(f"the sealed pick of {day} was revealed after its time")
    ahead = log.ahead(max(now, clock)) if log else None
    if ahead:
        print(f"leaf {ahead[0]} of the log is of {ahead[1]}, which has not come yet")
    if log and log.newest.sealed:
        print("time stamps (RFC 3161) beside the proofs of seals are not read here: tidemark verify --proof FILE --timestamp FILE reads one")
    if log and log.newest.forked:
        print(log.newest.forked)
    for note in log.added(answer) if log else []:
        print(f"the server shows what is not in the signed log, so nothing is witnessed: {note}")
    for note in log.hidden(answer) if log else []:
        print(f"the log, signed, has what the server does not show: {note}")
    for day, what in (log.newest.broken if log else {}).items():
        print(f"the log, signed: {day if ' ' in day else f'the sealed pick of {day}'} is {what}")
    return {"contradicted": 1, "witnessed": 0}.get(verdict, 3 if policy else 0)


def judge_cases(path):
    """Prints the outcome of every case of a file."""
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    names, outcomes = ("verdict", "fault", "covered", "parties"), []
    for case in cases:
        log = case.get("log")
        if log:
            log = Log(log["policy"], log["note"], [base64.b64decode(leaf) for leaf in log["leaves"]], log.get("required", False),
                      log.get("named", False), log.get("other"))
        outcomes.append(dict(zip(names, judge(case["answer"], case["witnesses"], case["policy"], log))))
    print(json.dumps(outcomes))
    return 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("cases", metavar="CASES", nargs="?")
    parser.add_argument("--url")
    parser.add_argument("--proof", metavar="FILE")
    parser.add_argument("--policy", metavar="FILE")
    given = parser.parse_args(arguments)
    if sum(x is not None for x in (given.cases, given.url, given.proof)) != 1:
        parser.error("give one of CASES, --url and --proof")
    if given.proof is not None and given.policy is None:
        parser.error("--proof needs --policy")
    if given.cases is not None and given.policy is not None:
        parser.error("--policy does not go with CASES")
    if given.cases is not None:
        return judge_cases(given.cases)
    try:
        return main_url(given.url.rstrip("/"), given.policy) if given.url is not None else main_proof(given.proof, given.policy)
    except (OSError, ValueError) as error:  # no server, no file, or an answer that is no JSON
        print(f"not checked: {error}")
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
