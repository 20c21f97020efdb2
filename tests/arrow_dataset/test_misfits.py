"""Columns, filters, values and options that do not fit: our error, the wrong name, and the nearest known one."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow import LanceDataset, LanceFile, LanceFormat, LanceTable, write_table
from lance_arrow.errors import InvalidArgumentError, TableExistsError, did_you_mean

F = pc.field
TABLE = pa.table(
    {
        "id": [1, 2],
        "name": ["a", "b"],
        "st": [{"seats": 1}, {"seats": 2}],
        "word": pa.array(["x", "y"]).dictionary_encode(),
    }
)
INTERNAL = ("__fragment_index", "__batch_index", "__last_in_fragment", "__filename")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_table(TABLE, tmp_path / "f.lance")
    return tmp_path / "f.lance"


@pytest.fixture
def dataset(path: Path) -> LanceDataset:
    return lance_arrow.dataset(path)


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    return LanceTable.create(tmp_path / "t.lance", TABLE)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "column": ({"columns": ["nmae"]}, "'nmae', expected one of id, name, st, word; did you mean 'name'?"),
    "field": ({"columns": ["st.seat"]}, "'st.seat', expected one of st.seats; did you mean 'st.seats'?"),
    "case": ({"columns": ["Name"]}, "did you mean 'name'?"),
    "far": ({"columns": ["zzzzzz"]}, "'zzzzzz', expected one of id, name, st, word"),
    "computed": ({"columns": {"x": F("nmae")}}, "did you mean 'name'?"),
    "filter": ({"filter": F("nmae") == "a"}, "did you mean 'name'?"),
    "nested": ({"filter": F("st", "seat") == 1}, "did you mean 'st.seats'?"),
    "tuples": ({"filter": [("nmae", "=", "a")]}, "did you mean 'name'?"),
    "sql": ({"filter": "nmae = 'a'"}, "did you mean 'name'?"),
    "type": ({"filter": F("name") > 1}, "(string, int8)"),
}


@pytest.mark.parametrize("what", WRONG)
def test_datasets(dataset: LanceDataset, what: str) -> None:
    arguments, said = WRONG[what]
    calls = [dataset.to_table, dataset.scanner, dataset.explain, lambda **how: list(dataset.to_batches(**how))]
    calls += [lambda **how: dataset.head(1, **how), lambda **how: dataset.take([0], **how)]
    if "columns" not in arguments:
        calls.append(dataset.count_rows)
    for call in calls:
        with pytest.raises(InvalidArgumentError) as raised:
            call(**arguments)
        assert said in str(raised.value)
        assert not any(name in str(raised.value) for name in INTERNAL)


# Files and tables compute no columns.
@pytest.mark.parametrize("what", [one for one in WRONG if one != "computed"])
def test_files_and_tables(path: Path, table: LanceTable, what: str) -> None:
    arguments, said = WRONG[what]
    said = said.partition("; ")[2] or said.partition(" of ")[0]
    with LanceFile(path) as file:
        for call in (file.read, table.to_table, table.dataset().to_table):
            with pytest.raises(InvalidArgumentError) as raised:
                call(**arguments)
            assert said in str(raised.value)
            assert not any(name in str(raised.value) for name in INTERNAL)


def test_a_dataset_of_pyarrow_raises_as_pyarrow_does(path: Path) -> None:
    with pytest.raises(pa.ArrowInvalid, match="No match for FieldRef"):
        pads.dataset(path, format=LanceFormat()).to_table(columns=["nmae"])


def test_what_scans_compute_raises_as_pyarrow_does(dataset: LanceDataset) -> None:
    with pytest.raises(pa.ArrowInvalid, match="divide by zero"):
        dataset.to_table(columns={"x": pc.divide(F("id"), pc.subtract(F("id"), 1))})


def test_what_pyarrow_does_by_itself_raises_as_pyarrow_does(dataset: LanceDataset) -> None:
    with pytest.raises(pa.ArrowInvalid, match="nmae"):
        dataset.sort_by("nmae")
    with pytest.raises(pa.ArrowTypeError, match="must evaluate to bool"):
        dataset.scanner(filter=F("id") + 1).to_table()


def test_filters_that_are_no_conditions(dataset: LanceDataset) -> None:
    with pytest.raises(InvalidArgumentError, match="expected bool"):
        dataset.to_table(filter=F("id") + 1)


def changes(table: LanceTable) -> dict[str, Any]:
    return {
        "update": lambda: table.update({"nmae": "'x'"}),
        "value": lambda: table.update({"id": "idd + 1"}),
        "where": lambda: table.update({"id": "id + 1"}, where="idd = 1"),
        "delete": lambda: table.delete("idd = 1"),
        "append": lambda: table.append(pa.table({"nmae": ["x"]})),
        "drop": lambda: table.drop_columns(["nmae"]),
        "zone map": lambda: table.create_zone_map("nmae"),
        "add": lambda: table.add_columns({"new": "idd + 1"}),
        "merge": lambda: table.merge(TABLE, on="idd").when_matched_update_all().execute(),
    }


@pytest.mark.parametrize("what", changes(None))  # type: ignore[arg-type]
def test_changes_of_tables(table: LanceTable, what: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"did you mean '(id|name)'\?"):
        changes(table)[what]()
    assert table.version == 1


@pytest.mark.parametrize(
    ("value", "text"), [("hello", "'hello'"), ("hello world", "'hello world'"), ("it's", "'it''s'")]
)
@pytest.mark.parametrize("column", ["name", "word"])
def test_a_string_that_was_no_sql(table: LanceTable, column: str, value: str, text: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        table.update({column: value})
    assert f"the text itself is {text!r} or pc.scalar({value!r})" in str(raised.value)
    assert raised.value.column == column
    for right in (text, pc.scalar(value)):
        table.update({column: right})
        assert table.to_table()[column].to_pylist() == [value, value]


def test_other_columns_are_told_nothing_of_text(table: LanceTable) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        table.update({"id": "hello"})
    assert "text itself" not in str(raised.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"column_options": {"nmae": {}}}, "did you mean 'name'?"),
        ({"column_options": {"name": {"compresion": "none"}}}, "did you mean 'compression'?"),
        ({"column_options": {"name": {"compression": "zst"}}}, "did you mean 'zstd'?"),
        ({"preset": "compct"}, "did you mean 'compact'?"),
    ],
)
def test_options_of_writers(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    folder = tmp_path / "d"
    writers = [
        lambda: write_table(TABLE, tmp_path / "g.lance", **options),
        lambda: LanceTable.create(tmp_path / "g.lance", TABLE, **options),
        lambda: pads.write_dataset(
            TABLE, folder, format=LanceFormat(), file_options=LanceFormat().make_write_options(**options)
        ),
    ]
    for write in writers:
        with pytest.raises(InvalidArgumentError) as raised:
            write()
        assert said in str(raised.value)
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]


def test_words(path: Path, table: LanceTable) -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean 'touched'"):
        LanceFile(path, verify="touches")
    with pytest.raises(InvalidArgumentError, match="did you mean 'append'"):
        LanceTable.create(table.uri, TABLE, mode="apend")  # type: ignore[arg-type]
    with pytest.raises(TableExistsError, match=r'mode="append" adds rows.*mode="overwrite"'):
        LanceTable.create(table.uri, TABLE)


def test_suggestions() -> None:
    assert did_you_mean("prise", ["price", "id"]) == "; did you mean 'price'?"
    assert did_you_mean("PRICE", ["Price", "id"]) == "; did you mean 'Price'?"
    assert did_you_mean("weight", ["price", "id"]) == ""
    assert did_you_mean(3, ["price"]) == ""
    assert did_you_mean("price", []) == ""


BERLIN = pa.timestamp("ms", "Europe/Berlin")
MOMENT = datetime.datetime(2024, 1, 1, 11, tzinfo=datetime.UTC)
"""Noon in Berlin."""


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("at = '2024-01-01 12:00:00'", 1),
        ("at = TIMESTAMP '2024-01-01 12:00:00'", 1),
        ("at = CAST('2024-01-01 12:00:00' AS TIMESTAMP)", 1),
        ("at = '2024-01-01T11:00:00Z'", 1),
        ("at = '2024-01-01 13:00:00+02:00'", 1),
        ("at = TIMESTAMPTZ '2024-01-01 11:00:00'", 1),
        ("at IN ('2024-01-01 12:00:00', '2030-01-01')", 1),
        ("at BETWEEN '2024-01-01 12:00:00' AND '2024-01-01 12:00:01'", 1),
        ("at >= DATE '2024-01-01' AND at < DATE '2024-01-02'", 1),
        ("at >= '2024-01-02'", 0),
        ("at < '2024-01-01 12:00:00'", 0),
    ],
)
def test_local_times_of_a_zone(tmp_path: Path, condition: str, count: int) -> None:
    write_table(pa.table({"at": pa.array([MOMENT, None], BERLIN)}), tmp_path / "f.lance")
    with LanceFile(tmp_path / "f.lance") as file:
        assert file.count_rows(condition) == count
    assert lance_arrow.dataset(tmp_path / "f.lance").count_rows(filter=condition) == count


@pytest.mark.parametrize("text", ["2024-03-31 02:30:00", "2024-10-27 02:30:00"])
def test_local_times_that_are_skipped_or_come_twice(tmp_path: Path, text: str) -> None:
    write_table(pa.table({"at": pa.array([MOMENT], BERLIN)}), tmp_path / "f.lance")
    dataset = lance_arrow.dataset(tmp_path / "f.lance")
    with pytest.raises(InvalidArgumentError, match="skipped or comes twice: add an offset"):
        dataset.count_rows(filter=f"at > '{text}'")
    assert dataset.count_rows(filter=f"at > '{text}+01:00'") == 0


def test_values_of_a_zone(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", pa.table({"at": pa.array([MOMENT], BERLIN)}))
    table.update({"at": "'2024-01-01 13:00:00'"})
    assert table.to_table()["at"].to_pylist() == [MOMENT + datetime.timedelta(hours=1)]
    table.update({"at": "TIMESTAMP '2024-01-01 12:00:00'"})
    assert table.to_table()["at"].to_pylist() == [MOMENT]


def test_an_offset_where_the_column_has_none(tmp_path: Path) -> None:
    write_table(pa.table({"at": pa.array([MOMENT], pa.timestamp("ms"))}), tmp_path / "f.lance")
    with pytest.raises(InvalidArgumentError, match="expected no zone offset"):
        lance_arrow.dataset(tmp_path / "f.lance").count_rows(filter="at > '2024-01-01 12:00:00Z'")
