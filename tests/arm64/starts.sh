#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The program itself, emulated: it starts, and says what it lacks where there is no perf_event_open.
set -u
ctop=$ARM64_BUILD/ctop
if qemu-aarch64 "$ctop" --version | grep -q '^ctop '; then
	echo 'ok - the program starts'
else
	echo 'not ok - the program starts'
fi
said=$(qemu-aarch64 "$ctop" record -o /dev/null -p $$ --duration 1 2>&1)
status=$?
if [ $status -ne 0 ] && [ $status -lt 125 ] && [ -n "$said" ]; then
	echo 'ok - without perf_event_open it says so and ends'
else
	printf '# %s: %s\n' $status "$said"
	echo 'not ok - without perf_event_open it says so and ends'
fi
