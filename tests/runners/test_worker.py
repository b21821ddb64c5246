"""The worker runs jobs apart, ends them on time, and survives the loss of its own helper process."""

import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tunewright.errors import RunnerError
from tunewright.runners import worker as worker_module
from tunewright.runners.isolation import Isolation, Limits
from tunewright.runners.keeper import KEEPERS, OUTPUT_KEPT_BYTES, SETUP_FAILED
from tunewright.runners.worker import Worker, layers

JOBS = str(Path(__file__).with_name("jobs.py"))
LIMITS = Limits(wall_s=10.0)

ALL = pytest.mark.parametrize(
    "isolation",
    [Isolation(), Isolation(filter=False), Isolation(namespace=False), Isolation(False, False)],
    ids=["all", "no filter", "no namespace", "neither"],
)


@pytest.fixture
def worker():
    with Worker([JOBS]) as made:
        yield made


def gone(pids: list[int], within_s: float = 10.0) -> bool:
    """Whether all these processes end within some seconds."""
    last = time.monotonic() + within_s
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([fd], [], [], max(last - time.monotonic(), 0))[0]:
                return False
        finally:
            os.close(fd)
    return True


def test_every_layer_is_reported_with_a_reason_where_it_is_off():
    found = layers()
    assert [layer.name for layer in found] == [
        "process namespace", "orphan adoption", "resource limits", "system call filter",
    ]  # fmt: skip
    assert all(layer.on != bool(layer.note) for layer in found)


@ALL
def test_bulk_data_goes_through_descriptors(isolation):
    given, taken = os.memfd_create("in"), os.memfd_create("out")
    try:
        os.pwrite(given, b"some numbers", 0)
        with Worker([JOBS], isolation=isolation) as worker:
            end = worker.run(JOBS, {"do": "copy"}, [given, taken], limits=LIMITS)
        assert (end.exit, os.pread(taken, 100, 0)) == (0, b"some numbers")
    finally:
        os.close(given)
        os.close(taken)


def test_a_job_sees_no_key_of_the_environment(monkeypatch):
    monkeypatch.setenv("SERVICE_API_KEY", "secret")
    with Worker([JOBS]) as worker:
        end = worker.run(JOBS, {"do": "environment"}, limits=LIMITS)
    assert "PATH" in end.output.split()
    assert "SERVICE_API_KEY" not in end.output


def test_an_exception_in_a_job_ends_the_child_and_is_told(worker):
    end = worker.run(JOBS, {"do": "raise"}, limits=LIMITS)
    assert (end.exit, end.output) == (SETUP_FAILED, "RuntimeError: no luck\n")
    assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0


def test_an_unknown_job_is_a_failed_child_not_a_lost_keeper(worker):
    end = worker.run("no.such.job", {}, limits=LIMITS)
    assert (end.exit, end.lost) == (SETUP_FAILED, "")


def test_only_the_beginning_of_the_output_is_kept(worker):
    assert worker.run(JOBS, {"do": "print"}, limits=LIMITS).output == "x" * OUTPUT_KEPT_BYTES


def test_more_output_than_allowed_ends_the_job(worker):
    end = worker.run(JOBS, {"do": "print"}, limits=Limits(wall_s=10.0, output_bytes=1000))
    assert end.signal == signal.SIGXFSZ


def test_memory_beyond_the_limit_is_refused(worker):
    limits = Limits(wall_s=10.0, memory_bytes=64 << 20)
    assert worker.run(JOBS, {"do": "limits", "bytes": 1 << 20}, limits=limits).exit == 0
    assert "MemoryError" in worker.run(JOBS, {"do": "limits", "bytes": 1 << 28}, limits=limits).output


@ALL
def test_a_job_is_ended_at_its_deadline(isolation, left_behind):
    read, write = os.pipe()
    try:
        with Worker([JOBS], isolation=isolation) as worker:
            end = worker.run(JOBS, {"do": "hang"}, [write], limits=Limits(wall_s=0.2))
            assert len(left_behind()) <= KEEPERS
        assert (end.timed_out, end.signal) == (True, signal.SIGKILL)
        assert left_behind() == []
    finally:
        os.close(read)
        os.close(write)


def test_a_keeper_that_dies_between_jobs_is_replaced_without_a_word(worker, left_behind):
    assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0
    pids = left_behind()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert gone(pids)
    assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0


@ALL
def test_a_keeper_that_dies_during_a_job_is_told_and_replaced(isolation, left_behind):
    read, write = os.pipe()

    def strike(last: float) -> None:
        assert os.read(read, 1) == b"!"
        for pid in left_behind():
            os.kill(pid, signal.SIGKILL)

    try:
        with Worker([JOBS], isolation=isolation) as worker:
            end = worker.run(JOBS, {"do": "hang"}, [write], limits=LIMITS, attend=strike)
            assert "has ended" in end.lost
            assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0
    finally:
        os.close(read)
        os.close(write)


def test_a_silent_keeper_is_killed_and_replaced(worker, left_behind, monkeypatch):
    monkeypatch.setattr(worker_module, "_GRACE_S", 0.1)
    read, write = os.pipe()

    def freeze(last: float) -> None:
        assert os.read(read, 1) == b"!"
        for pid in left_behind():
            os.kill(pid, signal.SIGSTOP)

    try:
        end = worker.run(JOBS, {"do": "hang"}, [write], limits=Limits(wall_s=0.1), attend=freeze)
        assert (end.timed_out, "did not answer" in end.lost) == (True, True)
        assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0
    finally:
        os.close(read)
        os.close(write)


@ALL
def test_nothing_outlives_a_controller_that_is_killed(isolation, left_behind):
    program = (
        "import os, sys\n"
        "from tunewright.runners.worker import Worker\n"
        "from tunewright.runners.isolation import Isolation, Limits\n"
        f"worker = Worker([{JOBS!r}], isolation={isolation!r})\n"
        f"worker.run({JOBS!r}, {{'do': 'hang'}}, [1], limits=Limits(wall_s=600.0))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as controller:
        assert controller.stdout.read(1) == b"!"
        pids = left_behind()
        controller.kill()
        assert len(pids) >= 4
        assert gone(pids)


def test_an_interrupt_while_a_job_runs_ends_it_and_is_passed_on(worker, left_behind):
    def interrupt(last: float) -> None:
        raise KeyboardInterrupt

    read, write = os.pipe()
    try:
        with pytest.raises(KeyboardInterrupt):
            worker.run(JOBS, {"do": "hang"}, [write], limits=LIMITS, attend=interrupt)
        assert left_behind() == []
        assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0
    finally:
        os.close(read)
        os.close(write)


def test_the_thread_that_started_a_worker_may_end_before_it(worker, left_behind):
    pids = []

    def first() -> None:
        worker.run(JOBS, {"do": "print"}, limits=LIMITS)
        pids.extend(left_behind())

    thread = threading.Thread(target=first)
    thread.start()
    thread.join()
    assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0
    assert set(pids[:2]) <= set(left_behind())


def test_the_child_forked_ahead_serves_only_its_own_limits(worker):
    first = worker.run(JOBS, {"do": "limits", "bytes": 1 << 28}, limits=LIMITS)
    tight = Limits(wall_s=LIMITS.wall_s, memory_bytes=1 << 26)
    second = worker.run(JOBS, {"do": "limits", "bytes": 1 << 28}, limits=tight)
    assert ("MemoryError" in first.output, "MemoryError" in second.output) == (False, True)


def test_a_child_forked_ahead_that_was_killed_is_replaced(worker, left_behind):
    assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0
    until = time.monotonic() + 10
    while len(left_behind()) < KEEPERS and time.monotonic() < until:
        time.sleep(0.01)
    spare = max(left_behind())
    os.kill(spare, signal.SIGKILL)
    assert gone([spare])
    assert worker.run(JOBS, {"do": "environment"}, limits=LIMITS).exit == 0


def test_a_closed_worker_refuses_work(worker):
    worker.close()
    worker.close()
    with pytest.raises(RunnerError, match="closed"):
        worker.run(JOBS, {"do": "environment"}, limits=LIMITS)


def test_a_job_file_that_cannot_be_loaded_is_a_runner_error_with_its_words(tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("raise ValueError('cannot work like this')\n", "ascii")
    with Worker([str(broken)]) as worker, pytest.raises(RunnerError, match="cannot work like this"):
        worker.run(str(broken), {}, limits=LIMITS)
