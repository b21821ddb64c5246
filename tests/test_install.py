"""Area 9: a fresh install works, stays small, and says what is missing."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tunewright
from tunewright.runners.machine import cpu_name

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "src" / "tunewright").rglob("*.py"))


def test_u176_the_core_needs_two_packages_and_no_database() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {re.split("[<>=]", text)[0] for text in project["dependencies"]} == {"numpy", "rich"}


def test_u176_the_lock_files_name_every_dependency_with_hashes() -> None:
    for name in ("run", "dev"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text()
        pins = re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)
        assert {"numpy", "rich"} <= set(pins)
        assert text.count("--hash=sha256:") >= len(pins)
        assert "http" not in text


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_u177_no_message_shows_a_placeholder(source: Path) -> None:
    """A text with '{name}' that is no f-string and is not formatted would reach the user as it stands."""
    tree = ast.parse(source.read_text())
    formatted = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            for part in ast.walk(node.exc):
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and id(part) not in formatted:
                    assert not re.search(r"\{[a-z_.]+\}", part.value), f"line {part.lineno}: {part.value!r}"


def test_u174_an_unknown_device_does_not_stop_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(self: Path, *arguments: object, **options: object) -> str:
        raise OSError(2, "No such file")

    monkeypatch.setattr(Path, "read_text", unreadable)
    assert cpu_name()


def test_u179_a_machine_without_system_tools_is_still_described(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tunewright", "doctor"],
        env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "none on PATH" in done.stdout
    assert "processor" in done.stdout
    assert "Traceback" not in done.stderr


def test_u180_no_optional_package_is_imported_at_the_start() -> None:
    heavy = "('scipy', 'torch', 'kernel_tuner', 'pyopencl')"
    code = f"import sys, tunewright; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_sorted_and_there() -> None:
    assert tunewright.__all__ == sorted(tunewright.__all__)
    for name in tunewright.__all__:
        assert hasattr(tunewright, name)
