"""Plugins are found one by one; a broken one is kept with its error and hinders nobody."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint

import pytest

from lance_arrow.errors import PluginLoadError, UnknownEncodingError
from lance_arrow.spi import EncodingKey, hookimpl
from lance_arrow.spi.loading import GROUP, entry_points, load_plugins
from lance_arrow.spi.table import EncodingTable

FLAT = EncodingKey("lance.encodings21.CompressiveEncoding", "flat")


@pytest.fixture
def module() -> Iterator[Callable[..., str]]:
    made = []

    def make(**members: object) -> str:
        name = f"made_plugin_{len(made)}"
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
        made.append(name)
        return name

    yield make
    for name in made:
        del sys.modules[name]


def others(*names: str) -> list[EntryPoint]:
    return [point for point in entry_points() if point.name not in names]


def test_a_plugin_that_raises_when_asked_is_broken(module: Callable[..., str]) -> None:
    @hookimpl
    def lance_provide_codecs() -> list[object]:
        raise OSError("no such device")

    broken = EntryPoint("their.flat", module(lance_provide_codecs=lance_provide_codecs), GROUP)
    plugins = load_plugins([*others("codec.flat"), broken])
    table = EncodingTable(plugins, {})
    (record,) = (record for record in plugins.records if record.error is not None)
    assert (record.name, type(record.error)) == ("their.flat", OSError)
    assert table.layout(EncodingKey("lance.encodings21.PageLayout", "mini_block_layout")) is not None
    with pytest.raises(UnknownEncodingError) as caught:
        table.codec(FLAT)
    assert caught.value.__cause__ is record.error
    assert "their.flat" in caught.value.__notes__[0]


def test_a_misspelt_hook_is_an_error(module: Callable[..., str]) -> None:
    @hookimpl
    def lance_provide_codexes() -> list[object]:
        return []

    wrong = EntryPoint("their.flat", module(lance_provide_codexes=lance_provide_codexes), GROUP)
    with pytest.raises(PluginLoadError, match="lance_provide_codexes"):
        load_plugins([*others(), wrong])


def test_no_entry_points_explain_themselves() -> None:
    with pytest.raises(PluginLoadError, match="not installed"):
        load_plugins([])
