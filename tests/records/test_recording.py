import io
import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records import PartialRecord, RecordedSpace, read_recording, write_recording
from tunewright.records import recording as module
from tunewright.space import SearchSpace

SPACE = SearchSpace({"x": [1, 2, 4], "on": [False, True], "mode": ["a", "b"], "f": [0.5, 1.5]}, ["x < 4 or on"])
TASK = Task("k", "cpu", {"N": 64}, "gcc 12", "abc", {"flags": ["-O3"]})

finite = st.floats(allow_nan=False, allow_infinity=False)
ok = st.builds(
    Measurement,
    st.just(Status.OK),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=4).map(tuple),
    st.floats(0, 1e9),
    st.floats(0, 1e9),
    st.floats(0, 1e9),
    st.dictionaries(st.sampled_from(["cpu_ms", "load", "energy_j"]), finite),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
    st.sampled_from([(), ("censored",)]),
)
failed = st.builds(
    Measurement, st.sampled_from([s for s in Status if s is not Status.OK]), st.just(()), detail=st.text(max_size=5)
)


@given(st.lists(ok | failed, min_size=SPACE.size, max_size=SPACE.size), st.data())
def test_what_is_written_is_read_back_bit_for_bit(rows: list[Measurement], data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.integers(0, SPACE.size - 1)))
    whole = RecordedSpace(TASK, SPACE, tuple(rows), Objective(), ("a note",))
    part = PartialRecord(TASK, SPACE, {i: rows[i] for i in chosen}, Objective("load", goal="max"), ())
    for record in (whole, part):
        again, machine = _there_and_back(record)
        assert type(again) is type(record)
        assert (again.task, again.objective, again.notes) == (record.task, record.objective, record.notes)
        assert machine == {"cores": 2}
        assert _by_configuration(again) == _by_configuration(record)
        assert list(again.space.parameters.items()) == list(SPACE.parameters.items())


def _there_and_back(record: RecordedSpace | PartialRecord) -> tuple[RecordedSpace | PartialRecord, object]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "record.npz"
        write_recording(file, record, {"cores": 2})
        return read_recording(file)


def _by_configuration(record: RecordedSpace | PartialRecord) -> dict[str, Measurement]:
    return {json.dumps(record.space.config(i)): measured for i, measured in record.rows.items()}


def test_a_partial_record_replays_as_the_space_of_what_was_measured() -> None:
    rows = {i: Measurement(Status.OK, (float(i + 1),)) for i in (7, 2, 5)}
    replayed = PartialRecord(TASK, SPACE, rows).recorded_space()
    assert replayed.space.size == 3
    assert {replayed.measurements[i].runtimes_ms[0] for i in range(3)} == {3.0, 6.0, 8.0}
    with pytest.raises(RecordError, match="nothing was recorded"):
        PartialRecord(TASK, SPACE, {}).recorded_space()
    with pytest.raises(RecordError, match="outside the space"):
        PartialRecord(TASK, SPACE, {SPACE.size: rows[7]})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "record.npz"
    rows = {i: Measurement(Status.OK, (1.0,)) for i in range(4)}
    write_recording(path, PartialRecord(TASK, SPACE, rows))
    return path


def test_any_damage_is_a_record_error(file: Path) -> None:
    whole = file.read_bytes()
    for cut in range(0, len(whole), 97):
        file.write_bytes(whole[:cut])
        with pytest.raises(RecordError, match=r"record\.npz"):
            read_recording(file)


def test_arrays_that_do_not_fit_together_are_refused(file: Path) -> None:
    with np.load(file) as arrays:
        columns = {name: arrays[name] for name in arrays.files}
    for name, wrong in [
        ("codes", columns["codes"][:2]),
        ("codes", columns["codes"] + 9),
        ("codes", columns["codes"][[0, 0, 1, 2]]),
        ("status", columns["status"] + 99),
        ("seconds", -columns["seconds"] - 1),
        ("header", np.frombuffer(b"[]", dtype=np.uint8)),
    ]:
        with file.open("wb") as stream:
            np.savez(stream, **{**columns, name: wrong})
        with pytest.raises(RecordError, match=r"record\.npz"):
            read_recording(file)


def test_pickles_bombs_and_newer_versions_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.load(file) as arrays:
        columns = {name: arrays[name] for name in arrays.files}
    header = json.loads(bytes(columns["header"]))
    newer = np.frombuffer(json.dumps({**header, "version": 99}).encode(), dtype=np.uint8)
    with file.open("wb") as stream:
        np.savez(stream, **{**columns, "header": newer})
    with pytest.raises(RecordError, match="version 99"):
        read_recording(file)
    with file.open("wb") as stream:
        np.savez(stream, **{**columns, "status": np.array([{}], dtype=object)})
    with pytest.raises(RecordError, match="damaged"):
        read_recording(file)
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", b"\0" * 100_000)
    file.write_bytes(buffer.getvalue())
    with pytest.raises(RecordError, match="more than 1000 bytes"):
        read_recording(file)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be written"):
        write_recording(tmp_path / "no" / "x.npz", PartialRecord(TASK, SPACE, {}))
    assert list(tmp_path.iterdir()) == []
