"""Three signals and their backtests as one writes them with pandas: joins, rolling windows, cumulative sums, searches and ranks, no
loop over rows, nothing computed twice.

Usage: reference.py FOLDER AT CORES. FOLDER/<series>.days, .values and .known hold the inputs (days since 1970 as int64, float64, seconds since
1970 as int64). For each line of standard input it answers with the seconds of processor time that the computation took, and the seconds that
went by: the name of a signal writes its columns (value, lo, hi, baseline, scale) to FOLDER/<signal>.out, the name with "backtest " before it
writes what backtest returns, and "all" computes everything on all cores and writes nothing.
"""

import concurrent.futures
import math
import os
import sys
import time

import numpy as np
import pandas as pd

FOLDER = sys.argv[1]
AT = int(sys.argv[2])  # seconds since 1970
CORES = int(sys.argv[3])
DAY = 86400


def load(name):
    path = os.path.join(FOLDER, name)
    days = np.fromfile(path + ".days", dtype="<i8")
    frame = pd.DataFrame({"value": np.fromfile(path + ".values", dtype="<f8"), "known": np.fromfile(path + ".known", dtype="<i8")})
    frame.index = pd.Index(days, name="day")
    return frame


INPUTS = {f[: -len(".days")]: load(f[: -len(".days")]) for f in os.listdir(FOLDER) if f.endswith(".days")}


class Calendar:
    """The dates of a column of days, taken apart once."""

    def __init__(self, days):
        dates = pd.DatetimeIndex(days.astype("datetime64[D]"))
        self.days, self.year, month, self.day = days, dates.year.values, dates.month.values, dates.day.values
        self.month = month - 1
        self.leap_day = np.flatnonzero((month == 2) & (self.day == 29))

    def years_before(self, k):
        """The days with the same month and day k years earlier, the 28th for a 29 February that is not there."""
        year, day = self.year - k, self.day
        if len(self.leap_day):
            y = np.broadcast_to(year, day.shape)[self.leap_day]
            day = day.copy()
            day[self.leap_day] -= ~((y % 4 == 0) & ((y % 100 != 0) | (y % 400 == 0)))
        months = ((year - 1970) * 12 + self.month).astype("datetime64[M]")
        return months.astype("datetime64[D]").astype("i8") + (day - 1)


def moments(days, values, centres, reach, least):
    """Mean and standard deviation of all values within reach days of any of the centres that have at least least of them, where those
    are three or more."""
    middle = values.mean()  # the sums keep their digits
    sums = np.concatenate([[0.0], np.cumsum(values - middle)])
    squares = np.concatenate([[0.0], np.cumsum((values - middle) ** 2)])
    n, total, square, matched = 0, 0.0, 0.0, 0
    for centre, valid in centres:
        lo = np.searchsorted(days, centre - reach, "left")
        hi = np.searchsorted(days, centre + reach, "right")
        match = hi - lo >= least
        if valid is not None:
            match &= valid
        hi = np.where(match, hi, lo)
        n = n + (hi - lo)
        total = total + sums[hi] - sums[lo]
        square = square + squares[hi] - squares[lo]
        matched = matched + match
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        deviation = np.sqrt(np.maximum(square - n * mean**2, 0) / (n - 1))
    known = matched >= 3
    return np.where(known, mean + middle, np.nan), np.where(known, deviation, np.nan)


def told(known):
    """The rows that a backtest reads: the newest of the estimates that became known at once."""
    return np.append(known[1:] > np.maximum.accumulate(known)[:-1], True)


def spread(rows, *columns):
    """Columns of some rows as columns of all, with nothing in the others."""
    out = []
    for column in columns:
        whole = np.full(len(rows), np.nan)
        whole[rows] = column
        out.append(whole)
    return out


def crack(inputs, tested=False):
    crude, gasoline, diesel = inputs["eia.RWTC"], inputs["eia.EER_EPMRU_PF4_Y35NY_DPG"], inputs["eia.EER_EPD2DXL0_PF4_Y35NY_DPG"]
    legs = pd.concat([crude, gasoline, diesel], axis=1, join="inner", keys=["c", "g", "d"])
    value = (2 * 42 * legs["g", "value"] + 42 * legs["d", "value"] - 3 * legs["c", "value"]) / 3
    known = legs.xs("known", axis=1, level=1).max(axis=1).values
    days, v = legs.index.values, value.values
    if tested:  # no interval is read
        rows = told(known)
        dates, none = Calendar(days[rows]), np.full(len(days), np.nan)
        return days, known, v, none, none, *spread(rows, *moments(days, v, [(dates.years_before(k), None) for k in range(1, 6)], 15, 10))
    step = value.diff().rolling(60).std().values
    stale = (days + 14) * DAY
    read = np.minimum(known, stale)
    read[-1] = AT
    business = np.busday_count((days + 1).astype("datetime64[D]"), (read // DAY + 1).astype("datetime64[D]"))
    half = 1.645 * step * np.sqrt(np.maximum(business, 0))
    dates = Calendar(days)
    baseline, scale = moments(days, v, [(dates.years_before(k), None) for k in range(1, 6)], 15, 10)
    return days, known, v, v - half, v + half, baseline, scale


def hormuz(inputs, tested=False):
    ships = inputs["portwatch.chokepoint6.n_total"]
    week = ships.rolling(7)
    mean, known = week["value"].mean().values, week["known"].max().values
    days = ships.index.values
    whole = np.concatenate([np.zeros(6, dtype=bool), days[6:] - days[:-6] == 6])
    days, known, v = days[whole], known[whole], mean[whole]
    rows = told(known) if tested else np.ones(len(days), dtype=bool)
    dates = Calendar(days[rows])
    centres = [(dates.years_before(dates.year - y), dates.year > y) for y in range(2019, 2025)]
    baseline, scale = spread(rows, *moments(days, v, centres, 15, 16))
    if tested:  # no interval is read
        none = np.full(len(days), np.nan)
        return days, known, v, none, none, baseline, scale
    # What re-estimates moved a week by, on the scale of counting errors (Anscombe), before any was seen.
    root = 2 * np.sqrt(7 * v + 0.375)
    lo, hi = (np.maximum(0, (np.maximum(0, (root + by) / 2) ** 2 - 0.375) / 7) for by in (-6.9, 3.4))
    return days, known, v, lo, hi, baseline, scale


class Since(pd.api.indexers.BaseIndexer):
    """Windows that begin at the given rows and end with the row itself."""

    def __init__(self, start):
        super().__init__()
        self.start = start

    def get_window_bounds(self, num_values=0, min_periods=None, center=None, closed=None, step=None):
        return self.start, np.arange(1, num_values + 1)


def petroleum(inputs, tested=False):
    stocks = inputs["eia.WCESTUS1"]
    days, v = stocks.index.values, stocks["value"].values
    change = None if tested else np.where(np.concatenate([[0], np.diff(days)]) == 7, np.concatenate([[np.nan], np.diff(v)]), np.nan)
    same, moved, dates = [], [], Calendar(days)
    for k in range(1, 6):
        centre = dates.years_before(k)
        j = np.searchsorted(days, centre - 3, "left")
        found = (j < len(days)) & (days[np.minimum(j, len(days) - 1)] <= centre + 3)
        j = np.where(found, j, 0)
        same.append(np.where(found, v[j], np.nan))
        if not tested:
            moved.append(np.where(found, change[j], np.nan))
    same = pd.DataFrame(np.column_stack(same))
    enough = (same.count(axis=1) >= 3).values
    baseline = np.where(enough, same.mean(axis=1).values, np.nan)
    scale = np.where(enough, same.std(axis=1).values, np.nan)
    if tested:  # no interval is read
        none = np.full(len(days), np.nan)
        return days, stocks["known"].values, v, none, none, baseline, scale
    moved = pd.DataFrame(np.column_stack(moved))
    season = np.where((moved.count(axis=1) >= 3).values, moved.mean(axis=1).values, np.nan)
    surprise = change - season
    window = pd.Series(surprise).rolling(Since(np.searchsorted(days, dates.years_before(5), "right")), min_periods=104)
    n = window.count().values
    low = window.quantile(0.05, interpolation="lower").values
    # The smallest value that 95 % do not exceed: of 20 values the one below rank 0.95 * 19, of 21 the one above 0.95 * 20.
    below, above = (window.quantile(0.95, interpolation=how).values for how in ("lower", "higher"))
    return days, stocks["known"].values, v, v + low, v + np.where(n % 20 == 0, below, above), baseline, scale


def arrived(series):
    """The points that became known before or with every later one."""
    known = series["known"].values
    return series[known <= np.minimum.accumulate(known[::-1])[::-1]]


def ranked(x):
    """Ranks of mean 0 and mean square 1."""
    ranks = pd.Series(x).rank().values - (len(x) + 1) / 2
    return ranks / np.sqrt((ranks**2).mean())


def tail(t, nu):
    """The probability of a value at least as far from zero as t under Student's distribution: the incomplete beta function at
    nu / (nu + t²), by its continued fraction."""
    a, b, x = nu / 2, 0.5, nu / (nu + t * t)
    swap = x > (a + 1) / (a + b + 2)
    if swap:
        a, b, x = b, a, 1 - x
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    d = 1 / (1 - (a + b) * x / (a + 1))
    c, f = 1.0, d
    for m in range(1, 1000):
        for u in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / (1 + u * d)
            c = 1 + u / c
            f *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return 1 - front * f if swap else front * f


def p_value(rx, ry, ic, t, pairs, overlap):
    """The larger of the tail of t and the share of at most 999 circular shifts of the outcomes that relate as much."""
    n = len(rx)
    lags = min(max(int(1.3 * math.sqrt(n)), 2 * overlap), n - 1)
    first, last = lags + 1, n - lags - 1
    count = min(999, last - first + 1)
    shifts = first + np.arange(count) * (last - first) // max(count - 1, 1)
    moved = np.fft.irfft(np.fft.rfft(rx).conj() * np.fft.rfft(ry), n)[shifts] / n
    return max(tail(abs(t), pairs - 2), (1 + (np.abs(moved) >= abs(ic)).sum()) / (count + 1))


def edge(x, y):
    """Cases, rank correlation, and its t-value in as many independent pairs as persistent series have (Bartlett 1935); the ranks and these
    pairs as well."""
    n = len(x)
    rx, ry = ranked(x), ranked(y)
    ic = (rx * ry).mean()
    total = 0.0
    for k in range(1, n // 2):
        a, b = (rx[:-k] * rx[k:]).sum() / n, (ry[:-k] * ry[k:]).sum() / n
        if a <= 0 or b <= 0:
            break
        total += (n - k) * a * b
    pairs = min(n, n * n / (n + 2 * total))
    return n, ic, ic * np.sqrt((pairs - 2) / (1 - ic**2)) if pairs > 4 else np.nan, rx, ry, pairs


def backtest(signal, own, target):
    """Cases, rank correlation, t-value, p-value and hit rate of minus the z-score against the change of the target over the 20 steps that begin
    once it is known, of all cases and of the newer half, and the rank correlation of the target's last known change."""
    steps = 20
    inputs = {name: arrived(INPUTS[name]) for name in own}
    days, known, value, _, _, baseline, scale = signal(inputs, True)
    if target is None:
        when, told, price = days * DAY, known, value
    else:
        points = arrived(INPUTS[target])
        when, told, price = points.index.values * DAY, points["known"].values, points["value"].values
    known = np.maximum.accumulate(known)
    last = np.append(known[1:] != known[:-1], True)
    known = known[last]
    with np.errstate(invalid="ignore", divide="ignore"):
        predicted = -np.where(scale[last] > 0, (value[last] - baseline[last]) / scale[last], np.nan)
    start = np.searchsorted(when, known, "left")
    keep = start + steps < len(when)
    keep[:-1] &= (start[1:] != start[:-1]) | ~keep[1:]
    known, predicted, start = known[keep], predicted[keep], start[keep]
    there = ~np.isnan(predicted)
    known, predicted, start = known[there], predicted[there], start[there]
    happened = price[start + steps] - price[start]
    newest = np.searchsorted(told, known, "right") - 1
    naive = np.where(newest >= steps, price[newest] - price[newest - steps], np.nan)
    told_of = (predicted != 0) & (happened != 0)
    hits = 100 * ((predicted > 0) == (happened > 0))[told_of].mean()
    half = len(start) // 2
    some = ~np.isnan(naive)
    begin, end = when[start], when[start + steps]
    overlap = max(0, (np.searchsorted(begin, end, "left") - 1 - np.arange(len(begin))).max())
    n, ic, t, rx, ry, pairs = edge(predicted, happened)
    return (
        n,
        ic,
        t,
        p_value(rx, ry, ic, t, pairs, overlap),
        hits,
        *edge(predicted[half:], happened[half:])[:3],
        (ranked(naive[some]) * ranked(happened[some])).mean(),
    )


SIGNALS = {
    "crack-spread-321": (crack, ["eia.RWTC", "eia.EER_EPMRU_PF4_Y35NY_DPG", "eia.EER_EPD2DXL0_PF4_Y35NY_DPG"], None),
    "hormuz-transit": (hormuz, ["portwatch.chokepoint6.n_total"], "eia.RWTC"),
    "eia-weekly-petroleum": (petroleum, ["eia.WCESTUS1"], "eia.RWTC"),
}


def serve(compute):
    """Answers the lines of standard input. compute takes a signal's name and whether its backtest is wanted, and returns columns."""
    pool = concurrent.futures.ThreadPoolExecutor(CORES)
    for line in sys.stdin:
        what, _, name = line.strip().rpartition(" ")
        begin, used = time.perf_counter(), time.process_time()
        if name == "all":
            list(pool.map(lambda asked: compute(*asked), [(name, tested) for name in SIGNALS for tested in (True, False)]))
        else:
            columns = compute(name, bool(what))
        used, elapsed = time.process_time() - used, time.perf_counter() - begin
        if name != "all":
            np.column_stack([np.asarray(c, dtype="<f8") for c in columns]).tofile(os.path.join(FOLDER, name + ".out"))
        print(used, elapsed, flush=True)


def answer(name, tested):
    signal, own, target = SIGNALS[name]
    return backtest(signal, own, target) if tested else signal(INPUTS)[2:]


if __name__ == "__main__":
    serve(answer)
