"""What is masked, and what never is."""

from datetime import UTC, datetime
from typing import Any

from tests.parity.canonical import Canonical
from tests.parity.comparing import MAY_LACK, VARIES, differences, expected, masked_too
from tests.parity.playing import Answer

NOW = datetime(2026, 5, 1, tzinfo=UTC)
U1, U2 = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"


def of(*bodies: Any) -> list[Any]:
    return [a["body"] for a in Canonical([Answer(200, {}, b) for b in bodies], NOW).answers]


def cm(version: int, uid: str = U1, **metadata: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"uid": uid, "resourceVersion": str(version), **metadata}}


def test_versions_are_compared_by_their_order() -> None:
    assert of(cm(5), cm(9)) == of(cm(100), cm(101))
    assert of(cm(5), cm(9)) != of(cm(100), cm(100))
    assert of(cm(5), cm(9)) != of(cm(101), cm(100))


def test_the_version_of_a_list_may_be_later_than_its_objects() -> None:
    def listing(version: int) -> dict[str, Any]:
        return {"kind": "ConfigMapList", "metadata": {"resourceVersion": str(version)}, "items": []}

    assert of(cm(5), listing(5)) == of(cm(5), listing(8))
    assert of(cm(5), listing(5)) != of(cm(5), listing(4))


def test_uids_are_compared_by_whose_they_are() -> None:
    assert of(cm(1, U1), cm(2, U1)) == of(cm(1, U2), cm(2, U2))
    assert of(cm(1, U1), cm(2, U1)) != of(cm(1, U1), cm(2, U2))


def test_times_that_a_script_gave_stay() -> None:
    assert of({"t": "2026-05-01T00:00:05Z"}) == of({"t": "2026-04-30T23:59:00Z"})
    assert of({"t": "2026-05-01T00:00:05Z"}) != of({"t": "2026-05-01T00:00:05.000000Z"})
    assert of({"t": "2020-01-01T00:00:00Z"}) != of({"t": "2020-01-01T00:00:01Z"})


def test_a_bookmark_that_comes_late_or_never_is_left_out() -> None:
    ends = {"k8s.io/initial-events-end": "true"}
    first, last = ({"type": "BOOKMARK", "object": each} for each in (cm(5, annotations=ends), cm(5)))
    added = {"type": "ADDED", "object": cm(5)}
    assert of([added, first, last]) == of([added, first])
    assert of([first, last]) == of(first)
    assert of([added, last]) != of(added)
    assert of([first, added, last]) != of([first, added])


def test_only_what_two_real_runs_do_not_agree_on_is_left_out() -> None:
    wanted = expected({"ip": "10.0.0.1", "port": 80, "at": 1}, {"ip": "10.0.0.7", "port": 80})
    assert differences(0, wanted, {"ip": "10.0.3.3", "port": 80}) == []
    assert [d.way for d in differences(0, wanted, {"ip": "10.0.3.3", "port": 81})] == ["port"]
    assert [d.way for d in differences(0, wanted, {"port": 80})] == ["ip"]
    assert [d.way for d in differences(0, wanted, {"ip": "x", "port": 80, "more": 1})] == ["more"]


def test_a_number_is_not_a_truth_value() -> None:
    assert differences(0, {"a": True}, {"a": 1})
    assert differences(0, [1, 2], [1, 2, 3])


def test_what_varied_before_is_masked_too() -> None:
    before = expected([{"a": 1, "b": {"c": 1}, "d": 1}], [{"a": 2, "b": {"c": 1}}])
    assert masked_too([{"a": 7, "b": {"c": 2}}], before) == [{"a": VARIES, "b": {"c": 2}, "d": MAY_LACK}]
    assert masked_too([{"a": 7, "e": 1}], None) == [{"a": 7, "e": 1}]
    assert expected(before, [{"a": 2, "b": {"c": 1}, "d": 1}]) == before
