"""From a kernel to its fastest configuration, and the same search replayed on a recording."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from math import inf
from typing import Any

from tunewright.budget import Budget, Clock
from tunewright.decide import decide
from tunewright.errors import OptionError, RunnerError, SpecificationError
from tunewright.kernel import LANGUAGES, Kernel
from tunewright.measure import Decision, Stopped, Task, Trial, TuningRun
from tunewright.optimizers import hyperparameters, load
from tunewright.plan import Optimizer, Outcome, Plan, drive
from tunewright.records import RecordedSpace
from tunewright.runners.host import HostRunner
from tunewright.runners.replay import ReplayRunner
from tunewright.space import SearchSpace
from tunewright.version import __version__

__all__ = ["DEFAULT_EVALUATIONS", "DEFAULT_OPTIMIZER", "replay", "tune"]

DEFAULT_OPTIMIZER = "ridge"
DEFAULT_EVALUATIONS = 100

_LEADERS_WITHIN = 1.25
"""Trials more than this factor above the best are not worth measuring again."""


def tune(
    kernel: Kernel,
    *,
    optimizer: str | Optimizer = DEFAULT_OPTIMIZER,
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    fix: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    options: Mapping[str, Any] | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> TuningRun:
    """Compile, verify and time configurations until the budget is spent; measure the leaders again; decide.

    The default configuration is the first trial of every run and takes part in the final comparison, so that
    the result is never slower than what was there before, beyond noise.

    Args:
        kernel: what to tune.
        optimizer: a name, a file (``path.py:function``) or a generator function.
        evaluations: distinct configurations at most; 100 if neither limit is given.
        seconds: seconds on the tuning clock at most (compile, verify, benchmark).
        seed: seed of the optimizer's random numbers.
        fix: parameters pinned to one value.
        jobs: compilers that run at the same time; None: one for each core.
        options: hyper-parameters of the optimizer.
        on_trial: called after every trial.

    Raises:
        SpecificationError, SpaceError, OptionError: the request cannot be carried out.
        RunnerError: nothing can be measured on this machine (no compiler, a reference that fails).
    """
    budget = Budget(DEFAULT_EVALUATIONS if evaluations is None and seconds is None else evaluations, seconds)
    name, plan = _resolve(optimizer, options)
    if kernel.language not in LANGUAGES:
        raise SpecificationError(
            f"{kernel.language!r} kernels cannot be measured by this version; it measures {', '.join(LANGUAGES)}",
            key="language",
        )
    space, default, notes = _pinned(kernel, fix or {})
    with closing(HostRunner(kernel, space, jobs=jobs)) as runner:
        outcome = drive(
            _start_first(plan),
            space,
            runner,
            kernel.objective,
            budget,
            random.Random(seed),
            start=(default,),
            options=options,
            on_trial=on_trial,
        )
        decision = None
        if outcome.stopped is not Stopped.INTERRUPTED:
            try:
                decision = _measure_leaders(kernel, runner, outcome.trials, default)
            except (KeyboardInterrupt, RunnerError) as error:
                outcome = outcome._replace(stopped=Stopped.INTERRUPTED)
                notes = (*notes, f"the leaders were not measured again: {error or 'interrupted'}")
        return _run(runner.task, space, name, seed, outcome, decision, notes)


def replay(
    recorded: RecordedSpace,
    *,
    optimizer: str | Optimizer = DEFAULT_OPTIMIZER,
    evaluations: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    start: Sequence[int] = (),
    options: Mapping[str, Any] | None = None,
) -> TuningRun:
    """Run an optimizer against a recorded space; the clock runs by the recorded durations.

    Args:
        recorded: the space and its measurements.
        optimizer: a name, a file or a generator function.
        evaluations: distinct configurations at most; None: until the optimizer or the space ends.
        seconds: recorded tuning seconds at most.
        seed: seed of the optimizer's random numbers.
        start: ids tried first.
        options: hyper-parameters of the optimizer.

    Raises:
        OptionError: an argument outside its range, or no such optimizer.
    """
    name, plan = _resolve(optimizer, options)
    outcome = drive(
        plan,
        recorded.space,
        ReplayRunner(recorded),
        recorded.objective,
        Budget(evaluations, seconds),
        random.Random(seed),
        start=start,
        options=options,
    )
    return _run(recorded.task, recorded.space, name, seed, outcome, None, ())


def _resolve(optimizer: str | Optimizer, options: Mapping[str, Any] | None) -> tuple[str, Optimizer]:
    """Name and function of an optimizer, its options checked."""
    function = load(optimizer) if isinstance(optimizer, str) else optimizer
    name = optimizer if isinstance(optimizer, str) else getattr(optimizer, "__name__", "optimizer")
    known = hyperparameters(function)
    if unknown := sorted(set(options or ()) - known.keys()):
        listed = ", ".join(f"{key}={value}" for key, value in known.items()) or "none"
        raise OptionError(f"optimizer {name!r} has no option {', '.join(unknown)}; it has {listed}")
    return name, function


def _start_first(optimizer: Optimizer) -> Optimizer:
    """The same optimizer, but `start` is evaluated even if it does not look at it."""

    def plan(space: SearchSpace, budget: Clock, rng: random.Random, *, start: Sequence[int], **options: Any) -> Plan:
        yield list(start)
        yield from optimizer(space, budget, rng, start=start, **options)

    return plan


def _pinned(kernel: Kernel, fix: Mapping[str, Any]) -> tuple[SearchSpace, int, tuple[str, ...]]:
    """The space with parameters pinned, the id of the default in it, and remarks."""
    space = kernel.space.fix(**fix) if fix else kernel.space
    default = {**kernel.default_configuration, **fix}
    if not fix:
        return space, space.require(default, what="the default configuration"), ()
    i = space.find(default)
    if i is not None:
        return space, i, ()
    i = space.nearest(default)
    return (
        space,
        i,
        (f"the default is not valid with what is fixed; compared with {space.config(i)} instead",),
    )


def _measure_leaders(kernel: Kernel, runner: HostRunner, trials: Sequence[Trial], default: int) -> Decision | None:
    """Measure the best few and the default again, interleaved, and decide between them."""
    good = sorted((trial for trial in trials if trial.cost < inf), key=lambda trial: trial.cost)
    if not good:
        return None
    most = kernel.measuring.leaders_among(len(good))
    limit = good[0].cost + (_LEADERS_WITHIN - 1) * abs(good[0].cost)
    ids = [trial.id for trial in good[:most] if trial.cost <= limit]
    if default not in ids and any(trial.id == default for trial in good):
        ids.append(default)
    rounds = runner.remeasure(ids, kernel.measuring.rounds)
    costs = {i: [kernel.objective.value(m) for m in measured] for i, measured in rounds.items()}
    return decide(costs, default)


def _run(
    task: Task,
    space: SearchSpace,
    optimizer: str,
    seed: int,
    outcome: Outcome,
    decision: Decision | None,
    notes: Sequence[str],
) -> TuningRun:
    if outcome.failure is not None:
        if not outcome.trials:
            raise outcome.failure
        notes = [*notes, f"the run ended early: {outcome.failure}"]
    return TuningRun(
        task=task,
        space_digest=space.digest,
        optimizer=optimizer,
        version=__version__,
        seed=seed,
        stopped=outcome.stopped,
        trials=outcome.trials,
        repeats=outcome.repeats,
        decision=decision,
        notes=tuple(notes),
    )
