"""Every version of the historical tables and table scenarios, by every door, row ids and addresses included."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import golden
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from canonical import difference
from values import seeded

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import MissingFileError, UnsupportedError
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.scan.fragments.table_columns import NAME_OF, VirtualColumn

READABLE = (FileVersion.V0_1, FileVersion.V2_0, FileVersion.V2_1, FileVersion.V2_2, FileVersion.V2_3)
ADDRESS = NAME_OF[VirtualColumn.ROW_ADDRESS]
VERSIONS = [(root, version, rows) for root, found in golden.tables() for version, rows in sorted(found.items())]
ROWS_OF = {(root, version): rows for root, version, rows in VERSIONS}


def name_of(root: Path, version: int) -> str:
    return f"{root.relative_to(golden.FOLDER).as_posix()}@{version}"


def is_readable(manifest: ManifestMeta) -> bool:
    """Whether all files that hold rows are of versions that can be read yet."""
    return all(file.version in READABLE for fragment in manifest.fragments for file in fragment.files)


@pytest.fixture(autouse=True)
def _present() -> None:
    if not VERSIONS:
        reason = f"no historical tables in {golden.FOLDER}; set LANCE_ARROW_GOLDEN to their folder"
        if os.environ.get("LANCE_ARROW_REQUIRE_GOLDEN"):
            pytest.fail(reason)
        pytest.skip(reason)


def expected_rows(path: Path) -> pa.Table:
    table = pq.read_table(path)
    return table.rename_columns([ADDRESS if name == golden.ADDRESS_COLUMNS[1] else name for name in table.column_names])


def assert_rows(expected: pa.Table, actual: pa.Table, rows: np.ndarray | None = None) -> None:
    actual.validate(full=True)
    assert actual.column_names == expected.column_names
    pairs = zip(expected.column_names, expected.columns, actual.columns, strict=True)
    found = {name: difference(left, right, rows, types=False) for name, left, right in pairs}
    assert not any(found.values()), found


def own_columns(expected: pa.Table) -> pa.Table:
    return expected.select([name for name in expected.column_names if name not in NAME_OF.values()])


@pytest.mark.share(3)
@pytest.mark.cover(1)
@pytest.mark.parametrize(("root", "version"), ROWS_OF, ids=[name_of(root, version) for root, version in ROWS_OF])
def test_rows_of_a_version(root: Path, version: int) -> None:
    table = LanceTable.open(root, version=version)
    expected = expected_rows(ROWS_OF[root, version])
    plain = own_columns(expected)
    assert table.version == version
    assert table.schema.names == plain.column_names
    if not is_readable(table.manifest):
        with pytest.raises(UnsupportedError):
            table.to_table()
        return
    assert table.count_rows() == expected.num_rows
    names = expected.column_names
    assert_rows(plain, table.to_table())
    assert_rows(expected, table.to_table(columns=names))
    batch_size = 7 if expected.num_rows < 500 else 61
    batches = list(table.to_batches(batch_size=batch_size, columns=names))
    assert max((batch.num_rows for batch in batches), default=0) <= batch_size
    assert_rows(expected, pa.Table.from_batches(batches, table.to_table(columns=names).schema))
    dataset = lance_arrow.dataset(root, version=version)
    assert isinstance(dataset, pads.FileSystemDataset)
    assert dataset.count_rows() == expected.num_rows
    assert_rows(plain, dataset.to_table())
    assert_rows(expected, dataset.to_table(columns=names))
    assert_rows(plain, pickle.loads(pickle.dumps(dataset)).to_table())
    if expected.num_rows:
        rng = seeded(name_of(root, version))
        picks = rng.permutation(np.append(rng.integers(0, expected.num_rows, 20), expected.num_rows - 1))
        assert_rows(expected, table.take(picks, columns=names), picks)
        assert_rows(plain, dataset.take(picks), picks)


@pytest.mark.share(3)
@pytest.mark.cover(1)
@pytest.mark.parametrize(
    ("root", "version"),
    [found for found in ROWS_OF if list((found[0] / "data").glob("*.lance"))],
    ids=[name_of(root, version) for root, version in ROWS_OF if list((root / "data").glob("*.lance"))],
)
def test_pyarrow_finds_the_live_rows(root: Path, version: int) -> None:
    """Files found in the folder give the rows of the version, in the order of the files' names; or say why not."""
    table = LanceTable.open(root, version=version)
    dataset = pads.dataset(str(root), format=LanceFormat(version=version))
    assert dataset.schema.equals(table.schema, check_metadata=True)
    if table.branches or not is_readable(table.manifest):
        with pytest.raises(UnsupportedError):
            dataset.to_table()
        return
    expected = own_columns(expected_rows(ROWS_OF[root, version]))
    assert dataset.count_rows() == expected.num_rows
    # Early manifests do not count rows; their tables are of one fragment.
    counts = [fragment.num_rows for fragment in table.manifest.fragments]
    starts = np.cumsum([0, *counts] if None not in counts else [0, expected.num_rows])
    assert len(starts) == len(counts) + 1
    by_name = sorted(range(len(starts) - 1), key=lambda number: table.manifest.fragments[number].files[0].path)
    order = np.concatenate([np.zeros(0, int), *(np.arange(starts[n], starts[n + 1]) for n in by_name)])
    assert_rows(expected, dataset.to_table(), order)


def test_enough_is_readable() -> None:
    """Versions that cannot be read yet are counted by the versions of their files, not by name."""
    kinds = {True: 0, False: 0}
    for root, version, _ in VERSIONS:
        kinds[is_readable(LanceTable.open(root, version=version).manifest)] += 1
    print(f"\n{kinds[True]} versions of historical tables were read, {kinds[False]} wait for older file versions")
    assert kinds[True] >= 70
    assert kinds[True] + kinds[False] == len(VERSIONS)


def test_manifests_without_files() -> None:
    """Tables of which only manifests were kept: all that manifests say is there, and reading names what is missing."""
    roots = [root for root, rows in golden.tables() if not (root / "data").exists() and (root / "_versions").exists()]
    assert len(roots) >= 2
    for root in roots:
        history = LanceTable.open(root).history()
        assert [found.version for found in history] == sorted((found.version for found in history), reverse=True)
        for found in history:
            table = LanceTable.open(root, version=found.version)
            if table.manifest.fragments:
                with pytest.raises(MissingFileError) as caught:
                    table.to_table()
                assert table.manifest.fragments[0].files[0].path in str(caught.value)
                assert ".manifest" in str(caught.value)


def test_tags_and_branches() -> None:
    root = golden.SCENARIOS / "w14.0.2" / "tags.lance"
    table = LanceTable.open(root)
    assert {name: tag.version for name, tag in table.tags.items()} == {"t1": 1, "rel-2": 2}
    assert LanceTable.open(root, tag="rel-2").version == table.checkout("rel-2").version == 2
    branched = golden.SCENARIOS / "w14.0.2" / "branch.lance"
    assert list(LanceTable.open(branched).branches) == ["feat/x"]
    branch = LanceTable.open(branched, branch="feat/x")
    assert (branch.version, branch.branch, branch.manifest.branch) == (2, "feat/x", "feat/x")
    assert branch.count_rows() == 33
    # Its base path is relative to the folder that its writer ran in.
    with pytest.raises(UnsupportedError, match="absolute path"):
        branch.to_table()
