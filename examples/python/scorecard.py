"""The forecasts' scorecards, recomputed from the public list with the standard library (docs/forecasts.md).

It reads the forecasts of all signals, hashes every line again, follows both chains, works out when each print was due and whether the
forecast came before, scores every graded forecast with exact fractions, works out each scorecard and compares all of it with what the server says. It exits with 1 and names the differences if there are any.

It ends with the heads of both chains. Keep them: a server can write a whole record anew, with hashes that fit. Given as arguments, they
must still be in the chains. TIDEMARK_URL names the server.

    python3 examples/python/scorecard.py forecast:67:9f86d0... grade:59:3a6eb0...
"""

import datetime
import decimal
import hashlib
import json
import math
import os
import re
import statistics
import sys
import urllib.parse
import urllib.request
from fractions import Fraction

BASE = os.environ.get("TIDEMARK_URL", "http://127.0.0.1:8080").rstrip("/")
GENESIS = "0" * 64
LEVELS = [Fraction(k, 1000) for k in [10, 25, *range(50, 1000, 50), 975, 990]]
COVERAGES = {50: (Fraction(1, 4), Fraction(3, 4)), 80: (Fraction(1, 10), Fraction(9, 10)), 90: (Fraction(1, 20), Fraction(19, 20))}
# A scorecard states six significant digits: half a unit of the last one is this share of a number at most.
NEAR = Fraction(5001, 10**9)
NORMAL = statistics.NormalDist()
# The skill's interval and the test of Diebold and Mariano begin with this number of grades.
MIN_INTERVAL = 3
# How many grades a label rests on, how many checks running a decay takes and how many grades lie between two of them.
WEEKLY, MONTHLY = (104, 6, 4), (36, 3, 1)
# After how many days without a print a forecast is void, where these are not 30.
GIVEN_UP_AFTER = {"iowa-corn-yield": 10, "tropomi-no2-economic": 60}
MONTHLY_SIGNALS = {"lng-arbitrage", "iowa-corn-yield", "tropomi-no2-economic"}
SIGNALS = ("iowa-corn-yield", "tropomi-no2-economic", "crack-spread-321", "eia-weekly-petroleum", "lng-arbitrage", "hormuz-transit")

# A record that goes on for this long after the last moment for a print without a grade withholds it; the job may fail for some days. A server's
# clock may be ahead of ours by an hour.
GRADE_LAG = datetime.timedelta(days=7)
NOW = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")

differences = []


def differ(where, what):
    differences.append(f"{where}: {what}")


def same(where, what, server, here, tolerance=Fraction(0)):
    """Compare what the server says with what follows from the lines; numbers may differ by a tolerance."""
    numbers = [x for x in (server, here) if isinstance(x, (decimal.Decimal, Fraction, int, float)) and not isinstance(x, bool)]
    if len(numbers) == 2:
        equal = abs(Fraction(server) - Fraction(here)) <= Fraction(tolerance)
    else:
        equal = server == here and isinstance(server, bool) == isinstance(here, bool)
    if not equal:
        shown = float(here) if isinstance(here, Fraction) else here
        differ(where, f"{what} is {shown} by the lines, the server says {server}")


# What the server says.


def call(path):
    """Return the JSON at a path. Numbers stay decimals, so that nothing is rounded on the way."""
    with urllib.request.urlopen(BASE + path, timeout=30) as response:
        return json.loads(response.read(), parse_float=decimal.Decimal)


def read():
    """Return the forecasts and the scorecards of all signals. A record that grows meanwhile is read again."""
    before = None
    for _ in range(10):
        forecasts, cards = {}, {}
        for signal in SIGNALS:  # the catalog leaves out those that are decayed or deprecated
            quoted = urllib.parse.quote(signal, safe="")
            forecasts[signal], cursor = [], ""
            while cursor is not None:
                page = call(f"/api/signals/{quoted}/forecasts?limit=100" + (cursor and "&cursor=" + urllib.parse.quote(cursor, safe="")))
                forecasts[signal] += page["data"]
                cursor = page["pagination"]["next_cursor"]
                if page["id"] != signal or page["pagination"]["has_more"] != (cursor is not None):
                    sys.exit(f"{signal}: its list is of another signal, or it has more and no cursor")
            card = call(f"/api/signals/{quoted}/scorecard")
            if card["id"] != signal:
                sys.exit(f"{signal}: its scorecard is of another signal")
            cards[signal] = card["data"]
        if (forecasts, cards) == before:
            return forecasts, cards
        before = forecasts, cards
    sys.exit(f"the record of {BASE} does not stand still long enough to be read")


# The chains, and each score from its line.


def number(text, where):
    """Return the value of a decimal as a line has it: digits, no exponent, no negative zero."""
    if not re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text) or re.fullmatch(r"-[0.]+", text):
        sys.exit(f"{where}: {text[:40]!r} is no decimal number")
    return Fraction(text)


def distribution(text, where):
    """Return the 23 quantiles that a line states."""
    values = [number(v, where) for v in text.split(";")]
    if len({len(v.partition(".")[2]) for v in text.split(";")}) > 1:
        differ(where, "its quantiles differ in the number of decimals")
    if len(values) != len(LEVELS) or values != sorted(values):
        differ(where, "the line does not hold 23 quantiles in ascending order")
    return values


def utc(day, hour, minute, new_york):
    """Return an instant of a day as the server writes it. New York is four hours behind from the second Sunday of March to the first one
    of November, else five; releases are at hours of the day when that does not change."""
    at = datetime.datetime(day.year, day.month, day.day, hour, minute)
    if new_york:
        march, november = datetime.date(day.year, 3, 8), datetime.date(day.year, 11, 1)
        first, last = (d + datetime.timedelta(6 - d.weekday()) for d in (march, november))
        at += datetime.timedelta(hours=4 if first <= day < last else 5)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def due(signal, target):
    """Return when the print of a figure and period is due at the earliest, or None if there is no such print."""
    figure, _, period = target.partition("/")
    weekly = {  # the day that a period names, the days until the print, its clock
        ("eia-weekly-petroleum", "crude_stocks_change"): (4, 5, 10, 30, True),
        ("eia-weekly-petroleum", "gasoline_stocks_change"): (4, 5, 10, 30, True),
        ("eia-weekly-petroleum", "distillate_stocks_change"): (4, 5, 10, 30, True),
        ("hormuz-transit", "ships_week"): (6, 2, 13, 35, False),
        ("crack-spread-321", "spread"): (0, 2, 10, 30, True),
    }
    monthly = {("lng-arbitrage", "margin_europe"): 2, ("tropomi-no2-economic", "index"): 15}  # the day of the month after
    try:
        if (signal, figure) in weekly:
            weekday, days, *clock = weekly[signal, figure]
            day = datetime.datetime.strptime(period, "%Y-%m-%d").date()
            if day.isoformat() != period or day.weekday() != weekday:
                return None
            return utc(day + datetime.timedelta(days), *clock)
        if (signal, figure) == ("iowa-corn-yield", "next_print") and re.fullmatch(r"\d{4}-final", period):
            return utc(datetime.date(int(period[:4]) + 1, 1, 8), 12, 0, True)
        if not re.fullmatch(r"\d{4}-\d\d", period):
            return None
        month = datetime.date(int(period[:4]), int(period[5:]), 1)
        if (signal, figure) == ("iowa-corn-yield", "next_print"):
            return utc(month.replace(day=8), 12, 0, True) if 8 <= month.month <= 11 else None
        after = datetime.date(month.year + month.month // 12, month.month % 12 + 1, monthly[signal, figure])
        return utc(after, 0, 0, False)
    except (ValueError, KeyError):
        return None


def void_at(p):
    """Return when a forecast becomes void: a print that comes then or later does not count."""
    return instant(p["release"]) + datetime.timedelta(GIVEN_UP_AFTER.get(p["fields"][1], 30))


def instant(text):
    """Return the instant of a text, to the second."""
    return datetime.datetime.fromisoformat(text[:19])


def crps(quantiles, outcome):
    """Return twice the weighted sum of the pinball losses. A level's weight is half the distance between its neighbours."""
    edges = [-LEVELS[0], *LEVELS, 2 - LEVELS[-1]]
    total = Fraction(0)
    for i, (level, q) in enumerate(zip(LEVELS, quantiles)):
        weight = (edges[i + 2] - edges[i]) / 2
        total += weight * (level * (outcome - q) if outcome >= q else (1 - level) * (q - outcome))
    return 2 * total


def pit(quantiles, outcome):
    """Return the probability that a forecast gave to values up to the outcome: linear between the quantiles; outside them linear in
    the normal score through the two outermost ones, and not nearer to 0 or 1 than 0.0001."""
    if outcome < quantiles[0] or outcome > quantiles[-1]:
        a, b = (0, 1) if outcome < quantiles[0] else (-2, -1)
        if quantiles[a] == quantiles[b]:
            return Fraction(1, 10000) if a == 0 else Fraction(9999, 10000)
        za, zb = NORMAL.inv_cdf(float(LEVELS[a])), NORMAL.inv_cdf(float(LEVELS[b]))
        p = NORMAL.cdf(za + (zb - za) * float((outcome - quantiles[a]) / (quantiles[b] - quantiles[a])))
        return Fraction(min(max(p, 0.0001), 0.9999))
    at = [i for i, q in enumerate(quantiles) if q == outcome]
    if at:
        return (LEVELS[at[0]] + LEVELS[at[-1]]) / 2
    i = sum(q < outcome for q in quantiles) - 1
    return LEVELS[i] + (LEVELS[i + 1] - LEVELS[i]) * (outcome - quantiles[i]) / (quantiles[i + 1] - quantiles[i])


def inside(quantiles, outcome, percent):
    low, high = (quantiles[LEVELS.index(p)] for p in COVERAGES[percent])
    return low <= outcome <= high


def follow(forecasts, heads):
    """Check the chain of the forecasts and return what each line says, in the order of the chain."""
    previous, parsed, targets = GENESIS, [], set()
    for seq, (signal, f) in enumerate(sorted(((s, f) for s, fs in forecasts.items() for f in fs), key=lambda x: x[1]["seq"]), 1):
        where = f"forecast {f['seq']} ({f['id']})"
        fields = f["line"].split("|")
        if f["seq"] != seq:
            sys.exit(f"{where}: forecast {seq} is missing")
        if hashlib.sha256(f["line"].encode()).hexdigest() != f["hash"]:
            sys.exit(f"{where}: the line does not hash to what is stated")
        if len(fields) != 10 or fields[9] != previous:
            sys.exit(f"{where}: the line does not follow the one before")
        previous = heads[f"forecast:{seq}"] = f["hash"]
        if not re.fullmatch("[0-9a-f]{64}", fields[8]):
            differ(where, "inputs_hash is no SHA-256")
        if (fields[1], fields[2]) in targets:
            differ(where, "its figure was forecast before")
        targets.add((fields[1], fields[2]))
        if parsed and fields[3] < parsed[-1]["fields"][3]:
            differ(where, "it was issued before the one before it")
        same(where, "the signal under which it is listed", signal, fields[1])
        same(where, "whether it is made up, as the first one is", f["synthetic"], parsed[0]["forecast"]["synthetic"] if parsed else f["synthetic"])
        for name, said, line in [
            ("id", f["id"], fields[0]),
            ("id", f["id"], fields[1] + "/" + fields[2]),
            ("target", f["target"]["figure"] + "/" + f["target"]["period"], fields[2]),
            ("issued_at", f["issued_at"], fields[3]),
            ("model_version", f["model_version"], fields[7]),
            ("inputs_hash", f["inputs_hash"], fields[8]),
            ("previous_hash", f["previous_hash"], fields[9]),
        ]:
            same(where, name, said, line)
        three = [distribution(fields[k], where) for k in (4, 5, 6)]
        for name, said, quantiles in zip(("quantiles", "naive 1", "naive 2"), (f["quantiles"], *f["naive"]), three):
            same(where, name, [(Fraction(x["p"]), Fraction(x["value"])) for x in said], list(zip(LEVELS, quantiles)))
        release = due(fields[1], fields[2])
        if release is None:
            sys.exit(f"{where}: no print of {fields[1]} is called {fields[2]}")
        same(where, "release_at", f["target"]["release_at"], release)
        if fields[3] > NOW:
            differ(where, f"it was issued at {fields[3]}, which is still to come")
        if fields[3] >= release:
            differ(where, f"it was issued at {fields[3]}, when its print was due since {release}")
        parsed.append({"forecast": f, "where": where, "fields": fields, "three": three, "release": release})
    return parsed


def grade(parsed, heads):
    """Check the chain of the grades, which their lines alone put into order, and score each forecast from its line."""
    graded = {p["forecast"]["grade"]["line"].rsplit("|", 1)[1]: p for p in parsed if p["forecast"]["grade"]}
    count = sum(p["forecast"]["grade"] is not None for p in parsed)
    previous, followed = GENESIS, 0
    while previous in graded:
        p = graded.pop(previous)
        g, where = p["forecast"]["grade"], "the grade of " + p["where"]
        if hashlib.sha256(g["line"].encode()).hexdigest() != g["hash"]:
            sys.exit(f"{where}: the line does not hash to what is stated")
        followed += 1
        previous = heads[f"grade:{followed}"] = g["hash"]
        fields = p["grade"] = g["line"].split("|")
        if len(fields) != 8:
            sys.exit(f"{where}: the line has {len(fields)} fields")
        same(where, "its forecast", p["forecast"]["id"], fields[0])
        same(where, "flags", ",".join(g["flags"]), fields[6])
        same(where, "published_at", g["published_at"], fields[2])
        if not {*fields[6].split(",")} <= {"", "void", "vintage_break"}:
            differ(where, f"its flags are {fields[6]}")
        if g["graded_at"] < fields[2]:
            differ(where, "it was graded before its print")
        if fields[2] > NOW or g["graded_at"] > NOW:
            differ(where, f"it is of {fields[2]} and was graded at {g['graded_at']}, which is still to come")
        if fields[1] == "":  # no print came in time
            same(where, "void", "void" in fields[6].split(","), True)
            if instant(fields[2]) < void_at(p):
                differ(where, f"it was given up at {fields[2]}, a print may come until {void_at(p)}")
            same(where, "the scores in the line", fields[3:6], [""] * 3)
            same(where, "the scores", [g["outcome"], g["crps"], g["crps_naive"], g["pit"], g["hits"]], [None, None, [], None, None])
            continue
        same(where, "void", "void" in fields[6].split(","), False)
        outcome = number(fields[1], where)
        p["scores"] = [crps(q, outcome) for q in p["three"]]
        p["pit"] = pit(p["three"][0], outcome)
        p["hits"] = {percent: inside(p["three"][0], outcome, percent) for percent in COVERAGES}
        same(where, "outcome", g["outcome"], outcome)
        if instant(fields[2]) >= void_at(p):
            differ(where, f"its print came at {fields[2]}, and it is void since {void_at(p)}")
        if fields[2] < p["fields"][3]:
            differ(where, "its figure was published before the forecast was issued")
        names, said_scores = ("crps", "crps of naive 1", "crps of naive 2"), (g["crps"], *(g["crps_naive"] or [None, None]))
        for name, said, line, score in zip(names, said_scores, fields[3:6], p["scores"]):
            same(where, name, said, score, score * NEAR)
            same(where, name + " in the line", number(line, where), score)
        same(where, "pit", g["pit"], p["pit"], 1e-12 + Fraction(p["pit"]) * NEAR)
        for percent, hit in p["hits"].items():
            same(where, f"the hit of {percent} %", (g["hits"] or {}).get(str(percent)), hit)
    if followed != count:
        sys.exit(f"the chain of the grades holds {followed} of {count} grades: one is missing, or two follow the same one")
    newest = max((p["fields"][3] for p in parsed), default="")
    for p in parsed:
        if p["forecast"]["grade"] is None and instant(newest) >= void_at(p) + GRADE_LAG:
            differ(p["where"], f"it has no grade and was not given up, its print could come until {void_at(p)}, and the record goes on until {newest}")


# The statistics.


def beta_fraction(a, b, x):
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    result = d
    for m in range(1, 10000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            c, d = (1 + factor / c) or tiny, 1 / ((1 + factor * d) or tiny)
            result *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return result


def beta(a, b, x, rest):
    """Return the regularised incomplete beta function I_x(a, b). Rest is 1 - x, which would lose digits where x is near to 1."""
    if x == 0 or rest == 0:
        return float(rest == 0)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest))
    if x < (a + 1) / (a + b + 2):
        return front * beta_fraction(a, b, x) / a
    return 1 - front * beta_fraction(b, a, rest) / b


def t_two_sided(t, df):
    """Return the probability that Student's t is further from 0 than t."""
    return beta(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t))


def t_quantile_95(df):
    """Return the value that Student's t stays below with a probability of 95 %, by bisection."""
    low, high = 0.0, 1.0
    while t_two_sided(high, df) > 0.1:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if t_two_sided(middle, df) > 0.1 else (low, middle)
    return high


def chi_square_9(x):
    """Return the probability that chi-square with 9 degrees of freedom is above x: a finite sum, because they are odd."""
    term, total = math.sqrt(2 * x / math.pi) * math.exp(-x / 2), 0.0
    for k in (3, 5, 7, 9):
        total += term
        term *= x / k
    return math.erfc(math.sqrt(x / 2)) + total


def binomial_band(n, p):
    """Return the smallest numbers of hits that are not exceeded with probabilities of 2.5 and 97.5 %."""
    total, band = Fraction(0), []
    for k in range(n + 1):
        total += math.comb(n, k) * p**k * (1 - p) ** (n - k)
        while len(band) < 2 and total >= (Fraction(1, 40), Fraction(39, 40))[len(band)]:
            band.append(k)
    return band


def long_run(values):
    """Return the sum B of squares and of products at lags up to L = floor(1.3 sqrt n), weighted as Bartlett does, and L."""
    n = len(values)
    mean = sum(values) / n
    lags = math.isqrt(169 * n // 100)
    centred = [v - mean for v in values]
    total = sum(v * v for v in centred)
    for lag in range(1, lags + 1):
        total += 2 * (1 - Fraction(lag, lags + 1)) * sum(centred[i] * centred[i - lag] for i in range(lag, n))
    return total, lags


def skill_against(scores, naive):
    """Return the skill, its interval of 90 % and the statistic of Diebold and Mariano with its probability; None for what is unknown."""
    n = len(scores)
    mean, mean_naive = sum(scores) / n, sum(naive) / n
    out = {"skill": 1 - mean / mean_naive, "low": None, "high": None, "dm": None, "dm_p": None}
    if n < MIN_INTERVAL:
        return out
    errors, lags = long_run([s - mean / mean_naive * x for s, x in zip(scores, naive)])
    if errors > 0:
        half = t_quantile_95(n / (lags + 1)) * math.sqrt(errors) / n / float(mean_naive)
        out["low"], out["high"] = float(out["skill"]) - half, float(out["skill"]) + half
    gains, _ = long_run([x - s for s, x in zip(scores, naive)])
    if gains > 0:
        out["dm"] = float(mean_naive - mean) / (math.sqrt(gains) / n) * math.sqrt((n - 1) / n)
        out["dm_p"] = t_two_sided(out["dm"], n - 1)
    return out


def compare_skill(where, said, scores, naive):
    mean = sum(naive) / len(naive)
    same(where, "crps_naive", said["crps_naive"], mean, mean * NEAR)
    here = skill_against(scores, naive)
    same(where, "skill", said["skill"], here["skill"], abs(here["skill"]) * NEAR)
    reach = Fraction(max(abs(x) for x in (here["skill"], here["low"], here["high"]) if x is not None))
    same(where, "the lower bound of the skill", said["interval_90"][0], here["low"], reach * NEAR)
    same(where, "the upper bound of the skill", said["interval_90"][1], here["high"], reach * NEAR)
    same(where, "dm", said["dm"], here["dm"], Fraction(abs(here["dm"] or 0)) * NEAR)
    same(where, "dm_p", said["dm_p"], here["dm_p"], Fraction(here["dm_p"] or 0) * NEAR)
    return here


def skills_of(graded):
    """Return the comparisons with both naive forecasts."""
    scores = [[p["scores"][k] for p in graded] for k in range(3)]
    return [skill_against(scores[0], naive) for naive in scores[1:]] if graded else []


def beats_both(graded, needed):
    return len(graded) >= needed and all(s["low"] is not None and s["low"] > 0 for s in skills_of(graded))


def decayed(graded, needed, checks, every):
    """Report whether a skill's upper bound over the last needed grades was below 0 at each of some checks running."""
    for check in range(checks):
        end = len(graded) - len(graded) % every - check * every
        if end < needed or not any(s["high"] is not None and s["high"] < 0 for s in skills_of(graded[end - needed : end])):
            return False
    return True


def compare_scores(where, said, graded):
    """Work out one half of a scorecard and return its skills."""
    n = len(graded)
    periods = [p["forecast"]["target"]["period"] for p in graded] or [None]
    same(where, "n", said["n"], n)
    same(where, "from", said["from"], periods[0])
    same(where, "to", said["to"], periods[-1])
    same(where, "naive", [s["naive"] for s in said["skill"]], [1, 2])
    same(where, "coverage", [c["percent"] for c in said["coverage"]], list(COVERAGES))
    if n == 0:
        same(where, "crps and pit_p", [said["crps"], said["pit_p"]], [None, None])
        return []
    scores = [[p["scores"][k] for p in graded] for k in range(3)]
    mean = sum(scores[0]) / n
    same(where, "crps", said["crps"], mean, mean * NEAR)
    skills = [compare_skill(f"{where}, against naive {k}", said["skill"][k - 1], scores[0], scores[k]) for k in (1, 2)]
    for cover in said["coverage"]:
        percent = cover["percent"]
        low, high = (LEVELS.index(p) for p in COVERAGES[percent])
        width = sum(p["three"][0][high] - p["three"][0][low] for p in graded) / n
        same(where, f"hits of {percent} %", cover["hits"], sum(p["hits"][percent] for p in graded))
        same(where, f"band of {percent} %", cover["band_95"], binomial_band(n, Fraction(percent, 100)))
        same(where, f"mean width of {percent} %", cover["mean_width"], width, width * NEAR)
    deciles = [0] * 10
    for p in graded:
        deciles[min(int(p["pit"] * 10), 9)] += 1
    same(where, "pit_deciles", said["pit_deciles"], deciles)
    p = chi_square_9(sum((count - n / 10) ** 2 for count in deciles) / (n / 10))
    same(where, "pit_p", said["pit_p"], p, 1e-12 + p * NEAR)
    return skills


def compare_card(signal, card, own):
    """Compare a figure's scorecard with its forecasts, the oldest first, and print a row of it."""
    where = f"the scorecard of {signal}, {card['figure']}"
    needed, checks, every = MONTHLY if signal in MONTHLY_SIGNALS else WEEKLY
    graded = [p for p in own if "scores" in p]
    ended = sum(p["forecast"]["grade"] is not None for p in own)
    same(where, "grades_needed", card["grades_needed"], needed)
    same(where, "open", card["open"], len(own) - ended)
    same(where, "void", card["void"], ended - len(graded))
    skills = compare_scores(where + ", all", card["all"], graded)
    compare_scores(where + ", last 52", card["last_52"], graded[-52:])
    same(where, "decayed", card["decayed"], decayed(graded, needed, checks, every))
    same(where, "label", card["label"], own[-1]["forecast"]["label"] if own else "no_skill")
    for p in own:
        for name in ("name", "unit"):
            same(p["where"], name, p["forecast"]["target"][name], card[name])
    for p in own:  # whether a label is provisional rests on forecasts that were made again of the past, which are not in the list
        known = [g for g in graded if g["grade"][2] <= p["fields"][3]]
        same(p["where"], "label skill", p["forecast"]["label"] == "skill", beats_both(known, needed))
        if p["forecast"]["label"] not in ("skill", "provisional", "no_skill"):
            differ(p["where"], f"its label is {p['forecast']['label']}")
    shown = ["{} [{}, {}]".format(*(percent(s[k]) for k in ("skill", "low", "high"))) for s in skills] or ["-", "-"]
    score = f"{float(sum(p['scores'][0] for p in graded) / len(graded)):.5g}" if graded else "-"
    hits = f"{sum(p['hits'][80] for p in graded)}/{len(graded)}"
    print(ROW.format(signal, card["figure"], len(graded), card["open"], card["void"], score, *shown, hits, card["label"]))


ROW = "{:21} {:25} {:>6} {:>4} {:>4}  {:>9}  {:27} {:27} {:>9}  {}"


def percent(x):
    return "-" if x is None else f"{100 * float(x):.1f} %"


def main():
    forecasts, cards = read()
    heads = {}
    parsed = follow(forecasts, heads)
    grade(parsed, heads)
    for kept in sys.argv[1:]:
        name, _, known = kept.rpartition(":")
        same("the head that was kept", name, heads.get(name), known)
    print(ROW.format("signal", "figure", "graded", "open", "void", "crps", "skill against naive 1", "against naive 2", "in 80 %", "label"))
    for signal, said in cards.items():
        own = [p for p in parsed if p["fields"][1] == signal]
        figures = {p["fields"][2].split("/")[0] for p in own}
        same(f"the scorecard of {signal}", "the figures without one", sorted(figures - {card["figure"] for card in said}), [])
        for card in said:
            compare_card(signal, card, [p for p in own if p["fields"][2].split("/")[0] == card["figure"]])
    if differences:
        sys.exit("\n".join([f"{len(differences)} differences:", *differences]))
    print(f"{len(parsed)} forecasts of {BASE}: all lines hash to what is stated, both chains hold, all were issued before their prints were due, all scores and scorecards agree.")
    print("The outcomes, their times, and that no print came are the server's word: compare them with the publisher's figures.")
    for chain in ("forecast", "grade"):
        count = sum(name.startswith(chain) for name in heads)
        if count:
            print(f"{chain}:{count}:{heads[f'{chain}:{count}']}")


if __name__ == "__main__":
    main()
