#!/usr/bin/env python3
"""Prints the output of `tidemark scorecard --json`, which it reads, as the table of graded forecasts in docs/forecasts.md."""

import json
import sys


def percent(x):
    return "-" if x is None else f"{100 * x:.1f}"


def skill(s):
    if s["skill"] is None:
        return "-"
    low, high = s["interval_90"]
    p = "-" if s["dm_p"] is None else "< 0.0001" if s["dm_p"] < 0.0001 else f"{s['dm_p']:.2g}"
    dm = "-" if s["dm"] is None else f"{s['dm']:.2f}"
    return f"{percent(s['skill'])}% [{percent(low)}, {percent(high)}]; {dm}, {p}"


def main():
    print("| figure | graded | periods | CRPS | skill against naive 1; DM, p | against naive 2; DM, p | in 50% (band) | in 80% | in 90% | label |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for signal in json.load(sys.stdin)["scorecards"]:
        for c in signal["data"]:
            a = c["all"]
            cover = [f"{v['hits']} ({v['band_95'][0]} to {v['band_95'][1]})" for v in a["coverage"]]
            score = "-" if a["crps"] is None else f"{a['crps']:.4g}"
            row = [f"`{c['figure']}`", a["n"], f"{a['from']} to {a['to']}", score, *(skill(s) for s in a["skill"]), *cover, f"`{c['label']}`"]
            print("| " + " | ".join(str(x) for x in row) + " |")


if __name__ == "__main__":
    main()
