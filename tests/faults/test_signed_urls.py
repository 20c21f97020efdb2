"""Signed URLs that a server refuses: every door says what it answered, and nothing shows the signature."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bucket_server import BUCKET, Bucket, bucket
from obstore.store import HTTPStore

import lance_arrow
from lance_arrow import LanceFile, LanceTable

SECRET = "0f1e2d3c"
ROWS = pa.table({"x": range(100)})
DOORS: dict[str, Callable[..., Any]] = {
    "file": LanceFile,
    "read_table": lance_arrow.read_table,
    "read_schema": lance_arrow.read_schema,
    "dataset": lance_arrow.dataset,
    "dataset of a list": lambda path, **options: lance_arrow.dataset([path], **options),
    "table": LanceTable.open,
    "create": lambda path, **options: LanceTable.create(path, ROWS, **options),
    "verify": lance_arrow.verify,
}
ANSWERS = {401: PermissionError, 403: PermissionError, 429: OSError, 500: OSError}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Bucket]:
    lance_arrow.write_table(ROWS, tmp_path / "rows.lance")
    with bucket(tmp_path) as started:
        yield started


def by_url(server: Bucket) -> dict[str, Any]:
    return {"path": f"{server.endpoint}/{BUCKET}/rows.lance?sig={SECRET}&token={SECRET}"}


def by_store(server: Bucket) -> dict[str, Any]:
    store = HTTPStore(
        f"{server.endpoint}/{BUCKET}?sig={SECRET}", client_options={"allow_http": True}, retry_config={"max_retries": 0}
    )
    return {"path": "rows.lance", "filesystem": store}


def everything_in(error: BaseException | None, seen: set[int]) -> Iterator[str]:
    """All texts that a log or a debugger shows of an exception and of those behind it."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield from (str(error), repr(error), repr(error.args), repr(vars(error)), repr(getattr(error, "filename", "")))
    yield from traceback.format_exception_only(error)
    yield from everything_in(error.__cause__, seen)
    yield from everything_in(error.__context__, seen)


# A store of HTTP is for reading, and says so before it asks the server.
ASKED = [(way, door) for way in (by_url, by_store) for door in DOORS if (way, door) != (by_store, "create")]


@pytest.mark.cover(1)
@pytest.mark.parametrize("status", ANSWERS)
@pytest.mark.parametrize(("way", "door"), ASKED)
def test_a_refusal_is_told_without_the_signature(
    server: Bucket, way: Callable[[Bucket], dict[str, Any]], door: str, status: int
) -> None:
    server.refusal = lambda _: status
    asked = way(server)
    with pytest.raises(OSError, match=str(status)) as caught:
        DOORS[door](asked.pop("path"), **asked)
    assert isinstance(caught.value, ANSWERS[status])
    assert "rows.lance" in str(caught.value)
    found = list(everything_in(caught.value, set()))
    assert found
    assert not [text for text in found if SECRET in text]


@pytest.mark.parametrize("door", [name for name in DOORS if name not in ("table", "create")])
@pytest.mark.parametrize("way", [by_url, by_store])
def test_a_signed_file_is_read(server: Bucket, way: Callable[[Bucket], dict[str, Any]], door: str) -> None:
    # The signature is for this file: other paths are forbidden.
    server.refusal = lambda request: None if request.endswith(" rows.lance") else 403
    asked = way(server)
    DOORS[door](asked.pop("path"), **asked)


def test_a_file_of_http_is_read_where_listing_is_forbidden(server: Bucket) -> None:
    server.refusal = lambda request: None if request.endswith(" rows.lance") else 403
    assert lance_arrow.dataset(f"{server.endpoint}/{BUCKET}/rows.lance").to_table().equals(ROWS)
