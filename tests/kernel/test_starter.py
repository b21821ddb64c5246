from pathlib import Path

import pytest

from tunewright.errors import SpecificationError
from tunewright.kernel import Role, read_kernel, starter

SOURCE = """
#include <math.h>
#ifndef TILE          /* side of a tile */
#define TILE 16
#endif
#ifndef FAST
#define FAST 0
#endif
#define HELPER(x) ((x) * 2)
/* NOT_A_MACRO in a comment */
static float helper(float v) { return HELPER(v) + INFINITY; }
void scale(const float *restrict in, double out[], const int n, float factor)
{
    for (int i = 0; i < N; i += TILE)
        for (int j = 0; j < UNROLL; j++)
            out[i + j] = factor * in[i + j];
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "scale.c"
    path.write_text(SOURCE)
    return path


def test_a_started_specification_can_be_read_and_has_what_the_source_shows(source: Path) -> None:
    spec = source.with_suffix(".toml")
    spec.write_text(starter(source))
    kernel = read_kernel(spec)
    assert kernel.entry == "scale"
    assert kernel.problem == {"N": 1024}
    assert list(kernel.parameters) == ["TILE", "FAST", "UNROLL"]
    assert 16 in kernel.parameters["TILE"]
    assert kernel.parameters["FAST"] == [0, 1]
    assert kernel.default == {"TILE": 16, "FAST": 0}
    assert [(a.name, a.dtype, a.role, bool(a.shape)) for a in kernel.arguments] == [
        ("in", "float32", Role.IN, True),
        ("out", "float64", Role.OUT, True),
        ("n", "int32", Role.IN, False),
        ("factor", "float32", Role.IN, False),
    ]
    assert kernel.space.size > 1


def test_what_needs_a_decision_is_marked(source: Path) -> None:
    assert starter(source).count("TODO") >= 5


def test_a_source_without_macros_gets_a_placeholder_parameter(tmp_path: Path) -> None:
    path = tmp_path / "plain.c"
    path.write_text("void plain(float *x) { x[0] = 1; }\n")
    spec = path.with_suffix(".toml")
    spec.write_text(starter(path))
    assert read_kernel(spec).space.size == 3


@pytest.mark.parametrize("text", ["", "int main(void) { return 0; }\n", "\x00\x01"])
def test_a_source_without_a_kernel_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.c"
    path.write_text(text)
    with pytest.raises(SpecificationError, match="no function that returns void"):
        starter(path)
