"""The example of docs/how_to/cloud_storage.md runs on servers of S3, Azure and GCS; only the URL differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import pytest
from running import Place
from test_examples import ROOT, blocks

from lance_arrow.demo import flights

PAGE = "docs/how_to/cloud_storage.md"
# What a user's environment holds, from which the packages take credentials and servers when the example names none.
ENVIRONMENTS: dict[str, Callable[[Mapping[str, Any]], dict[str, str]]] = {
    "s3": lambda options: {
        "AWS_ENDPOINT_URL": options["endpoint_url"],
        "AWS_ACCESS_KEY_ID": options["key"],
        "AWS_SECRET_ACCESS_KEY": options["secret"],
    },
    "azure": lambda options: {"AZURE_STORAGE_CONNECTION_STRING": options["connection_string"]},
    "gcs": lambda options: {"STORAGE_EMULATOR_HOST": options["endpoint_url"]},
}
URLS = {"s3": "s3://bucket", "azure": "abfs://container", "gcs": "gs://bucket"}


@pytest.mark.parametrize("store", URLS)
def test_the_example_runs(
    store: str, place_of: Callable[[str], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(store)
    flights.run(tmp_path, engine="pyarrow")
    for name in ("flights", "flights.lance"):
        place.put(tmp_path / name, name)
    for name, value in ENVIRONMENTS[store](place.options).items():
        monkeypatch.setenv(name, value)
    filesystems = fsspec.get_filesystem_class(URLS[store].partition(":")[0])
    filesystems.clear_instance_cache()
    # A later one shows options of obstore.
    example, _ = [block for block in blocks(PAGE, "python") if "s3://" in block.text]
    text = example.text.replace("s3://bucket", URLS[store])
    if store == "gcs":
        # The emulator ignores the condition of a put, so commits are refused unless there is one writer.
        text = text.replace('storage_options={"anon": False}', "unsafe_single_writer=True")
    try:
        exec(compile("\n" * (example.line - 1) + text, str(ROOT / PAGE), "exec", dont_inherit=True), {})
    finally:
        filesystems.clear_instance_cache()
