"""Casts that lose nothing: every value comes back as it was when the result is cast to the type that it had.

Types of one family are cast: numbers, text, bytes, dates and timestamps, times of day, durations; in lists and structs,
too. Text is never parsed, and numbers never become text, because two texts may stand for one number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.late_arrow import pc

_REFUSALS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)
_DIGITS_OF_INTEGERS = 20
_SIGNIFICANT_BITS = {16: 11, 32: 24, 64: 53}
_MOST_HALF = 65504
_LISTS = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)


def check_family(given: pa.DataType, wanted: pa.DataType, column: str) -> None:
    """Refuse types between which no cast is lossless, before a value is seen.

    Parameters
    ----------
    given, wanted
        Types of the rows, and of the table.
    column
        Dotted path, for messages.

    Raises
    ------
    InvalidArgumentError
        The types are of different families, or structs have fields that are not wanted.
    """
    if given == wanted or pa.types.is_null(given):
        return
    if isinstance(given, pa.StructType) and isinstance(wanted, pa.StructType):
        known = {wanted.field(at).name: wanted.field(at).type for at in range(wanted.num_fields)}
        for at in range(given.num_fields):
            field = given.field(at)
            if field.name not in known:
                raise InvalidArgumentError(
                    f"the column has no field {field.name!r}; fields: {', '.join(known)}", column=column
                )
            check_family(field.type, known[field.name], f"{column}.{field.name}")
        return
    if isinstance(given, _LISTS) and isinstance(wanted, _LISTS):
        check_family(given.value_type, wanted.value_type, column)
        return
    family = _family(_plain(given))
    if family is None or family != _family(_plain(wanted)):
        raise InvalidArgumentError(f"{given} cannot be cast to {wanted} without loss: cast the rows", column=column)


def cast_losslessly(array: pa.Array, wanted: pa.DataType, column: str) -> pa.Array:
    """Cast values of types that `check_family` allows.

    Parameters
    ----------
    array
        Values of one column.
    wanted
        Type of the table's column.
    column
        Its name, for messages.

    Raises
    ------
    InvalidArgumentError
        A value would change; the message names column and value.
    """
    try:
        made = _cast(array, wanted)
    except _REFUSALS as error:
        for path, given, type_ in _leaves(array, wanted, column):
            value = _first_refused(given, type_)
            if value is not None:
                raise _changed(value, given.type, type_, path) from error
        raise InvalidArgumentError(f"{array.type} cannot be cast to {wanted}: {error}", column=column) from error
    for (path, given, type_), (_, cast, _) in zip(
        _leaves(array, wanted, column), _leaves(made, wanted, column), strict=True
    ):
        wrong = pc.index(_came_back(given, cast), False).as_py()
        if wrong >= 0:
            raise _changed(given[wrong], given.type, type_, path)
    return made


def _plain(type_: pa.DataType) -> pa.DataType:
    return type_.value_type if isinstance(type_, pa.DictionaryType) else type_


def _family(type_: pa.DataType) -> object:
    types = pa.types
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_):
        return "text"
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_binary_view(type_):
        return "bytes"
    if types.is_fixed_size_binary(type_):
        return "bytes"
    if types.is_timestamp(type_):
        # Without a zone it is a local time, of which the instant is unknown.
        return "date" if type_.tz is None else "instant"
    if types.is_date(type_):
        return "date"
    if types.is_time(type_):
        return "time"
    return "duration" if types.is_duration(type_) else None


def _leaves(array: pa.Array, wanted: pa.DataType, path: str) -> Iterator[tuple[str, pa.Array, pa.DataType]]:
    """Yield the values below lists and structs, with the types that they shall have; nulls above are left out."""
    if pa.types.is_null(array.type):
        return
    if isinstance(array.type, pa.StructType) and isinstance(wanted, pa.StructType):
        fields = array.flatten()
        for at in sorted(range(array.type.num_fields), key=lambda at: array.type.field(at).name):
            name = array.type.field(at).name
            # Fields that the rows lack are null, and lose nothing.
            if wanted.get_field_index(name) >= 0 and fields[at].null_count != len(array):
                yield from _leaves(fields[at], wanted.field(name).type, f"{path}.{name}")
    elif isinstance(array.type, _LISTS) and isinstance(wanted, _LISTS):
        yield from _leaves(array.flatten(), wanted.value_type, path)
    else:
        values = array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array
        yield path, values, _plain(wanted)


def _first_refused(values: pa.Array, wanted: pa.DataType) -> pa.Scalar | None:
    """Return the first value that Arrow's cast refuses; None where it refuses none."""
    if not _is_refused(values, wanted):
        return None
    start, stop = 0, len(values)
    while stop - start > 1:
        middle = (start + stop) // 2
        start, stop = (start, middle) if _is_refused(values[start:middle], wanted) else (middle, stop)
    return values[start]


def _is_refused(values: pa.Array, wanted: pa.DataType) -> bool:
    try:
        _cast(values, wanted)
    except _REFUSALS:
        return True
    return False


def _cast(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_integer(array.type) and pa.types.is_decimal(wanted):
        # Arrow asks for digits for every integer of the type; then for those of the values.
        array = array.cast(pa.decimal256(_DIGITS_OF_INTEGERS + max(0, wanted.scale), max(0, wanted.scale)))
    # Arrow refuses integers beyond 24 or 53 bits that are exact as floats. What is not exact is found afterwards.
    return pc.cast(array, options=pc.CastOptions(wanted, allow_float_truncate=True))


def _came_back(given: pa.Array, made: pa.Array) -> pa.Array:
    """Return which values are the same after a cast to the type that they had, ``(n,)`` booleans."""
    if given.type == made.type:
        return pa.array([True]).take(pa.nulls(len(given), pa.int32()).fill_null(0))
    if pa.types.is_integer(given.type) and pa.types.is_floating(made.type):
        return _are_exact(given, made.type)
    back = pc.cast(made, given.type, safe=False)
    if pa.types.is_float16(given.type):
        given, back = given.cast(pa.float32()), back.cast(pa.float32())
    same = pc.equal(back, given)
    if pa.types.is_floating(given.type) and pa.types.is_integer(made.type):
        # What casts make of larger values depends on the processor, and may come back.
        most = 2.0 ** (made.type.bit_width - pa.types.is_signed_integer(made.type))
        same = pc.and_(same, pc.less(given, pa.scalar(most, given.type)))
    if pa.types.is_floating(given.type):
        same = pc.or_(same, pc.and_(pc.is_nan(back), pc.is_nan(given)))
    both_null = pc.and_(given.is_null(), back.is_null())
    return pc.or_(pc.fill_null(same, False), both_null)


def _are_exact(integers: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return which integers have few enough significant bits for a type of floats, ``(n,)`` booleans."""
    values = integers.fill_null(0).to_numpy(zero_copy_only=False)
    # The size of the least integer has no sign to lose.
    sizes = np.where(values < 0, np.uint64(0) - values.astype(np.uint64), values.astype(np.uint64))
    lowest = np.maximum(sizes & (~sizes + np.uint64(1)), np.uint64(1))
    exact = sizes // lowest < np.uint64(1 << _SIGNIFICANT_BITS[wanted.bit_width])
    if wanted.bit_width == pa.float16().bit_width:
        exact &= sizes <= np.uint64(_MOST_HALF)
    return pa.array(exact)


def _changed(value: pa.Scalar, given: pa.DataType, wanted: pa.DataType, column: str) -> InvalidArgumentError:
    text = repr(value.as_py())
    shown = text if len(text) <= 80 else text[:79] + "…"
    return InvalidArgumentError(
        f"the value {shown} would change: the rows have {given}, the table has {wanted}", column=column, detail=value
    )
