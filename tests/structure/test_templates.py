"""Descriptions bound by others that differ in counts and tables: exactly what binding them gives, or nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import random
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceFile, runtime
from lance_arrow.errors import CorruptPageError, LanceError, PluginContractError
from lance_arrow.spi import FixedWidth, LeafType
from lance_arrow.spi.codecs import HasParameters
from lance_arrow.structure.binder import Binder
from lance_arrow_codecs import fsst
from lance_arrow_codecs.flat import BoundFlat

VERSIONS = ["2.1", "2.2", "2.3"]
NUM_ROWS = 450
SOME = [version if version == "2.2" else pytest.param(version, marks=pytest.mark.whole) for version in VERSIONS]
WORDS = ["carefully", "quickly", "final", "deposits", "requests", "sleep", "furiously", "ironic"]


def texts(seed: int, count: int) -> list[str]:
    chosen = random.Random(seed)
    words = [f"{word}{chosen.randrange(100)}" for word in WORDS]
    return [" ".join(chosen.choices(words, k=6)) + str(chosen.random()) for _ in range(count)]


def lists(seed: int, count: int) -> list[list[int] | None]:
    chosen = random.Random(seed)
    return [None if not chosen.randrange(9) else list(range(chosen.randrange(5))) for _ in range(count)]


@cache
def table(seed: int) -> pa.Table:
    """Texts, long ones too, lists, and few values."""
    return pa.table({
        "text": texts(seed, NUM_ROWS),
        "long": [text * 40 for text in texts(seed, NUM_ROWS)],
        "list": pa.array(lists(seed, NUM_ROWS), pa.list_(pa.int32())),
        "few": [f"value {(row * 7 + seed) % (20 + seed)}" for row in range(NUM_ROWS)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the files of this module lie; a file that is there is not written again, nor changed."""
    return tmp_path_factory.mktemp("templates")


def written(folder: Path, seed: int, version: str, *, checksums: bool = True) -> Path:
    """A file with pages of several lengths, their own tables of symbols and their own dictionaries."""
    path = folder / f"{seed}-{version}-{checksums}.lance"
    if path.exists():
        return path
    options = {"text": {"compression": "fsst"}, "long": {"compression": "fsst"}}
    lance_arrow.write_table(
        table(seed), path, file_version=version, column_options=options, page_bytes=5000, checksums=checksums
    )
    return path


def descriptions(path: Path) -> Iterator[tuple[str, bytes, LeafType]]:
    """What the pages of a file are bound by."""
    with LanceFile(path) as file:
        rows = file._rows
        leaves = [leaf for leaf in rows.leaves_of(rows.roots) if leaf.column >= 0]
        for leaf, meta in zip(leaves, rows.metas(leaves), strict=True):
            for page in meta.pages:
                yield page.message, page.description, leaf.page_leaf


def fresh() -> Binder:
    """One that has bound nothing."""
    own = runtime.default_runtime()
    return Binder(own.binder.table, own.settings.limits, own.binder.scratch)


def content(layout: Any) -> Any:
    """What tells layouts apart, but for identities of objects: parameters, and all fields, of codecs too."""
    if isinstance(layout, HasParameters) or dataclasses.is_dataclass(layout):
        fields = [(one.name, content(getattr(layout, one.name))) for one in dataclasses.fields(layout) if one.compare]
        return type(layout), dict(getattr(layout, "parameters", {})), fields
    return bytes(layout) if isinstance(layout, np.ndarray) else layout


def same_or_refused(binder: Binder, given: tuple[str, bytes, LeafType]) -> bool:
    """Bind by what was bound before, and anew; returns whether a description is refused, by both."""
    try:
        expected = fresh().page(*given)
    except LanceError as error:
        with pytest.raises(type(error)):
            binder.page(*given)
        return True
    assert content(binder.page(*given)) == content(expected)
    return False


@pytest.mark.parametrize("version", SOME)
def test_layouts_are_what_binding_gives(folder: Path, version: str) -> None:
    binder = fresh()
    paths = [written(folder, seed, version) for seed in range(3)]
    given = [one for path in paths for one in descriptions(path)]
    assert len({description for _, description, _ in given}) > 20
    assert not any([same_or_refused(binder, one) for one in given])


@pytest.mark.parametrize("version", SOME)
def test_few_descriptions_are_bound(folder: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bound: list[bytes] = []
    own = Binder._parse
    monkeypatch.setattr(Binder, "_parse", lambda *given: bound.append(given[2]) or own(*given))
    binder = fresh()
    for seed in range(6):
        for one in descriptions(written(folder, seed, version)):
            binder.page(*one)
        if seed == 2:
            known = len(bound)
    assert known < 40
    # Files that were not seen before differ in numbers, and in tables of symbols, alone.
    assert len(bound) <= known + 4


@pytest.mark.parametrize("version", SOME)
def test_rows_of_files_with_other_tables(folder: Path, version: str) -> None:
    rows = [3, 149, 150, NUM_ROWS - 1]
    for seed in range(3):
        path = written(folder, seed, version)
        with LanceFile(path) as file:
            taken = file.take(rows)
            assert taken.column("text").to_pylist() == [texts(seed, NUM_ROWS)[row] for row in rows]
            assert file.read(["list"]).column("list").to_pylist() == lists(seed, NUM_ROWS)
            assert file.read(["long"]).column("long").to_pylist() == [text * 40 for text in texts(seed, NUM_ROWS)]


def test_damaged_descriptions_are_bound_or_refused_as_ever(folder: Path) -> None:
    chosen = random.Random(7)
    given = [one for version in VERSIONS for one in descriptions(written(folder, 1, version))]
    binder = fresh()
    for one in given:
        binder.page(*one)
    refused = matched = 0
    for _ in range(600):
        message, description, leaf = chosen.choice(given)
        damaged = bytearray(description)
        # Most bytes of a table of symbols are equal: its head, and what lies around it, is damaged more often.
        for _ in range(chosen.choice([1, 1, 2])):
            damaged[chosen.randrange(min(len(damaged), chosen.choice([12, 40, 4000])))] = chosen.randrange(256)
        if chosen.randrange(6) == 0:
            del damaged[chosen.randrange(len(damaged)) :]
        find = binder._templates.find
        refused += same_or_refused(binder, (message, bytes(damaged), leaf))
        with contextlib.suppress(LanceError):
            matched += find((message, leaf), bytes(damaged)) is not None
    assert refused > 100
    assert matched > 40


def test_a_damaged_table_of_symbols_names_its_page(folder: Path, tmp_path: Path) -> None:
    first, second = (written(folder, seed, "2.2", checksums=False) for seed in range(2))
    with LanceFile(first) as file:
        file.read(["text"])
    damaged = bytearray(second.read_bytes())
    damaged[damaged.index(b"TSSF")] ^= 1
    bad = tmp_path / "bad.lance"
    bad.write_bytes(damaged)
    with LanceFile(bad) as file, pytest.raises(CorruptPageError, match="signature") as raised:
        file.read(["text"])
    assert (raised.value.column, raised.value.page) == ("text", 0)


class _Other(fsst.BoundFsst):
    """A codec that gives values of another width for another table."""

    def with_parameters(self, parameters: Mapping[str, int | bytes]) -> Any:
        return BoundFlat(FixedWidth(64))


def test_codecs_of_other_widths_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (message, description, leaf), *_ = descriptions(written(folder, 1, "2.2"))
    (_, other, _), *_ = descriptions(written(folder, 2, "2.2"))
    monkeypatch.setattr(fsst, "BoundFsst", _Other)
    binder = fresh()
    layout = binder.page(message, description, leaf)
    assert isinstance(layout, HasParameters)
    with pytest.raises(PluginContractError):
        binder.page(message, other, leaf)
