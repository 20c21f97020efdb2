"""Pages of every array encoding, made by hand: we and the reference read what the specification says."""

from __future__ import annotations

from pathlib import Path

import forged_arrays
import pyarrow as pa
import pytest
from forge import Page, dataset, scan, take
from same import assert_same, taken
from witness import Witness, WitnessRefused

from lance_arrow.errors import UnknownEncodingError
from lance_arrow.spi.loading import entry_points

OF_DRAFTS = (
    "inline_bitpacking",
    "out_of_line_bitpacking",
    "variable",
    "packed_struct_fixed_width_mini_block",
    "block",
)
GOOD = {**forged_arrays.GOOD, **forged_arrays.PRE_RELEASE}


@pytest.mark.parametrize("name", GOOD)
def test_reads_what_the_specification_says(tmp_path: Path, name: str) -> None:
    file = GOOD[name]
    path = tmp_path / "file.lance"
    path.write_bytes(file.build())
    assert_same(file.table, scan(path))
    assert_same(file.table, dataset(path))
    last = file.table.num_rows - 1
    for rows in ([last], [last, 0, 1, 1], list(range(0, last + 1, 2)), []):
        assert_same(taken(file.table, rows), take(path, rows))


@pytest.mark.interop
@pytest.mark.parametrize("name", forged_arrays.GOOD)
def test_the_reference_reads_the_same(witness: Witness, tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.lance"
    path.write_bytes(GOOD[name].build())
    assert_same(GOOD[name].table, witness.read(path))


@pytest.mark.interop
@pytest.mark.parametrize("name", forged_arrays.PRE_RELEASE)
def test_the_reference_refuses_what_pre_releases_wrote(witness: Witness, tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.lance"
    path.write_bytes(GOOD[name].build())
    with pytest.raises(WitnessRefused):
        witness.read(path)


def held(case: str) -> forged_arrays.Array:
    """An encoding of which nothing but the case is told."""
    made = forged_arrays.Array()
    getattr(made, case).SetInParent()
    return made


@pytest.mark.parametrize("case", OF_DRAFTS)
@pytest.mark.parametrize("is_inside", [False, True], ids=["alone", "inside"])
def test_encodings_of_drafts_are_refused_by_name(tmp_path: Path, case: str, is_inside: bool) -> None:
    layout = forged_arrays.no_nulls(held(case)) if is_inside else held(case)
    file = forged_arrays.file([1, 2], pa.int32(), Page(layout, (bytes(8),), 2))
    path = tmp_path / "file.lance"
    path.write_bytes(file.build())
    with pytest.raises(UnknownEncodingError, match=f"lance.encodings.ArrayEncoding/{case}") as caught:
        scan(path)
    assert caught.value.column == "c"
    assert str(path) in str(caught.value)


@pytest.mark.interop
@pytest.mark.parametrize("case", OF_DRAFTS)
def test_the_reference_refuses_encodings_of_drafts(witness: Witness, tmp_path: Path, case: str) -> None:
    file = forged_arrays.file([1, 2], pa.int32(), Page(held(case), (bytes(8),), 2))
    path = tmp_path / "file.lance"
    path.write_bytes(file.build())
    with pytest.raises(WitnessRefused):
        witness.read(path)


def test_every_encoding_has_a_file() -> None:
    wanted = {point.name.rpartition(".")[2] for point in entry_points() if point.name.startswith("codec.v20.")}
    made = "".join(str(page.layout) for file in GOOD.values() for pages in file.columns for page in pages)
    assert wanted
    assert all(f"{name} {{" in made for name in wanted)
