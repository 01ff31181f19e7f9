#!/usr/bin/env bash
# Drives the pages in a real Chromium, which tools/deps.sh finds or gets. The packages are installed once for each lock file, below
# .cache; pictures of the pages are left in build/screenshots. Where there is no Chromium to be had, or npm cannot reach its registry and
# has not installed the packages before, there is nothing to do it with: that is said, and is no failure.
set -euo pipefail
cd "$(dirname "$0")/.."
source=test/browser/npm
npm=$PWD/.cache/browser

skip() {
	echo "SKIPPED, the pages were not seen in a browser: $1"
	exit 0
}

command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no node or npm on this machine'
node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' || skip "Node $(node --version) is older than 20"
browser=$(tools/deps.sh chromium | sed -n 's/^chromium at //p') || true
[ -n "$browser" ] || skip 'there is no Chromium on this machine, and none could be got'
shell=$(tools/deps.sh shell | sed -n 's/^shell at //p') || true
browser=${shell:-$browser}
if ! cmp -s "$source/package-lock.json" "$npm/installed"; then
	echo 'Installing the packages that drive the browser, once'
	rm -rf "$npm"
	mkdir -p "$npm"
	cp "$source"/*.json "$source/.npmrc" "$npm"
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! (cd "$npm" && npm ci) >"$log" 2>&1; then
		(cd "$npm" && npm view axe-core name) >/dev/null 2>&1 || skip 'npm cannot reach its registry'
		cat "$log"
		exit 1
	fi
	cp "$source/package-lock.json" "$npm/installed"
fi
cp "$source"/*.mjs "$npm"
go test -count=1 -v -timeout 70m ./test/browser -npm "$npm" -browser "$browser" -screenshots "$PWD/build/screenshots" "$@"
