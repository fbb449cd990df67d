"""What was applied last, remembered: when that spares a request, and when it must not."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab.controller.applied import Applied, Place, fingerprint, ours
from trimtab.kube.core.v1 import Pod, Service
from trimtab.kube.dynamic import dynamic

Widget = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)
PLACE = Place(Widget, "default", "a")
WIRE = {"spec": {"size": "1000m", "color": "red"}}


def answer(size: Any = "1", version: str = "1", uid: str = "u", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"uid": uid, "resourceVersion": version}, "spec": {"size": size, "color": "red", **spec}}


class Memory:
    def __init__(self, most: int = 100) -> None:
        self.applied = Applied(most)
        self.looked = 0

    def learn(self, place: Place = PLACE, way: str = "apply", answered: dict[str, Any] | None = None) -> None:
        self.applied.learn(place, way, b"sent", WIRE, answered or answer())

    def settled(self, current: dict[str, Any], sent: bytes = b"sent", place: Place = PLACE, way: str = "apply") -> bool:
        def look() -> Any:
            self.looked += 1
            return current

        meta = current["metadata"]
        about = (place, way, sent, meta["uid"], meta["resourceVersion"])
        return self.applied.is_settled(*about, wire=lambda: WIRE, current=look)


def test_what_was_sent_last_is_settled_while_the_servers_form_of_it_stands() -> None:
    memory = Memory()
    assert not memory.settled(answer())
    memory.learn()
    assert memory.settled(answer())
    assert memory.looked == 0  # at the very version that was answered
    assert memory.settled(answer(version="2", theirs="1"))
    assert memory.settled(answer(version="2", theirs="1"))
    assert memory.looked == 1  # once for each version
    assert not memory.settled(answer(version="3", size="2"))
    assert not memory.settled(answer(version="3", size="2"))


def test_another_object_or_another_wish_is_not_settled() -> None:
    memory = Memory()
    memory.learn()
    assert not memory.settled(answer(uid="another"))
    assert not memory.settled(answer(), sent=b"else")
    assert not memory.settled(answer(), place=Place(Widget, "default", "b"))
    assert not memory.settled(answer(), way="status")
    memory.learn(way="status")
    assert memory.settled(answer())
    memory.applied.forget(Widget, "default", "a")
    assert not memory.settled(answer())
    assert len(memory.applied) == 0


def test_memory_is_bounded_and_keeps_what_is_used() -> None:
    memory, places = Memory(most=2), [Place(Widget, "default", name) for name in "abc"]
    memory.learn(places[0])
    memory.learn(places[1])
    assert memory.settled(answer(), place=places[0])
    memory.learn(places[2])
    assert [memory.settled(answer(), place=place) for place in places] == [True, False, True]


def test_items_of_lists_are_found_by_their_keys_wherever_they_stand() -> None:
    wire = {"spec": {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 80}]}}
    current = {
        "spec": {
            "ports": [
                {"port": 99, "protocol": "TCP"},
                {"port": 80, "protocol": "TCP", "targetPort": 80},  # the key that we left out was filled in
                {"port": 53, "protocol": "UDP", "targetPort": 53},
            ]
        }
    }
    assert ours(Service, wire, current) == {"spec": {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 80}]}}
    assert ours(Service, wire, {"spec": {"ports": []}}) == {"spec": {"ports": [None, None]}}
    command = {"spec": {"containers": [{"name": "c", "command": ["a", "b"]}]}}
    there = {"spec": {"containers": [{"name": "c", "command": ["a", "x"], "image": "i"}]}}
    assert ours(Pod, command, there) == {"spec": {"containers": [{"name": "c", "command": ["a", "x"]}]}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, JSON)
def test_our_part_of_what_we_sent_is_what_we_sent_and_what_others_add_is_not_in_it(wire: Any, theirs: Any) -> None:
    assert ours(Widget, wire, wire) == wire
    if isinstance(wire, dict) and isinstance(theirs, dict):
        assert ours(Widget, wire, {**theirs, **wire}) == wire


def test_fingerprints_go_by_content_and_tell_one_from_true() -> None:
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": True})
