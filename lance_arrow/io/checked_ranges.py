"""Ranges of s3fs and of fsspec's HTTP, with what their answers say of themselves: place, size and version.

`cat_ranges` of a filesystem returns bytes alone. An answer of another range, or of an object that was replaced since it
was opened, would have the right length. So the requests of these two filesystems are made here, by their own clients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fsspec.asyn import _run_coros_in_chunks

from lance_arrow.errors import FileChangedError, StoreError, UnsupportedError
from lance_arrow.io.store_calls import coroutine_of

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_PARTIAL = 206
# A connection that is silent for so long is given up, as obstore does; s3fs has 15.
_SILENT_SECONDS = 30.0
_S3, _HTTP = "s3fs.core.S3FileSystem", "fsspec.implementations.http.HTTPFileSystem"


@dataclass(frozen=True, slots=True)
class RangeAnswer:
    """The answer to a request for a range.

    Parameters
    ----------
    data
        Its body.
    place
        Its Content-Range; None if it has none.
    version
        Its ETag; None if it has none.
    """

    data: bytes
    place: str | None
    version: str | None


def has_checked_ranges(filesystem: AbstractFileSystem) -> bool:
    """Return whether `checked_ranges` knows a filesystem; subclasses, and replaced methods, do as they like."""
    return _kind(filesystem) in (_S3, _HTTP) and coroutine_of(filesystem, "cat_ranges") is not None


async def checked_ranges(
    filesystem: Any, path: str, starts: Sequence[int], stops: Sequence[int]
) -> list[RangeAnswer | BaseException]:
    """Request ranges of a file together, as many at a time as the filesystem makes; exceptions are returned."""
    ask = _ask_s3 if _kind(filesystem) == _S3 else _ask_http
    found: list[RangeAnswer | BaseException] = await _run_coros_in_chunks(
        [ask(filesystem, path, start, stop) for start, stop in zip(starts, stops, strict=True)],
        batch_size=filesystem.batch_size,
        nofiles=True,
        return_exceptions=True,
    )
    return found


def compare_place(place: str | None, start: int, stop: int, size_bytes: int, name: str) -> None:
    """Raise if a Content-Range is not that of the bytes ``start .. stop`` of an object of a size.

    Raises
    ------
    StoreError
        The answer is of another range.
    FileChangedError
        The object has another size.
    """
    if place is None or not place.startswith("bytes "):
        return
    found, _, total = place.removeprefix("bytes ").partition("/")
    if total.isdecimal() and int(total) != size_bytes:
        raise changed(name, f"{size_bytes} bytes", f"{total} bytes")
    if found.strip() != f"{start}-{stop - 1}":
        raise StoreError(
            f"the server answered with bytes {found} in place of {start}-{stop - 1}",
            path=name,
            byte_range=(start, stop),
            is_repeatable=True,
        )


def changed(name: str, former: object, present: object) -> FileChangedError:
    """Return the error for a file that is no longer what was opened."""
    return FileChangedError(
        f"the file was replaced while it was read: it had {former}, and has {present}; open it again", path=name
    )


async def _ask_s3(filesystem: Any, path: str, start: int, stop: int) -> RangeAnswer:
    bucket, key, version = filesystem.split_path(path)
    options = {"VersionId": version} if version else {}
    answer = await filesystem._call_s3(
        "get_object", Bucket=bucket, Key=key, Range=f"bytes={start}-{stop - 1}", **options
    )
    try:
        data = await answer["Body"].read()
    finally:
        answer["Body"].close()
    return RangeAnswer(data, answer.get("ContentRange"), answer.get("ETag"))


async def _ask_http(filesystem: Any, path: str, start: int, stop: int) -> RangeAnswer:
    from aiohttp import ClientTimeout  # noqa: PLC0415 - installed wherever this filesystem is

    options = dict(filesystem.kwargs)
    # A compressed answer would have another ETag.
    headers = {"Accept-Encoding": "identity", **options.pop("headers", {}), "Range": f"bytes={start}-{stop - 1}"}
    if "timeout" not in filesystem.client_kwargs:
        options.setdefault(
            "timeout", ClientTimeout(total=None, sock_connect=_SILENT_SECONDS, sock_read=_SILENT_SECONDS)
        )
    session = await filesystem.set_session()
    async with session.get(filesystem.encode_url(path), headers=headers, **options) as answer:
        filesystem._raise_not_found_for_status(answer, path)
        length = answer.headers.get("Content-Length")
        if answer.status != _PARTIAL and length != str(stop - start):
            # All of the object would follow.
            raise UnsupportedError(
                f"wanted {stop - start} bytes, but the server answered {answer.status} with {length or 'all'}: it does "
                "not honour byte ranges",
                byte_range=(start, stop),
            )
        data = await answer.read()
        return RangeAnswer(data, answer.headers.get("Content-Range"), answer.headers.get("ETag"))


def _kind(filesystem: AbstractFileSystem) -> str:
    kind = type(filesystem)
    return f"{kind.__module__}.{kind.__qualname__}"
