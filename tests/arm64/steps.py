#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Single-steps the ladder in qemu's user-mode emulation through its debugger's socket, and gives the
registers and the stack of every instruction to check_steps, which unwinds them with ctop's unwinder."""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("ARM64_BUILD", "build-arm64")
NR_REGS = 33
SIGTRAP = 5
MAX_STEPS = 200_000
MAX_READ = 1024  # bytes a packet


class Stub:
    """The program's side of the GDB remote protocol."""

    def __init__(self, connection):
        self.connection = connection
        self.input = connection.makefile("rb")

    def ask(self, text):
        packet = text.encode()
        self.connection.sendall(b"$%s#%02x" % (packet, sum(packet) & 0xFF))
        while (byte := self.input.read(1)) != b"$":
            if not byte:
                raise EOFError("the emulator has gone")
        answer = bytearray()
        while (byte := self.input.read(1)) != b"#":
            answer += byte
        self.input.read(2)
        self.connection.sendall(b"+")
        return answer.decode()

    def registers(self):
        # x0-x30, sp, pc of 64 bits each; what follows does not matter.
        return bytes.fromhex(self.ask("g")[: NR_REGS * 16])

    def memory(self, address, size):
        content = b""
        while len(content) < size:
            answer = self.ask(f"m{address + len(content):x},{min(MAX_READ, size - len(content)):x}")
            if answer.startswith("E") or not answer:
                break
            content += bytes.fromhex(answer)
        return content


def symbol(program, name):
    listing = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == name:
            return int(words[0], 16)
    raise KeyError(name)


def stack_end(maps):
    for line in maps:
        if line.rstrip().endswith("[stack]"):
            return int(line.split("-")[1].split()[0], 16)
    raise LookupError("no [stack] in the program's maps")


def connect(path, emulator):
    """To the emulator, once it listens."""
    while emulator.poll() is None:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            time.sleep(0.01)
    raise EOFError("the emulator has gone")


def record(stub, output, sink, climb):
    stub.ask(f"Z0,{climb:x},4")
    stop = stub.ask("c")
    stub.ask(f"z0,{climb:x},4")
    maps = []
    while not maps or maps[-1] != "end\n":
        maps.append(output.readline())
        if not maps[-1]:
            raise EOFError("the program printed no maps")
    sink.write("".join(maps).encode())
    top = stack_end(maps)
    code, delivered, interrupted = {}, 0, 0
    for _ in range(MAX_STEPS):
        if stop[:1] in "WX":
            return
        number = int(stop[1:3], 16)
        if number == SIGTRAP:
            regs = stub.registers()
            sp, pc = struct.unpack("<2Q", regs[-16:])
            if pc not in code:
                code[pc] = struct.unpack("<I", stub.memory(pc, 4))[0]
            stack = stub.memory(sp, top - sp)
            sink.write(regs + struct.pack("<2I2Q", code[pc], delivered, interrupted, len(stack)) + stack)
            delivered = 0
            stop = stub.ask("vCont;s")
        else:
            delivered = number
            interrupted = struct.unpack("<Q", stub.registers()[-8:])[0]
            stop = stub.ask(f"vCont;S{number:02x}")
    raise OverflowError("the program does not come to its end")


def check(name):
    """Steps one program. True when check_steps says that all is right."""
    program, checker = f"{BUILD}/arm64/{name}", f"{BUILD}/arm64/check_steps"
    climb = symbol(program, "climb")
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "gdb")
        with subprocess.Popen(["qemu-aarch64", "-cpu", "max", "-g", path, program], text=True,
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as emulator, \
             subprocess.Popen(["qemu-aarch64", checker, name, *["bare"] * (name == "ladder_bare")], stdin=subprocess.PIPE) as checking:
            try:
                with connect(path, emulator) as connection:
                    record(Stub(connection), emulator.stdout, checking.stdin, climb)
            except BrokenPipeError:
                pass  # check_steps says why
            finally:
                emulator.kill()
                try:
                    checking.stdin.close()
                except BrokenPipeError:
                    pass
        return checking.returncode == 0


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    return 0 if all([check(name) for name in ("ladder", "ladder_bare", "ladder_dynamic")]) else 1


if __name__ == "__main__":
    sys.exit(main())
