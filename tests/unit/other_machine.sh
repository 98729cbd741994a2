#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names the tests that are about another machine's registers and instructions than this one's: OTHER_MACHINE_TESTS. TAP.
set -u
for test in $OTHER_MACHINE_TESTS; do
	name=${test#tests/}
	echo "ok - ${name%.c} # SKIP of x86-64's registers and instructions"
done
