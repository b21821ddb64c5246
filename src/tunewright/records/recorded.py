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

    def onto(self, space: SearchSpace) -> tuple[RecordedSpace, str]:
        """The rows that another definition of the space shares with this one, and what differs.

        Args:
            space: the new definition; it must have the same parameters, its values and constraints may
                differ.

        Returns:
            The recording restricted to the configurations that both have, and a text of the differences with
            the number of rows reused, empty if there are none.

        Raises:
            RecordError: other parameters, or no configuration in common.
        """
        difference = str(self.space.difference(space))
        if set(space.names) != set(self.space.names):
            raise RecordError(f"{self.task.label}: the recording has other parameters: {difference}")
        if space.digest == self.space.digest:
            return self, ""
        every = map(self.space.config, range(self.space.size))
        shared = [configuration for configuration in every if space.find(configuration) is not None]
        if not shared:
            raise RecordError(f"{self.task.label}: no recorded configuration is in the space asked for: {difference}")
        names = self.space.names
        part = SearchSpace.from_configurations(
            self.space.parameters,
            [tuple(configuration[name] for name in names) for configuration in shared],
        )
        rows: list[Measurement | None] = [None] * part.size
        for configuration in shared:
            here, there = self.space.find(configuration), part.find(configuration)
            if here is not None and there is not None:
                rows[there] = self.measurements[here]
        kept = tuple(row for row in rows if row is not None)
        text = f"{difference}; {len(kept)} of {space.size} configurations are recorded and reused"
        return RecordedSpace(self.task, part, kept, self.objective, self.notes), text


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
