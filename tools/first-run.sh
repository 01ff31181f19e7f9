#!/usr/bin/env bash
# Does what a new user does, often and on a busy machine: N fresh sandboxes on two cores that four busy loops work on besides. Each must reach
# the present by itself, and no Postgres may have met a deadlock. Prints a table with the seconds, and keeps the logs of those that failed.
#
#   tools/first-run.sh [N] [--sandbox-days=D] [--at-once=K] [--within=SECONDS]
#
# 20 sandboxes of 40 days, one after the other, each within 900 seconds, where nothing else is said. --at-once runs K of them beside each other,
# each in a folder and on ports of its own: a harder test, and a quicker one.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
	echo "usage: $0 [N] [--sandbox-days=D] [--at-once=K] [--within=SECONDS]" >&2
	exit 2
}
number() { [[ $1 =~ ^[1-9][0-9]*$ ]] && echo "$1" || usage; }
runs=20 days=40 within=900 at_once=1
for argument; do
	case $argument in
	--sandbox-days=*) days=$(number "${argument#*=}") ;;
	--within=*) within=$(number "${argument#*=}") ;;
	--at-once=*) at_once=$(number "${argument#*=}") ;;
	*) runs=$(number "$argument") ;;
	esac
done

work=$(mktemp -d /tmp/tidemark-first-run.XXXXXX)
chmod 755 "$work"
loops=()
end() {
	local sandboxes
	mapfile -t sandboxes < <(jobs -p)
	if [[ ${#sandboxes[@]} -gt 0 ]]; then
		kill -TERM "${sandboxes[@]}" 2>/dev/null || true
		wait "${sandboxes[@]}" 2>/dev/null || true
	fi
	[[ ${#loops[@]} -eq 0 ]] || kill "${loops[@]}" 2>/dev/null || true
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

pin=()
if command -v taskset >/dev/null && [[ $(nproc) -gt 2 ]]; then
	pin=(taskset -c 0,1)
fi
go build -o "$work/tidemark" ./cmd/tidemark
for _ in 1 2 3 4; do
	"${pin[@]}" bash -c 'while :; do :; done' &
	loops+=($!)
done
disown -a

# live NUMBER: one sandbox, from nothing until it has reached the present, ended or had its time. It prints its line of the table, and has
# failed where the sandbox has.
live() {
	local dir=$work/$1 from=$SECONDS outcome='' up='' took picks deadlocks address kept
	trap '[[ -z $up ]] || kill -TERM "$up" 2>/dev/null && wait "$up" || true; exit 143' TERM
	mkdir -m 755 "$dir"
	: >"$dir/out"
	env -u DATABASE_URL -u REDIS_URL LOG_FORMAT=json GOMAXPROCS=2 "${pin[@]}" "$work/tidemark" up --world=sandbox --sandbox-days="$days" \
		--state-dir="$dir" --addr=127.0.0.1:0 --ops-addr= --signals-addr= >"$dir/out" 2>&1 &
	up=$!
	while [[ -z $outcome ]]; do
		if grep -q 'the sandbox has reached the present' "$dir/out"; then
			outcome='the present'
		elif ! kill -0 "$up" 2>/dev/null; then
			outcome="ended: $(tail -n 1 "$dir/out" | cut -c 1-160)"
		elif ((SECONDS - from > within)); then
			outcome="not within $within s"
		else
			sleep 0.5
		fi
	done
	took=$((SECONDS - from)) picks=-
	address=$(grep -om 1 'http://127\.0\.0\.1:[0-9]*' "$dir/out" | head -n 1 || true)
	if [[ -n $address ]]; then
		picks=$(curl -fsS "$address/api/v1/info" 2>/dev/null | grep -o '"length": *[0-9]*' | grep -om 1 '[0-9]*$' || echo -)
	fi
	kill -TERM "$up" 2>/dev/null || true
	wait "$up" 2>/dev/null || true
	up=''
	deadlocks=$(cat "$dir"/sandbox/postgres/server.log* 2>/dev/null | grep -c 'deadlock detected' || true)
	printf '%4d  %8d  %8s  %9s  %s\n' "$1" "$took" "$picks" "$deadlocks" "$outcome"
	if [[ $outcome == 'the present' && $deadlocks == 0 ]]; then
		rm -rf "$dir"
		return 0
	fi
	kept=$(mktemp -d /tmp/tidemark-first-run-failed.XXXXXX)
	cp "$dir/out" "$dir"/sandbox/postgres/server.log* "$kept"/ 2>/dev/null || true
	echo "      its logs: $kept"
	rm -rf "$dir"
	return 1
}

failed=0 under_way=0
one_ended() {
	wait -n || failed=$((failed + 1))
	under_way=$((under_way - 1))
}
printf '%4s  %8s  %8s  %9s  %s\n' run seconds picks deadlocks end
for ((run = 1; run <= runs; run++)); do
	((under_way < at_once)) || one_ended
	live "$run" &
	under_way=$((under_way + 1))
done
while ((under_way > 0)); do one_ended; done
echo "$((runs - failed)) of $runs reached the present, without a deadlock"
[[ $failed -eq 0 ]]
