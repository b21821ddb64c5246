"""What one measurement costs beyond compiling and the kernel's own run.

    python benchmarks/measurement.py

Measures a configuration that is compiled already, with one sample and no warm-up, many times, and prints wall time of
the whole call less the sample: with a pause between measurements, such as a compiler or the store makes in a run (the
worker forks its next child meanwhile), and at once after one another. The peer is forking and ending a bare process of
the same interpreter.
"""

import os
import tempfile
import time
from pathlib import Path
from statistics import median

from tunewright import Argument, Kernel, Measuring, Role
from tunewright.runners.host import HostRunner

SOURCE = "void add(const float *a, const float *b, float *c) { for (int i = 0; i < N; i++) c[i] = a[i] + b[i]; }\n"
REPEATS = 200
PAUSE_S = 0.01


def bare_fork_ms() -> float:
    start = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return (time.perf_counter() - start) * 1e3


def costs_ms(runner: HostRunner, repeats: int, pause_s: float) -> list[float]:
    costs = []
    for _ in range(repeats):
        time.sleep(pause_s)
        start = time.perf_counter()
        [measured] = runner.measure([0])
        costs.append((time.perf_counter() - start) * 1e3 - sum(measured.runtimes_ms))
    return costs


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "add.c"
        source.write_text(SOURCE)
        for n in (1_000, 100_000, 4_000_000):
            kernel = Kernel(
                name="add",
                source=source,
                entry="add",
                problem={"N": n},
                arguments=[
                    Argument(name="a", dtype="float32", shape=("N",)),
                    Argument(name="b", dtype="float32", shape=("N",)),
                    Argument(name="c", dtype="float32", shape=("N",), role=Role.OUT),
                ],
                parameters={"X": [1]},
                measuring=Measuring(warmup=0, samples_min=1, samples_max=1, slow_factor=0),
            )
            with HostRunner(kernel) as runner:
                runner.measure([0])
                repeats = REPEATS if n < 1_000_000 else 20
                paused, at_once = costs_ms(runner, repeats, PAUSE_S), costs_ms(runner, repeats, 0)
            print(
                f"{n:9,} floats in each of 3 arrays: {median(paused):6.2f} ms (least {min(paused):.2f}); "
                f"at once after one another {median(at_once):6.2f} ms (least {min(at_once):.2f})"
            )
    print(f"bare fork and wait: {median(bare_fork_ms() for _ in range(REPEATS)):.2f} ms")


if __name__ == "__main__":
    main()
