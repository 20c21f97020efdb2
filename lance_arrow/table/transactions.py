"""Transactions of commits: inline in the manifest's file, or in ``_transactions``."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lance_arrow.errors import CorruptManifestError, MissingFileError, located
from lance_arrow.io import Location, RangeSource, open_source
from lance_arrow.manifests.base_paths import TRANSACTIONS, check_file_name
from lance_arrow.manifests.manifest import ManifestMeta, read_section
from lance_arrow.proto.reading import parse
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.settings import Limits

MESSAGE_KEY = "__lance_commit_message"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMeta:
    """Transaction of one commit.

    Parameters
    ----------
    read_version
        Version that the change started from; 0 for the first one.
    uuid
        Unique name of the transaction.
    operation
        ``append``, ``delete``, ``overwrite``, ...; None for an unknown operation.
    properties
        Properties that the writer stored with it, such as the message.
    message_bytes
        The message as it was stored, for conflict checks.
    """

    read_version: int
    uuid: str
    operation: str | None
    properties: Mapping[str, str] = field(default_factory=dict)
    message_bytes: bytes = field(default=b"", repr=False)

    @property
    def message(self) -> str | None:
        """Message of the commit; None if there is none."""
        return self.properties.get(MESSAGE_KEY)


def read_transaction(
    line: Location,
    manifest_place: Location,
    manifest: ManifestMeta,
    limits: Limits,
    *,
    source: RangeSource | None = None,
) -> TransactionMeta | None:
    """Read the transaction of a version; None if the writer recorded none.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    manifest_place, manifest
        The manifest's file and content.
    limits
        `max_metadata_bytes` bounds the message.
    source
        The manifest's file, if it is open.

    Raises
    ------
    CorruptManifestError
        The transaction is missing, or its bytes are damaged.
    """
    if manifest.transaction_position is not None:
        place = manifest_place
        is_sealed = manifest.facts.is_sealed
        data = read_section(place, manifest.transaction_position, limits, is_sealed=is_sealed, source=source)
    elif manifest.transaction_file:
        name = check_file_name(manifest.transaction_file, "transaction file")
        place = line.at(posixpath.join(line.path, TRANSACTIONS, name))
        data = _content(place, manifest.facts.manifest_path, limits)
    else:
        return None
    with located(path=place.name):
        message = parse(
            Transaction, data, what="a transaction", error=CorruptManifestError, max_bytes=limits.max_metadata_bytes
        )
    return TransactionMeta(
        read_version=message.read_version,
        uuid=message.uuid,
        operation=message.WhichOneof("operation"),
        properties=dict(sorted(message.transaction_properties.items())),
        message_bytes=data,
    )


def _content(place: Location, manifest_path: str, limits: Limits) -> bytes:
    try:
        source = open_source(place)
    except FileNotFoundError as error:
        raise MissingFileError(
            f"the manifest {manifest_path!r} names the transaction {place.name!r}, which does not exist",
            path=place.name,
        ) from error
    try:
        size = limits.check("max_metadata_bytes", source.size())
        (data,) = source.read(np.array([0]), np.array([size]))
        return data.tobytes()
    finally:
        source.close()
