#!/usr/bin/env bash
# Runs make targets and closes with a summary: of each how long it took, and how much processor time it and its children used.
#
#   tools/check.sh deps build then race beside chaos-short browser then fuzz
#
# The targets run in order. After "then" begins what waits for all before it. "beside" divides what stands between two "then" into lanes,
# which run beside each other; the output of a target of a lane is shown when it has ended. A target that fails does not keep the others
# from running, except that nothing after deps and build makes sense without them.
set -uo pipefail
cd "$(dirname "$0")/.."

bold='' red='' green='' plain=''
if [ -t 1 ]; then
	bold=$'\e[1m' red=$'\e[31m' green=$'\e[32m' plain=$'\e[0m'
fi

kept=$(mktemp -d)
: >"$kept/summary"
lanes=() showing=''
ended() {
	[ -z "$showing" ] || kill "$showing"
	for lane in ${lanes[@]+"${lanes[@]}"}; do
		kill -TERM -- "-$lane" 2>/dev/null
	done
	rm -rf "$kept"
}
trap ended EXIT
trap 'exit 130' INT TERM HUP

# target runs one target, alone or in a lane, and adds its line to the summary.
target() {
	local name=$1 lane=$2 start=$SECONDS status=0 used TIMEFORMAT='%U %S'
	: >"$kept/output$lane"
	if [ -z "$lane" ]; then
		printf '\n%s== %s%s\n' "$bold" "$name" "$plain"
		sleep infinity & # The output is shown until this ends. No pipe, because a process that a test leaves behind would hold it.
		showing=$!
		tail -n +1 -s .1 -f --pid="$showing" "$kept/output" &
	else
		printf '\n%s== %s begins%s\n' "$bold" "$name" "$plain"
	fi
	{ time "${MAKE:-make}" --no-print-directory "$name" >"$kept/output$lane" 2>&1; } 2>"$kept/used$lane" || status=$?
	used=$(cat "$kept/used$lane")
	if [ -z "$lane" ]; then
		kill "$showing"
		wait $! # for the last lines
		showing=''
	else
		( # The output of two targets does not mix.
			flock 9
			printf '\n%s== %s%s\n' "$bold" "$name" "$plain"
			cat "$kept/output$lane"
		) 9>"$kept/lock"
	fi
	used=$(awk '{printf "%d", $1 + $2}' <<<"$used")
	if [ "$status" = 0 ]; then
		printf '%s%-16s ok%s      %5d s, CPU %5d s\n' "$green" "$name" "$plain" $((SECONDS - start)) "$used" >>"$kept/summary"
		return
	fi
	printf '%s%-16s FAILED%s  %5d s, CPU %5d s\n' "$red" "$name" "$plain" $((SECONDS - start)) "$used" >>"$kept/summary"
	echo "$name" >>"$kept/failed"
	failures "$name" <"$kept/output$lane" >>"$kept/failures"
	case $name in
	deps | build) echo "$name" >"$kept/stopped" ;;
	esac
}

# failures shows the parts of a target's output that say what failed, so that nobody has to look for them in the whole.
failures() {
	printf '\n%s== what failed in %s%s\n' "$bold" "$1" "$plain"
	awk -v around=12 -v most=120 '
		{ line[NR] = substr($0, 1, 1000) }
		/--- FAIL|^FAIL|panic:|DATA RACE|Error [0-9]+$|^✖|: ✖/ { for (n = NR - around; n <= NR + around; n++) show[n] = 1 }
		END {
			for (n = 1; n <= NR; n++) if (n in show && shown < most) {
				if (shown && !((n - 1) in show)) print "[...]"
				print line[n]
				shown++
			}
		}'
}

# run runs targets one after the other.
run() {
	local lane=$1 name
	shift
	for name in "$@"; do
		if [ -e "$kept/stopped" ]; then
			printf '%-16s not run, because %s failed\n' "$name" "$(cat "$kept/stopped")" >>"$kept/summary"
		else
			target "$name" "$lane"
		fi
	done
}

# part runs what stands between two "then": the names of a lane are one argument.
part() {
	if [ $# = 1 ]; then
		# shellcheck disable=SC2086 # names of targets
		run '' $1
		return
	fi
	local lane
	set -m # Each lane is a process group of its own, so that its targets end with this script.
	for lane in "$@"; do
		# shellcheck disable=SC2086
		run "$((${#lanes[@]} + 1))" $lane </dev/null &
		lanes+=($!)
	done
	set +m
	wait
	lanes=()
}

began=$SECONDS
given=() names=''
for word in "$@" then; do
	case $word in
	beside) given+=("$names") names='' ;;
	then)
		part ${given[@]+"${given[@]}"} "$names"
		given=() names=''
		;;
	*) names+=" $word" ;;
	esac
done

[ ! -e "$kept/failures" ] || cat "$kept/failures"
printf '\n%s== summary%s\n' "$bold" "$plain"
cat "$kept/summary"
took=$((SECONDS - began))
if [ -e "$kept/failed" ]; then
	printf '%sFAILED after %d:%02d: %s%s\n' "$red" $((took / 60)) $((took % 60)) "$(paste -sd' ' "$kept/failed")" "$plain"
	exit 1
fi
printf '%sEverything passed in %d:%02d%s\n' "$green" $((took / 60)) $((took % 60)) "$plain"
