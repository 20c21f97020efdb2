"""Dictionary columns kept as the file's schema has them, or decoded to plain values, through every door."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from same import assert_same, taken
from witness import Witness

import lance_arrow
from lance_arrow.errors import InvalidArgumentError, UnsupportedError

pytestmark = pytest.mark.interop

WORDS = pa.dictionary(pa.int8(), pa.string())
PLAIN = pa.schema(
    [
        pa.field("words", pa.string(), metadata={"k": "v"}),
        ("numbers", pa.int64()),
        ("flags", pa.bool_()),
        ("lists", pa.list_(pa.string())),
        ("structs", pa.struct([("w", pa.large_binary()), ("n", pa.int32())])),
        ("other", pa.float64()),
    ],
    metadata={"of": "schema"},
)
KEPT = pa.schema(
    [
        pa.field("words", WORDS, metadata={"k": "v"}),
        ("numbers", pa.dictionary(pa.int16(), pa.int64())),
        ("flags", pa.dictionary(pa.int32(), pa.bool_())),
        ("lists", pa.list_(WORDS)),
        ("structs", pa.struct([("w", pa.dictionary(pa.uint8(), pa.large_binary())), ("n", pa.int32())])),
        ("other", pa.float64()),
    ],
    metadata=PLAIN.metadata,
)
ROWS = 120


def plain_table() -> pa.Table:
    words = [None if n % 5 == 0 else f"w{n % 11}" for n in range(ROWS)]
    columns = {
        "words": words,
        "numbers": [None if n % 7 == 0 else n % 9 for n in range(ROWS)],
        "flags": [None if n % 3 == 0 else n % 2 == 0 for n in range(ROWS)],
        "lists": [None if n % 4 == 0 else words[n : n + n % 3] for n in range(ROWS)],
        "structs": [None if n % 6 == 0 else {"w": b"b%d" % (n % 4), "n": n} for n in range(ROWS)],
        "other": [n / 2 for n in range(ROWS)],
    }
    return pa.table([pa.array(rows, PLAIN.field(name).type) for name, rows in columns.items()], schema=PLAIN)


@pytest.fixture(scope="module", params=["2.1", "2.2", "2.3"])
def path(request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    plain = plain_table()
    columns = [pa.array(plain.column(field.name).to_pylist(), field.type) for field in KEPT]
    written = pa.table(columns, schema=KEPT)
    return witness.write(written, tmp_path_factory.mktemp("dictionaries") / "file.lance", request.param)


def test_files_keep_or_decode(path: Path) -> None:
    plain = plain_table()
    picks = [7, 0, 119, 7, 64]
    with lance_arrow.LanceFile(path) as kept, lance_arrow.LanceFile(path, dictionaries="decode") as decoded:
        assert kept.schema.equals(KEPT, check_metadata=True)
        assert decoded.schema.equals(PLAIN, check_metadata=True)
        assert_same(plain, decoded.read())
        assert_same(taken(plain, picks), decoded.take(picks))
        assert_same(plain, pa.Table.from_batches(decoded.to_batches(batch_size=50)))
        assert_same(plain.slice(7, 60), decoded.read(rows=(7, 67)))
        assert decoded.read(["structs.w"]).column(0).type == pa.large_binary()
        for name in ("words", "numbers", "flags"):
            whole = kept.read([name]).column(0)
            assert pa.types.is_dictionary(whole.type)
            assert whole.to_pylist() == plain.column(name).to_pylist()
        assert decoded.count_rows(filter=[("words", "=", "w1")]) == plain.column("words").to_pylist().count("w1")
    assert_same(plain, lance_arrow.read_table(path, dictionaries="decode"))


def test_datasets_keep_or_decode(path: Path) -> None:
    plain = plain_table()
    assert lance_arrow.dataset(path).schema.equals(KEPT)
    decoded = lance_arrow.dataset(path, dictionaries="decode")
    assert decoded.schema.equals(PLAIN)
    assert_same(plain, decoded.to_table())
    assert_same(plain, pickle.loads(pickle.dumps(decoded)).to_table())
    file_format = lance_arrow.LanceFormat(dictionaries="decode")
    assert file_format == pickle.loads(pickle.dumps(file_format)) == decoded.format
    assert hash(file_format) == hash(decoded.format)
    assert file_format != lance_arrow.LanceFormat()
    assert repr(file_format) == "LanceFormat(dictionaries='decode')"
    assert_same(plain, pads.dataset(path, format=file_format).to_table())


def test_pages_with_too_many_items_together_are_read_decoded(witness: Witness, tmp_path: Path) -> None:
    """Kept, they are refused: int8 indices cannot tell the items of both pages apart."""
    indices = pa.array([n % 100 for n in range(300)], pa.int8())
    parts = [pa.DictionaryArray.from_arrays(indices, [f"{page}{n}" for n in range(100)]) for page in "ab"]
    expected = pa.chunked_array(parts)
    path = witness.write(pa.table({"x": expected}), tmp_path / "file.lance", "2.2", data_cache_bytes=1)
    with lance_arrow.LanceFile(path) as file, pytest.raises(UnsupportedError, match="dictionaries"):
        file.read()
    assert lance_arrow.read_table(path, dictionaries="decode").column("x").to_pylist() == expected.to_pylist()


def test_another_word_is_refused(path: Path) -> None:
    for door in (
        lambda: lance_arrow.LanceFile(path, dictionaries="drop"),
        lambda: lance_arrow.LanceFormat(dictionaries="drop"),
        lambda: lance_arrow.dataset(path, dictionaries=None),
        lambda: lance_arrow.read_table(path, dictionaries=True),
    ):
        with pytest.raises(InvalidArgumentError, match="expected 'keep' or 'decode'"):
            door()
