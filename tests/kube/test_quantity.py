import copy
import json
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.kube.quantity import Quantity

DATA = Path(__file__).parent / "data"
ROWS = [json.loads(line) for line in (DATA / "quantities.jsonl").read_text().splitlines()]
PAIRS = [json.loads(line) for line in (DATA / "quantity_pairs.jsonl").read_text().splitlines()]

UNITS = {"": Fraction(1)}
UNITS |= {suffix: Fraction(1000) ** power for power, suffix in enumerate("num", start=-3)}
UNITS |= {suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", start=1)}
UNITS |= {f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTP", start=1)}


def has_digit(text: str) -> bool:
    """Apimachinery takes a lone suffix, sign or exponent for zero; here that is a mistake."""
    return any(char.isdigit() for char in text.upper().partition("E")[0])


def test_reads_and_writes_as_kubernetes() -> None:
    beyond_the_suffixes = 0
    for text, *expected in ROWS:
        if not expected or not has_digit(text):
            with pytest.raises(TrimtabError, match="is not a quantity"):
                Quantity(text)
            continue
        canonical, notation, value, milli = expected
        quantity = Quantity(text)
        assert quantity.notation == notation, text
        if Quantity(canonical) == quantity:
            assert str(quantity) == canonical
        else:  # from 1000E on, apimachinery prints no suffix at all: another amount
            assert abs(quantity) >= Quantity("1000E")
            beyond_the_suffixes += 1
        assert value is None or quantity.value() == int(value), text
        assert milli is None or quantity.milli() == int(milli), text
    assert beyond_the_suffixes == 1


def test_computes_and_compares_as_kubernetes() -> None:
    for left, right, comparison, total, difference, factor, product in PAIRS:
        if not (has_digit(left) and has_digit(right)):
            continue
        a, b = Quantity(left), Quantity(right)
        assert (a > b) - (a < b) == comparison, (left, right)
        assert (a == b) == (comparison == 0), (left, right)
        assert str(a + b) == total, (left, right)
        assert str(a - b) == difference, (left, right)
        assert str(a * factor) == product, (left, factor)


@st.composite
def written(draw: st.DrawFn) -> tuple[str, Fraction]:
    """A quantity's text, and the amount that it means."""
    number = f"{draw(st.integers(0, 10**6))}.{draw(st.integers(0, 999)):03}"
    sign = draw(st.sampled_from(["", "-", "+"]))
    suffix = draw(st.sampled_from(sorted(UNITS)))
    return f"{sign}{number}{suffix}", Fraction(sign + number) * UNITS[suffix]


quantities = written().map(lambda pair: Quantity(pair[0]))


@given(written())
def test_is_the_amount_that_is_written_up_to_a_billionth(pair: tuple[str, Fraction]) -> None:
    quantity, exact = Quantity(pair[0]), pair[1]
    if abs(exact) >= 2**63 and quantity.notation == "BinarySI":
        assert abs(quantity) == 2**63 - 1
        return
    assert abs(exact) <= Fraction(abs(quantity.nano), 10**9) < abs(exact) + Fraction(1, 10**9)
    assert (quantity < 0) == (exact < 0)


@given(quantities)
def test_reads_what_it_writes(quantity: Quantity) -> None:
    assert Quantity(str(quantity)) == quantity
    assert str(Quantity(str(quantity))) == str(quantity)
    assert eval(repr(quantity)) == quantity
    assert pickle.loads(pickle.dumps(quantity)) == copy.deepcopy(quantity) == quantity


@given(st.lists(quantities, max_size=5))
def test_sums_and_orders_exactly(amounts: list[Quantity]) -> None:
    assert sum(amounts, Quantity(0)).nano == sum(each.nano for each in amounts)
    assert sum(amounts) == sum(reversed(amounts))
    assert [each.nano for each in sorted(amounts)] == sorted(each.nano for each in amounts)
    assert len(set(amounts)) == len({each.nano for each in amounts})


@given(quantities)
def test_rounds_away_from_zero(quantity: Quantity) -> None:
    exact = Fraction(quantity.nano, 10**9)
    assert 0 <= abs(quantity.value()) - abs(exact) < 1
    assert 0 <= abs(quantity.milli()) - abs(exact * 1000) < 1
    assert (quantity.value() < 0) == (exact < 0)
    assert int(quantity) == int(exact)
    assert float(quantity) == float(exact)
    assert bool(quantity) == (exact != 0)
    assert quantity - quantity == 0


def test_what_the_json_decoder_gives() -> None:
    assert str(Quantity(2)) == "2"
    assert Quantity(0.1) + Quantity(0.2) == Quantity("300m")
    assert str(Quantity(5 * 2**30, notation="BinarySI")) == "5Gi"
    assert Quantity(Quantity("1Gi")) == Quantity("1024Mi")


def test_whole_amounts_are_like_ints() -> None:
    assert Quantity("2k") == 2000
    assert hash(Quantity("2k")) == hash(2000)
    assert Quantity("1500m") > 1
    assert 5 - Quantity("500m") == Quantity("4500m")
    assert 1 + Quantity("1Gi") == Quantity("1073741825")
    assert Quantity("1") != "1"
    with pytest.raises(TypeError):
        _ = Quantity("1") < "2"  # pyright: ignore[reportOperatorIssue]


@pytest.mark.parametrize("factor", [1.1, Decimal("1.1"), Fraction(11, 10)])
def test_scales_by_what_the_factor_prints(factor: float | Decimal | Fraction) -> None:
    assert str(Quantity("100Mi") * factor) == str(factor * Quantity("100Mi")) == "110Mi"


def test_a_third_is_rounded_up() -> None:
    assert str(Quantity("1m") * Fraction(1, 3)) == "333334n"
    assert str(-Quantity("1m") * Fraction(1, 3)) == "-333334n"


@pytest.mark.parametrize("bad", ["1e101", "1" * 101, "1e" + "9" * 50, float("nan"), float("inf"), True, None, "Mi"])
def test_refuses_what_is_no_amount_or_would_fill_the_memory(bad: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*quantity[^\n]*$") as caught:
        Quantity(bad)
    assert isinstance(caught.value, TrimtabError)


def test_the_least_amounts_take_no_time() -> None:
    assert Quantity("1e-" + "9" * 50) == Quantity("1n")


def test_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Quantity("1").nano = 2  # pyright: ignore[reportAttributeAccessIssue]
