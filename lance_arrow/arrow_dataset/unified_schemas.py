"""One schema for files whose columns differ: all columns, each of a type that holds the values of every file."""

from __future__ import annotations

import pyarrow as pa

from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.runtime import default_runtime

_MISFITS = (pa.ArrowTypeError, pa.ArrowInvalid)


def unified(dataset: LanceDataset) -> LanceDataset:
    """Return the same files with the schema of all of them; each file is opened for its schema.

    Raises
    ------
    InvalidArgumentError
        Two files have types of a column that have no type in common; column and file are named.
    """
    fragments = dataset.fragments
    if dataset._table is not None:
        return dataset
    schema = dataset.schema
    schemas = default_runtime().ahead(lambda one: one.physical_schema, fragments, is_far=dataset._is_far)
    for fragment, own in zip(fragments, schemas, strict=True):
        if own.equals(schema):
            continue
        try:
            schema = pa.unify_schemas([schema, own], promote_options="permissive")
        except _MISFITS as error:
            raise _misfit(schema, own, fragment.path) from error
    if schema.equals(dataset.schema):
        return dataset
    # pyarrow's replace_schema refuses other types, and casts them when it scans.
    filesystem = bridge.filesystem_of(dataset)
    return LanceDataset(fragments, schema, dataset.format, filesystem, dataset.partition_expression)


def _misfit(schema: pa.Schema, own: pa.Schema, path: str) -> InvalidArgumentError:
    for field in own:
        at = schema.get_field_index(field.name)
        if at < 0:
            continue
        try:
            pa.unify_schemas([pa.schema([schema.field(at)]), pa.schema([field])], promote_options="permissive")
        except _MISFITS:
            return InvalidArgumentError(
                f"files before have the type {schema.field(at).type}, this one has {field.type}: no type holds both",
                column=field.name,
                path=path,
            )
    return InvalidArgumentError("the schema does not fit those of the files before", path=path)
