#!/usr/bin/env bash
# Runs every fuzz target of the module for its share of the seconds given, and at least one second. Building comes on top. The inputs that
# found something new are kept in .cache/fuzz, so that the next time goes on from there; an input that breaks a target is written below
# its package's testdata/fuzz, where every test runs it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?how many seconds}

mapfile -t targets < <(
	grep -rHoE --include='*_test.go' --exclude-dir='.?*' --exclude-dir=tools --exclude-dir=testdata \
		'^func Fuzz[A-Za-z0-9_]*\(f \*testing\.F\)' . |
		sed -E 's|^(.*)/[^/]*:func (Fuzz[A-Za-z0-9_]*).*|\1 \2|' | sort
)
if [ ${#targets[@]} -eq 0 ]; then
	echo 'There is no fuzz target.'
	exit 0
fi
corpus=$PWD/.cache/fuzz
mkdir -p "$corpus"
kept() { find "$corpus" -type f | wc -l; }
before=$(kept)
each=$((seconds / ${#targets[@]}))
[ "$each" -ge 1 ] || each=1
echo "${#targets[@]} targets, $each s each; $before inputs are kept in .cache/fuzz"

log=$(mktemp) built=$(mktemp -d)
trap 'rm -rf "$log" "$built"' EXIT

# The targets of a package stand beside each other, and share one binary, without the symbols for debuggers. The command imports nearly
# all other packages, so it is built first; then two packages at a time find their imports built, and are mostly linked. -d=libfuzzer
# counts the branches that an input takes, here those of our code and of the parsers that it rests on. `go test -fuzz` counts those of all
# libraries: they are built once more for that, and looking through their counts takes most of the time that an input takes.
counted='-d=libfuzzer'
build() {
	go test -c -ldflags='-s -w' -gcflags="tidemark/...=$counted" -gcflags="github.com/go-json-experiment/...=$counted" \
		-gcflags="golang.org/x/net/html/...=$counted" -gcflags="encoding/csv=$counted" -o "$built/${1//\//_}" "$1"
}
export counted
export -f build
export built
mapfile -t packages < <(printf '%s\n' "${targets[@]% *}" | sort -u)
for package in "${packages[@]}"; do
	[ "$package" != ./cmd/tidemark ] || build "$package"
done
printf '%s\n' "${packages[@]}" | grep -vx ./cmd/tidemark | xargs -P 2 -I{} bash -c 'build {}'

failed=0
for target in "${targets[@]}"; do
	read -r package name <<<"$target"
	binary=$built/${package//\//_}
	for try in 1 2; do
		if (cd "$package" && "$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "${each}s" \
			-test.fuzzcachedir="$corpus/${package#./}") >"$log" 2>&1; then
			tried=$(sed -nE 's/.*execs: ([0-9]+).*/\1 inputs/p' "$log" | tail -n 1)
			printf '%-40s %-28s %s\n' "$package" "$name" "${tried:-its known inputs took all the time}"
			break
		fi
		# At the end of its time a fuzz target now and then takes its own deadline for a failure, and writes no input.
		if [ "$try" = 1 ] && grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log"; then
			continue
		fi
		printf '%-40s %-28s FAILED\n' "$package" "$name"
		cat "$log"
		echo "The input is kept in ${package#./}/testdata/fuzz/$name: commit it with the repair."
		failed=1
		break
	done
done
echo "$(($(kept) - before)) new inputs are kept in .cache/fuzz"
exit "$failed"
