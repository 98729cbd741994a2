#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Who may include whom. Rooms stand on three floors: src/shared/ROOM is what all processes share, src/jailed/ROOM what
# parses untrusted bytes and runs without privileges, src/main/ROOM what main does. A header of include/ctop/ROOM/ belongs
# to its room. Each file may include its own room, rooms of the shared floor that `uses` names (or all of them, from
# another floor), and of its own floor what `uses` names; never one of the other two floors, but for `doors`. Speaks TAP.
# Checks first that it finds planted violations: a check that cannot fail proves nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/layers/report.bash

shared='base kernel ipc jail store recording'

uses() { # FLOOR/ROOM: what it may include of its own floor
	case $1 in
	shared/kernel) echo base ;;
	shared/store | shared/ipc) echo base kernel ;;
	shared/jail) echo base ipc ;;
	shared/recording) echo base store ;;
	jailed/machine) echo elf ;;
	jailed/code) echo elf machine ;;
	jailed/cfi) echo code elf machine ;;
	jailed/unwind) echo cfi code elf machine ;;
	jailed/lines) echo elf ;;
	jailed/symbol) echo elf lines ;;
	jailed/symbolizer) echo elf lines symbol ;;
	jailed/disassembler) echo elf lines symbol ;;
	jailed/collect) echo cfi code machine elf perfdata proc unwind ;;
	jailed/child) echo collect disassembler elf http lines reader symbol symbolizer ;;
	main/files) echo system ;;
	main/time) echo system ;;
	main/broker) echo files system ;;
	main/query) echo history ;;
	main/annotate) echo files history query system ;;
	main/format) echo history query recorder ;;
	main/screen) echo annotate history output query terminal ;;
	main/views) echo annotate history output query terminal screen ;;
	main/ui) echo annotate history output query terminal screen views ;;
	main/options) echo files format perf ;;
	main/session) echo broker files options output perf system time ;;
	main/metadata) echo history options output session system time ;;
	main/flight) echo history metadata options output recorder session system ;;
	main/report) echo annotate history metadata options output query session system ;;
	main/compare) echo format history options query report ;;
	main/diagnose) echo files options output perf system ;;
	main/serve) echo files flight options output session ;;
	main/interactive) echo annotate compare diagnose files format history metadata options output perf query report screen session system terminal ui ;;
	main/cli) echo compare diagnose flight format history interactive metadata options output perf query recorder report screen serve session system ui ;;
	esac
}

rooms='shared/base shared/kernel shared/ipc shared/jail shared/store shared/recording
jailed/elf jailed/machine jailed/code jailed/cfi jailed/unwind jailed/lines jailed/symbol jailed/symbolizer jailed/disassembler
jailed/proc jailed/perfdata jailed/collect jailed/reader jailed/http jailed/child
main/perf main/system main/files main/broker main/options main/output main/time main/session main/history main/query main/annotate main/recorder main/format
main/metadata main/flight main/serve main/report main/compare main/diagnose main/terminal main/screen main/views main/ui main/interactive main/cli'

# The one way from main to what is jailed: a child's main function, for the process that is to become it.
doors='src/main/cli/main.c <ctop/child/child.h>'

free_header='^<ctop/([^/>]+)>$'
room_header='^<ctop/([a-z_]+)/[^/>]+>$'
private_header='^"[A-Za-z0-9_]+\.h"$'

declare -A place_of may_include
for place in $rooms; do
	room=${place#*/}
	place_of[$room]=$place
	may_include[$place]=" $room $(uses "$place") $([ "${place%/*}" = shared ] || echo "$shared") "
done

# Prints one line for each include that breaks the rules below the directory ROOT.
violations() { # ROOT
	local directory file line header place
	while read -r directory; do
		[ -n "${may_include[$directory]:-}" ] || echo "src/$directory: a directory that is no room"
	done < <(cd "$1" && find src -mindepth 2 -maxdepth 2 -type d -printf '%P\n' 2>/dev/null)
	while read -r directory; do
		[ -n "${place_of[$directory]:-}" ] || echo "include/ctop/$directory: a directory that is no room"
	done < <(cd "$1" && find include/ctop -mindepth 1 -maxdepth 1 -type d -printf '%f\n' 2>/dev/null)
	(cd "$1" && find src -mindepth 1 -maxdepth 2 -type f -printf 'src/%P: a file outside all rooms\n' 2>/dev/null)
	while IFS=: read -r file line header; do
		case $file in
		src/*/*/*) place=${file#src/} place=${place%/*} ;;
		include/ctop/*/*) place=${file#include/ctop/} place=${place_of[${place%/*}]:-} ;;
		*) # directly in include/ctop: belongs to everybody and may know nobody
			[[ $header != '<ctop'* ]] || echo "$file:$line: knows $header"
			continue
			;;
		esac
		if [[ $header =~ $free_header ]]; then
			[ -f "include/ctop/${BASH_REMATCH[1]}" ] || echo "$file:$line: there is no $header"
		elif [[ $header =~ $room_header ]]; then
			[[ $1 != . || -f include/${header:1:-1} ]] || echo "$file:$line: there is no $header"
			[[ ${may_include[${place:-none}]:-} == *" ${BASH_REMATCH[1]} "* || "$file $header" == "$doors" ]] ||
				echo "$file:$line: may not include $header"
		elif [[ $header == '<ctop'* ]]; then
			echo "$file:$line: $header is no header of a room"
		elif [[ $header == '"'* ]]; then
			# In quotes: a private header beside the file, never a path elsewhere.
			[[ $header =~ $private_header && $file == src/* ]] ||
				echo "$file:$line: $header: quotes are for private headers in the same directory"
		fi
	done < <(cd "$1" && grep -rnoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"][^>"]*[>"]' src include 2>/dev/null |
		sed -E 's/#[[:space:]]*include[[:space:]]*//; s/:[[:space:]]+([<"])/:\1/' | grep -E ':(<ctop|")')
}

# ---- the check checked ----
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT

plant() { # FILE INCLUDE...: a tree of this one file
	rm -rf "${planted:?}"/*
	mkdir -p "$planted/$(dirname "$1")"
	printf '/* text */\n' >"$planted/$1"
	printf '%s\n' "${@:2}" >>"$planted/$1"
}

caught() { # NAME FILE INCLUDE
	plant "$2" "$3"
	if [ -n "$(violations "$planted")" ]; then
		report "$1" ''
	else
		report "$1" "not found: $3 in $2"
	fi
}

allowed() { # NAME FILE INCLUDE...
	plant "${@:2}"
	report "$1" "$(violations "$planted")"
}

for main_room in history query files session options cli broker; do
	caught "what_is_jailed_knows_no_$main_room" src/jailed/symbol/planted.c "#include <ctop/$main_room/planted.h>"
done
for jailed_room in elf machine code cfi unwind lines symbol symbolizer disassembler proc perfdata collect reader child; do
	caught "main_parses_nothing_by_$jailed_room" src/main/session/planted.c "#include <ctop/$jailed_room/planted.h>"
done
caught only_main_c_becomes_a_child src/main/cli/record.c '#include <ctop/child/child.h>'
caught what_is_shared_knows_no_floor src/shared/ipc/planted.c '#include <ctop/collect/collector.h>'
caught what_is_shared_knows_no_main src/shared/store/planted.c '#include <ctop/history/history.h>'
caught finds_a_room_below_using_one_above src/jailed/proc/planted.c '#include <ctop/collect/collector.h>'
caught finds_a_sideways_include src/jailed/unwind/planted.c '#include <ctop/proc/process_table.h>'
caught finds_base_using_a_room src/shared/base/planted.h '#include <ctop/kernel/ring.h>'
caught finds_it_in_a_public_header include/ctop/format/planted.h '#include <ctop/session/session.h>'
caught finds_it_however_it_is_spaced src/main/perf/planted.c '  #  include   <ctop/proc/process_table.h> /* why not */'
caught finds_it_after_a_comment_on_top src/jailed/symbol/planted.c '#include <ctop/unwind/unwind.h>'
caught finds_a_path_in_quotes src/main/history/planted.c '#include "../query/private.h"'
caught finds_a_quoted_public_header src/main/perf/planted.c '#include "ctop/base/vec.h"'
caught finds_a_public_header_that_uses_a_private_one include/ctop/unwind/planted.h '#include "rules.h"'
caught finds_a_global_header_that_is_none src/main/perf/planted.c '#include <ctop/everything.h>'
caught finds_what_the_interface_may_not_use src/main/ui/planted.c '#include <ctop/perf/sampler.h>'
caught finds_a_terminal_that_knows_what_is_drawn src/main/terminal/planted.c '#include <ctop/ui/ui.h>'
caught finds_a_directory_that_is_no_room src/main/utilities/planted.c '#include <stdio.h>'
caught finds_a_room_on_the_wrong_floor src/main/symbol/planted.c '#include <stdio.h>'
caught finds_a_file_outside_all_rooms src/main/planted.c '#include <stdio.h>'
caught finds_headers_of_no_room include/ctop/utilities/planted.h '#include <stdio.h>'
caught finds_a_free_header_that_knows_a_room include/ctop/planted.h '#include <ctop/kernel/ring.h>'
allowed lets_a_room_use_what_it_may src/jailed/collect/planted.c '#include <ctop/kernel/ring.h>' \
	'#include <ctop/unwind/unwind.h>' '#include <ctop/base/vec.h>' '#include <ctop/ids.h>' \
	'#include <ctop/stack_end.h>' '#include <stdio.h>' '#include <sys/mman.h>' '#include "private.h"'
allowed lets_the_interface_use_the_query src/main/views/planted.c '#include <ctop/query/selection.h>' '#include <ctop/screen/view.h>'
allowed lets_main_become_a_child src/main/cli/main.c '#include <ctop/child/child.h>'

# ---- the tree ----
report includes_follow_the_rooms "$(violations .)"
exit $failed
