"""From a kernel to its fastest configuration, and the same search replayed on a recording."""

from __future__ import annotations

import inspect
import os
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from hashlib import sha256
from math import inf
from typing import Any

from tunewright.budget import Budget, Clock, Deadline
from tunewright.errors import DeadlineError, OptionError, RecordError, RunnerError, SpecificationError
from tunewright.history import History
from tunewright.kernel import LANGUAGES, Kernel, Role
from tunewright.leaders import measure_leaders
from tunewright.measure import Decision, Status, Stopped, Task, Trial, TuningRun
from tunewright.optimizers import hyperparameters, load
from tunewright.optimizers.catalogue import hyperparameter_values
from tunewright.plan import Optimizer, Outcome, Plan, drive
from tunewright.records import RecordedSpace, Store
from tunewright.runners.derived import DerivingRunner
from tunewright.runners.host import HostRunner
from tunewright.runners.program import ProgramRunner
from tunewright.runners.punctual import PunctualRunner
from tunewright.runners.replay import ReplayRunner
from tunewright.space import SearchSpace
from tunewright.version import __version__

__all__ = ["DEFAULT_EVALUATIONS", "DEFAULT_OPTIMIZER", "replay", "tune"]

DEFAULT_OPTIMIZER = "ridge"
DEFAULT_EVALUATIONS = 100

_FOR_LEADERS, _FOR_LEADERS_S = 0.2, 120.0
"""Share of the time up to a deadline that is for the final comparison only, and how many seconds of it at most."""


def tune(
    kernel: Kernel,
    *,
    optimizer: str | Optimizer = DEFAULT_OPTIMIZER,
    evaluations: int | None = None,
    seconds: float | None = None,
    deadline_s: float | None = None,
    seed: int = 0,
    fix: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    options: Mapping[str, Any] | None = None,
    on_trial: Callable[[Trial], None] | None = None,
    store: Store | None = None,
) -> TuningRun:
    """Compile, verify and time configurations until the budget is spent; measure the leaders again; decide.

    The default configuration is the first trial of every run and takes part in the final comparison, so that
    the result is never slower than what was there before, beyond noise.

    Args:
        kernel: what to tune.
        optimizer: a name, a file (``path.py:function``) or a generator function.
        evaluations: distinct configurations at most; 100 if neither limit is given.
        seconds: seconds on the tuning clock at most (compile, verify, benchmark).
        deadline_s: wall seconds from now after which nothing new begins; what is measured then is ended and does not
            count. The last fifth, two minutes at most, is for the leaders only: as many rounds as fit in.
        seed: seed of the optimizer's random numbers.
        fix: parameters pinned to one value.
        jobs: compilers that run at the same time; None: one for each core.
        options: hyper-parameters of the optimizer; one called ``batch`` is two for each compiler if not given.
        on_trial: called after every trial.
        store: where every measurement is kept and looked up, so that a run that was killed goes on where it was,
            and a changed space measures only what is new; None: nothing is kept.

    Raises:
        SpecificationError, SpaceError, OptionError: the request cannot be carried out.
        RunnerError: nothing can be measured on this machine (no compiler, a reference that fails).
        DeadlineError: the deadline came before a compiler was ready.
    """
    deadline = Deadline.after(deadline_s)
    search_until = deadline.earlier(min(_FOR_LEADERS * (deadline_s or 0.0), _FOR_LEADERS_S))
    budget = Budget(DEFAULT_EVALUATIONS if evaluations is None and seconds is None else evaluations, seconds)
    name, plan = _resolve(optimizer, options)
    if kernel.language not in LANGUAGES:
        raise SpecificationError(
            f"{kernel.language!r} kernels cannot be measured by this version; it measures {', '.join(LANGUAGES)}",
            key="language",
        )
    space, default, notes = _pinned(kernel, fix or {})
    options = {**_live_options(plan, jobs), **(options or {})}
    request = {
        "optimizer": name,
        "optimizer_source": _source_digest(plan),
        "seed": seed,
        "options": options,
        "fix": dict(fix or {}),
        "evaluations": budget.evaluations,
        "seconds": budget.seconds,
        "deadline_s": deadline_s,
        "objective": asdict(kernel.objective),
        "metrics": dict(kernel.metrics),
        "default": space.config(default),
        "leaders": kernel.measuring.leaders,
        "rounds": kernel.measuring.rounds,
    }
    notes = (*notes, *_unverified(kernel))
    with closing(_runner(kernel, space, jobs, space.config(default), search_until)) as runner:
        history = None
        if store is not None:
            try:
                history = History(store, runner, space, kernel.objective, request)
            except RecordError as error:
                notes = (*notes, f"nothing is stored: {error}")

        def notice(trial: Trial) -> None:
            if trial.measurement.status is Status.OK and trial.cost == inf:
                measured = ", ".join(["runtime_ms", *trial.measurement.metrics])
                raise SpecificationError(
                    f"{kernel.objective.metric!r} is not measured here; measured are {measured}", key="objective.metric"
                )
            if history is not None:
                history.trial(trial)
            if on_trial is not None:
                on_trial(trial)

        try:
            outcome = drive(
                _start_first(plan),
                space,
                PunctualRunner(
                    DerivingRunner(runner if history is None else history.runner, kernel, space), search_until
                ),
                kernel.objective,
                budget,
                random.Random(seed),
                start=(default,),
                options=options,
                on_trial=notice,
            )
            outcome, decision, more = _compared(kernel, space, runner, history, outcome, default, deadline)
        except BaseException as error:
            if history is not None:
                history.end(Stopped.INTERRUPTED, None, [str(error)])
            raise
        notes = (*notes, *more, *_default_note(outcome.trials, default), *runner.remarks)
        if history is not None:
            notes = (*notes, *history.end(outcome.stopped, decision, notes))
        return _run(runner.task, space, name, seed, outcome, decision, notes)


def _compared(
    kernel: Kernel,
    space: SearchSpace,
    runner: HostRunner | ProgramRunner,
    history: History | None,
    outcome: Outcome,
    default: int,
    deadline: Deadline,
) -> tuple[Outcome, Decision | None, list[str]]:
    """What a search found, the decision between its leaders where one could be made, and remarks."""
    if outcome.stopped is Stopped.INTERRUPTED:
        return outcome, None, []
    runner.deadline = deadline
    try:
        known = None if history is None else history.earlier_decision(outcome.trials)
        return outcome, known or measure_leaders(kernel, space, runner, outcome.trials, default), []
    except DeadlineError as error:
        return outcome._replace(stopped=Stopped.DEADLINE), None, [f"the leaders were not compared: {error}"]
    except (KeyboardInterrupt, RunnerError) as error:
        why = f"the leaders were not measured again: {str(error) or 'interrupted'}"
        return outcome._replace(stopped=Stopped.INTERRUPTED), None, [why]


def _live_options(optimizer: Optimizer, jobs: int | None) -> dict[str, Any]:
    """Live kernels are proposed in batches where the optimizer can, so that compilers run ahead."""
    if "batch" not in hyperparameters(optimizer):
        return {}
    return {"batch": 2 * (jobs or len(os.sched_getaffinity(0)))}


def _unverified(kernel: Kernel) -> list[str]:
    """A remark if nothing will be compared with anything."""
    if kernel.language in ("command", "python"):
        return []
    if kernel.verification.skip:
        return ["nothing was verified: the specification switches verification off"]
    if all(argument.role is Role.IN for argument in kernel.arguments):
        return ["nothing was verified: the kernel writes no array"]
    return []


def _runner(
    kernel: Kernel, space: SearchSpace, jobs: int | None, default: Mapping[str, Any], deadline: Deadline
) -> HostRunner | ProgramRunner:
    """The runner for the kernel's language."""
    if kernel.language in ("command", "python"):
        return ProgramRunner(kernel, space, deadline=deadline)
    return HostRunner(kernel, space, jobs=jobs, default=default, deadline=deadline)


def _source_digest(optimizer: Optimizer) -> str:
    """Identity of an optimizer's text; empty where it has none."""
    try:
        return sha256(inspect.getsource(inspect.getmodule(optimizer) or optimizer).encode()).hexdigest()
    except (OSError, TypeError):
        return ""


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
    choices = hyperparameter_values(optimizer) if isinstance(optimizer, str) else {}
    for key, value in (options or {}).items():
        _check_option(name, key, value, known[key])
        if isinstance(value, str) and value not in choices.get(key, (value,)):
            listed = ", ".join(str(choice) for choice in choices[key])
            raise OptionError(f"option {key} of optimizer {name!r} must be one of {listed}, not {value!r}")
    return name, function


def _check_option(optimizer: str, key: str, value: Any, default: object) -> None:
    """An option must be of its default's kind: whole numbers from 1, finite numbers from 0, texts.

    Raises:
        OptionError: it is not.
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if isinstance(default, bool) or not isinstance(default, int | float | str):
        return
    if isinstance(default, int) and not (whole and value >= 1):
        allowed = "a whole number of at least 1"
    elif isinstance(default, float) and not ((whole or isinstance(value, float)) and 0 <= value < inf):
        allowed = "a finite number of at least 0"
    elif isinstance(default, str) and not isinstance(value, str):
        allowed = "a text"
    else:
        return
    raise OptionError(f"option {key} of optimizer {optimizer!r} must be {allowed}, not {value!r}")


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
        return space, space.require(default), ()
    i = space.find(default)
    if i is not None:
        return space, i, ()
    i = space.nearest(default)
    return (
        space,
        i,
        (f"the default is not valid with what is fixed; compared with {space.config(i)} instead",),
    )


def _run(
    task: Task,
    space: SearchSpace,
    optimizer: str,
    seed: int,
    outcome: Outcome,
    decision: Decision | None,
    notes: Sequence[str],
) -> TuningRun:
    failure = "" if outcome.failure is None else str(outcome.failure)
    works = any(trial.cost < inf for trial in outcome.trials)
    if outcome.failure is not None:
        if not outcome.trials or (isinstance(outcome.failure, RunnerError) and not works):
            raise outcome.failure
        notes = [*notes, f"the run ended early: {failure}"]
    run = TuningRun(
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
        failure=failure,
    )
    best = run.best
    return run if best is None else replace(run, best_configuration=space.config(best.id))


def _default_note(trials: Sequence[Trial], default: int) -> list[str]:
    """A remark if the default does not work, or was not reached, so that there is nothing to compare with."""
    if not trials:
        return ["nothing was measured: the run ended before the default configuration was done"]
    for trial in trials:
        if trial.id == default and trial.measurement.status is not Status.OK:
            detail = trial.measurement.detail.partition("\n")[0]
            return [f"the default configuration does not work: {trial.measurement.status.value}: {detail}"]
    return []
