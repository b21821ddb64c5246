"""The numbers of system calls are those of the kernel's own headers."""

import re
from pathlib import Path

import pytest

from tunewright.runners import seccomp

TABLES = (
    seccomp._PROCESSES,
    seccomp._NETWORK,
    seccomp._MACHINE_WIDE,
    seccomp._TO_ITSELF,
    {"clone": seccomp._CLONE, "clone3": seccomp._CLONE3, "prlimit64": seccomp._PRLIMIT},
    {name: (number, None) for name, number in seccomp._FORKS.items()},
)


@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), (1, "/usr/include/asm-generic/unistd.h")],
    ids=["x86-64", "aarch64"],
)
def test_numbers_are_those_of_the_headers(column, header):
    if not Path(header).is_file():
        pytest.skip(f"no {header}")
    text = Path(header).read_text("ascii", errors="replace")
    known = {name: int(n) for name, n in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = {name: numbers[column] for table in TABLES for name, numbers in table.items()}
    # a header older than a call does not know it
    assert {name: known.get(name, n) for name, n in ours.items() if n is not None} == {
        name: n for name, n in ours.items() if n is not None
    }


def test_an_unknown_number_has_a_name_all_the_same():
    assert seccomp.syscall_name(99_999) == "system call 99999"
