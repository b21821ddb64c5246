"""A run's decision as plain data: ids belong to one space, configurations to all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tunewright.measure import Decision, Leader
from tunewright.space import SearchSpace

__all__ = ["decision_data", "decision_from"]


def decision_data(decision: Decision | None, space: SearchSpace) -> dict[str, object] | None:
    """A decision with its configurations by name, None for None."""
    if decision is None:
        return None
    return {
        "best": _leader_data(decision.best, space),
        "ties": [_leader_data(tie, space) for tie in decision.ties],
        "default": decision.default and _leader_data(decision.default, space),
        "speedup": [decision.speedup, decision.speedup_low, decision.speedup_high],
    }


def _leader_data(leader: Leader, space: SearchSpace) -> dict[str, object]:
    return {"configuration": space.config(leader.id), **leader._asdict(), "metrics": dict(leader.metrics)}


def _leader(data: Mapping[str, Any], space: SearchSpace) -> Leader | None:
    i = space.find(data["configuration"])
    if i is None:
        return None
    return Leader(i, data["cost"], data["low"], data["high"], tuple(data["rounds"]), data.get("metrics", {}))


def decision_from(data: Mapping[str, Any], space: SearchSpace) -> Decision | None:
    """The decision as ids of a space; None if its best is not in it."""
    best = _leader(data["best"], space)
    if best is None:
        return None
    ties = tuple(tie for tie in (_leader(tie, space) for tie in data["ties"]) if tie is not None)
    default = data["default"] and _leader(data["default"], space)
    return Decision(best, ties, default, *data["speedup"])
