"""What measuring costs beyond compiling and running: a whole run of the matrix product against its parts.

    python benchmarks/overhead.py [--evaluations N] [--n N]

Runs `tune` over random configurations of the blocked matrix product, once with one thread and once with two, and
prints the wall time of the search against max(sum of compile seconds / jobs, sum of run seconds), and against the sum
of both where two threads leave the compilers no core. Run seconds are verification and timing.
"""

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path

from tunewright import Trial, read_kernel, tune

SPEC = Path(__file__).resolve().parents[1] / "examples" / "matmul" / "matmul.toml"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--n", type=int, default=512)
    options = parser.parse_args()
    jobs = len(os.sched_getaffinity(0))
    kernel = replace(read_kernel(SPEC), problem={"N": options.n})
    for threads in (1, 2):
        times: list[float] = []

        def notice(trial: Trial, times: list[float] = times) -> None:
            times.append(time.perf_counter())

        start = time.perf_counter()
        run = tune(
            kernel,
            optimizer="random",
            evaluations=options.evaluations,
            fix={"THREADS": threads, "BLOCKED": 1},
            options={"batch": 50},
            on_trial=notice,
        )
        wall = times[-1] - start
        compile_s = sum(trial.measurement.compile_s for trial in run.trials)
        run_s = sum(trial.measurement.verify_s + trial.measurement.benchmark_s for trial in run.trials)
        best = max(compile_s / jobs, run_s) if threads == 1 else compile_s + run_s
        print(
            f"{threads} threads: {len(run.trials)} configurations in {wall:.1f} s; compile {compile_s:.1f} s on {jobs} "
            f"jobs, run {run_s:.1f} s; ratio to {'max' if threads == 1 else 'sum'} {wall / best:.2f} (required 1.2)",
            flush=True,
        )


if __name__ == "__main__":
    main()
