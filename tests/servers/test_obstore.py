"""obstore and s3fs on one bucket: they keep each other's versions, and an aborted upload leaves no parts."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from obstore.store import S3Store
from running import Place

import lance_arrow
from lance_arrow import LanceTable, LanceWriter

WRITERS, APPENDS = 4, 5
# More than one part of an upload.
LARGE = pa.table({"x": np.random.default_rng(1).random(3_000_000)})


@pytest.fixture
def place(place_of: Callable[[str], Place]) -> Place:
    return place_of("s3")


def store_of(place: Place) -> S3Store:
    options = place.options
    return S3Store(
        "bucket", endpoint=options["endpoint_url"], access_key_id=options["key"], secret_access_key=options["secret"],
        region="us-east-1", client_options={"allow_http": True},
    )  # fmt: skip


def test_writers_of_both_kinds_lose_no_version(place: Place) -> None:
    store, together = store_of(place), threading.Barrier(WRITERS)
    LanceTable.create("both", pa.table({"id": np.arange(1)}), filesystem=store)

    def write(writer: int) -> None:
        own: dict[str, Any] = {"filesystem": store} if writer % 2 else {"filesystem": place.filesystem}
        table = LanceTable.open("both" if writer % 2 else "bucket/both", **own)
        together.wait()
        for number in range(APPENDS):
            table.append(pa.table({"id": np.array([1 + writer * APPENDS + number])}))

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))
    table = LanceTable.open("both", filesystem=store)
    assert sorted(table.to_table()["id"].to_pylist()) == list(range(1 + WRITERS * APPENDS))
    assert table.version == 1 + WRITERS * APPENDS


def test_a_plain_url_goes_through_obstore(place: Place) -> None:
    options = dict(place.options)
    table = LanceTable.create("s3://bucket/plain", LARGE.slice(0, 1000), storage_options=options)
    table.delete("x < 0.5")
    assert LanceTable.open("bucket/plain", filesystem=place.filesystem).count_rows() == table.count_rows() < 1000


def test_large_files_are_sent_in_parts_and_aborted_ones_vanish(place: Place) -> None:
    store = store_of(place)
    lance_arrow.write_table(LARGE, "large.lance", filesystem=store)
    assert lance_arrow.read_table("large.lance", filesystem=store).equals(LARGE)
    writer = LanceWriter("aborted.lance", LARGE.schema, filesystem=store)
    with contextlib.suppress(InterruptedError), writer:
        writer.write(LARGE)
        raise InterruptedError
    assert not place.filesystem.exists("bucket/aborted.lance")
    uploads = place.filesystem.call_s3("list_multipart_uploads", Bucket="bucket").get("Uploads", [])
    assert not uploads
