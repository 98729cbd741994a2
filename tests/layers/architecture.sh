#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# docs/ARCHITECTURE.md has a line for every source file, and for none that is gone. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
described=$(grep '^|' docs/ARCHITECTURE.md | grep -o '^| [^|]*' | grep -o '`[a-z0-9_]*\.[ch]`' | tr -d '`' | sort -u)
present=$(find src ui -name '*.c' -printf '%f\n' | sort -u)
missing=$(comm -13 <(echo "$described") <(echo "$present"))
gone=$(comm -23 <(echo "$described") <(find src ui include -name '*.[ch]' -printf '%f\n' | sort -u))
status=0
report() { # NAME, FILES that should not be
	if [ -z "$2" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1"
		printf '# %s\n' $2
		status=1
	fi
}
report 'ARCHITECTURE.md names every source file' "$missing"
report 'ARCHITECTURE.md names no file that is gone' "$gone"
exit $status
