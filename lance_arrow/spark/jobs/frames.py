"""What jobs share that go through data frames: options of the filesystem, and what a commit wrote."""

from __future__ import annotations

import json

from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import list_manifests, manifest_place, read_listed
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.runtime import default_runtime
from lance_arrow.spark.committing import JOB_KEY
from lance_arrow.spark.options import TableAddress
from lance_arrow.table.transactions import TransactionMeta, read_transaction


def read_options(address: TableAddress) -> dict[str, str]:
    """Return the options of ``format("lance")`` for the filesystem of a table."""
    if not address.storage_options:
        return {}
    return {"storageOptions": json.dumps(dict(address.storage_options))}


def find_commit(address: TableAddress, job_name: str) -> tuple[ManifestMeta, TransactionMeta] | None:
    """Return the version that a job made, looked for from the newest on."""
    root = address.location()
    limits = default_runtime().settings.limits
    for listed in reversed(list_manifests(root)):
        manifest = read_listed(root, listed, limits)
        transaction = read_transaction(root, manifest_place(root, listed.name), manifest, limits)
        if transaction is not None and transaction.properties.get(JOB_KEY) == job_name:
            return manifest, transaction
    return None


def written_counts(address: TableAddress, job_name: str) -> tuple[int | None, dict[str, int]]:
    """Return the version that a job made, and how many files and rows it added."""
    found = find_commit(address, job_name)
    if found is None:
        return None, {"rows_written": 0, "files_written": 0}
    manifest, transaction = found
    message = Transaction.FromString(transaction.message_bytes)
    fragments = message.append.fragments if message.HasField("append") else message.overwrite.fragments
    return manifest.version, {
        "rows_written": sum(one.physical_rows for one in fragments),
        "files_written": sum(len(one.files) for one in fragments),
        "bytes_written": sum(file.file_size_bytes for one in fragments for file in one.files),
    }
