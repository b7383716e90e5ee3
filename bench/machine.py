"""Facts about the machine a run was made on."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import subprocess
import time
from typing import Any

_FLAGS = "sse4_2 avx2 bmi2 avx512f avx512bw avx512vl avx512vbmi neon asimd sve".split()


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def _first_line(*command: str) -> str | None:
    try:
        out = subprocess.run(command, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (out.stdout or out.stderr).strip().split("\n")[0] or None


def _cpu() -> dict[str, Any]:
    text = _read("/proc/cpuinfo")
    found = dict(re.findall(r"^(model name|flags|Features)\s*:\s*(.*)$", text, re.M))
    flags = set((found.get("flags") or found.get("Features") or "").split())
    return {
        "model": found.get("model name", platform.machine()),
        "flags": [f for f in _FLAGS if f in flags],
        "cores": os.cpu_count(),
    }


def _file_system(path: str) -> str:
    """Type and device of the mount that holds `path`."""
    path, best = os.path.realpath(path), ("", "unknown", "")
    for line in _read("/proc/mounts").splitlines():
        device, at, kind = line.split()[:3]
        inside = path == at or path.startswith(at.rstrip("/") + "/")
        if inside and len(at) >= len(best[0]):
            best = (at, kind, device)
    return f"{best[1]} on {best[2]}"


def load() -> str:
    return " ".join(_read("/proc/loadavg").split()[:3])


def facts(scratch: str) -> dict[str, Any]:
    memory = re.search(r"MemTotal:\s+(\d+)", _read("/proc/meminfo"))
    root = pathlib.Path(__file__).resolve().parent.parent
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cpu": _cpu(),
        "memory_mib": int(memory.group(1)) // 1024 if memory else None,
        "kernel": platform.release(),
        "file_system": _file_system(scratch),
        "python": platform.python_version(),
        "lua": _first_line("lua5.4", "-v"),
        "compiler": _first_line("cc", "--version"),
        "commit": _first_line("git", "-C", str(root), "rev-parse", "--short", "HEAD"),
        "load_before": load(),
    }
