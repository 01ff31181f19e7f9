#!/usr/bin/env python3
"""A study of revisions: how far a signal's first number was from the one that its publisher came to later.

It reads every version of every point (history?vintages=all), and counts what publishers revised and nothing else: a backfill of
earlier years, another program or a second installation adds no revision. So the table is the same before and after a backfill.

    python3 examples/pandas/revisions.py [SIGNAL ...]

TIDEMARK_URL names the server, http://127.0.0.1:8080 without it. It needs pandas (Debian: python3-pandas, for /usr/bin/python3). The cells begin with # %%,
so that editors with notebooks open it as one.
"""

# %% Where the data are
import io
import os
import sys
import urllib.request

try:
    import pandas as pd
except ModuleNotFoundError:
    sys.exit("this study needs pandas (Debian: apt install python3-pandas, and run it with /usr/bin/python3)")

SERVER = os.environ.get("TIDEMARK_URL", "http://127.0.0.1:8080").rstrip("/")
SIGNALS = sys.argv[1:] or ["hormuz-transit", "tropomi-no2-economic", "crack-spread-321"]


# %% Every version of every point
def versions(signal):
    with urllib.request.urlopen(f"{SERVER}/api/signals/{signal}/history?vintages=all&format=csv", timeout=60) as answer:
        frame = pd.read_csv(io.BytesIO(answer.read()))
    for column in ("observed_at", "known_from", "known_to"):
        frame[column] = pd.to_datetime(frame[column], utc=True)
    return frame


# %% What a publisher revised
# A version counts as revised where a publisher changed a value that it rests on. The first version of a point is what was known first,
# so each later one is held against the version before it, and against the first.
def revisions(frame):
    frame = frame.sort_values(["observed_at", "vintage", "known_from"])
    point = frame.groupby("observed_at", sort=False)["value"]
    frame = frame.assign(first=point.transform("first"), before=point.shift())
    revised = frame[frame["revised"] & frame["before"].notna()]
    return revised.assign(
        change_pct=100 * (revised["value"] / revised["before"] - 1),
        from_first_pct=100 * (revised["value"] / revised["first"] - 1),
    )


# %% The table
def study(signals):
    rows = []
    for signal in signals:
        revised = revisions(versions(signal))
        last = revised.groupby("observed_at").tail(1)
        rows.append({
            "signal": signal,
            "revised_points": revised["observed_at"].nunique(),
            "revisions": len(revised),
            "median_change_pct": revised["change_pct"].abs().median(),
            "largest_change_pct": revised["change_pct"].abs().max(),
            "bias_of_first_pct": last["from_first_pct"].mean(),
            "median_age_days": (revised["known_from"] - revised["observed_at"]).dt.total_seconds().median() / 86400,
        })
    return pd.DataFrame(rows).set_index("signal")


if __name__ == "__main__":
    print(study(SIGNALS).to_csv(float_format="%.6g"), end="")
