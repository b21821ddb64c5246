"""Renderings of published algorithms keep what defines them, faults included."""

from tunewright.optimizers import hybrid_vndx, hybrid_vndx_repaired

COSTS = [5.0, 1.0, 9.0, 3.0, 7.0, 2.0, 8.0, 6.0]


def test_the_published_elites_are_the_worst_and_the_repaired_ones_the_best() -> None:
    published: list[tuple[float, int]] = []
    repaired: list[tuple[float, int]] = []
    for i, cost in enumerate(COSTS):
        hybrid_vndx.keep_elite(published, (cost, i))
        hybrid_vndx_repaired.keep_elite(repaired, (cost, i))
    assert sorted(cost for cost, _ in published) == [5.0, 6.0, 7.0, 8.0, 9.0]
    assert sorted(-cost for cost, _ in repaired) == [1.0, 2.0, 3.0, 5.0, 6.0]
