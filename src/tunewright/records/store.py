"""The run store: one SQLite file that keeps every measurement, written by any number of processes.

A measurement belongs to a *task* (kernel source, problem, verification and measuring settings, compiler, device)
and to one configuration, never to a list of configurations: a space that grows or shrinks reuses what still
applies. A row is written before a measurement starts and completed when it ends, so that what takes the machine
down is noticed, and every result is on disk before the next one begins.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import sqlite3
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from tunewright.errors import RecordError
from tunewright.measure import Decision, Measurement, Objective, Status, Stopped, Task, Trial
from tunewright.records.decision import decision_data, decision_from
from tunewright.records.schema import SCHEMA
from tunewright.space import SearchSpace

__all__ = ["SCHEMA_VERSION", "RunRow", "Store", "StoredBest", "default_path", "task_key"]

SCHEMA_VERSION = 1

_ATTEMPTS = 2
"""A configuration whose measurement took its process down this often is not tried again."""

_WAIT_S = 60.0

_MIGRATIONS: Mapping[int, str] = {}
"""SQL that brings a store from the version that is the key to the next one."""


def default_path() -> Path:
    """Where the store is unless told otherwise: TUNEWRIGHT_STORE, else the user's data folder."""
    if chosen := os.environ.get("TUNEWRIGHT_STORE"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME") or Path("~/.local/share").expanduser()
    return Path(data) / "tunewright" / "store.sqlite"


def task_key(task: Task) -> str:
    """Identity of a task: sha256 over everything that a measurement depends on, the configuration left out."""
    fields = (
        task.kernel,
        task.device,
        dict(task.problem),
        task.toolchain,
        task.source_digest,
        dict(task.settings),
    )
    return sha256(_text(fields).encode()).hexdigest()


def _text(value: object) -> str:
    """Canonical JSON: equal values, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False, default=_plain)


def _plain(value: object) -> object:
    """A numpy scalar as a plain value, anything else as text."""
    return value.item() if hasattr(value, "item") else str(value)


def _host() -> str:
    """This machine since it was started: after a restart no process of before is left."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    with contextlib.suppress(OSError):
        return f"{socket.gethostname()} {boot.read_text('ascii').strip()}"
    return socket.gethostname()


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the store lists it.

    Attributes:
        id: number of the run.
        kernel, device, problem, optimizer: what was asked.
        started: seconds since the epoch.
        ended: likewise; None while it goes on, or if it was killed.
        alive: its process still runs on this machine.
        stopped: why it ended.
        trials: evaluations so far.
        best_cost: least cost so far; None before the first success.
        failures: trials that failed.
        clock_s: tuning seconds so far.
        request: budget, seed and options as they were given.
    """

    id: int
    kernel: str
    device: str
    problem: Mapping[str, object]
    optimizer: str
    started: float
    ended: float | None
    alive: bool
    stopped: str | None
    trials: int
    best_cost: float | None
    failures: int
    clock_s: float
    request: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class StoredBest:
    """The best configuration of a task and the conditions under which it was found."""

    task: Task
    configuration: Mapping[str, object]
    cost: float
    objective: Objective
    speedup: float | None
    finished: float
    run: int


class Store:
    """A store file. Safe for several processes; within one process use it from one thread."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Open, create or migrate a store.

        Args:
            path: the file; None: `default_path`.

        Raises:
            RecordError: it cannot be opened, is no store, or was written by a newer version.
        """
        self.path = default_path() if path is None else Path(path)
        self._host = _host()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA busy_timeout = 60000")
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            self._close_failed()
            raise RecordError(f"the store {self.path} cannot be used: {error}; name another file") from error
        except RecordError:
            self._close_failed()
            raise

    def _close_failed(self) -> None:
        """Close what was opened before opening failed."""
        if hasattr(self, "_db"):
            self._db.close()

    def close(self) -> None:
        """Close the file; calling it twice is allowed."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Measurements.

    def task(self, task: Task) -> str:
        """The key of a task, which is written on first sight."""
        key = task_key(task)
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO task VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    task.kernel,
                    task.device,
                    _text(dict(task.problem)),
                    task.toolchain,
                    task.source_digest,
                    _text(dict(task.settings)),
                ),
            )
        return key

    def find(self, task: str, configuration: Mapping[str, object]) -> Measurement | None:
        """The finished measurement of a configuration; None if there is none.

        A configuration whose measurement took its process down twice counts as crashed.

        Raises:
            RecordError: the store cannot be read.
        """
        row = self._read(
            "SELECT state, attempts, host, pid, status, samples, compile_s, verify_s, benchmark_s, metrics, detail,"
            " remarks FROM measurement WHERE task = ? AND configuration = ?",
            (task, _text(dict(configuration))),
        ).fetchone()
        if row is None:
            return None
        state, attempts, host, pid, status, samples, *seconds, metrics, detail, remarks = row
        if state == "done":
            runtimes_ms = array("d")
            runtimes_ms.frombytes(samples)
            compile_s, verify_s, benchmark_s = seconds
            return Measurement(
                Status(status),
                tuple(runtimes_ms),
                compile_s,
                verify_s,
                benchmark_s,
                json.loads(metrics),
                detail,
                tuple(json.loads(remarks)),
            )
        attempts += self._is_gone(host, pid)
        if attempts < _ATTEMPTS:
            return None
        return Measurement(
            Status.CRASH,
            detail=f"its measurement began {attempts} times and never ended: it took the process or the machine down; "
            "not tried again",
        )

    def begin(self, task: str, configuration: Mapping[str, object]) -> None:
        """Note that a measurement is about to start in this process.

        Raises:
            RecordError: the store cannot be written.
        """
        with self._transaction():
            row = self._db.execute(
                "SELECT id, attempts, host, pid FROM measurement"
                " WHERE task = ? AND configuration = ? AND state = 'started'",
                (task, _text(dict(configuration))),
            ).fetchone()
            if row is None:
                self._db.execute(
                    "INSERT OR IGNORE INTO measurement (task, configuration, state, attempts, host, pid, started)"
                    " VALUES (?, ?, 'started', 0, ?, ?, ?)",
                    (task, _text(dict(configuration)), self._host, os.getpid(), time.time()),
                )
            else:
                number, attempts, host, pid = row
                self._db.execute(
                    "UPDATE measurement SET attempts = ?, host = ?, pid = ?, started = ? WHERE id = ?",
                    (attempts + self._is_gone(host, pid), self._host, os.getpid(), time.time(), number),
                )

    def abandon(self, task: str, configuration: Mapping[str, object], *, blame: bool) -> None:
        """Note that a measurement that began ended without a result.

        Args:
            task: the key of the task.
            configuration: what was to be measured.
            blame: it took its worker down, which counts; otherwise it was interrupted, which does not.

        Raises:
            RecordError: the store cannot be written.
        """
        with self._transaction():
            self._db.execute(
                "UPDATE measurement SET pid = NULL, attempts = attempts + ?"
                " WHERE task = ? AND configuration = ? AND state = 'started'",
                (int(blame), task, _text(dict(configuration))),
            )

    def finish(self, task: str, configuration: Mapping[str, object], measurement: Measurement) -> None:
        """Keep a measurement; one that another process finished first stays.

        Raises:
            RecordError: the store cannot be written.
        """
        now = time.time()
        figures = (
            measurement.status.value,
            array("d", measurement.runtimes_ms).tobytes(),
            measurement.compile_s,
            measurement.verify_s,
            measurement.benchmark_s,
            _text({name: value for name, value in measurement.metrics.items() if math.isfinite(value)}),
            measurement.detail,
            _text(list(measurement.remarks)),
        )
        with self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO measurement (task, configuration, state, attempts, host, started)"
                " VALUES (?, ?, 'started', 0, ?, ?)",
                (task, _text(dict(configuration)), self._host, now),
            )
            self._db.execute(
                "UPDATE measurement SET state = 'done', finished = ?, status = ?, samples = ?, compile_s = ?,"
                " verify_s = ?, benchmark_s = ?, metrics = ?, detail = ?, remarks = ?"
                " WHERE task = ? AND configuration = ? AND state = 'started'",
                (now, *figures, task, _text(dict(configuration))),
            )

    def _is_gone(self, host: str, pid: int | None) -> bool:
        """Did the process that began a measurement end without a word? Of other machines nothing is known."""
        if pid is None or host.split()[0] != self._host.split()[0]:
            return False
        return host != self._host or not _is_alive(pid)

    def decision(self, task: str, space: SearchSpace, request: Mapping[str, object]) -> Decision | None:
        """The decision of the newest finished run of the same request; None if there is none."""
        row = self._read(
            "SELECT decision FROM run WHERE task = ? AND space = ? AND request = ? AND decision IS NOT NULL"
            " ORDER BY ended DESC LIMIT 1",
            (task, space.digest, _text(dict(request))),
        ).fetchone()
        return None if row is None else decision_from(json.loads(row[0]), space)

    # Runs.

    def start_run(
        self, task: str, space: SearchSpace, objective: Objective, optimizer: str, request: Mapping[str, object],
        version: str,
    ) -> int:  # fmt: skip
        """Note a new run; returns its number."""
        with self._transaction():
            cursor = self._db.execute(
                "INSERT INTO run (task, space, size, objective, optimizer, request, version, host, pid, started)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    task,
                    space.digest,
                    str(space.size),
                    _text([objective.metric, objective.reduction, objective.goal]),
                    optimizer,
                    _text(dict(request)),
                    version,
                    self._host,
                    os.getpid(),
                    time.time(),
                ),
            )
        return int(cursor.lastrowid or 0)

    def add_trial(self, run: int, task: str, position: int, configuration: Mapping[str, object], trial: Trial) -> None:
        """Note that a run evaluated a configuration whose measurement is in the store."""
        with self._transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO trial SELECT ?, ?, id, ?, ? FROM measurement"
                " WHERE task = ? AND configuration = ?",
                (
                    run,
                    position,
                    trial.cost if math.isfinite(trial.cost) else None,
                    trial.clock_s,
                    task,
                    _text(dict(configuration)),
                ),
            )

    def end_run(
        self, run: int, stopped: Stopped, decision: Decision | None, space: SearchSpace, notes: Sequence[str]
    ) -> None:
        """Note why a run ended and what it decided."""
        with self._transaction():
            self._db.execute(
                "UPDATE run SET ended = ?, stopped = ?, decision = ?, notes = ? WHERE id = ?",
                (
                    time.time(),
                    stopped.value,
                    None if decision is None else _text(decision_data(decision, space)),
                    _text(list(notes)),
                    run,
                ),
            )

    def runs(self, *, kernel: str | None = None) -> list[RunRow]:
        """Runs, the newest first."""
        rows = self._read(
            "SELECT run.id, task.kernel, task.device, task.problem, run.optimizer, run.started, run.ended, run.host,"
            " run.pid, run.stopped, run.request, COUNT(trial.position), MIN(trial.cost),"
            " COUNT(trial.position) - COUNT(trial.cost), MAX(trial.clock_s)"
            " FROM run JOIN task ON task.key = run.task LEFT JOIN trial ON trial.run = run.id"
            " WHERE (? IS NULL OR task.kernel = ?)"
            " GROUP BY run.id ORDER BY run.id DESC",
            (kernel, kernel),
        )
        return [
            RunRow(
                id=number,
                kernel=name,
                device=device,
                problem=json.loads(problem),
                optimizer=optimizer,
                started=started,
                ended=ended,
                alive=ended is None and host == self._host and _is_alive(pid),
                stopped=stopped,
                trials=trials,
                best_cost=best,
                failures=failures,
                clock_s=clock or 0.0,
                request=json.loads(request),
            )
            for number, name, device, problem, optimizer, started, ended, host, pid, stopped, request, trials, best,
                failures, clock in rows
        ]  # fmt: skip

    def best(self, *, kernel: str, device: str | None = None) -> list[StoredBest]:
        """The best configuration that any finished run decided on, for each matching task and objective.

        Args:
            kernel: name of the kernel.
            device: name of the device; None: any.

        Raises:
            RecordError: the store cannot be read.
        """
        rows = self._read(
            "SELECT run.id, run.decision, run.objective, run.ended, task.* FROM run JOIN task ON task.key = run.task"
            " WHERE task.kernel = ? AND (? IS NULL OR task.device = ?) AND run.decision IS NOT NULL"
            " ORDER BY run.ended DESC",
            (kernel, device, device),
        )
        found: dict[tuple[str, str], StoredBest] = {}
        for number, decision, objective, ended, key, name, on, sizes, toolchain, source, settings in rows:
            data = json.loads(decision)
            cost = data["best"]["cost"]
            if (key, objective) in found and found[key, objective].cost <= cost:
                continue
            found[key, objective] = StoredBest(
                task=Task(name, on, json.loads(sizes), toolchain, source, json.loads(settings)),
                configuration=data["best"]["configuration"],
                cost=cost,
                objective=Objective(*json.loads(objective)),
                speedup=data["speedup"][0],
                finished=ended,
                run=number,
            )
        return list(found.values())

    def collect(self, *, older_than_s: float) -> dict[str, int]:
        """Delete runs that ended, or whose process is gone, longer ago than that, and what no run uses any more.

        Returns:
            How many runs, measurements and tasks were deleted.
        """
        before = time.time() - older_than_s
        old = [
            row.id
            for row in self.runs()
            if (row.ended is not None and row.ended < before)
            or (row.ended is None and not row.alive and row.started < before)
        ]
        deleted = {"runs": len(old)}
        with self._transaction():
            self._db.executemany("DELETE FROM run WHERE id = ?", ((number,) for number in old))
            deleted["measurements"] = self._db.execute(
                "DELETE FROM measurement WHERE started < ? AND id NOT IN (SELECT measurement FROM trial)",
                (before,),
            ).rowcount
            deleted["tasks"] = self._db.execute(
                "DELETE FROM task WHERE key NOT IN (SELECT task FROM measurement UNION SELECT task FROM run)"
            ).rowcount
        try:
            self._db.execute("VACUUM")
        except sqlite3.Error as error:
            raise RecordError(f"the store {self.path} cannot be made smaller: {error}") from error
        return deleted

    # The file.

    def _read(self, query: str, values: Sequence[object]) -> sqlite3.Cursor:
        try:
            return self._db.execute(query, values)
        except sqlite3.Error as error:
            raise RecordError(f"the store {self.path} cannot be read: {error}") from error

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """All or nothing; waits for other writers."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise RecordError(f"the store {self.path} cannot be written: {error}") from error

    def _prepare(self) -> None:
        """Create the tables, or bring them up to date."""
        version = self._version()
        if version == SCHEMA_VERSION:
            return
        if version > SCHEMA_VERSION:
            raise RecordError(
                f"the store {self.path} has version {version}, this program reads up to {SCHEMA_VERSION}; "
                "use a newer tunewright or name another file"
            )
        self._db.execute("BEGIN IMMEDIATE")
        try:
            version = self._version()  # another process may have been faster
            if version == 0:
                if self._db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                    raise RecordError(f"{self.path} is a database of something else; name another file")
                self._statements(SCHEMA)
            else:
                for step in range(version, SCHEMA_VERSION):
                    self._statements(_MIGRATIONS[step])
            self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def _statements(self, script: str) -> None:
        """Run a script inside the open transaction (executescript would commit it)."""
        for statement in script.split(";"):
            if statement.strip():
                self._db.execute(statement)

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
