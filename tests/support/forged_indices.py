"""Entries for indices that have no files: what a version says of an index, without what the index says."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import pyroaring

from lance_arrow import LanceTable
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.proto.table_pb2 import IndexMetadata
from lance_arrow.table.operations.indices import CreateIndex
from lance_arrow.table.written_files import WrittenFiles


def index_entry(
    name: str, kind: str, fragments: Iterable[int] | None, *, fields: Iterable[int] = (0,), index_version: int = 0
) -> IndexMetadata:
    """Make an entry; an index without fragments does not tell which it covers."""
    index = IndexMetadata(name=name, fields=fields, dataset_version=1, index_version=index_version)
    index.uuid.uuid = uuid.uuid4().bytes
    index.index_details.type_url = f"/lance.table.{kind}"
    if fragments is not None:
        index.fragment_bitmap = bytes(pyroaring.BitMap(fragments).serialize())
    return index


def put_index(table: LanceTable, *entry: object, **options: object) -> IndexMetadata:
    """Add an entry to a table, in one version."""
    index = index_entry(*entry, **options)

    def attempt(base: ManifestMeta, files: WrittenFiles) -> CreateIndex:
        return CreateIndex(new=[index])

    table._move(table._target().retried(table.manifest, attempt, None))
    return index
