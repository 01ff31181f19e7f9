#!/usr/bin/env bash
# Runs the named make targets in order, each under a heading, and closes with a summary. A target that fails does not keep the others
# from running, except that nothing after deps and vet makes sense without them.
set -uo pipefail
cd "$(dirname "$0")/.."

bold='' red='' green='' plain=''
if [ -t 1 ]; then
	bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
fi

summary=()
failed=()
stopped=''
began=$SECONDS
for target in "$@"; do
	if [ -n "$stopped" ]; then
		summary+=("$(printf '%-14s not run, because %s failed' "$target" "$stopped")")
		continue
	fi
	printf '\n%s== %s%s\n' "$bold" "$target" "$plain"
	start=$SECONDS
	if "${MAKE:-make}" --no-print-directory "$target"; then
		summary+=("$(printf '%s%-14s ok%s      %4d s' "$green" "$target" "$plain" $((SECONDS - start)))")
		continue
	fi
	summary+=("$(printf '%s%-14s FAILED%s  %4d s' "$red" "$target" "$plain" $((SECONDS - start)))")
	failed+=("$target")
	case $target in
	deps | vet) stopped=$target ;;
	esac
done

printf '\n%s== summary%s\n' "$bold" "$plain"
printf '%s\n' "${summary[@]}"
took=$((SECONDS - began))
if [ ${#failed[@]} -gt 0 ]; then
	printf '%sFAILED after %d:%02d: %s%s\n' "$red" $((took / 60)) $((took % 60)) "${failed[*]}" "$plain"
	exit 1
fi
printf '%sEverything passed in %d:%02d%s\n' "$green" $((took / 60)) $((took % 60)) "$plain"
