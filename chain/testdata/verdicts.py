#!/usr/bin/env python3
"""Makes verdicts.json: chains as servers show them, what witnesses hold of them, and the verdict that every verifier must reach.

The Go verifier, the script of the page /verify and the independent verifier examples/python/verify.py are held to the same file. It uses
nothing of any of them.  Run: python3 chain/testdata/verdicts.py > chain/testdata/verdicts.json
"""
import hashlib
import json

GENESIS = "0" * 64
ATTESTER = "0x1111111111111111111111111111111111111111"
STRANGER = "0x2222222222222222222222222222222222222222"
VALUES = [
    ("AAPL", "243.85", "2025-01-02"), ("MSFT", "423.35", "2025-01-03"), ("BRK.B", "451.1000", "2025-01-06"),
    ("F", "9.96", "2025-01-07"), ("NVDA", "140.115", "2025-01-08"), ("SIRI", "22.10", "2025-01-10"),
    ("KO", "62.00", "2025-01-13"), ("T", "21.87", "2025-01-14"), ("AAPL", "237.87", "2025-01-15"), ("XOM", "111.20", "2025-01-16"),
]
NOW = "2025-01-17T01:00:00Z"


def chain(values):
    out, previous = [], GENESIS
    for seq, (ticker, price, date) in enumerate(values, 1):
        digest = hashlib.sha256("|".join([ticker, price, date, previous]).encode()).hexdigest()
        out.append({"seq": seq, "ticker": ticker, "price": price, "date": date, "previous_hash": previous, "hash": digest})
        previous = digest
    return out


def answer(picks, **claims):
    return {"chain_length": len(picks), "head_hash": picks[-1]["hash"] if picks else GENESIS, "picks": picks} | claims


def attested(picks, length, attester=ATTESTER, at=None, **members):
    p = picks[length - 1]
    at = at or p["date"] + "T23:30:00Z"
    return {"witness": "attestation", "length": length, "head": p["hash"], "date": p["date"], "attester": attester, "at": at} | members


def last(**values):
    """The chain whose last pick has other values."""
    ticker, price, date = VALUES[-1]
    return chain(VALUES[:-1] + [(values.get("ticker", ticker), values.get("price", price), values.get("date", date))])


def late(picks):
    return [attested(picks, 10, at="2025-01-16T23:30:00Z")]


def kept(picks, length):
    return {"witness": "checkpoint", "length": length, "head": picks[length - 1]["hash"]}


def edited(picks, seq, **members):
    return [dict(p, **members) if p["seq"] == seq else dict(p) for p in picks]


def failed(fault, contradicts):
    return {"faults": [{"date": "2025-01-09", "fault": fault, "contradicts": contradicts}]}


good = chain(VALUES)
all_good = [attested(good, n) for n in (2, 5, 8, 10)]
dearer = [(t, "999.99" if i == 2 else p, d) for i, (t, p, d) in enumerate(VALUES)]
rewritten = chain(dearer)
other = chain([("IBM", p, d) for _, p, d in VALUES])
swapped = [good[i] for i in (0, 1, 2, 4, 3, 5, 6, 7, 8, 9)]
cut = good[:6]

cases = [
    # name, answer, witnesses, policy, verdict, seq of the first fault; where there is none, the length that fresh witnesses cover, and k and n
    # of "k of n parties"
    ("good", answer(good), all_good, {}, "witnessed", None, 10, (1, 1)),
    ("good, attester expected in other letters", answer(good), all_good, {"attester": ATTESTER.upper().replace("X", "x")}, "witnessed", None, 10, (1, 1)),
    ("good, the newest pick is not attested yet", answer(good), all_good[:3], {}, "witnessed", None, 8, (1, 1)),
    ("good, nobody was asked", answer(good), [], {}, "self_consistent", None, 0, (0, 0)),
    ("good, a checkpoint kept today", answer(good), [kept(good, 10)], {}, "witnessed", None, 10, (1, 1)),
    ("good, a checkpoint kept long ago", answer(good), [kept(good, 3)], {}, "self_consistent", None, 0, (0, 1)),
    ("empty", answer([]), [], {}, "self_consistent", None, 0, (0, 0)),
    ("edited", answer(edited(good, 3, price="999.99")), all_good, {}, "contradicted", 3, None, None),
    ("edited, nobody was asked", answer(edited(good, 3, price="999.99")), [], {}, "contradicted", 3, None, None),
    ("edited with a hash of its own", answer(edited(good, 3, price="999.99", hash=rewritten[2]["hash"])), all_good, {}, "contradicted", 4, None, None),
    ("a link to another pick", answer(edited(good, 6, previous_hash=good[3]["hash"])), all_good, {}, "contradicted", 6, None, None),
    ("a price in another form", answer(chain([(t, "9.9" if t == "F" else p, d) for t, p, d in VALUES])), [], {}, "contradicted", 4, None, None),
    ("rewritten from pick 3", answer(rewritten), all_good, {}, "contradicted", None, 0, (0, 1)),
    ("rewritten from pick 3, nobody was asked", answer(rewritten), [], {}, "self_consistent", None, 0, (0, 0)),
    ("rewritten from the start", answer(other), all_good, {}, "contradicted", None, 0, (0, 1)),
    ("rewritten, and a reader kept a checkpoint", answer(rewritten), [kept(good, 5)], {}, "contradicted", None, 0, (0, 1)),
    ("rewritten and attested anew by a stranger", answer(other), [attested(other, 10, STRANGER)], {"attester": ATTESTER}, "contradicted", None, 0, (0, 1)),
    ("cut", answer(cut), all_good, {}, "contradicted", None, 0, (0, 1)),
    ("cut, and only old attestations are shown", answer(cut), all_good[:2], {}, "self_consistent", None, 0, (0, 1)),
    ("cut, and the server still claims ten", answer(cut, chain_length=10, head_hash=good[9]["hash"]), [], {}, "contradicted", None, 0, (0, 0)),
    ("reordered", answer(swapped), all_good, {}, "contradicted", 4, None, None),
    ("forked: two witnesses hold different chains", answer(good), [attested(good, 10), attested(rewritten, 8)], {}, "contradicted", None, 10, (0, 1)),
    ("stale: no witness for ten days", answer(good), all_good, {"now": "2025-01-27T12:00:00Z"}, "self_consistent", None, 0, (0, 1)),
    ("stale: picks without a witness for six days", answer(good), [attested(good, 5, at="2025-01-16T23:30:00Z")], {}, "self_consistent", None, 5, (1, 1)),
    ("wrong attester", answer(good), [attested(good, 10, STRANGER)], {"attester": ATTESTER}, "contradicted", None, 0, (0, 1)),
    ("a sealed pick was not revealed, and the log went on", answer(good, seals=failed("missing", True)), all_good, {}, "contradicted", None, 10, (1, 1)),
    ("a sealed pick was not revealed, and the log stands still", answer(good, seals=failed("missing", False)), all_good, {}, "witnessed", None, 10, (1, 1)),
    ("a reveal came late", answer(good, seals=failed("late", False)), all_good, {}, "witnessed", None, 10, (1, 1)),
    ("another date", answer(good), [attested(good, 10, date="2025-01-17")], {}, "contradicted", None, 0, (0, 1)),
    ("empty, and the server says that its head is null", answer([], head_hash=None), [], {}, "self_consistent", None, 0, (0, 0)),
    ("ten picks, and the server says that its head is null", answer(good, head_hash=None), [], {}, "contradicted", None, 0, (0, 0)),
    ("a day that the calendar has not, attested", answer(last(date="2025-02-30")), late(last(date="2025-02-30")), {}, "contradicted", 10, None, None),
    ("a month that the calendar has not, attested", answer(last(date="2025-13-01")), late(last(date="2025-13-01")), {}, "contradicted", 10, None, None),
    ("29 February of a common year", answer(last(date="2025-02-29")), [], {}, "contradicted", 10, None, None),
    ("29 February of a leap year", answer(chain([("KO", "62.00", "2024-02-29")])), [], {}, "self_consistent", None, 0, (0, 0)),
    ("29 February 1900", answer(chain([("KO", "62.00", "1900-02-29")])), [], {}, "contradicted", 1, None, None),
    ("the year 0", answer(chain([("KO", "62.00", "0000-01-01")])), [], {}, "contradicted", 1, None, None),
    ("the last day of years with four digits", answer(chain([("KO", "62.00", "9999-12-31")])), [], {}, "self_consistent", None, 0, (0, 0)),
    ("full-width digits in a date, attested", answer(last(date="\uff12\uff10\uff12\uff15-01-16")), late(last(date="\uff12\uff10\uff12\uff15-01-16")), {},
     "contradicted", 10, None, None),
    ("a full-width digit at the end of a date", answer(last(date="2025-01-1\uff16")), late(last(date="2025-01-1\uff16")), {}, "contradicted", 10, None, None),
    ("a price of 13 digits", answer(last(price="1234567890123.00")), [], {}, "contradicted", 10, None, None),
    ("a price of 12 digits", answer(last(price="123456789012.00")), [], {}, "self_consistent", None, 0, (0, 0)),
    ("two dots within a ticker", answer(last(ticker="A..B")), [], {}, "self_consistent", None, 0, (0, 0)),
    ("a dot and a hyphen within a ticker", answer(last(ticker="A.-B")), [], {}, "self_consistent", None, 0, (0, 0)),
    ("a dot at the end of a ticker", answer(last(ticker="A.")), [], {}, "contradicted", 10, None, None),
    ("17 letters in a ticker", answer(last(ticker="A" * 17)), [], {}, "contradicted", 10, None, None),
    ("a line end in a ticker", answer(last(ticker="XOM\n")), [], {}, "contradicted", 10, None, None),
    ("a witness of no known date", answer(good), [attested(good, 10, date="")], {}, "witnessed", None, 10, (1, 1)),
    ("a witness of no pick", answer(good), [kept(good, 10) | {"length": 0}], {}, "contradicted", None, 0, (0, 1)),
    ("a witness of a negative number of picks", answer(good), [kept(good, 10) | {"length": -1}], {}, "contradicted", None, 0, (0, 1)),
    ("empty, and a witness of no pick", answer([]), [{"witness": "checkpoint", "length": 0, "head": GENESIS}], {}, "contradicted", None, 0, (0, 1)),
    ("one attestation three times is one party", answer(good), [attested(good, 10)] * 3, {}, "witnessed", None, 10, (1, 1)),
    ("an account and a checkpoint are two parties", answer(good), all_good + [kept(good, 10)], {}, "witnessed", None, 10, (2, 2)),
    ("two accounts are two parties", answer(good), [attested(good, 10), attested(good, 9, STRANGER)], {}, "witnessed", None, 10, (2, 2)),
    ("one of two parties is stale", answer(good), [attested(good, 10), attested(good, 2, STRANGER)], {}, "witnessed", None, 10, (1, 2)),
    ("one of two parties holds something else", answer(good), [attested(good, 10), attested(rewritten, 10, STRANGER)], {}, "contradicted", None, 10, (1, 2)),
    ("an old witness of ten picks, and a new one of the first", answer(good),
     [attested(good, 10, at="2020-01-01T00:00:00Z"), attested(good, 1, at="2025-01-16T23:00:00Z")], {}, "self_consistent", None, 1, (1, 1)),
    ("a witness of the future", answer(good), [attested(good, 10, at="2030-01-01T00:00:00Z")], {}, "self_consistent", None, 0, (0, 1)),
    ("a witness whose clock is four minutes ahead", answer(good), [attested(good, 10, at="2025-01-17T01:04:00Z")], {}, "witnessed", None, 10, (1, 1)),
    ("a witness whose clock is six minutes ahead", answer(good), [attested(good, 10, at="2025-01-17T01:06:00Z")], {}, "self_consistent", None, 0, (0, 1)),
    ("a checkpoint kept on the evening of the last pick", answer(good), [kept(good, 10)], {"now": "2025-01-16T23:05:00Z"}, "witnessed", None, 10, (1, 1)),
    ("a checkpoint of a pick that is dated ahead", answer(last(date="2025-02-03")), [kept(last(date="2025-02-03"), 10)], {},
     "self_consistent", None, 0, (0, 1)),
    ("a pick without a witness that is dated ahead", answer(last(date="2025-02-03")), [attested(good, 9)], {}, "self_consistent", None, 9, (1, 1)),
    ("exactly 120 hours old", answer(good), [attested(good, 10, at="2025-01-12T01:00:00Z")], {}, "witnessed", None, 10, (1, 1)),
    ("a second more than 120 hours old", answer(good), [attested(good, 10, at="2025-01-12T00:59:59Z")], {}, "self_consistent", None, 0, (0, 1)),
]

if __name__ == "__main__":
    print(json.dumps([
        {"name": name, "answer": a, "witnesses": w, "policy": {"attester": None, "now": NOW} | policy,
         "want": {"verdict": verdict, "fault": fault, "covered": None if fault else covered, "parties": None if fault else parties}}
        for name, a, w, policy, verdict, fault, covered, parties in cases
    ], indent=1))
