"""Buckets that speak as Azure Blob Storage and Google Cloud Storage do, as far as tables need it: for obstore's stores.

Both list names in order. A page of Azure has 5,000 names, and cannot begin after a given one: servers that do not know
`startFrom` ignore it. One of GCS has 1,000, and can.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bucket_server import BUCKET, Answers, Bucket, serve

ACCOUNT = "account"
_AZURE_PAGE = 5000
_DATE = "Thu, 01 Jan 2026 00:00:00 GMT"


@contextmanager
def azure_bucket(folder: Path) -> Iterator[Bucket]:
    """Serve a folder as a container of Azure."""
    server = Bucket(folder, answers=_AzureAnswers)
    with serve(server):
        yield server


@contextmanager
def gcs_bucket(folder: Path) -> Iterator[Bucket]:
    """Serve a folder as a bucket of GCS."""
    server = Bucket(folder, answers=_GcsAnswers)
    with serve(server):
        yield server


def azure_store(server: Bucket) -> Any:
    """Return a store of obstore for the container."""
    from obstore.store import AzureStore  # noqa: PLC0415 - for tests of obstore alone

    return AzureStore(
        BUCKET, account_name=ACCOUNT, endpoint=f"{server.endpoint}/{ACCOUNT}", skip_signature=True,
        client_options={"allow_http": True},
    )  # fmt: skip


def gcs_store(server: Bucket) -> Any:
    """Return a store of obstore for the bucket."""
    from obstore.store import GCSStore  # noqa: PLC0415 - for tests of obstore alone

    key = {"gcs_base_url": server.endpoint, "disable_oauth": True, "client_email": "", "private_key": ""}
    return GCSStore(
        BUCKET, service_account_key=json.dumps({**key, "private_key_id": ""}), client_options={"allow_http": True}
    )


class _GcsAnswers(Answers):
    def do_PUT(self) -> None:
        """Write an object; generation 0 is one that does not exist."""
        if self.headers.get("x-goog-if-generation-match") == "0":
            self.headers["If-None-Match"] = "*"
        super().do_PUT()


class _AzureAnswers(Answers):
    def do_GET(self) -> None:
        """Answer for an object, or list some."""
        url = urllib.parse.urlsplit(self.path)
        asked = {name: one for name, (one, *_) in urllib.parse.parse_qs(url.query).items()}
        if asked.get("comp") != "list":
            super().do_GET()
        elif not self._refused("LIST"):
            self._answer(200, self._blobs(asked))

    def do_POST(self) -> None:
        """Delete a batch of objects."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self._refused("DELETE many"):
            return
        boundary, told = "batchresponse", []
        for number, line in enumerate(one for one in body.splitlines() if one.startswith("DELETE ")):
            (self.server.folder / self._key(urllib.parse.urlsplit(line.split()[1]).path)).unlink(missing_ok=True)
            told.append(
                f"--{boundary}\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
                "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n\r\n"
            )
        text = "".join(told) + f"--{boundary}--\r\n"
        self._answer(202, text.encode(), {"Content-Type": f"multipart/mixed; boundary={boundary}"})

    def _key(self, path: str) -> str:
        return super()._key(path.removeprefix(f"/{ACCOUNT}"))

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        # A put that found an object is a conflict here.
        told = {"x-ms-version": "2023-11-03", **(headers or {})}
        super()._answer(
            409 if status == 412 else 201 if self.command == "PUT" and status == 200 else status, body, told
        )

    def _blobs(self, asked: dict[str, str]) -> bytes:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter")
        names = self._names(prefix, delimiter)
        first = int(asked.get("marker", "0") or 0)
        most = min(int(asked.get("maxresults", _AZURE_PAGE)), _AZURE_PAGE)
        page = names[first : first + most]
        more = str(first + most) if first + most < len(names) else ""
        told = "".join(
            f"<BlobPrefix><Name>{escape(name)}</Name></BlobPrefix>"
            if name.endswith("/")
            else f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{_DATE}</Last-Modified>"
            f"<Content-Length>{(self.server.folder / name).stat().st_size}</Content-Length>"
            f"<Content-Type>x</Content-Type><Etag>1</Etag></Properties></Blob>"
            for name in page
        )
        return (
            '<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Prefix>'
            f"{escape(prefix)}</Prefix><Blobs>{told}</Blobs><NextMarker>{more}</NextMarker></EnumerationResults>"
        ).encode()

    def _names(self, prefix: str, delimiter: str | None) -> list[str]:
        top = self.server.folder
        found = set()
        for file in (top / prefix[: prefix.rfind("/") + 1]).rglob("*"):
            name = file.relative_to(top).as_posix()
            if file.is_file() and name.startswith(prefix):
                below, slash, _ = name.removeprefix(prefix).partition("/")
                found.add(f"{prefix}{below}/" if slash and delimiter else name)
        return sorted(found)
