"""Which URLs obstore opens, and what becomes of options by the names of s3fs and of the reference."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest
from bucket_server import BUCKET, Bucket, bucket
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry
from url_packages import installed, opens

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import obstore_stores, obstore_urls, resolve
from lance_arrow.io.location import is_of_obstore

KEYS = {"key": "some", "secret": "word"}
ROWS = pa.table({"id": range(100)})


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Bucket]:
    with bucket(tmp_path) as started:
        yield started


def both_names(server: Bucket) -> list[dict[str, Any]]:
    return [
        {**KEYS, "endpoint_url": server.endpoint},
        {**KEYS, "client_kwargs": {"endpoint_url": server.endpoint, "region_name": "us-east-1"}},
        {
            "aws_access_key_id": "some", "aws_secret_access_key": "word", "aws_endpoint": server.endpoint,
            "allow_http": "true", "aws_region": "us-east-1",
        },
        {"ACCESS_KEY_ID": "some", "SECRET_ACCESS_KEY": "word", "endpoint": server.endpoint, "region": "us-east-1"},
        {"anon": True, "endpoint_url": server.endpoint, "default_block_size": 1 << 20, "use_listings_cache": False},
    ]  # fmt: skip


@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("names", [("obstore",), ("obstore", "s3fs")])
def test_urls_are_read_and_written(
    server: Bucket, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], number: int
) -> None:
    installed(monkeypatch, *names)
    options = both_names(server)[number]
    url = f"s3://{BUCKET}/folder/table"
    assert is_of_obstore(resolve(url, storage_options=options).filesystem)
    assert resolve(url, storage_options=options).name == url
    LanceTable.create(url, ROWS, storage_options=options).append(ROWS)
    assert lance_arrow.dataset(url, storage_options=options).count_rows() == 200
    lance_arrow.write_table(ROWS, f"s3a://{BUCKET}/rows.lance", storage_options=options)
    with LanceFile(f"s3://{BUCKET}/rows.lance", storage_options=options) as file:
        assert file.read().equals(ROWS)


def test_options_reach_the_store() -> None:
    config, client, unknown = obstore_urls.translated({
        **KEYS, "token": "t", "requester_pays": True, "client_kwargs": {"region_name": "eu-west-1"}, "profile": None,
        "aws_virtual_hosted_style_request": "true", "connect_timeout": "5s",
    })  # fmt: skip
    assert config == {
        "access_key_id": "some", "secret_access_key": "word", "session_token": "t", "request_payer": True,
        "region": "eu-west-1", "virtual_hosted_style_request": "true",
    }  # fmt: skip
    assert (client, unknown) == ({"connect_timeout": "5s"}, [])


def test_options_that_differ_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="key and aws_access_key_id differ") as caught:
        obstore_urls.translated({**KEYS, "aws_access_key_id": "other"})
    assert "some" not in str(caught.value)
    obstore_urls.translated({**KEYS, "aws_access_key_id": "some"})


@pytest.mark.parametrize(
    "unknown",
    [{"profile": "mine"}, {"config_kwargs": {}}, {"client_kwargs": {"verify": False}}, {"version_aware": True}],
)
def test_what_has_no_translation_is_left_to_s3fs(monkeypatch: pytest.MonkeyPatch, unknown: dict[str, Any]) -> None:
    options = {**KEYS, "endpoint_url": "http://127.0.0.1:1", **unknown}
    installed(monkeypatch, "obstore", "s3fs")
    assert not opens("s3://bucket/x", options)
    installed(monkeypatch, "obstore")
    with pytest.raises(InvalidArgumentError, match=next(iter(unknown))) as caught:
        resolve("s3://bucket/x", storage_options=options)
    assert "word" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "environ", "expected"),
    [
        ({}, {}, False),
        (KEYS, {}, False),
        (KEYS, {"AWS_REGION": "us-east-1"}, False),
        ({**KEYS, "region": "us-east-1"}, {}, True),
        ({**KEYS, "region": "us-east-1"}, {"AWS_SESSION_TOKEN": "x"}, False),
        ({**KEYS, "token": "t", "region": "us-east-1"}, {"AWS_SESSION_TOKEN": "x"}, True),
        ({"region": "us-east-1"}, {}, False),
        ({"region": "us-east-1"}, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}, True),
        ({"region": "us-east-1"}, {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_PROFILE": "p"}, False),
        ({"anon": True, "region": "us-east-1"}, {"AWS_PROFILE": "p"}, True),
        ({"anon": True}, {}, False),
        ({**KEYS, "endpoint_url": "https://host"}, {}, True),
        ({**KEYS, "endpoint_url": "https://host"}, {"AWS_ENDPOINT_URL_S3": "https://other"}, False),
        ({**KEYS, "region": "us-east-1"}, {"AWS_ENDPOINT_URL": "http://host"}, False),
    ],
)
def test_obstore_is_used_where_it_signs_as_s3fs_does(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], environ: dict[str, str], expected: bool
) -> None:
    installed(monkeypatch, "obstore", "s3fs")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert opens("s3://bucket/x", options) is expected


@pytest.mark.parametrize("url", ["ftp://host/x", "memory://x", "zip://x::s3://bucket/y.zip", "x"])
def test_other_urls_are_fsspecs(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    installed(monkeypatch, "obstore")
    assert not opens(url, {**KEYS, "region": "us-east-1"})


def test_without_obstore_fsspec_opens_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "s3fs")
    assert not opens("s3://bucket/x", {**KEYS, "region": "us-east-1"})


def test_what_the_caller_registered_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "obstore", "s3fs")
    options = {**KEYS, "region": "us-east-1"}
    assert opens("s3://bucket/x", options)
    monkeypatch.setitem(_registry, "s3", MemoryFileSystem)
    assert not opens("s3://bucket/x", options)


def test_a_forked_process_goes_on_with_s3fs(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "obstore", "s3fs")
    options = {**KEYS, "region": "us-east-1"}
    monkeypatch.setattr(obstore_stores, "_users", [0])
    assert not opens("s3://bucket/x", options)
    installed(monkeypatch, "obstore")
    assert opens("s3://bucket/x", options)


def test_options_of_the_configuration_count(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "obstore", "s3fs")
    monkeypatch.setitem(fsspec.config.conf, "s3", {"profile": "mine"})
    assert not opens("s3://bucket/x", {**KEYS, "region": "us-east-1"})
    monkeypatch.setitem(fsspec.config.conf, "s3", {"client_kwargs": {"region_name": "us-east-1"}})
    assert opens("s3://bucket/x", KEYS)


def test_the_same_options_share_connections(server: Bucket) -> None:
    options = both_names(server)[0]
    first, second = (resolve(f"s3://{BUCKET}/{name}", storage_options=dict(options)) for name in "ab")
    assert first.filesystem is second.filesystem
    assert "obstore" in sys.modules
