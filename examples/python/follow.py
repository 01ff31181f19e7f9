#!/usr/bin/env python3
"""Follows what becomes known, and misses nothing: the cursor of the last event is kept in a file.

    python3 examples/python/follow.py [--topics signal,pick] [--seconds 60] [--cursor FILE]

TIDEMARK_URL names the server, http://127.0.0.1:8080 without it. It needs nothing but Python. Run it again after any pause of up to 14
days: it goes on after the last event that it printed.
"""

import argparse
import http.client
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


# How many seconds to wait before the next connection. The server says so.
pause = 2.0


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
    global pause
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
            if name == "retry" and event[name].isdecimal():
                pause = int(event[name]) / 1000


def main():
    cursor, end = remembered(), time.monotonic() + args.seconds
    tries = 0  # without an event
    while True:
        left = int(end - time.monotonic()) if args.seconds else 0
        if args.seconds and left < 1:
            return
        query = "&".join(part for part in (f"topics={args.topics}" if args.topics else "", f"seconds={left}" if left else "") if part)
        request = urllib.request.Request(f"{SERVER}/api/stream?{query}", headers={"Last-Event-ID": cursor} if cursor else {})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                for name, at, change in events(answer):
                    if name:
                        tries = 0
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
        except (OSError, http.client.HTTPException):
            pass  # the server is away, or its answer is broken off: nothing is lost meanwhile
        wait = max(pause, min(max(pause, 0.1) * 2 ** min(tries, 5), 60))
        time.sleep(max(0, min(wait, end - time.monotonic())) if args.seconds else wait)
        tries += 1


try:
    main()
except KeyboardInterrupt:
    pass
