"""Codecs without a C side: the engine calls their methods, for all chunks of a read at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from native_only import assert_read, without_layouts

import lance_arrow
from lance_arrow import runtime
from lance_arrow.errors import CorruptPageError, LanceError, PluginContractError, ResourceLimitError
from lance_arrow_codecs import flat, inline_bitpacking, rle, variable

ROWS = 20_000
CODECS = (
    flat.BoundFlat,
    flat.BoundFlatValues,
    inline_bitpacking.BoundInlineBitpacking,
    rle.BoundRleChunks,
    variable.BoundVariableChunks,
    variable.BoundVariableValues,
)


def table() -> pa.Table:
    rng = np.random.default_rng(84)
    words = [None if row % 11 == 5 else f"word {row % 900}" * (row % 3) for row in range(ROWS)]
    return pa.table(
        {
            "numbers": pa.array(rng.integers(0, 1000, ROWS), mask=rng.random(ROWS) < 0.1),
            "flags": pa.array(rng.random(ROWS) < 0.3),
            "words": words,
            "few": pa.array([f"item {row % 7}" for row in range(ROWS)]),
            "lists": pa.array([[f"{row}", None][: row % 4] if row % 5 else None for row in range(ROWS)]),
            "long": pa.array([b"x" * (row % 400) for row in range(ROWS)]),
        }
    )


def numbers() -> pa.Table:
    return pa.table({"a": pa.array(np.random.default_rng(3).integers(0, 1000, 100_000), pa.int32())})


@pytest.fixture(params=("2.1", "2.2", "2.3"))
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / "table.lance"
    options = {"long": {"layout": "full_zip"}} if request.param < "2.3" else {}
    lance_arrow.write_table(table(), made, file_version=request.param, column_options=options, page_bytes=100_000)
    return made


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """No codec of the format has a C side; how many values each call of `decode` gets."""
    found: list[int] = []
    # What other tests bound has its C side, and what these bind is for no other test.
    monkeypatch.setattr(runtime, "_default", lance_arrow.Runtime())
    for codec in CODECS:
        decode = codec.decode

        def counted(self: Any, values: Any, out: Any, decode: Any = decode) -> None:
            found.append(values.num_values)
            decode(self, values, out)

        monkeypatch.setattr(codec, "native", lambda self: None)
        monkeypatch.setattr(codec, "decode", counted)
    return found


def test_all_rows_and_some_are_read_without_layouts(path: Path, calls: list[int]) -> None:
    rows = np.sort(np.random.default_rng(5).choice(ROWS, 200, replace=False))
    with without_layouts():
        assert_read(path, table(), rows)
    assert calls


def test_chunks_of_a_read_are_decoded_together(tmp_path: Path, calls: list[int]) -> None:
    expected = numbers()
    lance_arrow.write_table(expected, tmp_path / "numbers.lance")
    with lance_arrow.LanceFile(tmp_path / "numbers.lance") as file:
        assert file.read().equals(expected)
        assert sum(calls) == 100_000
        assert len(calls) <= 4
        calls.clear()
        assert file.take([70_000]).equals(expected.slice(70_000, 1))
        # Of the chunk with the row alone.
        assert sum(calls) <= 1024


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (CorruptPageError("said"), CorruptPageError),
        (ResourceLimitError("said"), ResourceLimitError),
        (PluginContractError("said"), PluginContractError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_what_a_codec_raises_is_located(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raised: BaseException, expected: type[BaseException]
) -> None:
    lance_arrow.write_table(numbers(), tmp_path / "numbers.lance", page_bytes=60_000)

    def refuse(*_: object) -> None:
        raise raised

    monkeypatch.setattr(inline_bitpacking.BoundInlineBitpacking, "decode", refuse)
    with lance_arrow.LanceFile(tmp_path / "numbers.lance") as file:
        with pytest.raises(expected) as caught:
            file.take([99_000])
        if isinstance(caught.value, LanceError):
            assert caught.value.column == "a"
            assert caught.value.page


@pytest.mark.usefixtures("calls")
def test_offsets_that_leave_the_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = pa.table({"a": [f"{row} of many words" for row in range(5000)]})
    lance_arrow.write_table(words, tmp_path / "words.lance", column_options={"a": {"codec": "variable"}})

    def lie(self: object, values: object, out: Any) -> None:
        out.offsets[:] = 0xFF
        out.values[:] = 0

    monkeypatch.setattr(variable.BoundVariableChunks, "decode", lie)
    with (
        lance_arrow.LanceFile(tmp_path / "words.lance") as file,
        pytest.raises(PluginContractError, match="leave their bytes"),
    ):
        file.read()


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize(
    ("options", "limit"),
    [({"codec": "dictionary"}, "max_dictionary_bytes"), ({"layout": "full_zip"}, "max_batch_bytes")],
)
def test_what_they_decode_is_limited(tmp_path: Path, options: Any, limit: str) -> None:
    words = pa.table({"a": pa.array([f"{row % 10}" * 3000 for row in range(4000)])})
    lance_arrow.write_table(words, tmp_path / "f.lance", file_version="2.2", column_options={"a": options})
    limits = lance_arrow.Limits(**{limit: 20_000})
    with lance_arrow.LanceFile(
        tmp_path / "f.lance", runtime=lance_arrow.Runtime(lance_arrow.Settings(limits=limits))
    ) as file:
        with pytest.raises(ResourceLimitError) as caught:
            file.take(range(0, 80, 4))
        assert caught.value.detail == limit
        assert (caught.value.column, caught.value.page) == ("a", 0)
