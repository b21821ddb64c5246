"""What this machine says about itself; everything here has an answer where files or tools are missing."""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = [
    "busy_cores",
    "conditions",
    "core_threads",
    "cpu_name",
    "forbids_programs",
    "memory_bytes",
    "wait_until_quiet",
]


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


_LOOK_S = 0.05
_QUIET_CORES = 0.3
_LONG_LOOK_S = 1.0


def busy_cores(look_s: float = _LOOK_S) -> float:
    """How many cores were at work during a short look, while this process sleeps; 0 where the system does not tell."""
    before = _busy_ticks()
    time.sleep(look_s)
    after = _busy_ticks()
    if before is None or after is None:
        return 0.0
    return (after - before) / os.sysconf("SC_CLK_TCK") / look_s


def wait_until_quiet(on_wait: Callable[[float], None], patience_s: float) -> float:
    """Wait while other work keeps the machine busy, but no longer than `patience_s`.

    A tick of the system's clock is coarse, so a busy short look is followed by a longer one before it counts.

    Args:
        on_wait: called with the seconds waited so far.
        patience_s: seconds after which the wait is given up.

    Returns:
        Seconds waited.
    """
    start = time.monotonic()
    waited = 0.0
    while waited < patience_s and busy_cores() > _QUIET_CORES and busy_cores(_LONG_LOOK_S) > _QUIET_CORES:
        waited = time.monotonic() - start
        on_wait(waited)
    return waited


def _busy_ticks() -> int | None:
    try:
        fields = Path("/proc/stat").read_text("ascii").split("\n", 1)[0].split()
        user, nice, system, _, _, irq, soft, steal = (int(field) for field in fields[1:9])
    except (OSError, ValueError):
        return None
    return user + nice + system + irq + soft + steal
