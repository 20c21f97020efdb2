"""URLs of Azure and GCS: which ones obstore opens, by whose names of options, and what is left or refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from bucket_server import BUCKET
from other_buckets import ACCOUNT, azure_bucket, gcs_bucket
from url_packages import installed, opens

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import resolve
from lance_arrow.io.location import is_of_obstore

ROWS = pa.table({"id": range(100)})
SECRET = "c2VjcmV0"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AZURE_", "GOOGLE_", "STORAGE_"))]:
        monkeypatch.delenv(name)


def key_of(endpoint: str) -> dict[str, Any]:
    return {
        "type": "service_account", "gcs_base_url": endpoint, "disable_oauth": True, "client_email": "",
        "private_key": "", "private_key_id": SECRET,
    }  # fmt: skip


def check(url: str, other_url: str, options: dict[str, Any]) -> None:
    place = resolve(url, storage_options=options)
    assert is_of_obstore(place.filesystem)
    LanceTable.create(url, ROWS, storage_options=options).append(ROWS)
    assert lance_arrow.dataset(url, storage_options=options).count_rows() == 200
    lance_arrow.write_table(ROWS, other_url, storage_options=options)
    with LanceFile(other_url, storage_options=options) as file:
        assert file.read().equals(ROWS)
    assert SECRET not in repr(place)


@pytest.mark.parametrize("packages", [("obstore",), ("obstore", "adlfs")])
@pytest.mark.parametrize(
    "names",
    [
        {"account": "account_name", "key": "account_key"},
        {"account": "azure_storage_account_name", "key": "azure_storage_account_key"},
        {"account": "AZURE_STORAGE_ACCOUNT_NAME", "key": "azure_storage_access_key"},
    ],
)
def test_urls_of_azure(
    names: dict[str, str], packages: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    installed(monkeypatch, *packages)
    with azure_bucket(tmp_path) as server:
        options = {
            names["account"]: ACCOUNT, names["key"]: SECRET, "azure_endpoint": f"{server.endpoint}/{ACCOUNT}",
            "allow_http": True,
        }  # fmt: skip
        check(f"az://{BUCKET}/folder/table", f"abfs://{BUCKET}/rows.lance", options)


@pytest.mark.parametrize("packages", [("obstore",), ("obstore", "gcsfs")])
@pytest.mark.parametrize("way", ["token", "token by path", "google_service_account", "service_account_key"])
def test_urls_of_gcs(way: str, packages: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed(monkeypatch, *packages)
    served = tmp_path / "served"
    served.mkdir()
    with gcs_bucket(served) as server:
        key = key_of(server.endpoint)
        # fsspec keeps a filesystem by its options: a file of the same name would be taken for the former one.
        file = tmp_path / f"key-{server.server_port}.json"
        file.write_text(json.dumps(key))
        value: Any = {"token": key, "service_account_key": json.dumps(key)}.get(way, str(file))
        options = {way.partition(" ")[0]: value, "allow_http": "true", "project": "any"}
        check(f"gs://{BUCKET}/folder/table", f"gcs://{BUCKET}/rows.lance", options)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("az://c/x", {"account_name": "a"}),
        ("az://c/x", {"account_key": SECRET}),
        ("az://c/x", {"account_name": "a", "account_key": SECRET, "sas_token": "s"}),
        ("az://c/x", {"account_name": "a", "client_id": "i", "client_secret": SECRET}),
        ("az://c/x", {"connection_string": SECRET}),
        ("abfs://c@a.dfs.core.windows.net/x", {"account_name": "a", "account_key": SECRET}),
        ("gs://b/x", {}),
        ("gs://b/x", {"token": "google_default"}),
        ("gs://b/x", {"token": "anon", "requester_pays": True}),
    ],
)
def test_what_is_not_sure_is_left_to_the_package(
    url: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, "obstore", "adlfs", "gcsfs")
    assert not opens(url, options)


@pytest.mark.parametrize(
    ("url", "options", "variable"),
    [
        ("az://c/x", {"account_name": "a", "account_key": SECRET}, "AZURE_STORAGE_SAS_TOKEN"),
        ("az://c/x", {"account_name": "a", "anon": True}, "AZURE_CLIENT_ID"),
        ("gs://b/x", {"token": "anon"}, "GOOGLE_APPLICATION_CREDENTIALS"),
        ("gs://b/x", {"token": "anon"}, "STORAGE_EMULATOR_HOST"),
    ],
)
def test_a_variable_that_could_add_something_decides(
    url: str, options: dict[str, Any], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, "obstore", "adlfs", "gcsfs")
    assert opens(url, options)
    monkeypatch.setenv(variable, "x")
    assert not opens(url, options)


@pytest.mark.parametrize(
    ("url", "options", "name"),
    [
        ("az://c/x", {"connection_string": SECRET}, "connection_string"),
        ("gs://b/x", {"token": "cache"}, "token"),
        ("gs://b/x", {"endpoint_url": "http://127.0.0.1:1"}, "endpoint_url"),
    ],
)
def test_without_the_package_unknown_options_are_refused_by_name(
    url: str, options: dict[str, Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, "obstore")
    with pytest.raises(InvalidArgumentError, match=name) as caught:
        resolve(url, storage_options=options)
    assert SECRET not in str(caught.value)


def test_without_obstore_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, "adlfs")
    assert not opens("az://c/x", {"account_name": "a", "account_key": SECRET})
