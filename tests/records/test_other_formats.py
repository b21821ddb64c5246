"""Reading T4, KTT and CSV files as other tools leave them, and recordings of our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Status, Task
from tunewright.records import PartialRecord, RecordedSpace, read_record, repairs, suspicions, write_record
from tunewright.space import SearchSpace


def values(record: RecordedSpace | PartialRecord) -> dict[tuple[Any, ...], float]:
    return {tuple(record.space.config(i).values()): record.objective.value(m) for i, m in record.rows.items()}


T4 = {
    "configuration": {"x": 1},
    "times": {"compilation_time": 2.0, "runtimes": [0.9375, 1.0625], "validation": 4.0},
    "invalidity": "correct",
    "correctness": 1,
    "measurements": [{"name": "time", "value": 1.0, "unit": ""}, {"name": "GFLOP/s", "value": 7, "unit": ""}],
    "objectives": ["time"],
}


@pytest.mark.parametrize(
    ("unit", "milliseconds"), [("miliseconds", 1.0), ("seconds", 1000.0), ("us", 0.001), ("fortnights", 1.0)]
)
def test_t4_times_come_in_the_unit_of_the_file(tmp_path: Path, unit: str, milliseconds: float) -> None:
    path = tmp_path / "A100_T4.json"
    path.write_text(json.dumps({"schema_version": "1.0.0", "metadata": {"timeunit": unit}, "results": [T4]}))
    record = read_record(path)
    measured = record.rows[0]
    assert measured.runtimes_ms == (0.9375 * milliseconds, 1.0625 * milliseconds)
    assert measured.metrics == {"time_ms": milliseconds, "gflop_per_s": 7.0}
    assert (measured.compile_s, measured.verify_s) == (0.002 * milliseconds, 0.004 * milliseconds)
    assert record.task.device == "A100"
    assert bool(suspicions(record)) == (unit == "fortnights")


@pytest.mark.parametrize(
    ("invalidity", "status"),
    [
        ("timeout", Status.TIMEOUT),
        ("compile", Status.COMPILE_ERROR),
        ("runtime", Status.LAUNCH_ERROR),
        ("correctness", Status.WRONG_RESULT),
        ("constraints", Status.INVALID),
        ("correct", Status.OK),
    ],
)
def test_t4_invalidities_are_statuses(tmp_path: Path, invalidity: str, status: Status) -> None:
    path = tmp_path / "a.json"
    bad = {**T4, "configuration": {"x": 2}, "invalidity": "bored"}
    path.write_text(json.dumps({"metadata": {"timeunit": "ms"}, "results": [{**T4, "invalidity": invalidity}, bad]}))
    record = read_record(path)
    assert [m.status for m in record.rows.values()] == [status]
    assert any("'bored' is none of" in text for text in repairs(record))


def test_t4_results_that_are_not_closed_are_read(tmp_path: Path) -> None:
    text = json.dumps({"metadata": {"timeunit": "ms"}, "results": [T4, {**T4, "configuration": {"x": 2}}]})
    path = tmp_path / "a.json"
    path.write_text(text[:-60])
    record = read_record(path)
    assert [record.space.config(i) for i in record.rows] == [{"x": 1}]
    assert len(repairs(record)) == 2


def ktt(folder: Path, *results: dict[str, Any], unit: str = "Microseconds") -> Path:
    path = folder / "ktt.json"
    path.write_text(json.dumps({"Metadata": {"Device": "GPU", "TimeUnit": unit}, "Results": results}))
    return path


def ktt_result(x: object, status: str = "Ok", *parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    configuration = [{"Name": "X", "Value": x, "ValueType": "UnsignedInt"}]
    overheads = {"DataMovementOverhead": 1000.0, "SearcherOverhead": 1.5, "ValidationOverhead": 2000.0}
    return {"KernelName": "K", "Status": status, "ComputationResults": list(parts), "Configuration": configuration,
            "TotalOverhead": 4001.5, **overheads, **more}  # fmt: skip


PART = {
    "Duration": 17188.25,
    "Overhead": 1000.0,
    "KernelFunction": "f",
    "CompilationData": {"RegistersCount": 28, "LocalMemorySize": 2944},
    "ProfilingData": {"Counters": [{"Name": "dram__sectors_read.sum", "Type": "Double", "Value": 5.0}]},
}


def test_ktt_microseconds_counters_and_compilation_data(tmp_path: Path) -> None:
    path = ktt(tmp_path, ktt_result(16, "Ok", PART), ktt_result(2, "CompilationFailed"), ktt_result(4, "Odd"))
    record = read_record(path)
    assert record.task.label == "K/GPU"
    assert record.space.parameters == {"X": (2, 4, 16)}
    measured = record.rows[2]
    assert measured.runtimes_ms == (17.18825,)
    assert (measured.compile_s, measured.verify_s, measured.benchmark_s) == (0.001, 0.002, 0.01818825)
    figures = {"registers": 28, "local_memory_bytes": 2944, "dram__sectors_read.sum": 5, "data_movement_ms": 1.0}
    assert figures.items() <= measured.metrics.items()
    assert (record.rows[0].status, record.rows[0].compile_s) == (Status.COMPILE_ERROR, 0.001)
    assert record.rows[1].status is Status.LAUNCH_ERROR
    assert any("status is not known" in text for text in repairs(record))


def test_ktt_sums_the_kernels_of_a_result_and_keeps_their_figures_apart(tmp_path: Path) -> None:
    other = {**PART, "KernelFunction": "g", "Duration": 11.75}
    record = read_record(ktt(tmp_path, ktt_result(1, "Ok", PART, other), unit="Nanoseconds"))
    assert record.rows[0].runtimes_ms == (0.0172,)
    assert {"f.registers", "g.registers"} <= record.rows[0].metrics.keys()


def test_csv_columns_are_named_by_the_user(tmp_path: Path) -> None:
    path = tmp_path / "fpga.csv"
    path.write_text("A,B,Cycles,ALMs,Valid,Extra\n8,false,100,7,true,\n16,true,50,9,false,\n8,true,x,3,true,\n16,fal")
    hints = {"parameters": ["A", "B"], "objectives": ["Cycles", "ALMs"], "valid": "Valid", "goal": "min"}
    record = read_record(path, **hints)
    assert record.space.parameters == {"A": (8, 16), "B": (False, True)}
    assert values(record) == {(8, False): 100, (8, True): float("inf"), (16, True): float("inf")}
    assert record.rows[0].metrics == {"Cycles": 100, "ALMs": 7}
    assert [m.status for m in record.rows.values()] == [Status.OK, Status.LAUNCH_ERROR, Status.INVALID]
    assert [text.partition(" (")[0] for text in repairs(record)] == [
        "a row has not as many cells as there are names",
        "Cycles is no number; taken as not recorded",
    ]
    with pytest.raises(RecordError, match=r"--parameters A,B --objectives C.*Columns: A, B, Cycles"):
        read_record(path)
    with pytest.raises(RecordError, match="no column 'Area'"):
        read_record(path, parameters=["A"], objectives=["Area"])
    with pytest.raises(RecordError, match="ALMs is '7' in a row; it must be one of"):
        read_record(path, parameters=["A", "B"], objectives=["Cycles"], valid="ALMs")


def test_a_recording_tells_its_suspicions_anew(tmp_path: Path) -> None:
    space = SearchSpace({"x": [1]})
    odd = Measurement(Status.OK, (1.0,), metrics={"time_ms": 2.0})
    write_record(tmp_path / "a.npz", RecordedSpace(Task("k"), space, (odd,), notes=("suspicious: old", "remark: kept")))
    record = read_record(tmp_path / "a.npz")
    assert record.notes[0] == "remark: kept"
    assert [text.partition(" (")[0] for text in suspicions(record)] == [
        "a time is neither mean nor median nor least of its samples"
    ]
