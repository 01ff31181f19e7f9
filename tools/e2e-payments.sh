#!/usr/bin/env bash
# Pays for every address that is paid by request with the clients that the x402 project publishes. The argument is the go-ethereum node
# to do it on. The packages are installed once for each lock file, below .cache. Where npm cannot reach its registry, and has not
# installed them before, there is nothing to pay with: that is said, and is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."
geth=$PWD/${1:?the node}
source=test/payments/npm
npm=$PWD/.cache/payments

skip() {
	echo "SKIPPED, the payments were not tested end to end: $1"
	exit 0
}

command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no node or npm on this machine'
if ! cmp -s "$source/package-lock.json" "$npm/installed"; then
	echo 'Installing the packages of the x402 project, once'
	rm -rf "$npm"
	mkdir -p "$npm"
	cp "$source"/*.json "$source/.npmrc" "$npm"
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! (cd "$npm" && npm ci) >"$log" 2>&1; then
		(cd "$npm" && npm view viem name) >/dev/null 2>&1 || skip 'npm cannot reach its registry'
		cat "$log"
		exit 1
	fi
	cp "$source/package-lock.json" "$npm/installed"
fi
cp "$source"/*.mjs "$npm"
go test -count=1 -timeout 10m -run '^TestStock' ./test/payments -geth "$geth" -npm "$npm"
