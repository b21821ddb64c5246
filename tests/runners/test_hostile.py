"""Kernels that misbehave are reported with their cause, leave nothing behind and harm no other."""

import pytest

from tunewright.measure import Status
from tunewright.runners.host import HostRunner
from tunewright.runners.isolation import Isolation
from tunewright.runners.keeper import KEEPERS

CAUSES = {
    "NULL_WRITE": (Status.CRASH, "null pointer"),
    "ENDLESS": (Status.TIMEOUT, "not done within 0.5 s in the verification call"),
    "WRONG": (Status.WRONG_RESULT, "7 of 1,000 values wrong, first at [0]"),
    "NO_OUTPUT": (Status.WRONG_RESULT, "all 1,000 values left unwritten"),
    "PARTIAL": (Status.WRONG_RESULT, "10 left unwritten"),
    "HUGE_PRINT": (Status.CRASH, "output limit"),
    "HUGE_FILE": (Status.CRASH, "output limit"),
    "FORK": (Status.CRASH, "tried to start another process"),
    "DOUBLE_FORK": (Status.CRASH, "tried to start another process"),
    "FORK_BOMB": (Status.CRASH, "tried to start another process"),
    "EXEC": (Status.CRASH, "tried to start another process (execve)"),
    "SOCKET": (Status.CRASH, "tried to use the network"),
    "MEMORY_HOG": (Status.CRASH, "out of memory"),
    "ABORT": (Status.CRASH, "aborted itself"),
    "TERMINATE": (Status.CRASH, "terminate called"),
    "STACK_OVERFLOW": (Status.CRASH, "stack overflow"),
    "EXIT_0": (Status.CRASH, "called exit(0)"),
    "EXIT_3": (Status.CRASH, "called exit(3)"),
    "PAST_END": (Status.CRASH, "wrote past the end of c"),
    "JUST_PAST_END": (Status.CRASH, "wrote past the end of c"),
    "BEFORE_START": (Status.CRASH, "wrote before the start of c"),
    "READ_PAST_END": (Status.CRASH, "read past the end of a"),
    "WRITE_INPUT": (Status.CRASH, "wrote to input a"),
    "KILL_PARENT": (Status.CRASH, "send a signal to another process"),
    "KILL_ALL": (Status.CRASH, "send a signal to another process"),
    "CLOSE_FDS": (Status.TIMEOUT, "verification call"),
    "DIVIDE": (Status.CRASH, "division by zero"),
    "ILLEGAL": (Status.CRASH, "illegal instruction"),
    "DEAF": (Status.TIMEOUT, "waiting rather than computing"),
    "STOP": (Status.TIMEOUT, "stopped itself"),
    "WRONG_LATER": (Status.WRONG_RESULT, "right in the first call, wrong in a later one"),
    "NANS": (Status.WRONG_RESULT, "got NaN"),
    "COMPILE_ERROR": (Status.COMPILE_ERROR, "this configuration is not supported"),
    "COMPILE_MEMORY": (Status.COMPILE_ERROR, "MiB of memory"),
    "COMPILE_ENDLESS": (Status.COMPILE_ERROR, "did not finish within"),
    "CONSTRUCTOR": (Status.CRASH, "null pointer"),
    "NO_ENTRY": (Status.LAUNCH_ERROR, "undefined symbol: kernel"),
}


def test_each_of_many_hostile_kernels_gets_its_own_cause_and_good_ones_are_unharmed(hostile, left_behind):
    modes = ["GOOD", *CAUSES, "PTHREAD", "GOOD_AGAIN"]
    kernel = hostile(*modes, compile_timeout_s=2.0)
    with HostRunner(kernel, compile_memory_mib=600) as runner:
        ids = [kernel.space.find({"MODE": mode}) for mode in modes]
        found = dict(zip(modes, runner.measure(ids), strict=True))
        keepers = left_behind()
    for mode, (status, words) in CAUSES.items():
        assert (found[mode].status, words in found[mode].detail) == (status, True), (mode, found[mode])
    for mode in ("GOOD", "PTHREAD", "GOOD_AGAIN"):
        assert found[mode].status is Status.OK, (mode, found[mode])
    assert len(keepers) <= KEEPERS
    assert left_behind() == []


def test_the_detail_of_a_compile_error_shows_the_exact_command(hostile):
    kernel = hostile("COMPILE_ERROR")
    with HostRunner(kernel) as runner:
        [measurement] = runner.measure([0])
        assert " ".join(runner.command(0)) in measurement.detail


@pytest.mark.parametrize("mode", ["FORK", "DOUBLE_FORK", "FORK_SOME", "KILL_PARENT"])
@pytest.mark.parametrize("namespace", [True, False], ids=["namespace", "orphan adoption"])
def test_without_the_filter_no_process_is_left_and_the_next_kernel_is_unharmed(hostile, left_behind, mode, namespace):
    kernel = hostile(mode, "GOOD")
    with HostRunner(kernel, isolation=Isolation(namespace=namespace, filter=False)) as runner:
        runner.measure([0])
        assert len(left_behind()) <= KEEPERS
        assert runner.measure([1])[0].status is Status.OK
    assert left_behind() == []


def test_a_kernel_that_kills_everything_it_can_reaches_nothing_outside_its_namespace(hostile, left_behind):
    kernel = hostile("KILL_ALL", "GOOD")
    with HostRunner(kernel, isolation=Isolation(filter=False)) as runner:
        if not next(layer for layer in runner.layers if layer.name == "process namespace").on:
            pytest.skip("no process namespaces here")
        statuses = [measurement.status for measurement in runner.measure([0, 1])]
    assert statuses[1] is Status.OK
    assert left_behind() == []


def test_a_keeper_that_vanishes_is_replaced_and_the_configuration_reported_as_a_crash(hostile, left_behind):
    kernel = hostile("KILL_PARENT", "GOOD")
    with HostRunner(kernel, isolation=Isolation(namespace=False, filter=False)) as runner:
        crash, good = runner.measure([0, 1])
    assert (crash.status, good.status) == (Status.CRASH, Status.OK)
