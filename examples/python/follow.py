#!/usr/bin/env python3
"""Follows what becomes known, and misses nothing: the cursor of the last event is kept in a file.

    python3 examples/python/follow.py [--topics signal,pick] [--seconds 60] [--cursor FILE]

TIDEMARK_URL names the server, http://127.0.0.1:8080 without it. It needs nothing but Python. Run it again after any pause of up to 14
days: it goes on after the last event that it printed.
"""

import argparse
import json
import os
import time
import urllib.error
import urllib.request

SERVER = os.environ.get("TIDEMARK_URL", "http://127.0.0.1:8080").rstrip("/")

args = argparse.ArgumentParser(description="Follow what becomes known.")
args.add_argument("--topics", default="", help="signal, signal:ID, pick, event, forecast, separated by commas; all without it")
args.add_argument("--seconds", type=int, default=0, help="end after this time; never without it")
args.add_argument("--cursor", default="", help="a file with the cursor of the last event")
args = args.parse_args()


def remembered():
    if args.cursor and os.path.exists(args.cursor):
        with open(args.cursor, encoding="utf-8") as file:
            return file.read().strip()
    return ""


def remember(cursor):
    if args.cursor:
        with open(args.cursor + ".new", "w", encoding="utf-8") as file:
            file.write(cursor)
        os.replace(args.cursor + ".new", args.cursor)


def events(answer):
    """Yields the name, cursor and data of each event (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    event = {}
    for line in answer:
        line = line.decode("utf-8").rstrip("\r\n")
        if not line:
            if "data" in event:
                yield event.get("event", "message"), event.get("id", ""), json.loads(event["data"])
            elif "id" in event:
                yield "", event["id"], None  # where the stream begins
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            event[name] = value.removeprefix(" ")


def main():
    cursor, end = remembered(), time.monotonic() + args.seconds
    while True:
        left = int(end - time.monotonic()) if args.seconds else 0
        if args.seconds and left < 1:
            return
        query = "&".join(part for part in (f"topics={args.topics}" if args.topics else "", f"seconds={left}" if left else "") if part)
        request = urllib.request.Request(f"{SERVER}/api/stream?{query}", headers={"Last-Event-ID": cursor} if cursor else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                for name, at, change in events(answer):
                    if name == "dropped":
                        break  # too slow, or the server stops: go on after the last event
                    if name == "gap":
                        print(f"events before {change['oldest']} are no longer there", flush=True)
                    elif name:
                        print(f"{change['at']} {change['topic']} {change['kind']} {change['url']}", flush=True)
                    cursor = at or cursor
                    remember(cursor)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429:
                raise SystemExit(f"{error.code}: {error.read().decode()}")
            time.sleep(2)
        except OSError:
            time.sleep(2)  # the server is away: nothing is lost meanwhile


try:
    main()
except KeyboardInterrupt:
    pass
