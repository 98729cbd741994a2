#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Each attack in docs/SECURITY.md has a test that is there, under the name that it goes by. Speaks TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/layers/report.bash

# FILE CASE of each test in a table, CASE empty where the file is meant; what stands in brackets are a corpus's files.
named() { # DOCUMENT
	sed -n 's/^| .* | \([^|]*\) |$/\1/p' "$1" | grep -oE '(security|unit|fuzz|cli)/[a-z0-9_/]+\.(py|c)(: [a-z0-9_, ]+)?' |
		while IFS=: read -r file cases; do
			for one in ${cases//,/ } ''; do echo "$file $one"; done
		done
}

missing() { # DOCUMENT
	named "$1" | while read -r file one; do
		[ -f "tests/$file" ] || echo "tests/$file"
		[ -z "$one" ] || grep -q "\b$one\b" "tests/$file" 2>/dev/null || echo "tests/$file: $one"
	done
}

planted=$(mktemp)
trap 'rm -f "$planted"' EXIT
echo '| attack | what stops it | security/nowhere.py; security/broker.py: no_such_case, no_file_that_is_not |' >"$planted"
report what_is_missing_is_found "$([ "$(missing "$planted" | sort -u | wc -l)" -eq 2 ] || missing "$planted")"
report finds_the_tables "$([ "$(named docs/SECURITY.md | wc -l)" -gt 50 ] || named docs/SECURITY.md)"
report every_attack_has_its_test "$(missing docs/SECURITY.md)"
exit $failed
