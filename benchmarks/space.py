"""Building spaces and asking for neighbours, against Kernel Tuner in the same run; the sets are compared.

    python benchmarks/space.py --kernel-tuner-python PATH [--data FOLDER] [--repeats N]

Without --kernel-tuner-python, kernel_tuner is measured with this interpreter, where it can be imported.
Times are medians over fresh constructions, in milliseconds; a ratio is Kernel Tuner's time over ours.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tunewright.space import SearchSpace, read_t1_space

KERNELS = ("hotspot_milo", "gemm_milo")
DATA = Path(__file__).resolve().parents[1].parent / "shared" / "data"

# Runs under the other interpreter: a JSON request on stdin, a JSON answer on stdout.
PEER = """
import json, sys, time
from kernel_tuner.searchspace import Searchspace

request = json.load(sys.stdin)
built, asked = [], []
for repeat in range(request["repeats"]):
    start = time.perf_counter()
    space = Searchspace(dict(request["parameters"]), list(request["rules"]), 1024)
    built.append(time.perf_counter() - start)
    rows = space.list
    row = rows[len(rows) * repeat // request["repeats"]]
    start = time.perf_counter()
    space.get_neighbors_indices(tuple(row), "Hamming")
    asked.append(time.perf_counter() - start)
json.dump({"construction": built, "neighbours": asked, "rows": [list(row) for row in rows]}, sys.stdout)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="the folder that holds t1/")
    parser.add_argument("--kernel-tuner-python", metavar="PATH", help="an interpreter that has kernel_tuner")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    python = options.kernel_tuner_python
    if python is None and importlib.util.find_spec("kernel_tuner") is not None:
        python = sys.executable
    if python is None:
        print("no kernel_tuner here (give --kernel-tuner-python PATH to compare); our times only")
    for kernel in KERNELS:
        compare(options.data / "t1" / f"{kernel}.json", python, options.repeats)


def compare(file: Path, python: str | None, repeats: int) -> None:
    stated = read_t1_space(file)
    request = {
        "parameters": [[name, list(values)] for name, values in stated.parameters.items()],
        "rules": [constraint.text for constraint in stated.constraints],
        "repeats": repeats,
    }
    peer = ask_peer(python, request) if python else None
    ours, space = measure(file, request)
    print(f"{file.stem}: {space.size:,} valid of {space.cartesian:,}")
    for what, seconds in ours.items():
        milliseconds = statistics.median(seconds) * 1e3
        line = f"  {what:<40} {milliseconds:9.3f} ms"
        if peer is not None:
            theirs = statistics.median(peer["neighbours" if "neighbour" in what else "construction"]) * 1e3
            line += f"   Kernel Tuner {theirs:9.3f} ms   ratio {theirs / milliseconds:8.1f}"
        print(line)
    if peer is not None:
        same = {tuple(row) for row in peer["rows"]} == {tuple(space.config(i).values()) for i in range(space.size)}
        print(f"  the valid sets {'are equal' if same else 'DIFFER'}")
        if not same:
            raise SystemExit(1)


def measure(file: Path, request: dict[str, Any]) -> tuple[dict[str, list[float]], SearchSpace]:
    times: dict[str, list[float]] = {}
    for repeat in range(request["repeats"]):
        start = time.perf_counter()
        space = SearchSpace(dict(request["parameters"]), request["rules"])
        built = time.perf_counter()
        _ = space.codes
        listed = time.perf_counter()
        space.rows()
        configured = time.perf_counter()
        read_t1_space(file)
        read = time.perf_counter()
        fresh = SearchSpace(dict(request["parameters"]), request["rules"])
        before = time.perf_counter()
        fresh.neighbors(fresh.size * repeat // request["repeats"])
        asked = time.perf_counter()
        times.setdefault("construction", []).append(built - start)
        times.setdefault("construction and all value indices", []).append(listed - start)
        times.setdefault("construction and all value tuples", []).append(configured - start)
        times.setdefault("T1 file and construction", []).append(read - configured)
        times.setdefault("first neighbours, fresh space (single)", []).append(asked - before)
    return times, space


def ask_peer(python: str, request: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [python, "-c", PEER],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        raise SystemExit(f"{python} could not run Kernel Tuner:\n{done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout[done.stdout.index('{"construction"') :])
    return answer


if __name__ == "__main__":
    main()
