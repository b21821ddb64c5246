"""Hyper-parameters by racing on train spaces, with the same number of runs for everyone."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tunewright.bench.campaign import collect_runs
from tunewright.bench.cell import Conditions
from tunewright.bench.contestant import Contestant
from tunewright.bench.exact import score, trajectory
from tunewright.bench.foreign import hyperparameter_values as foreign_values
from tunewright.bench.prepared import Prepared
from tunewright.bench.statistics import FLOOR, family_mean
from tunewright.errors import OptionError
from tunewright.optimizers.catalogue import hyperparameter_values
from tunewright.space import SearchSpace

__all__ = ["DEFAULT_RUNS", "Race", "declared_values", "race"]

DEFAULT_RUNS = 2000
"""Runs that each contestant's race may make, all settings and spaces together."""

_KEPT = 1 / 3  # of the settings go on to the next round
_SEED = 1_000_000  # seeds of races are not those of scores


@dataclass(frozen=True, slots=True)
class Race:
    """How a contestant's hyper-parameters were chosen.

    Attributes:
        contestant: with the winning setting.
        settings: how many were tried, the one given included.
        runs: how many runs that took.
        rounds: for each round the number of settings and of runs for each on each space.
        training_score: of the winner in its last round. It was chosen for this figure: it is no result.
    """

    contestant: Contestant
    settings: int
    runs: int
    rounds: tuple[tuple[int, int], ...]
    training_score: float


def declared_values(contestant: Contestant) -> Mapping[str, Sequence[Any]]:
    """The values that a contestant declares to be worth trying; the code of a file is not run for it.

    Raises:
        OptionError: a file whose HYPERPARAMETERS cannot be read as plain values.
    """
    if contestant.kind != "tunewright":
        return foreign_values(contestant.kind, contestant.target)
    path = Path(contestant.target.rpartition(":")[0] if ".py:" in contestant.target else contestant.target)
    if path.suffix != ".py":
        return hyperparameter_values(contestant.target)
    for node in ast.parse(path.read_text("utf-8")).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        names = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not any(isinstance(name, ast.Name) and name.id == "HYPERPARAMETERS" for name in names):
            continue
        try:
            return {str(name): list(each) for name, each in ast.literal_eval(node.value).items()}
        except (ValueError, TypeError, AttributeError) as error:
            raise OptionError(f"{path}: HYPERPARAMETERS maps names to lists of plain values: {error}") from error
    return {}


def race(
    contestant: Contestant,
    spaces: Sequence[tuple[Prepared, str]],
    *,
    runs: int = DEFAULT_RUNS,
    seed: int = 0,
    jobs: int | None = None,
    run_timeout_s: float = 120.0,
    on_done: Callable[[int, int], None] | None = None,
) -> Race:
    """Choose among a contestant's declared settings by successive thirds: the fewer are left, the more runs each.

    The settings are the contestant's own and random ones; how many is such that the budget makes three rounds. All are
    run with the same seeds. Ties go to the setting given.

    Args:
        contestant: whose hyper-parameters; options that it was given stay as they are.
        spaces: train spaces, each with its kernel family.
        runs: to spend.
        seed: of the settings drawn and of the runs.
        jobs: as for `collect_runs`.
        run_timeout_s: likewise.
        on_done: likewise.

    Raises:
        OptionError: fewer runs than one for each of two settings on each space.
    """
    values = {name: each for name, each in declared_values(contestant).items() if name not in contestant.options}
    if runs < 2 * len(spaces):
        raise OptionError(f"{runs} runs are too few to compare two settings on {len(spaces)} spaces")
    choices = SearchSpace(values) if values else None
    if choices is None or choices.size < 2:
        return Race(contestant, 1, 0, (), float("nan"))
    count = min(choices.size + 1, max(2, int(runs / 3 / len(spaces) / 2)))  # two runs each in the first round
    rng = random.Random(f"{seed}/race/{contestant.label}")
    drawn = rng.sample(range(choices.size), min(count - 1, choices.size))
    field = [contestant, *(_with(contestant, choices.config(i)) for i in drawn)]
    field = list({each.label: each for each in field}.values())
    left, first, best = runs, 0, float("nan")
    rounds: list[tuple[int, int]] = []
    entered = len(field)
    while True:
        share = left if len(field) <= 2 else left / 3 if not rounds else left / 2
        repeats = max(1, int(share / len(field) / len(spaces)))
        cost = repeats * len(field) * len(spaces)
        if cost > left:
            break
        scores = _scores(field, spaces, seed, first, repeats, jobs, run_timeout_s, on_done)
        rounds.append((len(field), repeats))
        left -= cost
        ranked = sorted(field, key=lambda each: (-scores[each.label], each.label != contestant.label))
        best = scores[ranked[0].label]
        done = len(field) <= 2
        field = ranked[: max(2, int(len(field) * _KEPT))] if not done else ranked[:1]
        first += repeats
        if done:
            break
    return Race(field[0], entered, runs - left, tuple(rounds), best)


def _with(contestant: Contestant, options: Mapping[str, Any]) -> Contestant:
    merged = {**contestant.options, **options}
    target = contestant.label.partition(",")[0]
    label = target + "".join(f",{name}={value}" for name, value in merged.items())
    return replace(contestant, label=label, options=merged)


def _scores(
    field: Sequence[Contestant],
    spaces: Sequence[tuple[Prepared, str]],
    seed: int,
    first: int,
    repeats: int,
    jobs: int | None,
    run_timeout_s: float,
    on_done: Callable[[int, int], None] | None,
) -> dict[str, float]:
    """Training scores from runs that no earlier round has seen."""
    families = {prepared.name: family for prepared, family in spaces}

    def conditions(prepared: Prepared) -> list[Conditions]:
        return [Conditions(seconds=prepared.baseline.end_s, seed=_SEED + seed + 1000 * first)]

    made = collect_runs(
        field,
        [prepared for prepared, _ in spaces],
        conditions,
        repeats,
        jobs=jobs,
        run_timeout_s=run_timeout_s,
        on_done=on_done,
    )
    found = {}
    for contestant in field:
        by_space = {}
        for prepared, _ in spaces:
            runs = made[contestant.label, prepared.name, conditions(prepared)[0]]
            mean = score(prepared.baseline, [trajectory(prepared, run) for run in runs]).mean()
            by_space[prepared.name] = max(float(mean), FLOOR)
        found[contestant.label] = float(family_mean({n: np.array(v) for n, v in by_space.items()}, families))
    return found
