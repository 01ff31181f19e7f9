#!/usr/bin/env bash
# Says how long a new user waits after typing `make run`: until the program is built, six signals have a value, and the sandbox has reached the
# present. Warm is with the build and module caches of this machine, cold with empty ones (the modules come from where GOPROXY says).
#
#   tools/first-signal.sh [warm|cold]     warm where nothing else is said
set -euo pipefail
cd "$(dirname "$0")/.."

how=${1:-warm} within=1200
if [[ $# -gt 1 || ! $how =~ ^(warm|cold)$ ]]; then
	echo "usage: $0 [warm|cold]" >&2
	exit 2
fi

work=$(mktemp -d /tmp/tidemark-first-signal.XXXXXX)
chmod 755 "$work"
up=''
end() {
	[[ -z $up ]] || { kill -TERM "$up" && wait "$up"; } 2>/dev/null || true
	chmod -R u+w "$work" && rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

if [[ $how == cold ]]; then
	export GOCACHE=$work/build GOMODCACHE=$work/modules
fi
say() { printf '%-28s %4d s\n' "$1" "$((SECONDS - began))"; }
began=$SECONDS
go build -o "$work/tidemark" ./cmd/tidemark
say "built ($how)"
mkdir -m 755 "$work/state"
env -u DATABASE_URL -u REDIS_URL LOG_FORMAT=json "$work/tidemark" up --world=sandbox --state-dir="$work/state" --addr=127.0.0.1:0 \
	--ops-addr= --signals-addr= >"$work/out" 2>&1 &
up=$!
address='' values=''
until grep -q 'the sandbox has reached the present' "$work/out"; do
	if ! kill -0 "$up" 2>/dev/null || ((SECONDS - began > within)); then
		echo "not within $within s, or ended: $(tail -n 1 "$work/out" | cut -c 1-200)" >&2
		exit 1
	fi
	address=${address:-$(grep -om 1 'http://127\.0\.0\.1:[0-9]*' "$work/out" | head -n 1 || true)}
	if [[ -z $values && -n $address ]] && (($({ curl -fsS "$address/api/signals" 2>/dev/null || true; } | grep -Eo '"value": *-?[0-9]' | wc -l) >= 6)); then
		values=yes
		say 'six signals have a value'
	fi
	sleep 0.2
done
say 'the present is reached'
