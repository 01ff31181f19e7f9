#!/usr/bin/env python3
"""An independent verifier of a chain of picks. It shares no code with Tidemark and needs Python alone.

    verify.py CASES          every case of a file like chain/testdata/verdicts.json, one line each: name, verdict, fault, covered
    verify.py --url URL      the chain of a server, recomputed; no witness is asked, so at best it is self-consistent
"""
import hashlib
import json
import re
import sys
import urllib.request
from datetime import datetime, timedelta, timezone

FRESH = timedelta(hours=120)
TICKER = re.compile(r"[A-Z0-9]+([.-][A-Z0-9]+)*", re.ASCII)
PRICE = re.compile(r"(0|[1-9][0-9]{0,11})\.[0-9]{2,4}", re.ASCII)


def instant(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def end_of(day):
    return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc) + timedelta(hours=23, minutes=59, seconds=59)


def is_well_formed(pick):
    try:
        end_of(pick["date"])
    except ValueError:
        return False
    price_is_good = PRICE.fullmatch(pick["price"]) and pick["price"].strip("0.") != ""
    return bool(TICKER.fullmatch(pick["ticker"]) and len(pick["ticker"]) <= 16 and price_is_good and len(pick["date"]) == 10)


def recompute(picks):
    """Returns the hash of each pick, made from the recomputed hash before it, and the number of the first pick at fault or None."""
    hashes, fault = [], None
    for n, pick in enumerate(picks, start=1):
        before = hashes[-1] if hashes else "0" * 64
        text = f'{pick["ticker"]}|{pick["price"]}|{pick["date"]}|{before}'
        hashes.append(hashlib.sha256(text.encode("utf-8")).hexdigest())
        follows = pick["seq"] == n and (n == 1 or pick["date"] > picks[n - 2]["date"])
        linked = pick["previous_hash"] == before and pick["hash"] == hashes[-1]
        if fault is None and not (follows and linked and is_well_formed(pick)):
            fault = n
    return hashes, fault


def disagrees(witness, picks, hashes, expected):
    n = witness["length"]
    account = witness.get("attester")
    if expected and account and expected.lower() != account.lower():
        return True
    if n > len(hashes) or hashes[n - 1] != witness["head"]:
        return True
    return witness.get("date", picks[n - 1]["date"]) != picks[n - 1]["date"]


def judge(answer, witnesses, policy):
    picks = answer["picks"]
    hashes, fault = recompute(picks)
    head = hashes[-1] if hashes else "0" * 64
    claims_hold = answer["chain_length"] == len(picks) and answer["head_hash"] == head
    good = [w for w in witnesses if not disagrees(w, picks, hashes, policy.get("attester"))]
    covered = max((w["length"] for w in good), default=0)
    if fault or not claims_hold or len(good) < len(witnesses):
        return "contradicted", fault, covered
    oldest = instant(policy["now"]) - FRESH
    times = [instant(w["at"]) if "at" in w else end_of(picks[w["length"] - 1]["date"]) for w in good]
    is_fresh = bool(times) and max(times) >= oldest
    rest_is_new = covered == len(picks) or end_of(picks[covered]["date"]) >= oldest
    return ("witnessed" if covered and is_fresh and rest_is_new else "self_consistent"), fault, covered


def main(arguments):
    if arguments[:1] == ["--url"]:
        with urllib.request.urlopen(arguments[1].rstrip("/") + "/api/v1/verify/picks", timeout=60) as response:
            answer = json.load(response)
        verdict, fault, _ = judge(answer, [], {"now": datetime.now(timezone.utc).isoformat()})
        print(f"{verdict}: {len(answer['picks'])} picks" + (f", pick {fault} is at fault" if fault else ""))
        return 1 if verdict == "contradicted" else 0
    with open(arguments[0], encoding="utf-8") as file:
        cases = json.load(file)
    print(json.dumps([dict(zip(("verdict", "fault", "covered"), judge(c["answer"], c["witnesses"], c["policy"]))) for c in cases]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
