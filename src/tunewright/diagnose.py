"""What this machine offers: compilers, isolation, timer, noise."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from tunewright.errors import RunnerError
from tunewright.kernel import Argument, Kernel, Measuring, Role, Verification
from tunewright.measure import Status
from tunewright.runners.host import HostRunner
from tunewright.runners.machine import cpu_name
from tunewright.runners.worker import Layer, layers

__all__ = ["Compiler", "Diagnosis", "Noise", "diagnose"]

_COMPILERS = ("gcc", "g++", "clang", "clang++")
_PROBE = """\
void probe(float *out)
{
    float sum = 1.0f;
    for (int i = 0; i < STEPS; i++)
        sum = sum * 0.999999f + 0.5f;
    out[0] = sum;
}
"""
_OPENMP_PROBE = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n"


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler on PATH: its name, path, first line of its version, and whether ``-fopenmp`` works."""

    name: str
    path: str
    version: str
    openmp: bool


@dataclass(frozen=True, slots=True)
class Noise:
    """Repeated runs of one fixed compute kernel.

    Attributes:
        median_ms: median of the samples.
        spread: 5th to 95th percentile, as a share of the median.
        overhead_ms: wall time of a whole measurement beyond compilation and the kernel's own runs.
    """

    median_ms: float
    spread: float
    overhead_ms: float


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything that `diagnose` found; None or empty, with the reason beside it, where it could not.

    Attributes:
        system: kernel name and release, and Python's version.
        processor: name of the processor.
        cores: cores this process may use.
        compilers: those on PATH.
        layers: of isolation.
        timer_ns: resolution of the clock that times kernels.
        noise: of a compute kernel; None if none could be measured.
        noise_problem: why not.
    """

    system: str
    processor: str
    cores: int
    compilers: tuple[Compiler, ...]
    layers: tuple[Layer, ...]
    timer_ns: float
    noise: Noise | None
    noise_problem: str


def diagnose() -> Diagnosis:
    """Look at this machine; takes a few seconds, compiles and times a small kernel."""
    noise, problem = None, ""
    found: tuple[Layer, ...] = ()
    try:
        found = layers()
        noise = _noise()
    except RunnerError as error:
        problem = str(error)
    return Diagnosis(
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        processor=cpu_name(),
        cores=len(os.sched_getaffinity(0)),
        compilers=tuple(filter(None, map(_compiler, _COMPILERS))),
        layers=found,
        timer_ns=time.get_clock_info("perf_counter").resolution * 1e9,
        noise=noise,
        noise_problem=problem,
    )


def _compiler(name: str) -> Compiler | None:
    path = shutil.which(name)
    if path is None:
        return None
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
        version = asked.stdout.partition("\n")[0]
        with tempfile.TemporaryDirectory(prefix="tunewright-") as folder:
            tried = subprocess.run(
                [path, "-fopenmp", "-x", "c++" if "+" in name else "c", "-", "-o", f"{folder}/probe"],
                input=_OPENMP_PROBE,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Compiler(name, path, f"does not run: {error}", openmp=False)
    return Compiler(name, path, version, openmp=tried.returncode == 0)


def _noise() -> Noise:
    with tempfile.TemporaryDirectory(prefix="tunewright-") as folder:
        source = Path(folder) / "probe.c"
        source.write_text(_PROBE, encoding="ascii")
        kernel = Kernel(
            name="probe",
            source=source,
            entry="probe",
            arguments=[Argument(name="out", dtype="float32", shape=(1,), role=Role.OUT)],
            parameters={"STEPS": [1_000_000]},
            flags=("-O2",),
            verification=Verification(skip=True),
            measuring=Measuring(samples_min=40, samples_max=40, sampling_s=5.0),
        )
        with HostRunner(kernel, kernel.space, jobs=1) as runner:
            runner.measure([0])  # the first run also loads the shim
            before = time.perf_counter()
            [measured] = runner.measure([0])
            wall_ms = (time.perf_counter() - before) * 1e3
    if measured.status is not Status.OK:
        raise RunnerError(f"the probe kernel fails: {measured.detail}")
    samples = measured.runtimes_ms
    cuts = quantiles(samples, n=20)
    middle = median(samples)
    calls = len(samples) + kernel.measuring.warmup + 1  # the first one is for verification
    return Noise(middle, (cuts[-1] - cuts[0]) / middle, max(wall_ms - sum(samples) * calls / len(samples), 0.0))
