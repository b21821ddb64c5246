"""A live run and the store: what is known is not measured again, what happens is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tunewright.errors import RecordError
from tunewright.measure import Decision, Objective, Stopped, Trial
from tunewright.records import Store
from tunewright.runners.host import HostRunner
from tunewright.runners.program import ProgramRunner
from tunewright.runners.stored import StoredRunner
from tunewright.space import SearchSpace
from tunewright.version import __version__

__all__ = ["History"]


class History:
    """The store beside a run: what it knows is not measured again, what happens is written down.

    Once begun, a store that fails disturbs nothing; what went wrong is told at the end.
    """

    def __init__(
        self,
        store: Store,
        runner: HostRunner | ProgramRunner,
        space: SearchSpace,
        objective: Objective,
        request: Mapping[str, object],
    ) -> None:
        """Note the start of a run.

        Raises:
            RecordError: the store cannot be written.
        """
        self._store, self._space, self._request = store, space, request
        self._task = store.task(runner.task)
        self.runner = StoredRunner(runner, store, self._task, space)
        self._run = store.start_run(self._task, space, objective, str(request["optimizer"]), request, __version__)
        self._position = 0
        self._problem = ""

    def trial(self, trial: Trial) -> None:
        """Note a trial, whose measurement is in the store."""
        try:
            self._store.add_trial(self._run, self._task, self._position, self._space.config(trial.id), trial)
        except RecordError as error:
            self._problem = str(error)
        self._position += 1

    def earlier_decision(self, trials: Sequence[Trial]) -> Decision | None:
        """What an identical run decided, if everything in this one was known already."""
        if self.runner.reused < len(trials):
            return None
        try:
            found = self._store.decision(self._task, self._space, self._request)
        except RecordError as error:
            self._problem = str(error)
            return None
        if found is None:
            return None
        needed = {found.best.id, *(tie.id for tie in found.ties)}
        return found if needed <= {trial.id for trial in trials} else None

    def end(self, stopped: Stopped, decision: Decision | None, notes: Sequence[str]) -> list[str]:
        """Close the book; returns what the user should know."""
        try:
            self._store.end_run(self._run, stopped, decision, self._space, notes)
        except RecordError as error:
            self._problem = str(error)
        found = []
        if self.runner.reused:
            found.append(f"{self.runner.reused} measurements were known already and taken from {self._store.path}")
        if problem := self.runner.problem or self._problem:
            found.append(f"not everything could be stored: {problem}")
        return found
