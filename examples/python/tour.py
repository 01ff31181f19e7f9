"""A tour of the service with the standard library: signals, the hash chain recomputed, a free key, picks."""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request

BASE = os.environ.get("TIDEMARK_URL", "http://127.0.0.1:8080")
GENESIS = "0" * 64


def call(path, key=None, body=None, method=None):
    """Return the JSON at a path; an error is the problem document that the server answers with."""
    request = urllib.request.Request(BASE + path, method=method)
    if key:
        request.add_header("Authorization", "Bearer " + key)
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            text = response.read()
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        raise RuntimeError(f"{problem['code']}: {problem['detail']}") from error
    return json.loads(text) if text else None


def verify(record):
    """Recompute every link of the chain, believing nothing of the answer but the four values that were hashed."""
    previous = GENESIS
    for pick in record["picks"]:
        preimage = "|".join([pick["ticker"], pick["price"], pick["date"], previous])
        if pick["previous_hash"] != previous or hashlib.sha256(preimage.encode()).hexdigest() != pick["hash"]:
            sys.exit(f"the chain is broken at pick {pick['seq']}")
        previous = pick["hash"]
    return previous


def main():
    for signal in call("/api/signals")["signals"]:
        z = signal["z_score"]
        print(f"{signal['id']}: {signal['value']} {signal['unit']}, z {'unknown' if z is None else format(z, '.2f')}")

    record = call("/api/v1/verify/picks")
    head = verify(record)
    if head != record["head_hash"]:
        sys.exit("the head of the chain is another one than the server says")
    print(f"{len(record['picks'])} picks recomputed, the chain holds; head {head[:12]}")

    key = call("/api/v1/auth/register", body={"name": "python tour"})["data"]["api_key"]
    for pick in call("/api/v1/picks?limit=3", key)["data"]:
        returned = pick["return_pct"]
        print(f"{pick['date']} {pick['ticker']} at {pick['price']}: {'unknown' if returned is None else format(returned, '+.2f')} %")
    research = call(f"/api/v1/research/{record['picks'][-1]['ticker']}?lang=es", key)["data"]
    print(research["summary_why"])
    try:
        call("/api/v1/research/NOSUCH", key)
    except RuntimeError as error:
        print(error)
    call("/api/v1/keys/current", key, method="DELETE")


if __name__ == "__main__":
    main()
