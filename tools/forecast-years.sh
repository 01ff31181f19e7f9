#!/usr/bin/env bash
# Lets a sandbox live through two years, so that it has forecasts of all six signals, graded as they were printed, and recomputes its record
# twice: with `tidemark scorecard` and with the independent script. Then it prints the table of docs/forecasts.md. Everything is the real program
# with its real jobs; the publishers are the sandbox's. Eight companies are followed, because the picks are not the point.
#
#   tools/forecast-years.sh [--days=D] [--dir=DIR] [--within=SECONDS]
#
# 745 days: a first fortnight, and two years. The folder is kept where --dir names it, and a second start goes on from where the first ended.
set -euo pipefail
cd "$(dirname "$0")/.."

days=745 dir='' within=14400
for argument; do
	case $argument in
	--days=*) days=${argument#*=} ;;
	--dir=*) dir=${argument#*=} ;;
	--within=*) within=${argument#*=} ;;
	*)
		echo "usage: $0 [--days=D] [--dir=DIR] [--within=SECONDS]" >&2
		exit 2
		;;
	esac
done

work=$(mktemp -d /tmp/tidemark-forecast-years.XXXXXX)
up=''
end() {
	[[ -z $up ]] || { kill -TERM "$up" 2>/dev/null && wait "$up" || true; }
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

go build -o "$work/tidemark" ./cmd/tidemark
env -u DATABASE_URL -u REDIS_URL LOG_FORMAT=json UNIVERSE='top 8' "$work/tidemark" up --world=sandbox --sandbox-days="$days" \
	--state-dir="${dir:-$work/state}" --addr=127.0.0.1:0 --ops-addr= --signals-addr= >"$work/out" 2>&1 &
up=$!
reached=yes
until grep -q 'the sandbox has reached the present' "$work/out"; do
	kill -0 "$up" 2>/dev/null || { tail -n 3 "$work/out" >&2; exit 1; }
	if ((SECONDS > within)); then
		reached=no
		break
	fi
	sleep 1
done
address=$(grep -om 1 'http://127\.0\.0\.1:[0-9]*' "$work/out" | head -n 1)
"$work/tidemark" scorecard --url "$address"
echo
TIDEMARK_URL=$address python3 examples/python/scorecard.py
echo
"$work/tidemark" scorecard --json --url "$address" | python3 tools/forecast-table.py
[[ $reached == yes ]] || { echo "The sandbox has not reached the present within $within s: the table is of what it has lived through." >&2; exit 1; }
