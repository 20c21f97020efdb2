"""Every manifest, index section and transaction of the historical tables parses, and holds nothing unexplained."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf.message import Message

from lance_arrow.proto import table_pb2
from lance_arrow.proto.file_schema_pb2 import Field
from lance_arrow.proto.reading import iter_unknown, parse, set_case
from lance_arrow.proto.rowids_pb2 import RowDatasetVersionSequence, RowIdSequence
from lance_arrow.proto.table_pb2 import IndexSection, Manifest
from lance_arrow.proto.transaction_pb2 import Transaction

GOLDEN = Path(os.environ.get("LANCE_ARROW_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
MANIFESTS = sorted(GOLDEN.rglob("*.manifest"))
TRANSACTIONS = sorted(GOLDEN.rglob("*.txn"))

pytestmark = pytest.mark.skipif(
    not MANIFESTS, reason=f"no historical tables in {GOLDEN}; set LANCE_ARROW_GOLDEN to their folder"
)

# The format reserves the number: it was `storage_class` in releases 0.19 to 0.3x.
STORAGE_CLASS = 11


def unexplained(message: Message) -> list[tuple[str, int]]:
    """Unknown fields other than a schema field's storage class."""
    return [(path, number) for path, number in iter_unknown(message) if not is_storage_class(path, number)]


def is_storage_class(path: str, number: int) -> bool:
    return number == STORAGE_CLASS and path.rpartition(".")[2].partition("[")[0] in ("fields", "schema")


def section(data: bytes, position: int) -> bytes:
    (size,) = struct.unpack_from("<I", data, position)
    assert position + 4 + size <= len(data)
    return data[position + 4 : position + 4 + size]


def read_manifest(path: Path) -> tuple[Manifest, bytes]:
    data = path.read_bytes()
    position, _, _, magic = struct.unpack("<QHH4s", data[-16:])
    assert magic == b"LANC"
    held = section(data, position)
    assert position + 4 + len(held) + 16 == len(data)
    return parse(Manifest, held, what=path.name), data


def parts(manifest: Manifest, data: bytes) -> Iterator[Message]:
    """The manifest and every message that lies beside or inside it as bytes."""
    yield manifest
    if manifest.HasField("index_section"):
        indices = parse(IndexSection, section(data, manifest.index_section), what="indices")
        yield indices
        for index in indices.indices:
            name = index.index_details.type_url.rpartition(".")[2]
            if name:
                yield parse(getattr(table_pb2, name), index.index_details.value, what=name)
    for field in ("transaction_section", "transaction_section_deprecated"):
        if manifest.HasField(field):
            yield parse(Transaction, section(data, getattr(manifest, field)), what="transaction")
    for fragment in manifest.fragments:
        if fragment.HasField("inline_row_ids"):
            yield parse(RowIdSequence, fragment.inline_row_ids, what="row ids")
        for field in ("inline_last_updated_at_versions", "inline_created_at_versions"):
            if fragment.HasField(field):
                yield parse(RowDatasetVersionSequence, getattr(fragment, field), what="row versions")


def test_manifests_hold_nothing_unknown():
    kinds: Counter[str] = Counter()
    for path in MANIFESTS:
        manifest, data = read_manifest(path)
        assert manifest.version > 0
        for message in parts(manifest, data):
            assert unexplained(message) == [], path
            kinds[message.DESCRIPTOR.name] += 1
    expected = {Manifest, IndexSection, Transaction, RowIdSequence, RowDatasetVersionSequence}
    assert {message_type.DESCRIPTOR.name for message_type in expected} <= set(kinds)
    assert {"ZoneMapIndexDetails", "BTreeIndexDetails", "BitmapIndexDetails"} <= set(kinds)


def test_both_places_of_the_transaction_are_met():
    manifests = [read_manifest(path)[0] for path in MANIFESTS]
    for field in ("transaction_section", "transaction_section_deprecated"):
        assert any(manifest.HasField(field) for manifest in manifests)


def test_row_ids_come_in_known_segments():
    seen: set[str | None] = set()
    for path in MANIFESTS:
        for message in parts(*read_manifest(path)):
            if isinstance(message, RowIdSequence):
                seen.update(set_case(segment) for segment in message.segments)
    assert {"range", "range_with_bitmap"} <= seen
    assert seen <= {field.name for field in table_segments()}


def table_segments() -> list:
    segment = RowIdSequence.DESCRIPTOR.fields_by_name["segments"].message_type
    return segment.oneofs_by_name["segment"].fields


def test_transactions_hold_nothing_unknown():
    seen: set[str | None] = set()
    for path in TRANSACTIONS:
        transaction = parse(Transaction, path.read_bytes(), what=path.name)
        assert unexplained(transaction) == [], path
        assert path.name == f"{transaction.read_version}-{transaction.uuid}.txn"
        seen.add(set_case(transaction))
    assert {"append", "delete", "overwrite", "create_index", "rewrite", "merge", "update", "project"} <= seen
    assert not any(case is None or case.startswith("#") for case in seen)


def test_parents_precede_children_in_schemas():
    for path in MANIFESTS:
        ids: set[int] = set()
        for field in read_manifest(path)[0].fields:
            assert isinstance(field, Field)
            assert field.parent_id == -1 or field.parent_id in ids, path
            assert field.logical_type
            ids.add(field.id)
