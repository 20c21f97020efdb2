"""Requests to open a table and to append to it, by the number of its versions: bounded on S3, Azure and GCS alike.

The newest version takes one listing. Where that is not all versions, one request more looks for manifests of the other
naming scheme, which would make the answer wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bucket_server import BUCKET, Bucket, bucket
from many_versions import table_of_versions
from other_buckets import azure_bucket, azure_store, gcs_bucket, gcs_store

from lance_arrow import LanceTable
from lance_arrow.errors import CorruptManifestError

ROWS = pa.table({"id": [1, 2, 3]})
FEW, MANY, VERY_MANY = 10, 1000, 100_000
NEWEST_LISTED = 32


def s3fs_of(server: Bucket) -> Any:
    s3fs = pytest.importorskip("s3fs")
    return s3fs.S3FileSystem(key="key", secret="secret", endpoint_url=server.endpoint, skip_instance_cache=True)


Serve = Callable[[Path], AbstractContextManager[Bucket]]
STORES: dict[str, tuple[Serve, Callable[[Bucket], Any], str]] = {
    "s3": (bucket, lambda server: server.store(), ""),
    "s3fs": (bucket, s3fs_of, f"{BUCKET}/"),
    "azure": (azure_bucket, azure_store, ""),
    "gcs": (gcs_bucket, gcs_store, ""),
}


def counts(server: Bucket) -> Counter[str]:
    found = Counter(one.split()[0] for one in server.requests)
    server.requests.clear()
    return found


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Make a folder with a table of so many versions; each store continues what the one before wrote."""

    @cache
    def made(num_versions: int) -> Path:
        folder = tmp_path_factory.mktemp("versions")
        table_of_versions(folder / "t", num_versions, ROWS)
        return folder

    return made


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("num_versions", [FEW, MANY, pytest.param(VERY_MANY, marks=pytest.mark.whole)])
def test_requests_do_not_grow_with_versions(num_versions: int, store: str, folder_of: Callable[[int], Path]) -> None:
    folder = folder_of(num_versions)
    version = LanceTable.open(folder / "t").version
    assert num_versions <= version < num_versions + 2 * len(STORES)
    serve, make, before = STORES[store]
    with serve(folder) as server:
        filesystem = make(server)
        table = LanceTable.open(f"{before}t", filesystem=filesystem)
        first = counts(server)
        # The first commit asks whether the store honours conditions.
        table.append(ROWS)
        counts(server)
        table = LanceTable.open(f"{before}t", filesystem=filesystem)
        opened = counts(server)
        table.append(ROWS)
        appended = counts(server)
        assert table.version == version + 2
        assert table.count_rows() == (3 + version - num_versions) * ROWS.num_rows
    look = Counter({"HEAD" if store == "azure" else "LIST": int(num_versions > NEWEST_LISTED)})
    assert first == Counter({"LIST": 1, "GET": 1}) + look
    # A process asks once whether there are manifests of the other scheme, where names can be listed after one.
    again = look if store == "azure" else Counter[str]()
    assert opened == Counter({"LIST": 1, "GET": 1}) + again
    # Data, transaction, manifest.
    assert appended == Counter({"LIST": 1, "PUT": 3}) + again


@pytest.mark.parametrize("store", STORES)
def test_a_manifest_of_the_other_scheme_is_found(store: str, tmp_path: Path) -> None:
    table_of_versions(tmp_path / "t", NEWEST_LISTED + 10, ROWS)
    versions = tmp_path / "t" / "_versions"
    newest = min(versions.iterdir())
    (versions / f"{NEWEST_LISTED + 11}.manifest").write_bytes(newest.read_bytes())
    serve, make, before = STORES[store]
    with serve(tmp_path) as server, pytest.raises(CorruptManifestError, match="two schemes"):
        LanceTable.open(f"{before}t", filesystem=make(server))
