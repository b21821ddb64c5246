"""Start-up: `import tunewright` beyond `import numpy`, and `tunewright --help`; whole processes, in turn.

python benchmarks/startup.py
"""

import subprocess
import sys
import time
from statistics import median

RUNS = 15
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import tunewright": [sys.executable, "-c", "import tunewright"],
    "tunewright --help": [sys.executable, "-m", "tunewright", "--help"],
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for run in range(RUNS + 1):
        for name, command in COMMANDS.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            if run:  # the first round only warms the file cache
                times[name].append((time.perf_counter() - start) * 1e3)
    for name, values in times.items():
        print(f"{name:18} {median(values):6.0f} ms (median of {RUNS}; {min(values):.0f} to {max(values):.0f})")
    beyond = median(times["import tunewright"]) - median(times["import numpy"])
    print(f"import tunewright beyond numpy {beyond:.0f} ms (required: under 150)")
    print(f"tunewright --help {median(times['tunewright --help']):.0f} ms (required: under 300)")


if __name__ == "__main__":
    main()
