"""Transactions as commits left them: inline in the manifest's file, or in ``_transactions``."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from lance_arrow.errors import CorruptManifestError, MissingFileError, located
from lance_arrow.io import Location, RangeSource, open_source
from lance_arrow.manifests.base_paths import check_file_name
from lance_arrow.manifests.manifest import ManifestMeta, read_section
from lance_arrow.proto.reading import parse
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.settings import Limits

TRANSACTIONS = "_transactions"
MESSAGE_KEY = "__lance_commit_message"


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionMeta:
    """What one commit did.

    Parameters
    ----------
    read_version
        The version it started from; 0 for the first one.
    uuid
        Its own name.
    operation
        ``append``, ``delete``, ``overwrite``, ...; None for one that is not known here.
    properties
        What the committer wanted to be kept.
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
        """What the committer said of it."""
        return self.properties.get(MESSAGE_KEY)


def read_transaction(
    line: Location,
    manifest_place: Location,
    manifest: ManifestMeta,
    limits: Limits,
    *,
    source: RangeSource | None = None,
) -> TransactionMeta | None:
    """Read what made a version; None where nothing was written down.

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
        It is not there, or is no transaction.
    """
    if manifest.transaction_position is not None:
        place = manifest_place
        is_sealed = manifest.facts.is_sealed
        data = read_section(place, manifest.transaction_position, limits, is_sealed=is_sealed, source=source)
    elif manifest.transaction_file:
        name = check_file_name(manifest.transaction_file, "transaction file")
        place = Location(line.filesystem, posixpath.join(line.path, TRANSACTIONS, name))
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
            f"the manifest {manifest_path!r} names the transaction {place.name!r}, which is not there", path=place.name
        ) from error
    try:
        size = limits.check("max_metadata_bytes", source.size())
        (data,) = source.read(np.array([0]), np.array([size]))
        return data.tobytes()
    finally:
        source.close()
