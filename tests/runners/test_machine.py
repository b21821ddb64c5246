"""Questions about the machine have an answer where files are missing or odd."""

import pytest

from tunewright.runners import machine


@pytest.fixture
def answers(monkeypatch):
    """Lets every file hold a text; None: there is no file."""

    def hold(text: str | None) -> None:
        def read(*_: object, **__: object) -> str:
            if text is None:
                raise FileNotFoundError
            return text

        monkeypatch.setattr(machine.Path, "read_text", read)

    return hold


@pytest.mark.parametrize("text", [None, "", "model name\t:  \n", "no colon"])
def test_a_processor_without_a_name_is_called_by_its_architecture(answers, monkeypatch, text):
    answers(text)
    monkeypatch.setattr(machine.platform, "machine", lambda: "aarch64")
    assert machine.cpu_name() == "aarch64"
    monkeypatch.setattr(machine.platform, "machine", lambda: "")
    assert machine.cpu_name() == "unknown"


def test_the_first_model_name_is_the_processors_name(answers):
    answers("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\nmodel name\t: Other\n")
    assert machine.cpu_name() == "Some CPU @ 3 GHz"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2,10", {2, 10}),
        ("2-3", {2, 3}),
        ("0-2,6", {0, 1, 2, 6}),
        ("2", {2}),
        (None, {2}),
        ("odd", {2}),
        ("", {2}),
    ],
)
def test_the_threads_of_a_core_are_read_in_all_notations(answers, text, found):
    answers(text)
    assert machine.core_threads(2) == found
