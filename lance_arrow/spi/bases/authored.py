"""`AuthoredCodec`: identity, options, config and score of a private codec whose author writes only a few methods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import (
    CorruptFileError,
    CorruptPageError,
    InvalidArgumentError,
    LanceError,
    PluginContractError,
)
from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, FixedWidth
from lance_arrow.spi.chunk_cuts import largest_power_of_two
from lance_arrow.spi.encoding import ChunkRules, EncodedChunks
from lance_arrow.spi.keys import PRIVATE_CODEC, DecodeContext, EncodingKey
from lance_arrow.spi.private import private_description
from lance_arrow.spi.scopes import EncodeScope

_DTYPE_BYTES = 3


class AuthoredCodec:
    """What the base classes of private codecs share. It is no class to inherit from."""

    id: ClassVar[str]
    """``vendor.name/1``: identity of the codec in files and in ``column_options``. The number is the version of its
    bytes."""
    distribution: ClassVar[str]
    """Name of the distribution to install. Readers without the codec print it."""
    decode_errors: ClassVar[tuple[type[Exception], ...]] = (ValueError,)
    """Exceptions by which the decoder of the author rejects damaged bytes."""

    key: ClassVar[EncodingKey]
    contexts: ClassVar[frozenset[DecodeContext]] = frozenset(DecodeContext)
    writes: ClassVar[Mapping[DecodeContext, str]] = MappingProxyType(dict.fromkeys(DecodeContext, "2.1"))

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        if "id" in vars(cls):
            cls.key = EncodingKey(PRIVATE_CODEC, cls.id)
            # It checks the id and the distribution: the plugin fails at import, not at the first page.
            private_description(cls.key, getattr(cls, "distribution", ""))

    def for_options(self, options: Mapping[str, Any]) -> Self:
        """Return the codec for a column with these column options; the codec itself by default.

        Raises
        ------
        InvalidArgumentError
            The codec has no such option, or the value is invalid.
        """
        if options:
            raise InvalidArgumentError(f"the codec {self.id!r} has no option {min(options)!r}", detail=dict(options))
        return self

    def config(self) -> bytes:
        """Return the parameters that reading needs; none by default."""
        return b""

    def for_config(self, config: bytes) -> Self:
        """Return the codec with the parameters that `config` holds; the codec itself by default.

        Raises
        ------
        CorruptFileError
            The parameters contradict themselves.
        """
        if config:
            raise CorruptFileError(f"{len(config)} bytes of parameters for the codec {self.id!r}, which has none")
        return self

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the score of other codecs, which encode what this one cannot; None if no other codec can."""
        return scope.estimate_child(block, context, without=frozenset({self.key}))

    def _by_others(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Any:
        return scope.encode_child(block, context, without=frozenset({self.key}))

    def _encoded(self, made: Any) -> bytes:
        """Check the result of the author's encoder."""
        if not isinstance(made, (bytes, bytearray, memoryview)):
            raise self._broken(f"its encoder returned {type(made).__name__}, expected bytes")
        return bytes(made)

    def _broken(self, what: str) -> PluginContractError:
        return PluginContractError(f"the codec {self.id!r} of {self.distribution!r} is broken: {what}")

    @contextmanager
    def _decoding(self, part: int) -> Iterator[None]:
        """Translate the exceptions of the author's decoder."""
        try:
            yield
        except LanceError:
            raise
        except self.decode_errors as error:
            raise CorruptPageError(f"the codec {self.id!r} cannot decode its bytes: {error}", detail=part) from error


class TypedCodec(AuthoredCodec):
    """What codecs of numbers share: the dtypes that they take. The config begins with one of them."""

    dtypes: ClassVar[tuple[str, ...]]
    """Names of dtypes of 1, 2, 4 or 8 bytes, such as ``("int32", "float64")``. Blocks tell only the width of values.
    The first dtype of that width is taken, unless the column option ``dtype`` names another."""
    _dtypes: ClassVar[tuple[np.dtype[Any], ...]]

    def __init_subclass__(cls, **words: Any) -> None:
        super().__init_subclass__(**words)
        if "dtypes" in vars(cls):
            cls._dtypes = tuple(np.dtype(name).newbyteorder("<") for name in cls.dtypes)
            wrong = [one for one in cls._dtypes if one.kind not in "iuf"]
            if wrong or not cls._dtypes:
                raise PluginContractError(
                    f"{cls.__name__}.dtypes is {cls.dtypes}, expected names of integers and floats"
                )

    def _for_column(self, shape: BlockShape, scope: EncodeScope) -> tuple[Self, np.dtype[Any]] | None:
        """Return the codec for the options of a column, and the dtype of its values; None for other widths."""
        options = dict(scope.options.extra)
        name = options.pop("dtype", None)
        fitting = [one for one in self._dtypes if shape == FixedWidth(8 * one.itemsize)]
        if name is not None:
            names = [one.name for one in fitting]
            if name not in names:
                raise InvalidArgumentError(
                    f"dtype is {name!r}, expected one of {', '.join(names) or 'none'} for values of this width",
                    detail=name,
                )
            fitting = [fitting[names.index(name)]]
        codec = self.for_options(options)
        return (codec, fitting[0]) if fitting else None

    def _described(self, dtype: np.dtype[Any]) -> bytes:
        return dtype.str.encode() + self.config()

    def _for_description(self, config: bytes) -> tuple[Self, np.dtype[Any]]:
        for dtype in self._dtypes:
            if config[:_DTYPE_BYTES] == dtype.str.encode():
                return self.for_config(config[_DTYPE_BYTES:]), dtype
        raise CorruptFileError(f"the codec {self.id!r} does not take values of dtype {config[:_DTYPE_BYTES]!r}")

    def _array(self, made: Any, num_values: int, dtype: np.dtype[Any], part: int) -> NDArray[Any]:
        """Check the result of the author's decoder."""
        if not isinstance(made, np.ndarray) or made.dtype != dtype:
            found = f"dtype {made.dtype}" if isinstance(made, np.ndarray) else type(made).__name__
            raise self._broken(f"its decoder returned {found}, expected an array of {dtype}")
        if made.shape != (num_values,):
            raise CorruptPageError(
                f"the codec {self.id!r} of {self.distribution!r} decoded an array of shape {made.shape}, "
                f"expected ({num_values},)",
                detail=part,
            )
        return made


def parts_of(data: Bytes, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Iterator[bytes]:
    """Iterate over the bytes ``data[starts[i] : starts[i] + sizes[i]]``, after a check of all places.

    Raises
    ------
    CorruptPageError
        A part leaves `data`.
    """
    wrong = (sizes < 0) | (starts < 0) | (starts > len(data) - sizes)
    if wrong.any():
        raise CorruptPageError("encoded values leave their page", detail=int(np.argmax(wrong)))
    places = zip(starts.tolist(), sizes.tolist(), strict=True)
    return (data[start : start + size].tobytes() for start, size in places)


def encoded_chunks(
    description: Any, num_values: int, most_values: int, rules: ChunkRules, encode: Callable[[int, int], bytes]
) -> EncodedChunks | None:
    """Encode values in chunks that obey the rules; a chunk that becomes too large is halved.

    Parameters
    ----------
    description
        Describes the chunks.
    num_values
        Number of values.
    most_values
        Most values of a chunk, apart from ``rules.max_values``.
    encode
        Encodes the values ``start .. stop``.

    Returns
    -------
    EncodedChunks or None
        None if two values do not fit a chunk.
    """
    parts: list[bytes] = []
    counts: list[int] = []

    def cut(start: int, stop: int, most: int) -> bool:
        part = encode(start, stop) if stop > start else b""
        if (len(part) + 7) & ~7 <= rules.max_bytes:
            parts.append(part)
            counts.append(stop - start)
            return True
        half = most // 2
        if half < 2:
            return False
        return all(cut(one, min(one + half, stop), half) for one in range(start, stop, half))

    chunk_values = max(largest_power_of_two(min(most_values, rules.max_values)), 2)
    if chunk_values > rules.max_values:
        return None
    for start in range(0, max(num_values, 1), chunk_values):
        if not cut(start, min(start + chunk_values, num_values), chunk_values):
            return None
    sizes = np.array([[len(part) for part in parts]], np.int64)
    return EncodedChunks(description, (np.frombuffer(b"".join(parts), np.uint8),), sizes, np.array(counts, np.int64))


def require_children(message: Any, count: int, codec_id: str) -> None:
    """Check the number of children of a private codec's description."""
    if len(message.children) != count:
        raise CorruptFileError(f"{len(message.children)} children for the codec {codec_id!r}, expected {count}")
