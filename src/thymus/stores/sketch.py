"""What is kept in memory of each scope, so that the nearest of a million beliefs are found without reading them all.

Small scopes keep their vectors. Large ones keep a *sketch* of each: two bits a dimension of vector minus centre and two
numbers, about 120 bytes a belief with its status and owner. The centre (the mean of the scope's first vectors) matters:
sentence embeddings lie in a narrow cone, and without it most signs are the same for all. The inner product of a query
``q`` and a vector ``v`` is that of ``q - centre`` and ``v - centre``, plus that of ``centre`` and ``v``, which is kept,
plus a constant. The first is estimated from four levels a dimension, at the scale that makes a vector's own product
right (Gao & Long, "RaBitQ", SIGMOD 2024, arXiv 2405.12497, who have one bit). In very large scopes the signs alone,
whose Hamming distance orders vectors nearly as their angle does (Charikar, "Similarity estimation techniques from
rounding algorithms", 2002), choose what is estimated. The best of that is scored exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from thymus.core.beliefs import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from thymus.ports import Matrix, Vector

    Mask: TypeAlias = NDArray[np.bool_]
    Places: TypeAlias = NDArray[np.int64]
else:
    Mask = Places = Matrix = Any

EXACT: Final = 2_000
"""Up to so many beliefs in a scope all are scored exactly; at one more its centre is fixed."""
BY_HAMMING: Final = 16_384
"""Nearest by Hamming distance, of each stratum, that are looked at further."""
BY_LEVELS: Final = 512
"""Of those, the best by the levels of both, whose products with the query's own numbers are estimated."""
CANDIDATES: Final = 48
"""Of those, the best that are scored exactly, at least."""
_MEAN_LEVEL: Final = 1.64
"""The mean size of a level where numbers are normally distributed: 1 within a standard deviation, else 3."""

CODES: Final = {status: code for code, status in enumerate(Status)}
STATUSES: Final = tuple(Status)
_ERASED: Final = 0x80
"""Added to the class (status, and whether the user's own) of an erased belief."""
_PORTION: Final = 16_384
_BITS_OF_BYTES: Final = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).T.astype(np.float32)


def sketch(vector: Any, centre: Any) -> bytes:
    """A vector seen from the centre: signs and second bits, each padded to whole 64-bit words, and two float32.

    A dimension's level is -3, -1, 1 or 3: four times its sign bit and twice its second bit, less 3. The numbers are the
    product of vector and centre, and the step of the levels.
    """
    whole = np.asarray(vector, dtype=np.float64)
    rest = whole - centre
    signs, size = rest > 0, np.abs(rest)
    square = _sum(rest * rest)
    far = size > np.sqrt(square / len(rest))
    own = _sum(np.where(far, 3 * size, size))  # the product of the levels and what they stand for
    numbers = np.array([_sum(whole * centre), square / own if own else 0.0], dtype=np.float32)
    return _packed(signs) + _packed(signs == far) + numbers.tobytes()


def _sum(numbers: Any) -> float:
    """In their order, so that it is the same on every processor: ``verify`` compares sketches bit by bit."""
    return float(np.cumsum(numbers)[-1])


def width(dim: int) -> int:
    """Bytes of a sketch."""
    return 16 * -(-dim // 64) + 8


def _packed(bits: Any) -> bytes:
    packed = np.packbits(bits)
    return packed.tobytes() + bytes(-len(packed) % 8)


class Sketches:
    """Growing columns, one entry a belief: belief ``seq`` is at ``seq - 1``.

    :param centre: of a large scope; ``None`` for a small one, which keeps its vectors.
    """

    def __init__(self, dim: int, centre: Vector | None) -> None:
        self.dim = dim
        self.centre = centre
        self.size = 0
        self.version = 0
        self._classes = np.zeros(64, dtype=np.uint8)
        self._owners = np.zeros(64, dtype=np.int64)
        self._tally = np.zeros(256, dtype=np.int64)
        self._words = -(-dim // 64)
        room = 0 if centre is None else 64
        self._bits = np.zeros((2 * self._words, room), dtype=np.uint64)  # signs, then second bits
        self._numbers = np.zeros((2, room), dtype=np.float32)
        self._vectors = np.zeros((64 if centre is None else 0, dim), dtype=np.float32)

    def extend(self, rows: Sequence[tuple[int, int, bytes | None]]) -> None:
        """Append (status code, owner, data) of the next beliefs.

        The data is the sketch in a large scope, the float16 vector in a small one, ``None`` of an erased belief.
        """
        codes = np.array([row[0] for row in rows], dtype=np.uint8)
        owners = np.array([row[1] for row in rows], dtype=np.int64)
        erased = np.array([row[2] is None for row in rows], dtype=np.uint8)
        empty = bytes(2 * self.dim if self.centre is None else width(self.dim))
        self.append(codes, owners, b"".join(row[2] or empty for row in rows), erased)

    def append(self, codes: Any, owners: Any, data: bytes, erased: Any = 0) -> None:
        """The same of whole columns; the data of all of them in a row, zeros for an erased one."""
        start, self.size = self.size, self.size + len(codes)
        self._reserve(self.size)
        fresh = slice(start, self.size)
        self._owners[fresh] = owners
        self._classes[fresh] = codes << 1 | (self._owners[fresh] == 0) | erased * _ERASED
        self._tally += np.bincount(self._classes[fresh], minlength=256)
        if self.centre is None:
            self._vectors[fresh] = np.frombuffer(data, dtype=np.float16).reshape(len(codes), self.dim)
        else:
            rows = np.frombuffer(data, dtype=np.uint8).reshape(len(codes), width(self.dim))
            self._bits[:, fresh] = np.ascontiguousarray(rows[:, :-8]).view(np.uint64).T
            self._numbers[:, fresh] = np.ascontiguousarray(rows[:, -8:]).view(np.float32).T

    def move(self, seq: int, code: int, *, erased: bool) -> None:
        """Note the new status of a belief."""
        self._tally[self._classes[seq - 1]] -= 1
        self._classes[seq - 1] = _class(code, mine=self._owners[seq - 1] == 0) | (_ERASED if erased else 0)
        self._tally[self._classes[seq - 1]] += 1
        if erased and self.centre is None:
            self._vectors[seq - 1] = 0
        elif erased:
            self._bits[:, seq - 1] = 0
            self._numbers[:, seq - 1] = 0

    def some(self, code: int, *, mine: bool) -> bool:
        """Whether any belief has this status and is (or is not) the user's own."""
        return bool(self._tally[_class(code, mine=mine)])

    def mask(self, codes: Sequence[int], mine: bool | None, own: bool | None, owner: int) -> Mask:
        """Which beliefs have one of these statuses, are the user's own or not, and ``owner``'s or not."""
        column = self._classes[: self.size]
        found: Mask = np.zeros(self.size, dtype=bool)
        for code in codes:
            for whose in (True, False) if mine is None else (mine,):
                if self.some(code, mine=whose):
                    found |= column == _class(code, mine=whose)
        if own is not None:
            found &= (self._owners[: self.size] == owner) == own
        return found

    def vectors(self, at: Places) -> Matrix | None:
        """The vectors at these places, ``None`` in a large scope."""
        return self._vectors[at] if self.centre is None else None

    def near(self, vector: Vector, masks: Sequence[Mask], k: int) -> list[Places]:
        """Of each of these choices, ascending, those among which the ``k`` nearest to a vector should be."""
        most = max(CANDIDATES, 4 * k)
        if self.centre is None or self.size <= most:
            return [np.flatnonzero(mask) for mask in masks]
        seen, asked = vector - self.centre, np.frombuffer(sketch(vector, self.centre)[:-8], dtype=np.uint64)
        table, distances = self._table(seen), self._distances(asked[: self._words])
        step = float(np.abs(seen).mean() / _MEAN_LEVEL)
        found = []
        for mask in masks:
            at = np.flatnonzero(mask)
            if len(at) > BY_HAMMING:
                far = distances.take(at)
                at = at[far <= _threshold(far, BY_HAMMING)]
            fewer = max(BY_LEVELS, 2 * most)
            if len(at) > fewer:
                at = at[_greatest(self._scored(at, step * self._levels(at, asked)), fewer)]
            products = self._products(at, table) - 3 * seen.sum()
            found.append(np.sort(at[_greatest(self._scored(at, products), most)]))
        return found

    def _scored(self, at: Places, products: Any) -> Vector:
        """The estimated product of the query and each vector, given that of what is beyond the centre, in levels."""
        centred, step = self._numbers[:, at]
        scores: Vector = centred + step * products
        return scores

    def _distances(self, wanted: Any) -> NDArray[np.uint16]:
        """Hamming distance of the signs of every sketch, in portions that stay in the cache of the processor."""
        total = np.zeros(self.size, dtype=np.uint16)
        unlike, ones = np.empty(_PORTION, dtype=np.uint64), np.empty(_PORTION, dtype=np.uint8)
        for start in range(0, self.size, _PORTION):
            portion = total[start : start + _PORTION]
            size = len(portion)
            for row, word in zip(self._bits[: self._words], wanted, strict=True):
                np.bitwise_xor(row[start : start + size], word, out=unlike[:size])
                portion += np.bitwise_count(unlike[:size], out=ones[:size])
        return total

    def _levels(self, at: Places, asked: Any) -> NDArray[np.int32]:
        """The product of the query's levels and each sketch's, by counting bits."""
        words, ones = self._words, np.bitwise_count(asked).reshape(2, -1).sum(axis=1, dtype=np.int32)
        total = np.full(len(at), 9 * self.dim - 3 * (4 * ones[0] + 2 * ones[1]), dtype=np.int32)
        for word in range(words):
            for plane, weight in ((0, 4), (1, 2)):
                bits = self._bits[plane * words + word, at]
                for query, factor in ((asked[word], 4), (asked[words + word], 2)):
                    total += weight * factor * np.bitwise_count(bits & query).astype(np.int32)
                total -= 3 * weight * np.bitwise_count(bits).astype(np.int32)
        return total

    def _table(self, seen: Vector) -> Vector:
        """For each byte of a sketch's planes and each of its 256 values, what its levels add to the product."""
        padded = np.zeros(64 * self._words, dtype=np.float32)
        padded[: self.dim] = seen
        sums = (padded.reshape(-1, 8) @ _BITS_OF_BYTES).reshape(-1)
        return np.concatenate([4 * sums, 2 * sums])

    def _products(self, at: Places, table: Vector) -> Vector:
        """The product of the query and the levels of each sketch, each of which is 3 less."""
        packed = np.ascontiguousarray(self._bits[:, at].T).view(np.uint8).astype(np.int32)
        packed += np.arange(0, len(table), 256, dtype=np.int32)
        products: Vector = table.take(packed).sum(axis=1)
        return products

    def _reserve(self, size: int) -> None:
        room = len(self._classes)
        if size <= room:
            return
        room = max(size, room + room // 2)
        self._classes = _grown(self._classes, (room,))
        self._owners = _grown(self._owners, (room,))
        if self.centre is None:
            self._vectors = _grown(self._vectors, (room, self.dim))
        else:
            self._bits = _grown(self._bits, (2 * self._words, room))
            self._numbers = _grown(self._numbers, (2, room))


def _class(code: int, *, mine: bool) -> int:
    return code << 1 | mine


def _threshold(distances: NDArray[np.uint16], most: int) -> int:
    """The distance up to which there are ``most`` or a few more."""
    return int(np.searchsorted(np.cumsum(np.bincount(distances)), most))


def _greatest(values: Vector, most: int) -> Places:
    """Where the ``most`` greatest values are."""
    return np.argpartition(-values, most)[:most] if len(values) > most else np.arange(len(values))


def _grown(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    grown = np.zeros(shape, dtype=array.dtype)
    grown[tuple(slice(size) for size in array.shape)] = array
    return grown
