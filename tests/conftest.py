"""Fixtures shared by all tests."""

import shutil
from pathlib import Path

import pytest

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
