"""How other tools name their figures, and what those are called here, the unit in the name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["FOREIGN", "METRICS", "goal_of", "metric_name", "unit_of"]

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "time": "time_ms",
        "nvml_energy": "energy_j",
        "nvml_power": "power_w",
        "ps_energy": "ps_energy_j",
        "ps_power": "ps_power_w",
        "core_freq": "core_freq_mhz",
        "mem_freq": "mem_freq_mhz",
        "temperature": "temperature_c",
        "pwr_core_freq": "pwr_core_freq_mhz",
        "pwr_mem_freq": "pwr_mem_freq_mhz",
        "pwr_temperature": "pwr_temperature_c",
        "strategy_time": "strategy_ms",
        "framework_time": "framework_ms",
        "GFLOP/s": "gflop_per_s",
        "TFLOP/s": "tflop_per_s",
        "GB/s": "gb_per_s",
        "GFLOPS/W": "gflop_per_j",
        "gridpoints/s": "gridpoints_per_s",
    }
)
"""Names in Kernel Tuner's files and what they are here."""

FOREIGN: Mapping[str, str] = MappingProxyType({ours: theirs for theirs, ours in METRICS.items()})

_ALSO = {"gflop/s": "gflop_per_s", "GFLOPS": "gflop_per_s", "tflop/s": "tflop_per_s", "gb/s": "gb_per_s"}
_MORE_IS_BETTER = {
    "gflop_per_s", "tflop_per_s", "gb_per_s", "gflop_per_j", "gridpoints_per_s", "gflops", "fitness", "score",
    "TB/s", "TFLOPS/W", "GFLOP/J", "TFLOP/J",
}  # fmt: skip
_LESS_IS_BETTER = {"runtime_ms", "time_ms", "energy", "energy_j", "ps_energy_j", "power_w", "cost", "loss"}

_UNITS = {"_ms": "ms", "_s": "s", "_j": "J", "_w": "W", "_mhz": "MHz", "_c": "°C", "_bytes": "bytes"}


def metric_name(theirs: str) -> str:
    """What a figure of another tool is called here; its own name where the unit is not known.

    >>> metric_name("nvml_energy"), metric_name("occupancy")
    ('energy_j', 'occupancy')
    """
    return METRICS.get(theirs) or _ALSO.get(theirs, theirs)


def goal_of(metric: str) -> str | None:
    """Whether less or more of a metric is better, ``min`` or ``max``; None if its name does not tell."""
    if metric in _LESS_IS_BETTER:
        return "min"
    return "max" if metric in _MORE_IS_BETTER else None


def unit_of(metric: str) -> str | None:
    """The unit that a metric's name ends in; None where it has none.

    >>> unit_of("energy_j"), unit_of("gflop_per_s"), unit_of("registers")
    ('J', 'GFLOP/s', None)
    """
    if "_per_" in metric:
        return FOREIGN.get(metric, metric.replace("_per_", "/"))
    return next((unit for end, unit in _UNITS.items() if metric.endswith(end)), None)
