#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""New stacks without an end: tables are replaced when they are full, and nothing is lost by that."""

from harness import (Skip, case, check, check_accounts, cpu_seconds, ctop_ok, folder, main, need_root,
                     record, share_complete, target, with_function)


@case
def full_tables_lose_nothing():
    need_root()
    with folder() as where, target("newstacks") as program:
        before = cpu_seconds(program.pid)
        recording = record(where, "-F", "10000", "--max-overhead", "0", "-e", "cpu-clock:u", "-p",
                           program.pid, seconds=9)
        used = cpu_seconds(program.pid) - before
        report = ctop_ok("report", "--stdio", recording.path).stdout
    check_accounts(recording.stats)
    check("left out" not in report, report)
    stacks, samples = recording.stacks, recording.stats["samples"]
    check(sum(stacks.values()) == samples, f"{sum(stacks.values())} of {samples}")
    check(share_complete(recording.stats) > 0.99, f"{recording.stats['stacks']}")
    rooted = sum(count for stack, count in stacks.items() if "main" in stack)
    check(rooted > 0.99 * samples, f"{rooted} of {samples} have main in them; {used} s")
    check(with_function(stacks, "bottom") > 0.9 * samples, "bottom is missing")
    full = [stack for stack in stacks if "bottom" in stack]
    wrong = [stack for stack in full if stack[-1] == "bottom" and
             sum(name in ("even", "odd") for name in stack) != 25]
    check(not wrong, f"{len(wrong)} stacks, as {wrong[:1]}")
    check(recording.stats["peak_rss_bytes"] < 256 << 20, f"{recording.stats['peak_rss_bytes']}")
    # 512 Ki nodes fill a table: less than that proves nothing.
    if len(stacks) * 20 < 600000:
        raise Skip(f"only {len(stacks)} stacks in {used} s of CPU time: no table was full")


if __name__ == "__main__":
    main()
