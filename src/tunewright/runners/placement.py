"""On which processors the threads of a configuration run."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType

from tunewright.kernel.spec import Kernel
from tunewright.runners.machine import core_threads

__all__ = ["PLACEMENT", "Placement", "apart", "placement", "runs_threads"]

PLACEMENT = 1
"""Version of the rules for several threads; a change makes stored values of such kernels not comparable."""

_BINDING = {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
_OTHER_LIBRARIES = frozenset({"GOMP_CPU_AFFINITY", "KMP_AFFINITY"})
_NAMES_PROCESSORS = _OTHER_LIBRARIES | {"OMP_PLACES"}


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a job runs.

    Attributes:
        cores: processors that it may use; empty: wherever the system puts it.
        environment: variables for its OpenMP library, beside the number of threads.
    """

    cores: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


def placement(threads: int, cores: Set[int], environment: Mapping[str, str]) -> Placement:
    """One processor for each thread where there are enough of them, and threads that stay where they are.

    Args:
        threads: of the configuration.
        cores: processors that may be used.
        environment: what the job inherits; what the user has settled there is left alone.

    >>> placement(8, {0, 1}, {"OMP_PROC_BIND": "spread"})
    Placement(cores=(), environment={'OMP_PLACES': 'cores'})
    """
    if threads == 1:
        return Placement(apart(cores)[:1])
    own = frozenset(environment)
    binding = {} if own & _OTHER_LIBRARIES else {name: way for name, way in _BINDING.items() if name not in own}
    if threads >= len(cores) or own & _NAMES_PROCESSORS:
        return Placement((), binding)
    return Placement(apart(cores)[:threads], binding)


def apart(cores: Set[int]) -> tuple[int, ...]:
    """The processors in the order in which threads should take them: one of each core before any core's second."""
    before = {cpu: sum(other > cpu for other in core_threads(cpu) & cores) for cpu in cores}
    return tuple(sorted(cores, key=lambda cpu: (before[cpu], -cpu)))


def runs_threads(kernel: Kernel) -> bool:
    """May a configuration run on several threads?"""
    return "-fopenmp" in kernel.flags if kernel.threads is None else kernel.threads != 1
