"""tunewright: predicts good configurations of compute kernels, and designs its own search algorithms."""

from tunewright.budget import Budget, Clock
from tunewright.errors import TunewrightError
from tunewright.kernel import (
    Argument,
    Init,
    Kernel,
    Measuring,
    Reference,
    Role,
    Use,
    Verification,
    read_kernel,
)
from tunewright.measure import Measurement, Objective, Status, Task, Trial, TuningRun
from tunewright.optimizers import load as load_optimizer
from tunewright.plan import AskTell, Plan, drive
from tunewright.records import RecordedSpace, read_cache
from tunewright.space import SearchSpace
from tunewright.tune import replay, tune
from tunewright.version import __version__

__all__ = [
    "Argument",
    "AskTell",
    "Budget",
    "Clock",
    "Init",
    "Kernel",
    "Measurement",
    "Measuring",
    "Objective",
    "Plan",
    "RecordedSpace",
    "Reference",
    "Role",
    "SearchSpace",
    "Status",
    "Task",
    "Trial",
    "TunewrightError",
    "TuningRun",
    "Use",
    "Verification",
    "__version__",
    "drive",
    "load_optimizer",
    "read_cache",
    "read_kernel",
    "replay",
    "tune",
]
