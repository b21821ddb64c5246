"""Measures only what the store does not know yet, and keeps what is measured."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tunewright.errors import RecordError
from tunewright.measure import TRANSIENT, Measurement
from tunewright.records.store import Store
from tunewright.runners.base import Runner
from tunewright.space import SearchSpace

__all__ = ["StoredRunner"]


class StoredRunner:
    """A runner in front of another one. A finished measurement of the same task is answered from the store.

    The other one hears of every answer, so that a run that is resumed measures as it would have without a break.

    A store that cannot be written never fails a measurement: the results go on, and `problem` says what happened.

    Attributes:
        reused: measurements answered from the store.
        problem: why something could not be stored; empty while all is well.
    """

    def __init__(self, runner: Runner, store: Store, task: str, space: SearchSpace) -> None:
        """Args: runner: measures what is new; store and task: where it is kept; space: of the ids."""
        self._runner, self._store, self._task, self._space = runner, store, task, space
        self.reused = 0
        self.problem = ""

    def prepare(self, ids: Sequence[int]) -> None:
        """Let the runner prepare what the store does not know."""
        self._runner.prepare([i for i in ids if self._find(i) is None])

    def measure(self, ids: Sequence[int]) -> list[Measurement]:
        """One measurement for each id, from the store or new."""
        return [self._one(i) for i in ids]

    def knows(self, i: int) -> bool:
        """Would this id be answered from the store?"""
        return self._find(i) is not None

    def close(self) -> None:
        """Close the runner; the store stays open."""
        self._runner.close()

    def _one(self, i: int) -> Measurement:
        found = self._find(i)
        if found is not None:
            self.reused += 1
            self._runner.learn(found)
            return found
        configuration = self._space.config(i)
        with self._tolerantly():
            self._store.begin(self._task, configuration)
        try:
            [measured] = self._runner.measure([i])
        except BaseException:
            with self._tolerantly():
                self._store.abandon(self._task, configuration, blame=False)
            raise
        with self._tolerantly():
            if TRANSIENT in measured.remarks:
                self._store.abandon(self._task, configuration, blame=True)
            else:
                self._store.finish(self._task, configuration, measured)
        return measured

    def _find(self, i: int) -> Measurement | None:
        with self._tolerantly():
            return self._store.find(self._task, self._space.config(i))

    @contextlib.contextmanager
    def _tolerantly(self) -> Iterator[None]:
        try:
            yield
        except RecordError as error:
            self.problem = str(error)
