"""The list of plugins: what is in use, what conflicts, what is broken."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lance_arrow.cli.plugin_view import MatrixReport, PluginReport, PluginsReport, view_matrix, view_plugins
from lance_arrow.errors import PluginLoadError
from lance_arrow.settings import Settings
from lance_arrow.spi.loading import load_plugins

CODEC = """
from lance_arrow.spi import COMPRESSIVE, DecodeContext, EncodingKey, hookimpl


class Codec:
    key = EncodingKey(COMPRESSIVE, "flat")
    contexts = frozenset({DecodeContext.PER_VALUE, DecodeContext.BLOCK})

    def bind(self, message, context, scope):
        raise NotImplementedError


@hookimpl
def lance_provide_codecs():
    return [Codec()]
"""
LISTENER = """
from lance_arrow.spi import hookimpl


@hookimpl
def lance_read_finished(report):
    pass
"""
KEY = "lance.encodings21.CompressiveEncoding/flat"


@pytest.fixture
def view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Report on plugins given as {entry-point name: source}; modules are named after the test's folder."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def report(settings: Settings | None = None, **sources: str) -> PluginsReport:
        points = []
        for name, source in sources.items():
            module = f"{tmp_path.name.replace('-', '_')}_{name}"
            (tmp_path / f"{module}.py").write_text(source)
            points.append(EntryPoint(name, module, "lance_arrow"))
        return view_plugins(settings or Settings(), load_plugins(points))

    return report


def by_name(report: PluginsReport) -> dict[str, PluginReport]:
    return {plugin.name: plugin for plugin in report.plugins}


def test_one_provider_is_in_use(view) -> None:
    report = view(first=CODEC)
    (plugin,) = report.plugins
    (entry,) = plugin.encodings
    assert report.conflict is None
    assert (entry.key, entry.kind, entry.is_in_use) == (KEY, "codec", True)
    assert entry.contexts == ["block", "per-value"]
    assert (plugin.kinds, plugin.hooks, plugin.error) == (["codec"], ["lance_provide_codecs"], None)


def test_preference_decides(view) -> None:
    report = view(Settings(prefer={KEY: "second"}), first=CODEC, second=CODEC)
    used = {name: plugin.encodings[0].is_in_use for name, plugin in by_name(report).items()}
    assert used == {"first": False, "second": True}
    assert report.conflict is None


def test_conflict_is_reported(view) -> None:
    report = view(first=CODEC, second=CODEC)
    assert report.conflict is not None
    assert "'first'" in report.conflict
    assert "'second'" in report.conflict
    assert [plugin.encodings[0].is_in_use for plugin in report.plugins] == [False, False]


def test_preference_for_nothing_leaves_the_others_in_use(view) -> None:
    report = view(Settings(prefer={"nobody/knows": "first"}), first=CODEC)
    assert report.conflict is not None
    assert report.plugins[0].encodings[0].is_in_use


def test_broken_plugin_is_listed(view) -> None:
    report = by_name(view(good=CODEC, broken="import no_such_module_anywhere"))
    assert report["broken"].error == "ModuleNotFoundError: No module named 'no_such_module_anywhere'"
    assert report["broken"].encodings == []
    assert report["good"].encodings[0].is_in_use


def test_listener_provides_nothing(view) -> None:
    (plugin,) = view(listener=LISTENER).plugins
    assert (plugin.kinds, plugin.encodings, plugin.hooks) == ([], [], ["lance_read_finished"])


def test_misspelt_hook_is_an_error(view) -> None:
    with pytest.raises(PluginLoadError, match="lance_provide_codex"):
        view(typo=CODEC.replace("lance_provide_codecs", "lance_provide_codex"))


def test_installed_plugins_name_their_distribution() -> None:
    report = view_plugins(Settings())
    own = [plugin for plugin in report.plugins if plugin.distribution == "lance-arrow"]
    assert {"codec.flat", "layout.mini_block", "column.values", "scheme.zstd"} <= {plugin.name for plugin in own}
    assert all(plugin.version and plugin.target for plugin in own)


PRIVATE = CODEC.replace('EncodingKey(COMPRESSIVE, "flat")', 'EncodingKey("lance_arrow.PrivateCodec", "acme.fold/1")')


def test_matrix_has_a_row_for_each_codec_of_anybody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    since = "    since = {DecodeContext.BLOCK: '2.2'}\n\n    def bind"
    sources = {"plain": CODEC, "twice": CODEC, "private": PRIVATE.replace("    def bind", since), "other": LISTENER}
    points = []
    for name, source in sources.items():
        (tmp_path / f"matrix_{name}.py").write_text(source)
        points.append(EntryPoint(name, f"matrix_{name}", "lance_arrow"))
    report = view_matrix(Settings(prefer={KEY: "plain"}), load_plugins(points))
    assert isinstance(report, MatrixReport)
    assert report.conflict is None
    assert [(row.key, row.plugin, row.is_in_use) for row in report.codecs] == [
        (KEY, "plain", True),
        (KEY, "twice", False),
        ("lance_arrow.PrivateCodec/acme.fold/1", "private", True),
    ]
    cells = {name: (cell.is_read, cell.since) for name, cell in report.codecs[2].contexts.items()}
    assert cells == {"mini-block": (False, None), "block": (True, "2.2"), "per-value": (True, None)}
    assert view_matrix(Settings(), load_plugins(points)).conflict is not None
