"""Four processes write one store for a minute: is every row there, once, and at what pace?

    python benchmarks/store.py [SECONDS]

Each process writes measurements of its own and, in between, the same ones as the others. The peer is a bare SQLite file
in the same mode (WAL, every transaction on disk), into which one process writes rows of the same size.
"""

import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tunewright.measure import Measurement, Status, Task
from tunewright.records import Store

PROCESSES = 4
SAMPLES = tuple(1.0 + i / 1000 for i in range(20))


def write(path: str, me: str, seconds: float) -> None:
    """One of the four; prints how many rows of its own it has finished."""
    own = 0
    with Store(path) as store:
        task = store.task(Task("shared"))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for configuration in ({"process": me, "x": own}, {"process": "all", "x": own // PROCESSES}):
                store.begin(task, configuration)
                store.finish(task, configuration, Measurement(Status.OK, SAMPLES))
            own += 1
    print(own)


def bare_rows_per_s(path: Path, seconds: float) -> float:
    """Two transactions for each row, as the store needs: one before a measurement starts, one when it has ended."""
    with sqlite3.connect(path, isolation_level=None) as raw:
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("CREATE TABLE measurement (configuration TEXT PRIMARY KEY, samples TEXT)")
        rows, start = 0, time.monotonic()
        while time.monotonic() - start < seconds:
            raw.execute("INSERT INTO measurement VALUES (?, NULL)", (str(rows),))
            raw.execute("UPDATE measurement SET samples = ? WHERE configuration = ?", (json.dumps(SAMPLES), str(rows)))
            rows += 1
        return rows / (time.monotonic() - start)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        command = [sys.executable, __file__, "write", str(path)]
        writers = [
            subprocess.Popen([*command, str(me), str(seconds)], stdout=subprocess.PIPE, text=True)
            for me in range(PROCESSES)
        ]
        own = [int(writer.communicate()[0]) for writer in writers]
        expected = sum(own) + max(1 + (count - 1) // PROCESSES for count in own)
        with sqlite3.connect(path) as raw:
            rows = [row[0] for row in raw.execute("SELECT configuration FROM measurement WHERE state = 'done'")]
            sound = raw.execute("PRAGMA integrity_check").fetchone()[0]
        pace = (sum(own) * 2) / seconds
        bare = bare_rows_per_s(Path(folder) / "bare.sqlite", min(seconds, 10.0))
        print(f"{PROCESSES} processes, {seconds:g} s: {expected:,} rows expected, {len(rows):,} there, {sound}")
        print(f"{len(rows) - len(set(rows)):,} twice, {len(set(rows)) - expected:+,} against what was written")
        print(f"{pace:,.0f} measurements/s together; a bare file, one process: {bare:,.0f} rows/s; {pace / bare:.2f} x")


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    else:
        main()
