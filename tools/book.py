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
    revenue = every(REVENUE)
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
    logs = [math.log(prices.gain(i - 1, i)) for i in range(today - 63, today)]
    out["volatility"] = [100 * statistics.stdev(logs) * math.sqrt(252)]
    return out


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
    checked, wrong, unchecked, count, seen = {}, [], {}, 0, {}
    for ticker, day, card in cards(folder):
        if ticker not in seen:
            facts = json.load(open(os.path.join(filings, ticker + ".json")))["facts"]["us-gaap"]
            seen[ticker] = facts, Prices(os.path.join(closes, ticker + ".csv"), ticker)
        facts, prices = seen[ticker]
        count += 1
        for name, candidates in wanted(card, facts, prices, day).items():
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
