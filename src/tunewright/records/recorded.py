"""A search space together with what was measured for its configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Objective, Task
from tunewright.space import SearchSpace

__all__ = ["PartialRecord", "RecordedSpace"]


@dataclass(frozen=True, slots=True)
class RecordedSpace:
    """A task, its space and one measurement for every configuration.

    Attributes:
        task: what was measured, where.
        space: the configurations.
        measurements: by id, as many as the space has configurations.
        objective: what the recording calls its objective.
        notes: what the reader repaired or found strange.
    """

    task: Task
    space: SearchSpace
    measurements: tuple[Measurement, ...]
    objective: Objective = field(default_factory=Objective)
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.measurements) != self.space.size:
            raise RecordError(
                f"{self.task.label}: {len(self.measurements)} measurements for {self.space.size} configurations"
            )

    @property
    def rows(self) -> Mapping[int, Measurement]:
        """The measurements by id."""
        return dict(enumerate(self.measurements))


@dataclass(frozen=True, slots=True)
class PartialRecord:
    """A task, its space, and measurements for some of the configurations.

    Attributes:
        task: what was measured, where.
        space: all valid configurations.
        rows: the measurements there are, by id.
        objective: what the recording calls its objective.
        notes: what the reader repaired or found strange.

    Raises:
        RecordError: a row whose id is outside the space.
    """

    task: Task
    space: SearchSpace
    rows: Mapping[int, Measurement]
    objective: Objective = field(default_factory=Objective)
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        strays = [i for i in self.rows if not 0 <= i < self.space.size]
        if strays:
            raise RecordError(f"{self.task.label}: row {strays[0]} is outside the space of {self.space.size}")

    def recorded_space(self) -> RecordedSpace:
        """The same rows as a space of its own that holds only what was measured; for replay.

        Raises:
            RecordError: there is no row.
        """
        if not self.rows:
            raise RecordError(f"{self.task.label}: nothing was recorded")
        configurations = {i: self.space.config(i) for i in self.rows}
        space = SearchSpace.from_configurations(
            self.space.parameters, [tuple(configuration.values()) for configuration in configurations.values()]
        )
        ordered = {space.find(configuration): self.rows[i] for i, configuration in configurations.items()}
        measurements = tuple(ordered[i] for i in range(space.size))
        return RecordedSpace(self.task, space, measurements, self.objective, self.notes)
