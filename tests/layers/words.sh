#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Words that have been replaced by the field's own do not come back, in names of files and cases neither: fallback, directory,
# problems, other user, untrusted data, again. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/layers/report.bash

old='anew|\bstep(s|ped|ping)?[ -]down|folder|\btroubles\b|stranger|(^|[^-[:alnum:]])smp\b'
found() { # FILE...
	grep -rnIiE --exclude=words.sh "$old" "$@"
	find "$@" -print | grep -iE "$old"
}

planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
printf '%s\n' 'begins anew' 'a_file_written_anew' 'Steps down' 'stepping down' 'open_folder()' 'troubles' "a stranger's" 'smp 12' 'renewed' \
	'a step, downwards' >"$planted/strangers.py"
report planted_words_are_found "$([ "$(found "$planted" | wc -l)" -eq 9 ] || found "$planted")"
report no_replaced_word_comes_back "$(found README.md CHANGELOG.md docs src include tests)"
exit $failed
