"""What the driver sends is refused by another version of this package, before anything else of it is unpickled."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import UnsupportedError
from lance_arrow.spark import same_version
from lance_arrow.spark.source import LanceDataSource
from lance_arrow.spark.type_mapping import spark_schema

ROWS = pa.table({"id": [1, 2, 3]})
SCHEMA = spark_schema(ROWS.schema)
SENT = {
    "reader": lambda source: source.reader(SCHEMA),
    "writer": lambda source: source.writer(SCHEMA, overwrite=False),
    "stream reader": lambda source: source.streamReader(SCHEMA),
    "stream writer": lambda source: source.streamWriter(SCHEMA, overwrite=False),
    "file plan": lambda source: source.writer(SCHEMA, overwrite=False)._plans[0],
}


@pytest.mark.parametrize("kind", SENT)
def test_what_another_version_sent_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    LanceTable.create(tmp_path / "t", ROWS)
    sent: Any = SENT[kind](LanceDataSource({"path": str(tmp_path / "t")}))
    content = pickle.dumps(sent)
    assert type(pickle.loads(content)) is type(sent)
    own = same_version.own_version()
    monkeypatch.setattr(same_version, "own_version", lambda: "0.0.7")
    # Names that this version does not have are not even looked for.
    broken = content.replace(b"lance_arrow.spark.options", b"lance_arrow.spark.opt1ons")
    for one in (content, broken):
        with pytest.raises(UnsupportedError) as caught:
            pickle.loads(one)
        assert str(caught.value) == (
            f"the driver runs lance-arrow {own} and this executor lance-arrow 0.0.7: install the same version on both"
        )
        assert caught.value.detail == (own, "0.0.7")
