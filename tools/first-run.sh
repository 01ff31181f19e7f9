#!/usr/bin/env bash
# Does what a new user does, often and on a busy machine: N fresh sandboxes, one after the other, on two cores that four busy loops work on
# besides. Each must reach the present by itself, and no Postgres may have met a deadlock. Prints a table with the seconds.
#
#   tools/first-run.sh [N] [--sandbox-days=D]     20 sandboxes of 40 days, where nothing else is said
set -euo pipefail
cd "$(dirname "$0")/.."

runs=20 days=40 within=900
for argument; do
	case $argument in
	--sandbox-days=*) days=${argument#*=} ;;
	--within=*) within=${argument#*=} ;;
	*[!0-9]* | '') echo "usage: $0 [N] [--sandbox-days=D] [--within=SECONDS]" >&2 && exit 2 ;;
	*) runs=$argument ;;
	esac
done

work=$(mktemp -d /tmp/tidemark-first-run.XXXXXX)
chmod 755 "$work"
loops=() up=''
end() {
	[[ -z $up ]] || { kill -TERM "$up" && wait "$up"; } 2>/dev/null || true
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

failed=0
printf '%4s  %8s  %8s  %9s  %s\n' run seconds picks deadlocks end
for ((run = 1; run <= runs; run++)); do
	dir=$work/$run
	mkdir -m 755 "$dir"
	from=$SECONDS outcome=''
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
	took=$((SECONDS - from))
	picks=$(curl -fsS "$(grep -o 'http://127\.0\.0\.1:[0-9]*' "$dir/out" | head -n 1)/api/v1/info" 2>/dev/null | grep -o '"length": *[0-9]*' | head -n 1 | grep -o '[0-9]*$' || echo '-')
	kill -TERM "$up" 2>/dev/null || true
	wait "$up" 2>/dev/null || true
	up=''
	deadlocks=$(cat "$dir"/sandbox/postgres/server.log* | grep -c 'deadlock detected' || true)
	printf '%4d  %8d  %8s  %9s  %s\n' "$run" "$took" "$picks" "$deadlocks" "$outcome"
	if [[ $outcome != 'the present' || $deadlocks != 0 ]]; then
		failed=$((failed + 1))
		kept=$(mktemp -d /tmp/tidemark-first-run-failed.XXXXXX)
		cp "$dir/out" "$dir"/sandbox/postgres/server.log "$kept"/ && echo "      its logs: $kept"
	fi
	rm -rf "$dir" "$(readlink -f "$dir/sandbox/postgres" 2>/dev/null || true)"
done
echo "$((runs - failed)) of $runs reached the present, without a deadlock"
[[ $failed -eq 0 ]]
