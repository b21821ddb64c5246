"""A search space together with what was measured for its configurations."""

from __future__ import annotations

from dataclasses import dataclass, field

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Objective, Task
from tunewright.space import SearchSpace

__all__ = ["RecordedSpace"]


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
