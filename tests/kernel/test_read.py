from pathlib import Path

import pytest

from tunewright.errors import EmptySpaceError, OptionError, SpecificationError, TunewrightError
from tunewright.kernel import Init, Measuring, Role, Use, read_kernel

SPEC = """
[kernel]
source = "add.c"
entry = "add"
threads = "T"

[problem]
N = 64

[[arguments]]
name = "x"
dtype = "float32"
shape = ["N"]

[[arguments]]
name = "out"
dtype = "float32"
shape = ["N", 2]
role = "out"

[[arguments]]
name = "n"
dtype = "int32"
value = "N"

[parameters]
T = [1, 2]
BLOCK = { values = [16, 32], define = "BS" }
OPT = { values = ["-O2", "-O3"], flag = "{}" }
HIDDEN = { values = [1, 2], define = false }

[constraints]
rules = ["BLOCK * T <= N"]

[default]
BLOCK = 32

[verification]
rtol = 1e-5
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "add.c").write_text("void add(const float *x, float *out, int n) {}\n")
    path = tmp_path / "add.toml"
    path.write_text(SPEC)
    return path


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_a_specification_is_read_whole(spec: Path) -> None:
    kernel = read_kernel(spec)
    assert (kernel.name, kernel.entry, kernel.language, kernel.threads) == ("add", "add", "c", "T")
    assert kernel.source == spec.parent / "add.c"
    assert [argument.role for argument in kernel.arguments] == [Role.IN, Role.OUT, Role.IN]
    assert kernel.arguments[0].init is Init.RANDOM
    assert kernel.arguments[2].value == "N"
    assert kernel.space.size == 16
    assert kernel.default_configuration == {"T": 1, "BLOCK": 32, "OPT": "-O2", "HIDDEN": 1}
    assert kernel.verification.rtol == 1e-5
    assert kernel.measuring == Measuring()


def test_u006_the_user_chooses_how_a_parameter_reaches_the_compiler(spec: Path) -> None:
    assert read_kernel(spec).uses == {
        "BLOCK": Use(define="BS"),
        "OPT": Use(flag="{}"),
        "HIDDEN": Use(),
    }


def test_u012_u013_problem_sizes_are_constants_in_constraints(spec: Path) -> None:
    changed(spec, '"BLOCK * T <= N"', '"N % (BLOCK * T) == 0 and BLOCK * T * 4 <= 64"')
    assert {kernel["BLOCK"] for kernel in map(read_kernel(spec).space.config, range(4))} == {16}


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('entry = "add"', "", "kernel.entry: is missing"),
        ('entry = "add"', 'entry = ""', "kernel.entry"),
        ('entry = "add"', 'entri = "add"', "kernel.entry: is missing; is 'entri' meant"),
        ('threads = "T"', 'theads = "T"', "kernel.theads: unknown key; did you mean 'threads'"),
        ('source = "add.c"', 'source = "sub.c"', "kernel.source: the file"),
        (
            'source = "add.c"',
            'source = "add.c"\nlanguage = "fortran"',
            "kernel.language: 'fortran' is not one of c",
        ),
        (
            'dtype = "int32"',
            'dtype = "int23"',
            r"arguments\[2\].dtype: 'int23' is not one of .* Did you mean 'int32'",
        ),
        ('role = "out"', 'role = "output"', r"arguments\[1\].role"),
        ('shape = ["N"]', "shape = []", r"arguments\[0\].shape: an array needs"),
        ('shape = ["N"]', "shape = [1.5]", r"arguments\[0\].shape"),
        (
            'shape = ["N"]',
            "",
            r"arguments\[0\].shape: an array needs a list of extents .* a scalar needs a value",
        ),
        ("T = [1, 2]", "T = 3", "parameters.T: must be a list of values"),
        ('define = "BS"', 'define = "B S"', "parameters.BLOCK.define"),
        ('define = "BS"', "defin = 1", "parameters.BLOCK.defin: unknown key"),
        ("N = 64", "N = [64]", "problem.N"),
        ("rtol = 1e-5", "rtol = -1", "verification.rtol: must be at least 0"),
        ("rtol = 1e-5", 'rtol = "small"', "verification.rtol"),
        (
            "rtol = 1e-5",
            'reference = { source = "r.c", entry = "r" }',
            "verification.reference.source: the file",
        ),
        (
            "[verification]",
            "[measuring]\nsamples_min = 0\n[verification]",
            "measuring.samples_min: .* at least 1",
        ),
        (
            "[verification]",
            "[measuring]\ntimeout_s = 0\n[verification]",
            "measuring.timeout_s: must be above 0",
        ),
        (
            "[verification]",
            "[verifcation]\nskip = true\n[verification]",
            "verifcation: unknown key; did you mean 'verification'",
        ),
        ("[verification]", "[objective]\nreduction = 'best'\n[verification]", "objective.reduction"),
        (
            'rules = ["BLOCK * T <= N"]',
            'rules = "BLOCK * T <= N"',
            "constraints.rules: must be a list of texts",
        ),
        ("[problem]", "problem = 3\n[x]", "problem"),
    ],
)
def test_an_error_points_at_file_and_key(spec: Path, old: str, new: str, where: str) -> None:
    changed(spec, old, new)
    with pytest.raises(SpecificationError, match=where) as error:
        read_kernel(spec)
    assert str(spec) in str(error.value)


@pytest.mark.parametrize("leaders", ["0", "-1", "0.0", "-0.5", "1.5", "nan", "inf", "true", '"all"'])
def test_u027_the_number_of_leaders_is_whole_or_a_share(spec: Path, leaders: str) -> None:
    spec.write_text(spec.read_text() + f"[measuring]\nleaders = {leaders}\n")
    with pytest.raises(SpecificationError, match=r"measuring: leaders must be a whole number of at least 1 or a share"):
        read_kernel(spec)


def test_u028_a_small_share_of_few_keeps_at_least_one() -> None:
    assert Measuring(leaders=0.3).leaders_among(2) == 1
    assert Measuring(leaders=0.5).leaders_among(10) == 5
    assert Measuring(leaders=7).leaders_among(3) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"samples_min": 9, "samples_max": 3},
        {"warmup": -1},
        {"timeout_s": 0.0},
        {"rounds": 0},
        {"memory_mib": 0},
    ],
)
def test_settings_under_which_nothing_can_be_measured_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        Measuring(**wrong)


def test_a_macro_that_would_replace_an_argument_is_refused(spec: Path) -> None:
    changed(spec, 'name = "n"', 'name = "N"')
    with pytest.raises(SpecificationError, match=r"problem\.N: the macro N would replace the argument"):
        read_kernel(spec)


def test_broken_toml_is_reported_with_its_line(spec: Path) -> None:
    changed(spec, "[problem]", "[problem")
    with pytest.raises(SpecificationError, match=r"not valid TOML: .*line 7"):
        read_kernel(spec)


def test_files_that_cannot_be_read_are_specification_errors(tmp_path: Path) -> None:
    with pytest.raises(SpecificationError, match="cannot be read"):
        read_kernel(tmp_path / "absent.toml")
    with pytest.raises(SpecificationError, match="cannot be read"):
        read_kernel(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecificationError, match="UTF-8"):
        read_kernel(tmp_path / "binary.toml")


def test_a_specification_without_parameters_is_refused(spec: Path) -> None:
    text = spec.read_text()
    spec.write_text(text[: text.index("[parameters]")])
    with pytest.raises(SpecificationError, match="at least one list of values"):
        read_kernel(spec)


def test_u026_an_empty_space_names_the_culprit(spec: Path) -> None:
    changed(spec, '"BLOCK * T <= N"', '"BLOCK > 99"')
    with pytest.raises(EmptySpaceError, match="BLOCK > 99"):
        _ = read_kernel(spec).space


def test_a_t1_file_is_read_as_a_kernel(shared_data: Path) -> None:
    kernel = read_kernel(shared_data / "t1" / "convolution.json")
    assert kernel.language == "cuda"
    assert kernel.problem == {"size_x": 4096, "size_y": 4096}
    assert kernel.space.size == read_kernel(shared_data / "t1" / "convolution.json").space.size
    assert kernel.arguments[0].role is Role.OUT
    assert kernel.default["block_size_x"] == 16


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"KernelSpecification": {}, "ConfigurationSpace": {}}', "{" * 9999])
def test_a_broken_t1_file_is_an_error_of_ours(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t1.json"
    path.write_text(text)
    with pytest.raises(TunewrightError, match=r"t1\.json"):
        read_kernel(path)


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('name = "out"', 'name = "x"', "two arguments have the name 'x'"),
        ('role = "out"', 'role = "out"\ninit = "ones"', "an out array is not initialised"),
        ('flag = "{}"', 'flag = "-O2"', "has no {} for the value"),
        ("BLOCK = 32", "BLOK = 32", "'BLOK' is no parameter; did you mean 'BLOCK'"),
        ("rtol = 1e-5", 'reference = { source = "add.c", entry = "r" }\nfiles = { out = "add.c" }', "both a reference"),
    ],
)
def test_contradictions_and_typos_are_refused_with_the_file(spec: Path, old: str, new: str, where: str) -> None:
    changed(spec, old, new)
    with pytest.raises(SpecificationError, match=where) as error:
        read_kernel(spec)
    assert str(spec) in str(error.value)


def test_a_constant_fill_is_kept(spec: Path) -> None:
    changed(spec, 'shape = ["N"]', 'shape = ["N"]\ninit = "constant"\nfill = 3.0')
    argument = read_kernel(spec).arguments[0]
    assert (argument.init, argument.fill) == (Init.CONSTANT, 3.0)
