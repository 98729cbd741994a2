#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Labels of runs: given at record, kept, shown, exported, filtered by."""

import json
import os
import re

from exporting import HOSTILE
from harness import BUILD, case, check, check_refused, ctop, ctop_ok, directory, main, need_program, run
from made_recording import NANOSECONDS, MadeRecording


def made(where, name, nr=10, **facts):
    recording = MadeRecording()
    recording.event("cpu-clock", NANOSECONDS, period=1000000)
    frame = recording.frame(recording.module(b"/bin/prog"), 0x1000, name)
    for i in range(nr):
        recording.sample(1000000 * (i + 1), recording.task(100, 100, "prog"), [frame], weight=1000000)
    recording.facts = facts
    return recording.write(os.path.join(where, name + ".ctop"))


@case
def labels_given_at_record_are_kept():
    with directory() as where:
        path = os.path.join(where, "x.ctop")
        ctop_ok("record", "-q", "-e", "cpu-clock", "--label", "env=test", "--label", "run=0", "-o", path, "--",
                os.path.join(BUILD, "workloads", "slower"), "200")
        check("\nlabels     env=test, run=0\n" in ctop_ok("report", "--stdio", path).stdout, "report")
        facts = json.loads(ctop_ok("export", "json", path).stdout)["facts"]
        check(facts["label.env"] == "test" and facts["label.run"] == "0", facts)
        whole = ctop_ok("export", "folded", path).stdout
        check(whole and whole == ctop_ok("export", "folded", path, "--label", "env=test", "--label", "run=0").stdout, "filtered")
        check_refused(ctop("report", path, "--label", "env=other"), 1, "passes the filter", "--label")


@case
def pprof_keeps_labels_apart_from_its_own():
    need_program("go")
    with directory() as where:
        path = made(where, "f", **{"label.pid": "said", "label.env": "test", "hostname": "h"})
        profile = os.path.join(where, "x.pb.gz")
        ctop_ok("export", "pprof", path, "-o", profile)
        tags = run("go", "tool", "pprof", "-tags", "-symbolize=none", profile, env={**os.environ, "PPROF_TMPDIR": where}).stdout
        found = {key: value for key, value in re.findall(r"^ *([\w.]+): Total.*\n.*: (\w+)$", tags, re.M)}
        check(found["pid"] == "100" and found["label.pid"] == "said" and found["env"] == "test", tags)


@case
def a_run_without_the_label_does_not_pass():
    with directory() as where:
        path = made(where, "f", **{"label.env": "a", "hostname": "h1"})
        ctop_ok("report", path, "--label", "env=a", "--label", "host=h1")
        for label in "env=b", "en=a", "other=a", "host=h2", "hos=h1":
            check_refused(ctop("report", path, "--label", label), 1, "none of 10 samples passes the filter")


@case
def what_is_no_label_is_refused():
    for label in "env", "=x", "a b=c", "env=", "k" * 64 + "=v", "k=" + "v" * 600, "a;b=c", "\n=x":
        check_refused(ctop("record", "--label", label, "--", "true"), 2, "--label: invalid label")
    check_refused(ctop("record", *(["--label", "a=b"] * 33), "--", "true"), 2, "too many labels")


@case
def hostile_labels_do_no_harm():
    with directory() as where:
        for number, name in enumerate(HOSTILE):
            value = name if isinstance(name, bytes) else name.encode()
            path = made(where, f"h{number}", **{"label.x": value, "label." + "y" * 3000: value, "source": value})
            text = ctop_ok("report", "--stdio", path).stdout
            check("\x1b" not in text and "\u202e" not in text, text)
            json.loads(ctop_ok("export", "json", path).stdout)
            ctop_ok("export", "pprof", path, "-o", os.path.join(where, "x.pb.gz"))


if __name__ == "__main__":
    main()
