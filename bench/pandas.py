"""Three signals as one writes them with pandas: joins, rolling windows, cumulative sums and searches, no loop over rows.

Usage: pandas.py FOLDER. FOLDER/<series>.days, .values and .known hold the inputs (days since 1970 as int64, float64, seconds since
1970 as int64). For each line of standard input, the name of a signal, it computes the signal, writes its columns (value, lo, hi,
baseline, scale) to FOLDER/<signal>.out, and answers with the seconds that the computation took.
"""

import os
import sys
import time

import numpy as np
import pandas as pd

FOLDER = sys.argv[1]
AT = int(sys.argv[2])  # seconds since 1970
DAY = 86400


def load(name):
    path = os.path.join(FOLDER, name)
    days = np.fromfile(path + ".days", dtype="<i8")
    frame = pd.DataFrame({"value": np.fromfile(path + ".values", dtype="<f8"), "known": np.fromfile(path + ".known", dtype="<i8")})
    frame.index = pd.Index(days, name="day")
    return frame


INPUTS = {f[: -len(".days")]: load(f[: -len(".days")]) for f in os.listdir(FOLDER) if f.endswith(".days")}


def years_before(days, k):
    """The days with the same month and day k years earlier, the 28th for a 29 February that is not there."""
    dates = pd.DatetimeIndex(days.astype("datetime64[D]"))
    year, month, day = dates.year.values - k, dates.month.values, dates.day.values
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    day = np.where((month == 2) & (day == 29) & ~leap, 28, day)
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    return months.astype("datetime64[D]").astype("i8") + day - 1


def moments(days, values, centres, reach, least):
    """Mean and standard deviation of all values within reach days of any of the centres, where three years have at least least."""
    middle = values.mean()  # the sums keep their digits
    sums = np.concatenate([[0.0], np.cumsum(values - middle)])
    squares = np.concatenate([[0.0], np.cumsum((values - middle) ** 2)])
    n, total, square, matched = 0, 0.0, 0.0, 0
    for centre, valid in centres:
        lo = np.searchsorted(days, centre - reach, "left")
        hi = np.searchsorted(days, centre + reach, "right")
        hi = np.where(valid, hi, lo)
        n = n + (hi - lo)
        total = total + sums[hi] - sums[lo]
        square = square + squares[hi] - squares[lo]
        matched = matched + (hi - lo >= least)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / n
        deviation = np.sqrt(np.maximum(square - n * mean**2, 0) / (n - 1))
    known = matched >= 3
    return np.where(known, mean + middle, np.nan), np.where(known, deviation, np.nan)


def crack():
    crude, gasoline, diesel = INPUTS["eia.RWTC"], INPUTS["eia.EER_EPMRU_PF4_Y35NY_DPG"], INPUTS["eia.EER_EPD2DXL0_PF4_Y35NY_DPG"]
    legs = pd.concat([crude, gasoline, diesel], axis=1, join="inner", keys=["c", "g", "d"])
    value = (2 * 42 * legs["g", "value"] + 42 * legs["d", "value"] - 3 * legs["c", "value"]) / 3
    known = legs.xs("known", axis=1, level=1).max(axis=1).values
    days, v = legs.index.values, value.values
    step = value.diff().rolling(60).std().values
    stale = (days + 14) * DAY
    read = np.minimum(known, stale)
    read[-1] = AT
    business = np.busday_count((days + 1).astype("datetime64[D]"), (read // DAY + 1).astype("datetime64[D]"))
    half = 1.645 * step * np.sqrt(np.maximum(business, 0))
    always = np.ones(len(days), dtype=bool)
    baseline, scale = moments(days, v, [(years_before(days, k), always) for k in range(1, 6)], 15, 10)
    return v, v - half, v + half, baseline, scale


def hormuz():
    ships = INPUTS["portwatch.chokepoint6.n_total"]
    mean = ships["value"].rolling(7).mean()
    days = ships.index.values
    whole = np.concatenate([np.zeros(6, dtype=bool), days[6:] - days[:-6] == 6])
    days, v = days[whole], mean.values[whole]
    count, z2 = 7 * v, 1.645**2
    half = 1.645 * np.sqrt(np.maximum(count, 0) + z2 / 4)
    lo = np.maximum(0, (count + z2 / 2 - half) / 7 * 0.83)
    hi = (count + z2 / 2 + half) / 7 / 0.83
    year = pd.DatetimeIndex(days.astype("datetime64[D]")).year.values
    centres = [(years_before(days, year - y), year > y) for y in range(2019, 2025)]
    baseline, scale = moments(days, v, centres, 15, 16)
    return v, lo, hi, baseline, scale


def petroleum():
    stocks = INPUTS["eia.WCESTUS1"]
    days, v = stocks.index.values, stocks["value"].values
    change = np.where(np.concatenate([[0], np.diff(days)]) == 7, np.concatenate([[np.nan], np.diff(v)]), np.nan)
    same, moved = [], []
    for k in range(1, 6):
        centre = years_before(days, k)
        j = np.searchsorted(days, centre - 3, "left")
        found = (j < len(days)) & (days[np.minimum(j, len(days) - 1)] <= centre + 3)
        j = np.where(found, j, 0)
        same.append(np.where(found, v[j], np.nan))
        moved.append(np.where(found, change[j], np.nan))
    same, moved = pd.DataFrame(np.column_stack(same)), pd.DataFrame(np.column_stack(moved))
    enough = (same.count(axis=1) >= 3).values
    baseline = np.where(enough, same.mean(axis=1).values, np.nan)
    scale = np.where(enough, same.std(axis=1).values, np.nan)
    season = np.where((moved.count(axis=1) >= 3).values, moved.mean(axis=1).values, np.nan)
    surprise = change - season
    start = np.searchsorted(days, years_before(days, 5), "right")
    width = int((np.arange(len(days)) - start).max()) + 1
    padded = np.concatenate([np.full(width - 1, np.nan), surprise])
    window = np.lib.stride_tricks.sliding_window_view(padded, width).copy()
    position = np.arange(len(days))[:, None] - (width - 1) + np.arange(width)[None, :]
    window[position < start[:, None]] = np.nan
    window.sort(axis=1)
    n = (~np.isnan(window)).sum(axis=1)
    row = np.arange(len(days))
    low, high = (window[row, np.clip(np.ceil(p * n - 1e-9).astype(int), 1, np.maximum(n, 1)) - 1] for p in (0.05, 0.95))
    few = n < 104
    return v, np.where(few, np.nan, v + low), np.where(few, np.nan, v + high), baseline, scale


SIGNALS = {"crack-spread-321": crack, "hormuz-transit": hormuz, "eia-weekly-petroleum": petroleum}

for line in sys.stdin:
    name = line.strip()
    begin = time.perf_counter()
    columns = SIGNALS[name]()
    took = time.perf_counter() - begin
    np.column_stack([np.asarray(c, dtype="<f8") for c in columns]).tofile(os.path.join(FOLDER, name + ".out"))
    print(took, flush=True)
