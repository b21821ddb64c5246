"""Recorded spaces made ready for scoring once, then mapped into memory: arrays, baseline and neighbour tables."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tunewright.bench.baseline import Baseline, UnscorableError, baseline
from tunewright.bench.suite import Entry, file_digest
from tunewright.errors import RecordError
from tunewright.records import PartialRecord, read_record
from tunewright.space import SearchSpace

__all__ = ["Prepared", "cache_folder", "prepare"]

FORMAT = 2
"""Raised whenever what is stored, or how the baseline is computed, changes."""

Vector = npt.NDArray[np.float64]


def cache_folder() -> Path:
    """Where prepared spaces and finished cells are kept: TUNEWRIGHT_CACHE, else the user's cache folder."""
    given = os.environ.get("TUNEWRIGHT_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tunewright"


@dataclass(frozen=True)
class Prepared:
    """One space, ready to be scored on; everything is read from its folder when it is first asked for.

    Attributes:
        folder: where it is kept.
        name: the space's name in its suite.
    """

    folder: Path
    name: str

    @property
    def key(self) -> str:
        """Identity of the recording as it was read."""
        return self.folder.name

    @cached_property
    def space(self) -> SearchSpace:
        """The configurations."""
        return SearchSpace.load(self.folder / "space.npz")

    @cached_property
    def costs(self) -> Vector:
        """Cost of each configuration, lower is better, inf where it failed."""
        return self._array("costs")

    @cached_property
    def seconds(self) -> Vector:
        """Seconds on the tuning clock that evaluating each takes."""
        return self._array("seconds")

    @cached_property
    def published_seconds(self) -> Vector:
        """What evaluating each takes as the published score counts it: every run, the framework, the search."""
        return self._array("published_seconds")

    @cached_property
    def samples(self) -> tuple[Vector, npt.NDArray[np.int64]]:
        """All samples of the cost, one configuration after the other, and where each one's samples end."""
        return self._array("samples"), np.load(self.folder / "sample_ends.npy", mmap_mode="r", allow_pickle=False)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Figures about the space: failures, parts of the recorded durations, what the reader noted."""
        found: dict[str, Any] = json.loads((self.folder / "facts.json").read_text("utf-8"))
        return found

    @cached_property
    def baseline(self) -> Baseline:
        """Window and baseline.

        Raises:
            UnscorableError: the space has none.
        """
        figures = self.facts["baseline"]
        if "unscorable" in figures:
            raise UnscorableError(figures["unscorable"])
        return Baseline(**figures, times_s=self._array("times"), values=self._array("values"))

    def _array(self, name: str) -> Vector:
        array: Vector = np.load(self.folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return array


def prepare(entry: Entry, folder: Path | None = None) -> Prepared:
    """Read an entry's recording, or find it prepared already.

    Args:
        entry: of a suite.
        folder: where prepared spaces are kept; None: in the user's cache.

    Raises:
        RecordError: the recording cannot be read, has no finite duration, or differs from the suite's checksum.
    """
    digest = file_digest(entry.file)
    if entry.sha256 and digest != entry.sha256:
        raise RecordError(f"{entry.file}: the checksum is {digest}, the suite says {entry.sha256}")
    t1 = "" if entry.t1 is None else file_digest(entry.t1)
    identity = json.dumps([FORMAT, digest, t1, entry.hints], sort_keys=True, default=str)
    home = (folder or cache_folder()) / "spaces"
    place = home / sha256(identity.encode()).hexdigest()[:32]
    if not (place / "facts.json").is_file():
        try:
            home.mkdir(parents=True, exist_ok=True)
            building = Path(tempfile.mkdtemp(dir=home))
            try:
                _build(entry, building)
                building.rename(place)
            except OSError:
                if not (place / "facts.json").is_file():  # else another process was faster
                    raise
            finally:
                shutil.rmtree(building, ignore_errors=True)
        except OSError as error:
            raise RecordError(f"{home}: prepared spaces cannot be kept here: {error}") from error
    return Prepared(place, entry.name)


def _build(entry: Entry, folder: Path) -> None:
    """Write everything about a recording."""
    record = read_record(entry.file, t1=entry.t1, **entry.hints)
    partial = isinstance(record, PartialRecord)
    recorded = record.recorded_space() if isinstance(record, PartialRecord) else record
    measurements = recorded.measurements
    costs = np.array([recorded.objective.value(measured) for measured in measurements])
    parts = np.array([(m.compile_s, m.verify_s, m.benchmark_s) for m in measurements])
    if not np.isfinite(parts).all() or (parts < 0).any():
        raise RecordError(f"{entry.file}: a duration is negative or no finite number")
    seconds = parts.sum(axis=1)
    sign = 1.0 if recorded.objective.goal == "min" else -1.0
    timed = recorded.objective.metric in ("runtime_ms", "time_ms") and all(
        measured.runtimes_ms for measured, cost in zip(measurements, costs, strict=True) if np.isfinite(cost)
    )
    samples = [
        [sign * sample for sample in measured.runtimes_ms] if timed and np.isfinite(cost) else [cost]
        for measured, cost in zip(measurements, costs, strict=True)
    ]
    recorded.space.save(folder / "space.npz")
    overhead = [
        sum(measured.runtimes_ms) + measured.metrics.get("framework_ms", 0.0) + measured.metrics.get("strategy_ms", 0.0)
        for measured in measurements
    ]
    arrays = {
        "costs": costs,
        "seconds": seconds,
        "published_seconds": parts[:, :2].sum(axis=1) + np.array(overhead) / 1e3,
        "samples": np.array([sample for each in samples for sample in each]),
        "sample_ends": np.cumsum([len(each) for each in samples]),
    }
    figures: dict[str, Any]
    try:
        found = baseline(costs, seconds)
        arrays |= {"times": found.times_s, "values": found.values}
        figures = {
            name: getattr(found, name)
            for name in ("optimum", "median", "goal", "start_s", "end_s", "evaluations", "error")
        }
    except UnscorableError as error:
        figures = {"unscorable": str(error)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    facts = {
        "task": recorded.task.label,
        "objective": recorded.objective.metric,
        "goal": recorded.objective.goal,
        "configurations": recorded.space.size,
        "failures": int((~np.isfinite(costs)).sum()),
        "partial": partial,
        "raw_samples": timed,
        "mean_seconds": dict(zip(("compile", "verify", "benchmark"), parts.mean(axis=0).tolist(), strict=True)),
        "notes": list(recorded.notes),
        "baseline": figures,
    }
    (folder / "facts.json").write_text(json.dumps(facts, indent=1), "utf-8")
