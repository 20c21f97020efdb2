"""CSV and JSON lines: types of the whole file, nothing lost where a later block has other values."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv

import lance_arrow
from lance_arrow.conversion import text_readers
from lance_arrow.errors import CorruptFileError, InvalidArgumentError

BODY = "a,b,c,d\n" + "".join(f"{i},,{i:03},2020-01-01\n" for i in range(50))
LINES = "".join(json.dumps({"id": i, "n": {"x": i, "l": [i]}, "t": "2020-01-01"}) + "\n" for i in range(50))


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_readers, "_BLOCK_BYTES", 64)


def converted(folder: Path, name: str, text: str | bytes, **options: Any) -> pa.Table:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    report = lance_arrow.convert(path, folder / "out.lance", overwrite=True, **options)
    made = lance_arrow.read_table(folder / "out.lance")
    assert report.num_rows == made.num_rows
    return made


@pytest.mark.parametrize(
    "last", ["", "1.5,7,x,2020-01-01\n", "abc,7.5,,never\n", "1,2020-01-01,1,2020-01-01 10:00:00\n", "1,x,\xff,2020\n"]
)
def test_types_are_those_of_the_whole_file(tmp_path: Path, last: str) -> None:
    text = (BODY + last).encode("latin-1")
    made = converted(tmp_path, "a.csv", text)
    # In one block, pyarrow infers the types of all values.
    expected = csv.read_csv(pa.BufferReader(text))
    assert made.num_rows == expected.num_rows
    for name in made.column_names:
        found, wanted = made.schema.field(name).type, expected.schema.field(name).type
        # Mixed dates and times, and integers beside fractions, may keep their text.
        assert found in (wanted, pa.string()), name
        if found == wanted:
            assert made[name].equals(expected[name])


def test_long_integers_beside_fractions_keep_their_digits(tmp_path: Path) -> None:
    made = converted(tmp_path, "a.csv", "n,m\n" + "9007199254740993,1\n" * 9 + "1.5,2\n" * 9)
    assert made["n"].to_pylist() == ["9007199254740993"] * 9 + ["1.5"] * 9
    made = converted(tmp_path, "b.csv", "n,m\n" + "90071992,1\n" * 9 + "1.5,2\n" * 9)
    assert made["n"].to_pylist() == [90071992.0] * 9 + [1.5] * 9


def test_asked_types_are_parsed_as_such(tmp_path: Path) -> None:
    made = converted(tmp_path, "a.csv", BODY, casts={"c": "string", "a": "int8"})
    assert made["c"].to_pylist()[:2] == ["000", "001"]
    assert made.schema.field("a").type == pa.int8()
    with pytest.raises(InvalidArgumentError, match=r"'abc' is no int32.*--cast") as caught:
        converted(tmp_path, "a.csv", BODY + "abc,,1,2020-01-01\n", casts={"a": "int32"})
    assert (caught.value.column, Path(caught.value.path or "").name) == ("a", "a.csv")
    with pytest.raises(InvalidArgumentError, match="CSV text cannot be parsed as list") as caught:
        converted(tmp_path, "a.csv", BODY, casts={"a": "list<int8>"})
    assert caught.value.column == "a"


def test_quoted_line_ends_and_compression(tmp_path: Path) -> None:
    text = "a,b\n" + "".join(f'{i},"line {i}\nand ""more"""\n' for i in range(40))
    made = converted(tmp_path, "a.csv", text)
    assert made["b"].to_pylist() == [f'line {i}\nand "more"' for i in range(40)]
    assert converted(tmp_path, "a.csv.gz", gzip.compress(text.encode())).equals(made)
    zst = pa.Codec("zstd").compress(text.encode(), asbytes=True)
    assert converted(tmp_path, "a.csv.zst", zst).equals(made)
    assert converted(tmp_path, "a.tsv", "a\tb\n1\tx,y\n").to_pylist() == [{"a": 1, "b": "x,y"}]


@pytest.mark.parametrize(
    ("text", "message"), [("", "Empty CSV"), (BODY + "1,2\n", "Expected 4 columns"), (b"\xff\xfe\x00", "read")]
)
def test_damaged_csv(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(CorruptFileError, match=message) as caught:
        converted(tmp_path, "a.csv", text)
    assert Path(caught.value.path or "").name == "a.csv"
    assert not (tmp_path / "out.lance").exists()


def test_json_types_are_those_of_the_whole_file(tmp_path: Path) -> None:
    last = '{"id":1.5,"n":{"x":2.5,"l":[1.5]},"t":"abc","new":1}\n'
    made = converted(tmp_path, "a.jsonl", LINES + last)
    types = [pa.float64(), pa.struct([("x", pa.float64()), ("l", pa.list_(pa.float64()))]), pa.string(), pa.int64()]
    assert made.schema.types == types
    rows = [json.loads(line) | {"new": None} for line in LINES.splitlines()]
    assert made.to_pylist() == [*rows, json.loads(last)]
    assert converted(tmp_path, "a.json.gz", gzip.compress((LINES + last).encode())).equals(made)


def test_json_casts(tmp_path: Path) -> None:
    made = converted(tmp_path, "a.json", LINES, casts={"t": "string", "n.x": "int8"})
    assert made.column_names == ["id", "n", "t"]
    assert made["t"].to_pylist()[0] == "2020-01-01"
    assert made.schema.field("n").type.field("x").type == pa.int8()
    with pytest.raises(InvalidArgumentError, match="no input has the column") as caught:
        converted(tmp_path, "a.json", LINES, casts={"missing": "string"})
    assert caught.value.column == "missing"


@pytest.mark.parametrize(
    ("last", "column"),
    [('{"id":"x"}\n', "id"), ('{"id":1,"n":{"x":"x"}}\n', "n.x"), ('{"id":9007199254740993}\n{"id":0.5}\n', "id")],
)
def test_json_that_fits_no_type(tmp_path: Path, last: str, column: str) -> None:
    with pytest.raises(InvalidArgumentError, match="--cast") as caught:
        converted(tmp_path, "a.json", LINES + last)
    assert caught.value.column == column


@pytest.mark.parametrize("text", ['[{"a":1}]', LINES + '{"a":', "nothing"])
def test_damaged_json(tmp_path: Path, text: str) -> None:
    with pytest.raises(CorruptFileError, match="JSON") as caught:
        converted(tmp_path, "a.json", text)
    assert Path(caught.value.path or "").name == "a.json"
