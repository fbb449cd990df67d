"""The station where bytes become few: what an object shares with its like is kept once.

Three ways, from the plainest. Small objects stay as they are. Others are compressed with a dictionary of their kind,
trained from the first of them and again when it no longer fits. Those with an owner in common (the Pods of a
ReplicaSet) are all but the same, and are kept as what tells them from one of them.

Measured on 10,000 Pods of 5.3 KB in 500 ReplicaSets: 863 bytes and 7 µs a Pod with a dictionary, 340 bytes and 4 µs
beside a sibling, or 30 µs where none of its siblings came lately; reading back takes 5 µs and 2 µs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Protocol

import zstandard

_SMALL: Final = 512  # bytes: what is smaller stays as it is
_SAMPLES: Final = 50
_SAMPLED_BYTES: Final = 64 << 10  # fewer bytes are not worth a dictionary
_LARGEST_DICTIONARY: Final = 32 << 10
_DECAYED: Final = 1.3  # times what its own samples took: a dictionary that no longer fits
_OUTGROWN: Final = 1.25  # times as large as what it would be compared with: there is more to be shared by then
_LIVE: Final = 3  # families that are ready to be compared with: each takes 80 KB, once for either way
_LATELY: Final = 8  # families that were met last: the next of them is worth making its family ready
_MAGIC: Final = b"\x28\xb5\x2f\xfd"  # zstandard's: no JSON begins so


class Codec(Protocol):
    """Knows how to read what was packed in one way."""

    def unpack(self, data: bytes) -> bytes:
        """The bytes as they were."""
        ...


class _Plain:
    def unpack(self, data: bytes) -> bytes:
        return data


PLAIN: Final[Codec] = _Plain()


def is_packed(data: bytes) -> bool:
    """Whether it takes a codec to read it."""
    return data.startswith(_MAGIC)


class _Dictionary:
    """zstandard with a dictionary. It lives as long as something that was packed with it."""

    def __init__(self, samples: list[bytes]) -> None:
        size = min(_LARGEST_DICTIONARY, sum(map(len, samples)) // 4)
        # With k and d given training takes 8 ms; left to find them, zstandard takes a second. Tables of 2 to the 16th
        # instead of the 20th, which so few samples do not fill: 1 to 3 ms, for a dictionary that packs no worse.
        trained = zstandard.train_dictionary(size, [*samples], k=1024, d=8, f=16)
        # No size of a source here: with one, the tables of the dictionary would not fit a larger source.
        trained.precompute_compress(level=1)  # pyright: ignore[reportUnknownMemberType]
        self.unpack = zstandard.ZstdDecompressor(dict_data=trained).decompress
        self.compress = zstandard.ZstdCompressor(
            level=1, dict_data=trained, write_checksum=False, write_dict_id=False
        ).compress
        self.expected = sum(len(self.compress(sample)) for sample in samples) / sum(map(len, samples))


class Family:
    """Objects that are alike: each is kept as what tells it from one of them."""

    __slots__ = ("_live", "_packed_by", "_sample", "size")

    def __init__(self, sample: bytes, packed_by: Codec, size: int, live: _Live) -> None:
        self.size = size  # of the sample, unpacked
        self._sample = sample
        self._packed_by = packed_by
        self._live = live

    def sample(self) -> zstandard.ZstdCompressionDict:
        """The one that all are compared with."""
        return zstandard.ZstdCompressionDict(
            self._packed_by.unpack(self._sample), dict_type=zstandard.DICT_TYPE_RAWCONTENT
        )

    def pack(self, data: bytes) -> bytes:
        """What tells this one from the sample."""
        return self._live.compress_for(self)(data)

    def unpack(self, data: bytes) -> bytes:
        """The bytes as they were."""
        return self._live.decompress_for(self)(data)


class Siblings:
    """Objects with an owner in common, of which the first begins a family.

    One that is much larger begins another: Pods are first seen without a status, and half of a Pod is its status.
    """

    __slots__ = ("family",)

    def __init__(self) -> None:
        self.family: Family | None = None


class _Live:
    """The families that were met last, with what it takes to pack and to unpack their members."""

    def __init__(self) -> None:
        self._lately: OrderedDict[Family, None] = OrderedDict()
        self._compress: OrderedDict[Family, Callable[[bytes], bytes]] = OrderedDict()
        self._decompress: OrderedDict[Family, Callable[[bytes], bytes]] = OrderedDict()

    def meet(self, family: Family) -> bool:
        """Whether it was met lately: members come together in a list, and where something happens to all of them."""
        met = family in self._lately
        self._lately[family] = None
        self._lately.move_to_end(family)
        if len(self._lately) > _LATELY:
            self._lately.popitem(last=False)
        return met

    def compress_for(self, family: Family) -> Callable[[bytes], bytes]:
        ready = self._compress.get(family)
        if ready is None:
            ready = self._compress[family] = _compress_beside(family.sample())
        return _met(self._compress, family, ready)

    def decompress_for(self, family: Family) -> Callable[[bytes], bytes]:
        ready = self._decompress.get(family)
        if ready is None:
            ready = self._decompress[family] = zstandard.ZstdDecompressor(dict_data=family.sample()).decompress
        return _met(self._decompress, family, ready)


def _met(
    ready: OrderedDict[Family, Callable[[bytes], bytes]], family: Family, function: Callable[[bytes], bytes]
) -> Callable[[bytes], bytes]:
    ready.move_to_end(family)
    if len(ready) > _LIVE:
        ready.popitem(last=False)
    return function


def _compress_beside(sample: zstandard.ZstdCompressionDict) -> Callable[[bytes], bytes]:
    parameters = _parameters(-(-len(sample) // 1024) * 1024)
    return zstandard.ZstdCompressor(dict_data=sample, compression_params=parameters).compress


@lru_cache(maxsize=64)
def _parameters(size: int) -> zstandard.ZstdCompressionParameters:
    return zstandard.ZstdCompressionParameters.from_level(  # pyright: ignore[reportUnknownMemberType]
        1,
        source_size=size,
        dict_size=size,
        hash_log=max(10, (size // 4).bit_length()),  # an eighth of the default's memory, for the same result
        min_match=7,  # what siblings share is long
        write_checksum=False,
        write_dict_id=False,
    )


class Packer:
    """Packs the objects of one kind."""

    def __init__(self) -> None:
        self.trained = 0
        self._live = _Live()
        self._dictionary: _Dictionary | None = None
        self._samples: list[bytes] = []
        self._sampled = 0
        self._sampling = True
        self._stride = 1  # every so many-th object is a sample
        self._window = 512  # objects after which a dictionary is judged
        self._seen = 0
        self._bytes_in = 0
        self._bytes_out = 0

    def pack(self, data: bytes, siblings: Siblings | None = None) -> tuple[bytes, Codec]:
        """Pack an object: beside its siblings, if it has some."""
        if len(data) < _SMALL:
            return data, PLAIN
        if siblings is None:
            return self._pack_alone(data)
        family = siblings.family
        if family is None or len(data) > _OUTGROWN * family.size:
            packed, codec = self._pack_alone(data)
            siblings.family = family = Family(packed, codec, len(data), self._live)
            self._live.meet(family)
            return packed, codec
        if not self._live.meet(family) and self._dictionary is not None:
            return self._pack_alone(data)  # it comes alone, and making its family ready takes five times as long
        return _smaller(data, _exactly(family.pack(data)), family)

    def _pack_alone(self, data: bytes) -> tuple[bytes, Codec]:
        self._seen += 1
        if self._sampling and self._seen % self._stride == 0:
            self._sample(data)
        dictionary = self._dictionary
        if dictionary is None:
            return data, PLAIN
        packed = _exactly(dictionary.compress(data))
        self._bytes_in += len(data)
        self._bytes_out += len(packed)
        if self._seen >= self._window:
            self._judge(dictionary)
        return _smaller(data, packed, dictionary)

    def _sample(self, data: bytes) -> None:
        self._samples.append(data)
        self._sampled += len(data)
        if len(self._samples) < _SAMPLES or self._sampled < _SAMPLED_BYTES:
            return
        try:
            dictionary = _Dictionary(self._samples)
        except zstandard.ZstdError:  # the samples have too little in common
            dictionary = None
        if dictionary is not None and dictionary.expected < 1:
            self._dictionary = dictionary
            self.trained += 1
        self._samples, self._sampled, self._sampling = [], 0, False
        self._start_window()

    def _judge(self, dictionary: _Dictionary) -> None:
        if self._bytes_out > _DECAYED * dictionary.expected * self._bytes_in:
            self._sampling = True
            # From all over what comes, as a list comes sorted, and in ever larger steps, as training is not free.
            self._stride = max(1, self._window // _SAMPLES)
        self._window *= 2
        self._start_window()

    def _start_window(self) -> None:
        self._seen = self._bytes_in = self._bytes_out = 0


def _smaller(data: bytes, packed: bytes, codec: Codec) -> tuple[bytes, Codec]:
    return (packed, codec) if len(packed) < len(data) else (data, PLAIN)


def _exactly(packed: bytes) -> bytes:
    """A copy without the room that zstandard reserved for the worst case and that would be kept with the result."""
    return bytes(memoryview(packed))
