#!/usr/bin/env bash
# Holds the running program to the suites that others publish for its contracts: each is a step of test/conformance, run against one
# sandbox. The packages are installed once for each lock file, below .cache, and a Node beside them where the machine's is too old. Where
# npm cannot reach its registry, and has not installed them before, only the examples and what else needs no packages are run: that is said, and is no failure. Arguments
# go to go test: -run 'TestConformance/mcp' runs the steps whose names begin with mcp.
set -euo pipefail
cd "$(dirname "$0")/.."
source=test/conformance
cache=$PWD/.cache/conformance

skip() {
	echo "SKIPPED, the program was not held to the suites of others: $1"
	go test -count=1 -v -timeout 10m "./$source" -examples -run TestConformance
	exit 0
}

# install puts the packages of a folder into another, unless those of its lock file are there.
install() {
	local from=$1 to=$2 log status=0
	cmp -s "$from/package-lock.json" "$to/installed" && return
	echo "Installing the packages of $from, once"
	rm -rf "$to"
	mkdir -p "$to"
	cp "$from"/package*.json "$from/.npmrc" "$to"
	log=$(mktemp)
	(cd "$to" && npm ci) >"$log" 2>&1 || status=$?
	if [ "$status" != 0 ]; then
		(cd "$to" && npm view ajv name) >/dev/null 2>&1 || skip 'npm cannot reach its registry'
		cat "$log"
		exit 1
	fi
	rm -f "$log"
	cp "$from/package-lock.json" "$to/installed"
}

command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no node or npm on this machine'
node=$(command -v node)
if ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1)'; then
	install "$source/node" "$cache/node"
	node=$(compgen -G "$cache/node/node_modules/node-linux-*/bin/node" | head -n 1 || true)
	[ -n "$node" ] || skip "Node $(node --version) is older than 22.19, and npm has no newer one for this machine"
fi
install "$source/npm" "$cache/npm"
install "$source/columns" "$cache/columns"
install "$source/polars" "$cache/polars"
go test -count=1 -timeout 5m ./internal/columns -npm "$cache/columns"
go test -count=1 -v -timeout 10m "./$source" -npm "$cache/npm" -columns "$cache/columns" -polars "$cache/polars" -node "$node" "$@"
