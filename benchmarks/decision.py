"""Is the final decision right? Ten pairs of configurations whose true times differ by 5 %, quiet and under load.

    python benchmarks/decision.py [--pairs N]

Under load a busy loop runs on the core on which single-threaded kernels are timed. Right: the faster one is called
best and the slower one is no tie. Wrong: the slower one is called best and the faster one is no tie.
"""

import argparse
import multiprocessing
import os
import tempfile
from collections import Counter
from pathlib import Path

from tunewright import Argument, Kernel, Measuring, Role, Verification, tune

SOURCE = """
void work(float *out)
{
    float sum = 1.0f;
    for (int i = 0; i < STEPS; i++)
        sum = sum * 0.999999f + 0.5f;
    out[0] = sum;
}
"""


def busy(core: int) -> None:
    os.sched_setaffinity(0, {core})
    while True:
        pass


def outcome(source: Path, slow: int) -> str:
    kernel = Kernel(
        name="work",
        source=source,
        entry="work",
        arguments=[Argument(name="out", dtype="float32", shape=(1,), role=Role.OUT)],
        parameters={"STEPS": [slow, round(slow / 1.05)]},
        flags=("-O2",),
        verification=Verification(skip=True),
        measuring=Measuring(rounds=9),
    )
    decision = tune(kernel).decision
    assert decision is not None
    ids = {tie.id for tie in decision.ties}
    if ids:
        return "tie"
    return "right" if decision.best.id == 1 else "wrong"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "work.c"
        source.write_text(SOURCE)
        for name in ("quiet", "loaded"):
            loop = None
            if name == "loaded":
                loop = multiprocessing.Process(target=busy, args=(max(os.sched_getaffinity(0)),), daemon=True)
                loop.start()
            found = Counter(outcome(source, 1_000_000 + 200_000 * pair) for pair in range(options.pairs))
            if loop is not None:
                loop.terminate()
            print(f"{name:7} right {found['right']}, tie {found['tie']}, wrong {found['wrong']} of {options.pairs}")


if __name__ == "__main__":
    main()
