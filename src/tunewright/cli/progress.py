"""The live line of a running search: on a terminal it is redrawn, elsewhere it is printed now and then."""

from __future__ import annotations

from collections import Counter
from math import inf
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from tunewright.budget import Budget
from tunewright.cli.show import failures_text
from tunewright.measure import Status, Trial

__all__ = ["Progress"]

_PLAIN_LINES = 10
"""Lines printed over a run where there is no terminal, besides one for each new incumbent."""


class Progress:
    """Shows incumbent, speed-up over the default (the first trial), budget and failures by cause."""

    def __init__(self, budget: Budget, size: int, unit: str, sign: int = 1) -> None:
        """Args: budget: the limits; size: configurations of the space; unit: of the cost; sign: -1 if maximised."""
        self._budget = budget
        self._size = size
        self._unit = unit
        self._sign = sign
        self._counts: Counter[Status] = Counter()
        self._default = inf
        self._best = inf
        self._done = 0
        self._printed = 0.0
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._terminal = self._console.is_terminal

    def __enter__(self) -> Progress:
        if self._terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._terminal:
            self._live.stop()

    def trial(self, trial: Trial) -> None:
        """Take notice of a finished trial."""
        self._done += 1
        self._counts[trial.measurement.status] += 1
        if self._done == 1:
            self._default = trial.cost
        better = trial.cost < self._best
        self._best = min(self._best, trial.cost)
        share = self._spent(trial)
        line = self._line(trial)
        if self._terminal:
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"))
        elif better or share >= self._printed + 1 / _PLAIN_LINES:
            self._printed = max(self._printed, share - share % (1 / _PLAIN_LINES))
            self._console.print(line, markup=False)

    def _spent(self, trial: Trial) -> float:
        shares = [self._done / min(self._budget.evaluations or inf, self._size)]
        if self._budget.seconds is not None:
            shares.append(trial.clock_s / self._budget.seconds)
        return max(shares)

    def _line(self, trial: Trial) -> str:
        most = min(self._budget.evaluations or inf, self._size)
        parts = [f"{self._done}/{most:.0f}" if most < inf else f"{self._done}"]
        limit = "" if self._budget.seconds is None else f"/{self._budget.seconds:g}"
        parts.append(f"{trial.clock_s:.1f}{limit} s")
        parts.append(f"best {self._sign * self._best:.4g} {self._unit}" if self._best < inf else "nothing works yet")
        if self._best * self._default > 0 and self._default < inf:
            ratio = self._default / self._best if self._sign > 0 else self._best / self._default
            parts.append(f"{ratio:.2f} x default")
        parts.append(failures_text(self._counts))
        return "  ".join(parts)
