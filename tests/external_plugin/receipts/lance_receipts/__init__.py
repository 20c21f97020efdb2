"""Append the receipt of every finished read, as one JSON line, to the file named by ``LANCE_RECEIPTS``."""

from __future__ import annotations

import dataclasses
import json
import os

from lance_arrow.spi import ReadReport, hookimpl


@hookimpl
def lance_read_finished(report: ReadReport) -> None:
    path = os.environ.get("LANCE_RECEIPTS")
    if path:
        with open(path, "a") as sink:
            sink.write(json.dumps(dataclasses.asdict(report)) + "\n")
