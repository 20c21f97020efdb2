"""Every file of the historical tables and table scenarios reads as the reference reads it and as its tables say."""

from __future__ import annotations

import os
import shutil
from collections import Counter, defaultdict
from pathlib import Path

import golden
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from canonical import difference
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.io import open_source

pytestmark = pytest.mark.interop

# The reference reads files of 0.1 as parts of tables only.
READABLE = ("0.1", "2.0", "2.1", "2.2", "2.3")
FILES = golden.files()
EXPECTED: dict[Path, list[golden.Expectation]] = defaultdict(list)
for found in golden.expectations():
    EXPECTED[found.path].append(found)


def _places() -> dict[tuple[Path, int], Path]:
    """Files by folder and number: every day, each folder and each number occurs."""
    counts: Counter[Path] = Counter()
    places = {}
    for path in FILES:
        places[path.parent, counts[path.parent]] = path
        counts[path.parent] += 1
    return places


PLACES = _places()


def places_of(*versions: str) -> list:
    """Parameters: files of these versions, named by their place in the golden folder."""
    return [
        pytest.param(*place, id=path.relative_to(golden.FOLDER).as_posix())
        for place, path in PLACES.items()
        if FILES[path] in versions
    ]


@pytest.fixture(autouse=True)
def _present() -> None:
    if not FILES:
        reason = f"no historical tables in {golden.FOLDER}; set LANCE_ARROW_GOLDEN to their folder"
        if os.environ.get("LANCE_ARROW_REQUIRE_GOLDEN"):
            pytest.fail(reason)
        pytest.skip(reason)


def assert_equal(expected: pa.Table, actual: pa.Table, rows: np.ndarray | None = None, *, types: bool = True) -> None:
    """Fail with the columns that differ; `actual` holds `rows` of `expected`, all in order when None."""
    actual.validate(full=True)
    assert actual.column_names == expected.column_names
    pairs = zip(expected.column_names, expected.columns, actual.columns, strict=True)
    found = {name: difference(left, right, rows, types=types) for name, left, right in pairs}
    assert not any(found.values()), found


def some_rows(path: Path, num_rows: int) -> np.ndarray:
    """Row numbers in no order, with duplicates, the last one among them; none of a file without rows."""
    rng = seeded(path.name)
    return rng.permutation(np.append(rng.integers(0, num_rows, 30), num_rows - 1)) if num_rows else np.zeros(0, int)


@pytest.mark.share(2)
@pytest.mark.cover(1)
@pytest.mark.parametrize(("folder", "number"), places_of(*READABLE[1:]))
def test_reads_as_the_reference(witness: Witness, folder: Path, number: int) -> None:
    path = PLACES[folder, number]
    expected = witness.read(path)
    rows = some_rows(path, expected.num_rows)
    with lance_arrow.LanceFile(path) as file:
        assert file.version == FILES[path]
        assert file.num_rows == expected.num_rows
        assert file.schema.equals(witness.schema(path), check_metadata=True)
        assert_equal(expected, file.read())
        assert_equal(expected, file.take(rows), rows)
        assert_equal(expected, pa.Table.from_batches(file.to_batches(batch_size=7), file.schema))
        for name in expected.column_names:
            assert_equal(expected.select([name]), file.take(rows, columns=[name]), rows)


@pytest.mark.share(3)
@pytest.mark.cover(1)
@pytest.mark.parametrize(("folder", "number"), places_of(*READABLE))
def test_holds_the_rows_of_its_tables(folder: Path, number: int) -> None:
    """Rows that a version of the table shows lie in the file where their addresses say, under other names perhaps."""
    path = PLACES[folder, number]
    with lance_arrow.LanceFile(path) as file, LanceFileReader(open_source(path)) as container:
        names_in_file = {field.id: field.name for field in container.fields}
        for expected in EXPECTED[path]:
            columns = [names_in_file[id_] for id_ in expected.names]
            for rows in (file.take(expected.offsets, columns=columns), _picked(file, columns, expected.offsets)):
                assert_equal(expected.rows, rows.rename_columns(list(expected.names.values())), types=False)


def _picked(file: lance_arrow.LanceFile, columns: list[str], offsets: np.ndarray) -> pa.Table:
    """Rows at ascending `offsets`, cut from a scan."""
    scanned = file.read(columns=columns)
    runs = np.split(offsets, np.nonzero(np.diff(offsets) != 1)[0] + 1)
    return pa.concat_tables([scanned.slice(int(run[0]) if len(run) else 0, len(run)) for run in runs])


def test_no_file_is_left_out() -> None:
    """Each data file of the main line is expected by a version; those of branches and of cleaned versions are not.

    Files of 0.1 do not tell which fields they hold: `test_tables_golden` compares their rows.
    """
    data = {path for path, version in FILES.items() if version in READABLE[1:] and path.parent.name == "data"}
    unnamed = {
        next(part for part in path.relative_to(golden.FOLDER).parts if part.endswith(".lance"))
        for path in data
        if not EXPECTED[path]
    }
    assert len(data) > 50
    assert unnamed <= {"branch.lance"}
    kept = [path for path in data if EXPECTED[path]]
    assert sum(len(found.offsets) for path in kept for found in EXPECTED[path]) > 10_000


@pytest.mark.parametrize("name", ["append", "nested", "scalar", "schema", "stable", "zonemap"])
def test_dataset_of_bare_files(tmp_path: Path, name: str) -> None:
    """Files of a first version, taken out of their table, are one dataset in the order given."""
    root = golden.SCENARIOS / "w14.0.2" / f"{name}.lance"
    first = [found for path, held in EXPECTED.items() if root in path.parents for found in held if found.version == 1]
    assert first
    paths = [shutil.copy(found.path, tmp_path) for found in first]
    actual = pads.dataset(paths, format=lance_arrow.LanceFormat()).to_table()
    assert_equal(pa.concat_tables(found.rows for found in first), actual, types=False)
