"""Value expressions, T1 files, and the recorded spaces that they describe."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from tunewright.errors import ParameterError, SpaceError
from tunewright.space import SearchSpace, parse_values, read_t1_space, values

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [
        "[1, 2, 3]",
        "[1, 2, 4, 8, 16] + list(range(32, 1024+1, 32))",
        "[2**i for i in range(0, 6)]",
        "[i for i in range(1, 10+1)]",
        "[32 * i for i in range(1, 32)]",
        "[1] + [2 * i for i in range(1, 11)]",
        "range(3, 35, 2)",
        "list(i * j for i in range(3) for j in range(i) if i * j % 2 == 0)",
        "[x for x in range(20) if x % 2 if x % 3]",
        "[a + b for a, b in [(1, 2), (3, 4)]]",
        "['a', 'b'] + ['c' + 'd']",
        "[True, False]",
        "[0.5 * 2**-i for i in range(4)]",
        "(1, 2) + (3,)",
        "[1, 2] * 2",
        "[*range(3), 7]",
        "[i if i > 2 else -i for i in range(5)]",
        "[max(1, i) for i in range(3)] + [min(4, 5), abs(-2), int(2.9), round(2.6)]",
        "[i for i in range(9) if 2 < i <= 5 or i in (0, 8)]",
        "[min([j + i for j in range(3)]) for i in range(1, 3)]",
    ],
)
def test_value_expression_means_what_python_means(text: str) -> None:
    assert parse_values(text) == list(eval(text))  # noqa: S307 - what the package must agree with


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').listdir()", "not supported"),
        ("[open('x')]", "cannot be called"),
        ("[x]", "'x' is unknown"),
        ("(1).__class__", "not supported"),
        ("5", "write a list"),
        ("'abc'", "write a list"),
        ("[1, ", "no Python expression"),
        ("", "no Python expression"),
        ("[1 // 0]", "zero"),
        ("range(10**9)", "more than 1000000 elements"),
        ("list(range(10**30))", "more than 1000000 elements"),
        ("[0] * 10**9", "too long"),
        ("[9**9**9]", "bits"),
        ("[" + "-" * 200 + "1]", "nested"),
        ("[lambda: 1]", "not supported"),
        ("[i for i in 5]", "no list"),
        ("['%999999999d' % 1]", "numbers only"),
        ("[x := 1]", "not supported"),
    ],
)
def test_value_expression_outside_the_grammar_is_refused(text: str, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_values(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[i for i in range(200) for j in range(200)]", "more than 1000 elements"),
        ("[i for i in range(1000) for j in range(1000) if j < 0]", "too long to compute"),
        ("[i for i in range(1000) if i in [j for j in range(900)]]", "too long to compute"),
    ],
)
def test_value_expression_is_bounded_in_size_and_time(text: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_ELEMENTS", 1000)
    monkeypatch.setattr(values, "MAX_STEPS", 50_000)
    with pytest.raises(ParameterError, match=message):
        parse_values(text)


def t1(*parameters: dict[str, Any], conditions: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"ConfigurationSpace": {"TuningParameters": list(parameters), "Conditions": conditions or []}}


def test_t1_types_are_respected() -> None:
    space = read_t1_space(
        t1(
            {"Name": "i", "Type": "int", "Values": "[1.0, 2]"},
            {"Name": "u", "Type": "uint", "Values": "[0, 2]"},
            {"Name": "f", "Type": "float", "Values": "[1, 0.5]"},
            {"Name": "b", "Type": "bool", "Values": "[0, True]"},
            {"Name": "s", "Type": "string", "Values": "['x', 'y']"},
            conditions=[{"Expression": "i <= u", "Parameters": ["i", "u"]}],
        )
    )
    typed = [[(type(v).__name__, v) for v in space.parameters[name]] for name in space.names]
    assert typed == [
        [("int", 1), ("int", 2)],
        [("int", 0), ("int", 2)],
        [("float", 1.0), ("float", 0.5)],
        [("bool", False), ("bool", True)],
        [("str", "x"), ("str", "y")],
    ]
    assert [c.text for c in space.constraints] == ["i <= u"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "ConfigurationSpace"),
        ({"ConfigurationSpace": {}}, "TuningParameters"),
        (t1({"Name": "x", "Type": "int"}), "'x'"),
        (t1({"Name": "x", "Type": "short", "Values": "[1]"}), "'x' has the type 'short'"),
        (t1({"Name": "x", "Type": "int", "Values": "[1.5]"}), "'x' of type int has the value 1.5"),
        (t1({"Name": "x", "Type": "uint", "Values": "[-1]"}), "'x' of type uint has the value -1"),
        (t1({"Name": "x", "Type": "bool", "Values": "[2]"}), "'x' of type bool has the value 2"),
        (t1({"Name": "x", "Type": "int", "Values": "[y]"}), "'x': .*'y' is unknown"),
        (t1({"Type": "int", "Values": "[1]"}), "'Name'"),
        (t1(*[{"Name": "x", "Type": "int", "Values": "[1]"}] * 2), "twice"),
        (t1({"Name": "x", "Type": "int", "Values": "[1]"}, conditions=[{}]), "Expression"),
        (t1({"Name": "x", "Type": "int", "Values": "[1]"}, conditions=[{"Expression": "z > 1"}]), "'z'"),
    ],
)
def test_t1_mistake_names_file_and_place(content: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "kernel.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SpaceError, match=message) as caught:
        read_t1_space(file)
    assert "kernel.json" in str(caught.value)


def test_t1_file_that_is_no_json_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    for name in ("broken.json", "missing.json"):
        with pytest.raises(SpaceError, match=name):
            read_t1_space(tmp_path / name)


def test_t1_default_that_is_not_valid_is_noted() -> None:
    x = {"Name": "x", "Type": "int", "Values": "[1, 2]", "Default": [2]}
    y = {"Name": "y", "Type": "int", "Values": "[1, 2]", "Default": 2}
    rule = [{"Expression": "x != y", "Parameters": ["x", "y"]}]
    assert read_t1_space(t1(x, y)).notes == ()
    assert read_t1_space(t1(x, y, conditions=rule)).notes == ("the stated defaults break 'x != y'; they are ignored",)
    [note] = read_t1_space(t1({**x, "Default": 3}, y)).notes
    assert "default 3 of 'x'" in note


SIZES = {
    "convolution": (6768, 16896),
    "convolution_milo": (4362, 10240),
    "dedispersion_milo": (11130, 22272),
    "gemm_milo": (116_928, 663_552),
    "hotspot_milo": (82_984, 4_440_000),
    "pnpoly": (4092, 4092),
}


@pytest.mark.parametrize("kernel", SIZES)
def test_t1_file_of_the_data_has_the_known_size(kernel: str, shared: Path) -> None:
    space = read_t1_space(shared / "data" / "t1" / f"{kernel}.json")
    assert (space.size, space.cartesian) == SIZES[kernel]


def test_t1_inputs_of_kernel_tuner_are_read(shared: Path) -> None:
    folder = shared / "data" / "loader_cases" / "kernel_tuner"
    sizes = {file.name: read_t1_space(file).size for file in sorted(folder.glob("*T1_input.json"))}
    assert sizes == {
        "current_test_T1_input.json": 16 * 16 * 6 * 8 * 8 * 2 * (8 + 4),
        "current_test_cache_file_T1_input.json": 15,
    }


@pytest.mark.parametrize(
    "kernel", ["convolution", "convolution_milo", "convolution_milo_6p", "dedispersion_milo", "pnpoly"]
)
def test_valid_set_is_the_recorded_set(kernel: str, shared: Path) -> None:
    space = read_t1_space(shared / "data" / "t1" / f"{kernel.removesuffix('_6p')}.json")
    if kernel.endswith("_6p"):
        space = space.fix(use_shmem=1)
        assert space.size == 2442
    files = sorted((shared / "data" / "spaces" / kernel).glob("*.json.gz"))
    assert files
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            recorded = json.load(stream)
        keys = recorded["tune_params_keys"]
        positions = [space.names.index(key) for key in keys]
        ours = {",".join(str(row[position]) for position in positions) for row in space.rows()}
        assert ours == set(recorded["cache"]), file.name
        rows = [[int(value) for value in key.split(",")] for key in recorded["cache"]]
        again = SearchSpace.from_configurations({key: space.parameters[key] for key in keys}, rows)
        assert again.size == space.size


def test_fixed_and_listed_spaces_of_a_recorded_kernel_are_equal(shared: Path) -> None:
    space = read_t1_space(shared / "data" / "t1" / "convolution_milo.json")
    assert SearchSpace.from_configurations(space.parameters, space.rows()).digest == space.digest
