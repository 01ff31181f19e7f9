"""The signals and backtests of reference.py as loops that numba compiles for this machine: joins, sliding windows and sorted windows with
one pass each, running sums, and dates taken apart by arithmetic. It is used as reference.py is, and takes its inputs from there.
"""

import numba
import numpy as np

import reference

AT = reference.AT
DAY = 86400
INPUTS = {name: (frame.index.values, frame["value"].values, frame["known"].values) for name, frame in reference.INPUTS.items()}
compiled = numba.njit(nogil=True, error_model="numpy")  # a division by zero needs no check


@compiled
def civil(day):
    """Year, month and day of a number of days since 1970 (Hinnant, chrono-compatible low-level date algorithms)."""
    z = day + 719468
    era = z // 146097
    doe = z - era * 146097
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    return yoe + era * 400 + (1 if month <= 2 else 0), month, doy - (153 * mp + 2) // 5 + 1


@compiled
def leap(year):
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


@compiled
def number(year, month, day):
    """The days from 1970 to a date; the 28th for a 29 February that is not there."""
    if month == 2 and day == 29 and not leap(year):
        day = 28
    y = year - (1 if month <= 2 else 0)
    era = y // 400
    yoe = y - era * 400
    doy = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719468


@compiled
def weekdays(day):
    """The days from Monday to Friday from Monday 1969-12-29 to a day."""
    weeks = (day + 3) // 7
    return 5 * weeks + min(day + 3 - 7 * weeks + 1, 5)


@compiled
def sums_of(values):
    """The mean, and the running sums of the distances from it and of their squares: so they keep their digits."""
    middle = 0.0
    for x in values:
        middle += x
    middle /= max(1, len(values))
    sums, squares = np.zeros(len(values) + 1), np.zeros(len(values) + 1)
    for i in range(len(values)):
        y = values[i] - middle
        sums[i + 1], squares[i + 1] = sums[i] + y, squares[i] + y * y
    return middle, sums, squares


@compiled
def positions(days):
    """For every day from the first on, how many of the days lie before it, with room for 40 days at either end."""
    first = days[0] - 40
    out = np.empty(days[-1] - first + 41, dtype=np.int64)
    n = 0
    for i in range(len(out)):
        while n < len(days) and days[n] < first + i:
            n += 1
        out[i] = n
    return first, out


@compiled
def told(known, tested):
    """Which estimates a backtest reads: the newest of those that became known at once. Without a backtest, all are read."""
    n = len(known)
    read = np.ones(n, dtype=np.bool_)
    if tested:
        newest = np.int64(0)
        for i in range(n - 1):
            newest = max(newest, known[i])
            read[i] = known[i + 1] > newest
    return read


@compiled
def calendar(first, last, back):
    """For each day from first to last, which year it is in, and its place in a leap year. The years begin so many before the first; for each,
    the day on which it begins, and whether it is a leap year."""
    base = civil(first)[0] - back
    begins, leaps = np.empty(civil(last)[0] - base + 1, dtype=np.int32), np.empty(civil(last)[0] - base + 1, dtype=np.bool_)
    for k in range(len(begins)):
        begins[k], leaps[k] = number(base + k, 1, 1), leap(base + k)
    year, place_ = np.empty(last - first + 1, dtype=np.int32), np.empty(last - first + 1, dtype=np.int32)
    k = back
    at = first - begins[k]
    if at > 58 and not leaps[k]:
        at += 1
    for i in range(len(year)):
        year[i], place_[i] = k, at
        at += 1
        if at == 59 and not leaps[k]:
            at = 60
        if at == 366:
            k, at = k + 1, 0
    return base, begins, leaps, year, place_


@compiled
def seasons(days, values, first_year, last_year, reach, least, read):
    """Mean and standard deviation of the values within reach days of the same month and day in the years from first_year to last_year
    that lie before, or in the five years before where first_year is 0, for the days that are read."""
    n = len(days)
    baseline, scale = np.full(n, np.nan), np.full(n, np.nan)
    if n == 0:
        return baseline, scale
    middle, sums, squares = sums_of(values)
    first, before = positions(days)
    back = max(5, civil(days[0])[0] - first_year) if first_year else 5
    base, begins, leaps, year, place_ = calendar(days[0], days[-1], back)
    top = len(before) - 1
    for i in range(n):
        if not read[i]:
            continue
        k, at = year[days[i] - days[0]], place_[days[i] - days[0]]
        begin, end = (first_year - base, min(last_year - base, k - 1)) if first_year else (k - 5, k - 1)
        matched, count, total, square = 0, 0, 0.0, 0.0
        for y in range(begin, end + 1):
            centre = begins[y] + at - first
            if at >= 59 and not leaps[y]:  # the 28th for a 29 February that is not there, and every later day of the year
                centre -= 1
            a, z = centre - reach, centre + reach + 1
            if z < 0 or a > top:
                continue
            lo, hi = before[max(0, a)], before[min(top, z)]
            if hi - lo >= least:
                matched += 1
                count += hi - lo
                total += sums[hi] - sums[lo]
                square += squares[hi] - squares[lo]
        if matched >= 3:
            mean = total / count
            baseline[i] = mean + middle
            scale[i] = np.sqrt(max(square - count * mean * mean, 0.0) / (count - 1))
    return baseline, scale


@compiled
def crack(c_days, c, c_known, g_days, g, g_known, d_days, d, d_known, at, tested):
    most = min(len(c), len(g), len(d))
    days, known, value = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty(most)
    n = a = b = 0
    for i in range(len(c)):
        while a < len(g) and g_days[a] < c_days[i]:
            a += 1
        while b < len(d) and d_days[b] < c_days[i]:
            b += 1
        if a == len(g) or b == len(d):
            break
        if g_days[a] == c_days[i] and d_days[b] == c_days[i]:
            days[n], known[n] = c_days[i], max(c_known[i], g_known[a], d_known[b])
            value[n] = (2 * 42 * g[a] + 42 * d[b] - 3 * c[i]) / 3
            n += 1
    days, known, value = days[:n], known[:n], value[:n]
    lo, hi = np.full(n, np.nan), np.full(n, np.nan)
    if tested:  # no interval is read
        baseline, scale = seasons(days, value, 0, 0, 15, 10, told(known, tested))
        return days, known, value, lo, hi, baseline, scale
    step = np.empty(max(0, n - 1))
    for i in range(n - 1):
        step[i] = value[i + 1] - value[i]
    _, sums, squares = sums_of(step)
    for i in range(60, n):
        total, square = sums[i] - sums[i - 60], squares[i] - squares[i - 60]
        sd = np.sqrt(max(square - total * total / 60, 0.0) / 59)
        read = at if i == n - 1 else min(known[i], (days[i] + 14) * DAY)
        half = 1.645 * sd * np.sqrt(max(weekdays(read // DAY) - weekdays(days[i]), 0))
        lo[i], hi[i] = value[i] - half, value[i] + half
    baseline, scale = seasons(days, value, 0, 0, 15, 10, told(known, tested))
    return days, known, value, lo, hi, baseline, scale


@compiled
def hormuz(s_days, ships, s_known, at, tested):
    most = len(ships)
    days, known, value = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64), np.empty(most)
    lo, hi = np.empty(most), np.empty(most)
    n = 0
    for i in range(6, most):
        if s_days[i] - s_days[i - 6] != 6:
            continue
        total, newest = 0.0, s_known[i]
        for j in range(i - 6, i + 1):
            total += ships[j]
            newest = max(newest, s_known[j])
        days[n], known[n], value[n] = s_days[i], newest, total / 7
        if not tested:  # a backtest reads no interval
            root = 2 * np.sqrt(7 * value[n] + 0.375)
            low, high = max(0.0, (root - 6.9) / 2), max(0.0, (root + 3.4) / 2)
            lo[n], hi[n] = max(0.0, (low * low - 0.375) / 7), max(0.0, (high * high - 0.375) / 7)
        n += 1
    baseline, scale = seasons(days[:n], value[:n], 2019, 2024, 15, 16, told(known[:n], tested))
    return days[:n], known[:n], value[:n], lo[:n], hi[:n], baseline, scale


@compiled
def place(window, n, x):
    """How many of the first n members of a sorted window are less than x."""
    lo, hi = 0, n
    while lo < hi:
        half = (lo + hi) // 2
        if window[half] < x:
            lo = half + 1
        else:
            hi = half
    return lo


@compiled
def petroleum(days, v, known, at, tested):
    n = len(v)
    lo, hi = np.full(n, np.nan), np.full(n, np.nan)
    baseline, scale = np.full(n, np.nan), np.full(n, np.nan)
    change, surprise = np.full(n, np.nan), np.full(n, np.nan)
    next_ = np.zeros(5, dtype=np.int64)
    window = np.empty(n)
    size = oldest = 0
    for i in range(n):
        if i > 0 and days[i] - days[i - 1] == 7:
            change[i] = v[i] - v[i - 1]
        year, month, day = civil(days[i])
        levels, moves, level, move, square = 0, 0, 0.0, 0.0, 0.0
        for k in range(5):
            centre = number(year - k - 1, month, day)
            while days[next_[k]] < centre - 3:
                next_[k] += 1
            j = next_[k]
            if days[j] <= centre + 3:
                levels += 1
                level += v[j] - v[i]
                square += (v[j] - v[i]) ** 2
                if not tested and not np.isnan(change[j]):
                    moves += 1
                    move += change[j]
        if levels >= 3:
            mean = level / levels
            baseline[i] = v[i] + mean
            scale[i] = np.sqrt(max(square - levels * mean * mean, 0.0) / (levels - 1))
        if tested:  # no interval is read
            continue
        if moves >= 3:
            surprise[i] = change[i] - move / moves
        start = number(year - 5, month, day)
        new = surprise[i]
        while days[oldest] <= start:
            gone = surprise[oldest]
            oldest += 1
            if np.isnan(gone):
                continue
            out = place(window, size, gone)
            if not np.isnan(new):  # the new one takes the place of the one that goes
                while out + 1 < size and window[out + 1] < new:
                    window[out] = window[out + 1]
                    out += 1
                while out > 0 and window[out - 1] > new:
                    window[out] = window[out - 1]
                    out -= 1
                window[out], new = new, np.nan
                continue
            size -= 1
            for j in range(out, size):
                window[j] = window[j + 1]
        if not np.isnan(new):
            at_ = place(window, size, new)
            for j in range(size, at_, -1):
                window[j] = window[j - 1]
            window[at_] = new
            size += 1
        if size >= 104:
            lo[i] = v[i] + window[max(int(np.ceil(0.05 * size)), 1) - 1]
            hi[i] = v[i] + window[max(int(np.ceil(0.95 * size)), 1) - 1]
    return days, known, v, lo, hi, baseline, scale


@compiled
def arrived(days, values, known):
    """The points that became known before or with every later one."""
    keep = np.empty(len(days), dtype=np.bool_)
    first = np.iinfo(np.int64).max
    for i in range(len(days) - 1, -1, -1):
        keep[i] = known[i] <= first
        first = min(first, known[i])
    return days[keep], values[keep], known[keep]


@compiled
def in_order(x):
    """The places of numbers in ascending order: sorted by their 22 leading bits, and then moved past their neighbours. -0 counts as 0."""
    n = len(x)
    if n < 900:
        return np.argsort(x)
    bits = (x + 0.0).view(np.int64)
    leading = np.empty(n, dtype=np.int64)
    counts = np.zeros((2, 2048), dtype=np.int64)
    for i in range(n):
        b = bits[i]
        k = (~b if b < 0 else b ^ np.int64(-0x8000000000000000)) >> 42 & 0x3FFFFF
        leading[i] = k
        counts[0, k & 2047] += 1
        counts[1, k >> 11] += 1
    order, other = np.arange(n), np.empty(n, dtype=np.int64)
    for digit in range(2):
        before = 0
        for value in range(2048):
            count = counts[digit, value]
            counts[digit, value] = before
            before += count
        for i in range(n):
            k = leading[order[i]] >> 11 * digit & 2047
            other[counts[digit, k]] = order[i]
            counts[digit, k] += 1
        order, other = other, order
    moves = 0
    for i in range(1, n):
        o = order[i]
        v = x[o]
        j = i
        while j > 0 and x[order[j - 1]] > v:
            order[j] = order[j - 1]
            j -= 1
        order[j] = o
        moves += i - j
        if moves > 4 * n:  # many have their leading bits in common
            return np.argsort(x)
    return order


@compiled
def ranks(x):
    """Ranks of mean 0 and mean square 1; equal numbers share the mean of theirs."""
    n = len(x)
    order = in_order(x)
    out = np.empty(n)
    square, i = 0.0, 0
    while i < n:
        j = i + 1
        while j < n and x[order[j]] == x[order[i]]:
            j += 1
        r = (i + j - n) / 2
        for k in range(i, j):
            out[order[k]] = r
        square += (j - i) * r * r
        i = j
    return out / np.sqrt(square / n)


@compiled
def edge(x, y):
    n = len(x)
    rx, ry = ranks(x), ranks(y)
    ic = 0.0
    for i in range(n):
        ic += rx[i] * ry[i]
    ic /= n
    total = 0.0
    for k in range(1, n // 2):
        a = b = 0.0
        for i in range(n - k):
            a += rx[i] * rx[i + k]
            b += ry[i] * ry[i + k]
        if a <= 0 or b <= 0:
            break
        total += (n - k) * (a / n) * (b / n)
    pairs = min(n, n * n / (n + 2 * total))
    return n, ic, ic * np.sqrt((pairs - 2) / (1 - ic * ic)) if pairs > 4 else np.nan, rx, ry, pairs


tail = compiled(reference.tail)


@compiled
def overlap_of(begin, end):
    most = after = 0
    for i in range(len(begin)):
        while after < len(begin) and begin[after] < end[i]:
            after += 1
        most = max(most, after - 1 - i)
    return most


@compiled
def backtest(days, known, value, baseline, scale, when, told, price):
    steps, most = 20, len(days)
    begin, end = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    predicted, happened, naive = np.empty(most), np.empty(most), np.empty(most)
    n = start = 0
    newest = -1
    for i in range(most):
        if i > 0:
            known[i] = max(known[i], known[i - 1])
        if i + 1 < most and known[i + 1] <= known[i]:
            continue  # only the newest estimate of an instant
        while start < len(when) and when[start] < known[i]:
            start += 1
        while newest + 1 < len(told) and told[newest + 1] <= known[i]:
            newest += 1
        if start + steps >= len(when):
            break
        if n > 0 and begin[n - 1] == when[start]:
            n -= 1
        begin[n], end[n] = when[start], when[start + steps]
        predicted[n] = -(value[i] - baseline[i]) / scale[i] if scale[i] > 0 else np.nan
        happened[n] = price[start + steps] - price[start]
        naive[n] = price[newest] - price[newest - steps] if newest >= steps else np.nan
        n += 1
    there = ~np.isnan(predicted[:n])
    begin, end, predicted, happened, naive = begin[:n][there], end[:n][there], predicted[:n][there], happened[:n][there], naive[:n][there]
    hits = tries = 0
    for i in range(len(predicted)):
        if predicted[i] != 0 and happened[i] != 0:
            tries += 1
            hits += (predicted[i] > 0) == (happened[i] > 0)
    half = len(begin) // 2
    whole, newer = edge(predicted, happened), edge(predicted[half:], happened[half:])
    some = ~np.isnan(naive)
    a, b = ranks(naive[some]), ranks(happened[some])
    return whole, overlap_of(begin, end), 100 * hits / tries, newer[:3], (a * b).mean()


def answer(name, tested):
    signal = {"crack-spread-321": crack, "hormuz-transit": hormuz, "eia-weekly-petroleum": petroleum}[name]
    _, own, target = reference.SIGNALS[name]
    if not tested:
        return signal(*(column for one in own for column in INPUTS[one]), AT, False)[2:]
    days, known, value, _, _, baseline, scale = signal(*(column for one in own for column in arrived(*INPUTS[one])), AT, True)
    if target is None:
        when, told, price = days * DAY, known.copy(), value
    else:
        when, price, told = arrived(*INPUTS[target])
        when = when * DAY
    whole, overlap, hits, newer, naive = backtest(days, known.copy(), value, baseline, scale, when, told, price)
    n, ic, t, rx, ry, pairs = whole
    return n, ic, t, reference.p_value(rx, ry, ic, t, pairs, overlap), hits, *newer, naive


reference.tail = tail

if __name__ == "__main__":
    reference.serve(answer)
