"""A copy of a suite that nobody can know by heart: other names, another order, values without their meaning."""

from __future__ import annotations

import json
import random
from pathlib import Path

from tunewright.bench.suite import Entry, Suite, file_digest
from tunewright.errors import RecordError
from tunewright.measure import Objective, Task
from tunewright.records import PartialRecord, RecordedSpace, read_record, write_record
from tunewright.space import SearchSpace

__all__ = ["disguise"]

_METRIC = "cost"


def disguise(suite: Suite, entries: tuple[Entry, ...], folder: Path, seed: int = 0) -> Path:
    """Write disguised copies of spaces and a suite file for them.

    Parameters are renamed and put into another order. Numbers become 1, 2, 3, ... in their order, which an optimizer
    may still use; texts become ``v001``, ``v002``, ... in random order. Costs are multiplied by one factor for each
    space; durations and failures stay. Kernel, device and problem are not named. An optimizer that scores less on the
    copy knew the benchmark, or used what names and magnitudes of values mean.

    Args:
        suite: where the entries come from.
        entries: what to copy.
        folder: where to write; must be empty or new.
        seed: of the new names, orders and factors.

    Returns:
        The new suite's file.

    Raises:
        RecordError: a recording cannot be read, or the folder cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise RecordError(f"{folder} is not empty; give a new folder")
    rng = random.Random(f"{seed}/disguise")
    families = list(dict.fromkeys(entry.family for entry in entries))
    rng.shuffle(families)
    lines = [f'name = "{suite.name}-disguised"', f"version = {json.dumps(suite.version)}"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, entry in enumerate(entries, 1):
            file = folder / f"space{number}.npz"
            write_record(file, _disguised(entry, number, rng))
            lines += [
                "",
                "[[space]]",
                f'name = "space{number}"',
                f'file = "{file.name}"',
                f'family = "family{families.index(entry.family) + 1}"',
                f'role = "{entry.role}"',
                f'sha256 = "{file_digest(file)}"',
            ]
        path = folder / "suite.toml"
        path.write_text("\n".join(lines) + "\n", "utf-8")
    except OSError as error:
        raise RecordError(f"{folder}: cannot be written: {error}") from error
    return path


def _disguised(entry: Entry, number: int, rng: random.Random) -> RecordedSpace:
    record = read_record(entry.file, t1=entry.t1, **entry.hints)
    recorded = record.recorded_space() if isinstance(record, PartialRecord) else record
    old = recorded.space
    order = list(old.names)
    rng.shuffle(order)
    renamed = {name: f"p{place}" for place, name in enumerate(order, 1)}
    relabelled = {name: _labels(old.parameters[name], rng) for name in order}
    parameters = {renamed[name]: sorted(relabelled[name].values()) for name in order}
    rows = [
        tuple(relabelled[name][configuration[name]] for name in order)
        for configuration in map(old.config, range(old.size))
    ]
    space = SearchSpace.from_configurations(parameters, rows)
    factor = rng.uniform(0.5, 2.0)
    objective = Objective(metric=_METRIC, goal="min")
    measurements = [recorded.measurements[0]] * old.size
    for i, row in enumerate(rows):
        measured = recorded.measurements[i]
        cost = recorded.objective.value(measured)
        place = space.require(dict(zip(parameters, row, strict=True)), "recorded")
        measurements[place] = type(measured)(
            measured.status,
            (),
            measured.compile_s,
            measured.verify_s,
            measured.benchmark_s,
            {_METRIC: factor * cost} if cost < float("inf") else {},
        )
    return RecordedSpace(Task(f"space{number}"), space, tuple(measurements), objective)


def _labels(values: tuple[object, ...], rng: random.Random) -> dict[object, int | str]:
    """New values for old ones: ranks of numbers, letters for texts."""
    if all(isinstance(value, int | float) for value in values):
        ordered = sorted(values)  # type: ignore[type-var]  # numbers
        return {value: place for place, value in enumerate(ordered, 1)}
    shuffled = list(values)
    rng.shuffle(shuffled)
    return {value: f"v{place:03}" for place, value in enumerate(shuffled, 1)}
