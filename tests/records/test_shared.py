"""Every published file is read or refused with a reason; none of the good ones is accused, all of the bad ones are."""

import math
from pathlib import Path

import pytest

from tunewright.errors import RecordError
from tunewright.measure import Status
from tunewright.records import PartialRecord, RecordedSpace, format_of, read_record, repairs, suspicions, write_record

CLEAN = [
    *(f"convolution/{name}" for name in ("RTX_2080_Ti", "RTX_3060_laptop", "RTX_3090", "RTX_Titan")),
    *(f"convolution_milo/{name}" for name in ("A100", "A4000", "MI250X", "W6600")),
    *(f"convolution_milo_6p/{name}" for name in ("A4000", "A6000")),
    *(f"dedispersion_milo/{name}" for name in ("A100", "A4000", "A6000", "MI250X", "W6600")),
    *(f"pnpoly/{name}" for name in ("RTX_3060_laptop", "RTX_3090")),
]


@pytest.mark.parametrize("name", CLEAN)
def test_no_exhaustive_space_is_accused_and_all_cover_their_constraints(shared_data: Path, name: str) -> None:
    kernel = name.partition("/")[0]
    fix = {"use_shmem": 1} if kernel.endswith("_6p") else {}
    t1 = shared_data / "t1" / f"{kernel.removesuffix('_6p')}.json"
    record = read_record(shared_data / "spaces" / f"{name}.json.gz", t1=t1, fix=fix)
    assert suspicions(record) == repairs(record) == ()
    assert isinstance(record, RecordedSpace)


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        (
            "fabricated_rows_convolution_milo_A6000",
            ["neither mean nor median nor least of its samples (1,347 times", "a failed row has samples (239 times",
             "a failed row has gflop_per_s (312 times", "add up to more than its whole benchmark took"],
        ),
        ("mixed_rows_convolution_RTX_3090", ["neither mean nor median nor least of its samples (5,214 times"]),
        ("wrong_scale_pnpoly_RTX_2080_Ti", ["may be too small for the stated problem", "scatter by 30%"]),
    ],
)  # fmt: skip
def test_false_recordings_are_flagged(shared_data: Path, name: str, texts: list[str]) -> None:
    found = suspicions(read_record(shared_data / "loader_cases" / f"{name}.json.gz"))
    assert len(found) == len(texts)
    for text, note in zip(texts, found, strict=True):
        assert text in note


REFUSED = {
    "45080e18_invalid_cache": "needs the keys",
    "45080e18_invalid_cache__value": "it is no object",
    "45080e18_invalid_missing_tune_params": "needs the keys",
    "45080e18_invalid_tune_param_keys": "needs the keys",
    "492d8371_invalid_schemaversion_cache": "schema version '20.9.8'",
    "504431f6_invalid_empty_object": "no known format",
    "current_test_T1_input": "is a T1 input",
    "current_test_cache_file_T1_input": "is a T1 input",
}
CLOSED = "the file is not closed"
REPAIRED = {
    "3bbb0409_open_cache_with_comma": CLOSED,
    "45080e18_invalid_cache__key": "key does not match its values",
    "45080e18_invalid_cache_benchmark_time": "benchmark_time is no duration",
    "45080e18_invalid_cache_times": "samples are no list of numbers",
    "45080e18_invalid_cache_timestamp": "timestamp is no date",
    "45080e18_invalid_device_name": "device_name is 2, no text",
    "45080e18_invalid_missing_cache": "no time recorded; the mean of the samples is used",
    "45080e18_invalid_missing_device_name": "device_name is missing",
    "7239e435_invalid_pattern_cache_large": "key does not match its values",
    "8809a649_invalid_timestamp_cache": "timestamp is no date",
    "8e357c17_open_cache_looks_like_closed": CLOSED,
    "982a2662_open_cache_no_comma": CLOSED,
    "982a2662_open_cache_with_comma": CLOSED,
    "ecbaef83_open_cache_no_comma": CLOSED,
    "ecbaef83_open_cache_with_comma": CLOSED,
    "strategies_test_cache_file": "equals an earlier one",
}
ACCUSED = {
    "current_synthetic_fp32_cache_NVIDIA_RTX_A4000": "did not run at the nvml_gr_clock asked for (2 times",
    "current_test_cache_file": "scatter by 88%",
    "c51b155a_valid_example": "the objective 3 is in no row",
    "f61bb4c4_valid_example": "the objective 'TEST' is in no row",
}


def test_every_small_cache_is_read_repaired_or_refused_with_its_reason(shared_data: Path, tmp_path: Path) -> None:
    """A strategy time of 0.4 ms and a row without a timestamp are no faults: fewer figures are known (U070)."""
    seen = set()
    for path in sorted((shared_data / "loader_cases" / "kernel_tuner").iterdir()):
        seen.add(path.stem)
        if path.stem in REFUSED:
            with pytest.raises(RecordError, match=REFUSED[path.stem]):
                read_record(path)
            continue
        record = read_record(path)
        assert any(REPAIRED.get(path.stem, "") in text for text in repairs(record)) == (path.stem in REPAIRED), path
        if path.stem in ACCUSED:
            assert any(ACCUSED[path.stem] in text for text in suspicions(record))
        write_record(tmp_path / "again.json", record)
        again = read_record(tmp_path / "again.json")
        assert dict(again.rows) == dict(record.rows)
        assert repairs(again) == ()
    assert {*REFUSED, *REPAIRED, *ACCUSED} <= seen


@pytest.mark.parametrize(("name", "rows", "failed"), [("expdist", 2885, 1380), ("hotspot", 1660, 0)])
def test_interrupted_recordings_with_energy_are_read(shared_data: Path, name: str, rows: int, failed: int) -> None:
    record = read_record(shared_data / "partial" / f"{name}_A4000_energy.json.gz")
    assert suspicions(record) == ()
    assert repairs(record) == ("the file is not closed, as an interrupted tuner leaves it; it was closed in memory",)
    assert len(record.rows) == rows
    assert sum(m.status is Status.COMPILE_ERROR for m in record.rows.values()) == failed
    assert (record.objective.metric, record.objective.goal) == ("gflop_per_s", "max")
    assert {"energy_j", "core_freq_mhz", "temperature_c"} <= next(iter(record.rows.values())).metrics.keys()


def test_rows_that_do_not_cover_their_constraints_are_a_partial_record(shared_data: Path) -> None:
    path = shared_data / "loader_cases" / "kernel_tuner" / "4dcdaf23_large_cache.json"
    assert isinstance(read_record(path), RecordedSpace)
    record = read_record(path, t1=shared_data / "t1" / "convolution_milo.json")
    assert isinstance(record, PartialRecord)
    assert (record.space.size, len(record.rows)) == (4362, 450)
    assert suspicions(record) == ("3,912 of 4,362 valid configurations have no row",)


@pytest.mark.parametrize("sample", [0, 1, 2])
def test_samples_of_a_space_with_another_parameter_do_not_fit_its_t1_file(shared_data: Path, sample: int) -> None:
    path = shared_data / "partial" / f"hotspot_A100_sample{sample}.json.gz"
    assert suspicions(read_record(path)) == repairs(read_record(path)) == ()
    with pytest.raises(RecordError, match=r"only in the file \['blocks_per_sm'\]"):
        read_record(path, t1=shared_data / "t1" / "hotspot_milo.json")


def test_t4_gives_what_the_same_space_gives_as_a_cache(shared_data: Path) -> None:
    t4 = read_record(shared_data / "t4" / "convolution_milo" / "A4000_T4.json.gz")
    cache = read_record(shared_data / "spaces" / "convolution_milo" / "A4000.json.gz")
    assert suspicions(t4) == repairs(t4) == ()
    assert t4.task.label == "convolution_milo/A4000"
    for i, one in t4.rows.items():
        other = cache.rows[cache.space.find(t4.space.config(i))]
        assert (one.status, one.runtimes_ms, one.compile_s) == (other.status, other.runtimes_ms, other.compile_s)
        assert one.metrics.get("time_ms") == other.metrics.get("time_ms")


KTT = {
    "convolution/RTX_2080Ti": (6768, 1488),
    "convolution/RTX_3090": (6768, 1528),
    "coulomb3d/RTX_2080Ti": (210, 0),
    "coulomb3d/GTX_1070_trace": (210, 0),
    "pnpoly/RTX_2080Ti": (4092, 277),
    "pnpoly/RTX_3090": (4092, 274),
}


@pytest.mark.parametrize("name", KTT)
def test_ktt_files_are_read(shared_data: Path, name: str) -> None:
    record = read_record(shared_data / "ktt" / f"{name}.json.gz")
    rows, failed = KTT[name]
    assert len(record.rows) == rows
    assert sum(m.status is Status.LAUNCH_ERROR for m in record.rows.values()) == failed
    assert "registers" in max(record.rows.values(), key=lambda m: len(m.metrics)).metrics
    expected = 1 if name.endswith("trace") else 0
    assert len(suspicions(record)) == expected
    if expected:
        assert "several rows; the last one counts (265 times" in suspicions(record)[0]


def test_csv_files_are_read(shared_data: Path) -> None:
    record = read_record(
        shared_data / "csv" / "blackscholes_fpga.csv.gz",
        parameters=["B", "OP", "IP", "x1873"],
        objectives=["Cycles", "ALMs", "DSPs", "BRAMs"],
        valid="Valid",
        goal="min",
    )
    assert len(record.rows) == 76_800
    assert sum(m.status is Status.OK for m in record.rows.values()) == 3_194
    first = record.rows[record.space.find({"B": 1344, "OP": 1, "IP": 5, "x1873": False})]
    assert first.metrics == {"Cycles": 19178402, "ALMs": 172629, "DSPs": 270, "BRAMs": 1290}
    assert record.notes == ()
    ktt = read_record(shared_data / "csv" / "ktt_vectorAdd_2080.csv.gz")
    assert ktt.space.names == ("multiply_block_size",)
    assert ktt.rows[0].runtimes_ms == (0.077408,)
    assert ktt.rows[0].metrics["registers"] == 12


def test_every_other_recording_is_read(shared_data: Path) -> None:
    for folder in ("noise", "hyperparameter_scores"):
        for path in (shared_data / folder).iterdir():
            record = read_record(path)
            assert format_of(path) == "kernel_tuner"
            assert suspicions(record) == ()
            assert min(map(record.objective.value, record.rows.values())) < math.inf


def test_what_is_no_recording_is_refused_by_name(shared_data: Path) -> None:
    for folder in ("t1", "schema"):
        for path in (each for each in (shared_data / folder).rglob("*") if each.is_file()):
            with pytest.raises(RecordError, match=path.name):
                read_record(path)
