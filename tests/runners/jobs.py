"""Jobs for the tests of the worker; loaded by the keeper as a file, with the standard library only."""

import os
import signal


def run(arguments, fds):
    """Do what is asked."""
    what = arguments["do"]
    if what == "environment":
        os.write(1, " ".join(os.environ).encode())
    elif what == "raise":
        raise RuntimeError("no luck")
    elif what == "print":
        os.write(1, b"x" * 100_000)
        os.write(1, b"x")
    elif what == "hang":
        os.write(fds[0], b"!")
        signal.pause()
    elif what == "copy":
        os.write(fds[1], os.read(fds[0], 100))
    elif what == "limits":
        bytearray(arguments["bytes"])
