#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Words that have been replaced by the field's own do not come back: fallback, directory, problems, untrusted data, again. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1

found() { # FILE...
	grep -rnIiE '\banew\b|\bstep(s|ped|ping)?[ -]down|folder|\btroubles\b|\bstrangers?\b|\bsmp\b' "$@"
}

planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
printf '%s\n' 'begins anew' 'Steps down' 'stepping down' 'open_folder()' 'troubles' "a stranger's" 'smp 12' 'renewed' 'a step, downwards' >"$planted"
[ "$(found "$planted" | wc -l)" -eq 7 ] && echo 'ok - planted_words_are_found' || echo 'not ok - planted_words_are_found'

found README.md CHANGELOG.md docs src include | sed 's/^/# /' | tee "$planted"
[ -s "$planted" ] && echo 'not ok - no_replaced_word_comes_back' || echo 'ok - no_replaced_word_comes_back'
