"""What this machine says about itself; everything here has an answer where files or tools are missing."""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Sequence
from pathlib import Path

__all__ = ["conditions", "core_threads", "cpu_name", "forbids_programs", "memory_bytes"]


def cpu_name() -> str:
    """The processor's name as the system gives it, else its architecture; ``unknown`` without either."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        text = ""
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name" and value.strip():
            return value.strip()
    return platform.machine() or "unknown"


def core_threads(cpu: int) -> frozenset[int]:
    """The processors that share a core with this one, itself included."""
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    found = {cpu}
    try:
        for part in path.read_text("ascii").strip().split(","):
            first, _, last = part.partition("-")
            found.update(range(int(first), int(last or first) + 1))
    except (OSError, ValueError):
        return frozenset({cpu})
    return frozenset(found)


def memory_bytes() -> int:
    """Memory of the machine; 0 when unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0


def forbids_programs(folder: Path) -> bool:
    """Whether nothing in a folder may be executed or loaded as a library (mounted with noexec)."""
    return bool(os.statvfs(folder).f_flag & os.ST_NOEXEC)


def conditions(cores: Sequence[int]) -> dict[str, float]:
    """What the machine was doing just now: load average, and the clock of the first of the cores where it can be read.

    ``load`` counts processes, ``clock_mhz`` is absent where the system does not tell.
    """
    found: dict[str, float] = {}
    with contextlib.suppress(OSError):
        found["load"] = os.getloadavg()[0]
    core = cores[0] if cores else 0
    with contextlib.suppress(OSError, ValueError):
        text = Path(f"/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq").read_text("ascii")
        found["clock_mhz"] = int(text) / 1000
    return found
