#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Run instead of all that needs the emulated machine, when its packages cannot be had.
echo "ok - ctop beside a PMU # SKIP $(cat "$ARM64_BUILD/pmu-reason")"
