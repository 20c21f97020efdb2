"""`FilesReader`: batch reads of bare files: of one, of those in a folder, or of those that a pattern names.

files ─► large ones cut where zones end ─► neighbours packed together ─► partitions, each a dataset of its own
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.opening import dataset as open_dataset
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import has_file
from lance_arrow.manifests.base_paths import DATA
from lance_arrow.manifests.versions import VERSIONS
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.predicates import as_expression, fitting
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.spark.fitting import BatchFitting
from lance_arrow.spark.options import ReadChoices
from lance_arrow.spark.planning import packed, usual_split_bytes
from lance_arrow.spark.same_version import SameVersion
from lance_arrow.spark.type_mapping import batch_schema, spark_schema

_OF_TABLES = {"version": "version", "tag": "tag", "as_of": "asOf", "branch": "branch", "with_row_id": "withRowId"}


class FilesPartition(InputPartition):
    """What one task reads: the rows of a dataset, in order; None for none.

    Parameters
    ----------
    rows
        The dataset.
    """

    def __init__(self, rows: LanceDataset | None) -> None:
        super().__init__(None)
        self.rows = rows

    def __repr__(self) -> str:
        return f"FilesPartition({0 if self.rows is None else len(self.rows.files)} files)"


class FilesReader(SameVersion, DataSourceReader):
    """Reads bare files.

    Parameters
    ----------
    choices
        What the options say.
    files
        The files, as `files_of` opens them.
    schema
        What Spark wants: columns of the files, or those that option ``columns`` names.

    Raises
    ------
    InvalidArgumentError
        The schema has a column that the files have not, or the filter does not fit.
    UnsupportedError
        A column cannot be brought into the type that Spark wants.
    """

    def __init__(self, choices: ReadChoices, files: LanceDataset, schema: StructType) -> None:
        self._choices, self._files = choices, files
        shown = _shown(choices, files)
        unknown = [name for name in schema.names if name not in (shown if choices.columns else files.schema).names]
        if unknown:
            raise InvalidArgumentError(
                f"the schema given to Spark has the column {unknown[0]!r}, which the files have not; there are "
                f"{files.schema.names}",
                column=unknown[0],
            )
        self._names = list(choices.columns or schema.names)
        self._schema = batch_schema(schema)
        BatchFitting(self._schema).check(files.scanner(columns=self._names).projected_schema)
        self._filter = None
        if choices.filter is not None:
            self._filter = as_expression(choices.filter, files.schema)
            # On the driver: it would fail in every task.
            with fitting("option filter does not fit the files", files.schema):
                files.schema.empty_table().filter(self._filter)

    def partitions(self) -> list[FilesPartition]:  # type: ignore[override]
        """Plan, on the driver; at least one partition, as Spark wants it."""
        fragments = self._files.fragments
        _, sizes, _, _ = bridge.files_of(self._files)
        known = np.maximum(np.array(sizes, np.float64), 1.0)
        most_bytes, most_rows = self._choices.split_bytes, self._choices.split_rows
        if most_bytes is None and most_rows is None:
            most_bytes = usual_split_bytes(float(known.sum()))

        def cut(number: int) -> list[tuple[LanceFileFragment, float]]:
            """Return parts of a file, each with its weight."""
            fragment, heavy = fragments[number], 0.0 if most_bytes is None else float(known[number]) / most_bytes
            if heavy <= 1 and most_rows is None:
                return [(fragment, heavy)]
            num_rows = fragment.count_rows()
            heavy = max(heavy, num_rows / most_rows if most_rows else 0.0)
            parts = [fragment] if heavy <= 1 else fragment.split_by_zone(max_rows=max(1, -int(-num_rows // heavy)))
            return [(part, heavy / len(parts)) for part in parts]

        is_far = bool(fragments) and fragments[0].place.is_far
        cuts = default_runtime().each(cut, range(len(fragments)), is_far=is_far)
        pieces = [piece for parts in cuts for piece in parts]
        borders = packed(np.array([weight for _, weight in pieces])).tolist()
        some = [[part for part, _ in pieces[first:stop]] for first, stop in pairwise(borders)]
        return [FilesPartition(self._files._over(parts)) for parts in some] or [FilesPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one partition, in a task; errors are those of `LanceDataset.to_batches`, and of `BatchFitting.batch`."""
        assert isinstance(partition, FilesPartition)
        if partition.rows is None:
            return
        fitted = BatchFitting(self._schema, truncates_times=self._choices.truncates_times)
        rows = self._choices.batch_rows
        # Arrow casts all items that a slice of lists lies on: so whole windows are cast, and cut then.
        for window in partition.rows.to_batches(self._names, self._filter, batch_size=WINDOW_ROWS):
            batch = fitted.batch(window)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def __getstate__(self) -> dict[str, Any]:
        # Tasks get their files with their partition.
        return {**self.__dict__, "_files": None}


def files_of(choices: ReadChoices) -> LanceDataset:
    """Open the files at the address.

    Raises
    ------
    FileNotFoundError
        There are none.
    InvalidArgumentError
        An option is of tables alone, or the files are those of a table.
    LanceError, OSError
        As `lance_arrow.dataset`.
    """
    uri = choices.address.path
    found = open_dataset(
        uri,
        storage_options=dict(choices.address.storage_options) or None,
        dictionaries="decode",
        blobs=choices.blobs,
        verify=choices.verify,
    )
    given = [option for name, option in _OF_TABLES.items() if getattr(choices, name)]
    if given:
        raise InvalidArgumentError(f"option {given[0]} is for tables, and {uri!r} holds files without a table")
    _check_in_no_table(found)
    return found


def _check_in_no_table(files: LanceDataset) -> None:
    """Refuse files of a table, whose rows tasks would read without its deletions; it may lie further up."""
    places = [place for fragment in files.fragments if (place := fragment.place.location()) is not None]
    for folder, place in {posixpath.dirname(place.path): place for place in places}.items():
        root, name = posixpath.split(folder)
        if name == DATA and has_file(place.given, posixpath.join(root, VERSIONS), bool):
            raise InvalidArgumentError(f"{folder!r} holds files of a table: load {root!r}, which needs its versions")


def schema_of_files(choices: ReadChoices, files: LanceDataset) -> StructType:
    """Return the schema that Spark sees of files; errors are those of `spark_schema`."""
    return spark_schema(_shown(choices, files))


def _shown(choices: ReadChoices, files: LanceDataset) -> pa.Schema:
    return files.scanner(columns=None if choices.columns is None else list(choices.columns)).projected_schema
