"""Whatever happens to a file, reading it gives a record or one error that names it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tunewright.errors import RecordError
from tunewright.measure import Measurement, Objective, Status, Task
from tunewright.records import PartialRecord, RecordedSpace, read_record, write_record
from tunewright.space import SearchSpace

NAMES = ("a.json", "a.t4.json", "a.ktt.json", "a.csv", "a.npz", "a.json.gz")
PROFILE = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def whole() -> RecordedSpace:
    space = SearchSpace({"x": [1, 2], "mode": ["a", "b"]})
    ok = Measurement(Status.OK, (1.5, 2.5), 0.25, 0.0, 0.125, {"energy_j": 0.5}, "", ("noisy",))
    rows = (ok, ok, Measurement(Status.TIMEOUT, detail="60 s"), Measurement(Status.COMPILE_ERROR))
    return RecordedSpace(Task("k", "d", {"n": 64}), space, rows, Objective("energy_j"))


def read_or_refuse(path: Path) -> RecordedSpace | PartialRecord | None:
    try:
        return read_record(path)
    except RecordError as error:
        message = str(error)
    assert str(path) in message
    return None


@pytest.mark.parametrize("name", NAMES)
@PROFILE
@given(st.data())
def test_changed_and_missing_bytes(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = tmp_path / name
    write_record(path, whole())
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.integers(0, len(raw) - 1))
        raw[where : where + data.draw(st.integers(0, 20))] = data.draw(st.binary(max_size=3))
        raw = raw or bytearray(b" ")
    path.write_bytes(bytes(raw))
    read_or_refuse(path)


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path to a value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(path for key, item in items for path in places(item, (*here, key)))]


@pytest.mark.parametrize("name", ["a.json", "a.t4.json", "a.ktt.json"])
@PROFILE
@given(st.data())
def test_any_value_in_the_place_of_any_other(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = tmp_path / name
    write_record(path, whole())
    content = json.loads(path.read_text())
    *way, last = data.draw(st.sampled_from(places(content)[1:]))
    inner = content
    for key in way:
        inner = inner[key]
    inner[last] = data.draw(JSON)
    path.write_text(json.dumps(content))
    read_or_refuse(path)


@pytest.mark.parametrize("name", ["a.json", "a.t4.json", "a.ktt.json"])
def test_a_file_cut_anywhere_gives_its_whole_rows(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write_record(path, whole())
    raw = path.read_bytes()
    counts = []
    for cut in range(len(raw)):
        path.write_bytes(raw[:cut])
        found = read_or_refuse(path)
        counts.append(0 if found is None else len(found.rows))
    assert counts == sorted(counts)
    assert counts[-1] == 4
    assert {1, 2, 3, 4} <= set(counts)
