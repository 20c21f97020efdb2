"""Scalars and arrays that are made without pandas are those that pyarrow makes."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow.arrays.plain_numbers import as_array, as_binary, as_numbers, as_scalar, empty_batch


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -(1 << 63),
        (1 << 63) - 1,
        0.0,
        -0.0,
        1.5,
        float("inf"),
        "",
        "a",
        "Größe \0 €",
        b"x",
        Decimal("1.5"),
    ],
    ids=repr,
)
def test_scalars(value: object) -> None:
    found, expected = as_scalar(value), pa.scalar(value)
    assert found.type == expected.type
    assert found.equals(expected)
    assert repr(found.as_py()) == repr(value)


def test_what_is_no_number_is_no_number() -> None:
    found = as_scalar(float("nan"))
    assert found.type == pa.float64()
    assert np.isnan(found.as_py())


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, 1 << 100])
def test_integers_of_too_many_bits(value: int) -> None:
    with pytest.raises(OverflowError):
        as_scalar(value)


def test_half_a_surrogate_pair() -> None:
    with pytest.raises(UnicodeEncodeError):
        as_scalar("\ud800")


@pytest.mark.parametrize("kind", ["int8", "uint64", "float32", "float64"])
def test_numbers_and_arrays(kind: str) -> None:
    numbers = np.arange(7).astype(kind)
    array = as_array(numbers[::2])
    assert array.equals(pa.array(numbers[::2]))
    assert as_numbers(array).tolist() == [0, 2, 4, 6]
    assert as_numbers(array.slice(1, 0)).dtype == np.dtype(kind)


@pytest.mark.parametrize("value", [b"", b"a", b"\0\xff" * 40])
def test_binary_values(value: bytes) -> None:
    found = as_binary(value)
    found.validate(full=True)
    assert found.equals(pa.array([value], pa.large_binary()))


def test_batches_of_no_rows() -> None:
    item = pa.struct([("a", pa.list_(pa.int8())), ("b", pa.dictionary(pa.int32(), pa.string()))])
    schema = pa.schema([pa.field("x", item, nullable=False), ("y", pa.json_()), ("z", pa.uuid())], metadata={"k": "v"})
    found = empty_batch(schema)
    found.validate(full=True)
    assert (found.num_rows, found.schema.equals(schema, check_metadata=True)) == (0, True)
