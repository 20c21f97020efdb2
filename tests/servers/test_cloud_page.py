"""The example of docs/how_to/cloud_storage.md for S3 runs as it stands, on a server that the environment names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import s3fs
from running import Place
from test_examples import ROOT, blocks

from lance_arrow.demo import flights

PAGE = "docs/how_to/cloud_storage.md"


def test_the_example_runs(place_of: Callable[[str], Place], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of("s3")
    flights.run(tmp_path, engine="pyarrow")
    for name in ("flights", "flights.lance"):
        place.put(tmp_path / name, name)
    # The example names no options: s3fs finds the server and the keys as it finds those of a user.
    monkeypatch.setenv("AWS_ENDPOINT_URL", place.options["endpoint_url"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", place.options["key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", place.options["secret"])
    s3fs.S3FileSystem.clear_instance_cache()
    (example,) = [block for block in blocks(PAGE, "python") if "s3://" in block.text]
    try:
        exec(compile("\n" * (example.line - 1) + example.text, str(ROOT / PAGE), "exec", dont_inherit=True), {})
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
