# SPDX-License-Identifier: MIT
"""What a program that takes too long was at: of it and all that come from it where in the kernel they are, and what they had of the CPUs."""

import os


def _text(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return " ".join(file.read().replace("\0", " ").split())
    except OSError as error:
        return str(error)


def family(pid):
    """A process and all that come from it."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return [pid]
    children = [child for thread in threads for child in _text(pid, f"task/{thread}/children").split()]
    return [pid, *(one for child in children if child.isdigit() for one in family(int(child)))]


def describe(pid):
    """Lines about a process and its children, and the machine's load."""
    yield f"# load: {os.getloadavg()}"
    for one in family(pid):
        yield f"# {one} {_text(one, 'cmdline')}"
        for name in "wchan", "syscall", "schedstat", "stack", "stat":
            yield f"#   {name}: {_text(one, name)}"
