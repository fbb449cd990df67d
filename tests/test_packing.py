"""Packed bytes are few, and come back as they were."""

from __future__ import annotations

import json
import random
import sys
from functools import cache

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.packing import PLAIN, Codec, Family, Packer, Siblings, is_packed

WORDS = [f"{a}-{b}" for a in ("image", "volume", "probe", "policy", "label", "zone") for b in range(30)]


@cache
def common(shape: str, size: int) -> str:
    rng = random.Random(shape)
    return json.dumps({f"{shape}-{rng.choice(WORDS)}-{n}": rng.choice(WORDS) for n in range(size // 40)})


def like(shape: str, number: int, size: int = 2000) -> bytes:
    """The n-th object of many that have a shape in common."""
    own = random.Random(f"{shape} {number}").getrandbits(64)
    metadata = f'{{"name":"{shape}-{own:x}","uid":"{own:016x}"}}'
    return f'{{"metadata":{metadata},"spec":{common(shape, size)}}}'.encode()


def noise(number: int, size: int = 2000) -> bytes:
    """What nothing makes smaller. (No JSON, of which any can be made smaller.)"""
    return b"{" + random.Random(number).randbytes(size)


def read(codec: Codec, packed: bytes) -> bytes:
    """What was packed, unpacked; and whether it is packed can be told from its bytes."""
    assert is_packed(packed) is (codec is not PLAIN)
    return codec.unpack(packed)


def trained(shape: str = "pod") -> Packer:
    packer = Packer()
    for number in range(50):
        packer.pack(like(shape, number))
    assert packer.trained == 1
    return packer


def family_of(packer: Packer, first: bytes) -> tuple[Siblings, Family]:
    """A family that begins with this object."""
    siblings = Siblings()
    packer.pack(first, siblings)
    assert siblings.family is not None
    return siblings, siblings.family


@settings(max_examples=30, deadline=None)
@given(
    objects=st.lists(
        st.dictionaries(
            st.text(max_size=9), st.text() | st.integers() | st.lists(st.text(max_size=300), max_size=9), max_size=9
        ),
        max_size=9,
    ),
    space=st.sampled_from(["", " ", "\n"]),
)
def test_what_was_packed_in_any_way_comes_back_as_it_was(objects: list[dict[str, object]], space: str) -> None:
    fresh, ready = Packer(), trained()
    siblings, _ = family_of(ready, like("pod", 1))
    for obj in objects:
        for data in (json.dumps(obj).encode(), (space + json.dumps(obj, ensure_ascii=False)).encode(errors="replace")):
            own = Siblings()
            ways = (fresh.pack(data), ready.pack(data), ready.pack(data, siblings), ready.pack(data, own))
            for packed, codec in ways:
                assert read(codec, packed) == data
            assert (own.family is None) == (len(data) < 512)
            assert own.family is None or own.family.sample().as_bytes() == data


def test_small_objects_stay_as_they_are() -> None:
    packer = trained()
    small = like("pod", 1, size=100)
    assert len(small) < 512
    assert packer.pack(small) == (small, PLAIN)
    siblings = Siblings()
    assert packer.pack(small, siblings) == (small, PLAIN)
    assert siblings.family is None


def test_a_dictionary_is_trained_from_the_first_objects() -> None:
    packer = Packer()
    for number in range(49):
        data = like("pod", number)
        assert packer.pack(data) == (data, PLAIN)
    assert packer.trained == 0
    packed, codec = packer.pack(like("pod", 49))
    assert packer.trained == 1
    assert codec is not PLAIN
    assert len(packed) < len(like("pod", 49)) // 10
    assert packer._samples == []


def test_what_fits_goes_on_with_the_dictionary_it_has() -> None:
    packer = trained()
    for number in range(100, 3000):
        packer.pack(like("pod", number))
    assert packer.trained == 1


def test_a_dictionary_is_trained_again_when_what_comes_has_changed() -> None:
    packer = trained("pod")
    old, old_codec = packer.pack(like("pod", 1))
    before = len(packer.pack(like("job", 0))[0])
    for number in range(2000):
        packer.pack(like("job", number))
    assert packer.trained == 2
    packed, codec = packer.pack(like("job", 2000))
    assert len(packed) < before // 2
    assert codec is not old_codec
    assert read(old_codec, old) == like("pod", 1), "what was packed with the first is read with the first"


def test_training_again_and_again_without_success_becomes_rare() -> None:
    """Ever new shapes: each dictionary is of the past when it is trained."""
    packer = Packer()
    for number in range(6000):
        packer.pack(like(f"shape {number // 100}", number))
    assert 1 < packer.trained < 6


def test_a_list_that_comes_sorted_trains_with_samples_from_all_over_it() -> None:
    packer = trained("first")
    for number in range(3000):
        packer.pack(like(("a", "b", "c", "d")[number * 4 // 3000], number))
    sizes = [len(packer.pack(like(shape, 9999))[0]) for shape in "bcd"]
    assert min(sizes) < 300  # the shape that came last is known


def test_unlike_objects_stay_plain() -> None:
    packer = trained()
    assert packer.pack(noise(1)) == (noise(1), PLAIN)
    siblings, _ = family_of(packer, like("pod", 1))
    assert packer.pack(noise(1), siblings) == (noise(1), PLAIN)
    _, strange = family_of(packer, noise(2))
    assert strange.sample().as_bytes() == noise(2)


def test_objects_that_no_dictionary_can_be_made_of_stay_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise zstandard.ZstdError("too little in common")

    monkeypatch.setattr(zstandard, "train_dictionary", refuse)
    packer = Packer()
    for number in range(300):
        assert packer.pack(like("pod", number)) == (like("pod", number), PLAIN)
    assert packer.trained == 0
    assert len(packer._samples) < 50, "samples are let go of"


def test_siblings_are_kept_as_what_tells_them_from_the_first() -> None:
    packer, siblings = trained(), Siblings()
    first, _ = packer.pack(like("set", 0, size=8000), siblings)
    family = siblings.family
    assert family is not None
    assert family._sample is first, "the one they are compared with is kept once"
    for number in range(1, 50):
        data = like("set", number, size=8000)
        packed, codec = packer.pack(data, siblings)
        assert codec is family
        assert len(packed) < 100
        assert read(codec, packed) == data


def test_siblings_that_have_grown_are_compared_with_one_of_their_size() -> None:
    """A Pod is first seen without a status."""
    packer = trained()
    siblings, young = family_of(packer, like("pod", 0))
    grown = [like("pod", n)[:-1] + b',"status":' + common("status", 2000).encode() + b"}" for n in range(3)]
    packed, codec = packer.pack(grown[0], siblings)
    assert siblings.family is not young
    for data in grown[1:]:
        packed, codec = packer.pack(data, siblings)
        assert codec is siblings.family
        assert len(packed) < 100
        assert read(codec, packed) == data


@pytest.mark.parametrize("size", [600, 2000, 20_000, 200_000])
def test_what_is_kept_has_no_spare_room(size: int) -> None:
    """zstandard reserves room for the worst case, and that stays with its result."""
    packer = trained()
    siblings, _ = family_of(packer, like("set", 0, size))
    data = like("set", 1, size)
    for packed, codec in (packer.pack(data), packer.pack(data, siblings)):
        assert codec is not PLAIN
        assert sys.getsizeof(packed) == sys.getsizeof(b"") + len(packed)


def test_few_families_are_ready_at_a_time_and_what_was_packed_beside_others_can_be_read() -> None:
    packer = trained()
    kept: list[tuple[bytes, Family, bytes]] = []
    for number in range(50):
        siblings, family = family_of(packer, like(f"set {number}", 0))
        data = like(f"set {number}", 1)
        packed, codec = packer.pack(data, siblings)
        assert codec is family
        kept.append((packed, family, data))
    for packed, family, data in kept:
        assert read(family, packed) == data
        assert family.pack(data) == packed
    assert len(packer._live._compress) == len(packer._live._decompress) == 3


def test_the_families_that_were_met_last_stay_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    sample = Family.sample
    monkeypatch.setattr(Family, "sample", lambda self: made.append(self) or sample(self))
    packer = trained()
    families = [family_of(packer, like(f"set {number}", 0))[1] for number in range(20)]
    for family in families[1:]:
        for each in (families[0], family, families[0]):
            each.unpack(bytes(bytearray(each.pack(like("set 0", 1)))))
    assert len(made) == 2 * 20  # each of them once for either way


def test_a_family_is_made_ready_for_those_of_its_members_that_come_together() -> None:
    """For one that comes alone that would take longer than all else: it goes by the dictionary of its kind."""
    packer = trained()
    families = [family_of(packer, like(f"set {number}", 0)) for number in range(20)]
    siblings, family = families[0]
    packed, codec = packer.pack(like("set 0", 1), siblings)
    assert codec is not family
    assert not packer._live._compress
    assert read(codec, packed) == like("set 0", 1)
    for number in range(2, 5):
        assert packer.pack(like("set 0", number), siblings)[1] is family
    assert len(packer._live._lately) == 8
