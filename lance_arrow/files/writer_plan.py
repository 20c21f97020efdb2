"""`WriterPlan`: what a writer derives from a schema and from options, kept for the next file of the same kind."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import pyarrow as pa

from lance_arrow.arrays.blob_fields import PLACE_TYPE
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, column_tree, leaves_of
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.file_form import FileForm
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import UnsupportedError
from lance_arrow.files.plain_leaves import PlainPlan, plain_plan
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.files.write_options import WriteOptions
from lance_arrow.runtime import Runtime
from lance_arrow.spi import EncodeOptions
from lance_arrow.statistics.zone_types import DEFAULT_ROWS_PER_ZONE, bounds_type
from lance_arrow.structure.page_encoder import PageEncoder

_MAX_PLANS = 64
_MAX_KEPT_COLUMNS = 1 << 15
"""Columns of all plans that are kept, unless one alone has more."""
_MAX_KEY_BYTES = 16 << 20
_EXTENSION = b"ARROW:extension:name"


@dataclass(frozen=True, slots=True, eq=False)
class LeafPlan:
    """How a leaf is written: its top-level column, options, and rows of a zone, 0 where it has no zone map."""

    leaf: LeafNode
    top: int
    options: EncodeOptions
    rows_per_zone: int


@dataclass(frozen=True, slots=True, eq=False)
class WriterPlan:
    """Plan that all writers of one schema share.

    Parameters
    ----------
    stored
        Brings rows into their stored form.
    form
        Columns and descriptor of the file.
    tree
        Its columns, by top-level field.
    leaves
        Its leaves, in the order of the columns.
    encoder
        Encodes pages.
    plain
        Leaves whose pages are encoded natively; None if there are none.
    """

    stored: StoredRows
    form: FileForm
    tree: tuple[ColumnNode, ...]
    leaves: tuple[LeafPlan, ...]
    encoder: PageEncoder
    plain: PlainPlan | None


_plans: OrderedDict[Hashable, tuple[object, WriterPlan]] = OrderedDict()
_lock = Lock()


def writer_plan(
    schema: pa.Schema,
    options: WriteOptions,
    runtime: Runtime,
    fields_of: Callable[[pa.Schema], Sequence[SchemaField]],
    wanted: tuple[SchemaField, ...] = (),
) -> WriterPlan:
    """Return the plan of files of a schema; the last 64 are kept.

    Parameters
    ----------
    schema
        Of the caller's rows.
    options
        How to write.
    runtime
        Plugins and limits.
    fields_of
        Numbers the fields of the stored schema.
    wanted
        What it depends on beside the schema.

    Raises
    ------
    UnsupportedError
        A type cannot be stored, or not in this file version; the column is named.
    InvalidArgumentError
        An option or a field name is not valid.
    """
    key = _key(schema, options, runtime, wanted)
    with _lock:
        if key in _plans:
            _plans.move_to_end(key)
            return _plans[key][1]
    made = _made(schema, options, runtime, fields_of)
    if key is not None:
        with _lock:
            # The key holds identities of objects: keep the objects, so that no other gets the same identity.
            _plans[key] = (runtime, wanted), made
            columns = sum(plan.form.num_columns for _, plan in _plans.values())
            while len(_plans) > 1 and (len(_plans) > _MAX_PLANS or columns > _MAX_KEPT_COLUMNS):
                columns -= _plans.popitem(last=False)[1][1].form.num_columns
    return made


def _key(
    schema: pa.Schema, options: WriteOptions, runtime: Runtime, wanted: tuple[SchemaField, ...]
) -> Hashable | None:
    """Return what tells kinds of files apart; None for schemas that are not worth it, or wrong."""
    if not isinstance(schema, pa.Schema) or options.column_options:
        return None
    message = schema.serialize().to_pybytes()
    # Fields with the metadata of an extension type have the same message as those of that type. Types that are defined
    # in Python need not be hashable.
    if len(message) > _MAX_KEY_BYTES or _EXTENSION in message:
        return None
    return message, options, id(runtime), tuple(map(id, wanted))


def _made(
    schema: pa.Schema,
    options: WriteOptions,
    runtime: Runtime,
    fields_of: Callable[[pa.Schema], Sequence[SchemaField]],
) -> WriterPlan:
    stored = StoredRows(schema, options.version)
    options.check_columns(stored.schema)
    fields = tuple(fields_of(stored.schema))
    form = FileForm(options.version, fields, stored.schema.metadata)
    tree = column_tree(stored.schema, tuple(form.leaves.values()))
    for leaf in leaves_of(tree):
        if leaf.refusal is not None or leaf.is_blob:
            _check_leaf(leaf, options.version)
    settings, private = runtime.settings, options.allow_private_encodings
    encoder = PageEncoder(runtime.table, settings.limits, runtime.scratch, options.file_version, private)
    leaves = tuple(_leaf_plans(tree, options))
    return WriterPlan(stored, form, tree, leaves, encoder, plain_plan(tree, leaves, stored, options.version, encoder))


def _leaf_plans(tree: Sequence[ColumnNode], options: WriteOptions) -> list[LeafPlan]:
    base_options = EncodeOptions(preset=options.preset)
    zone_rows, words = options.zone_rows, options.column_options
    found = []
    # Of columns that have neither options nor metadata the type tells.
    known: dict[tuple[int, pa.DataType], LeafPlan] = {}
    for top, root in enumerate(tree):
        type_ = root.field.type
        is_plain = not words and root.field.metadata is None and not isinstance(type_, pa.BaseExtensionType)
        if is_plain and isinstance(root, LeafNode):
            like = known.get((id(root.leaf), type_))
            if like is not None:
                found.append(LeafPlan(root, top, base_options, like.rows_per_zone))
                continue
        for leaf in leaves_of((root,)):
            own = _options_by_path(base_options, words, leaf.path, (root.field.metadata, leaf.field.metadata))
            wants_zones = zone_rows > 0 if own.zone_map is None else own.zone_map
            has_zones = wants_zones and bounds_type(leaf) is not None
            plan = LeafPlan(leaf, top, own, (zone_rows or DEFAULT_ROWS_PER_ZONE) if has_zones else 0)
            if is_plain and leaf is root:
                known[id(leaf.leaf), type_] = plan
            found.append(plan)
    return found


def _check_leaf(leaf: LeafNode, version: FileVersion) -> None:
    """Refuse, before there is a file, columns that no page can hold."""
    if leaf.refusal is not None:
        raise UnsupportedError(f"{leaf.refusal} cannot be written", column=leaf.path)
    if version is FileVersion.V2_3 and leaf.is_blob and leaf.field.type == PLACE_TYPE:
        raise UnsupportedError(
            "blobs of the first kind exist until file version 2.2: write that, or leave lance-encoding:blob out",
            column=leaf.path,
        )


def _options_by_path(
    base: EncodeOptions,
    column_options: Mapping[str, Mapping[str, Any]],
    path: str,
    metadata: Sequence[Mapping[bytes, bytes] | None],
) -> EncodeOptions:
    """Return the options of the leaf at `path`: the writer's, then its fields' metadata, then the caller's words.

    Parameters
    ----------
    base
        Options of every column.
    column_options
        A caller's words: those for ``a`` hold for every leaf below ``a``; those for a longer path are stronger.
    path
        Dotted path of the leaf.
    metadata
        Metadata of the fields that speak for the leaf, the stronger ones later: its top-level field and its own.
    """
    found = base
    for one in metadata:
        found = found.with_metadata(one)
    for name in sorted(column_options, key=len):
        if path == name or path.startswith(f"{name}."):
            found = found.with_words(column_options[name], column=name)
    return found
