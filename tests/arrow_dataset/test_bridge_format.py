"""`LanceFormat` as a value, and its dataset over a file that pyarrow hands to our own scan."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path

import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow.arrow_dataset.lance_format import LanceFormat
from lance_arrow.errors import InvalidArgumentError, LanceError

MOMENT = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def test_it_is_the_public_name_and_a_file_format() -> None:
    assert lance_arrow.LanceFormat is LanceFormat
    assert isinstance(LanceFormat(), pads.FileFormat)
    assert (LanceFormat().type_name, LanceFormat().default_extname) == ("lance", "lance")
    assert LanceFormat().default_fragment_scan_options is None


@pytest.mark.parametrize("options", [{}, {"version": 3}, {"tag": "x"}, {"as_of": MOMENT}])
def test_it_is_a_value(options: dict[str, object]) -> None:
    one = LanceFormat(**options)
    assert one == LanceFormat(**options)
    assert hash(one) == hash(LanceFormat(**options))
    assert one != LanceFormat(version=4)
    there = pickle.loads(pickle.dumps(one))
    assert type(there) is LanceFormat
    assert there == one
    assert {name: getattr(there, name) for name in options} == options
    assert eval(repr(one), {"LanceFormat": LanceFormat, "datetime": datetime}) == one


@pytest.mark.parametrize(
    "other", [pads.ParquetFileFormat(), pads.IpcFileFormat(), pads.CsvFileFormat(), LanceFormat(tag="x"), 3, "lance"]
)
def test_it_equals_nothing_else(other: object) -> None:
    assert not LanceFormat().equals(other)
    assert LanceFormat() != other
    assert other != LanceFormat()
    assert not LanceFormat() == other  # noqa: SIM201 - both operators, in both directions
    assert not other == LanceFormat()  # noqa: SIM201


def test_it_equals_its_like_and_not_none() -> None:
    assert LanceFormat().equals(LanceFormat())
    assert not LanceFormat().equals(None)
    assert LanceFormat() != None  # noqa: E711


def test_options_that_exclude_each_other_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="one of version"):
        LanceFormat(version=1, tag="x")
    with pytest.raises(TypeError):
        LanceFormat(3)


def test_what_is_not_a_lance_file_is_told_by_our_error(tmp_path: Path) -> None:
    path = tmp_path / "f.lance"
    path.write_bytes(b"something else entirely, long enough for a footer of forty bytes")
    with pytest.raises(LanceError):
        LanceFormat().inspect(path)
    with pytest.raises(LanceError):
        pads.dataset(str(path), format=LanceFormat())


def test_its_fragments_and_datasets_show_it(tmp_path: Path) -> None:
    fragment = LanceFormat(version=2).make_fragment(tmp_path / "f.lance")
    assert fragment.format == LanceFormat(version=2)
    assert pickle.loads(pickle.dumps(fragment)).format == LanceFormat(version=2)
