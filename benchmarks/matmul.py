"""The main job: the tuned matrix product against its default, the i-k-j loop nest with -O3 -march=native.

    python benchmarks/matmul.py [--evaluations N] [--seed N]

Every figure comes from the final comparison of the run: default and leaders measured in turn, verified.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from tunewright import read_kernel, tune

SPEC = Path(__file__).resolve().parents[1] / "examples" / "matmul" / "matmul.toml"
REQUIRED = {1024: 2.0, 2048: 3.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for n, required in REQUIRED.items():
        kernel = replace(read_kernel(SPEC), problem={"N": n})
        run = tune(kernel, evaluations=options.evaluations, seed=options.seed)
        decision = run.decision
        assert decision is not None
        assert decision.default is not None
        gflop = 2 * n**3 / 1e6
        print(
            f"N = {n}: default {gflop / decision.default.cost:.0f} GFLOP/s, "
            f"tuned {gflop / decision.best.cost:.0f} GFLOP/s, speed-up {decision.speedup:.2f} "
            f"({decision.speedup_low:.2f} to {decision.speedup_high:.2f}; required {required:g}); "
            f"{len(run.trials)} evaluations, {run.clock_s:.0f} s; {kernel.space.config(decision.best.id)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
