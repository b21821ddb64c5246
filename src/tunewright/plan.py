"""The optimizer protocol, the driver that owns the loop, and ask/tell for people with their own harness.

An optimizer is a generator function ``optimizer(space, budget, rng, *, start=(), ...)``. It yields lists of
ids to evaluate and receives the list of their costs: lower is better, ``inf`` for a failure. The driver owns
the budget, the clock, the memory of what was seen, and the stop.
"""

from __future__ import annotations

import math
import random
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn, Protocol

import numpy as np

from tunewright.budget import Budget, Clock
from tunewright.errors import DeadlineError, OptimizerError, OptionError, RunnerError
from tunewright.measure import Measurement, Objective, Stopped, Trial
from tunewright.space import SearchSpace

__all__ = ["STALL_REPEATS", "AskTell", "Measure", "Optimizer", "Outcome", "Plan", "drive"]

Plan = Generator[list[int], list[float], None]
"""A running optimizer: yields ids, receives costs."""

Optimizer = Callable[..., Plan]
"""``optimizer(space, budget, rng, *, start=(), **hyperparameters) -> Plan``"""

STALL_REPEATS = 10_000
"""A run ends as stalled after this many repeats, or empty batches, in a row."""


class Measure(Protocol):
    """The part of a runner that the driver needs."""

    def prepare(self, ids: Sequence[int]) -> None:
        """These ids will be asked for soon."""

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """One measurement for each id, in order."""
        ...


class Outcome(NamedTuple):
    """What the driver saw.

    Attributes:
        trials: distinct evaluations, in order.
        stopped: why it ended.
        repeats: proposals answered from memory.
        failure: what ended the run early: the optimizer raised (``stopped`` is then ``finished``), or
            measuring cannot go on (``interrupted``).
    """

    trials: tuple[Trial, ...]
    stopped: Stopped
    repeats: int
    failure: OptimizerError | RunnerError | None = None


class _Dialogue:
    """Stands between an optimizer and whoever measures: only ids that were never seen get through."""

    def __init__(self, plan: Plan, size: int) -> None:
        self.known: dict[int, float] = {}
        self.repeats = 0
        self._plan = plan
        self._size = size
        self.unseen = self._talk()

    def close(self) -> None:
        """End the optimizer, even one that ignores being closed."""
        self.unseen.close()
        with suppress(Exception):
            self._plan.close()

    def _talk(self) -> Generator[list[int], list[float], Stopped]:
        """Yields lists of unseen ids, receives their costs, returns why the optimizer ended."""
        known, size, send = self.known, self._size, self._plan.send
        get = known.get
        in_a_row = 0
        costs: list[float] | None = None
        while True:
            try:
                ids = send(costs)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration:
                return Stopped.FINISHED
            except OptionError:
                raise  # a hyper-parameter outside its range
            except (Exception, SystemExit) as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                raise OptimizerError(
                    f"the optimizer raised {type(error).__name__}: {error} ({where.filename}, line {where.lineno})"
                ) from error
            if type(ids) is list and len(ids) == 1 and type(ids[0]) is int:  # the hot path: batches of one
                cost = get(ids[0])
                if cost is not None:
                    costs = [cost]
                    self.repeats += 1
                    in_a_row += 1
                elif 0 <= ids[0] < size:
                    costs = yield ids
                    known[ids[0]] = costs[0]
                    in_a_row = 0
                else:
                    self._refuse(ids[0])
            else:
                ids = self._whole_numbers(ids)
                fresh = [i for i in dict.fromkeys(ids) if i not in known]
                self.repeats += len(ids) - len(fresh)
                if fresh:
                    known.update(zip(fresh, (yield fresh), strict=True))
                    in_a_row = 0
                else:
                    in_a_row += len(ids) or 1
                costs = [known[i] for i in ids]
            if len(known) >= size:
                return Stopped.EXHAUSTED
            if in_a_row >= STALL_REPEATS:
                return Stopped.STALLED

    def _whole_numbers(self, ids: object) -> list[int]:
        """The ids as plain ints; numpy's integers are accepted, anything else is refused."""
        if isinstance(ids, str) or not isinstance(ids, Sequence | np.ndarray):
            raise OptimizerError(f"the optimizer yielded {ids!r}; it must yield a list of ids")
        for i in ids:
            if isinstance(i, bool) or not isinstance(i, int | np.integer) or not 0 <= i < self._size:
                self._refuse(i)
        return [int(i) for i in ids]

    def _refuse(self, value: object) -> NoReturn:
        raise OptimizerError(
            f"the optimizer proposed {value!r} ({type(value).__name__}); "
            f"ids are whole numbers from 0 to {self._size - 1}"
        )


def drive(
    optimizer: Optimizer,
    space: SearchSpace,
    runner: Measure,
    objective: Objective,
    budget: Budget,
    rng: random.Random,
    *,
    start: Sequence[int] = (),
    options: Mapping[str, Any] | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> Outcome:
    """Run an optimizer against a runner until the budget, the optimizer or the space ends.

    Whatever ends the run, all trials are kept: Ctrl-C (KeyboardInterrupt) makes it ``interrupted``, a runner whose
    time is over (DeadlineError) ``deadline``; an
    optimizer that raises or breaks the protocol, or a runner that cannot go on, is told by `Outcome.failure`.

    Args:
        optimizer: the generator function.
        space: where it searches.
        runner: measures ids.
        objective: turns measurements into costs.
        budget: the limits; evaluations count distinct configurations, seconds the tuning clock.
        rng: the optimizer's random numbers.
        start: ids that the optimizer tries first.
        options: hyper-parameters of the optimizer.
        on_trial: called after every trial.

    Raises:
        OptionError: `start` or `options` do not fit.
        OptimizerError: the optimizer is no generator function.
    """
    clock = Clock(budget)
    trials: list[Trial] = []
    dialogue = _Dialogue(_begin(optimizer, space, clock, rng, start, options), space.size)
    stopped: Stopped | None = None
    failure: OptimizerError | RunnerError | None = None
    send = dialogue.unseen.send
    value, measure, prepare, append = objective.value, runner.measure, runner.prepare, trials.append
    most = math.inf if budget.evaluations is None else budget.evaluations
    longest = math.inf if budget.seconds is None else budget.seconds
    new = tuple.__new__  # Trial(...) makes the same, by a Python function that costs as much again
    evaluations, seconds = 0, 0.0
    costs: list[float] | None = None
    try:
        while stopped is None:
            try:
                ids = send(costs)  # type: ignore[arg-type]  # None starts a generator
            except StopIteration as end:
                stopped = end.value
                break
            if len(ids) > 1:
                if len(ids) > most - evaluations:
                    del ids[int(most - evaluations) :]
                prepare(ids)
            costs = []
            for i in ids:
                measurement = measure((i,))[0]
                cost = value(measurement)
                seconds += measurement.compile_s + measurement.verify_s + measurement.benchmark_s
                evaluations += 1
                trial = new(Trial, (i, measurement, cost, seconds))
                append(trial)
                costs.append(cost)
                if on_trial is not None:
                    on_trial(trial)
                if evaluations >= most or seconds >= longest:
                    stopped = Stopped.BUDGET
                    break
            clock.evaluations = evaluations
            clock.seconds = seconds
    except KeyboardInterrupt:
        stopped = Stopped.INTERRUPTED
    except DeadlineError:
        stopped = Stopped.DEADLINE
    except OptimizerError as error:
        failure = error
    except RunnerError as error:
        stopped, failure = Stopped.INTERRUPTED, error
    finally:
        dialogue.close()
    return Outcome(tuple(trials), stopped or Stopped.FINISHED, dialogue.repeats, failure)


def _begin(
    optimizer: Optimizer,
    space: SearchSpace,
    clock: Clock,
    rng: random.Random,
    start: Sequence[int],
    options: Mapping[str, Any] | None,
) -> Plan:
    """Call an optimizer.

    Raises:
        OptionError: an id in `start` that the space does not have, or an option that the optimizer does not take.
        OptimizerError: it is no generator function.
    """
    strays = [i for i in start if not 0 <= i < space.size]
    if strays:
        raise OptionError(f"start names id {strays[0]!r}; ids go from 0 to {space.size - 1}")
    if not callable(optimizer):
        raise OptionError(f"an optimizer is a generator function, not {optimizer!r}")
    try:
        plan = optimizer(space, clock, rng, start=tuple(start), **(options or {}))
    except TypeError as error:
        raise OptionError(f"the optimizer cannot be called with these options: {error}") from error
    if not isinstance(plan, Generator):
        raise OptimizerError(f"an optimizer is a generator function; this one returned {type(plan).__name__}")
    return plan


class AskTell:
    """An optimizer for people with their own harness: ask for ids, measure them, tell the costs.

    Only configurations that were never asked for before are handed out; repeats are answered from memory.

    >>> from tunewright.space import SearchSpace
    >>> def first_three(space, budget, rng, *, start=()):
    ...     for i in range(3):
    ...         yield [i]
    >>> tuner = AskTell(SearchSpace({"x": [1, 2, 4, 8]}), first_three, seed=1)
    >>> while ids := tuner.ask():
    ...     tuner.tell([abs(tuner.space.config(i)["x"] - 2) for i in ids])
    >>> tuner.best, tuner.stopped.value
    ((1, 0.0), 'finished')
    """

    def __init__(
        self,
        space: SearchSpace,
        optimizer: Optimizer,
        seed: int = 0,
        *,
        budget: Budget | None = None,
        start: Sequence[int] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Args as for `drive`; without a budget the search goes on until the optimizer or the space ends."""
        self.space = space
        self._clock = Clock(budget or Budget())
        plan = _begin(optimizer, space, self._clock, random.Random(seed), start, options)
        self._dialogue = _Dialogue(plan, space.size)
        self._asked: list[int] = []
        self._stopped: Stopped | None = None
        self._advance(None)

    @property
    def stopped(self) -> Stopped | None:
        """Why the search ended; None while it goes on."""
        return self._stopped

    @property
    def costs(self) -> Mapping[int, float]:
        """Every cost told so far, by id."""
        return MappingProxyType(self._dialogue.known)

    @property
    def best(self) -> tuple[int, float] | None:
        """Id and cost of the best configuration so far; None before the first success."""
        known = self._dialogue.known
        i = min(known, key=known.__getitem__, default=None)
        return None if i is None or known[i] == math.inf else (i, known[i])

    def ask(self) -> list[int]:
        """The ids to measure next; the same ones until they are told, none when the search has ended."""
        return list(self._asked)

    def tell(self, costs: Sequence[float] | Mapping[int, float], *, seconds: float = 0.0) -> None:
        """Report what was asked for.

        Args:
            costs: one cost for each asked id, in the order asked, or a mapping from id to cost; lower is
                better,
                ``inf`` for a failure.
            seconds: tuning seconds that it took, counted against a budget in seconds.

        Raises:
            OptionError: nothing was asked, a cost is missing, surplus or NaN, or seconds are negative.
            OptimizerError: the optimizer fails on the answer.
        """
        asked = self._asked
        if not asked:
            raise OptionError("nothing was asked for: call ask() and measure its ids before tell()")
        if isinstance(costs, Mapping):
            if costs.keys() != set(asked):
                raise OptionError(f"tell() needs costs for exactly the ids {asked}, got {sorted(costs)}")
            costs = [costs[i] for i in asked]
        if len(costs) != len(asked):
            raise OptionError(f"tell() needs {len(asked)} costs, one for each id asked, got {len(costs)}")
        try:
            numbers = [float(cost) for cost in costs]
        except (TypeError, ValueError) as error:
            raise OptionError(f"a cost is no number: {error}") from error
        if any(math.isnan(cost) for cost in numbers):
            raise OptionError("a cost is NaN; give inf for a configuration that failed")
        if not 0 <= seconds < math.inf:
            raise OptionError(f"seconds must be finite and not negative, got {seconds!r}")
        self._clock.evaluations += len(asked)
        self._clock.seconds += seconds
        if self._clock.spent < 1:
            self._advance(numbers)
        else:
            self._dialogue.known.update(zip(asked, numbers, strict=True))
            self._end(Stopped.BUDGET)

    def _advance(self, costs: list[float] | None) -> None:
        try:
            ids = self._dialogue.unseen.send(costs)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as end:
            self._end(end.value)
        except OptimizerError:
            self._end(Stopped.FINISHED)
            raise
        else:
            most = self._clock.limits.evaluations
            self._asked = ids if most is None else ids[: most - self._clock.evaluations]

    def _end(self, why: Stopped) -> None:
        self._asked = []
        self._stopped = why
        self._dialogue.close()
