#!/usr/bin/env bash
# Scores the main pages of a running server with Lighthouse, in the Chromium that tools/deps.sh finds. Fails where one of the four scores is
# below 100. The score for performance needs a quiet machine: on a busy one the page is fast and its measurement is not, so each page has
# three tries.
#
#   tools/lighthouse.sh [URL]     http://127.0.0.1:8080 where nothing else is said
set -euo pipefail
cd "$(dirname "$0")/.."
url=${1:-http://127.0.0.1:8080}
version=12.8.2
npm=$PWD/.cache/lighthouse

curl -fsS "$url/readyz" >/dev/null || {
	echo "There is no server at $url: start one with make run" >&2
	exit 1
}
CHROME_PATH=$(tools/deps.sh chromium | sed -n 's/^chromium at //p')
export CHROME_PATH
[ -n "$CHROME_PATH" ] || {
	echo 'There is no Chromium on this machine, and none could be got' >&2
	exit 1
}
mkdir -p "$npm"
[ -d "$npm/node_modules/lighthouse" ] || (cd "$npm" && npm install --no-audit --no-fund --no-package-lock "lighthouse@$version" >/dev/null)

failed=0
printf '%-28s %12s %14s %15s %4s\n' page performance accessibility best-practices seo
for page in / /signals/hormuz-transit /verify /picks /docs; do
	for try in 1 2 3; do
		(cd "$npm" && npx lighthouse "$url$page" --quiet --chrome-flags='--headless --no-sandbox' --output=json --output-path="$npm/report.json" 2>/dev/null)
		line=$(node -e '
			const { categories: c } = JSON.parse(require("fs").readFileSync(process.argv[1]));
			const of = (id) => String(Math.round(100 * c[id].score));
			const scores = ["performance", "accessibility", "best-practices", "seo"].map(of);
			console.log([process.argv[2].padEnd(28), scores[0].padStart(12), scores[1].padStart(14), scores[2].padStart(15), scores[3].padStart(4)].join(" "));
			process.exitCode = scores.every((s) => s === "100") ? 0 : 3;' "$npm/report.json" "$page") && break
		[ "$try" -lt 3 ] || failed=1
	done
	echo "$line"
done
exit "$failed"
