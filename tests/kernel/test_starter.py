from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tunewright.cli import main
from tunewright.errors import SpecificationError
from tunewright.kernel import Argument, Kernel, Role, read_kernel, starter

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

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


@pytest.fixture
def started(tmp_path: Path) -> Callable[..., Kernel]:
    """Start a specification for a source, read it back, and build its space."""

    def start(text: str, name: str = "k.c") -> Kernel:
        path = tmp_path / name
        path.write_text(text)
        spec = path.with_suffix(".toml")
        spec.write_text(starter(path), encoding="utf-8")
        kernel = read_kernel(spec)
        assert kernel.space.find(kernel.default_configuration) is not None
        return kernel

    return start


@pytest.mark.parametrize(
    "signature",
    [
        'extern "C" void k(float *x, int n) {',
        'extern "C"\nvoid\nk(\n    float *x,\n    int n\n)\n{',
        'extern "C" {\nvoid k(float *x, int n)\n{ }}\nvoid other(int a);\nint z() {',
        "__attribute__((noinline)) void k(float *x, int n) {",
        'void __attribute__((noinline, target("avx2"))) k(float *x, int n) {',
        "[[gnu::noinline]] void k(float *x, int n) {",
        "void k(float *x, int n) noexcept {",
        "void k(float *x, int n) noexcept(true)\n{",
        "void k(float *x, int n) __attribute__((hot));\nvoid k(float *x, int n) {",
        "EXPORT void k(float x[], int n) /* no { here */ {",
        "static void helper(int a) { }\nvoid k(float *x, int n) { }\nstatic inline void last(int b) {",
        "void k(float *x, int n) { }\ninline void last(int b) { }\nvoid static odd(void) {",
        "void first(int a) { }\nvoid k(float *x, int n) { }\nvoid last(int b) {",
        "static void apply(void (*f)(int), float (*m)[4]) { }\nvoid k(float *x, int n) {",
        "template <typename T> void each(T *x) { }\nvoid k(float *x, int n = 3) {",
        "#if A\nvoid k(float *x, int n)\n{\n#else\nvoid k(float *x, int n)\n{\n#endif",
    ],
)
def test_an_entry_is_found_however_it_is_written(started: Callable[..., Kernel], signature: str) -> None:
    kernel = started(signature + " }\n", "k.cpp")
    assert kernel.entry == "k"
    assert [(a.name, a.dtype, bool(a.shape)) for a in kernel.arguments] == [
        ("x", "float32", True),
        ("n", "int32", False),
    ]


def test_only_helpers_are_no_kernel(tmp_path: Path) -> None:
    path = tmp_path / "helpers.c"
    path.write_text("static void a(int x) { }\ninline void b(int x) { }\n")
    with pytest.raises(SpecificationError, match="neither static nor inline"):
        starter(path)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("const std::uint8_t* a", Argument(name="a", dtype="uint8", shape=("N",))),
        ("std::size_t count", Argument(name="count", dtype="uint64", value="N")),
        ("float a[N][M]", Argument(name="a", dtype="float32", shape=("N", "M"), role=Role.OUT)),
        ("const float a[N][2 * M + 1]", Argument(name="a", dtype="float32", shape=("N", "2 * M + 1"))),
        ("double a[static N][3]", Argument(name="a", dtype="float64", shape=("N", 3), role=Role.OUT)),
        ("float (*restrict a)[M]", Argument(name="a", dtype="float32", shape=("N", "M"), role=Role.OUT)),
        ("const float (&a)[N][M]", Argument(name="a", dtype="float32", shape=("N", "M"))),
        ("double &sum", Argument(name="sum", dtype="float64", shape=(1,), role=Role.OUT)),
        ("float a[n]", Argument(name="a", dtype="float32", shape=("N",), role=Role.OUT)),
        ("unsigned long int const *a", Argument(name="a", dtype="uint64", shape=("N",))),
        ("signed char *const a", Argument(name="a", dtype="int8", shape=("N",), role=Role.OUT)),
        ("long long", Argument(name="argument_0", dtype="int64", value="N")),
        ("float *", Argument(name="argument_0", dtype="float32", shape=("N",), role=Role.OUT)),
        ("real *a", Argument(name="a", dtype="float32", shape=("N",), role=Role.OUT)),
        ("signed n", Argument(name="n", dtype="int32", value="N")),
        ("int m", Argument(name="m", dtype="int32", value="M")),
        ("float factor", Argument(name="factor", dtype="float32", value=1)),
    ],
)
def test_arguments_are_read_as_declared(started: Callable[..., Kernel], declared: str, expected: Argument) -> None:
    kernel = started(f"float table[N][M];\nvoid k({declared}) {{ }}\n")
    assert list(kernel.arguments) == [expected]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("float **x", "argument 'x' of k is a pointer to pointers"),
        ("float *x[4]", "argument 'x' of k is a pointer to pointers"),
        ("const float *const *x", "argument 'x' of k is a pointer to pointers"),
        ("float (*x[4])[5]", "argument 'x' of k is a pointer to pointers"),
        ("int n, void (*x)(int, float)", "argument 'x' of k is a function"),
        ("int n, ...", "is a variable number of values"),
        ("const std::vector<float, A<int>> &x", "argument 'x' of k is an object"),
    ],
)
def test_arguments_that_no_specification_describes_are_refused(tmp_path: Path, declared: str, message: str) -> None:
    path = tmp_path / "k.c"
    path.write_text(f"void k({declared}) {{ }}\n")
    with pytest.raises(SpecificationError, match=message) as caught:
        starter(path)
    assert "flat arrays" in str(caught.value)


def test_extents_that_the_source_states_need_no_decision(tmp_path: Path) -> None:
    path = tmp_path / "k.c"
    path.write_text("#ifndef N\n#define N 512\n#endif\nvoid k(const float a[N][N], float *b) { }\n")
    text = starter(path)
    assert 'shape = ["N", "N"]\n' in text
    assert 'shape = ["N"]  # TODO: extents\n' in text
    assert "N = 512\n" in text


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("for (int i = 0; i < N; i++) x[i] = NV * NC * NR;", {"N": 1024}),
        ("while (i < WIDTH) x[i] = 0;", {"WIDTH": 1024}),
        ("float local[ROWS + 2];", {"ROWS": 1024}),
        ("int sweeps = STEPS / 2; for (int s = 0; s < sweeps; s++) step(x);", {"STEPS": 1024}),
        ("x[0] = N * 2;", {}),
        ("for (int i = 0; i < NV; i += NR) x[i] = N_TILES;", {}),
    ],
)
def test_sizes_have_known_names_and_bound_loops_or_arrays(
    started: Callable[..., Kernel], body: str, problem: dict[str, int]
) -> None:
    kernel = started(f"void k(float *x) {{ {body} }}\n")
    assert kernel.problem == problem
    assert {"NV", "NC", "NR", "N_TILES"}.isdisjoint(kernel.problem)


def test_a_size_name_with_a_small_default_is_a_parameter(started: Callable[..., Kernel]) -> None:
    text = "#ifndef DEPTH\n#define DEPTH 1\n#endif\nvoid k(float *x) { for (int i = 0; i < DEPTH; i++) x[i] = 0; }\n"
    kernel = started(text)
    assert (kernel.problem, kernel.parameters) == ({}, {"DEPTH": [1, 2, 4]})


def test_words_that_are_no_macros_of_the_kernel_are_left_alone(started: Callable[..., Kernel]) -> None:
    kernel = started(
        """
#include <HEADER.h>
#include "OTHER.h"
#define FIXED 4
#define DO_PRAGMA(text) _Pragma(#text)
#define TIMES(COUNT) DO_PRAGMA(GCC unroll COUNT)
#define AT(I, J) x[(I) * FIXED + (J)]
#pragma GCC ivdep
#pragma STDC FP_CONTRACT ON
#pragma omp critical(LOCK)
#error "NOT THIS"
enum { RED, GREEN = 2 };
typedef float REAL;
const int LIMIT = 8;
void k(float *X) {
    DO_PRAGMA(omp simd SIMD) TIMES(4) X[0] = AT(1, 2) + RED + GREEN + LIMIT + (REAL)'Q' + MAX(1, 2) + UINT8_MAX + TILE;
    X[1] = FLT_EPSILON;
    puts("SOME TEXT");
}
"""
    )
    assert list(kernel.parameters) == ["TILE"]


def test_openmp_is_switched_on_and_its_macros_are_parameters(started: Callable[..., Kernel]) -> None:
    kernel = started("void k(float *x) {\n#pragma omp parallel for num_threads(TEAM) schedule(HOW, CHUNK)\n;\n}\n")
    assert "-fopenmp" in kernel.flags
    assert kernel.threads == "TEAM"
    assert list(kernel.parameters) == ["TEAM", "HOW", "CHUNK"]


@pytest.mark.parametrize(
    "pragma", ["#pragma omp parallel for", "#pragma omp simd num_threads(4)", '_Pragma("omp for")']
)
def test_openmp_without_a_macro_for_threads_gets_a_hint(tmp_path: Path, pragma: str) -> None:
    path = tmp_path / "k.c"
    path.write_text(f"void k(float *x) {{\n{pragma}\n;\n}}\n")
    assert "-fopenmp" in starter(path)
    assert "\n# threads = 4  # TODO" in starter(path)


def test_a_source_without_openmp_does_without_it(source: Path) -> None:
    assert "openmp" not in starter(source)
    assert "threads" not in starter(source)


@pytest.mark.parametrize(
    ("name", "default", "values", "first"),
    [
        ("P1", "0", [0, 1], 0),
        ("UNROLL", "1", [1, 2, 4], 1),
        ("THREADS", "1  /* cores */", [1, 2, 4], 1),
        ("USE_CACHE", "1", [0, 1], 1),
        ("ROWS_FIRST", "1", [0, 1], 1),
        ("BLOCKED", "1", [0, 1], 1),
        ("SEED", "1", [1, 2, 4], 1),
        ("TILE", "2", [1, 2, 4, 8], 2),
        ("TILE", "16u", [4, 8, 16, 32, 64], 16),
        ("TILE", "(4 * 16)  // bytes", [16, 32, 64, 128, 256], 64),
        ("TILE", "0x40", [16, 32, 64, 128, 256], 64),
        ("TILE", "3", [1, 3, 6], 3),
        ("TILE", "48", [24, 48, 96], 48),
        ("UNROLL_MAX", "8", [2, 4, 8, 16, 32], 8),
        ("OFFSET", "-1", [-1], -1),
        ("OMEGA", "1.5f", [1.5], 1.5),
        ("OMEGA", "1e-3", [0.001], 0.001),
        ("OMEGA", "1e999", ["1e999"], "1e999"),
        ("MODE", "010", ["010"], "010"),
        ("SCHEDULE", "static", ["static"], "static"),
        ("LABEL", '"a\\\\b // c"', ['"a\\\\b // c"'], '"a\\\\b // c"'),
        ("TILE", "N", [256, 512, 1024], 1024),
        ("WHOLE", "\\\n  8", [2, 4, 8, 16, 32], 8),
    ],
)
def test_values_follow_the_default(
    started: Callable[..., Kernel], name: str, default: str, values: list[object], first: object
) -> None:
    kernel = started(f"#ifndef {name}\n#define {name} {default}\n#endif\nvoid k(float *x) {{ x[N] = {name}; }}\n")
    assert kernel.parameters == {name: values}
    assert kernel.default == {name: first}


def test_a_lone_value_and_a_guessed_switch_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "k.c"
    macros = {"OMEGA": "1.5", "BLOCKED": "1", "SCHEDULE": "static"}
    guards = "".join(f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in macros.items())
    path.write_text(guards + "void k(float *x) { }\n")
    lines = starter(path).splitlines()
    assert all(any(line.startswith(f"{name} = [") and "TODO" in line for line in lines) for name in macros)


def test_a_guard_may_be_spelled_with_defined_and_stand_apart(started: Callable[..., Kernel]) -> None:
    kernel = started("#if !defined(TILE)\n\n# define TILE 8 // side\n#endif\nvoid k(float *x) { x[TILE] = 0; }\n")
    assert kernel.default == {"TILE": 8}


def test_a_macro_that_is_only_asked_for_becomes_a_commented_line(
    started: Callable[..., Kernel], tmp_path: Path
) -> None:
    kernel = started(
        "#ifndef K_H\n#define K_H\n#ifdef FUSE\n#endif\n#if defined(WIDE) || defined SLOW || defined(__AVX2__)\n"
        "#endif\n#if CHECKED\n#endif\nvoid k(float *x) { }\n#endif\n"
    )
    assert kernel.parameters == {"CHECKED": [0, 1]}
    text = (tmp_path / "k.toml").read_text()
    assert [line.split()[1] for line in text.splitlines() if "tested for being defined" in line] == [
        "FUSE",
        "WIDE",
        "SLOW",
    ]


def test_a_line_for_an_asked_macro_works_once_uncommented(started: Callable[..., Kernel], tmp_path: Path) -> None:
    started("#ifdef FUSE\n#endif\nvoid k(float *x) { x[0] = TILE; }\n")
    spec = tmp_path / "k.toml"
    spec.write_text(spec.read_text().replace("# FUSE =", "FUSE ="))
    kernel = read_kernel(spec)
    assert kernel.parameters["FUSE"] == [False, True]
    assert (kernel.uses["FUSE"].flag, kernel.uses["FUSE"].define) == ("-DFUSE", None)


def test_macros_that_cannot_be_parameters_are_left_out(started: Callable[..., Kernel]) -> None:
    text = "".join(
        f"#ifndef {name}\n#define {name} 2\n#endif\n" for name in ("restrict", "time", "_X", "NULL", "x", "ok")
    )
    assert started(text + "void k(float *x) { }\n").parameters == {"ok": [1, 2, 4, 8]}


@pytest.mark.parametrize("name", ['a"b.c', "a\\b.c", "a'b c.c", "ä\x7f.c", "a\nb.c", "#.c"])
def test_any_file_name_gives_valid_toml(started: Callable[..., Kernel], tmp_path: Path, name: str) -> None:
    kernel = started("void k(float *x) { }\n", name)
    assert (kernel.name, kernel.source) == (Path(name).stem, tmp_path / name)


def test_a_specification_elsewhere_names_the_source_from_there(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "some" / "where"
    folder.mkdir(parents=True)
    spec = folder / "scale.toml"
    assert main(["init", str(source), "--out", str(spec)]) == 0
    assert 'source = "../../scale.c"' in spec.read_text()
    assert read_kernel(spec).source.resolve() == source.resolve()


def test_init_overwrites_nothing(source: Path) -> None:
    source.with_suffix(".toml").write_text("mine")
    assert main(["init", str(source)]) != 0
    assert source.with_suffix(".toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "problem", "parameters"),
    [
        ("matmul", "N", "BLOCKED VW NV MR NC KC UNROLL PREFETCH THREADS"),
        ("transpose", "N", "TI TJ MI BUFFER WRITE_FIRST PREFETCH THREADS"),
        ("convolution", "F H W", "REGISTERS VW NV TY BX ROWS_FIRST UNROLL SCHEDULE THREADS"),
        ("hotspot", "H STEPS W", "TILED TH TW DEPTH WIDTH SCHEDULE THREADS"),
    ],
)
def test_the_examples_can_be_started(tmp_path: Path, name: str, problem: str, parameters: str) -> None:
    spec = tmp_path / f"{name}.toml"
    spec.write_text(starter(EXAMPLES / name / f"{name}.c", tmp_path))
    kernel, finished = read_kernel(spec), read_kernel(EXAMPLES / name / f"{name}.toml")
    assert sorted(kernel.problem) == sorted(finished.problem) == problem.split()
    assert list(kernel.parameters) == parameters.split()
    assert [(a.name, a.dtype, a.role) for a in kernel.arguments] == [
        (a.name, a.dtype, a.role) for a in finished.arguments
    ]
    assert (kernel.entry, kernel.threads) == (finished.entry, finished.threads)
    assert "-fopenmp" in kernel.flags
    assert kernel.space.size > 1
