#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rules that are read from arm64's code, beside the tables of what was compiled for it.
set -u
sysroot=${QEMU_LD_PREFIX:-}
libc=
for path in "$sysroot"/{usr/,}lib/aarch64-linux-gnu/libc.so.6; do
	[ -e "$path" ] && libc=$path
done
exec qemu-aarch64 "$ARM64_BUILD/arm64/code_against_tables" "$ARM64_BUILD/arm64/ladder" ${libc:+"$libc"}
