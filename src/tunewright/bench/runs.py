"""What scored runs leave behind: which configurations were evaluated, in which order, and how each run ended."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tunewright.errors import RecordError

__all__ = ["Run", "pack", "unpack"]


@dataclass(frozen=True, slots=True)
class Run:
    """One simulated tuning run.

    Attributes:
        ids: distinct configurations in the order of evaluation.
        observed: the costs that the optimizer saw, where these are not the recorded ones; else None.
        repeats: proposals that were answered from memory, or of a foreign tuner's no valid configuration either.
        stopped: why it ended.
        cpu_s: processor seconds of the whole run, nearly all of them the optimizer's.
        charged_s: those of them that were put on the tuning clock before each evaluation, or None.
        failure: what ended it early, empty if nothing did.
    """

    ids: npt.NDArray[np.int32]
    observed: npt.NDArray[np.float64] | None = None
    repeats: int = 0
    stopped: str = ""
    cpu_s: float = 0.0
    charged_s: npt.NDArray[np.float64] | None = None
    failure: str = ""


def pack(runs: Sequence[Run]) -> bytes:
    """Runs as the bytes of an npz file without pickle."""
    header = [[run.repeats, run.stopped, run.cpu_s, run.failure[:2000]] for run in runs]
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "lengths": np.array([len(run.ids) for run in runs], dtype=np.int64),
        "ids": np.concatenate([np.zeros(0, np.int32), *(run.ids for run in runs)]).astype(np.int32),
    }
    for name in ("observed", "charged_s"):
        columns = [getattr(run, name) for run in runs]
        if any(column is not None for column in columns):
            arrays[name] = np.concatenate(columns)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # arrays by name
    return buffer.getvalue()


def unpack(raw: bytes, size: int) -> list[Run]:
    """Runs from such bytes, checked: they may come from a process that ran somebody's optimizer.

    Args:
        raw: the bytes.
        size: configurations in the space.

    Raises:
        RecordError: they do not hold runs in a space of this size.
    """
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as arrays:
            header = json.loads(bytes(arrays["header"]))
            ends = np.cumsum(arrays["lengths"])
            columns = {name: arrays[name] for name in ("ids", "observed", "charged_s") if name in arrays.files}
        ids = columns["ids"]
        if len(ends) != len(header) or (len(ends) and ends[-1] != len(ids)):
            raise ValueError("lengths do not fit")
        if len(ids) and not 0 <= ids.min() <= ids.max() < size:
            raise ValueError("an id is outside the space")
        runs = []
        start = 0
        for (repeats, stopped, cpu_s, failure), end in zip(header, ends.tolist(), strict=True):
            part = {name: column[start:end] for name, column in columns.items()}
            if len(part["ids"]) != end - start or len(np.unique(part["ids"])) != end - start:
                raise ValueError("an id stands twice")
            runs.append(
                Run(
                    ids=part["ids"].astype(np.int32),
                    observed=part.get("observed"),
                    repeats=int(repeats),
                    stopped=str(stopped),
                    cpu_s=float(cpu_s),
                    charged_s=part.get("charged_s"),
                    failure=str(failure),
                )
            )
            start = end
        return runs
    except Exception as error:  # whatever numpy, zipfile or json find wrong with it
        raise RecordError(f"results of runs cannot be read: {error}") from error
