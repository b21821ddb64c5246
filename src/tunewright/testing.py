"""Conformance suites for other people's plug-ins.

In a test of your own optimizer::

    from tunewright.testing import check_optimizer

    def test_my_optimizer_conforms():
        check_optimizer(my_optimizer)
"""

from tunewright.plan_check import EXEMPTIONS, check_optimizer

__all__ = ["EXEMPTIONS", "check_optimizer"]
