#!/usr/bin/env bash
# Says how much memory each role takes as a process of its own: the most that it had, and what it has at the end, after a scheduler, a worker and
# an API have lived through a sandbox's past together. The servers are those of a second sandbox without a past.
#
#   tools/memory.sh [DAYS]     30 where nothing else is said
set -euo pipefail
cd "$(dirname "$0")/.."

days=${1:-30} within=3600
if [[ $# -gt 1 || ! $days =~ ^[1-9][0-9]*$ ]]; then
	echo "usage: $0 [DAYS]" >&2
	exit 2
fi
work=$(mktemp -d /tmp/tidemark-memory.XXXXXX)
chmod 755 "$work"
pids=()
end() {
	for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done || true
	rm -rf "$work"
}
trap end EXIT
trap 'exit 130' INT TERM

if [[ -n ${PREBUILT:-} ]]; then cp "$PREBUILT" "$work/tidemark"; else go build -o "$work/tidemark" ./cmd/tidemark; fi
unset DATABASE_URL REDIS_URL DATABASE_API_URL DATABASE_WORKER_URL
export LOG_FORMAT=json WORLD=sandbox
start() { # name, arguments
	local name=$1
	shift
	"$work/tidemark" "$@" >"$work/$name.log" 2>&1 &
	pids=("$!" "${pids[@]}")
	eval "$name=$!"
}
# wait_for waits for a text in the log of a role.
wait_for() {
	until grep -q "$2" "$work/$1.log"; do
		if ! kill -0 "${!1}" 2>/dev/null || ((SECONDS > within)); then
			echo "$1 ended, or took more than $within s: $(tail -n 1 "$work/$1.log" | cut -c 1-300)" >&2
			exit 1
		fi
		sleep 0.2
	done
}
start servers up --sandbox-days=0 --state-dir="$work/servers" --addr=127.0.0.1:0 --ops-addr= --signals-addr=
wait_for servers '"listening"'
until [[ -s $work/servers/sandbox/connections.json ]]; do wait_for servers . && sleep 0.2; done
of() { grep -o "\"$1\":\"[^\"]*\"" "$work/servers/sandbox/connections.json" | cut -d '"' -f 4 | sed "s|/tidemark?|/roles?|"; }
export DATABASE_URL REDIS_URL DATABASE_API_URL DATABASE_WORKER_URL STATE_DIR=$work/state SANDBOX_DAYS=$days
DATABASE_URL=$(of database_url) REDIS_URL=$(of redis_url | sed 's|/0$|/1|') DATABASE_API_URL=$(of database_api_url) DATABASE_WORKER_URL=$(of database_worker_url)
psql -q "${DATABASE_URL/roles?/tidemark?}" -c 'create database roles' >&2
mkdir -m 755 "$STATE_DIR"
"$work/tidemark" migrate >"$work/migrate.log" 2>&1 || { tail -n 1 "$work/migrate.log" >&2; exit 1; }
start scheduler scheduler --ops-addr=
start worker worker --ops-addr=
start api api --addr=127.0.0.1:0 --ops-addr=
wait_for scheduler 'the sandbox has reached the present'
for role in scheduler worker api; do
	if ! kill -0 "${!role}" 2>/dev/null; then
		echo "the $role ended: $(tail -n 2 "$work/$role.log" | cut -c 1-600)" >&2
		exit 1
	fi
done
kb() { awk -v what="$2:" '$1 == what { printf "%d MB", $2 / 1024 }' "/proc/$1/status"; }
printf '| role, after %d days | at most | at the end |\n| --- | --- | --- |\n' "$days"
for role in scheduler worker api; do
	printf '| %s | %s | %s |\n' "$role" "$(kb "${!role}" VmHWM)" "$(kb "${!role}" VmRSS)"
done
