# SPDX-License-Identifier: MIT
"""A file system of a user's own: one directory with one file in it, of which it says what it likes. linux/fuse.h has the protocol."""

import contextlib
import ctypes
import os
import signal
import stat
import struct
import time

from harness import Skip

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 36, 42
ROOT_NODE, FILE_NODE = 1, 2
ENOENT, ENOSYS = 2, 38
MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2


class _Server:
    def __init__(self, fd, name, content, uid, seconds, read_seconds):
        self.fd, self.name, self.content, self.uid, self.seconds = fd, name.encode(), content, uid, seconds
        self.read_seconds = read_seconds

    def _attributes(self, node):
        is_file = node == FILE_NODE
        mode = stat.S_IFREG | 0o755 if is_file else stat.S_IFDIR | 0o755
        size = len(self.content) if is_file else 0
        return struct.pack("<6Q10I", node, size, size // 512 + 1, 0, 0, 0, 0, 0, 0, mode, 1 if is_file else 2,
                           self.uid, self.uid, 0, 4096, 0)

    def _answer(self, opcode, node, body):
        """Bytes, or an error number; None: it waits for nothing."""
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return None
        if opcode == INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 16, 12, 65536, 1, 16, 0, *[0] * 8)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != self.name:
                return ENOENT
            return struct.pack("<4Q2I", FILE_NODE, 0, self.seconds, self.seconds, 0, 0) + self._attributes(FILE_NODE)
        if opcode == GETATTR:
            return struct.pack("<Q2I", self.seconds, 0, 0) + self._attributes(node)
        if opcode in (OPEN, OPENDIR):
            return struct.pack("<Q2I", 0, 0, 0)
        if opcode == READ:
            time.sleep(self.read_seconds)  # as a slow disk
            offset, size = struct.unpack_from("<8xQI", body)
            return self.content[offset:offset + size]
        if opcode == STATFS:
            return struct.pack("<5Q10I", 1, 0, 0, 1, 0, 4096, 255, 4096, *[0] * 7)
        return b"" if opcode in (READDIR, RELEASE, RELEASEDIR, FLUSH, ACCESS) else ENOSYS

    def serve(self):
        while True:
            request = os.read(self.fd, 1 << 17)
            _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
            answer = self._answer(opcode, node, request[40:])
            if answer is not None:
                error, body = (-answer, b"") if isinstance(answer, int) else (0, answer)
                with contextlib.suppress(FileNotFoundError):  # who asked was interrupted
                    os.write(self.fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


@contextlib.contextmanager
def mounted(where, mode, user=0, flags=0):
    """A file system there that answers nothing; the descriptor of who is to answer, closed at the end."""
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        raise Skip(f"no FUSE here: {error}") from error
    options = f"fd={fd},rootmode={mode:o},user_id={user},group_id={user}"
    if libc.mount(b"own", where.encode(), b"fuse", flags, options.encode()):
        os.close(fd)
        raise Skip(f"FUSE cannot be mounted here: {os.strerror(ctypes.get_errno())}")
    try:
        yield fd
    finally:
        os.close(fd)  # whoever waits gets an error
        libc.umount2(where.encode(), MNT_DETACH)


@contextlib.contextmanager
def file_system(where, name, content, uid, user, seconds=3600, read_seconds=0):
    """
    Mounts it there for that user, as fusermount does, which is set-user-ID; its file says that it is uid's. Only that
    user's processes may look into it. What it says of files holds for so many seconds. What is read takes that long each time. Its server's pid.
    """
    with mounted(where, stat.S_IFDIR | 0o755, user, MS_NOSUID | MS_NODEV) as fd:
        server = os.fork()
        if server == 0:
            with contextlib.suppress(BaseException):
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                _Server(fd, name, content, uid, seconds, read_seconds).serve()
            os._exit(0)
        try:
            yield server
        finally:
            os.kill(server, signal.SIGKILL)
            os.waitpid(server, 0)
