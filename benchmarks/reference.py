"""Processor time of scored runs: annealing and the genetic algorithm here, and in Kernel Tuner's own simulation.

    python benchmarks/reference.py [--suite recorded] [--repeats 20] [--kernel-tuner-python PATH]

The published methodology makes each run by one call of Kernel Tuner's `tune_kernel` in simulation mode, which reads
the cache and builds the search space each time; so does the peer here, in the same minutes, on the same spaces, with
the same budget of tuning seconds. It is spared what the methodology adds: input arrays, T4 output, conversion. Ours
are the runs that `tunewright score` makes, loading the prepared space included; a space is prepared once for all.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tunewright.bench.prepared import Prepared, prepare
from tunewright.bench.simulate import Problem, make_run
from tunewright.bench.suite import Entry, read_suite

SPACES = ("convolution_milo/A100", "dedispersion_milo/A100")
PAIRS = {"annealing": "simulated_annealing", "genetic": "genetic_algorithm"}

PEER = """
import contextlib, io, json, random, sys, time, warnings
import numpy
from kernel_tuner import tune_kernel
warnings.simplefilter("ignore")
cache, strategy, restrictions = sys.argv[1], sys.argv[2], json.loads(sys.argv[5])
seconds, repeats = float(sys.argv[3]), int(sys.argv[4])
with open(cache) as file:
    head = json.load(file)
values = {name: head["tune_params"][name] for name in head["tune_params_keys"]}
evaluations = 0
start = time.process_time()
for repeat in range(repeats):
    random.seed(repeat)
    numpy.random.seed(repeat)
    with contextlib.redirect_stdout(io.StringIO()):
        results, _ = tune_kernel(
            head["kernel_name"], "", tuple(head["problem_size"]), [], values, restrictions=restrictions,
            lang="CUDA", cache=cache, simulation_mode=True, quiet=True, strategy=strategy,
            strategy_options={"time_limit": seconds},
        )
    evaluations += len({tuple(result[name] for name in values) for result in results})
print(json.dumps([time.process_time() - start, evaluations]))
"""


class Figures(NamedTuple):
    """Processor seconds and distinct evaluations of all repeats together."""

    cpu_s: float
    evaluations: int

    def row(self, name: str, repeats: int) -> str:
        """One line of the table."""
        per_run, per_evaluation = self.cpu_s / repeats, self.cpu_s / self.evaluations
        return (
            f"  {name:36} {1e3 * per_run:9.2f} ms a run {self.evaluations / repeats:8.1f} evaluations a run "
            f"{1e3 * per_evaluation:8.4f} ms an evaluation"
        )


def ours(prepared: Prepared, name: str, repeats: int) -> Figures:
    conditions = {"seconds": prepared.baseline.end_s, "evaluations": None, "seed": 0, "charge": 0.0}
    conditions |= {"noise": False, "shuffled": False, "published": False}
    request = {"kind": "tunewright", "target": name, "options": {}, "conditions": conditions}
    start = time.process_time()
    problem = Problem.load(str(prepared.folder), prepared.name)
    runs = [make_run(problem, request, number) for number in range(repeats)]
    return Figures(time.process_time() - start, sum(len(run.ids) for run in runs))


def peers(python: str, entry: Entry, prepared: Prepared, strategy: str, repeats: int) -> Figures:
    restrictions = [condition["Expression"] for condition in t1(entry)["ConfigurationSpace"].get("Conditions", [])]
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache.json"
        cache.write_bytes(gzip.decompress(entry.file.read_bytes()))
        words = [str(cache), strategy, str(prepared.baseline.end_s), str(repeats), json.dumps(restrictions)]
        done = subprocess.run([python, "-c", PEER, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{python} cannot run Kernel Tuner: {done.stderr.strip().splitlines()[-1]}")
    return Figures(*json.loads(done.stdout.splitlines()[-1]))


def t1(entry: Entry) -> dict:
    assert entry.t1 is not None
    return json.loads(entry.t1.read_text("utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="recorded", help=f"the suite that holds {' and '.join(SPACES)}")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--kernel-tuner-python", default=sys.executable, metavar="PATH")
    options = parser.parse_args()
    suite = read_suite(options.suite)
    for entry in (entry for entry in suite.entries if entry.name in SPACES):
        prepared = prepare(entry)
        window = prepared.baseline.end_s
        print(
            f"{entry.name}: {prepared.space.size:,} configurations, {window:.0f} tuning seconds, {options.repeats} runs"
        )
        for name, strategy in PAIRS.items():
            own = ours(prepared, name, options.repeats)
            other = peers(options.kernel_tuner_python, entry, prepared, strategy, options.repeats)
            print(own.row(name, options.repeats))
            print(other.row(f"Kernel Tuner: {strategy}", options.repeats))
            per_run = other.cpu_s / own.cpu_s
            per_evaluation = per_run * own.evaluations / other.evaluations
            print(f"  {'ratio':36} {per_run:9.0f} times {'':28} {per_evaluation:8.0f} times", flush=True)


if __name__ == "__main__":
    main()
