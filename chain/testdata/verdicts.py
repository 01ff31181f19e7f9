#!/usr/bin/env python3
"""Makes verdicts.json: chains as servers show them, what witnesses hold of them, and the verdict that every verifier must reach.

The Go verifier, the script of the page /verify and the independent verifier examples/python/verify.py are held to the same file. It uses
nothing of any of them.  Run: python3 chain/testdata/verdicts.py > chain/testdata/verdicts.json
"""
import base64
import hashlib
import json
from datetime import date, datetime, timedelta

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


def appended(day):
    """The chain with one more pick."""
    return chain(VALUES + [("ACME", "10.00", day)])


def gaps(*days):
    return [{"date": f"2025-01-{day:02}", "reason": "no price"} for day in days]


def late(picks):
    return [attested(picks, 10, at="2025-01-16T23:30:00Z")]


def kept(picks, length):
    return {"witness": "checkpoint", "length": length, "head": picks[length - 1]["hash"], "kept": True}


def by_its_node(witnesses):
    """Attestations as a node of the server's choice shows them."""
    return [w | {"named": True} for w in witnesses]


def edited(picks, seq, **members):
    return [dict(p, **members) if p["seq"] == seq else dict(p) for p in picks]


def sealed(since):
    return {"since": since, "faults": []}


def failed(fault, contradicts):
    return {"faults": [{"date": "2025-01-09", "fault": fault, "contradicts": contradicts}]}


# --- a transparency log with witnesses: Ed25519 (RFC 8032), RFC 6962's tree, signed notes and cosignature/v1 of C2SP ---

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE_Y = 4 * pow(5, P - 2, P) % P
BASE = (15112221349535400772501151409588531511454012693041857206046113283949847762202, BASE_Y)


def plus(a, b):
    (x1, y1), (x2, y2) = a, b
    xy = D * x1 * x2 * y1 * y2
    return (x1 * y2 + x2 * y1) * pow(1 + xy, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - xy, -1, P) % P


def point(n, of=BASE):
    out = (0, 1)
    while n:
        out, of, n = (plus(out, of) if n & 1 else out), plus(of, of), n >> 1
    return (out[1] | (out[0] & 1) << 255).to_bytes(32, "little")


class Key:
    """A key that a log (1) or a witness (4) signs with. The seed is the hash of its name."""

    def __init__(self, name, kind, seed=""):
        h = hashlib.sha512(hashlib.sha256((name + seed).encode()).digest()).digest()
        self.name, self.prefix = name, h[32:]
        self.scalar = int.from_bytes(h[:32], "little") & (1 << 254) - 8 | 1 << 254
        self.public = point(self.scalar)
        raw = bytes([kind]) + self.public
        self.id = hashlib.sha256(name.encode() + b"\n" + raw).digest()[:4]
        self.vkey = f"{name}+{self.id.hex()}+{base64.b64encode(raw).decode()}"

    def sign(self, message):
        r = int.from_bytes(hashlib.sha512(self.prefix + message).digest(), "little") % L
        begin = point(r)
        k = int.from_bytes(hashlib.sha512(begin + self.public + message).digest(), "little")
        return begin + ((r + k * self.scalar) % L).to_bytes(32, "little")

    def line(self, payload):
        return f"\u2014 {self.name} {base64.b64encode(self.id + payload).decode()}\n"


def root(leaves):
    if len(leaves) < 2:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(leaves[:half]) + root(leaves[half:])).digest()


LOG = Key("log.example/log", 1)
WITNESSES = [Key(f"{name}.example/w", 4) for name in ("anna", "bert", "carl")]
POLICY = f"log {LOG.vkey}\n" + "".join(f"witness {w.name.split('.')[0]} {w.vkey}\n" for w in WITNESSES) + "group two 2 anna bert carl\nquorum two\n"


def leaf_of(pick):
    text = f'{pick["ticker"]}|{pick["price"]}|{pick["date"]}|{pick["previous_hash"]}'
    return f'tidemark/pick/v1\nseq {pick["seq"]}\npreimage {text}\nhash {pick["hash"]}\nat {pick["date"]}T22:30:00.000000Z\n'.encode()


def leaves_of(picks):
    return [b"tidemark/later/v9\nsomething of later versions\n"] + [leaf_of(p) for p in picks]


def later(day, days):
    return (date.fromisoformat(day) + timedelta(days)).isoformat()


def sealed_leaves(picks, begin=0, **lies):
    """The leaves of a log in which the picks from begin on are sealed. A lie replaces or leaves out the seal or the reveal of pick 6 or 10."""
    genesis = (f'tidemark/genesis/v1\norigin log.example/log\nenvironment live\nchain_length 0\nchain_head {GENESIS}\nledger_commit none\n'
               f'sealing_from {picks[begin]["date"] if begin is not None else "none"}\nat 2025-01-01T00:00:00.000000Z\n')
    out = [genesis.encode()]
    for p in picks:
        text = f'{p["ticker"]}|{p["price"]}|{p["date"]}|{p["previous_hash"]}'.encode()
        salt, day, lie = hashlib.sha256(p["date"].encode()).digest(), p["date"], lies.get(f'pick{p["seq"]}', "")
        commitment = hashlib.sha256(b"tidemark/seal/v1\n" + salt + text).hexdigest()
        until = {"until 2999": "2999-01-01T00:00", "48 hours": f"{later(day, 2)}T00:00", "until no month": "9999-99-01T00:00",
                 "almost 48 hours": f"{later(day, 1)}T23:59"}.get(lie, f"{day}T23:00")
        seal = (f"tidemark/seal/v1\nabout pick {day}\ncommitment {commitment}\nmethod picks/1\nreveal_by {until}:00.000000Z\n"
                f"at {day}T22:00:00.000000Z\n").encode()
        index = len(out)
        if p["seq"] > (begin or 0) and lie != "unsealed":
            out += [seal] * (2 if lie == "two seals" else 1)
            shown = text.replace(b"|", b"X|", 1) if lie in ("another pick", "another pick, sealed so", "another pick, sealed and logged so") else text
            shown = b"\xef\xbb\xbf" + shown if lie == "a byte-order mark, sealed so" else shown
            if lie.endswith("so"):
                out[-1] = seal.replace(commitment.encode(), hashlib.sha256(b"tidemark/seal/v1\n" + salt + shown).hexdigest().encode())
            salt = bytes(32) if lie == "another salt" else salt
            at = "23:30" if lie == "late" else "22:30"
            reveal = (f'tidemark/reveal/v1\nseal {index + (1 if lie == "another seal" else 0)}\nabout pick {day}\nsalt {salt.hex()}\n'
                      f'content {base64.b64encode(shown).decode()}\nat {day}T{at}:00.000000Z\n').encode()
            reveal = reveal.replace(b"content ", b"content -") if lie == "bad base64" else reveal
            reveal = reveal.replace(base64.b64encode(shown), b"QR==") if lie == "base64 that is not canonical" else reveal
            reveal = reveal.replace(b"T22:30", b"T24:00") if lie == "hour 24" else reveal
            unrevealed = lie == "missing" or "until" in lie or "48 hours" in lie
            out += [reveal] * (0 if unrevealed else 2 if lie == "two reveals" else 1)
        out.append(leaf_of(p).replace(text, shown) if lie == "another pick, sealed and logged so" else leaf_of(p))
    return out


GAP = {"date": "2025-01-14", "reason": "no price by the cutoff"}
CORRECTION = {"seq": 7, "what": "the close was 62.10", "evidence": "https://example.org/7", "date": "2025-01-15"}


def noted(picks):
    """The leaves of a log with a day without a pick and a correction."""
    gap = f'tidemark/gap/v1\ndate {GAP["date"]}\nreason {GAP["reason"]}\nat 2025-01-14T22:30:00.000000Z\n'
    correction = "tidemark/correction/v1\n" + "".join(f"{key} {value}\n" for key, value in CORRECTION.items()) + "at 2025-01-15T15:00:00.000000Z\n"
    return leaves_of(picks) + [gap.encode(), correction.encode()]


def gap_after_seal(until, *more):
    """The leaves of a log in which the last day was sealed, and is a gap instead of the pick. It goes on some days later."""
    leaves = sealed_leaves(good, pick10=until)[:-1]
    leaves.append(b"tidemark/gap/v1\ndate 2025-01-16\nreason no candidate\nat 2025-01-16T23:30:00.000000Z\n")
    return leaves + [b"tidemark/sources/v1\nsize 1\nroot " + base64.b64encode(bytes(32)) + f"\nat {at}:00.000000Z\n".encode() for at in more]


OTHERS = {
    "forecast": "seq 1\nid crack/2025-W03\nrelease_at 2025-01-15T15:30:00.000000Z\nvalue -1.5e-05\nlo -2\nhi 1e+06\nlevel 0.8\nmethod crack/1\nhash " + "ab" * 32,
    "grade": "seq 1\nid crack/2025-W03\npublished_at 2025-01-15T15:30:00.000000Z\nvalue none\nscore none\nhash " + "ab" * 32,
    "method": "name picks\nversion 1\nstatus tried\nsha256 " + "ab" * 32 + "\nnote x",
    "sources": "size 1\nroot " + base64.b64encode(bytes(32)).decode(),
    "key": "old a+b+c\nnew a+d+e\nuntil 2025-04-15T00:00:00.000000Z",
    "dataset": "date 2025-01-15\nas_of 2025-01-16T00:00:00.000000Z\nsha256 " + "ab" * 32 + "\nfiles 31",
}
# What is wrong with one line of each of the other kinds.
ILL = [
    ("forecast", "value -1.5e-05", "value 0x1p4"), ("forecast", "hi 1e+06", "hi NaN"), ("forecast", "release_at 2025-01", "release_at 2025-13"),
    ("forecast", "seq 1", "seq -1"), ("forecast", "lo -2\n", ""), ("forecast", "level 0.8", f"level {'9' * 21}"), ("grade", "value none", "value nothing"), ("grade", "score none", "score "),
    ("grade", "hash ab", "hash AB"), ("method", "status tried", "status good"), ("method", "note x", "note x\nmore y"), ("sources", "root AAAA", "root AAA"),
    ("sources", "size 1", "size 9223372036854775808"), ("key", "until 2025-04-15", "until 2025-04-31"), ("dataset", "date 2025-01-15", "date 2025-1-15"),
    ("dataset", "files 31", "files many"),
]


def of_kind(kind, old="", new=""):
    """A leaf of another kind than those about picks, with a line that is replaced."""
    return f"tidemark/{kind}/v1\n{OTHERS[kind].replace(old, new)}\nat 2025-01-16T23:00:00.000000Z\n".encode()


def signed_by(leaves, log=None):
    """A checkpoint of leaves without a witness."""
    log = log or LOG
    body = f"{log.name}\n{len(leaves)}\n{base64.b64encode(root(leaves)).decode()}\n"
    return body + "\n" + log.line(log.sign(body.encode()))


def replaced(leaves, n, old, new):
    return leaves[:n] + [leaves[n].replace(old, new)] + leaves[n + 1:]


def logged(leaves, *times, log=LOG, policy=POLICY, signed=None, **members):
    """A log of leaves that the first witnesses cosigned at some times (None: did not)."""
    body = f"{log.name}\n{len(signed or leaves)}\n{base64.b64encode(root(signed or leaves)).decode()}\n"
    note = body + "\n" + log.line(log.sign(body.encode()))
    for w, time in zip(WITNESSES, times):
        if time:
            at = int(datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp())
            note += w.line(at.to_bytes(8, "big") + w.sign(f"cosignature/v1\ntime {at}\n{body}".encode()))
    return {"policy": policy, "note": note, "leaves": [base64.b64encode(leaf).decode() for leaf in leaves]} | members


good = chain(VALUES)
all_good = [attested(good, n) for n in (2, 5, 8, 10)]
dearer = [(t, "999.99" if i == 2 else p, d) for i, (t, p, d) in enumerate(VALUES)]
rewritten = chain(dearer)
other = chain([("IBM", p, d) for _, p, d in VALUES])
swapped = [good[i] for i in (0, 1, 2, 4, 3, 5, 6, 7, 8, 9)]
cut = good[:6]
gapped = chain([v for v in VALUES if v[2] != GAP["date"]])
EVENING, AFTERNOON, HALF_DAY = "2025-01-16T21:00:00Z", "2025-01-16T20:54:59Z", "2025-11-28T17:54:59Z"
T = "2025-01-17T00:30:00Z"
SEALED_GAP = [{"date": "2025-01-16", "reason": "no candidate"}]
OLD = "2025-01-15T00:30:00Z"
whole = leaves_of(good)
forged = Key("log.example/log", 1, "another key")
cosigned = [
    # name, answer, witnesses, policy, log, verdict, seq of the first fault, length, k and n
    ("a quorum cosigned the log", answer(good), [], {}, logged(whole, T, T), "witnessed", None, 10, (2, 3)),
    ("all cosigned the log, and an account attested", answer(good), all_good, {}, logged(whole, T, T, T), "witnessed", None, 10, (4, 4)),
    ("a minority cosigned the log", answer(good), [], {}, logged(whole, T), "self_consistent", None, 0, (1, 3)),
    ("nobody cosigned the log", answer(good), [], {}, logged(whole), "self_consistent", None, 0, (0, 3)),
    ("the quorum is 40 hours old", answer(good), [], {}, logged(whole, OLD, OLD, OLD), "self_consistent", None, 0, (0, 3)),
    ("one of the quorum is 40 hours old", answer(good), [], {}, logged(whole, T, OLD), "self_consistent", None, 0, (1, 3)),
    ("a cosignature of the future", answer(good), [], {}, logged(whole, T, "2025-01-18T00:30:00Z"), "self_consistent", None, 0, (1, 3)),
    ("cosigned by the reader's clock, which is ahead of a demonstration's", answer(good), [], {"clock": "2026-11-23T12:00:00Z"},
     logged(whole, "2026-11-23T11:00:00Z", "2026-11-23T11:30:00Z"), "witnessed", None, 10, (2, 3)),
    ("cosigned by a demonstration's clock alone", answer(good), [], {"clock": "2026-11-23T12:00:00Z"}, logged(whole, T, T), "self_consistent", None, 0, (0, 3)),
    ("the newest pick is not in the log yet", answer(good), [], {}, logged(leaves_of(good[:9]), T, T), "self_consistent", None, 9, (2, 3)),
    ("attested, and the newest pick is not in the log that the server names", answer(good), all_good, {},
     logged(leaves_of(good[:9]), T, T, named=True, required=True), "self_consistent", None, 10, (1, 1)),
    # Who stands between the reader and an honest server adds a pick with a right hash at the end. The witnesses hold the ten before it.
    ("a pick of tomorrow is appended", answer(appended("2025-01-17")), [], {}, logged(whole, T, T), "contradicted", None, 10, (2, 3)),
    ("a pick of today is appended before the close", answer(appended("2025-01-17")), [], {"now": "2025-01-17T20:54:59Z"},
     logged(whole, "2025-01-17T19:00:00Z", "2025-01-17T19:00:00Z"), "contradicted", None, 10, (2, 3)),
    ("a pick of today is appended after the close", answer(appended("2025-01-17")), [], {"now": "2025-01-17T21:00:00Z"},
     logged(whole, "2025-01-17T19:00:00Z", "2025-01-17T19:00:00Z"), "self_consistent", None, 10, (2, 3)),
    ("a pick of today is appended on a holiday", answer(appended("2025-01-20")), [], {"now": "2025-01-20T23:00:00Z"},
     logged(whole, "2025-01-20T19:00:00Z", "2025-01-20T19:00:00Z"), "contradicted", None, 10, (2, 3)),
    ("a pick of a holiday is within the chain", answer(chain(VALUES[:5] + [("GE", "170.00", "2025-01-09")] + VALUES[5:])), [], {},
     logged(leaves_of(chain(VALUES[:5] + [("GE", "170.00", "2025-01-09")] + VALUES[5:])), T, T), "contradicted", None, 11, (2, 3)),
    ("a day is missing within the chain, which is the log's", answer(gapped), [], {}, logged(leaves_of(gapped), T, T), "contradicted", None, 9, (2, 3)),
    ("a day is missing, and the server shows a gap that the log has not", answer(gapped, gaps=[GAP]), [], {}, logged(leaves_of(gapped), T, T),
     "self_consistent", None, 9, (2, 3)),
    ("the server shows a correction that the log has not", answer(good, corrections=[CORRECTION]), [], {}, logged(whole, T, T), "self_consistent", None, 10, (2, 3)),
    ("attested, and the server shows a correction that the log that it names has not", answer(good, corrections=[CORRECTION]), all_good, {},
     logged(whole, T, T, named=True, required=True), "self_consistent", None, 10, (1, 1)),
    ("attested, and no log is read for the correction that the server shows", answer(good, corrections=[CORRECTION]), all_good, {}, None,
     "witnessed", None, 10, (1, 1)),
    ("the server shows one correction more than the log",
     answer(gapped, gaps=[GAP], corrections=[CORRECTION, CORRECTION | {"what": "more"}]), [], {}, logged(noted(gapped), T, T), "self_consistent", None, 9, (2, 3)),
    ("five picks are not in the log", answer(good), [], {}, logged(leaves_of(good[:5]), T, T), "self_consistent", None, 5, (2, 3)),
    ("no pick is in the log", answer(good), [], {}, logged(leaves_of([]), T, T), "self_consistent", None, 0, (0, 3)),
    ("rewritten, and the log has what was", answer(rewritten), [], {}, logged(whole, T, T), "contradicted", None, 0, (0, 3)),
    ("rewritten, and the log has what was, cosigned by nobody", answer(rewritten), [], {}, logged(whole), "contradicted", None, 0, (0, 3)),
    ("rewritten, and the log has the old picks and then the new ones", answer(rewritten), [], {},
     logged(whole + [leaf_of(p) for p in rewritten[2:]], T, T), "contradicted", None, 0, (0, 3)),
    ("cut, and the log has what was", answer(cut), [], {}, logged(whole, T, T), "contradicted", None, 0, (0, 3)),
    ("cut, and the newest attestation shown is fresh", answer(good[:9]), [attested(good, 9, at="2025-01-16T23:30:00Z")], {}, logged(whole, T, T),
     "contradicted", None, 9, (1, 4)),
    ("a pick stands in the log twice", answer(good), [], {}, logged(whole + [leaf_of(good[9])], T, T), "contradicted", None, 0, (0, 3)),
    ("a pick is missing in the log", answer(good), [], {}, logged(whole[:4] + whole[5:], T, T), "contradicted", None, 0, (0, 3)),
    ("a leaf of a pick that is not in its form", answer(good), [], {}, logged(whole + [b"tidemark/pick/v1\nseq 11\n"], T, T), "contradicted", None, 0, (0, 3)),
    ("edited, and the log has what was", answer(edited(good, 3, price="999.99")), [], {}, logged(whole, T, T), "contradicted", 3, None, None),
    ("the leaves are not those of the checkpoint", answer(rewritten), [], {}, logged(leaves_of(rewritten), T, T, signed=whole),
     "self_consistent", None, 0, (0, 3)),
    ("another key of the same name signed", answer(good), [], {}, logged(whole, T, T, log=forged), "self_consistent", None, 0, (0, 3)),
    ("a log that the policy does not name", answer(good), [], {}, logged(whole, T, T, log=Key("evil.example/log", 1)), "self_consistent", None, 0, (0, 3)),
    ("a policy of no quorum", answer(good), [], {}, logged(whole, T, T, policy=POLICY.replace("quorum two", "quorum none")),
     "self_consistent", None, 0, (2, 3)),
    ("one of three is a quorum", answer(good), [], {}, logged(whole, None, T, policy=POLICY.replace("two 2", "two any")), "witnessed", None, 10, (1, 3)),
    ("a group within a group", answer(good), [], {}, logged(whole, None, T, T, policy=POLICY.replace(
        "group two 2 anna bert carl", "group others 1 bert carl\ngroup two 2 anna others")), "self_consistent", None, 0, (2, 3)),
    ("attested, and the quorum that the reader requires is missing", answer(good), all_good, {}, logged(whole, T, required=True),
     "self_consistent", None, 10, (2, 4)),
    ("attested, and the log that the reader requires is another one", answer(good), all_good, {}, logged(whole, T, T, log=forged, required=True),
     "self_consistent", None, 10, (1, 4)),
    ("the quorum that the reader requires", answer(good), [], {}, logged(whole, T, T, required=True), "witnessed", None, 10, (2, 3)),
    # The reader has no policy: the server names the log and its witnesses (named). They vouch for nothing, and must be there.
    ("only witnesses that the server names", answer(good), [], {}, logged(whole, T, T, T, named=True, required=True), "self_consistent", None, 0, (0, 0)),
    ("attested, and the witnesses that the server names cosigned", answer(good), all_good, {}, logged(whole, T, T, named=True, required=True),
     "witnessed", None, 10, (1, 1)),
    ("attested, and the witnesses that the server names did not cosign", answer(good), all_good, {}, logged(whole, T, named=True, required=True),
     "self_consistent", None, 10, (1, 1)),
    ("attested, and the witnesses that the server names cosigned 40 hours ago", answer(good), all_good, {},
     logged(whole, OLD, OLD, OLD, named=True, required=True), "self_consistent", None, 10, (1, 1)),
    ("attested, and the log that the server names has other leaves than its checkpoint", answer(good), all_good, {},
     logged(leaves_of(rewritten), T, T, signed=whole, named=True, required=True), "self_consistent", None, 10, (1, 1)),
    ("attested, and the server names a log without witnesses", answer(good), all_good, {},
     logged(whole, named=True, policy=POLICY.replace("quorum two", "quorum none")), "witnessed", None, 10, (1, 1)),
    ("rewritten, and the log that the server names has what was", answer(rewritten), [], {}, logged(whole, T, T, named=True, required=True),
     "contradicted", None, 0, (0, 0)),
    ("rewritten and attested anew, and the log that the server names has what was", answer(rewritten), [attested(rewritten, 10)], {},
     logged(whole, T, T, named=True, required=True), "contradicted", None, 10, (1, 1)),
    # The verifiers open the seals among the leaves by themselves: the server says nothing of them.
    ("each sealed pick was revealed", answer(good), [], {}, logged(sealed_leaves(good), T, T), "witnessed", None, 10, (2, 3)),
    ("sealed from pick 6 on", answer(good), [], {}, logged(sealed_leaves(good, 5), T, T), "witnessed", None, 10, (2, 3)),
    ("the first seal says since when picks are sealed", answer(good), [], {}, logged(sealed_leaves(good, None, pick6="unsealed"), T, T), "contradicted", None, 10, (2, 3)),
    ("a sealed pick was not revealed, and the server says nothing of it", answer(good), [], {}, logged(sealed_leaves(good, pick6="missing"), T, T),
     "contradicted", None, 10, (2, 3)),
    ("the newest sealed pick is not revealed yet", answer(good), [], {}, logged(sealed_leaves(good, pick10="missing"), T, T), "witnessed", None, 10, (2, 3)),
    ("a reveal was late, and the server says nothing of it", answer(good), [], {}, logged(sealed_leaves(good, pick6="late"), T, T), "witnessed", None, 10, (2, 3)),
    ("a reveal has another salt", answer(good), [], {}, logged(sealed_leaves(good, pick6="another salt"), T, T), "contradicted", None, 10, (2, 3)),
    ("a reveal names another leaf as its seal", answer(good), [], {}, logged(sealed_leaves(good, pick6="another seal"), T, T), "contradicted", None, 10, (2, 3)),
    ("a reveal does not open its seal", answer(good), [], {}, logged(sealed_leaves(good, pick6="another pick"), T, T), "contradicted", None, 10, (2, 3)),
    ("another pick was announced than the sealed one", answer(good), [], {}, logged(sealed_leaves(good, pick6="another pick, sealed so"), T, T),
     "contradicted", None, 10, (2, 3)),
    ("a day has two seals", answer(good), [], {}, logged(sealed_leaves(good, pick6="two seals"), T, T), "contradicted", None, 10, (2, 3)),
    ("a day has two reveals", answer(good), [], {}, logged(sealed_leaves(good, pick6="two reveals"), T, T), "contradicted", None, 10, (2, 3)),
    ("a pick was announced without a seal", answer(good), [], {}, logged(sealed_leaves(good, pick6="unsealed"), T, T), "contradicted", None, 10, (2, 3)),
    ("the server shows the gap and the correction of the log", answer(gapped, gaps=[GAP], corrections=[CORRECTION]), [], {}, logged(noted(gapped), T, T),
     "witnessed", None, 9, (2, 3)),
    ("the server hides a day without a pick", answer(gapped, corrections=[CORRECTION]), [], {}, logged(noted(gapped), T, T), "contradicted", None, 9, (2, 3)),
    ("the server hides a correction", answer(gapped, gaps=[GAP]), [], {}, logged(noted(gapped), T, T), "contradicted", None, 9, (2, 3)),
    ("the server gives another reason for a day without a pick", answer(gapped, gaps=[GAP | {"reason": "holiday"}], corrections=[CORRECTION]), [], {},
     logged(noted(gapped), T, T), "contradicted", None, 9, (2, 3)),
    ("the server shows another correction", answer(gapped, gaps=[GAP], corrections=[CORRECTION | {"what": "nothing"}]), [], {},
     logged(noted(gapped), T, T), "contradicted", None, 9, (2, 3)),
    ("a sealed pick was not revealed, in a log that only the server names", answer(good), all_good, {},
     logged(sealed_leaves(good, pick6="missing"), T, T, named=True, required=True), "contradicted", None, 10, (1, 1)),
    # Leaves that the log signed and that break its own rules.
    ("the log and the reveal show another pick than the hash beside it", answer(good), [], {},
     logged(sealed_leaves(good, pick10="another pick, sealed and logged so"), T, T), "contradicted", None, 0, (0, 3)),
    ("the preimage of a pick in the log is another one", answer(good), [], {}, logged(replaced(whole, 10, b"XOM|", b"XON|"), T, T), "contradicted", None, 0, (0, 3)),
    ("a seal that need not be revealed before 2999", answer(good), [], {}, logged(sealed_leaves(good, pick6="until 2999"), T, T), "contradicted", None, 10, (2, 3)),
    ("the newest seal need not be revealed before 2999", answer(good), [], {}, logged(sealed_leaves(good, pick10="until 2999"), T, T), "contradicted", None, 10, (2, 3)),
    ("the newest seal has 48 hours", answer(good), [], {}, logged(sealed_leaves(good, pick10="48 hours"), T, T), "contradicted", None, 10, (2, 3)),
    ("the newest seal has almost 48 hours", answer(good), [], {}, logged(sealed_leaves(good, pick10="almost 48 hours"), T, T), "witnessed", None, 10, (2, 3)),
    ("a seal whose reveal_by is no instant", answer(good), [], {}, logged(sealed_leaves(good, pick10="until no month"), T, T), "contradicted", None, 10, (2, 3)),
    ("a gap on a sealed day, which is not revealed", answer(good[:9], gaps=SEALED_GAP), [], {}, logged(gap_after_seal("missing"), T, T),
     "contradicted", None, 9, (2, 3)),
    ("a gap on a sealed day, which need not be revealed before 2999", answer(good[:9], gaps=SEALED_GAP), [], {}, logged(gap_after_seal("until 2999"), T, T),
     "contradicted", None, 9, (2, 3)),
    ("a gap on a sealed day, whose almost 48 hours last", answer(good[:9], gaps=SEALED_GAP), [], {"now": "2025-01-18T00:01:00Z"}, logged(gap_after_seal("almost 48 hours", "2025-01-17T23:59"), T, T),
     "witnessed", None, 9, (2, 3)),
    ("a gap on a sealed day, whose almost 48 hours are over", answer(good[:9], gaps=SEALED_GAP), [], {"now": "2025-01-18T00:01:00Z"}, logged(gap_after_seal("almost 48 hours", "2025-01-18T00:00"), T, T),
     "contradicted", None, 9, (2, 3)),
    ("a byte-order mark before the pick of a reveal", answer(good), [], {}, logged(sealed_leaves(good, pick6="a byte-order mark, sealed so"), T, T),
     "contradicted", None, 10, (2, 3)),
    ("a reveal whose content is not in base64", answer(good), [], {}, logged(sealed_leaves(good, pick10="bad base64"), T, T), "contradicted", None, 10, (2, 3)),
    ("a reveal whose content is not in the one form of base64", answer(good), [], {},
     logged(sealed_leaves(good, pick10="base64 that is not canonical"), T, T), "contradicted", None, 10, (2, 3)),
    ("a reveal at hour 24", answer(good), [], {}, logged(sealed_leaves(good, pick10="hour 24"), T, T), "contradicted", None, 10, (2, 3)),
    ("a pick of the log is of month 99", answer(good), [], {}, logged(replaced(whole, 10, b"at 2025-01", b"at 2025-99"), T, T), "contradicted", None, 0, (0, 3)),
    ("a tab in a correction of the log, which the server shows", answer(gapped, gaps=[GAP], corrections=[CORRECTION | {"what": "the\tclose was 62.10"}]), [], {},
     logged(replaced(noted(gapped), 11, b"the close", b"the\tclose"), T, T), "contradicted", None, 9, (2, 3)),
    ("a line separator in the reason of a gap", answer(gapped, gaps=[GAP | {"reason": "no\u2028price"}], corrections=[CORRECTION]), [], {},
     logged(replaced(noted(gapped), 10, GAP["reason"].encode(), "no\u2028price".encode()), T, T), "contradicted", None, 9, (2, 3)),
    ("a gap of the log on a day that there is not", answer(good), [], {},
     logged(whole + [b"tidemark/gap/v1\ndate 2025-02-30\nreason x\nat 2025-01-16T23:30:00.000000Z\n"], T, T), "contradicted", None, 10, (2, 3)),
    ("a correction of pick 07", answer(good), [], {},
     logged(whole + [b"tidemark/correction/v1\nseq 07\nwhat x\nevidence x\ndate 2025-01-15\nat 2025-01-16T23:30:00.000000Z\n"], T, T), "contradicted", None, 10, (2, 3)),
    ("a correction that is not UTF-8", answer(good), [], {},
     logged(whole + [b"tidemark/correction/v1\nseq 7\nwhat \xff\nevidence x\ndate 2025-01-15\nat 2025-01-16T23:30:00.000000Z\n"], T, T), "contradicted", None, 10, (2, 3)),
    ("a byte-order mark before a leaf, which is of no kind then", answer(good), [], {}, logged(whole + [b"\xef\xbb\xbf" + leaf_of(good[9])], T, T),
     "witnessed", None, 10, (2, 3)),
    ("a leaf of each kind", answer(good), [], {}, logged(whole + [of_kind(kind) for kind in OTHERS], T, T), "witnessed", None, 10, (2, 3)),
    *((f"a leaf of kind {kind} that is not in its form: {new.strip()[:40] or 'without ' + old.strip()}", answer(good), [], {},
       logged(whole + [of_kind(kind, old, new)], T, T), "contradicted", None, 10, (2, 3)) for kind, old, new in ILL),
    # A leaf of a time that has not come: the log states a false one. The clock of neither reader nor demonstration has it.
    ("a reveal of tomorrow", answer(good), [], {}, logged(replaced(sealed_leaves(good), 29, b"at 2025-01-16", b"at 2025-01-17"), T, T), "contradicted", None, 10, (2, 3)),
    ("a reveal of a year to come, in a log that only the server names", answer(good), all_good, {},
     logged(replaced(sealed_leaves(good), 29, b"at 2025-01-16", b"at 2026-01-16"), T, T, named=True, required=True), "contradicted", None, 10, (1, 1)),
    ("a leaf whose clock is five minutes ahead", answer(good), [], {}, logged(whole + [of_kind("key").replace(b"16T23:00", b"17T01:05")], T, T), "witnessed", None, 10, (2, 3)),
    ("a leaf whose clock is five minutes and a second ahead", answer(good), [], {},
     logged(whole + [of_kind("key").replace(b"16T23:00:00", b"17T01:05:01")], T, T), "contradicted", None, 10, (2, 3)),
    ("a leaf that a demonstration's clock has not, and the reader's has", answer(good), [], {"clock": "2026-11-23T12:00:00Z"},
     logged(whole + [of_kind("key").replace(b"16T23:00", b"17T04:00")], "2026-11-23T11:00:00Z", "2026-11-23T11:30:00Z"), "witnessed", None, 10, (2, 3)),
    # Two checkpoints that the log signed. A log of two histories vouches for nothing.
    ("the second checkpoint is of fewer leaves of the same history", answer(good), [], {}, logged(whole, T, T, other=signed_by(whole[:7])), "witnessed", None, 10, (2, 3)),
    ("the second checkpoint is of another history", answer(good), [], {}, logged(whole, T, T, other=signed_by(leaves_of(rewritten)[:7])), "contradicted", None, 0, (0, 3)),
    ("the second checkpoint is of another history, in a log that only the server names", answer(good), all_good, {},
     logged(whole, T, T, named=True, required=True, other=signed_by(leaves_of(rewritten)[:7])), "contradicted", None, 10, (1, 1)),
    ("the second checkpoint has the same size and another root", answer(good), [], {}, logged(whole, T, T, other=signed_by(leaves_of(rewritten))), "contradicted", None, 0, (0, 3)),
    ("the second checkpoint of another history is signed by another key", answer(good), [], {},
     logged(whole, T, T, other=signed_by(leaves_of(rewritten)[:7], forged)), "self_consistent", None, 0, (0, 3)),
    ("the leaves fit neither checkpoint", answer(good), [], {}, logged(whole, T, T, signed=leaves_of(rewritten), other=signed_by(leaves_of(other)[:7])),
     "self_consistent", None, 0, (0, 3)),
    ("sealed, and the log that the server names was read", answer(good, seals=sealed("2025-01-08")), all_good, {},
     logged(whole, T, T, named=True, required=True), "witnessed", None, 10, (1, 1)),
]

cases = [
    # name, answer, witnesses, policy, verdict, seq of the first fault; where there is none, the length that fresh witnesses cover, and k and n
    # of "k of n parties"
    ("good", answer(good), all_good, {}, "witnessed", None, 10, (1, 1)),
    ("good, attester expected in other letters", answer(good), all_good, {"attester": ATTESTER.upper().replace("X", "x")}, "witnessed", None, 10, (1, 1)),
    ("good, the newest pick is not attested yet", answer(good), all_good[:3], {}, "witnessed", None, 8, (1, 1)),
    ("good, nobody was asked", answer(good), [], {}, "self_consistent", None, 0, (0, 0)),
    ("good, and a checkpoint that is the head shown now", answer(good), [kept(good, 10)], {}, "self_consistent", None, 0, (0, 0)),
    ("good, a checkpoint kept the day before", answer(good), [kept(good, 9)], {}, "witnessed", None, 9, (1, 1)),
    ("a checkpoint of the whole chain with another head", answer(rewritten), [kept(good, 10)], {}, "contradicted", None, 0, (0, 1)),
    ("good by a node that the server names", answer(good), by_its_node(all_good), {}, "self_consistent", None, 0, (0, 0)),
    ("good by a node that the server names, and by another account on the reader's node", answer(good), by_its_node(all_good) + [attested(good, 9, STRANGER)], {},
     "witnessed", None, 9, (1, 1)),
    ("rewritten, and a node that the server names has what was", answer(rewritten), by_its_node(all_good), {}, "contradicted", None, 0, (0, 0)),
    ("cut, and a node that the server names has what was, beside a checkpoint", answer(cut), by_its_node(all_good) + [kept(good, 5)], {}, "contradicted", None, 0, (0, 1)),
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
    ("cut, and only old attestations are shown: days are missing", answer(cut), all_good[:2], {}, "contradicted", None, 0, (0, 1)),
    ("cut, and the server still claims ten", answer(cut, chain_length=10, head_hash=good[9]["hash"]), [], {}, "contradicted", None, 0, (0, 0)),
    ("reordered", answer(swapped), all_good, {}, "contradicted", 4, None, None),
    ("forked: two witnesses hold different chains", answer(good), [attested(good, 10), attested(rewritten, 8)], {}, "contradicted", None, 10, (0, 1)),
    ("stale: no witness for ten days, which are gaps", answer(good, gaps=gaps(17, 21, 22, 23, 24)), all_good, {"now": "2025-01-27T12:00:00Z"},
     "self_consistent", None, 0, (0, 1)),
    ("nothing came for ten days", answer(good), all_good, {"now": "2025-01-27T12:00:00Z"}, "contradicted", None, 0, (0, 1)),
    ("nothing of yesterday yet", answer(good[:9]), all_good[:3], {"now": "2025-01-17T15:00:00Z"}, "witnessed", None, 8, (1, 1)),
    ("nothing of the day before yesterday", answer(good[:8]), all_good[:3], {"now": "2025-01-17T15:00:00Z"}, "contradicted", None, 8, (1, 1)),
    ("a day is missing", answer(gapped), [], {}, "contradicted", None, 0, (0, 0)),
    ("a day is missing and recorded as a gap", answer(gapped, gaps=[GAP]), [], {}, "self_consistent", None, 0, (0, 0)),
    ("a gap twice", answer(gapped, gaps=[GAP, GAP]), [], {}, "contradicted", None, 0, (0, 0)),
    ("a gap on a day with a pick", answer(good, gaps=[GAP]), [], {}, "contradicted", None, 0, (0, 0)),
    ("a gap on a day of mourning", answer(good, gaps=gaps(9)), [], {}, "contradicted", None, 0, (0, 0)),
    ("a gap on a Sunday", answer(good, gaps=gaps(12)), [], {}, "contradicted", None, 0, (0, 0)),
    ("a gap of tomorrow", answer(good, gaps=gaps(17)), [], {}, "contradicted", None, 0, (0, 0)),
    ("a gap of a day that there is not", answer(good, gaps=[{"date": "2025-01-32", "reason": "no price"}]), [], {}, "contradicted", None, 0, (0, 0)),
    ("a pick on a Saturday", answer(last(date="2025-01-18")), [], {"now": "2025-01-20T01:00:00Z"}, "contradicted", None, 0, (0, 0)),
    ("a pick of today at the close", answer(good), [], {"now": EVENING}, "self_consistent", None, 0, (0, 0)),
    ("a pick of today five minutes before the close and a second", answer(good), [], {"now": AFTERNOON}, "contradicted", None, 0, (0, 0)),
    ("a pick of a half day at its close", answer(chain([("KO", "72.00", "2025-11-28")])), [], {"now": "2025-11-28T18:00:00Z"}, "self_consistent", None, 0, (0, 0)),
    ("a pick of a half day before its close", answer(chain([("KO", "72.00", "2025-11-28")])), [], {"now": HALF_DAY}, "contradicted", None, 0, (0, 0)),
    ("a pick of a summer's day at the close", answer(chain([("KO", "72.00", "2025-07-15")])), [], {"now": "2025-07-15T20:00:00Z"}, "self_consistent", None, 0, (0, 0)),
    ("a pick of a summer's day before the close", answer(chain([("KO", "72.00", "2025-07-15")])), [], {"now": "2025-07-15T19:54:59Z"}, "contradicted", None, 0, (0, 0)),
    ("attested ahead, a pick of tomorrow", answer(appended("2025-01-17")), all_good, {}, "contradicted", None, 10, (1, 1)),
    ("stale: picks without a witness for six days", answer(good), [attested(good, 5, at="2025-01-16T23:30:00Z")], {}, "self_consistent", None, 5, (1, 1)),
    ("wrong attester", answer(good), [attested(good, 10, STRANGER)], {"attester": ATTESTER}, "contradicted", None, 0, (0, 1)),
    ("a sealed pick was not revealed, and the log went on", answer(good, seals=failed("missing", True)), all_good, {}, "contradicted", None, 10, (1, 1)),
    ("a sealed pick was not revealed, and the log stands still", answer(good, seals=failed("missing", False)), all_good, {}, "witnessed", None, 10, (1, 1)),
    ("a reveal came late", answer(good, seals=failed("late", False)), all_good, {}, "witnessed", None, 10, (1, 1)),
    ("attested, and the server hides the log that it sealed by", answer(good, seals=sealed("2025-01-08")), all_good, {}, "self_consistent", None, 10, (1, 1)),
    ("attested, and no pick was ever sealed", answer(good, seals=sealed(None)), all_good, {}, "witnessed", None, 10, (1, 1)),
    ("another date", answer(good), [attested(good, 10, date="2025-01-17")], {}, "contradicted", None, 0, (0, 1)),
    ("empty, and the server says that its head is null", answer([], head_hash=None), [], {}, "self_consistent", None, 0, (0, 0)),
    ("ten picks, and the server says that its head is null", answer(good, head_hash=None), [], {}, "contradicted", None, 0, (0, 0)),
    ("a day that the calendar has not, attested", answer(last(date="2025-02-30")), late(last(date="2025-02-30")), {}, "contradicted", 10, None, None),
    ("a month that the calendar has not, attested", answer(last(date="2025-13-01")), late(last(date="2025-13-01")), {}, "contradicted", 10, None, None),
    ("29 February of a common year", answer(last(date="2025-02-29")), [], {}, "contradicted", 10, None, None),
    ("29 February of a leap year", answer(chain([("KO", "62.00", "2024-02-29")])), [], {"now": "2024-03-01T01:00:00Z"}, "self_consistent", None, 0, (0, 0)),
    ("29 February 1900", answer(chain([("KO", "62.00", "1900-02-29")])), [], {}, "contradicted", 1, None, None),
    ("the year 0", answer(chain([("KO", "62.00", "0000-01-01")])), [], {}, "contradicted", 1, None, None),
    ("the last day of years with four digits, which is to come", answer(chain([("KO", "62.00", "9999-12-31")])), [], {}, "contradicted", None, 0, (0, 0)),
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
    ("empty, and a witness of no pick", answer([]), [{"witness": "checkpoint", "length": 0, "head": GENESIS, "kept": True}], {}, "contradicted", None, 0, (0, 1)),
    ("one attestation three times is one party", answer(good), [attested(good, 10)] * 3, {}, "witnessed", None, 10, (1, 1)),
    ("an account and a checkpoint are two parties", answer(good), all_good + [kept(good, 9)], {}, "witnessed", None, 10, (2, 2)),
    ("an account and the head that is shown now are one party", answer(good), all_good + [kept(good, 10)], {}, "witnessed", None, 10, (1, 1)),
    ("two accounts are two parties", answer(good), [attested(good, 10), attested(good, 9, STRANGER)], {}, "witnessed", None, 10, (2, 2)),
    ("one of two parties is stale", answer(good), [attested(good, 10), attested(good, 2, STRANGER)], {}, "witnessed", None, 10, (1, 2)),
    ("one of two parties holds something else", answer(good), [attested(good, 10), attested(rewritten, 10, STRANGER)], {}, "contradicted", None, 10, (1, 2)),
    ("an old witness of ten picks, and a new one of the first", answer(good),
     [attested(good, 10, at="2020-01-01T00:00:00Z"), attested(good, 1, at="2025-01-16T23:00:00Z")], {}, "self_consistent", None, 1, (1, 1)),
    ("a witness of the future", answer(good), [attested(good, 10, at="2030-01-01T00:00:00Z")], {}, "self_consistent", None, 0, (0, 1)),
    ("a witness whose clock is four minutes ahead", answer(good), [attested(good, 10, at="2025-01-17T01:04:00Z")], {}, "witnessed", None, 10, (1, 1)),
    ("a witness whose clock is six minutes ahead", answer(good), [attested(good, 10, at="2025-01-17T01:06:00Z")], {}, "self_consistent", None, 0, (0, 1)),
    ("a checkpoint of the last pick, which only the reader has", answer(appended("2025-01-17")), [kept(good, 10)], {"now": "2025-01-17T23:05:00Z"}, "witnessed", None, 10, (1, 1)),
    ("a checkpoint of a pick that is dated ahead", answer(last(date="2025-02-03")), [kept(last(date="2025-02-03"), 10)], {},
     "contradicted", None, 0, (0, 0)),
    ("a pick without a witness that is dated ahead", answer(last(date="2025-02-03")), [attested(good, 9)], {}, "contradicted", None, 9, (1, 1)),
    ("exactly 120 hours old", answer(good), [attested(good, 10, at="2025-01-12T01:00:00Z")], {}, "witnessed", None, 10, (1, 1)),
    ("a second more than 120 hours old", answer(good), [attested(good, 10, at="2025-01-12T00:59:59Z")], {}, "self_consistent", None, 0, (0, 1)),
]

if __name__ == "__main__":
    print(json.dumps([
        {"name": name, "answer": a, "witnesses": w, "policy": {"attester": None, "now": NOW} | policy,
         "want": {"verdict": verdict, "fault": fault, "covered": None if fault else covered, "parties": None if fault else parties}}
        | ({"log": log} if log else {})
        for name, a, w, policy, log, verdict, fault, covered, parties in [c[:4] + (None,) + c[4:] for c in cases] + cosigned
    ], indent=1))
