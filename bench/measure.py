"""What workers measure with: clocks, the raw sync, facts of /proc."""

from __future__ import annotations

import gc
import os
import pathlib
import re
import resource
import time

now = time.perf_counter_ns
cpu_now = time.process_time_ns
FLOOR_SIZE = 64 << 20


def settle() -> None:
    """Collects the Python heap and leaves it out of later collections."""
    gc.collect()
    gc.freeze()


def _proc(file: str, pattern: str) -> int:
    try:
        found = re.search(pattern, pathlib.Path(f"/proc/self/{file}").read_text(), re.M)
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def rss_kib() -> int:
    return _proc("status", r"^VmRSS:\s+(\d+)")


def peak_kib() -> int:
    return _proc("status", r"^VmHWM:\s+(\d+)")


def io_bytes() -> int:
    """Bytes given to write calls (write_bytes would count whole folios of the page
    cache, up to 2 MB for a write of 4 KiB)."""
    return _proc("io", r"^wchar: (\d+)")


def children_cpu() -> int:
    """Nanoseconds of processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def folder_bytes(path: str) -> int:
    return sum(f.stat().st_size for f in pathlib.Path(path).rglob("*") if f.is_file())


class Floor:
    """The least a durable commit can cost: 4 KiB at the next offset of a file that
    was written before, then fdatasync."""

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, "floor.bin")
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        fill = b"\1" * (1 << 20)
        for at in range(0, FLOOR_SIZE, len(fill)):
            os.pwrite(self.fd, fill, at)
        os.fsync(self.fd)
        os.unlink(path)
        self.at, self.block = 0, b"\2" * 4096

    def step(self) -> int:
        t = now()
        os.pwrite(self.fd, self.block, self.at)
        os.fdatasync(self.fd)
        t = now() - t
        self.at = (self.at + 4096) % FLOOR_SIZE
        return t
