"""Columns of the extension type arrow.json as we write them: the bytes are those that the reference writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from same import assert_same
from witness import Witness

import lance_arrow
from lance_arrow.errors import InvalidArgumentError

pytestmark = pytest.mark.interop


JSON_TEXTS = [
    *(
        "null",
        "true",
        "false",
        '""',
        "[]",
        "{}",
        '{"b": [1, {"x": []}], "a": null, "aa": "\\u00e9\\n"}',
        ' [ 1 , "x" ] ',
    ),
    *(
        "0",
        "-0",
        "-0.0",
        "1",
        "255",
        "256",
        "65536",
        "18446744073709551615",
        "18446744073709551616",
        "-1",
        "-128",
        "-129",
    ),
    *(
        "-9223372036854775808",
        "-9223372036854775809",
        "1.0",
        "1e5",
        "0.1",
        "0.30000000000000004",
        "1.23456789012345678901",
    ),
    *("123456789012345678901234567890.5", '"\\ud83d\\ude00"', '{"é": 1, "z": 2, "\U0001f600": 3, "\uff5e": 4}'),
]


def json_table() -> pa.Table:
    texts = pa.array([None, *JSON_TEXTS, None])
    values = pa.ExtensionArray.from_storage(pa.json_(), texts)
    large = pa.ExtensionArray.from_storage(pa.json_(pa.large_string()), texts.cast(pa.large_string()))
    hidden = pa.StructArray.from_arrays([values], ["j"], mask=pa.array([n % 3 == 1 for n in range(len(texts))]))
    offsets = pa.array([0, 3, None, 5, *range(6, len(texts) + 3)], pa.int32())
    lists = pa.ListArray.from_arrays(offsets[: len(texts) + 1], pa.concat_arrays([values, values]))
    return pa.table({"j": values, "large": large, "struct": hidden, "list": lists})


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_json_is_stored_as_the_reference_stores_it(witness: Witness, tmp_path: Path, version: str) -> None:
    table = json_table()
    if version == "2.0":
        table = table.drop(["struct"])  # with null structs, which 2.0 has not
    # A slice, whose offsets begin elsewhere.
    for number, rows in enumerate((table, table.slice(5, 20))):
        ours, theirs = tmp_path / f"ours{number}.lance", tmp_path / f"theirs{number}.lance"
        lance_arrow.write_table(rows, ours, file_version=version)
        witness.write(rows.take(pa.array(range(len(rows)))) if number else rows, theirs, version)
        expected = witness.read(theirs)
        assert_same(expected, witness.read(ours))
        assert_same(expected, lance_arrow.read_table(ours, json="bytes"))
        with lance_arrow.LanceFile(ours) as file, lance_arrow.LanceFile(theirs) as other:
            assert file.schema.equals(other.schema, check_metadata=True)


def test_json_columns_of_tables(witness: Witness, tmp_path: Path) -> None:
    """The reference gives the text back, of a table that both have written."""
    texts = ['{"a": 1}', None, '[1, "x"]']
    rows = pa.table({"j": pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts)), "n": [1, 2, 3]})
    table = lance_arrow.LanceTable.create(tmp_path / "table.lance", rows)
    table.append(rows)
    witness.write_directory(rows, tmp_path / "table.lance", "2.2", "append")
    found = witness.read_directory(tmp_path / "table.lance")
    assert found.schema.field("j").type == pa.json_()
    assert found.column("j").to_pylist() == ['{"a":1}', None, '[1,"x"]'] * 3
    again = lance_arrow.LanceTable.open(tmp_path / "table.lance")
    assert again.to_table().column("j").to_pylist()[:3] == again.to_table().column("j").to_pylist()[6:]
    # Rows as they are read are rows to be written.
    again.append(again.to_table(filter="n = 1"))
    assert witness.read_directory(tmp_path / "table.lance").column("j").to_pylist()[9:] == ['{"a":1}'] * 3


@pytest.mark.parametrize(
    "text", ["{", "", "NaN", "[1,]", "1e400", '{"a": 1, "a": 2}', '"\\ud83d"', "01", "[" * 100_000]
)
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    table = pa.table({"j": pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", text]))})
    with pytest.raises(InvalidArgumentError) as caught:
        lance_arrow.write_table(table, tmp_path / "file.lance")
    assert (caught.value.column, caught.value.detail) == ("j", 1)
    assert not (tmp_path / "file.lance").exists()
