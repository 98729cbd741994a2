# SPDX-License-Identifier: MIT
"""A real terminal to run ctop in: tmux, with a server of its own. Waits for what is on the screen."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from harness import Skip, check  # noqa: E402

PATIENCE_SECONDS = 60  # of a loaded machine: nothing passes or fails by being faster


class Terminal:
    """One window with a shell in it, whose prompt is PROMPT."""

    PROMPT = "ready$"

    def __init__(self, where, cols, rows):
        self.where = where
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("TMUX", "TMUX_PANE", "NO_COLOR", "LC_ALL")}
        environment |= {"LC_CTYPE": "C.UTF-8", "PS1": self.PROMPT + " ", "SHELL": "/bin/sh",
                        "TMUX_TMPDIR": where}
        self.environment = environment
        self.tmux("-f", "/dev/null", "new-session", "-d", "-s", "test", "-x", str(cols), "-y",
                  str(rows), "exec bash --norc --noprofile -i")
        self.wait_for(self.PROMPT)

    def tmux(self, *arguments):
        result = subprocess.run(["tmux", *arguments], env=self.environment, check=False,
                                capture_output=True, text=True, cwd=self.where, timeout=60)
        check(result.returncode == 0, f"tmux {arguments}: {result.stderr}")
        return result.stdout

    def screen(self):
        return self.tmux("capture-pane", "-p", "-t", "test")

    def wait_until(self, condition, what):
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            screen = self.screen()
            if condition(screen):
                return screen
            check(time.monotonic() < until, f"waited for {what}; the screen is\n{screen}")
            time.sleep(0.05)

    def wait_for(self, *texts):
        return self.wait_until(lambda screen: all(text in screen for text in texts), f"{texts}")

    def wait_for_prompt(self):
        """Until the shell is back: its prompt is the last line."""
        return self.wait_until(
            lambda screen: screen.rstrip("\n").splitlines()[-1:] and
            screen.rstrip("\n").splitlines()[-1].startswith(self.PROMPT), "the prompt")

    def type(self, command):
        """A command for the shell."""
        self.tmux("send-keys", "-t", "test", "-l", command)
        self.press("Enter")

    def press(self, *keys):
        self.tmux("send-keys", "-t", "test", *keys)

    def select(self, text):
        """Finds a row of a list, as soon as it has one of that name, and goes there, wherever it stands."""
        row = re.compile(rf"^> .*\b{re.escape(text)}", re.M)
        self.press("/", *("Space" if letter == " " else letter for letter in text), "Enter")
        return self.wait_until(lambda screen: row.search(screen) or ("not found: " in screen and self.press("n")),
                               f"{text} to be selected")

    def resize(self, cols, rows):
        self.tmux("resize-window", "-t", "test", "-x", str(cols), "-y", str(rows))

    def child(self):
        """The pid of what the shell runs."""
        shell = self.tmux("display-message", "-p", "-t", "test", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
            return int(children.read().split()[0])

    def modes(self):
        """The terminal's settings, and whether its other screen is shown: what ctop has to leave as it was."""
        name = os.path.join(self.where, "modes")
        self.type(f"clear; stty -a >{name}; echo settings-$((40 + 2))")
        self.wait_for("settings-42")
        self.wait_for_prompt()
        with open(name, encoding="ascii") as text:
            settings = re.sub(r"rows \d+; columns \d+;", "", text.read())
        flags = "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{mouse_any_flag}"
        return settings, self.tmux("display-message", "-p", "-t", "test", flags)


@contextlib.contextmanager
def terminal(cols=80, rows=24):
    if not shutil.which("tmux"):
        raise Skip("tmux is not installed")
    where = tempfile.mkdtemp(prefix="ctop-tui-")
    window = None
    try:
        window = Terminal(where, cols, rows)
        yield window
    finally:
        subprocess.run(["tmux", "kill-server"], env=os.environ | {"TMUX_TMPDIR": where},
                       check=False, capture_output=True, timeout=60)
        shutil.rmtree(where, ignore_errors=True)
