"""Writing down a run while it goes on; a store that fails never disturbs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tunewright.errors import RecordError
from tunewright.measure import Decision, Objective, Stopped, Trial
from tunewright.records.store import Store
from tunewright.space import SearchSpace

__all__ = ["RunLog"]


class RunLog:
    """One run in the store.

    Attributes:
        problem: why something could not be written; empty while all is well.
    """

    def __init__(
        self,
        store: Store,
        task: str,
        space: SearchSpace,
        objective: Objective,
        optimizer: str,
        request: Mapping[str, object],
        version: str,
    ) -> None:
        """Note the start of a run; args as for `Store.start_run`."""
        self._store, self._task, self._space = store, task, space
        self._position = 0
        self._run: int | None = None
        self.problem = ""
        try:
            self._run = store.start_run(task, space, objective, optimizer, request, version)
        except RecordError as error:
            self.problem = str(error)

    def trial(self, trial: Trial) -> None:
        """Note a trial whose measurement is in the store."""
        if self._run is None:
            return
        try:
            self._store.add_trial(self._run, self._task, self._position, self._space.config(trial.id), trial)
        except RecordError as error:
            self.problem = str(error)
        self._position += 1

    def end(self, stopped: Stopped, decision: Decision | None, notes: Sequence[str]) -> None:
        """Note the end of the run."""
        if self._run is None:
            return
        try:
            self._store.end_run(self._run, stopped, decision, self._space, notes)
        except RecordError as error:
            self.problem = str(error)
