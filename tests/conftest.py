"""Fixtures shared by all tests."""

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tunewright.bench import foreign
from tunewright.kernel.spec import Argument, Kernel, Measuring, Reference, Role, Use, Verification

collect_ignore = ["stubs"]
STUBS = Path(__file__).parent / "stubs"
SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def _own_store(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test writes into the user's store."""
    monkeypatch.setenv("TUNEWRIGHT_STORE", str(tmp_path_factory.mktemp("store") / "store.sqlite"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded spaces beside the checkout; skips where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"recorded spaces are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def compiler() -> str:
    """A C compiler; skips where there is none."""
    found = shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip("no gcc or clang on PATH")
    return found


HOSTILE = Path(__file__).parent / "runners" / "hostile.c"
MARK = "GOMP_TEST_MARK"


def marked(mark: str) -> list[int]:
    """Processes, this one left out, that have the mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if mark.encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.fixture
def left_behind(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """A function that lists the living processes started during this test."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    return lambda: marked(mark)


@pytest.fixture
def hostile(compiler: str) -> Callable[..., Kernel]:
    """Makes a kernel with one parameter, the ways to behave."""

    def make(*modes: str, **measuring: object) -> Kernel:
        settings: dict[str, object] = {
            "timeout_s": 0.5, "sampling_s": 0.01, "samples_max": 5, "memory_mib": 48, "output_kib": 256,
            "compile_timeout_s": 20.0,
        }  # fmt: skip
        return Kernel(
            name="hostile",
            source=HOSTILE,
            entry="kernel",
            arguments=[
                Argument(name="a", dtype="float32", shape=("N",)),
                Argument(name="c", dtype="float32", shape=("N",), role=Role.OUT),
                Argument(name="n", dtype="int32", value="N"),
            ],
            parameters={"MODE": list(modes)},
            problem={"N": 1000},
            uses={"MODE": Use(flag="-D{}")},
            flags=("-O1", "-pthread"),
            compiler=compiler,
            verification=Verification(reference=Reference(source=HOSTILE, entry="expected")),
            measuring=replace(Measuring(), **{**settings, **measuring}),  # type: ignore[arg-type]
        )

    return make


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts a stand-in for another tuner in the package's place; afterwards all is as before."""
    used: list[str] = []

    def loaded(package: str) -> list[str]:
        return [name for name in sys.modules if name == package or name.startswith(f"{package}.")]

    def use(package: str) -> None:
        for name in loaded(package):
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.syspath_prepend(STUBS)
        used.append(package)
        _forget()

    yield use
    for package in used:
        for name in loaded(package):
            del sys.modules[name]
    _forget()


def _forget() -> None:
    foreign.method.cache_clear()
    foreign.shared.cache_clear()
