"""The arithmetic of rollouts: Kubernetes' own cases, and what holds at each step of any rollout."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.local.loops.world import deployment

from trimtab.local.loops.deployment.sizes import Bounds, Sized, bounds_of, grown, shared_out, shrunk


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected"),
    [
        (10, 1, 1, (1, 1)),
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (10, 0, 0, (0, 1)),
        (1, 0, "25%", (0, 1)),
        (10, "0%", "0%", (0, 1)),
        (4, 0, 100, (0, 4)),
        (10, None, None, (3, 2)),
        (0, "25%", 0, (0, 0)),
    ],
)
def test_bounds(
    replicas: int, surge: int | str | None, unavailable: int | str | None, expected: tuple[int, int]
) -> None:
    said = {"maxSurge": surge, "maxUnavailable": unavailable}
    rolling = {key: value for key, value in said.items() if value is not None}
    made = deployment(replicas=replicas, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    bounds = bounds_of(made)
    assert (bounds.surge, bounds.unavailable) == expected


def test_recreate_has_no_room() -> None:
    assert bounds_of(deployment(replicas=3, strategy={"type": "Recreate"})) == Bounds(3, 0, 0)


@pytest.mark.parametrize(
    ("surge", "old", "new", "expected"),
    [(0, 0, 0, 10), (2, 0, 10, 10), (2, 10, 0, 2), (2, 10, 2, 2), (0, 10, 0, 0), (2, 5, 0, 7), (2, 0, 4, 10)],
)
def test_the_new_one_grows(surge: int, old: int, new: int, expected: int) -> None:
    assert grown(Bounds(10, surge, 0), Sized("new", new), old + new) == expected


@pytest.mark.parametrize(
    ("bounds", "new", "old", "expected"),
    [
        (Bounds(10, 2, 0), (0, 0), [(10, 10)], {}),  # nothing is spare
        (Bounds(10, 2, 2), (0, 0), [(10, 10)], {"o0": 8}),
        (Bounds(10, 2, 0), (2, 2), [(10, 10)], {"o0": 8}),
        (Bounds(10, 2, 2), (2, 0), [(10, 10)], {"o0": 8}),  # the new ones are not there yet
        (Bounds(10, 2, 2), (0, 0), [(10, 8)], {"o0": 8}),  # who is down goes first, and nobody else
        (Bounds(10, 2, 2), (0, 0), [(10, 9)], {"o0": 8}),
        (Bounds(10, 2, 0), (6, 6), [(3, 3), (3, 0)], {"o1": 1}),
        (Bounds(10, 5, 2), (5, 0), [(8, 8), (2, 0)], {"o1": 0}),
        (Bounds(10, 0, 10), (0, 0), [(5, 5), (5, 5)], {"o0": 0, "o1": 0}),
    ],
)
def test_the_old_ones_shrink(
    bounds: Bounds, new: tuple[int, int], old: list[tuple[int, int]], expected: dict[str, int]
) -> None:
    sized = [Sized(f"o{i}", size, up, made=str(i)) for i, (size, up) in enumerate(old)]
    found = shrunk(bounds, Sized("new", *new), sized)
    before = {each.name: each.replicas for each in sized}
    assert before | found == before | expected


@pytest.mark.parametrize(
    ("scaled_from", "scaled_to", "surge", "sizes", "expected"),
    [
        (10, 12, 0, [10], [12]),
        (10, 5, 0, [10], [5]),
        (10, 20, 0, [5, 5], [10, 10]),
        (10, 20, 0, [2, 8], [4, 16]),
        (10, 6, 0, [7, 3], [4, 2]),
        (10, 0, 0, [7, 3], [0, 0]),
        (20, 19, 0, [7, 7, 6], [7, 6, 6]),  # the oldest of the largest
        (6, 20, 0, [2, 2, 2], [7, 7, 6]),  # what is left goes to the newest of the largest
        (10, 20, 2, [2, 10], [4, 18]),
        (10, 5, 2, [4, 8], [2, 5]),
    ],
)
def test_each_gets_its_share(
    scaled_from: int, scaled_to: int, surge: int, sizes: list[int], expected: list[int]
) -> None:
    """The newest stands first."""
    most = scaled_from + surge
    sets = [Sized(f"r{i}", size, made=str(9 - i), most=most) for i, size in enumerate(sizes)]
    found = shared_out(Bounds(scaled_to, surge, 0), sets, sum(sizes))
    assert [found[f"r{i}"] for i in range(len(sizes))] == expected


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(0, 60), st.integers(0, 10), st.integers(1, 100)
)
def test_shares_add_up(sizes: list[int], replicas: int, surge: int, most: int) -> None:
    sets = [Sized(f"r{i}", size, made=str(i), most=most) for i, size in enumerate(sizes)]
    found = shared_out(Bounds(replicas, surge, 0), sets, sum(sizes))
    assert sum(found.values()) == (replicas + surge if replicas else 0) or min(found.values()) == 0
    assert min(found.values()) >= 0


@given(
    replicas=st.integers(0, 30),
    surge=st.integers(0, 8),
    unavailable=st.integers(0, 8),
    old=st.lists(st.integers(0, 12), max_size=3),
    dice=st.randoms(),
)
def test_any_rollout_keeps_its_bounds_and_ends(
    replicas: int, surge: int, unavailable: int, old: list[int], dice: Random
) -> None:
    """A model: sizes change as is said, Pods become available one by one, some are down for a while."""
    bounds = Bounds(replicas, surge, min(unavailable, replicas) if surge or unavailable else min(1, replicas))
    sets = {f"o{i}": Sized(f"o{i}", size, size, made=str(i)) for i, size in enumerate(old)} | {"new": Sized("new", 0)}
    for _ in range(400):
        new, olds = sets["new"], [each for name, each in sets.items() if name != "new"]
        total = sum(each.replicas for each in sets.values())
        available = sum(each.available for each in sets.values())
        size = grown(bounds, new, total) if new.replicas < replicas else replicas
        if size != new.replicas:
            assert total + size - new.replicas <= max(total, bounds.most)
            sets["new"] = Sized("new", size, min(new.available, size))
            continue
        changes = shrunk(bounds, new, olds)
        lost = 0
        for name, smaller in changes.items():
            each = sets[name]
            down = each.replicas - each.available
            gone = max(each.replicas - smaller - down, 0)  # who is down goes first
            lost += gone
            sets[name] = Sized(name, smaller, each.available - gone, made=each.made)
        assert available - lost >= min(available, bounds.fewest_available)
        if not changes:
            if new.available < new.replicas:
                sets["new"] = Sized("new", new.replicas, new.available + dice.randint(0, 1))
            elif not any(each.replicas for each in olds):
                break
    assert (sets["new"].replicas, sum(each.replicas for each in sets.values())) == (replicas, replicas)
