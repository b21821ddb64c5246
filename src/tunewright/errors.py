"""Every exception that tunewright raises on purpose.

    TunewrightError
    ├── DeadlineError          the time of a run is over; ends it with what there is
    ├── OptionError            an option or argument outside its allowed range
    ├── SpaceError             a search space that cannot be built or asked
    │   ├── ParameterError     a parameter's name or value list
    │   ├── ConstraintError    a constraint that cannot be parsed or evaluated
    │   ├── EmptySpaceError    no configuration satisfies the constraints
    │   └── SpaceTooLargeError more configurations than the request can enumerate
    ├── MetricError            a derived metric that cannot be read or computed
    ├── SpecificationError     a kernel specification; points at file and key
    ├── RecordError            a recorded file that cannot be read
    ├── OptimizerError         an optimizer that breaks the protocol or fails
    └── RunnerError            measuring cannot start, or cannot go on
        └── ToolchainError     a compiler is missing or does not work

A message says what is wrong, shows the offending value and says what to do. A configuration that fails to
compile, crashes or answers wrongly is no exception: it is a `Measurement` with a status.
"""

from __future__ import annotations

from pathlib import Path

__all__ = [
    "ConstraintError",
    "DeadlineError",
    "EmptySpaceError",
    "MetricError",
    "OptimizerError",
    "OptionError",
    "ParameterError",
    "RecordError",
    "RunnerError",
    "SpaceError",
    "SpaceTooLargeError",
    "SpecificationError",
    "ToolchainError",
    "TunewrightError",
]


class TunewrightError(Exception):
    """Base of all errors that tunewright raises on purpose."""


class DeadlineError(TunewrightError):
    """The time of a run is over: nothing new is started, and what is going on does not count."""


class OptionError(TunewrightError):
    """An option or argument outside its allowed range."""


class SpaceError(TunewrightError):
    """A search space that cannot be built, or a question it cannot answer."""


class ParameterError(SpaceError):
    """A parameter whose name or value list is not usable."""


class ConstraintError(SpaceError):
    """A constraint that cannot be parsed, names an unknown parameter, or fails other than by arithmetic."""


class EmptySpaceError(SpaceError):
    """No configuration satisfies the constraints."""


class SpaceTooLargeError(SpaceError):
    """The request would have to enumerate more configurations than is reasonable."""


class MetricError(TunewrightError):
    """A derived metric whose expression cannot be read, or computed for what was measured."""


class SpecificationError(TunewrightError):
    """A kernel specification that cannot be used; says which file and which key."""

    def __init__(self, message: str, *, file: str | Path | None = None, key: str = "") -> None:
        """Args: message: what is wrong and what to do; file and key: where."""
        where = ": ".join(str(part) for part in (file, key) if part)
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.file = file
        self.key = key


class RecordError(TunewrightError):
    """A recorded file that cannot be read, or that does not hold what was asked of it."""


class OptimizerError(TunewrightError):
    """An optimizer that breaks the protocol (an id outside the space, say) or raises."""


class RunnerError(TunewrightError):
    """Measuring cannot start or cannot go on; never one configuration's failure."""


class ToolchainError(RunnerError):
    """A compiler is missing or does not work."""
