#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Calls between the files of a room go one way: who calls stands above whom it calls, or a layer hides in them. Looks at what the
# objects define and use. Checks first that it finds a circle that was planted. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/layers/report.bash
build=${BUILD:-build}

# Reads `nm -A` of a room's objects; prints the files that call each other in circles.
circles() {
	awk '{
		file = $1
		sub(/:.*/, "", file)
		sub(/.*\//, "", file)
		sub(/\.o$/, "", file)
		if ($(NF - 1) == "U")
			uses[file " " $NF] = 1
		else if ($(NF - 1) ~ /^[TDRBV]$/)
			place[$NF] = file
	}
	END {
		for (use in uses) {
			split(use, is, " ")
			if (is[2] in place && place[is[2]] != is[1])
				print is[1], place[is[2]]
		}
	}' | sort -u | LC_ALL=C tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([^ ]*\)$/\1/p' | grep -v '^-$' | sort -u
}

planted=$(printf '%s\n' 'x/a.o:0 T a' 'x/a.o: U b' 'x/b.o:0 T b' 'x/b.o: U c' 'x/c.o:0 T c' 'x/c.o: U a' 'x/d.o: U a' | circles | xargs)
report finds_a_planted_circle "$([ "$planted" = 'a b c' ] || echo "found: $planted")"
straight=$(printf '%s\n' 'x/a.o:0 T a' 'x/a.o: U b' 'x/b.o:0 T b' 'x/b.o: U strlen' | circles)
report lets_calls_go_one_way "$straight"

for room in src/*/*/; do
	room=${room%/}
	objects=()
	for source in "$room"/*.c; do # what is no longer there may have an object all the same
		object=$build/obj/${source%.c}.o
		[ ! -f "$object" ] || objects+=("$object")
	done
	report "$room" "$(nm -A "${objects[@]}" | circles)"
done
exit $failed
