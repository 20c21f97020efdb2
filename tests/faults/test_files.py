"""Damaged, short, foreign and future files: a located `LanceError`, or rows; never a crash, a hang, another error."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import columns
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from witness import Witness

import lance_arrow
from lance_arrow.errors import CorruptFileError, LanceError, UnsupportedError

pytestmark = pytest.mark.interop

FOOTER = struct.Struct("<QQQIIHH4s")
DAMAGER = Path(__file__).with_name("damage.py")


def many_typed(version: str) -> pa.Table:
    """Columns of every codec, 300 rows; no type whose Arrow validity depends on the values (times, decimals)."""
    names = {
        "fixed": ["int8_runs", "uint16_small", "int32_random", "int64_few", "bool_random", "double_normal", "null"],
        "temporal": ["binary300_random", "date32_day_sequential"],
        "text": ["string_words", "string_few", "large_binary_unique", "string_constant", "large_string_empties"],
        "nested": ["fsl2_int8_some", "fsl3_bool_none", "fsl_fsl_both_nulls", "struct_deep", "fsl2_int32_all"],
        "options": [
            "string_lz4",
            "string_fsst",
            "double_zstd",
            "string_zip",
            "int32_zip",
            "string_zip_zstd",
            "binary300_plain",
        ],
        "dictionary": ["dictionary_int8_string"],
    }
    found = {}
    for group, wanted in names.items():
        for case in columns.cases(group, version, 1000, "some"):
            if case.name in wanted:
                found[case.name] = (case, case.build(1000, "some").slice(0, 300))
    absent = {"struct_deep"} if version == "2.0" else set()
    assert set(found) == {name for wanted in names.values() for name in wanted} - absent
    fields = [case.field_for(array, "some") for case, array in found.values()]
    return pa.table([array for _, array in found.values()], schema=pa.schema(fields))


@pytest.fixture(scope="module", params=columns.OLD_AND_NEW)
def whole(request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("faults") / "whole.lance"
    return witness.write(many_typed(request.param), path, request.param)


def footer_of(content: bytes) -> tuple[Any, ...]:
    return FOOTER.unpack(content[-FOOTER.size :])


def read_each_way(path: Path) -> list[BaseException | None]:
    """What each door says to a file; None when it gave rows."""

    def through_file() -> None:
        with lance_arrow.LanceFile(path) as file:
            file.read()

    def through_buffer() -> None:
        with lance_arrow.LanceFile(path.read_bytes()) as file:
            file.read()

    answers: list[BaseException | None] = []
    for door in (
        through_file,
        through_buffer,
        lambda: pads.dataset(path, format=lance_arrow.LanceFormat()).to_table(),
        lambda: lance_arrow.read_table(path),
        lambda: lance_arrow.dataset(path).to_table(),
    ):
        try:
            door()
        except LanceError as error:
            answers.append(error)
        else:
            answers.append(None)
    return answers


def test_truncated_at_every_border(whole: Path, tmp_path: Path) -> None:
    content = whole.read_bytes()
    size = len(content)
    metadata, offsets, buffers, *_ = footer_of(content)
    borders = {0, 1, 3, 4, 16, 39, 40, 41, 63, 64, 65, size // 2, metadata, offsets, buffers}
    borders |= {size - cut for cut in (1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 32, 39, 40, 41, 56, 72)}
    borders |= {border + shift for border in (metadata, offsets, buffers) for shift in (-1, 1)}
    path = tmp_path / "short.lance"
    for border in sorted(borders):
        path.write_bytes(content[:border])
        for error in read_each_way(path):
            assert isinstance(error, (CorruptFileError, EOFError)), f"{border} of {size} bytes: {error!r}"
        with pytest.raises(LanceError) as caught:
            lance_arrow.LanceFile(path)
        assert str(path) in str(caught.value)


FOREIGN = {
    "empty": b"",
    "text": b"carrier,flight\nUA,1545\n" * 20,
    "zeros": bytes(4096),
    "magic_alone": b"LANC",
    "magic_at_the_start": b"LANC" + bytes(60),
    "counts_beyond_everything": bytes(60) + struct.pack("<QQQIIHH4s", 0, 0, 0, 2**32 - 1, 2**32 - 1, 2, 1, b"LANC"),
    "places_beyond_everything": bytes(60) + struct.pack("<QQQIIHH4s", *[2**64 - 1] * 3, 1, 1, 2, 2, b"LANC"),
    "arrow": b"ARROW1\0\0" + bytes(100) + b"ARROW1",
    "parquet": b"PAR1" + bytes(100) + b"PAR1",
}


def test_a_file_without_a_schema_is_refused_as_such(tmp_path: Path) -> None:
    """No global buffers: a file made to live inside another, which only a caller with a schema could read."""
    path = tmp_path / "inner.lance"
    path.write_bytes(bytes(60) + struct.pack("<QQQIIHH4s", 0, 0, 0, 0, 0, 2, 1, b"LANC"))
    for error in read_each_way(path):
        assert isinstance(error, UnsupportedError), repr(error)
        assert "no schema" in str(error)


@pytest.mark.parametrize("name", FOREIGN)
def test_not_a_lance_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.lance"
    path.write_bytes(FOREIGN[name])
    # A footer without global buffers is what files that live inside others have: legal, but not for us.
    expected = UnsupportedError if name == "footer_of_zeros" else CorruptFileError
    for error in read_each_way(path):
        assert isinstance(error, expected), repr(error)
    with pytest.raises(expected) as caught:
        lance_arrow.LanceFile(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("numbers", [(2, 4), (2, 99), (3, 0), (1, 0), (0, 4), (65535, 65535)])
def test_unknown_version(whole: Path, tmp_path: Path, numbers: tuple[int, int]) -> None:
    content = bytearray(whole.read_bytes())
    struct.pack_into("<HH", content, len(content) - 8, *numbers)
    path = tmp_path / "future.lance"
    path.write_bytes(content)
    for error in read_each_way(path):
        assert isinstance(error, UnsupportedError), repr(error)
    with pytest.raises(UnsupportedError) as caught:
        lance_arrow.LanceFile(path)
    assert f"{numbers[0]}" in str(caught.value)
    assert f"{numbers[1]}" in str(caught.value)
    assert str(path) in str(caught.value)


def test_page_cut_out_names_its_column(whole: Path, witness: Witness, tmp_path: Path) -> None:
    """The metadata points at bytes that are gone: the column is named, the others still read."""
    names = pa.ipc.read_schema(pa.py_buffer(witness.schema(whole).serialize())).names
    content = bytearray(whole.read_bytes())
    with lance_arrow.LanceFile(whole) as file:
        # Plain numbers of 2.0 cannot contradict themselves.
        name = "large_binary_unique" if file.version == "2.0" else "int32_random"
    (page,) = witness.describe(whole)["columns"][names.index(name)]
    for position, size in page["buffers"]:
        content[position : position + size] = b"\xff" * size
    path = tmp_path / "cut.lance"
    path.write_bytes(content)
    with lance_arrow.LanceFile(path) as file:
        with pytest.raises(CorruptFileError) as caught:
            file.read()
        assert caught.value.column == name
        assert str(path) in str(caught.value)
        assert file.read(columns=["uint16_small", "string_few"]).num_rows == 300


@pytest.mark.parametrize("name", ["string_few", "string_words", "dictionary_int8_string", "string_zip", "string_fsst"])
def test_text_that_is_not_utf8(witness: Witness, tmp_path: Path, name: str) -> None:
    """Texts, dictionary items and symbols are checked: Arrow promises UTF-8 to whoever reads them."""
    every = [case for group in columns.GROUPS for case in columns.cases(group, "2.1", 1000, "none")]
    (case,) = (case for case in every if case.name == name)
    array = case.build(1000, "none")
    table = pa.table([array], schema=pa.schema([case.field_for(array, "none")]))
    content = witness.write(table, tmp_path / "good.lance", "2.1").read_bytes()
    ((page,),) = witness.describe(tmp_path / "good.lance")["columns"]
    places = [at for start, size in page["buffers"] for at in range(start, start + size, max(1, size // 60))]
    refused = 0
    for at in places:
        with lance_arrow.LanceFile(content[:at] + b"\xff" + content[at + 1 :]) as file:
            try:
                file.read().validate(full=True)
            except CorruptFileError as error:
                assert error.column == name  # noqa: PT017
                refused += 1
    assert refused > len(places) / 10


def test_flipped_bits_and_overwritten_numbers(whole: Path, whole_run: bool) -> None:
    count = 700 if whole_run else 80
    metadata = footer_of(whole.read_bytes())[0]
    command = [sys.executable, str(DAMAGER), str(whole), str(count), "2024", str(metadata)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False, cwd=whole.parent)
    *tried, last = done.stdout.strip().splitlines()
    assert done.returncode == 0, f"exit code {done.returncode} after {last}\n{done.stderr[-3000:]}"
    result = json.loads(last)
    assert len(tried) == count
    assert not result["failures"], json.dumps(result["failures"][:5], indent=1)
    assert sum(result["outcomes"].values()) == count
    assert result["outcomes"]["CorruptFileError"] > count // 14, "metadata damage is noticed"
