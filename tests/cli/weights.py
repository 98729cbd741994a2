#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What samples stand for: shares by their periods, beside perf's own."""

import os

from harness import ROOT, case, check, ctop_ok, main

VERSION_2 = os.path.join(ROOT, "tests", "golden", "recordings", "version-2")


@case
def a_recording_of_version_2_is_read():
    """Its events had but two units."""
    script = ctop_ok("export", "script", VERSION_2).stdout
    check(script.count(" page-faults: \n") == 11, script)
    check("touch_pages" in ctop_ok("report", VERSION_2).stdout, "no names")


if __name__ == "__main__":
    main()
