"""The native file pruner leaves out no file that zone maps keep when it is open, and none that is doubtful."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from filter_cases import filter_case
from same import assert_same
from values import seeded

from lance_arrow import LanceFormat, LanceFragmentScanOptions, write_table
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrow_dataset.scan_handler import FileScanHandler
from lance_arrow.errors import LanceError
from lance_arrow.pruning.file_pruner import FilePruner, file_pruner
from lance_arrow.pruning.zone_pruning import prune_rows
from lance_arrow.scan.file_place import FilePlace
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.spi.layouts import RowRanges

F = pc.field
NUM_FILES, FILE_ROWS = 120, 100


def opened(path: Path, verify: str = "touched") -> OpenFile:
    return OpenFiles(ReadOptions(verify=verify)).get(FilePlace(path=str(path), filesystem=None))


def pruner_of(expression: pc.Expression, files: Sequence[OpenFile], *, has_checks: bool = True) -> FilePruner | None:
    """The file pruner of a filter, taught by some files."""
    plan = FilterPlan(expression, files[0].rows.schema)
    pruner = None if plan.predicate is None else file_pruner(plan.predicate, has_checks=has_checks)
    if pruner is not None:
        for file in files:
            pruner.register(file.rows)
    return pruner


def excludes(pruner: FilePruner, path: str) -> bool:
    return not pruner.native.left([path])


def judge_excludes(expression: pc.Expression, file: OpenFile) -> bool:
    """What is said of the file once it is open."""
    predicate = FilterPlan(expression, file.rows.schema).predicate
    return not len(prune_rows(file.rows, file.zones, predicate, RowRanges.one(0, file.rows.num_rows)).rows)


def pieces(table: pa.Table, rng: np.random.Generator) -> list[pa.Table]:
    cuts = sorted(set(rng.integers(1, max(2, len(table)), 7).tolist()))
    borders = [0, *(one for one in cuts if one < len(table)), len(table)]
    return [table.slice(start, stop - start) for start, stop in pairwise(borders) if start < stop]


def test_it_leaves_out_what_the_judge_leaves_out(tmp_path: Path, whole_run: bool) -> None:
    """Random tables and filters, in pieces: never a piece that the judge keeps, and most of those that it does not.

    What is left: casts that change values, more than 64 zones, columns whose zones differ in length.
    """
    native = python = 0
    count = 250 if whole_run else 70
    for number in range(count):
        case = filter_case(number)
        if case.expected() is None or not len(case.table):
            continue
        paths = []
        for at, piece in enumerate(pieces(case.table, seeded(f"pieces {number}"))):
            paths.append(tmp_path / f"{number}_{at}.lance")
            write_table(piece, paths[-1], file_version=case.file_version, rows_per_zone=case.rows_per_zone)
        files = [opened(path) for path in paths]
        pruner = pruner_of(case.expression, files)
        for path, file in zip(paths, files, strict=True):
            is_left_out = judge_excludes(case.expression, file)
            python += is_left_out
            if pruner is not None and excludes(pruner, str(path)):
                assert is_left_out, (number, path.name, case.expression)
                native += 1
    assert native > python * 3 // 4 > count


def test_files_that_need_more_of_their_end_are_left_out_too(tmp_path: Path) -> None:
    """What files took so far is read first, little here; then more for a file of many columns."""
    wide = {f"column {number}": np.arange(100) for number in range(60)}
    tables = [
        pa.table({"id": np.arange(100)}),
        pa.table({"id": np.arange(100), **wide}),
        pa.table({"id": np.arange(90)}),
    ]
    paths = [tmp_path / f"{number}.lance" for number in range(len(tables))]
    for table, path in zip(tables, paths, strict=True):
        write_table(table, path, rows_per_zone=16)
    pruner = pruner_of(F("id") > 1000, [opened(path) for path in paths])
    assert pruner is not None
    for number in (0, 0, 1, 0, 2, 1):
        assert excludes(pruner, str(paths[number])), number
    kept = pruner_of(F("id") > 95, [opened(path) for path in paths])
    assert kept is not None
    assert [excludes(kept, str(paths[number])) for number in (2, 0, 1, 2)] == [True, False, False, True]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("many")
    rng = seeded("many files")
    for number in range(NUM_FILES):
        ids = np.arange(FILE_ROWS) + number * FILE_ROWS
        table = pa.table({"id": ids, "x": rng.random(FILE_ROWS) + number, "word": [f"w{one:07}" for one in ids]})
        write_table(table, made / f"{number:03}.lance", rows_per_zone=64)
    return made


@contextmanager
def planned(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Files that Python was asked about."""
    names: list[str] = []
    plan, count = FileScanHandler.plan, FileScanHandler.count_rows
    monkeypatch.setattr(
        FileScanHandler, "plan", lambda self, place, request: names.append(place.path) or plan(self, place, request)
    )
    monkeypatch.setattr(
        FileScanHandler,
        "count_rows",
        lambda self, place, request: names.append(place.path) or count(self, place, request),
    )
    yield names
    monkeypatch.undo()


FILTERS = [
    (F("id") >= 5_020) & (F("id") < 5_030),
    F("id").isin([7, 11_777]),
    (F("x") > 100.5) & (F("x") <= 101.0),
    F("word") == "w0003300",
    pc.starts_with(F("word"), "w00099"),
    ~(F("id") < 11_950),
    (F("id") == 5) | (F("x") >= 119.99),
    F("id").is_null(),
    (F("id") != 3) & (F("id") < 10),
]


@pytest.mark.parametrize("expression", FILTERS, ids=str)
def test_scans_ask_python_about_few_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch, expression: pc.Expression
) -> None:
    expected = pads.dataset(folder, format=LanceFormat()).to_table().filter(expression)
    dataset = pads.dataset(folder, format=LanceFormat())
    with planned(monkeypatch) as names:
        found = dataset.to_table(filter=expression)
    assert_same(found, expected)
    # Those with rows, and those that were read ahead before anything was known.
    assert len(names) <= 3 + 16
    with planned(monkeypatch) as names:
        assert dataset.count_rows(filter=expression) == len(expected)
    assert len(names) <= 3 + 16


def test_what_does_not_pay_is_given_up(folder: Path) -> None:
    files = [opened(path) for path in sorted(folder.iterdir())[:40]]
    pruner = pruner_of(F("id") >= 0, files[:2])
    assert pruner is not None
    assert not any(excludes(pruner, file.source.name) for file in files)
    assert pruner.native.is_idle
    assert pruner.native.num_asked == 32


def test_receipts_want_every_file(folder: Path, receipts: list) -> None:
    pads.dataset(folder, format=LanceFormat()).to_table(filter=F("id") == 5_020)
    assert len(receipts) == NUM_FILES
    assert sum(one.zones_pruned for one in receipts) == 2 * NUM_FILES - 1


def test_without_zone_maps_there_is_no_sieve(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = pads.dataset(folder, format=LanceFormat())
    for options in (LanceFragmentScanOptions(zone_maps=False), LanceFragmentScanOptions(verify="full")):
        with planned(monkeypatch) as names:
            assert dataset.to_table(filter=F("id") == 5_020, fragment_scan_options=options).num_rows == 1
        assert len(names) == NUM_FILES


def test_unknown_functions_leave_files_in(folder: Path) -> None:
    files = [opened(path) for path in sorted(folder.iterdir())[:3]]
    assert pruner_of(F("id") + 1 == 5_000_000, files) is None
    pruner = pruner_of((F("id") + 1 == 5) & (F("x") > 1000.0), files)
    assert pruner is not None
    assert excludes(pruner, files[0].source.name), "one side is enough"
    either = pruner_of((F("id") + 1 == 5) | (F("x") > 1000.0), files)
    assert either is not None
    assert not excludes(either, files[0].source.name)


def test_files_that_are_no_longer_there_are_left_to_python(folder: Path, tmp_path: Path) -> None:
    first = opened(folder / "000.lance")
    pruner = pruner_of(F("id") > 1_000_000, [first])
    assert pruner is not None
    assert excludes(pruner, str(folder / "001.lance"))
    assert not excludes(pruner, str(tmp_path / "absent.lance"))
    assert not excludes(pruner, str(tmp_path))
    (tmp_path / "empty.lance").write_bytes(b"")
    assert not excludes(pruner, str(tmp_path / "empty.lance"))
    whole = (folder / "001.lance").read_bytes()
    for stop in (len(whole) - 1, 40, 39, 1):
        (tmp_path / "cut.lance").write_bytes(whole[:stop])
        assert not excludes(pruner, str(tmp_path / "cut.lance"))


@pytest.mark.parametrize("checksums", [True, False])
def test_damage_is_left_to_python(tmp_path: Path, checksums: bool, whole_run: bool) -> None:
    """Bytes from the first zone map on, flipped: what the native pruner leaves out, Python does, or refuses."""
    table = pa.table({"id": pa.array([5, None, 9, 7] * 30), "word": ["a", "b", "c", "é"] * 30})
    good, bad = tmp_path / "good.lance", tmp_path / "bad.lance"
    write_table(table, good, rows_per_zone=50, checksums=checksums)
    whole = bytearray(good.read_bytes())
    expression = (F("id") > 100) & (F("word") >= "A")
    file = opened(good)
    pruner = pruner_of(expression, [file])
    assert pruner is not None
    assert excludes(pruner, str(good))
    metas = file.rows.file.columns([0, 1])
    start = min(int(meta.buffer_offsets[0]) for meta in metas)
    num_kept_in = 0
    for place in range(start, len(whole), 1 if whole_run else 3):
        whole[place] ^= 1 << (place % 8)
        bad.write_bytes(whole)
        whole[place] ^= 1 << (place % 8)
        pruner = _fresh(pruner, expression, file)
        if not excludes(pruner, str(bad)):
            num_kept_in += 1
            continue
        try:
            assert judge_excludes(expression, opened(bad)), place
        except LanceError:
            assert not checksums, place
    assert num_kept_in > 20


def _fresh(pruner: FilePruner, expression: pc.Expression, file: OpenFile) -> FilePruner:
    """A file pruner that has not given up."""
    if not pruner.native.is_idle:
        return pruner
    made = pruner_of(expression, [file])
    assert made is not None
    return made
