#!/usr/bin/env bash
# Puts the dispatcher's old deadlock back for one build, without a change to any file, and says whether the contention of all roles finds it:
# a scheduler reads what is due without a lock and then marks it, so two of them lock the same rows in the order of the plan that each got.
#
#   tools/contention-planted.sh DAYS SEED
#
# Ends with 0 if the deadlock is found.
set -euo pipefail
cd "$(dirname "$0")/.."
days=${1:?usage: $0 DAYS SEED} seed=${2:?usage: $0 DAYS SEED}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

at=internal/postgres/runs.go
perl -0pe '
	$n += s/\t\tlimit \@limit\n\t\tfor no key update skip locked\n\t\), handed as/\t\tlimit \@limit\n\t), handed as/;
	$n += s/where r\.id = mine\.id\n\t\treturning r\.\*/where r.id = mine.id and r.status = \x27due\x27\n\t\treturning r.*/;
	END { die "the statement that hands out runs has changed: mend this script\n" if $n != 2 }' "$at" >"$work/runs.go"
printf '{"Replace": {"%s": "%s"}}\n' "$PWD/$at" "$work/runs.go" >"$work/overlay.json"

began=$SECONDS
if go test -overlay "$work/overlay.json" -count=1 -v -timeout 1h -run 'TestRolesBesideEachOther$' ./cmd/tidemark \
	-contention.days "$days" -contention.seed "$seed" >"$work/out" 2>&1; then
	echo "not found: all roles lived through $days days with the old deadlock put back" >&2
	exit 1
fi
if ! grep -q 'met a deadlock' "$work/out"; then
	tail -50 "$work/out" >&2
	echo "the run failed, but of something else than a deadlock" >&2
	exit 1
fi
grep -m 3 -E 'seed [0-9]+: after|deadlock detected|Process [0-9]+ waits' "$work/out" | cut -c1-300
echo "found, $((SECONDS - began)) s after the build began"
