"""`replace_columns`: values of columns that have files of their own, computed anew; files take others' places."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyroaring

from lance_arrow.container.schema import arrow_schema
from lance_arrow.errors import InternalError, InvalidArgumentError, did_you_mean
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.manifests.fragments import TOMBSTONE
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.table_pb2 import DataFile, DataFragment, IndexSection
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.scan.computed_columns import ComputedColumns
from lance_arrow.table.added_files import write_added_files
from lance_arrow.table.column_sources import column_source, repeatable
from lance_arrow.table.indices.coverage import fragments_of
from lance_arrow.table.operations.base import NextVersion, Operation
from lance_arrow.table.writable_branch import ReaderOf, WritableBranch, refuse_blob_structs, writable_version
from lance_arrow.table.written_files import WrittenFiles


@dataclass(frozen=True, slots=True)
class DataReplacement(Operation):
    """Puts files in the place of others of the same fields, or of none.

    Parameters
    ----------
    files
        By fragment.
    fields
        Ids of the fields whose values the files replace, and of the fields above these: an index of a list names the
        list.
    """

    files: Mapping[int, DataFile]
    fields: frozenset[int]

    @property
    def changed_fields(self) -> frozenset[int]:
        """See `Operation.changed_fields`."""
        return self.fields

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.data_replacement.SetInParent()
        for number, file in self.files.items():
            transaction.data_replacement.replacements.add(fragment_id=number, new_file=file)

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("a replacement in no table")
        draft = editable(base)
        for number, file in self.files.items():
            fragment = draft.fragments.get(number)
            check_fragment_known(fragment, base.facts.manifest_path)
            _replace(fragment, file)
            draft.fragments.put(fragment)
        return NextVersion(draft, base, lambda section: _uncover(section, self.fields, self.files.keys()))


def replace_columns(
    target: WritableBranch,
    base: ManifestMeta,
    reader_of: ReaderOf,
    values: Any,
    *,
    on: str | Sequence[str] | None,
    read_columns: Sequence[str] | None,
    batch_size: int,
    options: Callable[[str], WriteOptions],
    message: str | None,
) -> ManifestMeta:
    """Replace the values of columns; arguments are those of `LanceTable.replace_columns`."""
    kept = functools.cache(lambda: repeatable(values))

    def attempt(base: ManifestMeta, files: WrittenFiles) -> DataReplacement:
        refuse_blob_structs(base.fields)
        chosen = options(writable_version(base))
        reader = reader_of(base)
        known = arrow_schema(base.fields, {})
        if isinstance(values, Mapping):
            _check_known(list(values), known)
            made = ComputedColumns(values, known, known)
            names = list(values)
            wanted: Sequence[str] = tuple(dict.fromkeys(path[0] for path in made.paths))
            source = None
        else:
            source = column_source(kept(), reader, on=on, read_columns=read_columns, rows=batch_size)
            names, wanted = source.schema.names, source.columns
            _check_known(names, known)
        fields = [field for field in base.fields if field.name in names]
        ids = frozenset(one.id for field in fields for one in field.walk())
        _check_apart(base, ids)
        schema = pa.schema([known.field(field.name) for field in fields])

        def compute(batch: pa.RecordBatch) -> list[pa.Array]:
            if source is None:
                arrays = made.arrays(batch)
            else:
                arrays = _fitted(source.arrays(batch), source.schema, chosen, known)
            return [arrays[names.index(name)] for name in schema.names]

        new = write_added_files(
            target.line, reader, fields, wanted, compute, files, options=chosen, batch_size=batch_size
        )
        if source is not None:
            source.finish()
        return DataReplacement(new, ids)

    return target.retried(base, attempt, message)


def _check_known(names: Sequence[str], known: pa.Schema) -> None:
    for name in names:
        if name not in known.names:
            offer = did_you_mean(name, known.names)
            raise InvalidArgumentError(f"the table has no column {name!r}; columns: {known.names}{offer}", column=name)
    if not names:
        raise InvalidArgumentError("no column is given")


def _check_apart(base: ManifestMeta, ids: frozenset[int]) -> None:
    """Refuse columns that do not lie in one file, alone, or in none."""
    for fragment in base.fragments:
        for file in fragment.files:
            held = {number for number in file.fields if number != TOMBSTONE}
            leaves = held & ids
            if leaves and leaves != held:
                raise InvalidArgumentError(
                    f"fragment {fragment.id} has these columns in one file with others: update() changes their values",
                    path=base.facts.root,
                )


def _fitted(arrays: list[pa.Array], schema: pa.Schema, options: WriteOptions, known: pa.Schema) -> list[pa.Array]:
    stored = StoredRows(schema, options.version)
    found = []
    for parts, field in zip(stored.columns(pa.RecordBatch.from_arrays(arrays, schema=schema)), schema, strict=True):
        array = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        wanted = known.field(field.name).type
        if array.type != wanted:
            raise InvalidArgumentError(f"values are {array.type}, the table has {wanted}", column=field.name)
        found.append(array)
    return found


def _replace(fragment: DataFragment, file: DataFile) -> None:
    wanted = set(file.fields)
    for one in fragment.files:
        if set(one.fields) == wanted:
            one.CopyFrom(file)
            return
        if wanted & set(one.fields):
            raise InvalidArgumentError(f"fragment {fragment.id} has other columns in the file that would be replaced")
    fragment.files.add().CopyFrom(file)


def _uncover(section: IndexSection, fields: frozenset[int], fragments: Iterable[int]) -> None:
    """Take the fragments out of the coverage of the indices of the fields; an index without any coverage stays."""
    gone = pyroaring.BitMap(fragments)
    for at in range(len(section.indices) - 1, -1, -1):
        index = section.indices[at]
        if not fields.intersection(index.fields):
            continue
        covered = fragments_of(index.fragment_bitmap)
        if covered is None:
            # Without its coverage, entries that are out of date cannot be told from others.
            del section.indices[at]
        else:
            index.fragment_bitmap = bytes((covered - gone).serialize())
