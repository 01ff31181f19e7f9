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
    # name, answer, witnesses, policy, verdict, seq of the first fault, length that witnesses cover (where there is no fault)
    ("good", answer(good), all_good, {}, "witnessed", None, 10),
    ("good, attester expected in other letters", answer(good), all_good, {"attester": ATTESTER.upper().replace("X", "x")}, "witnessed", None, 10),
    ("good, the newest pick is not attested yet", answer(good), all_good[:3], {}, "witnessed", None, 8),
    ("good, nobody was asked", answer(good), [], {}, "self_consistent", None, 0),
    ("good, a checkpoint kept today", answer(good), [kept(good, 10)], {}, "witnessed", None, 10),
    ("good, a checkpoint kept long ago", answer(good), [kept(good, 3)], {}, "self_consistent", None, 3),
    ("empty", answer([]), [], {}, "self_consistent", None, 0),
    ("edited", answer(edited(good, 3, price="999.99")), all_good, {}, "contradicted", 3, 2),
    ("edited, nobody was asked", answer(edited(good, 3, price="999.99")), [], {}, "contradicted", 3, 0),
    ("edited with a hash of its own", answer(edited(good, 3, price="999.99", hash=rewritten[2]["hash"])), all_good, {}, "contradicted", 4, 2),
    ("a link to another pick", answer(edited(good, 6, previous_hash=good[3]["hash"])), all_good, {}, "contradicted", 6, 10),
    ("a price in another form", answer(chain([(t, "9.9" if t == "F" else p, d) for t, p, d in VALUES])), [], {}, "contradicted", 4, 0),
    ("rewritten from pick 3", answer(rewritten), all_good, {}, "contradicted", None, 2),
    ("rewritten from pick 3, nobody was asked", answer(rewritten), [], {}, "self_consistent", None, 0),
    ("rewritten from the start", answer(other), all_good, {}, "contradicted", None, 0),
    ("rewritten, and a reader kept a checkpoint", answer(rewritten), [kept(good, 5)], {}, "contradicted", None, 0),
    ("rewritten and attested anew by a stranger", answer(other), [attested(other, 10, STRANGER)], {"attester": ATTESTER}, "contradicted", None, 0),
    ("cut", answer(cut), all_good, {}, "contradicted", None, 5),
    ("cut, and only old attestations are shown", answer(cut), all_good[:2], {}, "self_consistent", None, 5),
    ("cut, and the server still claims ten", answer(cut, chain_length=10, head_hash=good[9]["hash"]), [], {}, "contradicted", None, 0),
    ("reordered", answer(swapped), all_good, {}, "contradicted", 4, 2),
    ("forked: two witnesses hold different chains", answer(good), [attested(good, 10), attested(rewritten, 8)], {}, "contradicted", None, 10),
    ("stale: no witness for ten days", answer(good), all_good, {"now": "2025-01-27T12:00:00Z"}, "self_consistent", None, 10),
    ("stale: picks without a witness for six days", answer(good), [attested(good, 5, at="2025-01-16T23:30:00Z")], {}, "self_consistent", None, 5),
    ("wrong attester", answer(good), [attested(good, 10, STRANGER)], {"attester": ATTESTER}, "contradicted", None, 0),
    ("a sealed pick was not revealed, and the log went on", answer(good, seals=failed("missing", True)), all_good, {}, "contradicted", None, 10),
    ("a sealed pick was not revealed, and the log stands still", answer(good, seals=failed("missing", False)), all_good, {}, "witnessed", None, 10),
    ("a reveal came late", answer(good, seals=failed("late", False)), all_good, {}, "witnessed", None, 10),
    ("another date", answer(good), [attested(good, 10, date="2025-01-17")], {}, "contradicted", None, 0),
]

if __name__ == "__main__":
    print(json.dumps([
        {"name": name, "answer": a, "witnesses": w, "policy": {"attester": None, "now": NOW} | policy,
         "want": {"verdict": verdict, "fault": fault, "covered": None if fault else covered}}
        for name, a, w, policy, verdict, fault, covered in cases
    ], indent=1))
