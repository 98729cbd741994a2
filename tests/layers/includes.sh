#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Who may include whom. A header of include/ctop/X/ and every file of src/X/ belong to layer X.
# Each file may include its own layer, base, the headers that are free for all, and what `uses`
# names for its layer; nothing else of ctop's. Speaks TAP. Checks first that it finds planted
# violations: a check that cannot fail proves nothing.
set -u
cd "$(dirname "$0")/../.." || exit 1

layers='base perf perfdata proc object unwind symbol profile collect format ui app'

uses() { # LAYER
	case $1 in
	collect) echo perf perfdata proc object unwind profile ;;
	perfdata) echo perf ;;
	symbol) echo object profile ;;
	unwind) echo object ;;
	ui | format) echo profile ;;
	app) echo "$layers" ;;
	esac
}

free_header='^<ctop/([^/>]+)>$'
layer_header='^<ctop/([a-z_]+)/[^/>]+>$'
private_header='^"[A-Za-z0-9_]+\.h"$'

# Prints one line for each include that breaks the rules below the folder ROOT.
violations() { # ROOT
	local root=$1 layer allowed file line header owner
	for layer in $(cd "$root" && { find src include/ctop -mindepth 1 -maxdepth 1 -type d -printf '%f\n' 2>/dev/null; [ ! -d ui ] || echo ui; } | sort -u); do
		case " $layers " in
		*" $layer "*) ;;
		*) echo "$layer: a folder that is no layer" ;;
		esac
		allowed=" base $layer $(uses "$layer" | tr '\n' ' ') "
		while IFS=: read -r file line header; do
			[ -n "$file" ] || continue
			if [[ $header =~ $free_header ]]; then
				case ${BASH_REMATCH[1]} in
				ids.h | module_identity.h | stack_end.h | weight_unit.h | event_sets.h | file_kind.h) continue ;;
				esac
				echo "$file:$line: $layer includes $header, which is not free for all"
			elif [[ $header =~ $layer_header ]]; then
				owner=${BASH_REMATCH[1]}
				[[ $allowed == *" $owner "* ]] ||
					echo "$file:$line: $layer may not include $owner's $header"
			elif [[ $header == '<ctop'* ]]; then
				echo "$file:$line: $header is no header of a layer"
			elif [[ $header == '"'* ]]; then
				# In quotes: a private header beside the file, never a path elsewhere.
				[[ $header =~ $private_header && $file =~ ^(src|ui)/ ]] ||
					echo "$file:$line: $header: quotes are for private headers in the same folder"
			fi
		done < <(cd "$root" && grep -rnoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"][^>"]*[>"]' \
			"src/$layer" "include/ctop/$layer" $([ "$layer" != ui ] || echo ui) 2>/dev/null |
			sed -E 's/#[[:space:]]*include[[:space:]]*//; s/:[[:space:]]+([<"])/:\1/')
	done
	# Headers directly in include/ctop belong to everybody and may know nobody.
	(cd "$root" && grep -noE '#[[:space:]]*include[[:space:]]*[<"]ctop/[a-z_]+/.*' include/ctop/*.h /dev/null 2>/dev/null)
}

failed=0
report() { # NAME OUTPUT: passes when there is none
	if [ -z "$2" ]; then
		echo "ok - $1"
	else
		printf '%s\n' "$2" | sed 's/^/# /'
		echo "not ok - $1"
		failed=1
	fi
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

caught finds_a_layer_below_using_one_above src/proc/planted.c '#include <ctop/collect/collector.h>'
caught finds_a_sideways_include src/unwind/planted.c '#include <ctop/proc/world.h>'
caught finds_base_using_a_layer src/base/planted.h '#include <ctop/perf/ring.h>'
caught finds_it_in_a_public_header include/ctop/format/planted.h '#include <ctop/collect/collector.h>'
caught finds_it_however_it_is_spaced src/perf/planted.c '  #  include   <ctop/proc/world.h> /* why not */'
caught finds_it_after_a_comment_on_top src/symbol/planted.c '#include <ctop/unwind/unwind.h>'
caught finds_a_path_in_quotes src/profile/planted.c '#include "../collect/private.h"'
caught finds_a_quoted_public_header src/perf/planted.c '#include "ctop/proc/world.h"'
caught finds_a_public_header_that_uses_a_private_one include/ctop/unwind/planted.h '#include "rules.h"'
caught finds_a_global_header_that_is_none src/perf/planted.c '#include <ctop/everything.h>'
caught finds_what_the_interface_may_not_use ui/planted.c '#include <ctop/perf/ring.h>'
caught finds_a_folder_that_is_no_layer src/utilities/planted.c '#include <stdio.h>'
caught finds_a_free_header_that_knows_a_layer include/ctop/planted.h '#include <ctop/perf/ring.h>'
allowed lets_a_layer_use_what_it_may src/collect/planted.c '#include <ctop/perf/ring.h>' \
	'#include <ctop/unwind/unwind.h>' '#include <ctop/base/vec.h>' '#include <ctop/ids.h>' \
	'#include <ctop/stack_end.h>' '#include <ctop/module_identity.h>' '#include <stdio.h>' '#include <sys/mman.h>' '#include "private.h"'
allowed lets_the_interface_use_the_profile ui/planted.c '#include <ctop/profile/history.h>' '#include "view.h"'
allowed lets_unwind_use_object src/unwind/planted.c '#include <ctop/object/object.h>'
allowed lets_app_use_all src/app/planted.c '#include <ctop/ui/loop.h>' '#include <ctop/symbol/symbolizer.h>'

# ---- the tree ----
report includes_follow_the_layers "$(violations .)"
exit $failed
