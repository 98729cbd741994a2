# SPDX-License-Identifier: MIT
"""An emulated 64-bit Arm machine whose PMU interrupts: qemu, this distribution's arm64 kernel and busybox, and
the cross-built ctop in an initial RAM disk. Nothing is installed for it, and it has neither disk nor network.

Its time is the number of instructions it has run (-icount): how busy the real machine is makes it late, never
different. README.md says more.
"""

import base64
import collections
import contextlib
import glob
import io
import os
import re
import select
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

from harness import Skip, check  # noqa: E402

BUILD = os.path.abspath(os.environ.get("ARM64_BUILD", "build-arm64"))
SYSROOT = BUILD + "-sysroot"
TRIPLET = "aarch64-linux-gnu"
BOOT_SECONDS = int(os.environ.get("PMU_BOOT_SECONDS", "180"))
RUN_SECONDS = int(os.environ.get("PMU_RUN_SECONDS", "300"))
PROGRAMS = [f"{BUILD}/ctop", *(path for path in glob.glob(f"{BUILD}/pmu/*") if "." not in os.path.basename(path))]

Result = collections.namedtuple("Result", "status stdout stderr files")


def library(name):
    for path in (f"lib/{TRIPLET}", f"usr/lib/{TRIPLET}", "lib"):
        if os.path.exists(f"{SYSROOT}/{path}/{name}"):
            return f"{SYSROOT}/{path}/{name}"
    raise FileNotFoundError(f"{name} is not in {SYSROOT}")


def libraries(programs):
    """What dynamic programs need, and what that needs."""
    found, todo = {}, list(programs)
    while todo:
        listing = subprocess.run([f"{TRIPLET}-readelf", "-d", todo.pop()], check=True, capture_output=True,
                                 text=True).stdout
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]", listing):
            if name not in found:
                found[name] = library(name)
                todo.append(found[name])
    return found


def make_disk(where, steps, live=None):
    """The initial RAM disk: its path."""
    root = f"{where}/root"
    for path in ("bin", "proc", "sys", "dev", "tmp", "lib/terminfo", "programs", "steps"):
        os.makedirs(f"{root}/{path}", exist_ok=True)
    shutil.copy(f"{HERE}/init", f"{root}/init")
    shutil.copy(f"{SYSROOT}/bin/busybox", f"{root}/bin")
    os.symlink("busybox", f"{root}/bin/sh")
    for program in PROGRAMS:
        shutil.copy(program, f"{root}/programs")
    for name, path in libraries(PROGRAMS).items():
        shutil.copy(path, f"{root}/lib/{name}")
    for entry in glob.glob("/lib/terminfo/v/vt220") + glob.glob("/usr/share/terminfo/v/vt220"):
        os.makedirs(f"{root}/lib/terminfo/v", exist_ok=True)
        shutil.copy(entry, f"{root}/lib/terminfo/v")
    for name, text in steps.items():
        with open(f"{root}/steps/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    if live:
        with open(f"{root}/live", "w", encoding="utf-8") as file:
            file.write(live)
        os.chmod(f"{root}/live", 0o755)
    disk = f"{where}/disk"
    subprocess.run(f"find . | cpio -o -H newc --quiet | gzip -1 >{disk}", shell=True, check=True, cwd=root)
    return disk


def command(disk, pmu=True):
    kernel = glob.glob(f"{SYSROOT}/boot/vmlinuz-*")
    check(kernel, f"no kernel in {SYSROOT}/boot")
    return ["qemu-system-aarch64", "-machine", "virt,gic-version=3",
            "-cpu", "max,pauth-impdef=on" + ("" if pmu else ",pmu=off"), "-smp", "1",
            "-icount", "shift=3,sleep=off", "-m", "1024", "-nic", "none", "-nographic",
            "-kernel", kernel[0], "-initrd", disk, "-no-reboot",
            "-append", "console=ttyAMA0 loglevel=1 panic=-1"]


class Console:
    """Lines of the machine's console as they come, until a time is over that counts from the start."""

    def __init__(self, process):
        self.process = process
        self.started = time.monotonic()
        self.rest = b""
        self.said = collections.deque(maxlen=20)

    def line(self, limit_seconds):
        while b"\n" not in self.rest:
            left = self.started + limit_seconds - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Skip(f"the emulated machine is too slow here: {limit_seconds} s were not enough")
            data = os.read(self.process.stdout.fileno(), 65536)
            check(data, "the machine has gone; it said\n" + "\n".join(self.said))
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        text = line.decode(errors="replace").rstrip("\r")
        self.said.append(text)
        return text


def unpacked(lines):
    files = {}
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode("".join(lines))), mode="r:gz") as archive:
        for member in archive:
            if member.isfile():
                files[os.path.basename(member.name)] = archive.extractfile(member).read()
    text = {name: files.pop(name).decode(errors="replace") for name in ("status", "stdout", "stderr")}
    return Result(int(text["status"]), text["stdout"], text["stderr"], files)


@contextlib.contextmanager
def started(arguments):
    with subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        try:
            yield Console(process)
        finally:
            process.kill()


def run(steps, pmu=True):
    """Yields (name, Result) of each step, in the order of their names. steps: {name: text of a shell script}."""
    with tempfile.TemporaryDirectory(prefix="ctop-pmu-") as where, \
         started(command(make_disk(where, steps), pmu)) as console:
        while console.line(BOOT_SECONDS) != "@ up":
            pass
        print(f"# up after {time.monotonic() - console.started:.0f} s", flush=True)
        lines, name = [], None
        while (line := console.line(RUN_SECONDS)) != "@ down":
            if line.startswith("@ begin "):
                name, lines = line.removeprefix("@ begin "), []
            elif line == "@ end":
                yield name, unpacked(lines)
                name = None
            elif name:
                lines.append(line)
