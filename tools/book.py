"""Compares the figures of the cards that `go test ./picks -run TestTheBookOfRealCards -book DIR` wrote with the raw filings and prices.

It shares no code with the method. Each figure is computed again from the JSON of the filings as they were known before the card's day, and
must agree to the last digit that the card prints: python3 tools/book.py DIR FACTS PRICES
"""
import csv
import datetime as dt
import json
import math
import os
import re
import statistics
import sys

REVENUE = ["Revenues", "RevenueFromContractWithCustomerExcludingAssessedTax", "RevenueFromContractWithCustomerIncludingAssessedTax",
           "SalesRevenueNet", "RevenuesNetOfInterestExpense"]
CASH = ["NetCashProvidedByUsedInOperatingActivities", "NetCashProvidedByUsedInOperatingActivitiesContinuingOperations"]
SPENDING = ["PaymentsToAcquirePropertyPlantAndEquipment", "PaymentsToAcquireProductiveAssets"]
DEBT = ["LongTermDebtNoncurrent", "LongTermDebt"]
COSTS = ["CostOfGoodsAndServicesSold", "CostOfRevenue", "CostOfGoodsSold"]
FORMS = re.compile(r"^(10-K|10-KT|10-Q|20-F|40-F)(/A)?$|^6-K$")
# The recorded closes are adjusted for these splits.
SPLITS = {"AAPL": [("2014-06-09", 7), ("2020-08-31", 4)], "AMZN": [("2022-06-06", 20)], "GOOGL": [("2014-04-03", 1.998), ("2022-07-18", 20)],
          "NFLX": [("2015-07-15", 7)], "KO": [("2012-08-13", 2)], "GE": [("2021-08-02", 1 / 8)]}
# And for these spin-offs, which change no number of shares.
SPINOFFS = {"GE": [("2019-02-26", 1.04)], "VZ": [("2010-07-02", 1000 / 938)], "PFE": [("2020-11-17", 1.054)], "IBM": [("2021-11-04", 1.046)],
            "T": [("2022-04-11", 1.324)]}


def date(text):
    return dt.date.fromisoformat(text[:10])


def stated(facts, tag, day, unit="USD"):
    """Returns the amount of each period, as the newest filing before a day states it."""
    periods = {}
    rows = facts.get(tag, {}).get("units", {}).get(unit, [])
    for row in sorted((r for r in rows if FORMS.match(r["form"]) and date(r["filed"]) < day), key=lambda r: r["filed"]):
        periods[(date(row["start"]) if "start" in row else None, date(row["end"]))] = row["val"]
    return periods


def days(period):
    return (period[1] - period[0]).days + 1 if period[0] else 0


def near(a, b, of):
    return abs((a - b).days) <= of


def under_two(facts, day):
    """Returns the periods of two tags of revenue together, if the newest period that both state has one amount under both."""
    for x in REVENUE:
        for y in REVENUE:
            one, two = stated(facts, x, day), stated(facts, y, day)
            common = [p for p in one if p in two]
            if x < y and common and all(one[p] == two[p] for p in common if p[1] == max(c[1] for c in common)):
                yield two | one


def quarters(periods, end):
    """Returns the amounts of the quarter to an end: stated, or the difference of two amounts from one day on."""
    found = [v for p, v in periods.items() if p[1] == end and 80 <= days(p) <= 100]
    for long, value in periods.items():
        if long[1] == end and 100 < days(long) <= 380:
            found += [value - v for p, v in periods.items() if p[0] == long[0] and p[1] < end and 80 <= (end - p[1]).days <= 100]
    return found


def quarter_growth(facts, day, end):
    out = []
    for periods in [stated(facts, t, day) for t in REVENUE] + list(under_two(facts, day)):
        for before in range(355, 379):
            out += [100 * (a / b - 1) for a in quarters(periods, end) for b in quarters(periods, end - dt.timedelta(before)) if b > 0]
    return out


def fiscal_years(facts, day):
    """Returns the fiscal years, the newest first, as annual reports state net income."""
    found = {(date(r["start"]), date(r["end"])) for r in facts["NetIncomeLoss"]["units"]["USD"]
             if "start" in r and re.match(r"10-K|20-F|40-F", r["form"]) and date(r["filed"]) < day and 350 <= days((date(r["start"]), date(r["end"]))) <= 380}
    return sorted(found, key=lambda p: p[1], reverse=True)


def usual_income(facts, day):
    income = stated(facts, "NetIncomeLoss", day)
    return [statistics.median([income[p] for p in fiscal_years(facts, day)[:5]])]


def next_report(facts, day):
    """Returns the filing day of the first report on the quarter that is expected next, a year before."""
    first = {}
    for row in facts["Assets"]["units"]["USD"]:
        if FORMS.match(row["form"]) and date(row["filed"]) < day:
            first[date(row["end"])] = min(date(row["filed"]), first.get(date(row["end"]), day))
    year_before = max(first) - dt.timedelta(364)
    filed = [f for end, f in first.items() if 70 <= (end - year_before).days <= 115]
    return [min(filed)] if filed else []


def fscore(facts, day):
    """Returns the good and the known signals of Piotroski's score of the newest fiscal year."""
    years = fiscal_years(facts, day)
    year, last = years[0], years[1]
    opening = (None, last[0] - dt.timedelta(1)) if len(years) < 3 else (None, years[2][1])

    def over(tags, period):
        return next((p[period] for p in (stated(facts, t, day) for t in tags) if period in p), None)

    def revenue(period):
        return max((p[period] for p in (stated(facts, t, day) for t in REVENUE) if period in p), default=None)

    def ratio(a, b):
        return None if a is None or b is None or b <= 0 else a / b

    ends = [(None, year[1]), (None, last[1]), opening]
    income, cash = over(["NetIncomeLoss", "ProfitLoss"], year), over(CASH, year)
    assets = [over(["Assets"], p) for p in ends]
    signals = [(income, 0), (cash, 0), (ratio(income, assets[1]), ratio(over(["NetIncomeLoss", "ProfitLoss"], last), assets[2])), (cash, income)]
    debts = [stated(facts, "LongTermDebtNoncurrent", day).get(p) for p in ends[:2]]
    if None in debts:
        debts = [stated(facts, "LongTermDebt", day).get(p) or None for p in ends[:2]]
    if None in debts or None in assets or not any(debts):
        signals.append((None, None))
    else:
        signals.append((-2 * debts[0] / (assets[0] + assets[1]), -2 * debts[1] / (assets[1] + assets[2])))
    current = [ratio(over(["AssetsCurrent"], p), over(["LiabilitiesCurrent"], p)) for p in ends]
    signals.append((current[0], current[1]))
    pairs = {}
    for row in facts.get("WeightedAverageNumberOfDilutedSharesOutstanding", {}).get("units", {}).get("shares", []):
        if FORMS.match(row["form"]) and date(row["filed"]) < day:
            pairs.setdefault((row["filed"], row["accn"]), {})[(date(row["start"]), date(row["end"]))] = row["val"]
    both = [pairs[k] for k in sorted(pairs) if year in pairs[k] and last in pairs[k]]
    signals.append((both[-1][last] - both[-1][year] + 0.5, 0) if both else (None, None))
    gross = [over(["GrossProfit"], p) for p in (year, last)]
    if None in gross:
        costs = [over(COSTS, p) for p in (year, last)]
        gross = [None if c is None or revenue(p) is None else revenue(p) - c for c, p in zip(costs, (year, last))]
    signals.append((ratio(gross[0], revenue(year)), ratio(gross[1], revenue(last))))
    signals.append((ratio(revenue(year), assets[1]), ratio(revenue(last), assets[2])))
    known = [(a, b) for a, b in signals if a is not None and b is not None]
    return sum(a > b for a, b in known), len(known)


def twelve_months(periods, end):
    """Returns all sums of twelve months to an end: a year, or the last year plus this year's months less the same months before."""
    found = [v for p, v in periods.items() if p[1] == end and 350 <= days(p) <= 380]
    for this, value in periods.items():
        if this[1] != end or not 80 <= days(this) <= 290:
            continue
        for year, of_year in periods.items():
            if not (350 <= days(year) <= 380 and near(year[1], this[0], 8)):
                continue
            for before, of_before in periods.items():
                if before[0] and near(before[0], year[0], 8) and abs(days(before) - days(this)) <= 8:
                    found.append(value + of_year - of_before)
    return found


def cards(folder):
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".md"):
            continue
        for part in open(os.path.join(folder, name), encoding="utf-8").read().split("\n# ")[1:]:
            ticker, day = re.match(r"(\S+) on (\S+), rank", part).groups()
            lines = re.findall(r"^- (\w+) = (\S+) (.+)$", part, re.M)
            yield ticker, date(day), {i: (v, u) for i, v, u in lines}


class Prices:
    def __init__(self, file, ticker):
        self.days, self.closes = [], []
        for row in csv.DictReader(open(file)):
            day, close = date(row["Date"]), float(row["Close"])
            for split, ratio in SPLITS.get(ticker, []) + SPINOFFS.get(ticker, []):
                if day < date(split):
                    close *= ratio
            self.days.append(day)
            self.closes.append(round(close, 2))
        self.ticker = ticker

    def split(self, after, to):
        return math.prod([r for d, r in SPLITS.get(self.ticker, []) if after < date(d) <= to])

    def gain(self, i, j):
        spun = math.prod([r for d, r in SPINOFFS.get(self.ticker, []) if self.days[i] < date(d) <= self.days[j]])
        return self.closes[j] / self.closes[i] * self.split(self.days[i], self.days[j]) * spun


def amounts(facts, day, end):
    """Returns the sums that the filings allow for each amount of twelve months."""
    every = lambda tags: [v for t in tags for v in twelve_months(stated(facts, t, day), end)]
    income, cash, spending = every(["NetIncomeLoss"]), every(CASH), every(SPENDING)
    revenue = every(REVENUE) + [v for p in under_two(facts, day) for v in twelve_months(p, end)]
    return {"net_income": income, "cash_flow": cash, "free_cash_flow": [c - s for c in cash for s in spending],
            "revenue": [max(revenue)] if revenue else [], "gross": every(["GrossProfit"])}


def previous(card, facts, end):
    """Returns the figures of the report before, as the filings stated them before the newest report was filed."""
    filed = min(date(r["filed"]) for r in facts["NetIncomeLoss"]["units"]["USD"] if date(r["end"]) == end and FORMS.match(r["form"]))
    to = date(card["before_to"][0])
    of = amounts(facts, filed, to)
    assets = stated(facts, "Assets", filed).get((None, to))
    debts = [stated(facts, t, filed).get((None, to)) for t in DEBT]
    return {"net_income_before": of["net_income"], "revenue_before": of["revenue"], "free_cash_flow_before": of["free_cash_flow"],
            "net_margin_before": [100 * i / r for i in of["net_income"] for r in of["revenue"]],
            "gross_margin_before": [100 * g / r for g in of["gross"] for r in of["revenue"]],
            "debt_ratio_before": [100 * d / assets for d in debts if d is not None and assets]}


def wanted(card, facts, prices, day):
    """Returns each figure of a card that can be computed again, with the values that the filings allow."""
    end = date(card["income_to"][0])
    of = amounts(facts, day, end)
    growth = []
    if "revenue_growth" in card:
        last = date(card["year_end"][0])
        for before in range(360, 372):
            now = {t: twelve_months(stated(facts, t, day), last) for t in REVENUE}
            then = {t: twelve_months(stated(facts, t, day), last - dt.timedelta(before)) for t in REVENUE}
            growth += [100 * (a / b - 1) for t in REVENUE for a in now[t] for b in then[t]]
    assets = stated(facts, "Assets", day)
    newest = max(p[1] for p in assets)
    total = assets[(None, newest)]
    out = {k: of[k] for k in ("net_income", "cash_flow", "free_cash_flow", "revenue")}
    out["revenue_growth"] = growth
    out["net_margin"] = [100 * i / r for i in of["net_income"] for r in of["revenue"]]
    out["gross_margin"] = [100 * g / r for g in of["gross"] for r in of["revenue"]]
    out["gross_profitability"] = [100 * g / total for g in of["gross"]]
    out["return_on_assets"] = [100 * i / total for i in of["net_income"]]
    out["debt_ratio"] = [100 * stated(facts, t, day)[(None, newest)] / total for t in DEBT if (None, newest) in stated(facts, t, day)]
    today = prices.days.index(day)
    out["price"] = [prices.closes[today]]
    counts = []
    for (start, to), n in stated(facts, "WeightedAverageNumberOfDilutedSharesOutstanding", day, "shares").items():
        if (day - to).days <= 520:
            counts += [n, n * prices.split(to, day)]
    out["market_value"] = [n * prices.closes[today] for n in counts]
    out["pe"] = [n * prices.closes[today] / i for n in counts for i in of["net_income"] if i > 0]
    if "momentum_from" in card:
        out["momentum"] = [100 * (prices.gain(prices.days.index(date(card["momentum_from"][0])), prices.days.index(date(card["momentum_to"][0]))) - 1)]
        out["momentum_from"], out["momentum_to"] = [prices.days[today - 1 - 252]], [prices.days[today - 1 - 21]]
    if "before_to" in card:
        out |= previous(card, facts, end)
    if "quarter_to" in card:
        out["quarter_growth"] = quarter_growth(facts, day, date(card["quarter_to"][0]))
    yields = lambda amounts: [100 * v / (n * prices.closes[today]) for v in amounts for n in counts]
    out["earnings_yield"], out["cash_yield"] = yields(of["net_income"]), yields(of["free_cash_flow"])
    if "usual_income" in card:
        out["usual_income"] = usual_income(facts, day)
    if "next_report" in card:
        out["next_report_before"] = next_report(facts, day)
        out["next_report"] = [f + dt.timedelta(364) for f in out["next_report_before"]]
    if "fscore" in card:
        good, known = fscore(facts, day)
        out["fscore"], out["fscore_known"] = [good], [known]
    if "range_from" in card:
        history = multiples(facts, prices, day)
        every = [[of(m) for _, m in history] for of in (min, max)]
        out["range_from"], out["range_low"], out["range_high"] = [history[-1][0]], [min(v) for v in every], [max(v) for v in every]
        out["range_median"] = [statistics.median(v) for v in every]
    logs = [math.log(prices.gain(i - 1, i)) for i in range(today - 63, today)]
    out["volatility"] = [100 * statistics.stdev(logs) * math.sqrt(252)]
    return out


def quantile(values, p):
    """Interpolates the empirical distribution linearly."""
    values, at = sorted(values), p * len(values)
    low = math.floor(at)
    if low < 1:
        return values[0]
    return values[low - 1] + (at - low) * (values[min(low, len(values) - 1)] - values[low - 1])


def compared(book):
    """Returns the figures of each card that depend on the other cards of its day: the sector's momentum and the peers' price to earnings."""
    out = {}
    for (ticker, day), (card, _) in book.items():
        others = {t: x for (t, d), x in book.items() if d == day}
        momenta = {t: f["momentum"][0] for t, (_, f) in others.items() if "momentum" in f}
        low, high = quantile(momenta.values(), 0.025), quantile(momenta.values(), 0.975)
        sector = [min(max(m, low), high) for t, m in momenta.items() if others[t][0]["sector"] == card["sector"]]
        found = {"sector_momentum": [statistics.mean(sector)] if sector else []}
        if "peers_pe" in card:
            multiples = []
            for peer in " ".join(card["peers"]).removesuffix(" name").split(", "):
                of, figures = others[peer]
                multiples += [next(c for c in figures["pe"] if agrees(*of["pe"], [c]))] if "pe" in of else []
            found["peers_pe"] = [statistics.median(multiples)]
        out[ticker, day] = found
    return out


def multiples(facts, prices, day):
    """Returns the prices to earnings at the ends of the last twenty quarters, by what was filed and the close of then.

    Filings may state twelve months too, a million off the sum of a year and months: then there are several."""
    found, end = [], day
    for _ in range(20):
        end = dt.date(end.year, (end.month - 1) // 3 * 3 + 1, 1) - dt.timedelta(1)
        traded = [i for i, d in enumerate(prices.days) if d <= end and (end - d).days <= 5]
        if not traded:
            break
        known = end + dt.timedelta(1)
        income = stated(facts, "NetIncomeLoss", known)
        sums = next((s for e in sorted({p[1] for p in income if (end - p[1]).days <= 230}, reverse=True) if (s := twelve_months(income, e))), None)
        rows = [r for r in facts["WeightedAverageNumberOfDilutedSharesOutstanding"]["units"]["shares"]
                if FORMS.match(r["form"]) and date(r["filed"]) < known and r["val"] > 100000 and (end - date(r["end"])).days <= 520]
        if not sums or not rows:
            continue
        row = max(rows, key=lambda r: (r["end"], r["start"], r["filed"]))
        shares = row["val"] * prices.split(date(row["filed"]), end)
        found.append((end, [shares * prices.closes[traded[-1]] / s for s in sums]))
    return found


def agrees(value, unit, candidates):
    if unit == "date":
        return any(date(value) == c for c in candidates)
    number, decimals = float(value), len(value.partition(".")[2])
    scale = {"USD bn": 1e9, "USD mn": 1e6}.get(unit, 1)
    for c in candidates:
        if isinstance(c, (int, float)) and abs(c / scale - number) <= 0.5000001 * 10 ** -decimals + 1e-9 * abs(number):
            return True
    return False


def main(folder, filings, closes):
    checked, wrong, unchecked, seen, book = {}, [], {}, {}, {}
    for ticker, day, card in cards(folder):
        if ticker not in seen:
            facts = json.load(open(os.path.join(filings, ticker + ".json")))["facts"]["us-gaap"]
            seen[ticker] = facts, Prices(os.path.join(closes, ticker + ".csv"), ticker)
        book[ticker, day] = card, wanted(card, *seen[ticker], day)
    count = len(book)
    rest = compared(book)
    for (ticker, day), (card, figures) in book.items():
        for name, candidates in (figures | rest[ticker, day]).items():
            if name not in card:
                continue
            value, unit = card[name]
            if not candidates:
                unchecked[name] = unchecked.get(name, 0) + 1
                continue
            checked[name] = checked.get(name, 0) + 1
            if not agrees(value, unit, candidates):
                near = ", ".join(str(c) for c in candidates[:4])
                wrong.append(f"{ticker} on {day}: {name} is {value} {unit}; the filings allow {near}")
    print(f"{count} cards, {sum(checked.values())} figures computed again, {len(wrong)} differ")
    for name in checked:
        print(f"  {name}: {checked[name]} checked" + (f", {unchecked[name]} not, for want of facts" if name in unchecked else ""))
    print("\n".join(wrong))
    return 1 if wrong or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
