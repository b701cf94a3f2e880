"""What is kept in memory of each scope, so that the nearest of a million beliefs are found without reading them all.

Small scopes keep their vectors. Large ones keep a *sketch* of each: the sign of every dimension of vector minus centre,
about 60 bytes a belief with its status and owner. The centre (the mean of the scope's first vectors) matters: sentence
embeddings lie in a narrow cone, and without it most signs are the same for all. The Hamming distance of sketches orders
vectors nearly as their angle does (Charikar, "Similarity estimation techniques from rounding algorithms", 2002); its
nearest are ordered again by the query's own numbers against the signs, and the best of those are scored exactly.
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
BY_HAMMING: Final = 512
"""Nearest by Hamming distance, of each stratum, that are looked at further."""
CANDIDATES: Final = 48
"""Of those, the best that are scored exactly, at least."""

CODES: Final = {status: code for code, status in enumerate(Status)}
STATUSES: Final = tuple(Status)
_ERASED: Final = 0x80
"""Added to the class (status, and whether the user's own) of an erased belief."""
_PORTION: Final = 16_384
_BITS_OF_BYTES: Final = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).T.astype(np.float32)


def sketch(vector: Any, centre: Any) -> bytes:
    """The signs of a vector seen from the centre, padded to whole 64-bit words."""
    bits = np.packbits(np.greater(vector, centre))
    return bits.tobytes() + bytes(-len(bits) % 8)


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
        self._width = -(-dim // 64)
        self._bits = np.zeros((self._width, 0 if centre is None else 64), dtype=np.uint64)
        self._vectors = np.zeros((64 if centre is None else 0, dim), dtype=np.float32)

    def extend(self, rows: Sequence[tuple[int, int, bytes | None]]) -> None:
        """Append (status code, owner, data) of the next beliefs.

        The data is the sketch in a large scope, the float16 vector in a small one, ``None`` of an erased belief.
        """
        codes = np.array([row[0] for row in rows], dtype=np.uint8)
        owners = np.array([row[1] for row in rows], dtype=np.int64)
        erased = np.array([row[2] is None for row in rows], dtype=np.uint8)
        empty = bytes(2 * self.dim if self.centre is None else 8 * self._width)
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
            self._bits[:, fresh] = np.frombuffer(data, dtype=np.uint64).reshape(len(codes), self._width).T

    def move(self, seq: int, code: int, *, erased: bool) -> None:
        """Note the new status of a belief."""
        self._tally[self._classes[seq - 1]] -= 1
        self._classes[seq - 1] = _class(code, mine=self._owners[seq - 1] == 0) | (_ERASED if erased else 0)
        self._tally[self._classes[seq - 1]] += 1
        if erased and self.centre is None:
            self._vectors[seq - 1] = 0
        elif erased:
            self._bits[:, seq - 1] = 0

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
        seen = vector - self.centre
        table, distances = self._table(seen), self._distances(sketch(seen, 0))
        found = []
        for mask in masks:
            at = np.flatnonzero(mask)
            far = distances.take(at)
            close = at[far <= _threshold(far, max(BY_HAMMING, 2 * most))]
            found.append(np.sort(close[_greatest(self._products(close, table), most)]))
        return found

    def _distances(self, wanted: bytes) -> NDArray[np.uint16]:
        """Hamming distance of every sketch, in portions that stay in the cache of the processor."""
        total = np.zeros(self.size, dtype=np.uint16)
        words = np.frombuffer(wanted, dtype=np.uint64)
        unlike, ones = np.empty(_PORTION, dtype=np.uint64), np.empty(_PORTION, dtype=np.uint8)
        for start in range(0, self.size, _PORTION):
            portion = total[start : start + _PORTION]
            size = len(portion)
            for row, word in zip(self._bits, words, strict=True):
                np.bitwise_xor(row[start : start + size], word, out=unlike[:size])
                portion += np.bitwise_count(unlike[:size], out=ones[:size])
        return total

    def _table(self, seen: Vector) -> Vector:
        """For each byte of a sketch and each of its 256 values the sum of the query's numbers where it has a one."""
        padded = np.zeros(64 * self._width, dtype=np.float32)
        padded[: self.dim] = seen
        return (padded.reshape(-1, 8) @ _BITS_OF_BYTES).reshape(-1)

    def _products(self, at: Places, table: Vector) -> Vector:
        """Sum of the query's numbers where a sketch has a one."""
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
            self._bits = _grown(self._bits, (self._width, room))


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
