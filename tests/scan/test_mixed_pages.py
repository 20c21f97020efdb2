"""Columns with pages of a layout in Python beside pages that the engine reads: each page by its own reader."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from stores import CountingStore

import lance_arrow
from lance_arrow.settings import Settings
from lance_arrow.spi.loading import entry_points, load_plugins

PROJECT = Path(__file__).parents[1] / "external_plugin" / "aligned"
ROWS = 5_000


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[lance_arrow.Runtime]:
    """A runtime with the layout of a third party, which lays out every other page only."""
    monkeypatch.syspath_prepend(PROJECT)
    import example_aligned  # noqa: PLC0415 - found in the example's folder alone

    encode, numbers = example_aligned.AlignedLayout.encode, count()

    def every_other(self: Any, page: Any, scope: Any) -> Any:
        return encode(self, page, scope) if next(numbers) % 2 else scope.for_parts().layout(page)

    monkeypatch.setattr(example_aligned.AlignedLayout, "encode", every_other)
    points = [*entry_points(), EntryPoint("layout.aligned", "example_aligned", "lance_arrow")]
    yield lance_arrow.Runtime(Settings(), load_plugins(points))
    del sys.modules["example_aligned"]


@pytest.fixture
def path(tmp_path: Path, runtime: lance_arrow.Runtime) -> Path:
    lance_arrow.write_table(
        table(),
        tmp_path / "mixed.lance",
        column_options={"a": {"layout": "example.Aligned"}, "b": {"layout": "example.Aligned"}},
        allow_private_encodings=True,
        page_bytes=4_000,
        runtime=runtime,
    )
    return tmp_path / "mixed.lance"


def table() -> pa.Table:
    numbers = np.random.default_rng(38).integers(0, 1000, (2, ROWS))
    return pa.table(
        {
            "a": pa.array(numbers[0], pa.int64()),
            "b": pa.array(numbers[1], pa.int16(), mask=numbers[1] % 7 == 0),
            "s": [f"row {row}" for row in range(ROWS)],
        }
    )


@pytest.mark.parametrize("is_far", [False, True])
def test_all_rows_and_some(path: Path, runtime: lance_arrow.Runtime, is_far: bool) -> None:
    expected = table()
    place: dict[str, Any] = {"runtime": runtime}
    if is_far:
        place["filesystem"] = CountingStore({"f.lance": path.read_bytes()})
    rows = np.sort(np.random.default_rng(5).choice(ROWS, 300, replace=False))
    with lance_arrow.LanceFile("f.lance" if is_far else path, **place) as file:
        layouts = {type(file._rows._bound(file._rows.leaves_of(file._rows.roots)[0], *page)) for page in pages(file)}
        assert len(layouts) == 2
        assert file.take(rows).equals(expected.take(rows))
        assert file.take([3, ROWS - 1]).equals(expected.take([3, ROWS - 1]))
        assert file.read().equals(expected)
        found = pa.Table.from_batches(file.to_batches(batch_size=700))
        assert found.equals(expected)


def pages(file: lance_arrow.LanceFile) -> list[tuple[Any, int]]:
    (meta,) = file._rows.metas([file._rows.leaves_of(file._rows.roots)[0]])
    return [(meta, number) for number in range(len(meta.pages))]
