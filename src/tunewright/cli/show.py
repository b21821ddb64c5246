"""Results as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tunewright.measure import Leader, Status, TuningRun
from tunewright.space import SearchSpace

__all__ = ["configuration_text", "failures_text", "run_data", "run_text"]

_DETAIL_LINES = 5


def configuration_text(configuration: Mapping[str, object]) -> str:
    """``NAME=VALUE`` pairs in parameter order, as ``--fix`` takes them."""
    return " ".join(f"{name}={value}" for name, value in configuration.items())


def failures_text(counts: Mapping[Status, int]) -> str:
    """Failures by cause, the most frequent first; ``no failures`` without any."""
    failed = {status: count for status, count in counts.items() if status is not Status.OK and count}
    if not failed:
        return "no failures"
    ordered = sorted(failed.items(), key=lambda item: -item[1])
    return ", ".join(f"{count} {status.value.replace('_', ' ')}" for status, count in ordered)


def run_data(
    run: TuningRun, space: SearchSpace, unit: str, sign: int = 1, metrics: Iterable[str] = ()
) -> dict[str, Any]:
    """A finished run as plain data for JSON.

    Args:
        run: the run.
        space: of its ids.
        unit: of the objective's figures.
        sign: -1 where it is maximised.
        metrics: names of the derived metrics.
    """
    decision, best = run.decision, run.best
    data: dict[str, Any] = {
        "kernel": run.task.kernel,
        "device": run.task.device,
        "toolchain": run.task.toolchain,
        "problem": dict(run.task.problem),
        "objective": unit,
        "optimizer": run.optimizer,
        "seed": run.seed,
        "version": run.version,
        "space": {"digest": run.space_digest, "cartesian": space.cartesian, "valid": space.size},
        "stopped": run.stopped.value,
        "evaluations": len(run.trials),
        "repeats": run.repeats,
        "seconds": run.clock_s,
        "counts": {status.value: count for status, count in run.counts.items()},
        "failures": _failures(run, space),
        "accounting": _accounting(run, space),
        "notes": list(run.notes),
        "configuration": None if best is None else space.config(best.id),
        "median": None if best is None else sign * best.cost,
        "metrics": {} if best is None else {name: best.measurement.metrics[name] for name in metrics},
        "interval": None,
        "default": None,
        "speedup": run.speedup,
        "speedup_interval": None,
        "ties": [],
    }
    if decision is not None:
        leader = _leader(decision.best, space, sign)
        data["median"], data["interval"], data["metrics"] = leader["median"], leader["interval"], leader["metrics"]
        data["default"] = None if decision.default is None else _leader(decision.default, space, sign)
        data["ties"] = [_leader(tie, space, sign) for tie in decision.ties]
        if decision.speedup is not None:
            data["speedup_interval"] = [decision.speedup_low, decision.speedup_high]
    return data


def run_text(run: TuningRun, space: SearchSpace, unit: str, sign: int = 1, metrics: Iterable[str] = ()) -> list[str]:
    """A finished run as lines for people; arguments as for `run_data`."""
    data = run_data(run, space, unit, sign, metrics)
    spent = f"{data['evaluations']} of {space.size:,} configurations in {data['seconds']:.1f} s of tuning"
    lines = [
        f"{spent}; stopped: {data['stopped']}; {failures_text(run.counts)}",
        *(line for row in data["failures"] for line in _failure_lines(row)),
    ]
    if data["configuration"] is None:
        shared = _shared_by_failures(run, space)
        if shared:
            lines.append(f"all that failed have {configuration_text(shared)}")
        return [
            *lines,
            "no configuration works" if run.trials else "nothing was measured",
            *(f"note: {note}" for note in run.notes),
        ]
    lines.append(f"best     {configuration_text(data['configuration'])}")
    lines += _figures(data, unit)
    if data["default"] is not None:
        lines.append(f"default  {configuration_text(data['default']['configuration'])}")
        lines += _figures(data["default"], unit)
    if data["speedup"] is not None and data["speedup_interval"] is None:
        lines.append(f"speedup  {data['speedup']:.2f} over the default, both measured once only")
    elif data["speedup"] is not None:
        low, high = data["speedup_interval"]
        lines.append(f"speedup  {data['speedup']:.2f} (95 % interval {low:.2f} to {high:.2f})")
    lines += [
        f"tie      {configuration_text(tie['configuration'])}  {tie['median']:.4g} {unit}" for tie in data["ties"]
    ]
    return [*lines, *(f"note: {note}" for note in run.notes)]


def _figures(leader: Mapping[str, Any], unit: str) -> list[str]:
    """The objective with its interval, and the derived metrics beside it."""
    others = [f"{name}={value:.4g}" for name, value in leader["metrics"].items() if name != unit]
    amount = f"{_amount(leader['median'], leader['interval'])} {unit}"
    return [f"         {line}" for line in (amount, "  ".join(others)) if line]


def _amount(median: float, interval: list[float] | None) -> str:
    if interval is None:
        return f"{median:.4g}"
    return f"{median:.4g} (95 % interval {interval[0]:.4g} to {interval[1]:.4g})"


def _accounting(run: TuningRun, space: SearchSpace) -> dict[str, Any]:
    """Where every combination of values went: the parts add up to the total."""
    failed = {status.value: count for status, count in run.counts.items() if status is not Status.OK}
    return {
        "total": space.cartesian,
        "excluded_by_constraints": space.cartesian - space.size,
        "measured": run.counts.get(Status.OK, 0),
        "failed": failed,
        "not_reached": space.size - len(run.trials),
    }


def _shared_by_failures(run: TuningRun, space: SearchSpace) -> dict[str, object]:
    """The values that all failures have in common, where there are several."""
    failed = [space.config(trial.id) for trial in run.trials if trial.measurement.status is not Status.OK]
    if len(failed) < 2:
        return {}
    return {name: value for name, value in failed[0].items() if all(other[name] == value for other in failed)}


def _failure_lines(row: Mapping[str, Any]) -> list[str]:
    """Count, status and cause of the first example; of a compiler also its command and first messages."""
    cause, *more = [_printable(line) for line in str(row["example"]).splitlines()] or [""]
    return [f"  {row['count']} {row['status']}: {cause}", *(f"      {line}" for line in more[:_DETAIL_LINES])]


def _printable(text: str) -> str:
    """Without control characters, which a kernel's output may hold."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _leader(leader: Leader, space: SearchSpace, sign: int) -> dict[str, Any]:
    return {
        "configuration": space.config(leader.id),
        "median": sign * leader.cost,
        "interval": sorted([sign * leader.low, sign * leader.high]),
        "metrics": dict(leader.metrics),
    }


def _failures(run: TuningRun, space: SearchSpace) -> list[dict[str, Any]]:
    """One row for each status that is a failure, with the first example's configuration and cause."""
    rows: dict[Status, dict[str, Any]] = {}
    for trial in run.trials:
        status = trial.measurement.status
        if status is Status.OK:
            continue
        row = rows.setdefault(
            status,
            {
                "status": status.value,
                "count": 0,
                "configuration": space.config(trial.id),
                "example": trial.measurement.detail,
            },
        )
        row["count"] += 1
    return list(rows.values())
