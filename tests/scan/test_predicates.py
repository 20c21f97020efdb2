"""What translations of engines' predicates share: types by path, and conditions that must all hold."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow.scan.predicates import all_of, type_at

INNER = pa.struct([("x", pa.int8()), ("a.b", pa.string())])
SCHEMA = pa.schema([("n", pa.int64()), ("s", INNER), ("l", pa.list_(INNER))])


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("n",), pa.int64()),
        (("s",), INNER),
        (("s", "x"), pa.int8()),
        (("s", "a.b"), pa.string()),
        (("s", "y"), None),
        (("n", "x"), None),
        (("l", "x"), None),
        (("absent",), None),
        ((), None),
    ],
)
def test_types_by_path(path: tuple[str, ...], expected: pa.DataType | None) -> None:
    assert type_at(SCHEMA, path) == expected


def test_all_of_some_conditions() -> None:
    one, other = pc.field("n") > 1, pc.field("n") < 3
    assert all_of([]) is None
    assert all_of([None, None]) is None
    assert all_of([None, one]) is one
    both = all_of([one, None, other])
    assert both is not None
    assert both.equals(one & other)
