"""Replay speed: distinct evaluations a second on one core, trial records included.

    python benchmarks/replay.py [--data DIR] [--kernel-tuner-python PATH]

Runs the random plan and local search over dedispersion_milo/A100 in batches of one until the space is
exhausted, and prints the median and the range of several runs. With a Python that has Kernel Tuner 1.5.0, its
simulation mode runs random_sample on the same file in between, and the ratio is printed.
"""

import argparse
import gc
import gzip
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from tunewright.budget import Budget
from tunewright.optimizers import load
from tunewright.plan import drive
from tunewright.records import RecordedSpace, read_cache
from tunewright.runners.replay import ReplayRunner

RUNS = 7
REQUIRED = {"random": 300_000, "local_search": 50_000}

KERNEL_TUNER = """
import contextlib, io, sys, time
from kernel_tuner import tune_kernel
import json
data = json.load(open(sys.argv[1]))
values = {name: data["tune_params"][name] for name in data["tune_params_keys"]}
restrictions = [
    "32 <= block_size_x * block_size_y <= 1024",
    "tile_size_x > 1 or tile_stride_x == 0",
    "tile_size_y > 1 or tile_stride_y == 0",
]
start = time.perf_counter()
with contextlib.redirect_stdout(io.StringIO()):
    results, _ = tune_kernel(
        data["kernel_name"], "", tuple(data["problem_size"]), [], values, restrictions=restrictions,
        cache=sys.argv[1], simulation_mode=True, strategy="random_sample",
        strategy_options={"max_fevals": 4000, "fraction": 1}, lang="CUDA", quiet=True,
    )
print(len(results) / (time.perf_counter() - start))
"""


def evaluations_per_second(recorded: RecordedSpace, name: str, seed: int) -> float:
    runner = ReplayRunner(recorded)
    gc.collect()
    start = time.perf_counter()
    outcome = drive(load(name), recorded.space, runner, recorded.objective, Budget(), random.Random(seed))
    seconds = time.perf_counter() - start
    assert len(outcome.trials) == recorded.space.size
    return len(outcome.trials) / seconds


def kernel_tuner_per_second(python: str, cache: Path) -> float:
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "cache.json"
        plain.write_text(json.dumps(json.loads(gzip.decompress(cache.read_bytes()))))
        done = subprocess.run(
            [python, "-c", KERNEL_TUNER, str(plain)], capture_output=True, text=True, check=True, cwd=folder
        )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--kernel-tuner-python", help="a Python that can import kernel_tuner")
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    cache = options.data / "spaces" / "dedispersion_milo" / "A100.json.gz"
    figures: dict[str, list[float]] = {name: [] for name in REQUIRED}
    peer: list[float] = []
    for run in range(RUNS):
        for name, rates in figures.items():
            rates.append(evaluations_per_second(read_cache(cache), name, run))  # read anew: cold neighbour caches
        if options.kernel_tuner_python and run < 3:
            peer.append(kernel_tuner_per_second(options.kernel_tuner_python, cache))
    for name, rates in figures.items():
        print(
            f"{name:13} {median(rates):9,.0f} distinct evaluations/s (median of {RUNS}; {min(rates):,.0f} to "
            f"{max(rates):,.0f}); required {REQUIRED[name]:,}"
        )
    if peer:
        print(f"kernel_tuner  {median(peer):9,.0f} results/s in simulation mode, random_sample, 4,000 results")
        print(f"ratio         {median(figures['random']) / median(peer):9,.0f}")


if __name__ == "__main__":
    main()
